"""Tables whose counts are known: the survey's, and some that laws make."""

from collections.abc import Callable
from dataclasses import field
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.model.tables.levels import Level, range_levels

Counts = NDArray[np.int64]
Reals = NDArray[np.float64]
Shares = Callable[[np.random.Generator, int], Reals]
_SEED = 15
_WIDTH = 3  # levels of a binary tree from one that is answered to the next finer one
_SITES, _RATINGS = 6, 4


@frozen(eq=False)
class TrueTable:
    """Counts of ordered cells in a tree."""

    name: str  # what a reader calls it
    counts: Counts = field(repr=False)  # of the cells, in records, shape (cells,)
    levels: tuple[Level, ...] = field(repr=False)  # from the total to the cells, each with the node of every cell
    answered: tuple[int, ...]  # the places of those levels that are answered where not the cells alone are

    @property
    def total(self) -> int:
        """All records."""
        return int(self.counts.sum())

    @property
    def inner(self) -> tuple[Level, ...]:
        """The levels between the total and the cells: the margins."""
        return self.levels[1:-1]

    def sums(self, level: Level) -> Counts:
        """The true counts of the nodes of a level."""
        return node_sums(level.of_cell, self.counts, level.size).astype(np.int64)

    @classmethod
    def drawn(cls, name: str, shares: Shares, size: int = 64, records: int = 2_500) -> Self:
        """A table of so many ordered cells and records, drawn with a fixed seed."""
        generator = np.random.default_rng([_SEED, *name.encode()])
        weights = shares(generator, size)
        counts = generator.multinomial(records, weights / weights.sum())
        cells = np.arange(size, dtype=np.int32)
        levels = *reversed(range_levels(size)), Level("cells", cells, size)
        answered = tuple(range(len(levels) - 1, 0, -_WIDTH))[::-1]
        return cls(name, counts.astype(np.int64), levels, answered)


def node_sums(nodes: NDArray[np.integer], values: NDArray[Any], size: int) -> Reals:
    """The sums of the values of each of so many nodes."""
    return np.bincount(nodes, values, size).astype(np.float64, copy=False)


def _smooth(_: np.random.Generator, size: int) -> Reals:
    """Two hills on a plain."""
    places = np.linspace(0, 1, size)
    hills = [np.exp(-0.5 * ((places - mid) / width) ** 2) for mid, width in ((0.3, 0.05), (0.7, 0.1))]
    return np.asarray(2 * hills[0] + hills[1] + 0.01, dtype=np.float64)


def _one_big(generator: np.random.Generator, size: int) -> Reals:
    """Half of all in one cell, the rest spread evenly."""
    weights = np.ones(size)
    weights[generator.integers(size)] = size - 1
    return weights


# The shares of the cells of each law.
LAWS: dict[str, Shares] = {
    "even": lambda _, size: np.ones(size),
    "Zipf": lambda generator, size: 1 / generator.permutation(np.arange(1.0, size + 1)),
    "log-normal": lambda generator, size: generator.lognormal(0, 2, size),
    "one big": _one_big,
    "smooth": _smooth,
}


def survey() -> TrueTable:
    """The rows of the bundled survey by year, site and health: 5 × 6 × 4 cells, 20,190 records."""
    counts = np.array(_SURVEY, dtype=np.int64)
    cells = np.arange(counts.size, dtype=np.int32)
    levels = tuple(
        Level(name, cells // size, counts.size // size)
        for name, size in (
            ("total", counts.size),
            ("year", _SITES * _RATINGS),
            ("year,site", _RATINGS),
            ("year,site,health", 1),
        )
    )
    return TrueTable("survey", counts, levels, (1, 2, 3))


@cache
def true_tables() -> tuple[TrueTable, ...]:
    """The survey, and a table of each law."""
    return survey(), *(TrueTable.drawn(name, shares) for name, shares in LAWS.items())


# Year by year and site by site, how many called their health excellent, good, fair and poor.
# fmt: off
_SURVEY = (
    584, 442, 70, 17, 708, 375, 81, 9, 411, 238, 49, 6, 529, 303, 37, 6, 336, 299, 86, 19,
    434, 431, 133, 35, 585, 437, 69, 16, 700, 364, 72, 9, 414, 229, 46, 5, 528, 299, 37, 6,
    346, 288, 85, 19, 445, 417, 127, 32, 591, 426, 63, 15, 707, 357, 71, 9, 417, 225, 47, 5,
    533, 292, 36, 5, 346, 278, 83, 19, 462, 406, 126, 29, 317, 222, 27, 4, 191, 82, 14, 2,
    113, 48, 10, 0, 143, 84, 13, 1, 86, 78, 26, 7, 115, 90, 35, 7, 326, 220, 27, 4, 191, 81,
    11, 2, 115, 48, 10, 0, 143, 83, 11, 1, 86, 78, 23, 7, 117, 89, 35, 6,
)
