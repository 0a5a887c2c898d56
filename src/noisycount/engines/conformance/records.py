"""The made-up records of the conformance suite, with hostile cells, and the digest of its exercises.

`hostile.toml` lists the cells, and the patterns and questions of `predicates`.
"""

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from hashlib import sha256
from math import isfinite
from pathlib import Path
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

    All choices follow from the text `seed`.

    Example:
        >>> Draws("a").below(1000) == Draws("a").below(1000)
        True
    """

    __slots__ = ("_random",)

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)  # noqa: S311 - nothing here is a secret

    def below(self, number: int) -> int:
        """Draw a whole number from 0 to below a limit.

        Only the numbers of `Random.random` are the same in all versions of Python.
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
        remaining = list(choices)
        return [remaining.pop(self.below(len(remaining))) for _ in range(min(number, len(remaining)))]


_HOSTILE = tomllib.loads(Path(__file__).with_name("hostile.toml").read_text(encoding="utf-8"))
CELLS: Mapping[Kind, tuple[Any, ...]] = {KINDS[name]: tuple(cells) for name, cells in _HOSTILE["cells"].items()}
"""Hostile values of each kind. Missing values are added to every kind."""

SPELLED: Sequence[str] = _HOSTILE["texts"]["spelled"]
"""Texts that spell numbers or dates, and texts that nearly do."""

PATTERNS: Sequence[str] = _HOSTILE["texts"]["patterns"]
QUESTIONS: Sequence[str] = _HOSTILE["texts"]["questions"]  # about the columns of mixed records

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
def without_features(exercise: Exercise, features: tuple[Feature, ...]) -> Exercise:
    """Return an exercise with missing values in place of cells with one of some features."""
    if not features:
        return exercise
    records = [
        {name: None if any(feature.covers(cell) for feature in features) else cell for name, cell in record.items()}
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
        shuffled = _shuffled_cells(cells, 2 * _ROWS, draws)
        equal_cells = [draws.one_of(cells) for _ in range(_ALIKE)]
        for letter, part in (("a", shuffled[:_ROWS]), ("b", shuffled[_ROWS:])):
            columns[f"{kind.value}_{letter}"] = [*part, *equal_cells, *[None] * _EMPTY]
    return [
        {PERSON: draws.below(_PERSONS), **dict(zip(columns, row, strict=True))}
        for row in zip(*columns.values(), strict=True)
    ]


def _shuffled_cells(cells: Sequence[object], number: int, draws: Draws) -> list[object]:
    """Return a number of cells: all given ones in random order, repeated as needed, with missing values."""
    pool: list[object] = []
    while len(pool) < number:
        for place, cell in enumerate(draws.some_of(cells, len(cells))):
            pool += [cell] if place % _MISSING else [cell, None]
    return pool[:number]


def digest(exercises: Iterable[Exercise]) -> str:
    """Return the SHA-256 of exercises, in hexadecimal digits."""
    sha = sha256()
    for exercise in exercises:
        for line in _digested_parts(exercise):
            text = json.dumps(line, sort_keys=True, separators=(",", ":"), allow_nan=False)
            sha.update(f"{text}\n".encode())
    return sha.hexdigest()


def table_parts(question: TableQuestion) -> dict[str, object]:
    """Return all parts of a question for a table."""
    where = None if question.where is None else canonical_text(question.where)
    common_parts: dict[str, object] = {"where": where, "most": question.max_groups, "salt": question.salt}
    if not isinstance(question, CellQuestion):
        return {"by": [part.text for part in question.parts], **common_parts}
    return {
        "by": [part.text for part in question.keys.parts],
        "keys": [[_cell_to_json(key) for key in values] for values in question.keys.values],
        "cells": question.keys.codes.tolist(),
        "levels": [[level.name, level.of_cell.tolist()] for level in question.levels],
        "other": question.has_other,
        **common_parts,
    }


def _digested_parts(exercise: Exercise) -> Iterator[object]:
    """Yield the parts of an exercise for its digest: the columns, each record and each question."""
    kinds = {name: kind.value for name, kind in exercise.schema.items()}
    yield [exercise.name, kinds, exercise.unit, exercise.is_optional, exercise.is_refused]
    for record in exercise.records:
        yield [_cell_to_json(record.get(name)) for name in exercise.schema]
    yield from map(canonical_text, exercise.predicates)
    yield from map(table_parts, exercise.tables)


def _cell_to_json(value: object) -> object:
    """Return a cell as a JSON value, with its kind if JSON has no such type."""
    match value:
        case float():
            return {"real": value.hex()}
        case date():
            return {"time": value.isoformat()}
        case _:
            return value
