"""`noisycount refine`: from noisy answers to the best estimate."""

from fractions import Fraction
from pathlib import Path

import click

from noisycount.app.options.common import as_confidence, as_epsilon, as_picture, json_option
from noisycount.app.options.population import (
    NOISE_OPTIONS,
    as_answers,
    as_scale,
    assumed_of_options,
    noise_of_options,
    population_options,
)
from noisycount.app.refine.answer_table import AnswerTable, RowLaws
from noisycount.app.refine.assumption import Rate
from noisycount.app.refine.estimate import Refinement
from noisycount.app.refine.wire import refinement_object, table_object
from noisycount.app.refine.words import refinement_facts, table_text
from noisycount.app.terminal.printing import print_facts, print_json, print_text
from noisycount.app.terminal.progress import progress
from noisycount.app.terminal.status import status
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.discrete_laplace import DiscreteLaplace

__all__ = ["command"]

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(
    name="refine",
    context_settings={"ignore_unknown_options": True},
    epilog="\b\nExample:\n"
    "  noisycount refine 107 --size 5912 --rate 1.7% --epsilon 0.15\n"
    "  noisycount refine 98.2 110.9 --strata towns.csv --noise gaussian --scale 10\n"
    "  noisycount refine --size 1000 --rate 30%±2% --epsilon 0.5 \\\n"
    "      --answers towns.csv --column answer --out refined.parquet",
)
@click.argument("answers", nargs=-1, metavar="[ANSWER]...", callback=as_answers)
@population_options
@click.option(
    "--epsilon",
    callback=as_epsilon,
    metavar="E",
    help="The ε of each answer, as `noisycount count` tells it.",
)
@click.option(
    "--noise",
    type=click.Choice(list(NOISE_OPTIONS)),
    metavar="KIND",
    help=f"Or: the kind of its noise, {' or '.join(NOISE_OPTIONS)},",
)
@click.option(
    "--scale", callback=as_scale, metavar="S", help="and the noise's scale in records: 10 or 20/3."
)
@click.option(
    "--level",
    callback=as_confidence,
    default="95%",
    show_default=True,
    metavar="95%",
    help="The probability of the interval.",
)
@click.option(
    "--plot",
    type=_FILE,
    callback=as_picture,
    metavar="FILE",
    help="Draw what was assumed, what is answered, and both, as .svg or .png.",
)
@click.option(
    "--answers",
    "table",
    type=_FILE,
    metavar="FILE",
    help="A table of answers, each about a count of its own:",
)
@click.option("--column", metavar="NAME", help="its column of answers,")
@click.option(
    "--out",
    type=_FILE,
    metavar="FILE",
    help="and the new table to write, with mean, median, low, high and surprise added.",
)
@click.option(
    "--size-column", metavar="NAME", help="Instead of --size: its column of how many records,"
)
@click.option("--rate-column", metavar="NAME", help="and instead of --rate: its column of rates.")
@click.option("--overwrite", is_flag=True, help="Replace the file of --out if it is there.")
@json_option
def command(  # noqa: PLR0913, PLR0917  (one argument an option)
    answers: tuple[float, ...],
    size: int | None,
    rate: Rate | None,
    strata: Path | None,
    epsilon: Fraction | None,
    noise: str | None,
    scale: Fraction | None,
    level: float,
    plot: Path | None,
    table: Path | None,
    column: str | None,
    out: Path | None,
    size_column: str | None,
    rate_column: str | None,
    *,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Estimate the true count from a noisy answer and a known rate.

    Several ANSWERs are about ONE count, each with noise of its own, and give one estimate. A table
    (CSV or Parquet) holds answers about a count each. What is assumed is public knowledge: it
    costs no privacy, as it only uses what was already told. Without a rate, each count is assumed
    to be as likely.
    """
    law = _law(epsilon, noise, scale)
    if answers and not (table or column or out or size_column or rate_column):
        assumed = assumed_of_options(size, rate, strata, is_flat_allowed=True)
        _refine_count(Refinement.of(answers, assumed, law, level), plot, as_json=as_json)
    elif table and column and out and not (answers or plot):
        asked = AnswerTable(table, column, out, size_column, rate_column, overwrite)
        _refine_table(asked, _row_laws(asked, size, rate, strata), law, level, as_json=as_json)
    else:
        raise click.UsageError(
            "give either one or more ANSWERs, with --plot FILE if you like, or all of "
            "--answers FILE, --column NAME and --out FILE"
        )


def _row_laws(
    asked: AnswerTable, size: int | None, rate: Rate | None, strata: Path | None
) -> RowLaws:
    """What is known about the count of each row."""
    if asked.size is None and asked.rate is None:
        assumed = assumed_of_options(size, rate, strata, is_flat_allowed=True)
        words = "the size" if assumed.is_flat else "the rate" if assumed.rate else "the rates"
        return RowLaws(assumed.population, words=words)
    twice = (size is not None and asked.size) or (rate is not None and asked.rate)
    if strata or twice or not (size or asked.size):
        raise click.UsageError(
            "give either --size or --size-column, and either --rate or --rate-column, if it is "
            "known; without --strata"
        )
    is_known = rate is not None or asked.rate is not None
    return RowLaws(size=size, rate=rate, words="the rate" if is_known else "the size")


def _law(epsilon: Fraction | None, noise: str | None, scale: Fraction | None) -> AdditiveNoise:
    """The noise of each answer."""
    if epsilon is not None and noise is None and scale is None:
        return DiscreteLaplace.for_epsilon(epsilon)
    if epsilon is None and noise is not None and scale is not None:
        return noise_of_options(noise, scale)
    raise click.UsageError(
        "give either --epsilon, or both --noise and --scale, such as --noise gaussian --scale 10"
    )


def _refine_count(refinement: Refinement, plot: Path | None, *, as_json: bool) -> None:
    """The estimate of one count, told and drawn."""
    if plot is not None:
        from noisycount.app.refine.picture import save_plot  # noqa: PLC0415  (loads Altair)

        with status("drawing"):
            save_plot(refinement, plot)
    if as_json:
        print_json(refinement_object(refinement))
    else:
        print_facts(refinement_facts(refinement))


def _refine_table(
    asked: AnswerTable, laws: RowLaws, law: AdditiveNoise, level: float, *, as_json: bool
) -> None:
    """A table of answers, written with their estimates."""
    from noisycount.app.refine.table import refined_table  # noqa: PLC0415  (loads DuckDB)

    with progress("refining") as done:
        written = refined_table(asked, laws, law, level, done)
    if as_json:
        print_json(table_object(written))
    else:
        print_text(table_text(written))
