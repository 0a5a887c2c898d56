"""One tree for the wordings of a single test of a column."""

from dataclasses import replace

from noisycount.release.question.operands import Column, Literal, Operator
from noisycount.release.question.schema import Kind
from noisycount.release.question.tree import Comparison, Flag, Not, Predicate

__all__ = ["EXACT_INTEGERS", "normal_leaf"]

# Reals hold every integer below it, so that no two of them become one number.
EXACT_INTEGERS = 2**53


def normal_leaf(predicate: Predicate, *, negated: bool) -> Predicate:
    """The one tree of a test, or of its negation; the test joins and negates nothing itself.

    Example:
        >>> age = Column("age", Kind.INTEGER)
        >>> leaf = Comparison(age, Operator.LESS, Literal(Kind.REAL, 65.0))
        >>> normal_leaf(leaf, negated=True).right.value
        65
    """
    if isinstance(predicate, Comparison):
        operator = predicate.operator.negated if negated else predicate.operator
        return _comparison(predicate.left, operator, predicate.right)
    return Not(predicate) if negated else predicate


def _comparison(left: Column, operator: Operator, right: Column | Literal) -> Predicate:
    if isinstance(right, Column):
        if right.name < left.name:
            return Comparison(right, operator.mirrored, left)
        return Comparison(left, operator, right)
    if isinstance(right.value, bool):
        return _flag(left, is_true=right.value is (operator is Operator.EQUAL))
    return Comparison(left, operator, _literal(left, right))


def _flag(column: Column, *, is_true: bool) -> Predicate:
    """A boolean column that is true, or false."""
    return Flag(column) if is_true else Not(Flag(column))


def _literal(column: Column, literal: Literal) -> Literal:
    """A whole real beside integers as the integer, where both tell the same integers apart."""
    literal, value = _positive(literal), literal.value
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < EXACT_INTEGERS
    if column.kind is Kind.INTEGER and is_whole:
        return Literal(Kind.INTEGER, int(value))  # type: ignore[arg-type]  # a float
    return literal


def _positive(literal: Literal) -> Literal:
    """Zero without its sign, which no comparison sees."""
    return (
        replace(literal, value=0.0) if literal.kind is Kind.REAL and not literal.value else literal
    )
