"""What the owner of records sees of persons: the rows of each, and ids that may be spellings of one."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate, chain, combinations
from typing import Any

import sqlalchemy as sa

from noisycount.display.values import Shown
from noisycount.engines.dialect import Expression, whole
from noisycount.engines.expressions import Person, StatementRecords
from noisycount.engines.formats import NO_ANSWERS
from noisycount.engines.parsed_texts import parsed
from noisycount.engines.spellings import MOST_SPELLINGS, ONE_SPELLING, Spellings, spellings_of
from noisycount.frozen import frozen
from noisycount.query.normal_form import EXACT_INTEGERS
from noisycount.query.predicate import Column
from noisycount.query.schema import Kind

RowsOf = Callable[[sa.Select[Any]], Sequence[Sequence[Any]]]
"""Return the rows of a statement, by the engine that has the records."""
_NEARLY_ALL = 0.8  # of the persons with several rows and a value
_MOST_COLUMNS = 200  # that are looked at
_MOST_COMPARED = 12  # columns, of which each pair is looked at
_MANY_ROWS = 10  # times the median
# Numbers that programs write in place of a missing id, each with the numbers next to it.
_NEIGHBOURS = {
    str(number): {str(number - 1), str(number + 1)} - {"-1", "0"} if number else {"1"}
    for number in (0, -1, -9, -99, -999, -9999, *(10**digits - 1 for digits in range(3, 13)))
}


_PERSON = (
    "(person|patient|particip|subject|respond|client|customer|member|user|employee|student|pupil|resident|citizen|"
    "insured|proband|teilnehm|kunde|mitglied|versichert|personne|usager|eleve)"
)
_NAMES_PERSONS = re.compile(
    f"id|[pu]id|ssn|{_PERSON}|(record|case)_?id|ids?_?{_PERSON}.*|.*{_PERSON}.*(id|nr|no|num|number|code|key)s?",
    re.IGNORECASE,
).fullmatch


def names_persons(column: str) -> bool:
    """Return True if the name of a column says that it identifies persons.

    Example:
        >>> [names_persons(name) for name in ("PatientID", "id", "participant no", "ward_id", "patient_type")]
        [True, True, True, False, False]
    """
    return _NAMES_PERSONS(column.strip()) is not None


@frozen
class RoundedIds(Shown):
    """Ids that lost digits, as spreadsheets write long numbers and as reals keep them."""

    ids: int  # how many there are
    rows: int  # how many rows have one
    examples: tuple[str, ...]  # some of them


@frozen
class Persons(Shown):
    """The rows of persons, and how their ids are written."""

    median_rows: float  # of a person
    largest_rows: int  # of one person
    partial: tuple[str, ...] = ()  # the columns that nearly all persons with several rows have in some of these alone
    apart: tuple[tuple[str, str], ...] = ()  # pairs of partial columns of which no row has both
    spellings: Spellings | None = None  # ids that differ only as spellings of one id do; None: there are none
    missing_ids: tuple[str, ...] = ()  # ids that are words for a missing value
    placeholders: tuple[str, ...] = ()  # ids that are numbers such as 0 or 999999, as programs write for no id
    rounded: "RoundedIds | None" = None  # ids that lost digits; None: there are none
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
    median, spelled = _median(sizes), _spelled(person, records)
    missing, placeholders = _ids_of_nobody(rows_of(_words_statement(spelled, records)), median)
    spellings = _spellings(spelled, {*missing, *placeholders}, rows_of) if person.kind is Kind.TEXT else None
    return Persons(
        median,
        sizes[-1][0],
        tuple(column.name for column in partial),
        tuple(apart),
        spellings,
        missing,
        placeholders,
        _rounded(rows_of(_rounded_statement(spelled, person, records))[0]),
    )


def _ids_of_nobody(rows: Iterable[Sequence[Any]], median: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids that are words for a missing value, and those that are numbers in place of one.

    A number is one if it has many more rows than the median of persons, or if no number next to it is an id, as in a
    sequence of ids.

    Args:
        rows: Ids, each with the number of its rows.
        median: The median number of the rows of a person.
    """
    found = {str(id_): (ONE_SPELLING.normal_text(str(id_)), count) for id_, count in rows}
    spelled = {spelling for spelling, _ in found.values()}
    words = sorted(id_ for id_, (spelling, _) in found.items() if spelling.casefold() in NO_ANSWERS)
    numbers = sorted(
        id_
        for id_, (spelling, count) in found.items()
        if spelling in _NEIGHBOURS and (count >= _MANY_ROWS * median or spelled.isdisjoint(_NEIGHBOURS[spelling]))
    )
    return tuple(words), tuple(numbers)


def _spellings(spelled: sa.Subquery, others: Collection[str], rows_of: RowsOf) -> Spellings | None:
    """Return the ids that may be several spellings of one, but for some others.

    If there are very many, their number is that of the engine, which may count some more.
    """
    texts, largest = rows_of(_several_statement(spelled))[0]
    ids = [str(row[0]) for row in rows_of(_spellings_statement(spelled))] if texts else []
    spellings = spellings_of(id_ for id_ in ids if id_ not in others)
    if spellings is None or len(ids) < MOST_SPELLINGS:
        return spellings
    return replace(spellings, texts=int(texts), largest=int(largest), is_estimate=True)


def _rounded(row: Sequence[Any]) -> RoundedIds | None:
    """Return the ids that lost digits, from their number, their rows, and the first and last of them."""
    ids, rows, *ends = row
    return RoundedIds(int(ids), int(rows), tuple(dict.fromkeys(map(str, ends)))) if ids else None


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


def _spelled(person: Person, records: StatementRecords) -> sa.Subquery:
    """Return the ids, each with the number of its rows, and with what it has in common with other spellings of it."""
    columns: list[Any] = [person.value.label("id"), sa.func.count().label("rows")]
    rows = records.read(sa.select(*columns), []).where(person.value.is_not(None))
    ids = rows.group_by(person.value).subquery("ids")
    text = records.dialect.text(ids.c.id)
    spelling = text if person.kind is Kind.INTEGER else records.dialect.one_spelling(text)
    return sa.select(ids.c.id, ids.c.rows, spelling.label("spelling")).subquery("spelled")


def _words_statement(spelled: sa.Subquery, records: StatementRecords) -> sa.Select[Any]:
    """Return the statement of the ids that may be words or numbers for a missing value, or next to such a number."""
    words = {*NO_ANSWERS, *_NEIGHBOURS, *chain.from_iterable(_NEIGHBOURS.values())}
    literals = [records.dialect.text_literal(word) for word in sorted(words) if word.isascii()]  # in any encoding
    return sa.select(spelled.c.id, spelled.c.rows).where(spelled.c.spelling.in_(literals))


def _rounded_statement(spelled: sa.Subquery, person: Person, records: StatementRecords) -> sa.Select[Any]:
    """Return the statement of the number of ids that lost digits, of their rows, and of the first and last of them.

    Texts are such if they spell a number in scientific notation, and reals if they are too large for their digits.
    """
    dialect, id_ = records.dialect, spelled.c.id
    if person.kind is Kind.REAL:
        most: Expression = sa.literal(float(EXACT_INTEGERS), sa.Double())
        is_rounded = sa.or_(id_ >= most, id_ <= -most)
    else:
        point, comma = map(dialect.text_literal, ".,")
        text = sa.func.replace(spelled.c.spelling, comma, point, type_=dialect.text_type)
        is_scientific = sa.or_(dialect.is_like(text, "%e+%"), dialect.is_like(text, "%.%e%"))
        is_rounded = parsed(sa.case((is_scientific, text)), Kind.REAL, dialect).is_not(None)
    rows = sa.func.coalesce(sa.func.sum(spelled.c.rows), whole(0))
    facts: list[Any] = [sa.func.count(), rows, *(end(dialect.text(id_)) for end in (sa.func.min, sa.func.max))]
    return sa.select(*facts).select_from(spelled).where(is_rounded)


def _several_statement(spelled: sa.Subquery) -> sa.Select[Any]:
    """Return the statement of how many ids may have several spellings, and how many one has at most.

    It is quicker than to list them.
    """
    number = sa.func.count().label("number")
    several = (
        sa.select(number)
        .select_from(spelled)
        .group_by(spelled.c.spelling)
        .having(sa.func.count() > whole(1))
        .subquery("several")
    )
    facts: list[Any] = [sa.func.count(), sa.func.max(several.c.number)]
    return sa.select(*facts)


def _spellings_statement(spelled: sa.Subquery) -> sa.Select[Any]:
    """Return the statement of the ids that may be spellings of another one."""
    number = sa.func.count().over(partition_by=spelled.c.spelling).label("number")
    counted = sa.select(spelled.c.id, spelled.c.spelling, number).subquery("counted")
    several = sa.select(counted.c.id).where(counted.c.number > whole(1))
    return several.order_by(counted.c.spelling, counted.c.id).limit(MOST_SPELLINGS)
