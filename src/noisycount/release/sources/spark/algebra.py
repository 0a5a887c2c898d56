"""The operations of predicates and keys as columns of Spark."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from operator import and_, eq, ge, gt, le, lt, ne, or_

from noisycount.release.question.grouping import Span
from noisycount.release.question.operands import Column, Operator
from noisycount.release.question.schema import Kind
from noisycount.release.sources.spark.api import Columns, Functions
from noisycount.release.sources.spark.patterns import java_regex

__all__ = ["SparkAlgebra"]

_COMPARISONS = {
    Operator.EQUAL: eq,
    Operator.NOT_EQUAL: ne,
    Operator.LESS: lt,
    Operator.AT_MOST: le,
    Operator.MORE: gt,
    Operator.AT_LEAST: ge,
}
_TYPES = {
    Kind.INTEGER: "bigint",
    Kind.REAL: "double",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp_ntz",
}
_NUMBER = "bigint"


@dataclass(frozen=True, slots=True)
class SparkAlgebra:
    """Columns of one frame of records; see ``Algebra``.

    Attributes:
        functions: What makes columns.
        names: What the frame calls each column, each of the one type of its kind.
    """

    functions: Functions
    names: Mapping[str, str]

    def column(self, column: Column, kind: Kind) -> Columns:
        """The value of a column; see ``Algebra.column``."""
        value = self.functions.col(self.names[column.name])
        return value if column.kind is kind else value.cast(_TYPES[kind])

    def literal(self, value: object, kind: Kind) -> Columns:
        """A value of a kind; see ``Algebra.literal``.

        Days and times are bound as texts: as values they would be moved by the zone of a machine.
        """
        if isinstance(value, datetime):
            value = value.isoformat(" ")
        elif isinstance(value, date):
            value = value.isoformat()
        bound = self.functions.lit(value)
        return bound.cast(_TYPES[kind]) if kind in _TYPES else bound

    def number(self, value: int) -> Columns:
        """A whole number; see ``Algebra.number``."""
        return self.functions.lit(value).cast(_NUMBER)

    def nothing(self) -> Columns:
        """A missing whole number; see ``Algebra.nothing``."""
        return self.functions.lit(None).cast(_NUMBER)

    def constant(self, value: bool) -> Columns:  # noqa: FBT001 - it is a value
        """True or false."""
        return self.functions.lit(value)

    def compared(self, left: Columns, operator: Operator, right: Columns) -> Columns:
        """Whether two values compare so; see ``Algebra.compared``."""
        truth: Columns = _COMPARISONS[operator](left, right)
        return truth

    def is_one_of(self, value: Columns, choices: Sequence[Columns]) -> Columns:
        """Whether a value equals one of some."""
        return value.isin(list(choices))

    def is_like(self, text: Columns, pattern: str) -> Columns:
        """Whether a text is like a pattern; see ``Algebra.is_like``."""
        return text.rlike(java_regex(pattern))

    def is_missing(self, value: Columns) -> Columns:
        """Whether there is no value."""
        return value.isNull()

    def negated(self, truth: Columns) -> Columns:
        """True where an expression is false."""
        return ~truth

    def all_of(self, truths: Sequence[Columns]) -> Columns:
        """True where all are."""
        return _joined(and_, truths)

    def any_of(self, truths: Sequence[Columns]) -> Columns:
        """True where one is."""
        return _joined(or_, truths)

    def chosen(self, truth: Columns, then: Columns, otherwise: Columns) -> Columns:
        """One expression where another is true, and else a third; see ``Algebra.chosen``."""
        return self.functions.when(truth, then).otherwise(otherwise)

    def day(self, moment: Columns) -> Columns:
        """The number of a day; see ``Algebra.day``."""
        make = self.functions
        year = make.year(moment).cast(_NUMBER)
        return year * 10_000 + make.month(moment) * 100 + make.dayofmonth(moment)

    def period(self, moment: Columns, span: Span) -> Columns:
        """The number of a period; see ``Algebra.period``."""
        make = self.functions
        year = make.year(moment).cast(_NUMBER)
        match span:
            case Span.YEAR:
                return year
            case Span.QUARTER:
                return year * 4 + make.quarter(moment) - 1
            case Span.MONTH:
                return year * 12 + make.month(moment) - 1


def _joined(join: Callable[[Columns, Columns], Columns], truths: Sequence[Columns]) -> Columns:
    """Truths joined in pairs of pairs: in a row, thousands would be too deep for Spark."""
    if len(truths) == 1:
        return truths[0]
    middle = len(truths) // 2
    return join(_joined(join, truths[:middle]), _joined(join, truths[middle:]))
