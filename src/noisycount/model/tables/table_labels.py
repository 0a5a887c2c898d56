"""What a reader sees of the keys of a table."""

from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import islice
from math import prod
from typing import TypeAlias

import numpy as np

from noisycount.display.texts import ALL_KEYS, OTHER_KEYS, label_text, listed_text, summed_texts
from noisycount.frozen import frozen
from noisycount.model.tables.levels import Codes, Level, range_bounds

__all__ = ["Label", "TableLabels"]

Label: TypeAlias = int | str | bool | None


@frozen
class TableLabels:
    """What a reader sees of the keys of a table.

    Attributes:
        cells: The places of each cell's keys among them, shape (cells, parts); None: there are
            no sums over parts.
        is_hidden: Whether only the records know the keys, so that the total is of them all.
    """

    names: tuple[str, ...]  # what the table is grouped by
    values: tuple[tuple[Label, ...], ...]  # the labels of the keys of each part
    cells: Codes | None = field(default=None, repr=False, compare=False)
    is_hidden: bool = False

    def of(self, level: Level) -> Iterator[tuple[Label, ...]]:
        """The labels of each node; None where a part is summed over, and for missing values."""
        if level.codes is None:
            (values,) = self.values
            for first, last in range_bounds(level).tolist():
                yield (f"{values[first]} … {values[last]}",)
            return
        for codes in level.codes.tolist():
            yield tuple(
                None if code < 0 else values[code]
                for values, code in zip(self.values, codes, strict=True)
            )
        for _ in range(level.size - len(level.codes)):
            yield (None,) * len(self.names)

    def texts(self, level: Level, node: int) -> tuple[str, ...]:
        """What people read for the keys of one node; where a part is summed over, of which keys."""
        if level.codes is None:
            return tuple(map(str, next(islice(self.of(level), node, None))))
        return self._texts(level, level.codes, [node])[0]

    def all_texts(self, level: Level) -> list[tuple[str, ...]]:
        """The same of each node."""
        if level.codes is None:
            return [tuple(map(str, labels)) for labels in self.of(level)]
        return self._texts(level, level.codes, range(level.size))

    def sums(self, level: Level) -> list[str | None]:
        """Of whom each node of a level is the sum; None of cells, and of ranges, which say it."""
        if level.codes is None or not _summed(level.codes):
            return [None] * level.size
        told = self.all_texts(level)
        return [ALL_KEYS if set(texts) == {ALL_KEYS} else "; ".join(texts) for texts in told]

    def _texts(self, level: Level, codes: Codes, nodes: Sequence[int]) -> list[tuple[str, ...]]:
        """What people read for the keys of some nodes."""
        found = []
        for node, sums in zip(nodes, self._sums(level, _summed(codes), nodes), strict=True):
            summed = iter(sums)
            listed = codes[node].tolist() if node < len(codes) else []
            found.append(
                tuple(
                    next(summed) if code < 0 else label_text(values[code])
                    for values, code in zip(self.values, listed, strict=True)
                )
                if listed
                else (OTHER_KEYS,) * len(self.names)
            )
        return found

    def _sums(
        self, level: Level, summed: Sequence[int], nodes: Sequence[int]
    ) -> list[tuple[str, ...]]:
        """What stands for the parts over which nodes of a level sum."""
        cells = self.cells
        if not summed or cells is None:
            return [()] * len(nodes)
        if self.is_hidden or (level.of_cell[len(cells) :] >= 0).any():
            return [(ALL_KEYS,) * len(summed)] * len(nodes)
        if len(cells) == prod(map(len, self.values)):
            return [tuple(listed_text(self.values[part]) for part in summed)] * len(nodes)
        own = level.of_cell[: len(cells)]
        rows = np.flatnonzero(own == nodes[0]) if len(nodes) == 1 else np.arange(len(cells))
        keys = zip(own[rows].tolist(), cells[rows][:, summed].tolist(), strict=True)
        found = summed_texts(
            (node, [self.values[part][code] for part, code in zip(summed, codes, strict=True)])
            for node, codes in keys
        )
        return [found[node] for node in nodes]


def _summed(codes: Codes) -> list[int]:
    """The parts over which a level sums."""
    return np.flatnonzero((codes < 0).all(axis=0)).tolist() if len(codes) else []
