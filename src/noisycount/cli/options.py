"""What people type to plan a table, and what it stands for.

What people type to refine a published table, and what it stands for.

What people type to `refine` of the noise of answers, and of a column of them.
"""

import math
import re
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import Any

import click

from noisycount.frozen import frozen
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.grouping import MOST_CELLS
from noisycount.readers.common import Command, as_epsilon, number, ungrouped, with_options
from noisycount.readers.population import (
    NOISE_OPTIONS,
    as_answers,
    as_count,
    as_scale,
    noise_of_options,
)
from noisycount.tasks.refine.published import RefineQuery
from noisycount.tasks.table.forecast import Design
from noisycount.tasks.table.options import (
    as_delta,
    as_groups,
    as_margins,
    as_rho,
    margin_names,
)

__all__ = [
    "Columns",
    "as_words",
    "column_options",
    "design_options",
    "noise_options",
    "published_options",
]


_SIZE = re.compile(r"\s*([^=,]+?)\s*=\s*([0-9][0-9,]*[0-9]|[0-9]{1,8})\s*")


_PIECE = re.compile(r"[^,=]+=[^=]*?(?=,[^,=]+=|$)")


def as_cells(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> dict[str, int]:
    """Columns and how many keys each has, such as `town=16,sex=2`."""
    cells: dict[str, int] = {}
    for text in texts:
        for piece in _PIECE.findall(text) or [text]:
            match = _SIZE.fullmatch(piece)
            size = int(ungrouped(match[2]).replace(",", "")) if match else 0
            if match is None or not 1 <= size <= MOST_CELLS or match[1] in cells:
                raise click.BadParameter(
                    "must name each column once with its number of keys, such as town=16,sex=2, "
                    f"got {text!r}"
                )
            cells[match[1]] = size
    return cells


_OPTIONS = (
    click.option(
        "--cells",
        multiple=True,
        callback=as_cells,
        metavar="TOWN=16,SEX=2",
        help="Or: a table, by columns with so many keys each, at --epsilon or --rho.",
    ),
    click.option(
        "--margins",
        multiple=True,
        callback=as_margins,
        metavar="NAMES",
        help="Sums that are measured beside its cells: total,town or all.",
    ),
    click.option(
        "--delta",
        callback=as_delta,
        metavar="D",
        help="Gaussian noise at the same ε and δ beside Laplace noise; and of hidden keys.",
    ),
    click.option("--rho", callback=as_rho, metavar="R", help="The price of Gaussian noise."),
    click.option(
        "--groups-per-unit",
        callback=as_groups,
        metavar="G",
        help="In how many cells a person can be.  [default: 1]",
    ),
    click.option(
        "--size-public",
        "is_size_public",
        is_flag=True,
        help="Everybody knows how many persons there are: one replaces another.",
    ),
    click.option(
        "--hidden", "is_hidden", is_flag=True, help="Only the records know the keys: add --delta."
    ),
    click.option(
        "--cumulative", "is_cumulative", is_flag=True, help="Ranges of cells are measured too."
    ),
)


_NAMES = ("cells", "margins", "delta", "rho", "is_size_public", "is_hidden", "is_cumulative")


def design_options(command: Command) -> Command:
    """The command with the options of a table's shape, which give it a `Design` or None."""

    @wraps(command)
    def packed(epsilon: Fraction | None, groups_per_unit: int | None, **given: Any) -> None:  # noqa: ANN401 - whatever options give
        said = {name: given.pop(name) for name in _NAMES}
        design = Design(**said, epsilon=epsilon, groups=groups_per_unit)
        if not design.cells and (groups_per_unit or any(said.values())):
            raise click.UsageError("give the cells of a table too, such as --cells town=16,sex=2")
        command(**given, epsilon=epsilon, design=design if design.cells else None)

    decorated: Any = packed
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]  # what it was, with more options


_LEARNED = "learned"


_SOURCE = "noisycount.source"


_ERAS = ("pre-2017", "historical", "current")


_TIER = re.compile(r"(medium|higher)=([A-Z]{2}(?:,[A-Z]{2})*)")


_FILE = click.Path(path_type=Path, dir_okay=False)


def _as_names(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> tuple[str, ...]:
    """The names of columns, each once."""
    try:
        names = [name for text in texts for name in margin_names(text)]
    except ValueError:
        raise click.BadParameter(
            f"must name columns with commas between them: county,town, got {texts[0]!r}"
        ) from None
    if len(set(names)) < len(names):
        raise click.BadParameter("names a column twice: name it once")
    return tuple(names)


def _as_threshold(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """A finite number that answers are below."""
    found = None if text is None else number(text)
    if found is None or math.isfinite(found):
        return found
    raise click.BadParameter(f"must be a finite number of records, such as 11, got {text!r}")


def _as_day(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """A day such as `2024-05-01`, or the name of an era."""
    if text is None or text in _ERAS:
        return text
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise click.BadParameter(
            f"must be a day such as 2024-05-01, or {', '.join(_ERAS)}, got {text!r}"
        ) from None


def _as_tiers(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> dict[str, str]:
    """The tier of each country, by its code."""
    tiers: dict[str, str] = {}
    for text in texts:
        found = _TIER.fullmatch(text)
        if found is None:
            raise click.BadParameter(
                f"must be medium or higher with codes of countries: medium=TR,UA, got {text!r}"
            )
        tiers |= dict.fromkeys(found[2].split(","), found[1])
    return tiers


def _as_prior(_: click.Context, __: click.Parameter, text: str | None) -> float | str | None:
    """A positive concentration of each cell, or the word that it is learned."""
    if text is None or text.lower() == _LEARNED:
        return None if text is None else _LEARNED
    found = number(text)
    if 0 < found < math.inf:
        return found
    raise click.BadParameter(
        f"must be {_LEARNED}, or the concentration of each cell above 0, such as 1, got {text!r}"
    )


def as_words(
    context: click.Context, argument: click.Parameter, texts: tuple[str, ...]
) -> tuple[float, ...]:
    """Noisy answers; beside a key of the ledger the name of a data set, which is kept for it."""
    if context.params.get("key") is None:
        return as_answers(context, argument, texts)
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
        callback=_as_names,
        metavar="COLUMNS",
        help="Its key columns from coarse to fine, county,town; an empty cell is a sum.",
    ),
    click.option(
        "--total", callback=as_count, metavar="N", help="How many records there are, if public."
    ),
    click.option(
        "--below",
        callback=_as_threshold,
        metavar="T",
        help="An empty answer was left out because it was below this,",
    ),
    click.option("--below-column", metavar="NAME", help="or below what this column says."),
    click.option(
        "--prior",
        callback=_as_prior,
        metavar="A|learned",
        help="How counts divide: a concentration for each cell, 1 if all tables are as likely.  "
        "[default: learned from the answers]",
    ),
    click.option(
        "--shares", "has_shares", is_flag=True, help="Tell each cell's share of the total,"
    ),
    click.option("--ranks", "has_ranks", is_flag=True, help="and its rank, 1 for the largest."),
    click.option("--geocode", metavar="CODE", help="Of the census: which place,"),
    click.option(
        "--query", metavar="NAME", help='and which query, such as "votingage * hispanic".'
    ),
    click.option(
        "--day",
        callback=_as_day,
        metavar="DAY",
        help="Of Wikimedia: the day, where the name of the file does not say it,",
    ),
    click.option(
        "--tier",
        "tiers",
        multiple=True,
        callback=_as_tiers,
        metavar="TIER=CODES",
        help="and countries of more than lower risk: medium=TR,UA.",
    ),
)


_NAMES_PUBLISHED = (
    *("file", "key", "by", "total", "below", "below_column", "has_shares", "has_ranks"),
    *("geocode", "query", "day", "tiers"),
)


def published_options(command: Command) -> Command:
    """The command with the options of published tables: an `RefineQuery` named `published`."""

    @wraps(command)
    def packed(**given: Any) -> None:  # noqa: ANN401 - whatever options give
        prior = given.pop("prior")
        asked = RefineQuery(
            **{name: given.pop(name) for name in _NAMES_PUBLISHED},
            source=click.get_current_context().meta.get(_SOURCE),
            concentration=None if prior == _LEARNED else prior,
            is_learned=prior == _LEARNED,
        )
        command(**given, published=asked)

    return with_options(packed, _OPTIONS_PUBLISHED)  # type: ignore[no-any-return]  # what it was


@frozen
class Columns:
    """A table of answers about a count each, as it was typed.

    Attributes:
        answers: The file.
        size: Its column of sizes.
        rate: Its column of rates.
    """

    answers: Path | None
    size: str | None
    rate: str | None

    @property
    def is_asked(self) -> bool:
        """Whether anything of it was typed."""
        return any(part is not None for part in (self.answers, self.size, self.rate))


def _as_epsilons(
    context: click.Context, option: click.Parameter, texts: Sequence[str]
) -> tuple[Fraction, ...]:
    """Exact ε, one a level of a table."""
    return tuple(filter(None, (as_epsilon(context, option, text) for text in texts)))


def _as_scales(
    context: click.Context, option: click.Parameter, texts: Sequence[str]
) -> tuple[Fraction, ...]:
    """Exact scales, one a level of a table."""
    return tuple(filter(None, (as_scale(context, option, text) for text in texts)))


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


def _noises(
    epsilons: Sequence[Fraction], noise: str | None, scales: Sequence[Fraction]
) -> tuple[AdditiveNoise, ...]:
    """The noises that were typed; none where nothing was."""
    if epsilons and noise is None and not scales:
        return tuple(map(DiscreteLaplace.for_epsilon, epsilons))
    if not epsilons and (noise is None) == (not scales):
        return tuple(noise_of_options(noise or "", scale) for scale in scales)
    raise click.UsageError(
        "give either --epsilon, or both --noise and --scale, such as --noise gaussian --scale 10"
    )


_NOISE = (
    click.option(
        "--epsilon",
        multiple=True,
        callback=_as_epsilons,
        metavar="E",
        help="The ε of each answer, as `noisycount count` tells it: once, or once an answer; of a "
        "table with sums once a level.",
    ),
    click.option(
        "--noise",
        type=click.Choice(list(NOISE_OPTIONS)),
        metavar="KIND",
        help=f"Or: the kind of its noise, {' or '.join(NOISE_OPTIONS)},",
    ),
    click.option(
        "--scale",
        multiple=True,
        callback=_as_scales,
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
    click.option(
        "--size-column", metavar="NAME", help="Instead of --size: its column of how many records,"
    ),
    click.option(
        "--rate-column", metavar="NAME", help="and instead of --rate: its column of rates."
    ),
)
