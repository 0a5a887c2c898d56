"""Random tables by key of mixed records."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import product
from typing import Any

import numpy as np

from noisycount.model.tables.levels import Level
from noisycount.release.question.grouping import Edges, Key, Part, Period, Plain, Span
from noisycount.release.question.keys import CellQuestion, KeyQuestion, KeySet
from noisycount.release.question.operands import Column
from noisycount.release.question.schema import Kind
from noisycount.release.question.tree import Predicate
from noisycount.release.sources.conformance.draws import Draws
from noisycount.release.sources.conformance.exercise import TableQuestion
from noisycount.release.sources.conformance.random_predicates import LITERALS, random_predicates

__all__ = ["random_tables"]

_MOST_PARTS = 3
_MOST_KEYS = 6
_MANY_EDGES = 200
_SALTS = ("", "salt", "it's")


def random_tables(schema: Mapping[str, Kind], number: int, seed: str) -> Iterator[TableQuestion]:
    """So many tables of the columns of a schema: of listed keys, and of hidden ones."""
    maker = _Maker(Draws(seed), [Column(name, kind) for name, kind in schema.items()])
    wheres = random_predicates(schema, number, f"where of {seed}")
    for place, where in enumerate(wheres):
        chosen = where if place % 3 == 0 else None
        yield maker.keys(chosen) if place % 4 == 0 else maker.cells(chosen)


@dataclass(frozen=True, slots=True)
class _Maker:
    """What makes tables of some columns."""

    draws: Draws
    columns: Sequence[Column]

    def keys(self, where: Predicate | None) -> KeyQuestion:
        """A table whose keys only the records know."""
        return KeyQuestion(self.parts(), where, self.most(), self.draws.one_of(_SALTS))

    def cells(self, where: Predicate | None) -> CellQuestion:
        """A table whose keys are known."""
        draws, parts = self.draws, self.parts()
        values = [self.values(part) for part in parts]
        codes = list(product(*(range(len(each)) for each in values)))
        if draws.is_one_in(2):
            codes = draws.some_of(codes, (len(codes) + 1) // 2)
        keys = KeySet(
            tuple(parts), tuple(values), np.array(codes, np.int32).reshape(-1, len(parts))
        )
        has_other = draws.is_one_in(2)
        levels = self.levels(len(keys) + has_other)
        return CellQuestion(keys, where, levels, has_other, self.most(), draws.one_of(_SALTS))

    def most(self) -> int | None:
        """In how many groups a unit may be."""
        return None if self.draws.is_one_in(2) else 1 + self.draws.below(3)

    def parts(self) -> list[Part]:
        """One to three different parts."""
        found = {part.text: part for part in (self.part() for _ in range(_MOST_PARTS))}
        return self.draws.some_of(list(found.values()), 1 + self.draws.below(_MOST_PARTS))

    def part(self) -> Part:
        """Something to group by."""
        column = self.draws.one_of(self.columns)
        is_plain = self.draws.is_one_in(2)
        match column.kind:
            case Kind.TEXT | Kind.BOOLEAN:
                return Plain(column)
            case Kind.INTEGER | Kind.DATE if is_plain:
                return Plain(column)
            case Kind.INTEGER | Kind.REAL:
                return Edges(column, self.edges(column.kind))
            case _:
                return Period(column, self.draws.one_of(list(Span)))

    def edges(self, kind: Kind) -> tuple[int | float, ...]:
        """Where ranges begin: few of values that occur, or many."""
        draws = self.draws
        if draws.is_one_in(4):
            first = draws.below(_MANY_EDGES) - _MANY_EDGES
            step = 1 if kind is Kind.INTEGER else 0.5
            return tuple(step * (first + place) for place in range(_MANY_EDGES))
        choices: list[Any] = list(LITERALS[Kind.INTEGER])
        if kind is Kind.REAL:
            choices += LITERALS[Kind.REAL]
        return tuple(sorted(set(draws.some_of(choices, 1 + draws.below(9)))))

    def values(self, part: Part) -> tuple[Key, ...]:
        """Some keys of a part, each once."""
        known = part.implied or tuple(_keys(part))
        most = len(known) + 1 if part.implied else _MOST_KEYS
        return tuple(self.draws.some_of([*known, None], 1 + self.draws.below(most)))

    def levels(self, cells: int) -> tuple[Level, ...]:
        """The cells, their total, and sums of some of them."""
        size = 1 + self.draws.below(4)
        sums = [self.draws.below(size + 1) - 1 for _ in range(cells)]
        return (
            Level("cells", np.arange(cells, dtype=np.int32), cells),
            Level("total", np.zeros(cells, np.int32), 1),
            Level("sums", np.array(sums, np.int32), size),
        )


def _keys(part: Part) -> list[Key]:
    """Every key of a part that values have which an analyst can write."""
    values = LITERALS[part.column.kind]
    if isinstance(part, Period):
        return sorted({part.key(value) for value in (*values, date(1999, 12, 31))}, key=str)
    return [part.checked(value) for value in values]
