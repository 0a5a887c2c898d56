"""The keys, the unit and the match of each record: what all queries of tables begin with."""
# ruff: noqa: S608, as all SQL here is made of typed trees and of names that it quotes

from collections.abc import Sequence

from noisycount.release.question.grouping import Part
from noisycount.release.question.tree import Predicate
from noisycount.release.sources.duckdb.sql import duckdb_sql, summand_sql
from noisycount.release.sources.duckdb.tables.parts import key_sql
from noisycount.release.sources.duckdb.tables.ranges import with_ranges
from noisycount.release.sources.duckdb.tables.units import Person

__all__ = ["key_names", "keyed_records", "matching_records", "matching_units"]


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
