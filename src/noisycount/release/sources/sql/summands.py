"""What is added up to count: numbers that are 1 where something is true."""

from sqlalchemy import BigInteger, Integer, case, cast, distinct, func, literal_column, null

from noisycount.release.question.tree import Predicate
from noisycount.release.sources.expressions.predicates import predicate_expression
from noisycount.release.sources.sql.algebra import SqlAlgebra
from noisycount.release.sources.sql.dialect import Expression

__all__ = [
    "NOTHING",
    "ONE",
    "condition",
    "distinct_elsewhere",
    "distinct_where",
    "is_true",
    "number_of",
    "number_where",
    "one_or_nothing",
]

ONE = literal_column("1", Integer)
NOTHING = literal_column("0", Integer)


def condition(predicate: Predicate, algebra: SqlAlgebra) -> Expression:
    """A predicate as a condition."""
    return algebra.all_of([predicate_expression(predicate, algebra)])


def one_or_nothing(predicate: Predicate, algebra: SqlAlgebra) -> Expression:
    """What is added up to count what matches: 1, or 0."""
    return is_true(condition(predicate, algebra))


def is_true(truth: Expression) -> Expression:
    """1 where a condition is true, and else 0."""
    return case((truth, ONE), else_=NOTHING)


def number_of(summand: Expression) -> Expression:
    """The sum of such numbers, 0 over no records."""
    return cast(func.coalesce(func.sum(summand), NOTHING), BigInteger)


def number_where(truth: Expression) -> Expression:
    """How often a condition is true: servers count ones faster than they add them to noughts."""
    return func.count(case((truth, ONE)))


def distinct_where(truth: Expression, value: Expression) -> Expression:
    """How many values there are where a condition is true."""
    return func.count(distinct(case((truth, value))))


def distinct_elsewhere(truth: Expression, value: Expression) -> Expression:
    """How many there are where it is not: no answer, but work that makes up for what matches."""
    return func.count(distinct(case((truth, null()), else_=value)))
