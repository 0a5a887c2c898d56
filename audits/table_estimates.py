"""Synthetic tables with known counts, simulated releases of them, and the estimates that are compared.

`true_tables` lists the tables, `estimates` the estimates of one release; `simulation` measures their errors.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.posterior.refine import refine_array
from noisycount.analysis.tables.table_posterior import TablePosterior, table_posterior
from noisycount.frozen import frozen
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.populations.binomial import BetaBinomial
from noisycount.model.tables.combined import least_squares_estimates
from noisycount.model.tables.levels import Level, range_levels
from noisycount.model.tables.tree import Tree

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
Shares = Callable[[np.random.Generator, int], Reals]
_SEED = 15
_WIDTH = 3  # levels of a binary tree from one answered level to the next finer one
_SITES, _RATINGS = 6, 4


@frozen(eq=False)
class TrueTable:
    """True counts of ordered cells with the levels of a tree above them."""

    name: str  # name of the table
    counts: Counts = field(repr=False)  # counts of the cells, in records, shape (cells,)
    levels: tuple[Level, ...] = field(
        repr=False
    )  # levels from the total to the cells, each with the node of every cell
    answered: tuple[int, ...]  # indices of the levels that are answered if more than the cells are

    @property
    def total(self) -> int:
        """Number of all records."""
        return int(self.counts.sum())

    @property
    def inner(self) -> tuple[Level, ...]:
        """Levels between the total and the cells: the margins."""
        return self.levels[1:-1]

    def sums(self, level: Level) -> Counts:
        """Return the true counts of the nodes of a level."""
        return node_sums(level.of_cell, self.counts, level.size).astype(np.int64)

    @classmethod
    def draw(cls, name: str, shares: Shares, size: int = 64, records: int = 2_500) -> Self:
        """Draw a table of `size` ordered cells and `records` records, with a fixed seed."""
        generator = np.random.default_rng([_SEED, *name.encode()])
        weights = shares(generator, size)
        counts = generator.multinomial(records, weights / weights.sum())
        cells = np.arange(size, dtype=np.int32)
        levels = *reversed(range_levels(size)), Level("cells", cells, size)
        answered = tuple(range(len(levels) - 1, 0, -_WIDTH))[::-1]
        return cls(name, counts.astype(np.int64), levels, answered)


def node_sums(nodes: NDArray[np.integer], values: NDArray[Any], size: int) -> Reals:
    """Return the sum of the values of each of `size` nodes."""
    return np.bincount(nodes, values, size).astype(np.float64, copy=False)


def _smooth_shares(_: np.random.Generator, size: int) -> Reals:
    """Return shares with two peaks over a constant."""
    positions = np.linspace(0, 1, size)
    hills = [np.exp(-0.5 * ((positions - mid) / width) ** 2) for mid, width in ((0.3, 0.05), (0.7, 0.1))]
    return np.asarray(2 * hills[0] + hills[1] + 0.01, dtype=np.float64)


def _one_large_share(generator: np.random.Generator, size: int) -> Reals:
    """Return shares with half of the records in one cell, and the other half spread evenly."""
    weights = np.ones(size)
    weights[generator.integers(size)] = size - 1
    return weights


# Shares of the cells by the name of their distribution.
LAWS: dict[str, Shares] = {
    "even": lambda _, size: np.ones(size),
    "Zipf": lambda generator, size: 1 / generator.permutation(np.arange(1.0, size + 1)),
    "log-normal": lambda generator, size: generator.lognormal(0, 2, size),
    "one big": _one_large_share,
    "smooth": _smooth_shares,
}


def survey() -> TrueTable:
    """Return the counts of the bundled survey by year, site and health: 5 × 6 × 4 cells, 20,190 records."""
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
    """Return the survey, and a synthetic table of each distribution in `LAWS`."""
    return survey(), *(TrueTable.draw(name, shares) for name, shares in LAWS.items())


# Counts by year, site and health (excellent, good, fair, poor).
# fmt: off
_SURVEY = (
    584, 442, 70, 17, 708, 375, 81, 9, 411, 238, 49, 6, 529, 303, 37, 6, 336, 299, 86, 19,
    434, 431, 133, 35, 585, 437, 69, 16, 700, 364, 72, 9, 414, 229, 46, 5, 528, 299, 37, 6,
    346, 288, 85, 19, 445, 417, 127, 32, 591, 426, 63, 15, 707, 357, 71, 9, 417, 225, 47, 5,
    533, 292, 36, 5, 346, 278, 83, 19, 462, 406, 126, 29, 317, 222, 27, 4, 191, 82, 14, 2,
    113, 48, 10, 0, 143, 84, 13, 1, 86, 78, 26, 7, 115, 90, 35, 7, 326, 220, 27, 4, 191, 81,
    11, 2, 115, 48, 10, 0, 143, 83, 11, 1, 86, 78, 23, 7, 117, 89, 35, 6,
)


_PATIENCE = 10  # number of exchanges of several cells without progress before single exchanges begin
_MAX_STEPS = 10_000
_ROUNDING = 1e-9  # relative size below which a value counts as 0


def nearest_counts(answers: Reals, total: float) -> Reals:
    """Return the counts x ≥ 0 with Σ x = total that minimise Σ (answer − x)²: exact, in O(n·log n).

    Source: J. Duchi, S. Shalev-Shwartz, Y. Singer, T. Chandra, Efficient Projections onto the l1-Ball for Learning in
    High Dimensions, ICML (2008), Fig. 1.

    Example:
        >>> nearest_counts(np.array([3.0, 2.0, -4.0]), 4).tolist()
        [2.5, 1.5, 0.0]
    """
    descending = np.sort(answers)[::-1]
    shifts = (np.cumsum(descending) - total) / np.arange(1, descending.size + 1)
    positive = np.flatnonzero(descending > shifts)
    shift = shifts[positive[-1]] if positive.size else shifts[0]
    return np.maximum(answers - shift, 0.0)


def nearest_tree(levels: Sequence[Level], answers: Sequence[Reals], variances: Sequence[float], total: float) -> Reals:
    """Return the cells x ≥ 0 with Σ x = total that minimise Σ (answer − sum of cells)²/variance.

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
    normal, right_side = _normal_equations(levels, answers, variances)
    is_free = np.ones(right_side.size, dtype=np.bool_)
    fewest_violations, patience = right_side.size + 1, _PATIENCE
    for _ in range(_MAX_STEPS):
        cells, gradient = _solve_free_cells(normal, right_side, total, is_free)
        limits = _ROUNDING * total, _ROUNDING * np.abs(right_side).max()
        is_violated = np.where(is_free, cells < -limits[0], gradient < -limits[1])
        violations = int(is_violated.sum())
        if not violations:
            return np.maximum(cells, 0.0)
        if violations < fewest_violations:
            fewest_violations, patience = violations, _PATIENCE
        elif patience:
            patience -= 1
        else:  # one cell at a time: slower, but certain to terminate
            is_violated[: np.flatnonzero(is_violated)[-1]] = False
        is_free ^= is_violated
        is_free[np.argmax(right_side)] |= not is_free.any()
    raise ArithmeticError("no nearest table was found")


def _normal_equations(
    levels: Sequence[Level], answers: Sequence[Reals], variances: Sequence[float]
) -> tuple[Reals, Reals]:
    """Return the matrix and the right-hand side of the normal equations of least squares without bounds."""
    size = levels[0].of_cell.size
    normal, right_side = np.zeros((size, size)), np.zeros(size)
    for level, level_answers, variance in zip(levels, answers, variances, strict=True):
        normal += (level.of_cell[:, None] == level.of_cell) / variance
        right_side += level_answers[level.of_cell] / variance
    return normal, right_side


def _solve_free_cells(normal: Reals, right_side: Reals, total: float, is_free: Flags) -> tuple[Reals, Reals]:
    """Return the least-squares cells when those that are not free are 0, and the gradient at them."""
    free = np.flatnonzero(is_free)
    solved = np.linalg.solve(normal[np.ix_(free, free)], np.stack([right_side[free], np.ones(free.size)], axis=1))
    multiplier = (solved[:, 0].sum() - total) / solved[:, 1].sum()
    cells = np.zeros(right_side.size)
    cells[free] = solved[:, 0] - multiplier * solved[:, 1]
    gradient: Reals = normal @ cells - right_side + multiplier
    return cells, gradient


Range = tuple[NDArray[np.int64], NDArray[np.int64]]


@frozen(eq=False)
class Estimate:
    """Estimates of the cells, margins and sums of a table."""

    cells: Reals  # estimated cells, shape (cells,)
    margins: tuple[Reals, ...]  # nodes between the total and the cells, one array for each level
    sums: Reals  # sums of the first 1, 2, … cells, shape (cells,)
    cell_range: Range | None = None  # ends of the intervals of the cells, if there are any
    margin_ranges: tuple[Range, ...] = ()  # ends of the intervals of the margins, one pair for each level

    @classmethod
    def from_cells(cls, table: TrueTable, cells: Reals) -> Self:
        """Return the estimate whose margins and sums are sums of the given cells."""
        margins = tuple(node_sums(level.of_cell, cells, level.size) for level in table.inner)
        return cls(cells, margins, np.cumsum(cells))


@frozen(eq=False)
class SimulatedRelease:
    """Noisy answers about some levels of a table; the levels share ε equally."""

    table: TrueTable  # the counted table; its total is public
    places: tuple[int, ...]  # indices of the answered levels, the cells last
    noise: DiscreteLaplace  # noise of each answer
    answers: tuple[Reals, ...] = field(repr=False)  # answers, one array for each level

    @classmethod
    def draw(cls, table: TrueTable, epsilon: float, places: Sequence[int], generator: np.random.Generator) -> Self:
        """Draw a release at a price of ε for the whole table."""
        noise = DiscreteLaplace.for_epsilon(epsilon, len(places))
        answers = tuple(
            table.sums(level) + noise.draws(level.size, generator)
            for level in (table.levels[place] for place in places)
        )
        return cls(table, tuple(places), noise, answers)

    @property
    def levels(self) -> tuple[Level, ...]:
        """The answered levels."""
        return tuple(self.table.levels[place] for place in self.places)

    @property
    def variances(self) -> list[float]:
        """Variance of an answer of each level."""
        return [self.noise.variance] * len(self.places)

    def raw(self) -> Estimate:
        """Return the unrefined estimate.

        A node that is not answered is the sum of the answers below it. A sum of the first cells adds as few answers as
        possible.
        """
        answers = dict(zip(self.places, self.answers, strict=True))
        margins = tuple(
            answers[place] if place in answers else self._sum_finer_answers(place)
            for place in range(1, len(self.table.levels) - 1)
        )
        return Estimate(self.answers[-1], margins, self._sum_first_cells())

    def _sum_finer_answers(self, place: int) -> Reals:
        """Return the nodes of a level that is not answered, summed from the next finer answered level."""
        finer = next(other for other in self.places if other > place)
        nodes = self.table.levels[place]
        parents = np.zeros(self.table.levels[finer].size, dtype=np.int64)
        parents[self.table.levels[finer].of_cell] = nodes.of_cell
        answers = self.answers[self.places.index(finer)]
        return node_sums(parents, answers, nodes.size)

    def _sum_first_cells(self) -> Reals:
        """Return sums of the first cells: all complete nodes of the coarsest level, then of the next finer ones."""
        ends = np.arange(1, self.table.counts.size + 1)
        covered_cells, sums = np.zeros_like(ends), np.zeros(ends.size)
        for level, answers in zip(self.levels, self.answers, strict=True):
            running_sums = np.append(0.0, np.cumsum(answers))
            firsts = np.append(np.searchsorted(level.of_cell, np.arange(level.size)), ends.size)
            complete = np.searchsorted(firsts, ends, side="right") - 1
            first_used = np.searchsorted(firsts, covered_cells)
            sums += running_sums[complete] - running_sums[first_used]
            covered_cells = firsts[complete]
        return sums


def estimates(release: SimulatedRelease) -> Iterator[tuple[str, Estimate]]:
    """Yield the name and the values of each estimate of a release.

    * `raw`: the answers; `clamped`: negative answers as 0; `projected`: the nearest table with the public total.
    * `flat posterior`: each cell by itself, with all counts up to the total equally likely a priori.
    * `tree`: the posterior means with a learned prior; `tree median`: the medians of cells and margins.
    * If only the cells are answered: `independent` (learned distribution of a single cell) and `flat` (learned prior of
      one level). Otherwise `least squares` over all levels.
    """
    yield "raw", release.raw()
    yield from _simple_estimates(release)
    answers = dict(zip(release.places, release.answers, strict=True))
    tree = Tree(tuple(level.of_cell.astype(np.int64) for level in release.table.levels))
    posterior = table_posterior(answers, release.noise, tree, release.table.total)
    *margins, cells = (posterior.level(place) for place in range(1, len(release.table.levels)))
    ranges = tuple((level.low, level.high) for level in margins)
    yield "tree", replace(_estimate_from_flat(release, posterior), margin_ranges=ranges)
    # The medians of cells and margins do not add up, so the sums are sums of means.
    medians = [level.median.astype(np.float64) for level in (*margins, cells)]
    yield "tree median", Estimate(medians[-1], tuple(medians[:-1]), np.cumsum(posterior.mean))


def _simple_estimates(release: SimulatedRelease) -> Iterator[tuple[str, Estimate]]:
    table, cells, noise = release.table, release.answers[-1], release.noise
    yield "clamped", Estimate.from_cells(table, np.maximum(cells, 0.0))
    flat = refine_array(cells, BetaBinomial(table.total, 1, 1), noise)
    yield "flat posterior", Estimate.from_cells(table, flat)
    if len(release.levels) > 1:
        least_squares = least_squares_estimates(release.levels[::-1], release.answers[::-1], release.variances[::-1])[0]
        yield "least squares", Estimate.from_cells(table, least_squares)
        nearest = nearest_tree(release.levels, release.answers, release.variances, table.total)
        yield "projected", Estimate.from_cells(table, nearest)
        return
    yield "projected", Estimate.from_cells(table, nearest_counts(cells, table.total))
    independent = table_posterior(cells, noise)
    yield "independent", _estimate_from_flat(release, independent)
    yield "flat", _estimate_from_flat(release, table_posterior(cells, noise, total=table.total))


def _estimate_from_flat(release: SimulatedRelease, posterior: TablePosterior) -> Estimate:
    """Return the means of a flat table with the sums over them, and the intervals of its cells."""
    estimate = Estimate.from_cells(release.table, posterior.mean)
    return replace(estimate, cell_range=(posterior.low, posterior.high))
