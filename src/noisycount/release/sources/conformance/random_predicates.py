"""Random predicates about columns: of values that occur, as deep as an analyst may write."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from math import isfinite, nextafter
from typing import Any

from noisycount.release.question.operands import INTEGERS, Column, Literal, Operator
from noisycount.release.question.schema import Kind
from noisycount.release.question.tree import (
    And,
    Comparison,
    Constant,
    Flag,
    Membership,
    Missing,
    Not,
    Or,
    Pattern,
    Predicate,
    Range,
)
from noisycount.release.sources.conformance.cells import CELLS
from noisycount.release.sources.conformance.draws import Draws

__all__ = ["LITERALS", "near", "random_predicates"]

_DEEPEST = 17
"""Levels of a tree: each takes at most one of the 20 levels of the language, and a leaf two."""
_MOST_LEAVES = 24  # far fewer than fill 4,096 bytes
_PATTERN_PIECES = ("%", "_", "a", "b", "\\", "é", "👍", "\n", ".", "A", " ", "'", "[", "]", "^")
_LONGEST_PATTERN = 6

LITERALS: Mapping[Kind, tuple[Any, ...]] = {
    kind: tuple(
        cell
        for cell in cells
        if not (isinstance(cell, float) and not isfinite(cell))
        and not (isinstance(cell, str) and "\0" in cell)
    )
    for kind, cells in CELLS.items()
}
"""The cells of each kind that an analyst can write."""


def random_predicates(schema: Mapping[str, Kind], number: int, seed: str) -> Iterator[Predicate]:
    """So many predicates about the columns of a schema."""
    maker = _Maker(Draws(seed), [Column(name, kind) for name, kind in schema.items()])
    for _ in range(number):
        yield maker.predicate(maker.depth(), _MOST_LEAVES)


def near(value: Any, draws: Draws) -> Any:  # noqa: ANN401 - of the kind of the value
    """A value, or one next to it in its order."""
    step = draws.below(6) - 1
    if step not in {-1, 1}:
        return value
    match value:
        case bool():
            return not value
        case int():
            return value + step if value + step in INTEGERS else value
        case float():
            stepped = nextafter(value, step * 2.0**1023)
            return stepped if isfinite(stepped) else value
        case str():
            return value[:-1] if step < 0 else value + draws.one_of(_PATTERN_PIECES)
        case _:
            return _beside(value, step)


def _beside(value: date, step: int) -> date:
    """A day or a moment next to another."""
    try:
        unit = timedelta(microseconds=1) if isinstance(value, datetime) else timedelta(days=1)
        return value + step * unit
    except OverflowError:
        return value


@dataclass(frozen=True, slots=True)
class _Maker:
    """What makes predicates about some columns."""

    draws: Draws
    columns: Sequence[Column]

    def depth(self) -> int:
        """Of a predicate: of most it is small."""
        draws = self.draws
        return draws.below(_DEEPEST + 1) if draws.is_one_in(12) else draws.below(4)

    def predicate(self, depth: int, leaves: int, without: type | None = None) -> Predicate:
        """A predicate of so many levels, and at most so many leaves."""
        draws = self.draws
        form = draws.one_of([form for form in (Not, And, Or) if form is not without])
        is_whole = depth <= 0 or (form is not Not and leaves < 2)  # noqa: PLR2004 - the arity
        if is_whole:
            return self.test()
        if form is Not:
            return Not(self.predicate(depth - 1, leaves))
        operands = self.operands(form, depth - 1, leaves)
        return And(operands) if form is And else Or(operands)

    def operands(self, form: type, depth: int, leaves: int) -> tuple[Predicate, ...]:
        """What a connective joins: one deep predicate beside others of one leaf each."""
        draws = self.draws
        number = min(2 + draws.below(2), leaves)
        deep = self.predicate(depth, leaves - number + 1, form)
        others = [self.predicate(draws.below(depth + 1), 1, form) for _ in range(number - 1)]
        return (deep, *others) if draws.is_one_in(2) else (*others, deep)

    def test(self) -> Predicate:
        """A predicate that joins and negates nothing."""
        draws = self.draws
        column = draws.one_of(self.columns)
        if draws.is_one_in(40):
            return Constant(draws.is_one_in(2))
        if draws.is_one_in(10):
            return Missing(column)
        return self.flag(column) if column.kind is Kind.BOOLEAN else self.compared(column)

    def compared(self, column: Column) -> Predicate:
        """A test of the value of a column."""
        draws = self.draws
        if column.kind is Kind.TEXT and draws.is_one_in(3):
            return Pattern(column, self.pattern())
        match draws.below(5):
            case 0:
                return Membership(column, self.literals(column, 1 + draws.below(6)))
            case 1:
                return Range(column, *self.literals(column, 2))
            case _:
                operator = draws.one_of(list(Operator))
                return Comparison(column, operator, self.other_side(column))

    def flag(self, column: Column) -> Predicate:
        """A test of a boolean column."""
        draws = self.draws
        if draws.is_one_in(2):
            return Flag(column)
        operator = draws.one_of([Operator.EQUAL, Operator.NOT_EQUAL])
        return Comparison(column, operator, self.other_side(column))

    def other_side(self, column: Column) -> Column | Literal:
        """What a column is compared with."""
        if self.draws.is_one_in(3):
            return self.draws.one_of([each for each in self.columns if _compare(column, each)])
        return self.literals(column, 1)[0]

    def literals(self, column: Column, number: int) -> tuple[Literal, ...]:
        """Values of one kind that a column can be compared with."""
        draws = self.draws
        kind = column.kind
        if kind is Kind.INTEGER and draws.is_one_in(4):
            kind = Kind.REAL
        values = [near(draws.one_of(LITERALS[kind]), draws) for _ in range(number)]
        return tuple(Literal(kind, value) for value in values)

    def pattern(self) -> str:
        """A text that occurs with some of its characters made wild, or one of wild pieces."""
        draws = self.draws
        if draws.is_one_in(2):
            pieces = range(draws.below(_LONGEST_PATTERN))
            return "".join(draws.one_of(_PATTERN_PIECES) for _ in pieces)
        text = draws.one_of(LITERALS[Kind.TEXT])
        return "".join(draws.one_of("%_") if draws.is_one_in(4) else each for each in text)


def _compare(column: Column, other: Column) -> bool:
    """Whether two columns can be compared."""
    return column.kind is other.kind or (column.kind.is_number and other.kind.is_number)
