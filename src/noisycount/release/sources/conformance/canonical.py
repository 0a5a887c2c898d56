"""A suite as one text, the same on every machine and in every version of Python."""

import json
from collections.abc import Iterable, Iterator
from datetime import date
from hashlib import sha256

from noisycount.release.question.keys import CellQuestion
from noisycount.release.question.text import canonical_text
from noisycount.release.sources.conformance.exercise import Exercise, TableQuestion

__all__ = ["digest", "table_parts"]


def digest(exercises: Iterable[Exercise]) -> str:
    """The SHA-256 of exercises, in hexadecimal digits."""
    found = sha256()
    for exercise in exercises:
        for line in _lines(exercise):
            text = json.dumps(line, sort_keys=True, separators=(",", ":"), allow_nan=False)
            found.update(f"{text}\n".encode())
    return found.hexdigest()


def table_parts(question: TableQuestion) -> dict[str, object]:
    """All of a question for a table."""
    where = None if question.where is None else canonical_text(question.where)
    told: dict[str, object] = {"where": where, "most": question.most, "salt": question.salt}
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
    """The facts of an exercise, each small enough for one line."""
    kinds = {name: kind.value for name, kind in exercise.schema.items()}
    yield [exercise.name, kinds, exercise.unit, exercise.is_optional, exercise.is_refused]
    for record in exercise.records:
        yield [_cell(record.get(name)) for name in exercise.schema]
    yield from map(canonical_text, exercise.predicates)
    yield from map(table_parts, exercise.tables)


def _cell(value: object) -> object:
    """A cell as JSON holds it, with its kind where that has none."""
    match value:
        case float():
            return {"real": value.hex()}
        case date():
            return {"time": value.isoformat()}
        case _:
            return value
