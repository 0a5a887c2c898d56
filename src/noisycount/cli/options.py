"""What people type to refine answers and tables, and what it stands for."""

import math
import re
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from functools import reduce, wraps
from itertools import chain
from operator import or_
from pathlib import Path
from typing import Any

import click

from noisycount.frozen import frozen
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.readers.options import Command, Parsed, with_options
from noisycount.readers.values import (
    NOISE_KINDS,
    noise_of,
    parse_answer,
    parse_columns,
    parse_count,
    parse_epsilon,
    parse_number,
    parse_scale,
)
from noisycount.tasks.refine.query import RefineQuery

_LEARNED = "learned"
_SOURCE = "noisycount.source"
_ERAS = ("pre-2017", "historical", "current")
_TIER = re.compile(r"(medium|higher)=([A-Z]{2}(?:,[A-Z]{2})*)")
_FILE = click.Path(path_type=Path, dir_okay=False)


def _each_once(_: click.Context, __: click.Parameter, lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The names of all lists, each once."""
    names = tuple(chain.from_iterable(lists))
    if len(set(names)) < len(names):
        raise click.BadParameter("names a column twice: name it once")
    return names


def _parse_threshold(text: str) -> float:
    """A finite number that answers are below."""
    found = parse_number(text)
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
    found = parse_number(text)
    if 0 < found < math.inf:
        return found
    raise ValueError(f"must be {_LEARNED}, or the concentration of each cell above 0, such as 1, got {text!r}")


def as_words(context: click.Context, _: click.Parameter, texts: tuple[str, ...]) -> tuple[float, ...]:
    """Noisy answers; beside a key of the ledger the name of a data set, which is kept for it."""
    if context.params.get("key") is None:
        try:
            return tuple(map(parse_answer, texts))
        except ValueError as error:
            odd = next((text for text in texts if text.startswith("--")), None)
            if odd is not None:
                raise click.NoSuchOption(odd, ctx=context) from None
            raise click.BadParameter(str(error)) from None
    if len(texts) > 1:
        raise click.BadParameter(f"must be the one data set of --key, got {len(texts)} words")
    context.meta[_SOURCE] = texts[0] if texts else None
    return ()


_OPTIONS_PUBLISHED = (
    click.option(
        "--table",
        "file",
        type=_FILE,
        metavar="FILE",
        help="A published table, all of it refined together: of `count --by --output`, or any CSV, "
        "TSV or Parquet file; noisy measurements of the census; page views of Wikimedia.",
    ),
    click.option(
        "--key",
        is_eager=True,
        metavar="KEY",
        help="Or: a table or a count of the ledger, by its key or 6 or more characters that it "
        "begins with; it costs nothing.",
    ),
    click.option(
        "--by",
        multiple=True,
        type=Parsed(parse_columns),
        callback=_each_once,
        metavar="COLUMNS",
        help="Its key columns from coarse to fine, county,town; an empty cell is a sum.",
    ),
    click.option("--total", type=Parsed(parse_count), metavar="N", help="How many records there are, if public."),
    click.option(
        "--below",
        type=Parsed(_parse_threshold),
        metavar="T",
        help="An empty answer was left out because it was below this,",
    ),
    click.option("--below-column", metavar="NAME", help="or below what this column says."),
    click.option(
        "--prior",
        type=Parsed(_parse_prior),
        metavar="A|learned",
        help="How counts divide: a concentration for each cell, 1 if all tables are as likely.  "
        "[default: learned from the answers]",
    ),
    click.option("--shares", "has_shares", is_flag=True, help="Tell each cell's share of the total,"),
    click.option("--ranks", "has_ranks", is_flag=True, help="and its rank, 1 for the largest."),
    click.option("--geocode", metavar="CODE", help="Of the census: which place,"),
    click.option("--query", metavar="NAME", help='and which query, such as "votingage * hispanic".'),
    click.option(
        "--day",
        type=Parsed(_parse_day),
        metavar="DAY",
        help="Of Wikimedia: the day, where the name of the file does not say it,",
    ),
    click.option(
        "--tier",
        "tiers",
        multiple=True,
        type=Parsed(_parse_tier),
        metavar="TIER=CODES",
        help="and countries of more than lower risk: medium=TR,UA.",
    ),
)

_NAMES_PUBLISHED = (
    *("file", "key", "by", "total", "below", "below_column", "has_shares", "has_ranks"),
    *("geocode", "query", "day"),
)


def published_options(command: Command) -> Command:
    """The command with the options of published tables: an `RefineQuery` named `published`."""

    @wraps(command)
    def packed(**given: Any) -> None:  # noqa: ANN401 - whatever options give
        tiers: dict[str, str] = reduce(or_, given.pop("tiers"), {})
        prior = given.pop("prior")
        asked = RefineQuery(
            **{name: given.pop(name) for name in _NAMES_PUBLISHED},
            tiers=tiers,
            source=click.get_current_context().meta.get(_SOURCE),
            concentration=None if prior == _LEARNED else prior,
            is_learned=prior == _LEARNED,
        )
        command(**given, published=asked)

    return with_options(packed, _OPTIONS_PUBLISHED)  # type: ignore[no-any-return]  # what it was


@frozen
class Columns:
    """A table of answers about a count each, as it was typed."""

    answers: Path | None  # the file
    size: str | None  # its column of sizes
    rate: str | None  # its column of rates

    @property
    def is_asked(self) -> bool:
        """Whether anything of it was typed."""
        return any(part is not None for part in (self.answers, self.size, self.rate))


def noise_options(command: Command) -> Command:
    """The command with `--epsilon`, `--noise` and `--scale`: its noises, named `noises`."""

    @wraps(command)
    def packed(**given: Any) -> None:  # noqa: ANN401 - whatever options give
        parts = [given.pop(name) for name in ("epsilon", "noise", "scale")]
        command(**given, noises=_noises(*parts))

    return with_options(packed, _NOISE)  # type: ignore[no-any-return]  # what it was


def column_options(command: Command) -> Command:
    """The command with the options of a column of answers: `Columns` named `columns`."""

    @wraps(command)
    def packed(**given: Any) -> None:  # noqa: ANN401 - whatever options give
        parts = [given.pop(name) for name in ("table", "size_column", "rate_column")]
        command(**given, columns=Columns(*parts))

    return with_options(packed, _COLUMNS)  # type: ignore[no-any-return]  # what it was


def _noises(epsilons: Sequence[Fraction], noise: str | None, scales: Sequence[Fraction]) -> tuple[AdditiveNoise, ...]:
    """The noises that were typed; none where nothing was."""
    if epsilons and noise is None and not scales:
        return tuple(map(DiscreteLaplace.for_epsilon, epsilons))
    if not epsilons and (noise is None) == (not scales):
        return tuple(noise_of(noise or "", scale) for scale in scales)
    raise click.UsageError("give either --epsilon, or both --noise and --scale, such as --noise gaussian --scale 10")


_NOISE = (
    click.option(
        "--epsilon",
        multiple=True,
        type=Parsed(parse_epsilon),
        metavar="E",
        help="The ε of each answer, as `noisycount count` tells it: once, or once an answer; of a "
        "table with sums once a level.",
    ),
    click.option(
        "--noise",
        type=click.Choice(list(NOISE_KINDS)),
        metavar="KIND",
        help=f"Or: the kind of its noise, {' or '.join(NOISE_KINDS)},",
    ),
    click.option(
        "--scale",
        multiple=True,
        type=Parsed(parse_scale),
        metavar="S",
        help="and the noise's scale in records: 10 or 20/3.",
    ),
)

_COLUMNS = (
    click.option(
        "--answers",
        "table",
        type=_FILE,
        metavar="FILE",
        help="A table of answers, each about a count of its own, refined one by one.",
    ),
    click.option("--size-column", metavar="NAME", help="Instead of --size: its column of how many records,"),
    click.option("--rate-column", metavar="NAME", help="and instead of --rate: its column of rates."),
)
