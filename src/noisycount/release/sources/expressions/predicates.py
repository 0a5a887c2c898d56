"""A predicate as an expression of an engine."""

from typing import TypeVar

from noisycount.release.question.operands import Column, Literal, Operator
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
from noisycount.release.sources.expressions.algebra import Algebra

__all__ = ["predicate_expression"]

Expression = TypeVar("Expression")


def predicate_expression(predicate: Predicate, algebra: Algebra[Expression]) -> Expression:
    """An expression that is true, false or unknown as the predicate is, and never an error."""
    match predicate:
        case Constant(value):
            return algebra.constant(value)
        case Flag(column):
            return algebra.column(column, column.kind)
        case Not(operand):
            return algebra.negated(predicate_expression(operand, algebra))
        case And(operands):
            return algebra.all_of([predicate_expression(part, algebra) for part in operands])
        case Or(operands):
            return algebra.any_of([predicate_expression(part, algebra) for part in operands])
        case _:
            return _test(predicate, algebra)


def _test(
    test: Comparison | Range | Membership | Pattern | Missing, algebra: Algebra[Expression]
) -> Expression:
    match test:
        case Comparison(left, operator, right):
            kind = _common_kind(left, right)
            return algebra.compared(
                algebra.column(left, kind), operator, _operand(right, kind, algebra)
            )
        case Range(column, low, high):
            kind = _common_kind(column, low)
            value = algebra.column(column, kind)
            at_least = algebra.compared(value, Operator.AT_LEAST, _operand(low, kind, algebra))
            at_most = algebra.compared(value, Operator.AT_MOST, _operand(high, kind, algebra))
            return algebra.all_of([at_least, at_most])
        case Membership(column, choices):
            kind = _common_kind(column, choices[0])
            listed = [_operand(choice, kind, algebra) for choice in choices]
            return algebra.is_one_of(algebra.column(column, kind), listed)
        case Pattern(column, pattern):
            return algebra.is_like(algebra.column(column, column.kind), pattern)
        case Missing(column):
            return algebra.is_missing(algebra.column(column, column.kind))


def _common_kind(left: Column, right: Column | Literal) -> Kind:
    return Kind.REAL if Kind.REAL in (left.kind, right.kind) else left.kind


def _operand(operand: Column | Literal, kind: Kind, algebra: Algebra[Expression]) -> Expression:
    """The operand as a value of the kind, which is its own or, for an integer, real."""
    if isinstance(operand, Column):
        return algebra.column(operand, kind)
    value = float(operand.value) if kind is Kind.REAL else operand.value  # type: ignore[arg-type]  # a number
    return algebra.literal(value, kind)
