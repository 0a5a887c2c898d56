"""Facts about persons for the owner: numbers of rows, ids that may belong to the same person, and missing ids."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain, combinations
from typing import Any

import sqlalchemy as sa

from noisycount.display.values import Shown
from noisycount.engines.date_words import MONTHS
from noisycount.engines.dialect import Dialect, Expression, whole
from noisycount.engines.expressions import Person, StatementRecords
from noisycount.engines.formats import MARKS, NO_ANSWERS, ColumnFormat
from noisycount.engines.parsed_texts import parsed_value
from noisycount.engines.spellings import MOST_SPELLINGS, ONE_SPELLING, WITHOUT_MARKS, Spellings, spellings_of
from noisycount.frozen import frozen
from noisycount.query.normal_form import EXACT_INTEGERS
from noisycount.query.predicate import Column
from noisycount.query.schema import Kind

RowsOf = Callable[[sa.Select[Any]], Sequence[Sequence[Any]]]
"""Return the rows of a statement, by the engine that has the records."""
_NEARLY_ALL = 0.8  # of the persons with several rows and a value
_MOST_COLUMNS = 200  # that are looked at
_MOST_COMPARED = 12  # columns, of which each pair is looked at
# The facts of `_facts_statement` about ids that are whole numbers, of which any may be one in place of a missing id.
_FACTS_OF_NUMBERS: Sequence[Any] = (0, 0, 1, 1, 0, 0, *[0] * 12)
_MARK = r"[ -/:-@\[-`{-~]"
_MONTH = f"({'|'.join(month for month in MONTHS if month.isascii())})[.]?"
_DAY_OF_MONTH = f"^([0-9]{{1,2}}[-. ]+{_MONTH}|{_MONTH}[-. ]+[0-9]{{1,2}})$"  # as spreadsheets make of MAR1
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
class SpoiltIds(Shown):
    """Ids that a program changed when it wrote them, such as rounded numbers."""

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
    # ids that differ only as spellings of one id do; then ids that are another one but for marks such as dashes
    spellings: tuple[Spellings, ...] = ()
    missing_ids: tuple[str, ...] = ()  # ids that are words for a missing value
    placeholders: tuple[str, ...] = ()  # ids that are numbers such as 0 or 999999, as programs write for no id
    rounded: SpoiltIds | None = None  # ids that lost digits; None: there are none
    dates: SpoiltIds | None = None  # some ids, fewer than half, that are days of a month; None: there are none
    has_stated_ids: bool = False  # True if noisycount.toml can state how the ids are read


def persons_of(columns: Sequence[Column], person: Person, records: StatementRecords, rows_of: RowsOf) -> Persons | None:
    """Return facts about the rows of persons and the spellings of their ids; None if there is no person.

    Args:
        columns: The columns in which some values are missing.
        person: The column that names the person.
        records: The records.
        rows_of: Function that runs a statement on the engine and returns the rows.
    """
    looked_at = columns[:_MOST_COLUMNS]
    sizes = sorted(tuple(map(int, row)) for row in rows_of(_rows_statement(looked_at, person.value, records)))
    if not sizes:
        return None
    partial = [column for n, column in enumerate(looked_at) if _is_partial(sizes, 2 + 2 * n)]
    pairs = list(combinations(partial[:_MOST_COMPARED], 2))
    together = rows_of(_together_statement(pairs, records))[0] if pairs else ()
    apart = [(one.name, other.name) for (one, other), rows in zip(pairs, together, strict=True) if not rows]
    median, units, spelled = _median_rows(sizes), sum(row[1] for row in sizes), _ids_with_row_numbers(person, records)
    several, largest, *facts = _FACTS_OF_NUMBERS
    if person.kind is not Kind.INTEGER:
        several, largest, *facts = rows_of(_facts_statement(spelled, person, records.dialect))[0]
    words, rounded, dates, marked = _some_ids(facts)
    is_word = spelled.c.spelling.in_(_missing_id_literals(records.dialect))
    ids = rows_of(sa.select(spelled.c.id, spelled.c.rows).where(is_word)) if words else ()
    missing, placeholders = _missing_ids(ids, median)
    groups: list[tuple[ColumnFormat, Sequence[Any] | None]] = []
    if person.kind is Kind.TEXT:
        groups += [(ONE_SPELLING, (several, largest))] * bool(several)
        groups += [(WITHOUT_MARKS, None)] * (marked is not None and marked.ids < units)
    others = {*missing, *placeholders}
    spellings = [
        _ids_with_several_spellings(_ids_by_common_form(spelled, records.dialect, form), others, rows_of, form, each)
        for form, each in groups
    ]
    return Persons(
        median,
        sizes[-1][0],
        tuple(column.name for column in partial),
        tuple(apart),
        tuple(filter(None, spellings)),
        missing,
        placeholders,
        rounded,
        dates if dates and 2 * dates.ids < units else None,
    )


def _missing_ids(rows: Iterable[Sequence[Any]], median: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids that are words for a missing id, and the ids that are numbers in place of a missing id.

    A number stands for a missing id if it has many more rows than the median of persons, or if no number next to it is
    an id.

    Args:
        rows: Ids, each with the number of its rows.
        median: The median number of the rows of a person.
    """
    spelled_ids = {str(id_): (ONE_SPELLING.normal_text(str(id_)), count) for id_, count in rows}
    spelled = {spelling for spelling, _ in spelled_ids.values()}
    words = sorted(id_ for id_, (spelling, _) in spelled_ids.items() if spelling.casefold() in NO_ANSWERS)
    numbers = sorted(
        id_
        for id_, (spelling, count) in spelled_ids.items()
        if spelling in _NEIGHBOURS and (count >= _MANY_ROWS * median or spelled.isdisjoint(_NEIGHBOURS[spelling]))
    )
    return tuple(words), tuple(numbers)


def _ids_with_several_spellings(
    keyed: sa.Subquery,
    others: Collection[str],
    rows_of: RowsOf,
    widest: ColumnFormat,
    numbers: Sequence[Any] | None,
) -> Spellings | None:
    """Return the ids, except `others`, that the widest form reads as spellings of the same id.

    If there are very many, the engine computes their number, which may be slightly too large.

    Args:
        keyed: The ids, each with the key of its group.
        others: Missing ids, which are not examined.
        rows_of: Function that runs a statement on the engine and returns the rows.
        widest: The form by which ids may be one.
        numbers: The number of ids that may have several spellings, and the largest number of spellings of one id; None:
            unknown.
    """
    # Without marks, a key counts only if some of its ids have marks and others none.
    is_several = sa.func.count() > whole(1)
    if widest.drop_marks:
        is_several = sa.func.min(keyed.c.is_marked) < sa.func.max(keyed.c.is_marked)
    columns: list[Any] = [keyed.c.key, sa.func.count().label("number")]
    groups = sa.select(*columns).group_by(keyed.c.key).having(is_several).subquery("several")
    facts: list[Any] = [sa.func.count(), sa.func.max(groups.c.number)]
    texts, largest = numbers or rows_of(sa.select(*facts).select_from(groups))[0]
    ids = []
    if texts:  # ids with the same key are adjacent
        several = sa.select(keyed.c.id).join_from(keyed, groups, keyed.c.key == groups.c.key)
        ids = [str(id_) for (id_,) in rows_of(several.order_by(keyed.c.key, keyed.c.id).limit(MOST_SPELLINGS))]
    spellings = spellings_of((id_ for id_ in ids if id_ not in others), widest)
    if spellings is None or len(ids) < MOST_SPELLINGS:
        return spellings
    return replace(spellings, texts=int(texts), largest=int(largest), is_estimate=True)


def _some_ids(facts: Sequence[Any]) -> Iterator[SpoiltIds | None]:
    """Yield an object for each four facts: the number of ids, the number of their rows, the first id and the last."""
    for ids, rows, *ends in zip(*[iter(facts)] * 4, strict=True):
        yield SpoiltIds(int(ids), int(rows), tuple(dict.fromkeys(map(str, ends)))) if ids else None


def _is_partial(sizes: Sequence[tuple[int, ...]], place: int) -> bool:
    """Return True if nearly all persons with several rows and a value in a column lack the value in other rows."""
    several = [row for row in sizes if row[0] > 1]
    some, alone = (sum(row[at] for row in several) for at in (place, place + 1))
    return some > 0 and alone >= _NEARLY_ALL * some


def _median_rows(sizes: Sequence[tuple[int, ...]]) -> float:
    """Return the median number of rows of a person.

    Each of `sizes` is a number of rows and the number of persons with it.
    """
    ends = list(accumulate(row[1] for row in sizes))
    middle = ((ends[-1] - 1) // 2, ends[-1] // 2)
    low, high = (next(row[0] for row, end in zip(sizes, ends, strict=True) if place < end) for place in middle)
    return low if low == high else (low + high) / 2


def _rows_statement(columns: Sequence[Column], person: Expression, records: StatementRecords) -> sa.Select[Any]:
    """Return the statement that counts the persons for each number of rows.

    For each column, it also counts the persons who have a value in some row, and those who have none in other rows.
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
    """Return the statement that counts, for each pair of columns, the rows with values in both."""
    both = (sa.and_(*(records.value(column).is_not(None) for column in pair)) for pair in pairs)
    return records.read(sa.select(*map(records.dialect.number_where, both)), [])


def _ids_with_row_numbers(person: Person, records: StatementRecords) -> sa.Subquery:
    """Return the ids, each with the number of its rows and its normal form, which all of its spellings share."""
    columns: list[Any] = [person.value.label("id"), sa.func.count().label("rows")]
    rows = records.read(sa.select(*columns), []).where(person.value.is_not(None))
    ids = rows.group_by(person.value).subquery("ids")
    text = records.dialect.text(ids.c.id)
    spelling = text if person.kind is Kind.INTEGER else records.dialect.normal_spelling(text)
    id_ = (ids.c.id if person.kind is Kind.REAL else text).label("id")  # not of all types there is a first one
    return sa.select(id_, ids.c.rows, spelling.label("spelling")).subquery("spelled")


def _facts_statement(spelled: sa.Subquery, person: Person, dialect: Dialect) -> sa.Select[Any]:
    """Return the statement that counts the ids with several spellings, and the spellings of the id that has most.

    For four kinds of ids it also returns the number of ids, the number of their rows, and the first and last id: ids
    that may be missing, that lost digits, that became dates, and that have marks. One statement computes all, as
    grouping takes most of the time.
    """
    ends = sa.func.min(spelled.c.id).label("first"), sa.func.max(spelled.c.id).label("last")
    columns: list[Any] = [sa.func.count().label("ids"), sa.func.sum(spelled.c.rows).label("rows"), *ends]
    groups = sa.select(spelled.c.spelling, *columns).group_by(spelled.c.spelling).subquery("groups")
    tests = {
        "words": groups.c.spelling.in_(_missing_id_literals(dialect)),
        "rounded": _is_rounded(groups, person, dialect),
        "dates": dialect.is_match(groups.c.spelling, _DAY_OF_MONTH),
        "marked": dialect.is_match(groups.c.spelling, _MARK),
    }
    flags = [sa.case((test, whole(1)), else_=whole(0)).label(name) for name, test in tests.items()]
    flagged = sa.select(*(groups.c[name] for name in ("ids", "rows", "first", "last")), *flags).subquery("flagged")
    facts: list[Any] = [dialect.number_where(flagged.c.ids > whole(1)), sa.func.max(flagged.c.ids)]
    for name in tests:
        ids, rows, first, last = (sa.case((flagged.c[name] == whole(1), column)) for column in [*flagged.c][:4])
        facts += [sa.func.sum(ids), sa.func.sum(rows), sa.func.min(first), sa.func.max(last)]
    return sa.select(*facts)


def _missing_id_literals(dialect: Dialect) -> list[Expression]:
    """Return the words and numbers that stand for a missing id, and the numbers next to them."""
    words = {*NO_ANSWERS, *_NEIGHBOURS, *chain.from_iterable(_NEIGHBOURS.values())}
    return [dialect.text_literal(word) for word in sorted(words) if word.isascii()]  # in any encoding


def _is_rounded(groups: sa.Subquery, person: Person, dialect: Dialect) -> Expression:
    """Return the condition that an id lost digits: a number in scientific notation, or a real of over 15 digits."""
    if person.kind is Kind.REAL:
        most: Expression = sa.literal(float(EXACT_INTEGERS), sa.Double())
        return sa.or_(groups.c.first >= most, groups.c.first <= -most)
    if person.kind is not Kind.TEXT:
        return whole(0) == whole(1)
    point, comma = map(dialect.text_literal, ".,")
    text = sa.func.replace(groups.c.spelling, comma, point, type_=dialect.text_type)
    is_scientific = sa.or_(dialect.is_like(text, "%e+%"), dialect.is_like(text, "%.%e%"))
    return parsed_value(sa.case((is_scientific, text)), Kind.REAL, dialect).is_not(None)


def _ids_by_common_form(spelled: sa.Subquery, dialect: Dialect, widest: ColumnFormat) -> sa.Subquery:
    """Return the ids, each with the normal form of its spellings by the widest form, and a flag of ids with a mark.

    Without marks, a zero at the beginning of a number looks like any other, so all of them are dropped here.
    """
    key: Expression = spelled.c.spelling
    is_marked: Expression = whole(0) == whole(1)
    if widest.drop_marks:
        key, is_marked = dialect.translated(key, f"{MARKS}0", ""), dialect.is_match(key, _MARK)
    flag = sa.case((is_marked, whole(1)), else_=whole(0))
    return sa.select(spelled.c.id, key.label("key"), flag.label("is_marked")).subquery("keyed")
