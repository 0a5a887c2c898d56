"""A predicate as SQL of DuckDB, rendered from the tree with every name quoted."""

from noisycount.release.question.operands import Column, Literal
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
from noisycount.release.sources.duckdb.cells import SQL_TYPES
from noisycount.release.sources.duckdb.quoting import quoted_name, quoted_text

__all__ = ["duckdb_sql", "summand_sql"]


def duckdb_sql(predicate: Predicate) -> str:
    """An expression of DuckDB that is true, false or null as the predicate is, and never raises.

    The columns must have DuckDB's type for their kind: integers any type that compares with
    BIGINT, reals DOUBLE, texts VARCHAR in binary order, and BOOLEAN, DATE, TIMESTAMP.

    Example:
        >>> age = Column("age", Kind.INTEGER)
        >>> print(duckdb_sql(Range(age, Literal(Kind.INTEGER, 30), Literal(Kind.INTEGER, 39))))
        ("age" BETWEEN '30'::BIGINT AND '39'::BIGINT)
    """
    match predicate:
        case Constant(value):
            return str(value).upper()
        case Flag(column):
            return quoted_name(column.name)
        case Not(operand):
            return f"(NOT {duckdb_sql(operand)})"
        case And(operands):
            return f"({' AND '.join(map(duckdb_sql, operands))})"
        case Or(operands):
            return f"({' OR '.join(map(duckdb_sql, operands))})"
        case _:
            return f"({_test_sql(predicate)})"


def summand_sql(predicate: Predicate) -> str:
    """What is added up to count the records that match: 1 of each, or true.

    DuckDB is three times as fast at the bits of numbers as at AND, and as blind: it looks at all
    operands of every record, so that its time does not tell how many match the first. Unknown is
    not added up, and need not be told from false.

    Example:
        >>> smoker = Flag(Column("smoker", Kind.BOOLEAN))
        >>> print(summand_sql(And((smoker, Not(smoker)))))
        ("smoker"::SMALLINT & (NOT "smoker")::SMALLINT)
    """
    if not isinstance(predicate, And):
        return duckdb_sql(predicate)
    return f"({' & '.join(f'{duckdb_sql(part)}::SMALLINT' for part in predicate.operands)})"


def _test_sql(test: Comparison | Range | Membership | Pattern | Missing) -> str:
    match test:
        case Comparison(left, operator, right):
            kind = _common_kind(left, right)
            return f"{_operand(left, kind)} {operator.value} {_operand(right, kind)}"
        case Range(column, low, high):
            kind = _common_kind(column, low)
            ends = f"{_operand(low, kind)} AND {_operand(high, kind)}"
            return f"{_operand(column, kind)} BETWEEN {ends}"
        case Membership(column, choices):
            kind = _common_kind(column, choices[0])
            listed = ", ".join(_operand(choice, kind) for choice in choices)
            return f"{_operand(column, kind)} IN ({listed})"
        case Pattern(column, pattern):
            return f"{quoted_name(column.name)} LIKE {quoted_text(pattern)}"
        case Missing(column):
            return f"{quoted_name(column.name)} IS NULL"


def _common_kind(left: Column, right: Column | Literal) -> Kind:
    return Kind.REAL if Kind.REAL in (left.kind, right.kind) else left.kind


def _operand(operand: Column | Literal, kind: Kind) -> str:
    """The operand as a value of the kind, which is its own or, for an integer, real."""
    if isinstance(operand, Literal):
        return f"{quoted_text(str(operand.value))}::{SQL_TYPES[kind]}"
    name = quoted_name(operand.name)
    return name if operand.kind is kind else f"CAST({name} AS {SQL_TYPES[kind]})"
