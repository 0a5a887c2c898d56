"""The rows of a refined table as people read them, numbers below each other."""

from collections.abc import Callable, Sequence

import numpy as np

from noisycount.app.refine.tables.estimates import Spread
from noisycount.app.refine.tables.published import PublishedTable
from noisycount.app.refine.tables.refined import RefinedTable
from noisycount.shown.numbers import percent, signed, to_one_place

__all__ = ["shown_rows", "shown_spreads"]

_UNKNOWN = "-"
Texts = list[str]


def shown_rows(refined: RefinedTable, places: Sequence[int]) -> tuple[Texts, list[Texts]]:
    """The names of columns, and the cells of some rows.

    Args:
        refined: The table.
        places: Which rows, from 0.
    """
    table, told = refined.published, refined.estimates
    known = told.is_told[list(places)].tolist()
    columns = {
        "answer": [_answer(table, place) for place in places],
        "mean": _known([signed(told.mean[at], 1) for at in places], known),
        "median": _known([signed(told.median[at]) for at in places], known),
    }
    ends = _ranges(
        [signed(told.low[at]) for at in places], [signed(told.high[at]) for at in places]
    )
    columns[percent(refined.level)] = _known(ends, known)
    return _beside_keys(table, places, columns)


def shown_spreads(refined: RefinedTable, places: Sequence[int]) -> tuple[Texts, list[Texts]]:
    """The names of columns, and the shares and ranks of some cells, as far as they were asked for.

    Args:
        refined: The table.
        places: Which rows, from 0; of cells alone.
    """
    told = refined.estimates
    columns: dict[str, Texts] = {}
    if told.shares is not None:
        columns["share, %"] = _spread(told.shares, places, lambda share: f"{100 * share:.1f}")
    if told.ranks is not None:
        columns["rank"] = _spread(told.ranks, places, signed)
    return _beside_keys(refined.published, places, columns)


def _beside_keys(
    table: PublishedTable, places: Sequence[int], columns: dict[str, Texts]
) -> tuple[Texts, list[Texts]]:
    """Columns of numbers to the right of the keys of their rows."""
    numbers = zip(*map(_padded, columns.values()), strict=True)
    rows = [[*table.keys[at], *own] for at, own in zip(places, numbers, strict=True)]
    return [*table.names, *columns], rows


def _answer(table: PublishedTable, place: int) -> str:
    """An answer, or what it is below."""
    if not np.isnan(table.answers[place]):
        return to_one_place(table.answers[place])
    limit = table.below[place]
    return _UNKNOWN if np.isnan(limit) else f"below {to_one_place(limit)}"


def _known(texts: Texts, known: Sequence[bool]) -> Texts:
    """The texts of rows of which something is known."""
    return [text if is_known else _UNKNOWN for text, is_known in zip(texts, known, strict=True)]


def _spread(told: Spread, places: Sequence[int], shown: Callable[[float], str]) -> Texts:
    """An estimate of each cell with its interval."""
    middle, low, high = (
        _padded([shown(values[at]) for at in places])
        for values in (told.middle, told.low, told.high)
    )
    ends = _ranges(low, high)
    return [f"{one} ({end.strip()})" for one, end in zip(middle, ends, strict=True)]


def _ranges(lows: Texts, highs: Texts) -> Texts:
    """Intervals whose "to" are below each other."""
    widest = max(map(len, highs), default=0)
    return [f"{low} to {high.ljust(widest)}" for low, high in zip(lows, highs, strict=True)]


def _padded(texts: Sequence[str]) -> Texts:
    widest = max(map(len, texts), default=0)
    return [text and text.rjust(widest) for text in texts]
