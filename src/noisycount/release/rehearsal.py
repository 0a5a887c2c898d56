"""Rehearsal of a query: made-up records are counted with the noise that real records would have.

The made-up records depend only on the names and kinds of columns, and on the values that the query names.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from noisycount.engines.interface import Source
from noisycount.engines.memory import MemorySource
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import TableAnswer
from noisycount.query.grouping import GroupBy, Key, KeySet, NumberRanges, Period
from noisycount.query.person_values import row_conditions
from noisycount.query.predicate import And, Column, Comparison, Literal, Membership, Not, Or, Pattern, Predicate, Range
from noisycount.query.query import Query
from noisycount.query.schema import Kind, Schema, TableTraits
from noisycount.release.drawing import count_levels, draw_answer
from noisycount.release.goal import StoppingSchedule
from noisycount.release.publishing import build_result, fields_of_counts
from noisycount.release.query_plan import CellsPlan, HiddenKeysPlan, QueryPlan
from noisycount.release.table_release import Published

if TYPE_CHECKING:
    from noisycount.engines.truth import Record


Examples = Mapping[str, list[object]]  # values of each column by its name


def values_in_condition(predicate: Predicate) -> Iterator[tuple[Column, object]]:
    """Yield the columns of a predicate, each with the values that it is compared with."""
    match predicate:
        case And(operands) | Or(operands):
            for operand in operands:
                yield from values_in_condition(operand)
        case Not(operand):
            yield from values_in_condition(operand)
        case Comparison(left, _, Literal() as right):
            yield left.origin, right.value
        case Range(column, low, high):
            yield from ((column.origin, low.value), (column.origin, high.value))
        case Membership(column, choices):
            yield from ((column.origin, choice.value) for choice in choices)
        case Pattern(column, pattern):
            yield column.origin, pattern.replace("%", "").replace("_", "a")


def values_of_keys(parts: tuple[GroupBy, ...], keys: KeySet | None) -> Iterator[tuple[Column, object]]:
    """Yield a pair (column, value) for each key, or edge of a range, of each column by which a table groups."""
    for place, part in enumerate(parts):
        if isinstance(part, NumberRanges):
            yield from ((part.column.origin, edge) for edge in part.edges)
        elif keys is not None:
            yield from ((part.column.origin, _value_in_group(part, key)) for key in keys.values[place])


def _value_in_group(part: GroupBy, key: Key) -> object:
    """Return a value in the group of a key."""
    if isinstance(part, Period) and isinstance(key, int):
        year, place = divmod(key, part.span.value)
        return date(min(max(year, 1), 9999), 1 + place * 12 // part.span.value, 1)
    return key


MOST_UNITS = 2000  # enough to show the form of an answer, and quick to count
_MISSING = 0.04  # share of missing values
_ROWS = (1, 1, 1, 2, 3)  # numbers of rows of a person, drawn uniformly
_ROWS_OF_TABLE = (0, 1, 1, 2, 3)  # numbers of rows of a person in one of several tables
_START = date(2020, 1, 1)
_DAYS, _AROUND = 2000, 60  # days after _START if the query names no day; days before the first and after the last


def make_up_records(
    columns: Mapping[str, Kind],
    unit: str | None,
    examples: Examples,
    units: int,
    tables: Mapping[str, TableTraits] = MappingProxyType({}),
) -> Source:
    """Make up records of persons or rows. The same query always gets the same records.

    Args:
        columns: The kind of each column.
        unit: The column that identifies the person; None: every row is a unit.
        examples: Values near which the values of columns are drawn.
        units: The number of persons or rows.
        tables: The traits of each table of a data set of several tables.
    """
    chance = Random(repr(sorted(columns.items(), key=str)) + repr(examples))  # noqa: S311 - no secret
    draws = {name: _value_sampler(kind, examples.get(name, []), chance) for name, kind in columns.items()}
    flags = [name for name, traits in tables.items() if traits.rows == name]
    row_tables: list[str | None] = [*flags] or [None]
    records: list[Record] = []
    for person in range(units):
        for table in row_tables:
            of_table = [name for name in draws if table is None or tables[name.partition(".")[0]].rows == table]
            for _ in range(_row_number(unit, None if table is None else tables[table], chance)):
                row = {name: draws[name]() if chance.random() > _MISSING else None for name in of_table}
                row |= {flag: flag == table for flag in flags}
                records.append(row if unit is None else {unit: person, **row})
    schema = {**({} if unit is None else {unit: Kind.INTEGER}), **columns, **dict.fromkeys(flags, Kind.BOOLEAN)}
    source = MemorySource(records, schema, unit)
    if unit is None or not tables:
        return source
    from noisycount.engines.tables import TablesSource  # noqa: PLC0415 - slow to import

    joined_schema = Schema(columns, unit=unit, tables=tables)
    return TablesSource((), {}, joined_schema, unit, None, source)  # type: ignore[arg-type]  # it counts as an engine


def _row_number(unit: str | None, traits: TableTraits | None, chance: Random) -> int:
    """Draw the number of rows of a unit, in one of several tables if its traits are given."""
    if unit is None or (traits is not None and traits.is_one_row_a_unit):
        return 1
    return chance.choice(_ROWS if traits is None else _ROWS_OF_TABLE)


def _value_sampler(kind: Kind, examples: list[object], chance: Random) -> Callable[[], object]:
    """Return a function that draws values of a kind, near the values that a query names."""
    known = [value for value in dict.fromkeys(examples) if value is not None]
    if kind is Kind.BOOLEAN:
        return lambda: chance.random() < 0.5  # noqa: PLR2004 - one of two
    if kind.is_number:
        return _number_sampler(kind, [value for value in known if isinstance(value, int | float)], chance)
    if kind.is_moment:
        return _moment_sampler(kind, [value for value in known if isinstance(value, date)], chance)
    if kind is not Kind.TEXT:
        values = known or [kind.parse_quoted(kind.literal.strip("'"))]
        return lambda: chance.choice(values)
    return _text_sampler(known, chance)


def _text_sampler(known: list[object], chance: Random) -> Callable[[], object]:
    """Return a function that draws texts: known ones, and numbers and days near known ones."""
    texts = [value for value in known if isinstance(value, str)]
    choices = [*texts, *texts, "something else"] if texts else ["a", "b", "c"]
    numbers = [value for value in known if isinstance(value, float)]
    days = [value for value in known if isinstance(value, date)]
    spelled = [
        *([_number_sampler(Kind.REAL, [*numbers], chance)] if numbers else []),
        *([_moment_sampler(Kind.DATE, days, chance)] if days else []),
    ]
    if not spelled:
        return lambda: chance.choice(choices)
    draws: list[Callable[[], object]] = [*spelled, *spelled, lambda: chance.choice(choices)]
    return lambda: str(chance.choice(draws)())


def _number_sampler(kind: Kind, known: list[int | float], chance: Random) -> Callable[[], object]:
    """Return a function that draws numbers around the known ones, none negative if all known ones are above 0."""
    smallest, largest = min(known, default=0), max(known, default=100)
    around = max(1.0, (largest - smallest) / 2, max(abs(smallest), abs(largest)) / 2)
    low, high = smallest - around, largest + around
    low = max(low, 0.0) if smallest > 0 else low
    if kind is Kind.INTEGER:
        bottom, top = max(int(low), -(2**62)), min(int(high), 2**62)
        return lambda: chance.randint(min(bottom, top), max(bottom, top))
    return lambda: chance.uniform(low, high)


def _moment_sampler(kind: Kind, known: list[date], chance: Random) -> Callable[[], object]:
    """Return a function that draws days, or times of days, from before the first known one to after the last."""
    days = [value.date() if isinstance(value, datetime) else value for value in known]
    first, last = min(days, default=_START), max(days, default=_START + timedelta(_DAYS))
    low = max(date.min.toordinal(), first.toordinal() - _AROUND)
    high = min(date.max.toordinal(), last.toordinal() + _AROUND)

    def draw() -> object:
        day = date.fromordinal(chance.randint(low, high))
        return day if kind is Kind.DATE else datetime.combine(day, time(chance.randrange(24)))

    return draw


MADE_UP = "made-up records"
_UNITS = 1000  # number of units if the size of the data set is not public


@frozen
class Rehearsal:
    """Answer of a query about made-up records, with and without noise."""

    query: Query  # the query
    units: int  # number of made-up persons or rows
    # exact counts of the made-up records, row by row; None if keys are hidden
    counts: tuple[int, ...] | None
    release: Published  # answer with noise, which no ledger stores


def rehearse_query(query: Query, plan: QueryPlan, unit: str | None, size: int | None = None) -> Rehearsal:
    """Answer a query about made-up records, with the noise that real ones would have."""
    units = min(size or _UNITS, MOST_UNITS)
    kinds = {column.name: column.stored.kind for column in sorted(plan.read_columns, key=lambda column: column.name)}
    facts: dict[str, Any] = {"remaining": Fraction(0), "dataset": MADE_UP, "key": "", "unit": unit}
    facts["confidence"] = query.confidence
    with make_up_records(kinds, unit, _named_values(plan), units, plan.schema.tables) as source:
        answer, stopped = draw_answer(plan, source)
        exact = None if isinstance(plan, HiddenKeysPlan) else TableAnswer.from_levels(count_levels(plan, source))
    if (goal := plan.goal) is not None and stopped is not None:
        plan = plan.at_price(stopped)
        facts["stopping"] = StoppingSchedule(goal, plan.noise)
    release = build_result(plan, answer, Loss(), **facts)
    levels = () if exact is None else fields_of_counts(plan, exact)["answers"]
    counts = tuple(int(column) for level in levels for column in level)
    return Rehearsal(query, units, None if exact is None else counts, release)


def _named_values(plan: QueryPlan) -> Examples:
    """Return the values that a query names, by column."""
    pairs = [pair for predicate in row_conditions(plan.predicates) for pair in values_in_condition(predicate)]
    if isinstance(plan, CellsPlan | HiddenKeysPlan):
        pairs = [*values_of_keys(plan.question.parts, plan.question.keys), *pairs]
    gathered: defaultdict[str, list[object]] = defaultdict(list)
    for column, value in pairs:
        gathered[column.name].append(value)
    return gathered
