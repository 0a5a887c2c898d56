"""`noisycount refine`: from noisy answers to the best estimate."""

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
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.query import parse_confidence
from noisycount.readers import options, values
from noisycount.readers.assumption import Assumed, Rate
from noisycount.tasks.refine.estimate import Refinement, check_whole, refinement_facts, refinement_json
from noisycount.tasks.refine.published import RefineQuery

if TYPE_CHECKING:
    from noisycount.tasks.refine.column import AnswersFile, RowLaws

_WHOLE = (
    "a published table is given by --table FILE or --key KEY [SOURCE], without ANSWERs, --answers, "
    "--size, --rate and --strata; one count of the ledger by --key and --size alone, and --rate"
)
_NOISE_MISSING = "give either --epsilon, or both --noise and --scale, such as --noise gaussian --scale 10"
_LEARNED = "learned"
_SOURCE = "noisycount.source"
_ERAS = ("pre-2017", "historical", "current")
_TIER = re.compile(r"(medium|higher)=([A-Z]{2}(?:,[A-Z]{2})*)")


def _column_names(lists: Sequence[str]) -> tuple[str, ...]:
    names = tuple(chain.from_iterable(map(values.parse_columns, lists)))
    if len(set(names)) < len(names):
        raise ValueError("names a column twice: name it once")
    return names


def _parse_threshold(text: str) -> float:
    """A finite number that answers are below."""
    found = values.parse_number(text)
    if math.isfinite(found):
        return found
    raise ValueError(f"must be a finite number of records, such as 11, got {text!r}")


def _parse_day(text: str) -> str:
    """A day such as `2024-05-01`, or the name of an era."""
    if text in _ERAS:
        return text
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError(f"must be a day such as 2024-05-01, or {', '.join(_ERAS)}, got {text!r}") from None


def _parse_tier(text: str) -> dict[str, str]:
    """The tier of countries, by their codes."""
    found = _TIER.fullmatch(text)
    if found is None:
        raise ValueError(f"must be medium or higher with codes of countries: medium=TR,UA, got {text!r}")
    return dict.fromkeys(found[2].split(","), found[1])


def _parse_prior(text: str) -> float | str:
    """A positive concentration of each cell, or the word that it is learned."""
    if text.lower() == _LEARNED:
        return _LEARNED
    found = values.parse_number(text)
    if 0 < found < math.inf:
        return found
    raise ValueError(f"must be {_LEARNED}, or the concentration of each cell above 0, such as 1, got {text!r}")


def _as_answers(context: click.Context, _: click.Parameter, texts: tuple[str, ...]) -> tuple[float, ...]:
    """Noisy answers; beside a key of the ledger the name of a data set, which is kept for it."""
    if context.params.get("key") is None:
        try:
            return tuple(map(values.parse_answer, texts))
        except ValueError as error:
            odd = next((text for text in texts if text.startswith("--")), None)
            if odd is not None:
                raise click.NoSuchOption(odd, ctx=context) from None
            raise click.BadParameter(str(error)) from None
    if len(texts) > 1:
        raise click.BadParameter(f"must be the one data set of --key, got {len(texts)} words")
    context.meta[_SOURCE] = texts[0] if texts else None
    return ()


def _noises(epsilons: Sequence[Fraction], noise: str | None, scales: Sequence[Fraction]) -> tuple[AdditiveNoise, ...]:
    if epsilons and noise is None and not scales:
        return tuple(map(DiscreteLaplace.for_epsilon, epsilons))
    if not epsilons and (noise is None) == (not scales):
        return tuple(values.noise_of(noise or "", scale) for scale in scales)
    raise click.UsageError(_NOISE_MISSING)


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
@click.argument("answers", nargs=-1, metavar="[ANSWER]...", callback=_as_answers)
@options.population_options
@options.typed(
    "--epsilon",
    values.parse_epsilon,
    "E",
    "The ε of each answer, as `noisycount count` tells it: once, or once an answer; of a table with sums once a level.",
    multiple=True,
)
@options.typed(
    "--noise",
    click.Choice(list(values.NOISE_KINDS)),
    "KIND",
    f"Or: the kind of its noise, {' or '.join(values.NOISE_KINDS)},",
)
@options.typed("--scale", values.parse_scale, "S", "and the noise's scale in records: 10 or 20/3.", multiple=True)
@options.typed("--level", parse_confidence, "95%", "The probability of the interval.", default="95%")
@options.plot_option(
    "Draw it as .svg or .png: what was assumed, what is answered, and both; of a table the answers "
    "and estimates of its cells, and below them those of their sums, level by level."
)
@options.typed(
    "--answers table",
    options.FILE,
    "FILE",
    "A table of answers, each about a count of its own, refined one by one.",
)
@options.typed("--size-column", str, "NAME", "Instead of --size: its column of how many records,")
@options.typed("--rate-column", str, "NAME", "and instead of --rate: its column of rates.")
@options.typed(
    "--table file",
    options.FILE,
    "FILE",
    "A published table, all of it refined together: of `count --by --output`, or any CSV, TSV or Parquet "
    "file; noisy measurements of the census; page views of Wikimedia.",
)
@options.typed(
    "--key",
    str,
    "KEY",
    "Or: a table or a count of the ledger, by its key or 6 or more characters that it begins with; it costs nothing.",
    is_eager=True,
)
@options.repeated(
    "--by", _column_names, "COLUMNS", "Its key columns from coarse to fine, county,town; an empty cell is a sum."
)
@options.typed("--total", values.parse_count, "N", "How many records there are, if public.")
@options.typed("--below", _parse_threshold, "T", "An empty answer was left out because it was below this,")
@options.typed("--below-column", str, "NAME", "or below what this column says.")
@options.typed(
    "--prior",
    _parse_prior,
    "A|learned",
    "How counts divide: a concentration for each cell, 1 if all tables are as likely.  [default: learned "
    "from the answers]",
)
@options.flag("--shares has_shares", "Tell each cell's share of the total,")
@options.flag("--ranks has_ranks", "and its rank, 1 for the largest.")
@options.typed("--geocode", str, "CODE", "Of the census: which place,")
@options.typed("--query", str, "NAME", 'and which query, such as "votingage * hispanic".')
@options.typed("--day", _parse_day, "DAY", "Of Wikimedia: the day, where the name of the file does not say it,")
@options.typed(
    "--tier tiers", _parse_tier, "TIER=CODES", "and countries of more than lower risk: medium=TR,UA.", multiple=True
)
@options.typed("--column", str, "NAME", "The column of answers of a table.")
@options.typed("--out", options.FILE, "FILE", "Write a new table, with mean, median, low, high and so on added.")
@options.flag("--overwrite", "Replace the file of --out if it is there.")
@options.common_options
def refine(  # noqa: PLR0913, PLR0917  (one argument an option)
    answers: tuple[float, ...],
    size: int | None,
    rate: Rate | None,
    strata: Path | None,
    epsilon: tuple[Fraction, ...],
    noise: str | None,
    scale: tuple[Fraction, ...],
    level: float,
    plot: Path | None,
    table: Path | None,
    size_column: str | None,
    rate_column: str | None,
    tiers: Sequence[dict[str, str]],
    prior: float | str | None,
    column: str | None,
    out: Path | None,
    configuration: Config,
    *,
    overwrite: bool,
    as_json: bool,
    **asked: Any,  # noqa: ANN401 - what a published table has by the same names
) -> None:
    """Estimate the true count from a noisy answer and a known rate.

    Several ANSWERs are about ONE count, each with independent noise, and give one estimate:
    --epsilon stands once for all of them, or once for each in their order. Leave out an answer that
    was topped up to a finer one, whose noise rests on its own. A table (CSV or
    Parquet) holds answers about a count each. What is assumed is public knowledge: it costs no
    privacy, as it only uses what was already told. Without a rate, each count is assumed to be as
    likely.

    A published table (--table, or --key of the ledger) is refined as a whole: its counts add up, and what is known of
    their law is learned from all of them. Where --key is that of one count, add --size, and --rate if it is known.
    """
    noises = _noises(epsilon, noise, scale)
    published = RefineQuery(
        **asked,
        tiers=reduce(or_, tiers, {}),
        source=click.get_current_context().meta.get(_SOURCE),
        concentration=prior if isinstance(prior, float) else None,
        is_learned=prior == _LEARNED,
    )
    has_columns = any(part is not None for part in (table, size_column, rate_column))
    has_population = size is not None or rate is not None or strata is not None
    if published != RefineQuery():
        if has_columns or answers:
            raise click.UsageError(_WHOLE)
        if has_population:
            if published != RefineQuery(key=published.key, source=published.source) or column or out:
                raise click.UsageError(_WHOLE)
            assumed = options.assumed_of_options(size, rate, strata, is_flat_allowed=True)
            _refine_count(_stored(published, assumed, noises, level, configuration), plot, as_json=as_json)
            return
        if (published.file is None) == (published.key is None):
            raise click.UsageError(_WHOLE)
        from noisycount.tasks.refine.table import ask_table  # noqa: PLC0415  (loads DuckDB)

        said = replace(published, noises=noises, column=column, level=level, out=out, plot=plot, is_replacing=overwrite)
        ask_table(said, configuration, as_json=as_json)
    elif answers and not (has_columns or column or out):
        each = noises if 1 < len(noises) == len(answers) else _one(noises, len(answers))
        for place, answer in enumerate(answers):
            check_whole(answer, each[place] if isinstance(each, Sequence) else each)
        assumed = options.assumed_of_options(size, rate, strata, is_flat_allowed=True)
        _refine_count(Refinement.of(answers, assumed, each, level), plot, as_json=as_json)
    elif table and column and out and not (answers or plot):
        law = _one(noises)
        from noisycount.tasks.refine.column import AnswersFile  # noqa: PLC0415  (loads DuckDB)

        rows = AnswersFile(table, column, out, size_column, rate_column, overwrite)
        _refine_column(rows, _row_laws(rows, size, rate, strata), law, level, as_json=as_json)
    else:
        raise click.UsageError(
            "give either one or more ANSWERs, such as 107 --size 5912 --rate 1.7% --epsilon 0.15, or all of "
            "--answers FILE, --column NAME and --out FILE, or a published table by --table FILE or --key KEY"
        )


def _row_laws(asked: "AnswersFile", size: int | None, rate: Rate | None, strata: Path | None) -> "RowLaws":
    """What is known about the count of each row."""
    from noisycount.tasks.refine.column import RowLaws  # noqa: PLC0415  (loads DuckDB)

    if asked.size is None and asked.rate is None:
        assumed = options.assumed_of_options(size, rate, strata, is_flat_allowed=True)
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
    if len(noises) == 1:
        return noises[0]
    if not noises:
        raise click.UsageError(_NOISE_MISSING)
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


def _refine_count(refinement: Refinement, plot: Path | None, *, as_json: bool) -> None:
    if plot is not None:
        from noisycount.tasks.refine.pictures import save_plot  # noqa: PLC0415  (loads Altair)

        with status("drawing"):
            save_plot(refinement, plot)
    if as_json:
        print_json(refinement_json(refinement))
    else:
        print_facts([*refinement_facts(refinement), *file_facts(plot)])


def _refine_column(asked: "AnswersFile", laws: "RowLaws", law: AdditiveNoise, level: float, *, as_json: bool) -> None:
    from noisycount.tasks.refine import column  # noqa: PLC0415  (loads DuckDB)

    with progress("refining") as done:
        written = column.refined_column(asked, laws, law, level, done)
    if as_json:
        print_json(column.column_json(written))
    else:
        print_text(column.column_text(written))
