"""How many records or persons match each of many predicates."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Select, func, or_, select

from noisycount.errors import SourceError
from noisycount.release.question.tree import Predicate
from noisycount.release.sources.sql.records import Records
from noisycount.release.sources.sql.summands import (
    NOTHING,
    condition,
    is_true,
    number_of,
    one_or_nothing,
)

__all__ = ["count_statement", "require_somebody"]


def count_statement(predicates: Sequence[Predicate], records: Records) -> Select[Any]:
    """One scan of all records, so that its time does not tell how many match.

    After the counts comes whether a record is of nobody.
    """
    algebra = records.algebra
    summands = [one_or_nothing(each, algebra) for each in predicates]
    narrowed = [condition(each, algebra) for each in predicates] if records.uses_indexes else []
    if records.person is None:
        whole = select(*map(number_of, summands), NOTHING).select_from(records.table)
        return whole.where(or_(*narrowed)) if narrowed else whole
    matches = [func.max(each).label(f"m{n}") for n, each in enumerate(summands)]
    found = select(records.person.value.label("u"), *matches).select_from(records.table)
    if narrowed:
        found = found.where(or_(*narrowed))
    units = found.group_by(records.person.value).subquery("units")
    counts = [number_of(units.c[f"m{n}"]) for n in range(len(summands))]
    return select(*counts, number_of(is_true(units.c.u.is_(None))))


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
