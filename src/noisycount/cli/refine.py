"""`noisycount refine`: the best estimate of a true count from noisy answers.

The options of `refine` decide if it refines one count, a column of answers, or a published table. The computation
is in `noisycount.tasks.refine`.
"""

import math
import re
from collections.abc import Sequence
from datetime import date
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from noisycount.config.config import Config
from noisycount.display.output import file_facts, print_facts, print_json, print_text, progress, status
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.typed import parse_confidence
from noisycount.readers import options, values
from noisycount.readers.assumption import Assumed
from noisycount.tasks.refine.estimate import Refinement, check_whole, refinement_facts, refinement_json
from noisycount.tasks.refine.published import LEARNED, RefineQuery
from noisycount.validation import exact_epsilon

if TYPE_CHECKING:
    from noisycount.tasks.refine.column import RowLaws

_TABLE_USAGE = (
    "a published table is given by --table FILE or --key KEY [SOURCE], without ANSWERs, --answers, "
    "--size, --rate and --strata; one count of the ledger by --key and --size alone, and --rate"
)
_NOISE_MISSING = "give either --epsilon, or both --noise and --scale, such as --noise gaussian --scale 10"
_ERAS = ("pre-2017", "historical", "current")
_TIER = re.compile(r"(medium|higher)=([A-Z]{2}(?:,[A-Z]{2})*)")


def _parse_column_names(lists: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct column names in several lists."""
    names = tuple(chain.from_iterable(map(values.parse_columns, lists)))
    if len(set(names)) < len(names):
        raise ValueError("names a column twice: name it once")
    return names


def _parse_threshold(text: str) -> float:
    """Return a finite number of records."""
    threshold = values.parse_number(text)
    if math.isfinite(threshold):
        return threshold
    raise ValueError(f"must be a finite number of records, such as 11, got {text!r}")


def _parse_day(text: str) -> str:
    """Return a day such as `2024-05-01`, or the name of an era, as Wikimedia's data sets need it."""
    if text in _ERAS:
        return text
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError(f"must be a day such as 2024-05-01, or {', '.join(_ERAS)}, got {text!r}") from None


def _parse_tiers(texts: Sequence[str]) -> dict[str, str]:
    """Return the risk tier of each country code."""
    tiers: dict[str, str] = {}
    for text in texts:
        match = _TIER.fullmatch(text)
        if match is None:
            raise ValueError(f"must be medium or higher with codes of countries: medium=TR,UA, got {text!r}")
        tiers |= dict.fromkeys(match[2].split(","), match[1])
    return tiers


def _parse_prior(text: str) -> float | str:
    """Return the concentration of each cell, above 0, or the word `learned`."""
    if text.lower() == LEARNED:
        return LEARNED
    concentration = values.parse_number(text)
    if 0 < concentration < math.inf:
        return concentration
    raise ValueError(f"must be {LEARNED}, or the concentration of each cell above 0, such as 1, got {text!r}")


def _parse_answers(context: click.Context, _: click.Parameter, texts: tuple[str, ...]) -> tuple[float, ...]:
    """Return noisy answers. With `--key` the one word is a data set: it becomes the parameter `source`."""
    context.params["source"] = None
    if context.params.get("key") is None:
        try:
            return tuple(map(values.parse_answer, texts))
        except ValueError as error:
            option = next((text for text in texts if text.startswith("--")), None)
            if option is not None:
                raise click.NoSuchOption(option, ctx=context) from None
            raise click.BadParameter(str(error)) from None
    if len(texts) > 1:
        raise click.BadParameter(f"must be the one data set of --key, got {len(texts)} words")
    context.params["source"] = texts[0] if texts else None
    return ()


@click.command(
    name="refine",
    context_settings={"ignore_unknown_options": True},
    epilog="\b\nExample:\n"
    "  noisycount refine 107 --size 5912 --rate 1.7% --epsilon 0.15\n"
    "  noisycount refine --size 1000 --rate 30%±2% --epsilon 0.5 \\\n"
    "      --answers towns.csv --column answer --out refined.parquet\n"
    "  noisycount refine --table towns.csv --by county,town --column answer \\\n"
    "      --total 29277 --epsilon 0.5 --out refined.csv",
)
@click.argument("answers", nargs=-1, metavar="[ANSWER]...", callback=_parse_answers)
@options.population_options
@options.value_option(
    "--epsilon",
    exact_epsilon,
    "E",
    "Set the ε of the answers: once for all, or once per answer or level of a table.",
    multiple=True,
)
@options.value_option(
    "--noise",
    click.Choice(list(values.NOISE_KINDS)),
    "KIND",
    f"Choose the kind of noise in place of --epsilon: {' or '.join(values.NOISE_KINDS)}. Needs --scale.",
)
@options.value_option(
    "--scale", values.parse_scale, "S", "Set the scale of --noise in records, such as 10 or 20/3.", multiple=True
)
@options.value_option("--level", parse_confidence, "95%", "Set the probability of the interval.", default="95%")
@options.plot_option("Draw the answer and the estimate")
@options.value_option(
    "--answers answers_file",
    options.FILE,
    "FILE",
    "Refine each answer in a table by itself.",
)
@options.value_option("--size-column", str, "NAME", "Read --size from this column of --answers.")
@options.value_option("--rate-column", str, "NAME", "Read --rate from this column of --answers.")
@options.value_option(
    "--table file",
    options.FILE,
    "FILE",
    "Refine a published table as a whole: of `count --by --output`, any CSV, TSV or Parquet file, of the census,"
    " or of Wikimedia.",
)
@options.value_option(
    "--key",
    str,
    "KEY",
    "Refine a table or count of the ledger, by its key or 6 characters of it.",
    is_eager=True,
)
@options.repeatable_option(
    "--by",
    _parse_column_names,
    "COLUMNS",
    "Name the key columns of --table from coarse to fine: county,town.",
)
@options.value_option("--total", values.parse_count, "N", "State the number of records, if it is public.")
@options.value_option("--below", _parse_threshold, "T", "Read an empty answer as one below T.")
@options.value_option("--below-column", str, "NAME", "Read --below from this column.")
@options.value_option(
    "--prior",
    _parse_prior,
    "A|learned",
    "Set the prior of a table. A number is the concentration of each cell: 1 makes all tables equally likely.  "
    "[default: learned from the answers]",
)
@options.flag("--shares has_shares", "Estimate the share of each cell in the total.")
@options.flag("--ranks has_ranks", "Estimate the rank of each cell, 1 for the largest.")
@options.value_option("--geocode", str, "CODE", "Choose the place in measurements of the census.")
@options.value_option("--query", str, "NAME", 'Choose the query of the census, such as "votingage * hispanic".')
@options.value_option("--day", _parse_day, "DAY", "State the day of Wikimedia's page views.")
@options.repeatable_option(
    "--tier tiers", _parse_tiers, "TIER=CODES", "State the countries in Wikimedia's higher risk tiers: medium=TR,UA."
)
@options.value_option("--column", str, "NAME", "Name the column of answers in --answers or --table.")
@options.value_option(
    "--out",
    options.FILE,
    "FILE",
    "Write the table with its estimates to a new file.",
)
@options.flag("--overwrite is_replacing", "Replace the file of --out if it exists.")
@options.common_options
@options.fill(RefineQuery)
def refine(query: RefineQuery, configuration: Config, *, as_json: bool) -> None:
    """Estimate the true count from a noisy answer and a known rate.

    Several ANSWERs about the same count, each with independent noise, give one estimate. Leave out an answer that
    was topped up. Put answers about different counts into a file (--answers).

    Refining costs no privacy. Without a rate, all counts are assumed equally likely.

    A published table (--table, or --key of the ledger) is refined as a whole: its counts add up, and their prior
    distribution is learned from all of them. If --key names one count, add --size.
    """
    has_kind, has_scale = query.noise is not None, bool(query.scale)
    if has_kind != has_scale or (query.epsilon and has_kind):
        raise click.UsageError(_NOISE_MISSING)
    is_column = query.answers_file and query.column and query.out
    if query.table_members:
        if query.has_columns or query.answers:
            raise click.UsageError(_TABLE_USAGE)
        if query.has_population:
            _print_count(_refine_stored_count(query, configuration), query.plot, as_json=as_json)
        else:
            _refine_published_table(query, configuration, as_json=as_json)
    elif query.answers and not (
        query.answers_file or query.size_column or query.rate_column or query.column or query.out
    ):
        _print_count(_refine_answers(query), query.plot, as_json=as_json)
    elif is_column and not (query.answers or query.plot):
        _refine_column(query, as_json=as_json)
    else:
        raise click.UsageError(
            "give either one or more ANSWERs, such as 107 --size 5912 --rate 1.7% --epsilon 0.15, or all of "
            "--answers FILE, --column NAME and --out FILE, or a published table by --table FILE or --key KEY"
        )


def _refine_stored_count(query: RefineQuery, configuration: Config) -> Refinement:
    """Return the estimate from a stored count, whose noise the ledger knows."""
    from noisycount.tasks.refine.readers import stored_count  # noqa: PLC0415 - loads the ledger

    has_more = query.table_members - {"key", "source"} or query.column or query.out
    if has_more or query.key is None:
        raise click.UsageError(_TABLE_USAGE)
    assumption = _read_assumption(query)
    if query.noises:
        raise click.UsageError(
            f"--key {query.key!r}: the ledger knows the noise: leave --epsilon, --noise and --scale out"
        )
    answer, epsilon = stored_count(query.key, query.source, configuration)
    return Refinement.from_answers([answer], assumption, DiscreteLaplace.for_epsilon(epsilon), query.level)


def _refine_published_table(query: RefineQuery, configuration: Config, *, as_json: bool) -> None:
    """Refine a published table, print it and write its files."""
    if (query.file is None) == (query.key is None):
        raise click.UsageError(_TABLE_USAGE)
    from noisycount.tasks.refine.table import refine_table  # noqa: PLC0415 - loads DuckDB

    refine_table(query, configuration, as_json=as_json)


def _refine_answers(query: RefineQuery) -> Refinement:
    """Return the estimate of one count from the answers on the command line."""
    answers, noises = query.answers, query.noises
    if not 1 < len(noises) == len(answers):
        noises = (_single_noise(noises, len(answers)),) * len(answers)
    for answer, noise in zip(answers, noises, strict=True):
        check_whole(answer, noise)
    return Refinement.from_answers(answers, _read_assumption(query), noises, query.level)


def _refine_column(query: RefineQuery, *, as_json: bool) -> None:
    """Refine each answer of a file by itself, write the file of the result, and print a summary."""
    from noisycount.tasks.refine import column  # noqa: PLC0415 - loads DuckDB

    noise, laws = _single_noise(query.noises), _read_row_laws(query)
    with progress("refining") as done:
        result = column.refined_column(query, laws, noise, done)
    if as_json:
        print_json(column.column_json(result))
    else:
        print_text(column.column_text(result))


def _read_row_laws(query: RefineQuery) -> "RowLaws":
    """Return the assumption about the count of each row of a file of answers."""
    from noisycount.tasks.refine.column import RowLaws  # noqa: PLC0415 - loads DuckDB

    if query.size_column is None and query.rate_column is None:
        assumption = _read_assumption(query)
        words = "the size" if assumption.is_flat else "the rate" if assumption.rate else "the rates"
        return RowLaws(words, assumption.population)
    has_size, has_rate = query.size is not None, query.rate is not None
    is_ambiguous = (has_size and query.size_column) or (has_rate and query.rate_column)
    if query.strata or is_ambiguous or not (has_size or query.size_column):
        raise click.UsageError(
            "give either --size or --size-column, and either --rate or --rate-column, if it is known; without --strata"
        )
    return RowLaws("the rate" if has_rate or query.rate_column else "the size")


def _read_assumption(query: RefineQuery) -> Assumed:
    """Return the assumption that the size, the rate and the strata state; raise UsageError if they do not fit."""
    return options.assumed_of_options(query.size, query.rate, query.strata, is_flat_allowed=True)


def _single_noise(noises: Sequence[AdditiveNoise], answers: int = 1) -> AdditiveNoise:
    """Return the only noise. Raise UsageError if there is none, or more than one."""
    if len(noises) == 1:
        return noises[0]
    if not noises:
        raise click.UsageError(_NOISE_MISSING)
    remedy = f", or {answers} times, once an answer" if answers > 1 else ""
    raise click.UsageError(f"the noise is given {len(noises)} times: give --epsilon, or --scale, once{remedy}")


def _print_count(refinement: Refinement, plot: Path | None, *, as_json: bool) -> None:
    """Print the estimate of a count, and draw it if a file for the chart is given."""
    if plot is not None:
        from noisycount.tasks.refine.pictures import save_plot  # noqa: PLC0415 - for pictures alone

        with status("drawing"):
            save_plot(refinement, plot)
    if as_json:
        print_json(refinement_json(refinement))
    else:
        print_facts([*refinement_facts(refinement), *file_facts(plot)])
