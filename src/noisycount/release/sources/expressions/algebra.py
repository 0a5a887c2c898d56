"""The operations of an engine that predicates and keys are made of."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from noisycount.release.question.grouping import Span
from noisycount.release.question.operands import Column, Operator
from noisycount.release.question.schema import Kind

__all__ = ["Algebra", "Value"]

Value = int | float | str
Expression = TypeVar("Expression")


class Algebra(Protocol[Expression]):
    """The expressions of an engine: each has a value for every record, and none is ever an error.

    Truth is three-valued; NaN equals itself and follows every number; texts are compared by their
    code points.
    """

    def column(self, column: Column, kind: Kind) -> Expression:
        """The value of a column, as one of a kind: its own or, of integers, real."""
        ...

    def literal(self, value: object, kind: Kind) -> Expression:
        """A value of a kind, bound and never a part of a text."""
        ...

    def number(self, value: int) -> Expression:
        """A whole number of ours."""
        ...

    def nothing(self) -> Expression:
        """A missing whole number."""
        ...

    def constant(self, value: bool) -> Expression:  # noqa: FBT001 - it is a value
        """True or false."""
        ...

    def compared(self, left: Expression, operator: Operator, right: Expression) -> Expression:
        """Whether two values of one kind compare so; unknown where one is missing."""
        ...

    def is_one_of(self, value: Expression, choices: Sequence[Expression]) -> Expression:
        """Whether a value equals one of some."""
        ...

    def is_like(self, text: Expression, pattern: str) -> Expression:
        """Whether a text is like a pattern: `%` any text, `_` one character, nothing escapes."""
        ...

    def is_missing(self, value: Expression) -> Expression:
        """Whether there is no value."""
        ...

    def negated(self, truth: Expression) -> Expression:
        """True where an expression is false."""
        ...

    def all_of(self, truths: Sequence[Expression]) -> Expression:
        """True where all are."""
        ...

    def any_of(self, truths: Sequence[Expression]) -> Expression:
        """True where one is."""
        ...

    def chosen(self, truth: Expression, then: Expression, otherwise: Expression) -> Expression:
        """One expression where another is true, and else a third; only that one is evaluated."""
        ...

    def day(self, moment: Expression) -> Expression:
        """The number year·10000 + month·100 + day of a date of the years 1 to 9999."""
        ...

    def period(self, moment: Expression, span: Span) -> Expression:
        """The number year·periods + period − 1 of a date or time of the years 1 to 9999."""
        ...
