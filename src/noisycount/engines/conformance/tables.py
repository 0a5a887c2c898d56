"""The exercises of the conformance suite: records with predicates and tables, also of persons in many groups."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from itertools import product
from math import inf, nan
from typing import Any

import numpy as np

from noisycount.engines.conformance.predicates import (
    LITERALS,
    fixed_predicates,
    predicates_on_parsed_columns,
    random_person_predicates,
    random_person_values,
    random_predicates,
)
from noisycount.engines.conformance.records import (
    MIXED,
    PERSON,
    SPELLED,
    Draws,
    Exercise,
    TableQuestion,
    mixed_records,
)
from noisycount.engines.truth import Record
from noisycount.frozen import frozen
from noisycount.model.tables.levels import Level
from noisycount.query.grouping import CellQuestion, EachValue, GroupBy, Key, KeyQuestion, KeySet, NumberRanges, Period
from noisycount.query.person_values import value_of
from noisycount.query.predicate import Column, Comparison, Constant, Literal, Missing, Not, Operator, Pattern, Predicate
from noisycount.query.readings import FUNCTIONS, READERS
from noisycount.query.schema import Kind
from noisycount.query.typed import PeriodLength

_MOST_PARTS = 3
_MOST_KEYS = 6
_MANY_EDGES = 200
_SALTS = ("", "salt", "it's")


def random_tables(schema: Mapping[str, Kind], number: int, seed: str) -> Iterator[TableQuestion]:
    """Yield random tables of the columns of a schema, with listed and with hidden keys."""
    maker = TableMaker(Draws(seed), [Column(name, kind) for name, kind in schema.items()])
    wheres = random_predicates(schema, number, f"where of {seed}")
    for index, where in enumerate(wheres):
        condition = where if index % 3 == 0 else None
        yield maker.keys(condition) if index % 4 == 0 else maker.cells(condition)


def random_person_tables(schema: Mapping[str, Kind], number: int, seed: str) -> Iterator[TableQuestion]:
    """Yield random tables of values of persons, some beside columns of rows."""
    draws = Draws(seed)
    rows = [Column(name, kind) for name, kind in schema.items()]
    wheres = random_person_predicates(schema, number, f"where of {seed}")
    for where in wheres:
        values: list[Column] = [*filter(None, map(value_of, random_person_values(rows, draws)))]
        maker = TableMaker(draws, [*values, *rows] if draws.is_one_in(3) else values)
        condition = where if draws.is_one_in(2) else None
        yield maker.keys(condition) if draws.is_one_in(3) else maker.cells(condition)


@frozen
class TableMaker:
    """A generator of random tables of some columns."""

    draws: Draws
    columns: Sequence[Column]

    def keys(self, where: Predicate | None) -> KeyQuestion:
        """Draw a table with hidden keys."""
        return KeyQuestion(self.parts(), where, self.max_groups(), self.draws.one_of(_SALTS))

    def cells(self, where: Predicate | None) -> CellQuestion:
        """Draw a table with listed keys."""
        draws, parts = self.draws, self.parts()
        values = [self.values(part) for part in parts]
        codes = list(product(*(range(len(keys_of_part)) for keys_of_part in values)))
        if draws.is_one_in(2):
            codes = draws.some_of(codes, (len(codes) + 1) // 2)
        keys = KeySet(tuple(parts), tuple(values), np.array(codes, np.int32).reshape(-1, len(parts)))
        has_other = draws.is_one_in(2)
        levels = self.levels(len(keys) + has_other)
        return CellQuestion(keys, where, levels, has_other, self.max_groups(), draws.one_of(_SALTS))

    def max_groups(self) -> int | None:
        """Draw a contribution bound: the largest number of groups of a unit, or None."""
        return None if self.draws.is_one_in(2) else 1 + self.draws.below(3)

    def parts(self) -> list[GroupBy]:
        """Draw one to three different groupings."""
        different = {part.text: part for part in (self.part() for _ in range(_MOST_PARTS))}
        return self.draws.some_of(list(different.values()), 1 + self.draws.below(_MOST_PARTS))

    def part(self) -> GroupBy:
        """Draw a grouping."""
        column = self.draws.one_of(self.columns)
        is_plain = self.draws.is_one_in(2)
        match column.kind:
            case Kind.INTEGER | Kind.DATE if is_plain:
                return EachValue(column)
            case Kind.INTEGER | Kind.REAL:
                return NumberRanges(column, self.edges(column.kind))
            case Kind.DATE | Kind.TIMESTAMP:
                return Period(column, self.draws.one_of(list(PeriodLength)))
            case _:
                return EachValue(column)

    def edges(self, kind: Kind) -> tuple[int | float, ...]:
        """Draw the edges of ranges: a few values of the records, or many numbers."""
        draws = self.draws
        if draws.is_one_in(4):
            first = draws.below(_MANY_EDGES) - _MANY_EDGES
            step = 1 if kind is Kind.INTEGER else 0.5
            return tuple(step * (first + index) for index in range(_MANY_EDGES))
        choices: list[Any] = list(LITERALS[Kind.INTEGER])
        if kind is Kind.REAL:
            choices += LITERALS[Kind.REAL]
        return tuple(sorted(set(draws.some_of(choices, 1 + draws.below(9)))))

    def values(self, part: GroupBy) -> tuple[Key, ...]:
        """Draw different keys of a grouping."""
        known = part.known_keys or tuple(_keys_of_literals(part))
        max_groups = len(known) + 1 if part.known_keys else _MOST_KEYS
        return tuple(self.draws.some_of([*known, None], 1 + self.draws.below(max_groups)))

    def levels(self, cells: int) -> tuple[Level, ...]:
        """Return three levels: the cells, their total, and sums of random cells."""
        size = 1 + self.draws.below(4)
        sums = [self.draws.below(size + 1) - 1 for _ in range(cells)]
        return (
            Level("cells", np.arange(cells, dtype=np.int32), cells),
            Level("total", np.zeros(cells, np.int32), 1),
            Level("sums", np.array(sums, np.int32), size),
        )


def _keys_of_literals(part: GroupBy) -> list[Key]:
    """Return the keys of the groups that contain the literals of the suite."""
    values = LITERALS[part.column.kind]
    if isinstance(part, Period):
        return sorted({part.key(value) for value in (*values, date(1999, 12, 31))}, key=str)
    return [part.canonical_key(value) for value in values]


_TOWN = EachValue(Column("town", Kind.TEXT))
_AGE = NumberRanges(Column("age", Kind.INTEGER), (0, 18, 65))
_LIMITS = (None, 1, 2, 3)
_SALTS_TRUNCATED_TABLES = ("", "salt")


def truncated_tables(towns: Sequence[str]) -> Iterator[TableQuestion]:
    """Yield tables by town, by age, and by both, with listed towns and with hidden keys, under contribution bounds."""
    for parts, max_groups, salt in product([(_TOWN,), (_AGE,), (_TOWN, _AGE)], _LIMITS, _SALTS_TRUNCATED_TABLES):
        yield KeyQuestion(parts, None, max_groups, salt)
        keys = _town_and_age_keys(parts, towns)
        for has_other in (False, True):
            levels = _three_levels(len(keys) + has_other)
            yield CellQuestion(keys, None, levels, has_other, max_groups, salt)


def _town_and_age_keys(parts: tuple[GroupBy, ...], towns: Sequence[str]) -> KeySet:
    """Return all combinations of the towns and two ranges of ages."""
    values = tuple(tuple(towns) if part is _TOWN else (0, 2) for part in parts)
    codes = [*product(*(range(len(keys_of_part)) for keys_of_part in values))]
    return KeySet(parts, values, np.array(codes, np.int32).reshape(-1, len(parts)))


def _three_levels(cells: int) -> tuple[Level, ...]:
    """Return three levels: the cells, pairs of neighbouring cells, and the total."""
    cell = np.arange(cells, dtype=np.int32)
    return (Level("cells", cell, cells), Level("pairs", cell // 2, (cells + 1) // 2), Level("total", cell * 0, 1))


_KEYWORDS = ("select", "order", "group", "user", "table", "null", "case", "count", "by", "from")
_SIGNS = ('a"b', "a.b", "a b", " a", "100%", "%(a)s", ":a", "a'b", "a`b", "[a]", "a\\b", "é", "$a")
_CASES = ("age", "Age", "AGE")
_NAMES = ("ann", "Ann", "ANN", "ann ", " ann", "é", "e\u0301", "ss", "ß", "", "1", "01")
_ROWS = (1, 2, 1000)
_FEW_ROWS = 8
_CROWD = 3000  # persons, enough for an approximate count by a sketch to be wrong
_RANDOM = 5_000
"""Number of random predicates without a unit, and of those with one."""

_TABLES = 100
_VALUES = 2_000  # number of random predicates about values of persons
_FEW_PERSONS = 40
_MOST_ROWS = 9


def exercises() -> Iterator[Exercise]:
    """Yield the exercises. The first one shows whether an engine can make tables at all."""
    yield from _exercises_of_all_kinds()
    yield from _exercises_of_persons()
    yield _exercise_of_many_persons()
    yield from _exercises_of_spelled_texts()
    yield _exercise_of_person_values()
    yield from _exercises_of_column_names()
    yield Exercise("no records", MIXED, [], predicates=[Constant(value=True), *_column_predicates(MIXED)])
    yield Exercise(
        "a record without a person",
        {PERSON: Kind.INTEGER, "age": Kind.INTEGER},
        [{PERSON: 1, "age": 30}, {PERSON: None, "age": 31}],
        PERSON,
        [Constant(value=True)],
        is_refused=True,
    )


def _exercises_of_all_kinds() -> Iterator[Exercise]:
    """Yield exercises with cells of every kind, counted by records and by persons."""
    records = mixed_records()
    columns = {name: kind for name, kind in MIXED.items() if name != PERSON}
    for unit, name in ((None, "cells of every kind"), (PERSON, "cells of every kind by person")):
        predicates = [*fixed_predicates(columns), *random_predicates(columns, _RANDOM, name)]
        tables = list(random_tables(columns, _TABLES, name))
        yield Exercise(name, MIXED, records, unit, predicates, tables)


def _exercises_of_persons() -> Iterator[Exercise]:
    """Yield exercises with persons of 1, 2, 1,000 and a few records, whose names are nearly equal."""
    numbers = (0, -1, 7, 2**53, 2**53 + 1, 2**63 - 1, -(2**63))
    for kind, persons in ((Kind.INTEGER, numbers), (Kind.TEXT, _NAMES), (Kind.BOOLEAN, (True,))):
        schema = {PERSON: kind, "age": Kind.INTEGER, "town": Kind.TEXT}
        rows = [*_ROWS, *[_FEW_ROWS] * len(persons)]
        records = [
            {PERSON: person, "age": (row * 7 + index) % 90, "town": _NAMES[(row + index) % 5]}
            for index, (person, number) in enumerate(zip(persons, rows, strict=False))
            for row in range(number)
        ]
        predicates, name = [Constant(value=True), *_age_predicates()], f"persons that are {kind.value}"
        tables = list(truncated_tables(_NAMES[:4]))  # of the five towns
        yield Exercise(name, schema, records, PERSON, predicates, tables)


def _exercise_of_person_values() -> Exercise:
    """Return an exercise with persons of up to nine records, in which few different cells make many ties."""
    draws = Draws("values of persons")
    cells: Mapping[Kind, Sequence[Any]] = {
        Kind.INTEGER: (0, 1, 2, 30, -(2**63), 2**63 - 1),
        Kind.REAL: (0.0, -0.0, 0.5, nan, inf),
        Kind.TEXT: ("a", "A", "", "é", "b "),
        Kind.BOOLEAN: (True, False),
        Kind.DATE: (date.min, date(2020, 1, 31), date(2020, 2, 29), date(2020, 3, 1), date.max),
        Kind.TIMESTAMP: (datetime(2020, 1, 31, 12), datetime(2020, 2, 29), datetime.max),  # noqa: DTZ001, DTZ901
    }
    columns = {f"{kind.value}_a": kind for kind in cells} | {"day": Kind.DATE, "code": Kind.TEXT}
    records = [
        {PERSON: person, **{name: draws.one_of([*cells[kind], None]) for name, kind in columns.items()}}
        for person in range(_FEW_PERSONS)
        for _ in range(1 + draws.below(_MOST_ROWS))
    ]
    records += records[::7]  # equal records of one person
    name = "values of persons"
    predicates = list(random_person_predicates(columns, _VALUES, name))
    tables = list(random_person_tables(columns, _VALUES // 4, name))
    return Exercise(name, {PERSON: Kind.INTEGER, **columns}, records, PERSON, predicates, tables)


def _exercise_of_many_persons() -> Exercise:
    """Return an exercise with so many persons that an approximate count by a sketch would be wrong."""
    schema = {PERSON: Kind.INTEGER, "age": Kind.INTEGER}
    records = [{PERSON: number * 7919, "age": number % 90} for number in range(_CROWD)]
    age = Column("age", Kind.INTEGER)
    predicates = [Comparison(age, Operator.LESS, Literal(Kind.INTEGER, limit)) for limit in range(5, 95, 5)]
    return Exercise("very many persons", schema, records, PERSON, predicates)


def _exercises_of_spelled_texts() -> Iterator[Exercise]:
    """Yield exercises with texts that spell numbers and dates, counted by records and by persons."""
    schema = {PERSON: Kind.INTEGER, "text": Kind.TEXT, "number": Kind.REAL, "day": Kind.DATE, "other": Kind.TEXT}
    parsed = [Column(name, kind, is_parsed=True) for name in ("text", "other") for kind in FUNCTIONS.values()]
    draws = Draws("spelled")
    values = {kind: [None, *filter(None, map(READERS[kind], SPELLED))] for kind in FUNCTIONS.values()}
    records = [
        {
            PERSON: draws.below(_FEW_ROWS),
            "text": text,
            "number": draws.one_of(values[Kind.REAL]),
            "day": draws.one_of(values[Kind.DATE]),
            "other": draws.one_of([*SPELLED, None]),
        }
        for text in (*SPELLED, None)
    ]
    columns = {name: kind for name, kind in schema.items() if name != PERSON}
    for unit, name in ((None, "texts that spell numbers and days"), (PERSON, "texts that spell them, by person")):
        random = random_predicates(columns, _RANDOM // 10, name, parsed)
        yield Exercise(name, schema, records, unit, [*predicates_on_parsed_columns(parsed[:2], SPELLED), *random])


def _age_predicates() -> Iterator[Predicate]:
    age, town = Column("age", Kind.INTEGER), Column("town", Kind.TEXT)
    for operator in Operator:
        for value in (0, 7, 14, 89):
            yield Comparison(age, operator, Literal(Kind.INTEGER, value))
    for name in _NAMES:
        yield Comparison(town, Operator.EQUAL, Literal(Kind.TEXT, name))
        yield Not(Pattern(town, f"%{name}%"))


def _exercises_of_column_names() -> Iterator[Exercise]:
    """Yield exercises with columns whose names are keywords, contain signs, or differ only in case."""
    for about, names in (
        ("columns named like keywords", _KEYWORDS),
        ("columns with signs in their names", _SIGNS),
        ("columns that differ in case", _CASES),
    ):
        schema = dict.fromkeys(names, Kind.INTEGER)
        records = [_staircase_row(names, row) for row in range(len(names) + 1)]
        hidden = [KeyQuestion([EachValue(Column(name, Kind.INTEGER))], None) for name in names[:3]]
        for unit in (None, names[0]):
            columns = {name: kind for name, kind in schema.items() if name != unit}
            yield Exercise(
                about,
                schema,
                records,
                unit,
                list(_column_predicates(columns)),
                [question for question in hidden if question.parts[0].column.name != unit],
                is_optional=True,
            )


def _staircase_row(names: Sequence[str], row: int) -> Record:
    """Return the record of a row: 1 in its first `row` columns, so that each column has another number of ones."""
    return {name: int(index < row) for index, name in enumerate(names)}


def _column_predicates(schema: Mapping[str, Kind]) -> Iterator[Predicate]:
    """Yield some predicates about every column of a schema."""
    for name, kind in schema.items():
        column = Column(name, kind)
        yield from (Missing(column), Not(Missing(column)))
        if kind is Kind.INTEGER:
            yield Comparison(column, Operator.EQUAL, Literal(kind, 1))
