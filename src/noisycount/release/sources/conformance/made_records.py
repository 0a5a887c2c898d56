"""Records made up of hostile cells: two columns of every kind, and a person."""

from collections.abc import Mapping, Sequence

from noisycount.release.question.schema import Kind
from noisycount.release.sources.conformance.cells import CELLS
from noisycount.release.sources.conformance.draws import Draws
from noisycount.release.sources.truth import Record

__all__ = ["MIXED", "PERSON", "mixed_records"]

PERSON = "person"
MIXED: Mapping[str, Kind] = {
    PERSON: Kind.INTEGER,
    **{f"{kind.value}_{letter}": kind for kind in Kind for letter in "ab"},
}
"""The columns of these records."""

_ROWS = 64
_ALIKE = 10  # rows in which the two columns of each kind are equal
_EMPTY = 2  # rows in which only the person is told
_PERSONS = 25
_MISSING = 7  # one cell in so many


def mixed_records() -> list[Record]:
    """Records in which every cell of every kind occurs at least once, in one of two columns."""
    draws = Draws("mixed")
    columns: dict[str, list[object]] = {}
    for kind, cells in CELLS.items():
        found = _shuffled(cells, 2 * _ROWS, draws)
        alike = [draws.one_of(cells) for _ in range(_ALIKE)]
        for letter, part in (("a", found[:_ROWS]), ("b", found[_ROWS:])):
            columns[f"{kind.value}_{letter}"] = [*part, *alike, *[None] * _EMPTY]
    return [
        {PERSON: draws.below(_PERSONS), **dict(zip(columns, row, strict=True))}
        for row in zip(*columns.values(), strict=True)
    ]


def _shuffled(cells: Sequence[object], number: int, draws: Draws) -> list[object]:
    """So many cells: all of some in a random order, as often as they fit, with missing ones."""
    pool: list[object] = []
    while len(pool) < number:
        for place, cell in enumerate(draws.some_of(cells, len(cells))):
            pool += [cell] if place % _MISSING else [cell, None]
    return pool[:number]
