"""The parts of a question that no record can satisfy, whatever the records are."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

from noisycount.release.question.bounds import are_apart, holds, listed
from noisycount.release.question.operands import Column, Operator
from noisycount.release.question.tree import (
    And,
    Comparison,
    Constant,
    Missing,
    Not,
    Or,
    Predicate,
    columns,
)

__all__ = ["contradictions"]

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

    Args:
        predicate: in normal form, so that no ``not`` stands before ``and`` or ``or``.

    Example:
        >>> from noisycount.release.question.reading import read
        >>> from noisycount.release.question.schema import Kind
        >>> from noisycount.release.question.text import canonical_text
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
