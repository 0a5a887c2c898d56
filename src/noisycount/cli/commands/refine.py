"""`noisycount refine`: from noisy answers to the best estimate."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from noisycount.cli.options import Columns, as_words, column_options, noise_options, published_options
from noisycount.config.config import Config
from noisycount.display.output import file_facts, print_facts, print_json, print_text, progress, status
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.query import parse_confidence
from noisycount.readers.assumption import Assumed, Rate
from noisycount.readers.options import (
    Parsed,
    assumed_of_options,
    config_option,
    json_option,
    plot_option,
    population_options,
)
from noisycount.tasks.refine.estimate import Refinement, check_whole, refinement_facts, refinement_object
from noisycount.tasks.refine.query import RefineQuery

if TYPE_CHECKING:
    from noisycount.tasks.refine.column import AnswersFile, RowLaws

_FILE = click.Path(path_type=Path, dir_okay=False)

_WHOLE = (
    "a published table is given by --table FILE or --key KEY [SOURCE], without ANSWERs, --answers, "
    "--size, --rate and --strata; one count of the ledger by --key and --size alone, and --rate"
)


@click.command(
    name="refine",
    context_settings={"ignore_unknown_options": True},
    epilog="\b\nExample:\n"
    "  noisycount refine 107 --size 5912 --rate 1.7% --epsilon 0.15\n"
    "  noisycount refine 98.2 110.9 --strata towns.csv --noise gaussian --scale 10\n"
    "  noisycount refine --size 1000 --rate 30%±2% --epsilon 0.5 \\\n"
    "      --answers towns.csv --column answer --out refined.parquet\n"
    "  noisycount refine --key 3f9a1c --plot towns.svg\n"
    "  noisycount refine --table towns.csv --by county,town --column answer \\\n"
    "      --total 29277 --epsilon 0.5 --out refined.csv\n"
    "  noisycount refine --table census.parquet --geocode 50017 --query votingage",
)
@click.argument("answers", nargs=-1, metavar="[ANSWER]...", callback=as_words)
@population_options
@noise_options
@click.option(
    "--level",
    type=Parsed(parse_confidence),
    default="95%",
    show_default=True,
    metavar="95%",
    help="The probability of the interval.",
)
@plot_option(
    "Draw it as .svg or .png: what was assumed, what is answered, and both; of a table the answers "
    "and estimates of its cells, and below them those of their sums, level by level."
)
@column_options
@published_options
@click.option("--column", metavar="NAME", help="The column of answers of a table.")
@click.option(
    "--out", type=_FILE, metavar="FILE", help="Write a new table, with mean, median, low, high and so on added."
)
@click.option("--overwrite", is_flag=True, help="Replace the file of --out if it is there.")
@config_option
@json_option
def command(  # noqa: PLR0913, PLR0917  (one argument an option)
    answers: tuple[float, ...],
    size: int | None,
    rate: Rate | None,
    strata: Path | None,
    level: float,
    plot: Path | None,
    column: str | None,
    out: Path | None,
    configuration: Config,
    *,
    noises: Sequence[AdditiveNoise],
    columns: Columns,
    published: RefineQuery,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Estimate the true count from a noisy answer and a known rate.

    Several ANSWERs are about ONE count, each with noise of its own, and give one estimate:
    --epsilon stands once for all of them, or once for each in their order. A table (CSV or
    Parquet) holds answers about a count each. What is assumed is public knowledge: it costs no
    privacy, as it only uses what was already told. Without a rate, each count is assumed to be as
    likely.

    A published table (--table, or --key of the ledger) is refined as a whole: its counts add up,
    and what is known of their law is learned from all of them. Where --key is that of one count,
    add --size, and --rate if it is known.
    """
    has_population = size is not None or rate is not None or strata is not None
    if published != RefineQuery():
        if columns.is_asked or answers:
            raise click.UsageError(_WHOLE)
        if has_population:
            if published != RefineQuery(key=published.key, source=published.source) or column or out:
                raise click.UsageError(_WHOLE)
            assumed = assumed_of_options(size, rate, strata, is_flat_allowed=True)
            refinement = _stored(published, assumed, noises, level, configuration)
            _refine_count(refinement, plot, as_json=as_json)
            return
        asked = replace(published, noises=noises, column=column, level=level, out=out, plot=plot)
        asked = replace(asked, is_replacing=overwrite)
        _refine_whole(asked, configuration, as_json=as_json)
    elif answers and not (columns.is_asked or column or out):
        each = noises if 1 < len(noises) == len(answers) else _one(noises, len(answers))
        for place, answer in enumerate(answers):
            check_whole(answer, each[place] if isinstance(each, Sequence) else each)
        assumed = assumed_of_options(size, rate, strata, is_flat_allowed=True)
        _refine_count(Refinement.of(answers, assumed, each, level), plot, as_json=as_json)
    elif columns.answers and column and out and not (answers or plot):
        noise = _one(noises)
        from noisycount.tasks.refine.column import AnswersFile  # noqa: PLC0415  (loads DuckDB)

        rows = AnswersFile(columns.answers, column, out, columns.size, columns.rate, overwrite)
        _refine_column(rows, _row_laws(rows, size, rate, strata), noise, level, as_json=as_json)
    else:
        raise click.UsageError(
            "give either one or more ANSWERs, with --plot FILE if you like, or all of "
            "--answers FILE, --column NAME and --out FILE"
        )


def _row_laws(asked: "AnswersFile", size: int | None, rate: Rate | None, strata: Path | None) -> "RowLaws":
    """What is known about the count of each row."""
    from noisycount.tasks.refine.column import RowLaws  # noqa: PLC0415  (loads DuckDB)

    if asked.size is None and asked.rate is None:
        assumed = assumed_of_options(size, rate, strata, is_flat_allowed=True)
        words = "the size" if assumed.is_flat else "the rate" if assumed.rate else "the rates"
        return RowLaws(assumed.population, words=words)
    twice = (size is not None and asked.size) or (rate is not None and asked.rate)
    if strata or twice or not (size or asked.size):
        raise click.UsageError(
            "give either --size or --size-column, and either --rate or --rate-column, if it is known; without --strata"
        )
    is_known = rate is not None or asked.rate is not None
    return RowLaws(size=size, rate=rate, words="the rate" if is_known else "the size")


def _one(noises: Sequence[AdditiveNoise], answers: int = 1) -> AdditiveNoise:
    """The noise of all answers."""
    if len(noises) == 1:
        return noises[0]
    if not noises:
        raise click.UsageError(
            "give either --epsilon, or both --noise and --scale, such as --noise gaussian --scale 10"
        )
    each = f", or {answers} times, once an answer" if answers > 1 else ""
    raise click.UsageError(f"the noise is given {len(noises)} times: give --epsilon, or --scale, once{each}")


def _stored(
    asked: RefineQuery, assumed: Assumed, noises: Sequence[AdditiveNoise], level: float, configuration: Config
) -> Refinement:
    """The estimate from a count that the ledger keeps with its noise."""
    from noisycount.tasks.refine.stored import stored_count  # noqa: PLC0415  (loads the ledger)

    if asked.key is None:
        raise click.UsageError(_WHOLE)
    if noises:
        raise click.UsageError(
            f"--key {asked.key!r}: the ledger knows the noise: leave --epsilon, --noise and --scale out"
        )
    count = stored_count(asked.key, asked.source, configuration)
    noise = DiscreteLaplace.for_epsilon(count.epsilon)
    return Refinement.of([count.answer], assumed, noise, level)


def _refine_whole(asked: RefineQuery, configuration: Config, *, as_json: bool) -> None:
    """A published table, refined as a whole."""
    if (asked.file is None) == (asked.key is None):
        raise click.UsageError(_WHOLE)
    from noisycount.tasks.refine.table import ask_table  # noqa: PLC0415  (loads DuckDB)

    ask_table(asked, configuration, as_json=as_json)


def _refine_count(refinement: Refinement, plot: Path | None, *, as_json: bool) -> None:
    """The estimate of one count, told and drawn."""
    if plot is not None:
        from noisycount.tasks.refine.pictures import save_plot  # noqa: PLC0415  (loads Altair)

        with status("drawing"):
            save_plot(refinement, plot)
    if as_json:
        print_json(refinement_object(refinement))
    else:
        print_facts([*refinement_facts(refinement), *file_facts(plot)])


def _refine_column(asked: "AnswersFile", laws: "RowLaws", law: AdditiveNoise, level: float, *, as_json: bool) -> None:
    """A table of answers, written with their estimates."""
    from noisycount.tasks.refine import column  # noqa: PLC0415  (loads DuckDB)

    with progress("refining") as done:
        written = column.refined_column(asked, laws, law, level, done)
    if as_json:
        print_json(column.column_object(written))
    else:
        print_text(column.column_text(written))
