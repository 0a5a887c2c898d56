"""Tables whose counts are known, simulated releases of them, and what several people make of one release."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.posterior.refine import refined
from noisycount.analysis.tables.table_posterior import TablePosterior, table_posterior
from noisycount.frozen import frozen
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.populations.binomial import BetaBinomial
from noisycount.model.tables.combined import combined
from noisycount.model.tables.levels import Level, range_levels
from noisycount.model.tables.tree import Tree

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
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


_PATIENCE = 10  # exchanges of many cells that may fail to lessen what is wrong
_MOST_STEPS = 10_000
_ROUNDING = 1e-9  # of the largest value, which is taken for 0


def nearest_counts(answers: Reals, total: float) -> Reals:
    """The counts x ≥ 0, Σ x = total, that minimise Σ (answer − x)²: exact, in O(n·log n).

    Source: J. Duchi, S. Shalev-Shwartz, Y. Singer, T. Chandra, Efficient Projections onto the l1-Ball for Learning in
    High Dimensions, ICML (2008), Fig. 1.

    Example:
        >>> nearest_counts(np.array([3.0, 2.0, -4.0]), 4).tolist()
        [2.5, 1.5, 0.0]
    """
    falling = np.sort(answers)[::-1]
    shifts = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    kept = np.flatnonzero(falling > shifts)
    shift = shifts[kept[-1]] if kept.size else shifts[0]
    return np.maximum(answers - shift, 0.0)


def nearest_tree(levels: Sequence[Level], answers: Sequence[Reals], variances: Sequence[float], total: float) -> Reals:
    """The cells x ≥ 0, Σ x = total, that minimise Σ (answer − sum of cells)²/variance.

    Source: L. F. Portugal, J. J. Júdice, L. N. Vicente, A comparison of block pivoting and interior-point algorithms
    for linear least squares problems with nonnegative variables, Mathematics of Computation 63 (1994), Algorithm 3; the
    total by a Lagrange multiplier.

    Example:
        >>> pair = Level("cells", np.arange(2, dtype=np.int32), 2)
        >>> nearest_tree([pair], [np.array([5.0, -4.0])], [1.0], 4).tolist()
        [4.0, 0.0]
    """
    if total == 0:
        return np.zeros(levels[0].of_cell.size)
    normal, aim = _normal_equations(levels, answers, variances)
    is_free = np.ones(aim.size, dtype=np.bool_)
    fewest, patience = aim.size + 1, _PATIENCE
    for _ in range(_MOST_STEPS):
        cells, slopes = _stationary(normal, aim, total, is_free)
        limits = _ROUNDING * total, _ROUNDING * np.abs(aim).max()
        is_wrong = np.where(is_free, cells < -limits[0], slopes < -limits[1])
        wrong = int(is_wrong.sum())
        if not wrong:
            return np.maximum(cells, 0.0)
        if wrong < fewest:
            fewest, patience = wrong, _PATIENCE
        elif patience:
            patience -= 1
        else:  # one at a time: slower, and certain to end
            is_wrong[: np.flatnonzero(is_wrong)[-1]] = False
        is_free ^= is_wrong
        is_free[np.argmax(aim)] |= not is_free.any()
    raise ArithmeticError("no nearest table was found")


def _normal_equations(
    levels: Sequence[Level], answers: Sequence[Reals], variances: Sequence[float]
) -> tuple[Reals, Reals]:
    """The matrix and the right-hand side of the least squares without bounds."""
    size = levels[0].of_cell.size
    normal, aim = np.zeros((size, size)), np.zeros(size)
    for level, told, variance in zip(levels, answers, variances, strict=True):
        normal += (level.of_cell[:, None] == level.of_cell) / variance
        aim += told[level.of_cell] / variance
    return normal, aim


def _stationary(normal: Reals, aim: Reals, total: float, is_free: Flags) -> tuple[Reals, Reals]:
    """The cells where those that are not free are 0, and the slopes at them."""
    free = np.flatnonzero(is_free)
    solved = np.linalg.solve(normal[np.ix_(free, free)], np.stack([aim[free], np.ones(free.size)], axis=1))
    multiplier = (solved[:, 0].sum() - total) / solved[:, 1].sum()
    cells = np.zeros(aim.size)
    cells[free] = solved[:, 0] - multiplier * solved[:, 1]
    slopes: Reals = normal @ cells - aim + multiplier
    return cells, slopes


Range = tuple[NDArray[np.int64], NDArray[np.int64]]


@frozen(eq=False)
class Estimate:
    """What somebody makes of the answers."""

    cells: Reals  # shape (cells,)
    margins: tuple[Reals, ...]  # of all nodes between the total and the cells, one array a level
    sums: Reals  # of the first 1, 2, … cells, shape (cells,)
    cell_range: Range | None = None  # the ends of the intervals of the cells, if it has them
    margin_ranges: tuple[Range, ...] = ()  # those of the margins, one pair a level, if it has them

    @classmethod
    def added(cls, table: TrueTable, cells: Reals) -> Self:
        """Margins and sums that add up the cells."""
        margins = tuple(node_sums(level.of_cell, cells, level.size) for level in table.inner)
        return cls(cells, margins, np.cumsum(cells))


@frozen(eq=False)
class SimulatedRelease:
    """The answers about some levels of a table, under one budget that they share equally."""

    table: TrueTable  # what was counted; its total is public
    places: tuple[int, ...]  # the levels that are answered, the cells last
    noise: DiscreteLaplace  # of each answer
    answers: tuple[Reals, ...] = field(repr=False)  # one array a level

    @classmethod
    def drawn(cls, table: TrueTable, epsilon: float, places: Sequence[int], generator: np.random.Generator) -> Self:
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
            own[place] if place in own else self._below(place) for place in range(1, len(self.table.levels) - 1)
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


def estimates(release: SimulatedRelease) -> Iterator[tuple[str, Estimate]]:
    """What everybody makes of it, each with a name.

    `raw`, `clamped` at 0, `projected` on the total, `flat posterior` (each cell by itself, all counts up to the total
    equally likely before), and `tree`, whose prior is learned. Where the cells alone are answered also `independent` (a
    learned law of one cell) and `flat` (a learned prior of one level); else `least squares` over all levels. `tree
    median` has medians for means.
    """
    yield "raw", release.raw()
    yield from _simple(release)
    answers = dict(zip(release.places, release.answers, strict=True))
    tree = Tree(tuple(level.of_cell.astype(np.int64) for level in release.table.levels))
    posterior = table_posterior(answers, release.noise, tree, release.table.total)
    *margins, cells = (posterior.level(place) for place in range(1, len(release.table.levels)))
    ranges = tuple((level.low, level.high) for level in margins)
    yield "tree", replace(_flat(release, posterior), margin_ranges=ranges)
    # medians of cells and margins, which do not add up; sums of means
    medians = [level.median.astype(np.float64) for level in (*margins, cells)]
    yield "tree median", Estimate(medians[-1], tuple(medians[:-1]), np.cumsum(posterior.mean))


def _simple(release: SimulatedRelease) -> Iterator[tuple[str, Estimate]]:
    table, cells, noise = release.table, release.answers[-1], release.noise
    yield "clamped", Estimate.added(table, np.maximum(cells, 0.0))
    flat = refined(cells, BetaBinomial(table.total, 1, 1), noise)
    yield "flat posterior", Estimate.added(table, flat)
    if len(release.levels) > 1:
        fitted = combined(release.levels[::-1], release.answers[::-1], release.variances[::-1])[0]
        yield "least squares", Estimate.added(table, fitted)
        nearest = nearest_tree(release.levels, release.answers, release.variances, table.total)
        yield "projected", Estimate.added(table, nearest)
        return
    yield "projected", Estimate.added(table, nearest_counts(cells, table.total))
    independent = table_posterior(cells, noise)
    yield "independent", _flat(release, independent)
    yield "flat", _flat(release, table_posterior(cells, noise, total=table.total))


def _flat(release: SimulatedRelease, posterior: TablePosterior) -> Estimate:
    """Means of a flat table, added up, and the intervals of its cells."""
    added = Estimate.added(release.table, posterior.mean)
    return replace(added, cell_range=(posterior.low, posterior.high))
