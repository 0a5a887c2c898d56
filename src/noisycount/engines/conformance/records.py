"""The made-up records of the conformance suite, with hostile cells, and the digest of its exercises."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import cache
from hashlib import sha256
from math import inf, isfinite, nan
from random import Random
from typing import Any, TypeVar

from noisycount.engines.truth import Record
from noisycount.frozen import frozen
from noisycount.query.grouping import CellQuestion, KeyQuestion
from noisycount.query.predicate import Predicate, canonical_text
from noisycount.query.schema import KINDS, Kind

Choice = TypeVar("Choice")


class Draws:
    """A sequence of pseudorandom choices, equal on every machine.

    `seed`: what all of them follow from.

    Example:
        >>> Draws("a").below(1000) == Draws("a").below(1000)
        True
    """

    __slots__ = ("_random",)

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)  # noqa: S311 - nothing here is a secret

    def below(self, number: int) -> int:
        """Draw a whole number from 0 to below a limit.

        Python promises `random` alone to give the same sequence in all its versions.
        """
        return int(self._random.random() * number)

    def is_one_in(self, number: int) -> bool:
        """Draw True with probability 1/number, else False."""
        return self.below(number) == 0

    def one_of(self, choices: Sequence[Choice]) -> Choice:
        """Draw one element."""
        return choices[self.below(len(choices))]

    def some_of(self, choices: Sequence[Choice], number: int) -> list[Choice]:
        """Draw different elements, in random order."""
        left = list(choices)
        return [left.pop(self.below(len(left))) for _ in range(min(number, len(left)))]


_INTEGERS = (
    *(0, 1, -1, 2, 3, 30, 31, 255, -256, 32_767, -32_769, 2**31 - 1, 2**31, -(2**31) - 1, 2**53 - 1, 2**53, 2**53 + 1),
    *(-(2**53) - 1, 2**62, -(2**62), 2**63 - 2, 2**63 - 1, -(2**63) + 1, -(2**63)),
)
_REALS = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 0.1, 0.1 + 0.2, 0.3, 30.0, 31.0, 16_777_217.0, 1e15 + 0.3),
    *(2.0**53 - 1, 2.0**53, 2.0**53 + 2, 2.0**62, 2.0**63, -(2.0**63), 1e20, 1e308, -1e308),
    *(1.7976931348623157e308, 2.2250738585072014e-308, 5e-324, -5e-324, nan, inf, -inf),
)
_TEXTS = (
    *("a", "A", "b", "B", "ab", "aB", "AB", "a ", " a", "a  ", "", " ", "\t", "\n", "a\n", "\na", "é", "e\u0301", "É"),
    *("e", "E", "ß", "ss", "ẞ", "\u0131", "i", "I", "İ", "ﬁ", "fi", "\u212b", "\u00c5", "ö", "oe", "z", "Z", "ä"),
    *("ae", "\u200b", "a\u200b", "a\u00ad", "\u00a0", "\uff41", "名", "\uffff", "👍", "👍🏽", "👩\u200d👩\u200d👧"),
    *("\U00010400", "\U00010428", "\ufffd", "\U0010fffd", "a👍b", "'", "''", '"', "it's", "\\", "\\\\", "\\%", "\\_"),
    *("a\\b", "%", "_", "%%", "__", "100%", "100\\%", "a%b", "a_b", "axb", "a.b", "a*b", "a?b", "[ab]", "[^a]", "^a$"),
    *("a|b", "(a)", "{}", "two\nlines", "two\r\nlines", "cr\r", "null", "NULL", "None", "nan", "0", "00", "1", "-0"),
    *("08:30:00", "08:30:00.5", "08:30", "8:30", "17:05:09.25", "23:59:59.999999", "24:00:00"),  # times of day
    *("true", "2026-01-31", ":a", "%(a)s", "?", "$1", "@a", "--", ";", "/*", "a\0b", "a\0", "\x7f"),
)
SPELLED = (
    *(
        "0",
        "-0",
        "+007",
        "1.",
        ".5",
        "-.5",
        "12",
        " 12 ",
        "\t12\r\n",
        "1e5",
        "1E-05",
        "1.e+5",
        "9007199254740993",
        "0.1",
    ),
    *(
        "0.30000000000000004",
        "9" * 32,
        "0." + "1" * 32,
        "1e99",
        "1e-99",
        f"{'9' * 32}.{'9' * 32}e99",
        f".{'0' * 31}1e-99",
    ),
    *(
        "",
        " ",
        ".",
        "+",
        "-",
        "e5",
        "1e",
        "1e100",
        "1e-400",
        "1e005",
        "1 2",
        "1,5",
        "1_0",
        "0x10",
        "--1",
        "1-",
        "1.2.3",
    ),
    *(
        "9" * 33,
        "0." + "1" * 33,
        "NaN",
        "inf",
        "-Infinity",
        "true",
        "\u0663",
        "1\uff12",
        "\xb2",
        "\xa012",
        "\u22125",
        "1f",
    ),
    *(
        "2024-02-29",
        "2000-02-29",
        "0001-01-01",
        "9999-12-31",
        " 2024-01-31\n",
        "2024-01-31 10:30",
        "2024-01-31T23:30:00Z",
    ),
    *("2024-01-31 10:30:59.123456", "2024-01-31\t9:05", "2024-01-31 23:30:00+14:00", "2024-01-31T23:30:00 -05"),
    *("2023-02-29", "1900-02-29", "2024-04-31", "2024-00-10", "2024-13-01", "2024-01-00", "2024-01-32", "0000-02-29"),
    *(
        "10000-01-01",
        "2024-1-31",
        "31.01.2024",
        "2024/01/31",
        "20240131",
        "2024-01-311",
        "2024-01-31T",
        "2024-01-31 10",
    ),
    *(
        "2024-01-31  10:30",
        "2024-01-31 10:30 UTC",
        "2024-01-31 (approx.)",
        "2024-01-31 to 2024-02-01",
        "2024-01-3\uff11",
    ),
    *(
        "infinity",
        "today",
        "epoch",
        "2024\u221201\u221231",
        "-2024-01-31",
        "2024-01-31 10:30:59.12345678901234567",
        "12\0",
    ),
)
"""Texts that spell numbers or dates, and texts that nearly do."""

_DAYS = (
    *(date.min, date(1582, 10, 4), date(1582, 10, 10), date(1582, 10, 15), date(1752, 9, 3)),
    *(date(1900, 2, 28), date(1900, 3, 1), date(1969, 12, 31), date(1970, 1, 1), date(2000, 2, 29)),
    *(date(2020, 1, 31), date(2020, 2, 1), date(2020, 2, 29), date(2020, 12, 31)),
    *(date(2026, 3, 29), date(2026, 3, 31), date(2026, 4, 1), date(2038, 1, 19), date.max),
)
_MOMENTS = tuple(
    datetime.fromisoformat(text)
    for text in (
        *("0001-01-01 00:00:00", "1582-10-10 12:00:00", "1752-09-03 00:00:00.000001", "1883-11-18 12:03:58"),
        *("1900-01-01 00:00:00", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00", "1970-01-01 00:00:00.000001"),
        *("2020-01-31 12:00:00", "2020-01-31 12:00:00.000001", "2020-01-31 12:00:00.999999", "2020-01-31 12:00:01"),
        *("2020-02-29 23:59:59.999999", "2020-03-31 23:59:59.999999", "2020-04-01 00:00:00"),
        *("2020-12-31 23:59:59.999999", "2021-01-01 00:00:00", "2026-03-08 02:30:00", "2026-03-29 01:30:00"),
        *("2026-03-29 02:30:00", "2026-10-25 02:30:00", "2026-11-01 01:30:00", "2038-01-19 03:14:08"),
        *("2262-04-12 00:00:00", "9999-12-31 23:59:59.999999"),
    )
)
CELLS: Mapping[Kind, tuple[object, ...]] = {
    Kind.INTEGER: _INTEGERS,
    Kind.REAL: _REALS,
    Kind.TEXT: _TEXTS,
    Kind.BOOLEAN: (True, False),
    Kind.DATE: _DAYS,
    Kind.TIMESTAMP: _MOMENTS,
}
"""Hostile values of each kind. Missing values are added to every kind."""

_FIRST_YEAR = 1753  # of the narrowest type of times that servers have
_SMALLEST_NORMAL = 2.2250738585072014e-308
_LAST_OF_PLANE = "\uffff"


@frozen
class Feature:
    """A class of cells that not every engine can store."""

    name: str
    covers: Callable[[Any], bool]  # True for the values of the class


FEATURES = (
    Feature("NaN and infinities", lambda cell: type(cell) is float and not isfinite(cell)),
    Feature("subnormal numbers", lambda cell: type(cell) is float and 0 < abs(cell) < _SMALLEST_NORMAL),
    Feature("days before the year 1753", lambda cell: isinstance(cell, date) and cell.year < _FIRST_YEAR),
    Feature("the character NUL", lambda cell: isinstance(cell, str) and "\0" in cell),
    Feature(
        "characters beyond the first plane, such as emoji",
        lambda cell: isinstance(cell, str) and max(cell, default="") > _LAST_OF_PLANE,
    ),
)
"""Cells that an engine may refuse to store. It must store all others."""

TableQuestion = CellQuestion | KeyQuestion


@frozen(eq=False)
class Exercise:
    """Records and questions about them."""

    name: str
    schema: Mapping[str, Kind]  # kind of every column
    records: Sequence[Record]  # a value, or None, for each column
    unit: str | None = None  # column that names the person; None: every record is a unit
    predicates: Sequence[Predicate] = ()
    tables: Sequence[TableQuestion] = ()
    is_optional: bool = False  # True if an engine may refuse to store the records
    is_refused: bool = False  # True if an engine must refuse to count them

    @property
    def questions(self) -> int:
        """Number of questions."""
        return len(self.predicates) + len(self.tables)


@cache
def narrowed(exercise: Exercise, features: tuple[Feature, ...]) -> Exercise:
    """Return an exercise with missing values in place of cells with one of some features."""
    if not features:
        return exercise
    records = [
        {name: None if any(each.covers(cell) for each in features) else cell for name, cell in record.items()}
        for record in exercise.records
    ]
    return replace(exercise, records=records)


PERSON = "person"
MIXED: Mapping[str, Kind] = {
    PERSON: Kind.INTEGER,
    **{f"{kind.value}_{letter}": kind for kind in KINDS.values() for letter in "ab"},
}
"""Kinds of the columns of mixed records."""

_ROWS = 64
_ALIKE = 10  # number of rows in which the two columns of each kind are equal
_EMPTY = 2  # number of rows in which only the person is not missing
_PERSONS = 25
_MISSING = 7  # one cell in seven is missing


def mixed_records() -> list[Record]:
    """Return records in which every cell of every kind occurs at least once, in one of two columns."""
    draws = Draws("mixed")
    columns: dict[str, list[object]] = {}
    for kind, cells in CELLS.items():
        found = _shuffled(cells, 2 * _ROWS, draws)
        alike = [draws.one_of(cells) for _ in range(_ALIKE)]
        for letter, part in (("a", found[:_ROWS]), ("b", found[_ROWS:])):
            columns[f"{kind.value}_{letter}"] = [*part, *alike, *[None] * _EMPTY]
    return [
        {PERSON: draws.below(_PERSONS), **dict(zip(columns, row, strict=True))}
        for row in zip(*columns.values(), strict=True)
    ]


def _shuffled(cells: Sequence[object], number: int, draws: Draws) -> list[object]:
    """Return a number of cells: all given ones in random order, repeated as needed, with missing values."""
    pool: list[object] = []
    while len(pool) < number:
        for place, cell in enumerate(draws.some_of(cells, len(cells))):
            pool += [cell] if place % _MISSING else [cell, None]
    return pool[:number]


def digest(exercises: Iterable[Exercise]) -> str:
    """Return the SHA-256 of exercises, in hexadecimal digits."""
    found = sha256()
    for exercise in exercises:
        for line in _lines(exercise):
            text = json.dumps(line, sort_keys=True, separators=(",", ":"), allow_nan=False)
            found.update(f"{text}\n".encode())
    return found.hexdigest()


def table_parts(question: TableQuestion) -> dict[str, object]:
    """Return all parts of a question for a table."""
    where = None if question.where is None else canonical_text(question.where)
    told: dict[str, object] = {"where": where, "most": question.max_groups, "salt": question.salt}
    if not isinstance(question, CellQuestion):
        return {"by": [part.text for part in question.parts], **told}
    return {
        "by": [part.text for part in question.keys.parts],
        "keys": [[_cell(key) for key in values] for values in question.keys.values],
        "cells": question.keys.codes.tolist(),
        "levels": [[level.name, level.of_cell.tolist()] for level in question.levels],
        "other": question.has_other,
        **told,
    }


def _lines(exercise: Exercise) -> Iterator[object]:
    """Yield the parts of an exercise, each small enough for one line."""
    kinds = {name: kind.value for name, kind in exercise.schema.items()}
    yield [exercise.name, kinds, exercise.unit, exercise.is_optional, exercise.is_refused]
    for record in exercise.records:
        yield [_cell(record.get(name)) for name in exercise.schema]
    yield from map(canonical_text, exercise.predicates)
    yield from map(table_parts, exercise.tables)


def _cell(value: object) -> object:
    """Return a cell as a JSON value, with its kind if JSON has no such type."""
    match value:
        case float():
            return {"real": value.hex()}
        case date():
            return {"time": value.isoformat()}
        case _:
            return value
