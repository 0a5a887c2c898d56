"""`noisycount refine`: the best estimate of a true count from noisy answers.

`refine` decides from its options what is refined: one count, a column of answers, or a published table. The computation
is in `noisycount.tasks.refine`.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import reduce
from itertools import chain
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noisycount.config.config import Config
from noisycount.display.output import file_facts, print_facts, print_json, print_text, progress, status
from noisycount.frozen import frozen
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.typed import parse_confidence
from noisycount.readers import options, values
from noisycount.readers.assumption import Assumed, Rate
from noisycount.tasks.refine.estimate import Refinement, check_whole, refinement_facts, refinement_json
from noisycount.tasks.refine.published import RefineQuery

if TYPE_CHECKING:
    from noisycount.tasks.refine.column import AnswersFile, RowLaws

_TABLE_USAGE = (
    "a published table is given by --table FILE or --key KEY [SOURCE], without ANSWERs, --answers, "
    "--size, --rate and --strata; one count of the ledger by --key and --size alone, and --rate"
)
_NOISE_MISSING = "give either --epsilon, or both --noise and --scale, such as --noise gaussian --scale 10"
_LEARNED = "learned"
_SOURCE = "noisycount.source"
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


def _parse_tier(text: str) -> dict[str, str]:
    """Return the risk tier of each country code."""
    match = _TIER.fullmatch(text)
    if match is None:
        raise ValueError(f"must be medium or higher with codes of countries: medium=TR,UA, got {text!r}")
    return dict.fromkeys(match[2].split(","), match[1])


def _parse_prior(text: str) -> float | str:
    """Return the concentration of each cell, above 0, or the word `learned`."""
    if text.lower() == _LEARNED:
        return _LEARNED
    concentration = values.parse_number(text)
    if 0 < concentration < math.inf:
        return concentration
    raise ValueError(f"must be {_LEARNED}, or the concentration of each cell above 0, such as 1, got {text!r}")


def _parse_answers(context: click.Context, _: click.Parameter, texts: tuple[str, ...]) -> tuple[float, ...]:
    """Return noisy answers. With `--key` the one word is a data set: it is stored in the context, and () returned."""
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
    context.meta[_SOURCE] = texts[0] if texts else None
    return ()


@frozen
class RefineOptions:
    """Options of `noisycount refine` about answers, their noise and the files; the others are about a table."""

    answers: tuple[float, ...]  # noisy answers about one count, in records
    size: int | None  # number of records
    rate: Rate | None  # probability that a record counts
    strata: Path | None  # file of groups of records, in place of size and rate
    epsilon: tuple[Fraction, ...]  # ε of each answer or level, or one for all
    noise: str | None  # kind of the noise, in place of ε
    scale: tuple[Fraction, ...]  # scale of the noise of each answer or level, or one for all
    level: float  # probability of the intervals
    plot: Path | None  # file of the chart
    table: Path | None  # file whose rows are answers about a count each
    size_column: str | None  # column of sizes in that file
    rate_column: str | None  # column of rates in that file
    column: str | None  # column of answers in a file
    out: Path | None  # file of the result
    prior: float | str | None  # concentration of each cell of a published table, or `learned`
    tiers: Sequence[dict[str, str]]  # risk tiers of countries, by their codes
    overwrite: bool  # True if an existing file `out` may be replaced

    def __post_init__(self) -> None:
        """Raise UsageError if both ε and a kind with its scales are given, or only one of the latter two."""
        has_kind, has_scale = self.noise is not None, bool(self.scale)
        if has_kind != has_scale or (self.epsilon and has_kind):
            raise click.UsageError(_NOISE_MISSING)

    @property
    def noises(self) -> tuple[AdditiveNoise, ...]:
        """Noise of each answer or level, or one for all."""
        if self.epsilon:
            return tuple(map(DiscreteLaplace.for_epsilon, self.epsilon))
        return tuple(values.noise_of(self.noise or "", scale) for scale in self.scale)

    @property
    def has_columns(self) -> bool:
        """True if a file of answers is given, or one of its columns."""
        return any(part is not None for part in (self.table, self.size_column, self.rate_column))

    @property
    def has_population(self) -> bool:
        """True if the number of records is given, or their rates."""
        return any(part is not None for part in (self.size, self.rate, self.strata))

    @property
    def assumption(self) -> Assumed:
        """Assumption about a count that `size`, `rate` and `strata` state; raises UsageError if they do not fit."""
        return options.assumed_of_options(self.size, self.rate, self.strata, is_flat_allowed=True)


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
@click.argument("answers", nargs=-1, metavar="[ANSWER]...", callback=_parse_answers)
@options.population_options
@options.value_option(
    "--epsilon",
    values.parse_epsilon,
    "E",
    "Set the ε that `noisycount count` printed: once for all answers, once per answer, or once per level of a table "
    "with sums.",
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
@options.plot_option(
    "Draw the assumption, the answer and the estimate as .svg or .png; for a table, the answers and estimates of its "
    "cells and of the sums of each level."
)
@options.value_option(
    "--answers table",
    options.FILE,
    "FILE",
    "Refine each answer in a table by itself. Each is about a different count.",
)
@options.value_option(
    "--size-column", str, "NAME", "Read the number of records from this column of --answers, in place of --size."
)
@options.value_option("--rate-column", str, "NAME", "Read the rate from this column of --answers, in place of --rate.")
@options.value_option(
    "--table file",
    options.FILE,
    "FILE",
    "Refine a published table as a whole: the output of `count --by --output`, any CSV, TSV or Parquet file, noisy "
    "measurements of the census, or page views of Wikimedia.",
)
@options.value_option(
    "--key",
    str,
    "KEY",
    "Refine a table or a count of the ledger, by its key or the first 6 or more characters of it. It costs nothing.",
    is_eager=True,
)
@options.repeatable_option(
    "--by",
    _parse_column_names,
    "COLUMNS",
    "Name the key columns of --table from coarse to fine: county,town. An empty key marks a sum.",
)
@options.value_option("--total", values.parse_count, "N", "State the number of records, if it is public.")
@options.value_option(
    "--below", _parse_threshold, "T", "Read an empty answer as one that was left out because it was below T."
)
@options.value_option("--below-column", str, "NAME", "Read the threshold of --below from this column.")
@options.value_option(
    "--prior",
    _parse_prior,
    "A|learned",
    "Set the prior of a table: the concentration of each cell, where 1 makes all tables equally likely, or learned.  "
    "[default: learned from the answers]",
)
@options.flag("--shares has_shares", "Estimate the share of each cell in the total.")
@options.flag("--ranks has_ranks", "Estimate the rank of each cell, 1 for the largest.")
@options.value_option("--geocode", str, "CODE", "Choose the place in measurements of the census.")
@options.value_option("--query", str, "NAME", 'Choose the query of the census, such as "votingage * hispanic".')
@options.value_option("--day", _parse_day, "DAY", "State the day of Wikimedia's page views, if the file name lacks it.")
@options.value_option(
    "--tier tiers",
    _parse_tier,
    "TIER=CODES",
    "State the countries in Wikimedia's higher risk tiers: medium=TR,UA.",
    multiple=True,
)
@options.value_option("--column", str, "NAME", "Name the column of answers in --answers or --table.")
@options.value_option(
    "--out",
    options.FILE,
    "FILE",
    "Write the table to a new file, with columns such as mean, median, low and high added.",
)
@options.flag("--overwrite", "Replace the file of --out if it exists.")
@options.common_options
@options.fill(RefineOptions)
def refine(
    refine_options: RefineOptions,
    configuration: Config,
    *,
    as_json: bool,
    **table_options: Any,  # noqa: ANN401 - members of `RefineQuery` with the same names
) -> None:
    """Estimate the true count from a noisy answer and a known rate.

    Several ANSWERs are about the same count, each with independent noise, and give one estimate: give --epsilon once
    for all of them, or once for each in their order. Leave out an answer that was topped up, because its noise and that
    of the more accurate answer are dependent. A table (CSV or Parquet) holds answers about a different count each.
    Assumptions are public knowledge: refining costs no privacy, because it uses only what is already published. Without
    a rate, all counts are assumed equally likely.

    A published table (--table, or --key of the ledger) is refined as a whole: its counts add up, and their prior
    distribution is learned from all of them. If --key is that of one count, add --size, and --rate if it is known.
    """
    query = _table_query(refine_options, table_options)
    if query != RefineQuery():
        if refine_options.has_columns or refine_options.answers:
            raise click.UsageError(_TABLE_USAGE)
        if refine_options.has_population:
            _print_count(
                _refine_stored_count(refine_options, query, configuration), refine_options.plot, as_json=as_json
            )
        else:
            _refine_published_table(refine_options, query, configuration, as_json=as_json)
    elif refine_options.answers and not (refine_options.has_columns or refine_options.column or refine_options.out):
        _print_count(_refine_answers(refine_options), refine_options.plot, as_json=as_json)
    elif (
        refine_options.table
        and refine_options.column
        and refine_options.out
        and not (refine_options.answers or refine_options.plot)
    ):
        from noisycount.tasks.refine.column import AnswersFile  # noqa: PLC0415 - loads DuckDB

        columns = refine_options.size_column, refine_options.rate_column
        file = AnswersFile(
            refine_options.table, refine_options.column, refine_options.out, *columns, refine_options.overwrite
        )
        _refine_column(file, refine_options, as_json=as_json)
    else:
        raise click.UsageError(
            "give either one or more ANSWERs, such as 107 --size 5912 --rate 1.7% --epsilon 0.15, or all of "
            "--answers FILE, --column NAME and --out FILE, or a published table by --table FILE or --key KEY"
        )


def _table_query(refine_options: RefineOptions, table_options: dict[str, Any]) -> RefineQuery:
    """Return what the options state about a published table; `RefineQuery()` if they state nothing."""
    return RefineQuery(
        **table_options,
        tiers=reduce(or_, refine_options.tiers, {}),
        source=click.get_current_context().meta.get(_SOURCE),
        concentration=refine_options.prior if isinstance(refine_options.prior, float) else None,
        is_learned=refine_options.prior == _LEARNED,
    )


def _refine_stored_count(refine_options: RefineOptions, query: RefineQuery, configuration: Config) -> Refinement:
    """Return the estimate from a stored count, whose noise the ledger knows."""
    from noisycount.tasks.refine.stored import stored_count  # noqa: PLC0415 - loads the ledger

    has_more = query != RefineQuery(key=query.key, source=query.source) or refine_options.column or refine_options.out
    assumption = None if has_more else refine_options.assumption
    if assumption is None or query.key is None:
        raise click.UsageError(_TABLE_USAGE)
    if refine_options.noises:
        raise click.UsageError(
            f"--key {query.key!r}: the ledger knows the noise: leave --epsilon, --noise and --scale out"
        )
    answer, epsilon = stored_count(query.key, query.source, configuration)
    return Refinement.from_answers([answer], assumption, DiscreteLaplace.for_epsilon(epsilon), refine_options.level)


def _refine_published_table(
    refine_options: RefineOptions, query: RefineQuery, configuration: Config, *, as_json: bool
) -> None:
    """Refine a published table, print it and write its files."""
    if (query.file is None) == (query.key is None):
        raise click.UsageError(_TABLE_USAGE)
    from noisycount.tasks.refine.table import refine_table  # noqa: PLC0415 - loads DuckDB

    complete_query = replace(
        query,
        noises=refine_options.noises,
        column=refine_options.column,
        level=refine_options.level,
        out=refine_options.out,
        plot=refine_options.plot,
        is_replacing=refine_options.overwrite,
    )
    refine_table(complete_query, configuration, as_json=as_json)


def _refine_answers(refine_options: RefineOptions) -> Refinement:
    """Return the estimate of one count from the answers on the command line."""
    noises = refine_options.noises
    if not 1 < len(noises) == len(refine_options.answers):
        noises = (_single_noise(noises, len(refine_options.answers)),) * len(refine_options.answers)
    for answer, noise in zip(refine_options.answers, noises, strict=True):
        check_whole(answer, noise)
    return Refinement.from_answers(refine_options.answers, refine_options.assumption, noises, refine_options.level)


def _refine_column(file: "AnswersFile", refine_options: RefineOptions, *, as_json: bool) -> None:
    """Refine each answer of a file by itself, write the file of the result, and print a summary."""
    from noisycount.tasks.refine import column  # noqa: PLC0415 - loads DuckDB

    noise = _single_noise(refine_options.noises)
    row_laws = _read_row_laws(file, refine_options)
    with progress("refining") as done:
        result = column.refined_column(file, row_laws, noise, refine_options.level, done)
    if as_json:
        print_json(column.column_json(result))
    else:
        print_text(column.column_text(result))


def _read_row_laws(file: "AnswersFile", refine_options: RefineOptions) -> "RowLaws":
    """Return the assumption about the count of each row of a file of answers."""
    from noisycount.tasks.refine.column import RowLaws  # noqa: PLC0415 - loads DuckDB

    size, rate = refine_options.size, refine_options.rate
    if file.size is None and file.rate is None:
        assumption = refine_options.assumption
        words = "the size" if assumption.is_flat else "the rate" if assumption.rate else "the rates"
        return RowLaws(assumption.population, words=words)
    is_ambiguous = (size is not None and file.size) or (rate is not None and file.rate)
    if refine_options.strata or is_ambiguous or not (size or file.size):
        raise click.UsageError(
            "give either --size or --size-column, and either --rate or --rate-column, if it is known; without --strata"
        )
    is_known = rate is not None or file.rate is not None
    return RowLaws(size=size, rate=rate, words="the rate" if is_known else "the size")


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
