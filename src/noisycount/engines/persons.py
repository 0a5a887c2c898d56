"""What the owner of records sees of persons: the rows of each, and ids that may be spellings of one."""

from collections.abc import Callable, Sequence
from itertools import accumulate, combinations
from typing import Any

import sqlalchemy as sa

from noisycount.display.values import Shown
from noisycount.engines.dialect import Expression, whole
from noisycount.engines.expressions import Person, StatementRecords
from noisycount.engines.formats import NO_ANSWERS
from noisycount.engines.spellings import MOST_SPELLINGS, Spellings, spellings_of
from noisycount.frozen import frozen
from noisycount.query.predicate import Column
from noisycount.query.schema import Kind

RowsOf = Callable[[sa.Select[Any]], Sequence[Sequence[Any]]]
"""Return the rows of a statement, by the engine that has the records."""
_NEARLY_ALL = 0.8  # of the persons with several rows and a value
_MOST_COLUMNS = 200  # that are looked at
_MOST_COMPARED = 12  # columns, of which each pair is looked at


@frozen
class Persons(Shown):
    """The rows of persons, and how their ids are written."""

    median_rows: float  # of a person
    largest_rows: int  # of one person
    partial: tuple[str, ...] = ()  # the columns that nearly all persons with several rows have in some of these alone
    apart: tuple[tuple[str, str], ...] = ()  # pairs of partial columns of which no row has both
    spellings: Spellings | None = None  # ids that differ only as spellings of one id do; None: there are none
    missing_ids: tuple[str, ...] = ()  # ids that are words for a missing value
    has_stated_ids: bool = False  # True if noisycount.toml can state how the ids are read


def persons_of(columns: Sequence[Column], person: Person, records: StatementRecords, rows_of: RowsOf) -> Persons | None:
    """Return what is seen of persons; None if there is none.

    Args:
        columns: Those in which some values are missing.
        person: The column that names the person.
        records: The records.
        rows_of: Asks the engine.
    """
    looked_at = columns[:_MOST_COLUMNS]
    sizes = sorted(tuple(map(int, row)) for row in rows_of(_rows_statement(looked_at, person.value, records)))
    if not sizes:
        return None
    partial = [column for n, column in enumerate(looked_at) if _is_partial(sizes, 2 + 2 * n)]
    pairs = list(combinations(partial[:_MOST_COMPARED], 2))
    together = rows_of(_together_statement(pairs, records))[0] if pairs else ()
    apart = [(one.name, other.name) for (one, other), rows in zip(pairs, together, strict=True) if not rows]
    missing: tuple[str, ...] = ()
    spellings, spelled = None, _spelled(person.value, records)
    if person.kind is Kind.TEXT:
        missing = tuple(sorted({str(row[0]) for row in rows_of(_missing_statement(person.value, records))}))
        if rows_of(_several_statement(spelled))[0][0]:
            ids = (str(row[0]) for row in rows_of(_spellings_statement(spelled)))
            spellings = spellings_of(id_ for id_ in ids if id_ not in missing)
    names = tuple(column.name for column in partial)
    return Persons(_median(sizes), sizes[-1][0], names, tuple(apart), spellings, missing)


def _is_partial(sizes: Sequence[tuple[int, ...]], place: int) -> bool:
    """Return True if nearly all persons with several rows and a value in a column have it in some rows alone."""
    several = [row for row in sizes if row[0] > 1]
    some, alone = (sum(row[at] for row in several) for at in (place, place + 1))
    return some > 0 and alone >= _NEARLY_ALL * some


def _median(sizes: Sequence[tuple[int, ...]]) -> float:
    """Return the median of the rows of a person; sizes are rows of a size, then how many persons have it."""
    ends = list(accumulate(row[1] for row in sizes))
    middle = ((ends[-1] - 1) // 2, ends[-1] // 2)
    low, high = (next(row[0] for row, end in zip(sizes, ends, strict=True) if place < end) for place in middle)
    return low if low == high else (low + high) / 2


def _rows_statement(columns: Sequence[Column], person: Expression, records: StatementRecords) -> sa.Select[Any]:
    """Return the statement of how many persons have so many rows.

    Of each column it then has how many of these persons have a value, and how many have it in some rows alone.
    """
    dialect = records.dialect
    given = [sa.func.count(records.value(column)).label(f"c{n}") for n, column in enumerate(columns)]
    counted: list[Expression] = [sa.func.count().label("n"), *given]
    rows = records.read(sa.select(*counted), []).where(person.is_not(None))
    units = rows.group_by(person).subquery("units")
    counts: list[Expression] = []
    for n in range(len(columns)):
        cells = units.c[f"c{n}"]
        counts += [dialect.number_where(cells > whole(0))]
        counts += [dialect.number_where(sa.and_(cells > whole(0), cells < units.c.n))]
    return sa.select(units.c.n, sa.func.count(), *counts).group_by(units.c.n)


def _together_statement(pairs: Sequence[tuple[Column, Column]], records: StatementRecords) -> sa.Select[Any]:
    """Return the statement of how many rows have both values of each pair of columns."""
    both = (sa.and_(*(records.value(column).is_not(None) for column in pair)) for pair in pairs)
    return records.read(sa.select(*map(records.dialect.number_where, both)), [])


def _spelled(person: Expression, records: StatementRecords) -> sa.Subquery:
    """Return the ids, each with what it has in common with other spellings of it."""
    ids = records.read(sa.select(person.label("id")), []).where(person.is_not(None)).distinct().subquery("ids")
    return sa.select(ids.c.id, records.dialect.one_spelling(ids.c.id).label("spelling")).subquery("spelled")


def _missing_statement(person: Expression, records: StatementRecords) -> sa.Select[Any]:
    """Return the statement of the ids that are words for a missing value, in any case."""
    words = [records.dialect.text_literal(word) for word in sorted(NO_ANSWERS) if word.isascii()]  # in any encoding
    small = sa.func.lower(records.dialect.text(person))
    return records.read(sa.select(person.label("id")), []).where(small.in_(words)).distinct()


def _several_statement(spelled: sa.Subquery) -> sa.Select[Any]:
    """Return the statement of how many ids may have several spellings: it is quicker than to list them."""
    several = sa.select(spelled.c.spelling).group_by(spelled.c.spelling).having(sa.func.count() > whole(1))
    return sa.select(sa.func.count()).select_from(several.subquery("several"))


def _spellings_statement(spelled: sa.Subquery) -> sa.Select[Any]:
    """Return the statement of the ids that may be spellings of another one."""
    number = sa.func.count().over(partition_by=spelled.c.spelling).label("number")
    counted = sa.select(spelled, number).subquery("counted")
    several = sa.select(counted.c.id).where(counted.c.number > whole(1))
    return several.order_by(counted.c.spelling, counted.c.id).limit(MOST_SPELLINGS)
