"""The query that counts, and the time that it may take."""
# ruff: noqa: S608, as all SQL here is made of typed trees and of names that it quotes

from collections.abc import Iterable, Sequence

from noisycount.release.question.tree import Predicate
from noisycount.release.sources.duckdb.paths import Connection
from noisycount.release.sources.duckdb.quoting import quoted_name
from noisycount.release.sources.duckdb.sql import duckdb_sql, summand_sql
from noisycount.release.sources.duckdb.statements import limited

__all__ = ["check_counts", "count_sql", "row_within"]


def count_sql(predicates: Sequence[Predicate], unit: str | None) -> str:
    """One scan without a filter: its time does not tell how many records match."""
    if unit is None:
        counts = ", ".join(f"coalesce(sum({summand_sql(each)}), 0)" for each in predicates)
        return f"SELECT {counts} FROM records"
    numbered = list(enumerate(map(duckdb_sql, predicates)))
    matches = ", ".join(f"bool_or({condition}) AS matches_{n}" for n, condition in numbered)
    counts = ", ".join(f"coalesce(sum(matches_{n}), 0)" for n, _ in numbered)
    return f"SELECT {counts} FROM (SELECT {matches} FROM records GROUP BY {quoted_name(unit)})"


def check_counts(columns: Iterable[str], unit: str | None) -> list[str]:
    """What an owner is told: how many records, how many cells, and last how many persons or 0.

    Example:
        >>> check_counts(["age"], "person")
        ['count(*)', 'count("age")', 'count(DISTINCT "person")']
    """
    persons = "0" if unit is None else f"count(DISTINCT {quoted_name(unit)})"
    return ["count(*)", *(f"count({quoted_name(name)})" for name in columns), persons]


def row_within(seconds: float | None, connection: Connection, query: str) -> tuple[int, ...]:
    """The only row of a result, unless the query takes longer."""
    with limited(connection, seconds):
        row: tuple[int, ...] = connection.execute(query).fetchall()[0]
    return row
