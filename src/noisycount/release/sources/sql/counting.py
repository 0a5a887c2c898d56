"""How many records or persons match each of many predicates."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, func, select

from noisycount.errors import SourceError
from noisycount.release.question.tree import Predicate
from noisycount.release.sources.sql.records import Records
from noisycount.release.sources.sql.summands import (
    NOTHING,
    condition,
    distinct_elsewhere,
    distinct_where,
    number_of,
    number_where,
    one_or_nothing,
)
from noisycount.release.sources.sql.units import Person

if TYPE_CHECKING:
    from noisycount.release.sources.sql.dialect import Expression

__all__ = ["count_statement", "require_somebody"]


def count_statement(predicates: Sequence[Predicate], records: Records) -> Select[Any]:
    """One scan of all records, so that its time does not tell how many match.

    The first columns are the counts; the last tells whether a record is of nobody.
    """
    if records.person is None:
        return _records_matching(predicates, records)
    if len(predicates) == 1:
        return _persons_matching(predicates[0], records, records.person)
    return _persons_of_many(predicates, records, records.person)


def _records_matching(predicates: Sequence[Predicate], records: Records) -> Select[Any]:
    counts = [number_where(condition(each, records.algebra)) for each in predicates]
    return records.read(select(*counts, NOTHING), predicates)


def _persons_matching(predicate: Predicate, records: Records, person: Person) -> Select[Any]:
    """The persons of records that match, and those of the others, so that all are compared."""
    matches, unit = condition(predicate, records.algebra), person.value
    columns: list[Expression] = [
        distinct_where(matches, unit),
        distinct_elsewhere(matches, unit),
        number_where(unit.is_(None)),
    ]
    return records.read(select(*columns), [predicate])


def _persons_of_many(
    predicates: Sequence[Predicate], records: Records, person: Person
) -> Select[Any]:
    """The persons of records that match each of some, who are grouped once for all."""
    summands = [one_or_nothing(each, records.algebra) for each in predicates]
    matches = [func.max(each).label(f"m{n}") for n, each in enumerate(summands)]
    found = records.read(select(person.value.label("u"), *matches), predicates)
    units = found.group_by(person.value).subquery("units")
    counts = [number_of(units.c[f"m{n}"]) for n in range(len(summands))]
    return select(*counts, number_where(units.c.u.is_(None)))


def require_somebody(of_nobody: Iterable[Any]) -> None:
    """The refusal of counts in which there are records of nobody.

    Args:
        of_nobody: What rows say of that.

    Raises:
        SourceError: There are such; at the opening there were none.
    """
    if any(of_nobody):
        raise SourceError(
            "records of no unit are there since the opening, and cannot be counted for anybody: "
            "fill the units in, or remove those records"
        )
