# ruff: noqa: S608, as all SQL here is made of our own names
# ruff: noqa: S608, as all SQL here is made of our own names and of names that are quoted
# ruff: noqa: S608, as all SQL here is made of typed trees and of names that it quotes
"""The key of a record, as SQL that is never an error and never another key's.

Ranges with many edges, looked up in a list: a nest of cases takes time for each of its edges.

The units of records, and the groups that each is left in, as SQL.

The keys, the unit and the match of each record: what all queries of tables begin with.
"""

from collections.abc import Iterator, Sequence
from typing import Self

from noisycount.engines.duckdb.cells import SQL_TYPES, duckdb_sql, summand_sql
from noisycount.engines.duckdb.connection import Statements, quoted_name
from noisycount.engines.expressions import edges_of
from noisycount.engines.truth import OTHER, salt_text
from noisycount.frozen import frozen
from noisycount.query.grouping import Edges, Part, Period, Plain, Span
from noisycount.query.predicate import Predicate
from noisycount.query.schema import Kind, Schema

__all__ = [
    "Person",
    "group_text",
    "is_inside",
    "kept_sql",
    "key_names",
    "key_type",
    "keyed_records",
    "list_edges",
    "matching_records",
    "matching_units",
    "other_text",
]


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
        >>> from noisycount.query.predicate import Column
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


def list_edges(statements: Statements, parts: Sequence[Part]) -> None:
    """The making of a table of one row with the edges of each part that has many."""
    for number, part in _wide(parts):
        edges = f"SELECT ?::{edge_type(part)}[] AS l{number}"
        statements.run(f"CREATE TEMP TABLE listed_edges_{number} AS {edges}", [edges_of(part)])


def with_ranges(query: str, parts: Sequence[Part]) -> str:
    """A query whose keys of such parts are numbers, with their ranges in place of them.

    Args:
        query: Has them as ``k0``, ``k1`` and so on.
        parts: What the keys are of.
    """
    for number, part in _wide(parts):
        query = _searched(query, number, len(part.edges))
    return query


def _wide(parts: Sequence[Part]) -> Iterator[tuple[int, Edges]]:
    return ((n, part) for n, part in enumerate(parts) if isinstance(part, Edges) and is_wide(part))


def _searched(query: str, number: int, edges: int) -> str:
    """The query after a bisection, which adds up the number of edges that are not above a key.

    Beyond the end of the list there is no edge, and nothing is added.
    """
    key, found, listed = f"k{number}", f"r{number}", f"l{number}"
    query = f"SELECT *, 0 AS {found} FROM ({query}), temp.listed_edges_{number}"
    for exponent in reversed(range(edges.bit_length())):
        more = f"{found} + {2**exponent}"
        step = f"CASE WHEN {key} >= list_extract({listed}, {more}) THEN {more} ELSE {found} END"
        query = f"SELECT * REPLACE ({step} AS {found}) FROM ({query})"
    place = f"CASE WHEN {key} IS NOT NULL THEN {found} - 1 END"
    return f"SELECT * EXCLUDE ({found}, {listed}) REPLACE ({place} AS {key}) FROM ({query})"


@frozen
class Person:
    """The column that names persons.

    Attributes:
        name: The column.
        kind: The kind of its values, where a question could use them; else None.
    """

    name: str
    kind: Kind | None

    @classmethod
    def of(cls, unit: str | None, schema: Schema) -> Self | None:
        """The persons of records with that unit; None where every record is one."""
        return None if unit is None else cls(unit, schema.entire.kinds.get(unit))

    @property
    def sql(self) -> str:
        """The person of a record."""
        return quoted_name(self.name)


def unit_text(unit: str, kind: Kind | None) -> str:
    """The text of a unit, as `truncation.unit_text` has it; of other kinds a text of their own."""
    text = f"TRY_CAST({unit} AS VARCHAR)"
    if kind is Kind.TIMESTAMP:
        text = f"TRY_CAST(epoch_us(TRY_CAST({unit} AS TIMESTAMP)) AS VARCHAR)"
    if kind is Kind.REAL:
        real = f"TRY_CAST({unit} AS DOUBLE)"
        text = f"CASE WHEN isnan({real}) THEN 'nan' ELSE printf('%.17g', {real} + 0.0) END"
    return f"coalesce({text}, '')"


def group_text(keys: Sequence[str], salt: str) -> str:
    """The hash of a group of some keys, as `truncation` has it."""
    texts = [f"CAST({key} AS VARCHAR)" for key in keys]
    parts = [f"coalesce(length({text}) || ':' || {text}, '-')" for text in texts]
    return f"md5('{salt_text(salt)}' || {' || '.join(parts)})"


def other_text(salt: str) -> str:
    """The hash of the group of all that is not listed."""
    return f"md5('{salt_text(salt)}{OTHER}')"


def kept_sql(pairs: str, kind: Kind | None, most: int) -> str:
    """Those pairs of units and groups that are left, of which each unit has at most so many.

    Args:
        pairs: A query with the unit as ``u``, the hash of the group as ``tag``, whether the pair
            counts as ``m``, and what else is wanted.
        kind: Of the units.
        most: How many.
    """
    place = f"md5_number(tag || {unit_text('u', kind)})"
    order = f"row_number() OVER (PARTITION BY u ORDER BY NOT m, {place})"
    return f"SELECT *, m AND {order} <= {most} AS kept FROM ({pairs})"


def key_names(parts: Sequence[Part]) -> list[str]:
    """What queries call the keys."""
    return [f"k{number}" for number in range(len(parts))]


def keyed_records(parts: Sequence[Part], where: Predicate | None, person: Person | None) -> str:
    """The query of all records: their keys, their unit as ``u``, whether they match as ``m``.

    The edges of the parts must have been listed. No record is left out, so that the time of a
    query does not tell how many match.
    """
    shown = [f"{key_sql(part)} AS k{number}" for number, part in enumerate(parts)]
    if where is not None:
        shown.append(f"{(summand_sql if person is None else duckdb_sql)(where)} AS m")
    if person is not None:
        shown.append(f"{person.sql} AS u")
    return with_ranges(f"SELECT {', '.join(shown)} FROM records", parts)


def matching_records(where: Predicate | None) -> str:
    """How many records of a group match."""
    return "count(*)" if where is None else "coalesce(sum(m), 0)"


def matching_units(where: Predicate | None) -> str:
    """Whether a record of a unit and a group matches."""
    return "true" if where is None else "coalesce(bool_or(m), false)"
