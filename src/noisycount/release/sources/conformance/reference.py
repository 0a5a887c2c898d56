"""What the answers of an exercise are by their definition, in plain Python."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from noisycount.release.question.keys import CellQuestion, KeyCounts
from noisycount.release.question.tree import Predicate
from noisycount.release.sources.conformance.exercise import Exercise, TableQuestion
from noisycount.release.sources.interface import Source
from noisycount.release.sources.memory_tables import Unit, cell_counts, key_counts
from noisycount.release.sources.truncation import unit_text
from noisycount.release.sources.truth import Record, ordered, truth

__all__ = ["TableCounts", "asked_table", "true_counts", "true_table"]

TableCounts = Mapping[object, int]
"""The counts of a table by what they are of: (level, node), or the keys of a group."""

_AGAIN = "told again"  # of keys that an engine tells twice


@cache
def true_counts(exercise: Exercise) -> Sequence[int]:
    """The true count of each predicate of an exercise."""
    units = [_unit(number, record, exercise) for number, record in enumerate(exercise.records)]
    return [_count(predicate, exercise.records, units) for predicate in exercise.predicates]


def true_table(exercise: Exercise, question: TableQuestion) -> TableCounts:
    """The true counts of a table."""

    def unit_of(number: int, record: Record) -> Unit:
        return _unit(number, record, exercise)

    if isinstance(question, CellQuestion):
        return _by_node(cell_counts(exercise.records, unit_of, question))
    return _by_keys(key_counts(exercise.records, unit_of, question))


def asked_table(source: Source, question: TableQuestion) -> TableCounts:
    """What an engine says that the counts of a table are.

    Raises:
        SourceError: It does not say.
    """
    if isinstance(question, CellQuestion):
        return _by_node(source.count_cells(question))
    return _by_keys(source.count_keys(question))


def _count(predicate: Predicate, records: Sequence[Record], units: Sequence[Unit]) -> int:
    matching = zip(records, units, strict=True)
    return len({unit.name for record, unit in matching if truth(predicate, record)})


def _unit(number: int, record: Record, exercise: Exercise) -> Unit:
    """Whose record one is."""
    if exercise.unit is None:
        return Unit(number, "")
    value = record[exercise.unit]
    return Unit(ordered(value), unit_text(value))


def _by_node(levels: Iterable[NDArray[np.int64]]) -> TableCounts:
    return {
        (level, node): count
        for level, counts in enumerate(levels)
        for node, count in enumerate(counts.tolist())
    }


def _by_keys(batches: Iterable[KeyCounts]) -> TableCounts:
    found: dict[object, int] = {}
    for batch in batches:
        for keys, count in zip(batch.keys, batch.counts.tolist(), strict=True):
            found[(_AGAIN, keys) if keys in found else keys] = count
    return found
