"""The key of a record, as SQL that is never an error and never another key's."""

from collections.abc import Sequence

from noisycount.release.question.grouping import Edges, Part, Period, Plain, Span
from noisycount.release.question.schema import Kind
from noisycount.release.sources.duckdb.cells import SQL_TYPES
from noisycount.release.sources.duckdb.quoting import quoted_name
from noisycount.release.sources.edges import edges_of

__all__ = ["edge_type", "is_inside", "is_wide", "key_sql", "key_type"]

_NUMBER = "INTEGER"
_MOST_CASES = 64
_OUTSIDE = -1  # numbers of ranges and of periods are none below 0
_OUTSIDE_DATE = "'infinity'::DATE"
_FIRST = {Kind.DATE: "'0001-01-01'::DATE", Kind.TIMESTAMP: "'0001-01-01'::TIMESTAMP"}
_LAST = {
    Kind.DATE: "'9999-12-31'::DATE",
    Kind.TIMESTAMP: "'9999-12-31 23:59:59.999999'::TIMESTAMP",
}
_PLACES = {
    Span.YEAR: "year({0})",
    Span.QUARTER: "year({0}) * 4 + quarter({0}) - 1",
    Span.MONTH: "year({0}) * 12 + month({0}) - 1",
}


def key_type(part: Part) -> str:
    """The type of the listed keys of a part."""
    return SQL_TYPES[part.column.kind] if isinstance(part, Plain) else _NUMBER


def key_sql(part: Part) -> str:
    """The key of a record in a part; NULL is that of missing values.

    Where a part has many edges, it is the number itself: `ranges` finds its range.

    Example:
        >>> from noisycount.release.question.operands import Column
        >>> print(key_sql(Edges(Column("age", Kind.INTEGER), (18,))))
        CASE WHEN "age" IS NOT NULL THEN CASE WHEN "age" >= '18'::BIGINT THEN 0 ELSE -1 END END
    """
    name = quoted_name(part.column.name)
    match part:
        case Edges() if is_wide(part):
            return name
        case Edges():
            edges = [f"'{edge!r}'::{edge_type(part)}" for edge in edges_of(part)]
            return f"CASE WHEN {name} IS NOT NULL THEN {_range_number(name, edges, 0)} END"
        case Period(column, span):
            return _of_a_day(name, column.kind, _PLACES[span].format(name), str(_OUTSIDE))
        case _ if part.column.kind is Kind.DATE:
            return _of_a_day(name, Kind.DATE, name, _OUTSIDE_DATE)
        case _:
            return name


def is_wide(part: Edges) -> bool:
    """Whether a part has more edges than a nest of cases is fast for."""
    return len(part.edges) > _MOST_CASES


def edge_type(part: Edges) -> str:
    """The type of the edges of a part."""
    return SQL_TYPES[part.column.kind]


def is_inside(part: Part, key: str) -> str:
    """Whether a key is that of a group, as SQL."""
    if not isinstance(part, Plain):
        return f"{key} IS DISTINCT FROM {_OUTSIDE}"
    if part.column.kind is Kind.DATE:
        return f"{key} IS DISTINCT FROM {_OUTSIDE_DATE}"
    return "true"


def _of_a_day(name: str, kind: Kind, inside: str, outside: str) -> str:
    """What there is of days with a year of four digits, and what of others."""
    has_year = f"{name} BETWEEN {_FIRST[kind]} AND {_LAST[kind]}"
    return f"CASE WHEN {has_year} THEN {inside} WHEN {name} IS NOT NULL THEN {outside} END"


def _range_number(name: str, edges: Sequence[str], first: int) -> str:
    """The number of the range that a number is in, of those with these edges, by bisection."""
    if not edges:
        return str(first - 1)
    middle = len(edges) // 2
    above = _range_number(name, edges[middle + 1 :], first + middle + 1)
    below = _range_number(name, edges[:middle], first)
    return f"CASE WHEN {name} >= {edges[middle]} THEN {above} ELSE {below} END"
