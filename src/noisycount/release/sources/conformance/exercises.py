"""All that an engine is asked."""

from collections.abc import Iterator, Mapping, Sequence

from noisycount.release.question.grouping import Plain
from noisycount.release.question.keys import KeyQuestion
from noisycount.release.question.operands import Column, Literal, Operator
from noisycount.release.question.schema import Kind
from noisycount.release.question.tree import Comparison, Constant, Missing, Not, Pattern, Predicate
from noisycount.release.sources.conformance.exercise import Exercise
from noisycount.release.sources.conformance.fixed_predicates import fixed_predicates
from noisycount.release.sources.conformance.made_records import MIXED, PERSON, mixed_records
from noisycount.release.sources.conformance.random_predicates import random_predicates
from noisycount.release.sources.conformance.random_tables import random_tables
from noisycount.release.sources.conformance.truncated_tables import truncated_tables
from noisycount.release.sources.truth import Record

__all__ = ["exercises"]

_KEYWORDS = ("select", "order", "group", "user", "table", "null", "case", "count", "by", "from")
_SIGNS = ('a"b', "a.b", "a b", " a", "100%", "%(a)s", ":a", "a'b", "a`b", "[a]", "a\\b", "é", "$a")
_CASES = ("age", "Age", "AGE")
_NAMES = ("ann", "Ann", "ANN", "ann ", " ann", "é", "e\u0301", "ss", "ß", "", "1", "01")
_ROWS = (1, 2, 1000)
_FEW_ROWS = 8
_CROWD = 3000  # where sketches of 2**15 places err by one in three hundred


_RANDOM = 5_000
"""Random predicates without a unit, and as many with one."""
_TABLES = 100


def exercises() -> Iterator[Exercise]:
    """The exercises, those that decide whether an engine makes tables at all first."""
    yield from _mixed()
    yield from _persons()
    yield _crowd()
    yield from _named_columns()
    yield Exercise("no records", MIXED, [], predicates=[Constant(value=True), *_of_all(MIXED)])
    yield Exercise(
        "a record without a person",
        {PERSON: Kind.INTEGER, "age": Kind.INTEGER},
        [{PERSON: 1, "age": 30}, {PERSON: None, "age": 31}],
        PERSON,
        [Constant(value=True)],
        is_refused=True,
    )


def _mixed() -> Iterator[Exercise]:
    """Cells of every kind beside each other, by records and by persons."""
    records = mixed_records()
    asked = {name: kind for name, kind in MIXED.items() if name != PERSON}
    for unit, name in ((None, "cells of every kind"), (PERSON, "cells of every kind by person")):
        predicates = [*fixed_predicates(asked), *random_predicates(asked, _RANDOM, name)]
        made = list(random_tables(asked, _TABLES, name))
        yield Exercise(name, MIXED, records, unit, predicates, made)


def _persons() -> Iterator[Exercise]:
    """Persons of 1, 2, 1,000 and a few records, whose names are nearly the same."""
    numbers = (0, -1, 7, 2**53, 2**53 + 1, 2**63 - 1, -(2**63))
    for kind, persons in ((Kind.INTEGER, numbers), (Kind.TEXT, _NAMES), (Kind.BOOLEAN, (True,))):
        schema = {PERSON: kind, "age": Kind.INTEGER, "town": Kind.TEXT}
        rows = [*_ROWS, *[_FEW_ROWS] * len(persons)]
        records = [
            {PERSON: person, "age": (row * 7 + place) % 90, "town": _NAMES[(row + place) % 5]}
            for place, (person, number) in enumerate(zip(persons, rows, strict=False))
            for row in range(number)
        ]
        asked, name = [Constant(value=True), *_of_ages()], f"persons that are {kind.value}"
        tables = list(truncated_tables(_NAMES[:4]))  # of five
        yield Exercise(name, schema, records, PERSON, asked, tables)


def _crowd() -> Exercise:
    """So many persons that a sketch of them would be wrong."""
    schema = {PERSON: Kind.INTEGER, "age": Kind.INTEGER}
    records = [{PERSON: number * 7919, "age": number % 90} for number in range(_CROWD)]
    age = Column("age", Kind.INTEGER)
    asked = [
        Comparison(age, Operator.LESS, Literal(Kind.INTEGER, limit)) for limit in range(5, 95, 5)
    ]
    return Exercise("very many persons", schema, records, PERSON, asked)


def _of_ages() -> Iterator[Predicate]:
    age, town = Column("age", Kind.INTEGER), Column("town", Kind.TEXT)
    for operator in Operator:
        for value in (0, 7, 14, 89):
            yield Comparison(age, operator, Literal(Kind.INTEGER, value))
    for name in _NAMES:
        yield Comparison(town, Operator.EQUAL, Literal(Kind.TEXT, name))
        yield Not(Pattern(town, f"%{name}%"))


def _named_columns() -> Iterator[Exercise]:
    """Columns whose names are keywords, have signs, or differ in case alone."""
    for about, names in (
        ("columns named like keywords", _KEYWORDS),
        ("columns with signs in their names", _SIGNS),
        ("columns that differ in case", _CASES),
    ):
        schema = dict.fromkeys(names, Kind.INTEGER)
        records = [_ladder(names, row) for row in range(len(names) + 1)]
        hidden = [KeyQuestion([Plain(Column(name, Kind.INTEGER))], None) for name in names[:3]]
        for unit in (None, names[0]):
            asked = {name: kind for name, kind in schema.items() if name != unit}
            yield Exercise(
                about,
                schema,
                records,
                unit,
                list(_of_all(asked)),
                [each for each in hidden if each.parts[0].column.name != unit],
                is_optional=True,
            )


def _ladder(names: Sequence[str], row: int) -> Record:
    """A record with a different number of ones for each name."""
    return {name: int(place < row) for place, name in enumerate(names)}


def _of_all(schema: Mapping[str, Kind]) -> Iterator[Predicate]:
    """Something about every column of a schema."""
    for name, kind in schema.items():
        column = Column(name, kind)
        yield from (Missing(column), Not(Missing(column)))
        if kind is Kind.INTEGER:
            yield Comparison(column, Operator.EQUAL, Literal(kind, 1))
