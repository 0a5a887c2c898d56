"""Tables of records in plain Python: the reference for every other engine."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.release.question.grouping import OUTSIDE, Key, Part, Plain
from noisycount.release.question.keys import CellQuestion, KeyCounts, KeyQuestion
from noisycount.release.question.tree import Predicate
from noisycount.release.sources.truncation import kept_groups
from noisycount.release.sources.truth import Record, truth

__all__ = ["Unit", "cell_counts", "key_counts"]

_BATCH = 100_000  # groups


@dataclass(frozen=True, slots=True)
class Unit:
    """Whose record one is.

    Args:
        name: What tells units apart.
        text: What of it is hashed.
    """

    name: Hashable
    text: str


Keys: TypeAlias = tuple[Key, ...]
UnitOf: TypeAlias = Callable[[int, Record], Unit]


def cell_counts(
    records: Sequence[Record], unit_of: UnitOf, question: CellQuestion
) -> list[NDArray[np.int64]]:
    """The true counts of a table; see ``Source.count_cells``."""
    cells: dict[Keys | None, int] = {
        question.keys.key(cell): cell for cell in range(len(question.keys))
    }
    if question.has_other:
        cells[None] = len(cells)
    found: dict[Unit, set[Keys | None]] = defaultdict(set)
    for unit, keys in _groups(records, unit_of, question.keys.parts, question.where):
        group = keys if keys in cells else None
        if group in cells:
            found[unit].add(group)
    units: list[list[set[Hashable]]] = [
        [set() for _ in range(level.size)] for level in question.levels
    ]
    for unit, groups in found.items():
        for group in kept_groups(groups, unit.text, question.most, question.salt):
            for level, nodes in zip(question.levels, units, strict=True):
                if (node := level.of_cell[cells[group]]) >= 0:
                    nodes[node].add(unit.name)
    return [np.array([len(node) for node in nodes], np.int64) for nodes in units]


def key_counts(
    records: Sequence[Record], unit_of: UnitOf, question: KeyQuestion
) -> Iterator[KeyCounts]:
    """The groups that have units; see ``Source.count_keys``."""
    found: dict[Unit, set[Keys]] = defaultdict(set)
    for unit, keys in _groups(records, unit_of, question.parts, question.where):
        if not any(map(_is_outside, question.parts, keys)):
            found[unit].add(keys)
    units: Mapping[Keys, set[Hashable]] = defaultdict(set)
    for unit, groups in found.items():
        for group in kept_groups(groups, unit.text, question.most, question.salt):
            units[group].add(unit.name)
    rest = iter(units.items())
    while batch := list(islice(rest, _BATCH)):
        counts = np.array([len(counted) for _, counted in batch], np.int64)
        yield KeyCounts([keys for keys, _ in batch], counts)


def _is_outside(part: Part, key: Key) -> bool:
    """Whether a key is that of no group; a plain number may be the same."""
    return key == OUTSIDE and not isinstance(part, Plain)


def _groups(
    records: Sequence[Record], unit_of: UnitOf, parts: Sequence[Part], where: Predicate | None
) -> Iterator[tuple[Unit, Keys]]:
    """The unit of each record that matches, and the keys of its group."""
    for number, record in enumerate(records):
        if where is None or truth(where, record):
            yield (
                unit_of(number, record),
                tuple(part.key(record[part.column.name]) for part in parts),
            )
