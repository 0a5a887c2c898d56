"""What the tests of one column leave of its values.

The parts of a question that no record can satisfy, whatever the records are.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from datetime import date
from math import ceil, floor
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from noisycount.frozen import frozen
from noisycount.query.normal_form import EXACT_INTEGERS
from noisycount.query.predicate import (
    And,
    Column,
    Comparison,
    Constant,
    Literal,
    Membership,
    Missing,
    Not,
    Operator,
    Or,
    Predicate,
    Range,
    columns,
)
from noisycount.query.schema import Kind

__all__ = ["contradictions"]


_TESTS = {
    Operator.EQUAL: eq,
    Operator.NOT_EQUAL: ne,
    Operator.LESS: lt,
    Operator.AT_MOST: le,
    Operator.MORE: gt,
    Operator.AT_LEAST: ge,
}


@frozen
class _End:
    """An end of what a column may hold: every value on its side, with or without the end itself."""

    value: Any
    is_open: bool


def listed(test: Predicate) -> list[Any] | None:
    """The only values for which a test of a column is true; None: nobody knows a list.

    Example:
        >>> column = Column("age", Kind.INTEGER)
        >>> listed(Comparison(column, Operator.EQUAL, Literal(Kind.INTEGER, 65)))
        [65]
    """
    match test:
        case Comparison(column, Operator.EQUAL, Literal() as literal):
            literals: Sequence[Literal] = (literal,)
        case Membership(column, choices):
            literals = choices
        case _:
            return None
    values = [_value(column, literal) for literal in literals]
    if None in values:
        return None
    is_discrete = column.kind.is_discrete
    return [value for value in values if not is_discrete or value == floor(value)]


def holds(test: Predicate, value: Any) -> bool:  # noqa: ANN401 - of the kind of the column
    """Whether a test of a column may be true where the column has the value.

    Example:
        >>> column = Column("age", Kind.INTEGER)
        >>> holds(Comparison(column, Operator.LESS, Literal(Kind.INTEGER, 65)), 70)
        False
    """
    match test:
        case Comparison(column, operator, Literal() as literal):
            other = _value(column, literal)
            return other is None or bool(_TESTS[operator](value, other))
        case Not(Membership(column, choices)):
            return value not in [_value(column, choice) for choice in choices]
        case Membership(column, choices):
            others = [_value(column, choice) for choice in choices]
            return None in others or value in others
        case Range():
            return all(holds(end, value) for end in _ends(test))
        case Not(Range() as inside):
            low, high = (_value(inside.column, end) for end in (inside.low, inside.high))
            return low is None or high is None or not low <= value <= high
        case _:
            return True


def are_apart(tests: Sequence[Predicate]) -> bool:
    """Whether the tests of a column leave no value between its ends.

    Example:
        >>> column = Column("age", Kind.INTEGER)
        >>> ends = Literal(Kind.INTEGER, 64), Literal(Kind.INTEGER, 1)
        >>> are_apart([Range(column, *ends)])
        True
    """
    ends = [end for test in tests for end in _ends(test)]
    lows = [_end(end) for end in ends if end.operator in (Operator.MORE, Operator.AT_LEAST)]
    highs = [_end(end) for end in ends if end.operator in (Operator.LESS, Operator.AT_MOST)]
    return any(_is_past(low, high) for low in lows for high in highs if low and high)


def _is_past(low: _End, high: _End) -> bool:
    is_open = low.is_open or high.is_open
    return bool(low.value > high.value) or (is_open and bool(low.value == high.value))


def _ends(test: Predicate) -> Iterator[Comparison]:
    """The comparisons with literals that a test is made of."""
    match test:
        case Comparison(_, _, Literal()):
            yield test
        case Range(column, low, high):
            yield Comparison(column, Operator.AT_LEAST, low)
            yield Comparison(column, Operator.AT_MOST, high)


def _end(test: Comparison) -> _End | None:
    """The end that a comparison sets; of integers and days the nearest that is within."""
    column, operator = test.left, test.operator
    value = _value(column, test.right)  # type: ignore[arg-type]  # a literal, by `_ends`
    if value is None:
        return None
    is_open = operator in (Operator.MORE, Operator.LESS)
    if not column.kind.is_discrete:
        return _End(value, is_open)
    if operator in (Operator.MORE, Operator.AT_LEAST):
        return _End(floor(value) + 1 if is_open else ceil(value), is_open=False)
    return _End(ceil(value) - 1 if is_open else floor(value), is_open=False)


def _value(column: Column, literal: Literal) -> Any:  # noqa: ANN401 - of the kind of the column
    """A literal on the scale of its column: days by their number, numbers as they are.

    None for reals beside integers that engines compare as reals, so large that integers merge.
    """
    value = literal.value
    if column.kind is Kind.INTEGER and isinstance(value, float):
        return value if abs(value) < EXACT_INTEGERS else None
    if column.kind is Kind.REAL and isinstance(value, int):
        return float(value)
    if column.kind is Kind.DATE and isinstance(value, date):
        return value.toordinal()
    return value


_LESS, _SAME, _MORE = "less", "same", "more"
_ORDERS = {
    Operator.EQUAL: {_SAME},
    Operator.NOT_EQUAL: {_LESS, _MORE},
    Operator.LESS: {_LESS},
    Operator.AT_MOST: {_LESS, _SAME},
    Operator.MORE: {_MORE},
    Operator.AT_LEAST: {_MORE, _SAME},
}


def contradictions(predicate: Predicate) -> Iterator[Predicate]:
    """The smallest parts of a predicate that are true of no record; none of them is a guess.

    What is compared is the tests of one column, or of the same two columns, that an ``and`` joins.
    Patterns are compared with their own negation only. So a predicate without such a part may still
    be true of no record.

    Example:
        >>> from noisycount.query.normal_form import read
        >>> from noisycount.query.schema import Kind
        >>> from noisycount.query.predicate import canonical_text
        >>> asked = read("smoker and age > 5 and age < 3", {
        ...     "age": Kind.INTEGER, "smoker": Kind.BOOLEAN}).normal
        >>> [canonical_text(part) for part in contradictions(asked)]
        ['age < 3 and age > 5']
    """
    match predicate:
        case Constant(value):
            if not value:
                yield predicate
        case Or(operands):
            for operand in operands:
                yield from contradictions(operand)
        case And(operands):
            yield from _joined(operands)
        case _:
            yield from _joined((predicate,))


def _joined(operands: Sequence[Predicate]) -> Iterator[Predicate]:
    """The contradictions in what an ``and`` joins."""
    tests: dict[Hashable, list[Predicate]] = defaultdict(list)
    for operand in operands:
        if isinstance(operand, And | Or | Constant):
            yield from contradictions(operand)
        else:
            tests[tuple(columns(operand))].append(operand)
    for about_one in tests.values():
        if _is_impossible(about_one):
            least = _least(about_one)
            yield least[0] if len(least) == 1 else And(tuple(least))


def _least(tests: Sequence[Predicate]) -> list[Predicate]:
    """Tests that contradict each other, without those that the contradiction can do without."""
    kept = list(tests)
    for test in tests:
        others = [each for each in kept if each is not test]
        if _is_impossible(others):
            kept = others
    return kept


def _is_impossible(tests: Sequence[Predicate]) -> bool:
    """Whether no values of the columns, which are the same in all tests, satisfy all of them."""
    distinct = set(tests)
    if any(isinstance(test, Missing) for test in tests) and len(distinct) > 1:
        return True
    if any(isinstance(test, Not) and test.operand in distinct for test in tests):
        return True
    orders = [set(_possible(test)) for test in tests if _is_of_columns(test)]
    if orders:
        return not set.intersection(*orders)
    lists = [values for values in map(listed, tests) if values is not None]
    if lists:
        least = min(lists, key=len)
        return not any(all(holds(test, value) for test in tests) for value in least)
    return are_apart(tests)


def _is_of_columns(test: Predicate) -> bool:
    """Whether a test compares a column with a column."""
    return isinstance(test, Comparison) and isinstance(test.right, Column)


def _possible(test: Predicate) -> Iterator[str]:
    """How two columns may stand to each other where a comparison of them is true."""
    if isinstance(test, Comparison):
        is_itself = test.left == test.right
        yield from _ORDERS[test.operator] & ({_SAME} if is_itself else {_LESS, _SAME, _MORE})
