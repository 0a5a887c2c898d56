"""The levels of a table: its cells, and the sums of cells that receive their own answers.

Levels are margins (sums over some parts of the keys) or ranges of ordered cells, a binary tree from which prefix sums
need few nodes. All levels share the price. `tree` and `combined` use them.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import field
from fractions import Fraction
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.display.texts import ALL_KEYS, OTHER_KEYS, label_text, listed_text, sum_labels
from noisycount.frozen import frozen
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian

Nodes = NDArray[np.int32]
Codes = NDArray[np.int32]


@frozen(eq=False)
class Level:
    """Disjoint sums of cells that are counted together: the cells themselves, a margin, or ranges."""

    name: str  # displayed name, such as "town" or "total"
    of_cell: Nodes = field(repr=False)  # node of each cell, from 0; −1 if the cell is in no node; shape (cells,)
    size: int  # number of nodes
    # Index of each node's key among the values of each part, −1 if the part is summed over, shape (keyed nodes, parts);
    # None: nodes are ranges. A node beyond the keyed nodes has no keys: "other".
    codes: Codes | None = field(default=None, repr=False)

    def sums(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the exact sum of the counts of each node's cells, for counts of shape (cells,)."""
        sums = np.zeros(self.size, np.int64)
        inside = self.of_cell >= 0
        np.add.at(sums, self.of_cell[inside], cells[inside])
        return sums


TOTAL = "total"  # displayed name of the sum of all cells
OTHER = "other"  # displayed name of the row of all other keys


def cell_level(codes: Codes, names: Sequence[str], *, has_other: bool = False) -> Level:
    """Return the level of the cells, for codes of shape (cells, parts); "other" is its last node if there is one."""
    size = len(codes) + has_other
    return Level(",".join(names), np.arange(size, dtype=np.int32), size, codes)


def margin_levels(
    codes: Codes, names: Sequence[str], margins: Sequence[Sequence[str]], *, has_other: bool = False
) -> tuple[Level, ...]:
    """Return the margins of a table, each with its nodes in lexicographic order of their codes.

    "Other", the last cell, is part of the total and of no other margin. Codes have shape (cells, parts).
    """
    return tuple(_margin_level(codes, names, margin, has_other=has_other) for margin in margins)


def _margin_level(codes: Codes, names: Sequence[str], margin: Sequence[str], *, has_other: bool) -> Level:
    """Return one margin, its nodes in lexicographic order of their codes."""
    for name in margin:
        if name not in names:
            raise ValueError(f"margins name {name!r}: choose parts of {', '.join(names)}")
    parts = [part for part, name in enumerate(names) if name in margin]
    nodes = np.zeros(len(codes), dtype=np.int64)
    for part in parts:
        joined = nodes * (int(codes[:, part].max(initial=0)) + 1) + codes[:, part]
        nodes = np.unique(joined, return_inverse=True)[1]
    size = int(nodes.max(initial=-1 if parts else 0)) + 1
    margin_codes = np.full((size, len(names)), -1, dtype=np.int32)
    for part in parts:
        margin_codes[nodes, part] = codes[:, part]
    of_cell = np.append(nodes, [-1 if parts else 0] * has_other).astype(np.int32)
    name = ",".join(names[part] for part in parts) or TOTAL
    return Level(name, of_cell, size, margin_codes)


RANGES = "ranges of "  # prefix of the names of levels of ranges


def range_levels(cells: int) -> tuple[Level, ...]:
    """Return the levels that sum ordered cells in blocks of 2, 4, 8, …, up to all cells.

    The last block of a level is shorter if the number of cells is no multiple of the block length.
    """
    places = np.arange(cells, dtype=np.int32)
    return tuple(
        Level(f"{RANGES}{1 << power}", places >> power, (cells - 1 >> power) + 1)
        for power in range(1, (cells - 1).bit_length() + 1)
    )


def all_levels(
    codes: Codes, names: Sequence[str], margins: Sequence[Sequence[str]] | None, *, has_other: bool = False
) -> tuple[Level, ...]:
    """Return the cells first, then the margins, or the ranges if margins is None; codes have shape (cells, parts)."""
    sums = range_levels(len(codes)) if margins is None else margin_levels(codes, names, margins, has_other=has_other)
    return (cell_level(codes, names, has_other=has_other), *sums)


def range_bounds(level: Level) -> NDArray[np.int64]:
    """Return the first and the last cell of each node of a level of ranges, shape (nodes, 2)."""
    nodes = np.arange(level.size)
    first, after = (np.searchsorted(level.of_cell, nodes, side) for side in ("left", "right"))
    return np.stack([first, after - 1], axis=1)


_CELLS = 2  # weight of the cells relative to a level of ranges
_STEPS = 1000  # shares are readable multiples of 1/1000; many levels need a finer step
_STEPS_A_LEVEL = 50


def shares(levels: Sequence[Level], sensitivities: Sequence[int], noise: type[DiscreteNoise]) -> tuple[Fraction, ...]:
    """Return the share of the price of each level; for margins, the shares with the smallest total error of their rows.

    For a share s of the price, N rows that one unit changes by Δ in total have a variance that is Δ/s of the smallest
    possible under Gaussian noise, and (Δ/s)² under Laplace noise. The sum over all rows of all levels is smallest for s
    ∝ (N·Δ)^(1/2) and s ∝ (N·Δ²)^(1/3). The page “Accuracy”, Proposition 3.3, compares it with the smallest possible
    error of all rows after combination.

    Ranges serve prefix sums. The cells get twice the weight of a level of ranges, and s ∝ Δ otherwise. Under Gaussian
    noise the error is at most 0.3 % above that of the best shares.
    """
    if any(level.codes is None for level in levels[1:]):
        twice = [_CELLS] + [1] * (len(levels) - 1)
        weights = [float(most * moves) for most, moves in zip(twice, sensitivities, strict=True)]
    else:
        weights = [
            math.sqrt(level.size * moves) if issubclass(noise, DiscreteGaussian) else math.cbrt(level.size * moves**2)
            for level, moves in zip(levels, sensitivities, strict=True)
        ]
    return _rounded_shares(weights)


def _rounded_shares(weights: Sequence[float]) -> tuple[Fraction, ...]:
    """Return shares proportional to positive weights, rounded by largest remainders to multiples of a power of 1/10."""
    steps = _STEPS
    while steps < _STEPS_A_LEVEL * len(weights):
        steps *= 10
    exact = [weight / math.fsum(weights) * steps for weight in weights]
    counts = [max(1, math.floor(exact_count)) for exact_count in exact]
    by_remainder = sorted(range(len(exact)), key=lambda index: counts[index] - exact[index])
    for index in by_remainder[: max(0, steps - sum(counts))]:
        counts[index] += 1
    counts[counts.index(max(counts))] -= sum(counts) - steps
    return tuple(Fraction(count, steps) for count in counts)


Label: TypeAlias = int | str | bool | None


@frozen
class TableLabels:
    """The displayed keys of a table."""

    names: tuple[str, ...]  # columns by which the table is grouped
    values: tuple[tuple[Label, ...], ...]  # labels of the keys of each part
    # Index of each cell's key in `values`, shape (cells, parts); None: there are no sums over parts.
    cells: Codes | None = field(default=None, repr=False, compare=False)
    is_hidden: bool = False  # True if the keys are hidden; the total then includes keys that are not shown

    def node_labels(self, level: Level) -> Iterator[tuple[Label, ...]]:
        """Yield the labels of each node; None for missing values and for parts that are summed over."""
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
        """Return the displayed keys of one node. For a column over which the node sums, the text lists the keys."""
        if level.codes is None:
            return tuple(map(str, next(islice(self.node_labels(level), node, None))))
        return self._texts(level, level.codes, [node])[0]

    def all_texts(self, level: Level) -> list[tuple[str, ...]]:
        """Return the displayed keys of each node of a level."""
        if level.codes is None:
            return [tuple(map(str, labels)) for labels in self.node_labels(level)]
        return self._texts(level, level.codes, range(level.size))

    def summed_keys(self, level: Level) -> list[str | None]:
        """Return the text of the keys that each node of a margin sums over; None for the nodes of other levels."""
        if level.codes is None or not _summed_parts(level.codes):
            return [None] * level.size
        node_texts = self.all_texts(level)
        return [ALL_KEYS if set(texts) == {ALL_KEYS} else "; ".join(texts) for texts in node_texts]

    def _texts(self, level: Level, codes: Codes, nodes: Sequence[int]) -> list[tuple[str, ...]]:
        """Return the displayed keys of some nodes."""
        texts_of_nodes = []
        for node, sums in zip(nodes, self._sum_texts(level, _summed_parts(codes), nodes), strict=True):
            summed = iter(sums)
            listed = codes[node].tolist() if node < len(codes) else []
            texts_of_nodes.append(
                tuple(
                    next(summed) if code < 0 else label_text(values[code])
                    for values, code in zip(self.values, listed, strict=True)
                )
                if listed
                else (OTHER_KEYS,) * len(self.names)
            )
        return texts_of_nodes

    def _sum_texts(self, level: Level, summed: Sequence[int], nodes: Sequence[int]) -> list[tuple[str, ...]]:
        """Return the texts of the parts over which some nodes of a level sum."""
        cells = self.cells
        if not summed or cells is None:
            return [()] * len(nodes)
        if self.is_hidden or (level.of_cell[len(cells) :] >= 0).any():
            return [(ALL_KEYS,) * len(summed)] * len(nodes)
        if len(cells) == math.prod(map(len, self.values)):
            return [tuple(listed_text(self.values[part]) for part in summed)] * len(nodes)
        nodes_of_cells = level.of_cell[: len(cells)]
        rows = np.flatnonzero(nodes_of_cells == nodes[0]) if len(nodes) == 1 else np.arange(len(cells))
        keys = zip(nodes_of_cells[rows].tolist(), cells[rows][:, summed].tolist(), strict=True)
        texts_of_node = sum_labels(
            (node, [self.values[part][code] for part, code in zip(summed, codes, strict=True)]) for node, codes in keys
        )
        return [texts_of_node[node] for node in nodes]


def _summed_parts(codes: Codes) -> list[int]:
    """Return the parts over which a level sums."""
    return np.flatnonzero((codes < 0).all(axis=0)).tolist() if len(codes) else []
