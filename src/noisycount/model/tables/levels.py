"""The levels of a table: its cells, and the sums of cells that are counted beside them.

Levels are margins, sums over some of the parts of a table, or ranges of ordered cells: a binary
tree of sums, from which prefix sums take few nodes. They share the price; their nodes have labels.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import field
from fractions import Fraction
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.display.texts import ALL_KEYS, OTHER_KEYS, label_text, listed_text, summed_texts
from noisycount.frozen import frozen
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian

Nodes = NDArray[np.int32]
Codes = NDArray[np.int32]


@frozen(eq=False)
class Level:
    """Counts of which no two share a cell: the cells themselves, or sums of them."""

    name: str  # what a reader calls it, such as "town" or "total"
    of_cell: Nodes = field(repr=False)  # the node of each cell, from 0; −1: of none; shape (cells,)
    size: int  # how many nodes there are
    # the places of each node's keys among the values of the parts, −1 where a part is summed over, shape (keyed
    # nodes, parts); None: nodes are no combinations of keys. A node beyond them has no keys: "other"
    codes: Codes | None = field(default=None, repr=False)

    def sums(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sum of the counts of each node's cells, exact. Shapes: cells (cells,)."""
        sums = np.zeros(self.size, np.int64)
        inside = self.of_cell >= 0
        np.add.at(sums, self.of_cell[inside], cells[inside])
        return sums


TOTAL = "total"  # what a reader calls the sum of all cells
OTHER = "other"  # what a reader calls the row of all other keys


def cell_level(codes: Codes, names: Sequence[str], *, has_other: bool = False) -> Level:
    """The level of the cells themselves, "other" as the last of them if there is one. Shapes: codes (cells, parts)."""
    size = len(codes) + has_other
    return Level(",".join(names), np.arange(size, dtype=np.int32), size, codes)


def margin_levels(
    codes: Codes, names: Sequence[str], margins: Sequence[Sequence[str]], *, has_other: bool = False
) -> tuple[Level, ...]:
    """The margins of a table, each with its nodes in the order of the places of their keys.

    "Other", the last cell, is a part of the total, and of no other margin.
    Shapes: codes (cells, parts).
    """
    return tuple(_margin(codes, names, margin, has_other=has_other) for margin in margins)


def _margin(codes: Codes, names: Sequence[str], margin: Sequence[str], *, has_other: bool) -> Level:
    """One margin, its nodes in the lexicographic order of the places of their keys."""
    for name in margin:
        if name not in names:
            raise ValueError(f"margins name {name!r}: choose parts of {', '.join(names)}")
    parts = [part for part, name in enumerate(names) if name in margin]
    nodes = np.zeros(len(codes), dtype=np.int64)
    for part in parts:
        joined = nodes * (int(codes[:, part].max(initial=0)) + 1) + codes[:, part]
        nodes = np.unique(joined, return_inverse=True)[1]
    size = int(nodes.max(initial=-1 if parts else 0)) + 1
    kept = np.full((size, len(names)), -1, dtype=np.int32)
    for part in parts:
        kept[nodes, part] = codes[:, part]
    of_cell = np.append(nodes, [-1 if parts else 0] * has_other).astype(np.int32)
    name = ",".join(names[part] for part in parts) or TOTAL
    return Level(name, of_cell, size, kept)


RANGES = "ranges of "  # how the names of such levels begin


def range_levels(cells: int) -> tuple[Level, ...]:
    """The sums of ordered cells in blocks of 2, 4, 8 and so on, up to all.

    The last block of a level is shorter where cells run out.
    """
    places = np.arange(cells, dtype=np.int32)
    return tuple(
        Level(f"{RANGES}{1 << power}", places >> power, (cells - 1 >> power) + 1)
        for power in range(1, (cells - 1).bit_length() + 1)
    )


def all_levels(
    codes: Codes, names: Sequence[str], margins: Sequence[Sequence[str]] | None, *, has_other: bool = False
) -> tuple[Level, ...]:
    """The cells first, then the margins, or the ranges where margins are None. Shapes: codes (cells, parts)."""
    sums = range_levels(len(codes)) if margins is None else margin_levels(codes, names, margins, has_other=has_other)
    return (cell_level(codes, names, has_other=has_other), *sums)


def range_bounds(level: Level) -> NDArray[np.int64]:
    """The first and the last cell of each node of a level of ranges, shape (nodes, 2)."""
    nodes = np.arange(level.size)
    first, after = (np.searchsorted(level.of_cell, nodes, side) for side in ("left", "right"))
    return np.stack([first, after - 1], axis=1)


_CELLS = 2  # shares of the cells for one of each level of ranges
_STEPS = 1000  # in one, or more where there are many levels: shares are read by people
_STEPS_A_LEVEL = 50


def shares(levels: Sequence[Level], sensitivities: Sequence[int], noise: type[DiscreteNoise]) -> tuple[Fraction, ...]:
    """The shares of the price that levels get: of margins, those of the least error of their rows.

    With a share s of the price, N rows that one unit moves by Δ together have a variance that is
    Δ/s of the smallest possible under Gaussian noise, (Δ/s)² under Laplace noise. The sum over all
    rows of all levels is smallest for s ∝ (N·Δ)^(1/2) and s ∝ (N·Δ²)^(1/3). The page “How far off tables are”
    compares it with the least possible error of all rows that are combined.

    Of ranges prefix sums are wanted: the cells get twice as much as each level of ranges, s ∝ Δ
    beyond. Under Gaussian noise that is at most 0.3 % above the best that any shares give.
    """
    if any(level.codes is None for level in levels[1:]):
        twice = [_CELLS] + [1] * (len(levels) - 1)
        weights = [float(most * moves) for most, moves in zip(twice, sensitivities, strict=True)]
    else:
        weights = [
            math.sqrt(level.size * moves) if issubclass(noise, DiscreteGaussian) else math.cbrt(level.size * moves**2)
            for level, moves in zip(levels, sensitivities, strict=True)
        ]
    return _readable(weights)


def _readable(weights: Sequence[float]) -> tuple[Fraction, ...]:
    """Shares near positive weights, by largest remainders: multiples of a power of 1/10, none 0."""
    steps = _STEPS
    while steps < _STEPS_A_LEVEL * len(weights):
        steps *= 10
    exact = [weight / math.fsum(weights) * steps for weight in weights]
    counts = [max(1, math.floor(one)) for one in exact]
    by_remainder = sorted(range(len(exact)), key=lambda place: counts[place] - exact[place])
    for place in by_remainder[: max(0, steps - sum(counts))]:
        counts[place] += 1
    counts[counts.index(max(counts))] -= sum(counts) - steps
    return tuple(Fraction(count, steps) for count in counts)


Label: TypeAlias = int | str | bool | None


@frozen
class TableLabels:
    """What a reader sees of the keys of a table."""

    names: tuple[str, ...]  # what the table is grouped by
    values: tuple[tuple[Label, ...], ...]  # the labels of the keys of each part
    # the places of each cell's keys among them, shape (cells, parts); None: there are no sums over parts
    cells: Codes | None = field(default=None, repr=False, compare=False)
    is_hidden: bool = False  # whether only the records know the keys, so that the total is of them all

    def of(self, level: Level) -> Iterator[tuple[Label, ...]]:
        """The labels of each node; None where a part is summed over, and for missing values."""
        if level.codes is None:
            (values,) = self.values
            for first, last in range_bounds(level).tolist():
                yield (f"{values[first]} … {values[last]}",)
            return
        for codes in level.codes.tolist():
            yield tuple(None if code < 0 else values[code] for values, code in zip(self.values, codes, strict=True))
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

    def _sums(self, level: Level, summed: Sequence[int], nodes: Sequence[int]) -> list[tuple[str, ...]]:
        """What stands for the parts over which nodes of a level sum."""
        cells = self.cells
        if not summed or cells is None:
            return [()] * len(nodes)
        if self.is_hidden or (level.of_cell[len(cells) :] >= 0).any():
            return [(ALL_KEYS,) * len(summed)] * len(nodes)
        if len(cells) == math.prod(map(len, self.values)):
            return [tuple(listed_text(self.values[part]) for part in summed)] * len(nodes)
        own = level.of_cell[: len(cells)]
        rows = np.flatnonzero(own == nodes[0]) if len(nodes) == 1 else np.arange(len(cells))
        keys = zip(own[rows].tolist(), cells[rows][:, summed].tolist(), strict=True)
        found = summed_texts(
            (node, [self.values[part][code] for part, code in zip(summed, codes, strict=True)]) for node, codes in keys
        )
        return [found[node] for node in nodes]


def _summed(codes: Codes) -> list[int]:
    """The parts over which a level sums."""
    return np.flatnonzero((codes < 0).all(axis=0)).tolist() if len(codes) else []
