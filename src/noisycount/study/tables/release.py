"""One simulated release of a table: its answers, and what anyone can read off them as they are."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.model.tables.levels import Level
from noisycount.study.tables.true_table import TrueTable, node_sums

__all__ = ["Estimate", "Range", "SimulatedRelease"]

Reals = NDArray[np.float64]
Range = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """What somebody makes of the answers.

    Args:
        cells: Shape (cells,).
        margins: Of all nodes between the total and the cells, one array a level.
        sums: Of the first 1, 2, … cells, shape (cells,).
        cell_range: The ends of the intervals of the cells, if it has them.
        margin_ranges: Those of the margins, one pair a level, if it has them.
    """

    cells: Reals
    margins: tuple[Reals, ...]
    sums: Reals
    cell_range: Range | None = None
    margin_ranges: tuple[Range, ...] = ()

    @classmethod
    def added(cls, table: TrueTable, cells: Reals) -> Self:
        """Margins and sums that add up the cells."""
        margins = tuple(node_sums(level.of_cell, cells, level.size) for level in table.inner)
        return cls(cells, margins, np.cumsum(cells))


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedRelease:
    """The answers about some levels of a table, under one budget that they share equally.

    Args:
        table: What was counted; its total is public.
        places: The levels that are answered, the cells last.
        noise: Of each answer.
        answers: One array a level.
    """

    table: TrueTable
    places: tuple[int, ...]
    noise: DiscreteLaplace
    answers: tuple[Reals, ...] = field(repr=False)

    @classmethod
    def drawn(
        cls, table: TrueTable, epsilon: float, places: Sequence[int], generator: np.random.Generator
    ) -> Self:
        """A release at a price, ε of the whole table."""
        noise = DiscreteLaplace.for_epsilon(epsilon, len(places))
        answers = tuple(
            table.sums(level) + noise.draws(level.size, generator)
            for level in (table.levels[place] for place in places)
        )
        return cls(table, tuple(places), noise, answers)

    @property
    def levels(self) -> tuple[Level, ...]:
        """Those that are answered."""
        return tuple(self.table.levels[place] for place in self.places)

    @property
    def variances(self) -> list[float]:
        """Of one answer of each level."""
        return [self.noise.variance] * len(self.places)

    def raw(self) -> Estimate:
        """Each node's own answer, or the sum of few; the sum of the first cells from the fewest."""
        own = dict(zip(self.places, self.answers, strict=True))
        margins = tuple(
            own[place] if place in own else self._below(place)
            for place in range(1, len(self.table.levels) - 1)
        )
        return Estimate(self.answers[-1], margins, self._fewest())

    def _below(self, place: int) -> Reals:
        """The nodes of a level that is not answered, from the next finer one that is."""
        finer = next(each for each in self.places if each > place)
        nodes = self.table.levels[place]
        parents = np.zeros(self.table.levels[finer].size, dtype=np.int64)
        parents[self.table.levels[finer].of_cell] = nodes.of_cell
        answers = self.answers[self.places.index(finer)]
        return node_sums(parents, answers, nodes.size)

    def _fewest(self) -> Reals:
        """Sums of the first cells: all whole nodes of the coarsest level, then of the next."""
        ends = np.arange(1, self.table.counts.size + 1)
        done, sums = np.zeros_like(ends), np.zeros(ends.size)
        for level, answers in zip(self.levels, self.answers, strict=True):
            ups = np.append(0.0, np.cumsum(answers))
            firsts = np.append(np.searchsorted(level.of_cell, np.arange(level.size)), ends.size)
            whole = np.searchsorted(firsts, ends, side="right") - 1
            begun = np.searchsorted(firsts, done)
            sums += ups[whole] - ups[begun]
            done = firsts[whole]
        return sums
