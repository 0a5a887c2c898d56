"""Laws of tables by enumeration: every table of integers, its weight in 80 digits."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
from flint import arb
from numpy.typing import NDArray

import noisycount as nc
from tests.oracles.balls import ball, total
from tests.oracles.noises import Noise, noise_of, sum_of_discrete
from tests.oracles.posterior import Law

__all__ = ["Division", "EnumeratedTables", "SummedTables", "Told", "random_tables"]


@dataclass(frozen=True)
class Told:
    """A noisy answer about a node of a tree."""

    level: int  # of its node
    position: int  # of its node
    answer: float  # in records; of a suppressed one the threshold, whole if answers are
    mechanism: nc.Mechanism  # that gave it
    is_below: bool = False  # whether it is known only that the answer was less

    def likelihood(self, count: int) -> arb:
        """The density of the answer, or the probability of one below it."""
        if isinstance(self.mechanism, nc.Exact):
            return arb(int(count < self.answer if self.is_below else count == self.answer))
        noise = _noise(self.mechanism)
        error = ball(self.answer) - count
        return 1 - noise.exceedance(error) if self.is_below else noise.density(error)


@dataclass(frozen=True)
class Division:
    """Distribution of the counts of a level, given the level above."""

    weights: tuple[Fraction, ...]  # concentrations of the nodes, or rates
    is_multinomial: bool = False  # whether they are rates

    def chance(self, children: Sequence[int], counts: Sequence[int]) -> Fraction:
        """The probability that the count of a parent divides so."""
        weights = [self.weights[child] for child in children]
        whole, chance = sum(weights), Fraction(_factorial(sum(counts)))
        for weight, count in zip(weights, counts, strict=True):
            factor = (weight / whole) ** count if self.is_multinomial else _rising(weight, count)
            chance *= factor / _factorial(count)
        return chance if self.is_multinomial else chance / _rising(whole, sum(counts))


@dataclass(frozen=True)
class EnumeratedTables:
    """Every table on a tree, weighted by prior and answers.

    Attributes:
        total: The count of the root; its law; or the largest count of one about which nothing is known, beyond which
            answers leave no weight: (0, largest).
    """

    tree: nc.Tree  # of few cells
    divisions: tuple[Division, ...]  # of each level below the root
    answers: tuple[Told, ...]  # about any nodes
    total: int | nc.Population | tuple[int, int]

    @cached_property
    def weights(self) -> dict[tuple[int, ...], arb]:
        """P[table]·Π f(answer | table) of each table that is possible."""
        found = {}
        for root, chance in self._roots():
            for cells in _compositions(root, self.tree.cells):
                weight = chance * self._weight(cells)
                if weight != 0:
                    found[cells] = weight
        return found

    @property
    def evidence(self) -> arb:
        """The logarithm of P[answers]; where nothing is known of the root, of a sum over it."""
        return total(self.weights.values()).log()

    def law(self, nodes: Iterable[int], level: int = -1) -> Law:
        """The law of the sum of some nodes of a level."""
        chosen = np.isin(self.tree.levels[level], list(nodes))
        sums: dict[int, arb] = defaultdict(arb)
        for cells, weight in self.weights.items():
            sums[sum(cell for cell, is_in in zip(cells, chosen, strict=True) if is_in)] += weight
        first, last = min(sums), max(sums)
        return Law(first, [sums.get(count, arb(0)) for count in range(first, last + 1)])

    def _roots(self) -> Iterator[tuple[int, arb]]:
        """The counts of the root with their weights."""
        if isinstance(self.total, int):
            yield self.total, arb(1)
        elif isinstance(self.total, tuple):
            yield from ((count, arb(1)) for count in range(self.total[0], self.total[1] + 1))
        else:
            for count in range(self.total.size + 1):
                yield count, ball(float(np.exp(self.total.law().log_pmf(count))))

    def _weight(self, cells: Sequence[int]) -> arb:
        """The probability of a table of its total, times the likelihoods of all answers."""
        counts = [np.bincount(level, cells).astype(int).tolist() for level in self.tree.levels]
        chance = Fraction(1)
        for level, division in enumerate(self.divisions, 1):
            parents = self.tree.parents(level)
            for parent in range(self.tree.sizes[level - 1]):
                children = np.flatnonzero(parents == parent).tolist()
                chance *= _chance(division, tuple(children), tuple(counts[level][c] for c in children))
        weight = ball(chance)
        for told in self.answers:
            weight *= _likelihood(told, counts[told.level][told.position])
        return weight


@cache
def _chance(division: Division, children: tuple[int, ...], counts: tuple[int, ...]) -> Fraction:
    return division.chance(children, counts)


@cache
def _likelihood(told: Told, count: int) -> arb:
    return told.likelihood(count)


@cache
def _noise(mechanism: nc.Mechanism) -> Noise:
    if isinstance(mechanism, nc.NoiseSum) and mechanism.is_discrete:
        return sum_of_discrete(mechanism.noises)
    return noise_of(mechanism)


def _compositions(whole: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to write a count as an ordered sum of counts."""
    if parts == 1:
        yield (whole,)
        return
    for first in range(whole + 1):
        yield from ((first, *rest) for rest in _compositions(whole - first, parts - 1))


@cache
def _factorial(count: int) -> int:
    return count * _factorial(count - 1) if count else 1


@cache
def _rising(start: Fraction, count: int) -> Fraction:
    """start·(start + 1)···(start + count − 1)."""
    return (start + count - 1) * _rising(start, count - 1) if count else Fraction(1)


@dataclass(frozen=True)
class SummedTables:
    """Every table on a tree of few cells, weighted in doubles; positive terms keep their digits."""

    tree: nc.Tree  # of few cells
    prior: nc.Splits  # how counts divide: concentrations or rates of the cells
    answers: tuple[Told, ...]  # about any nodes, none of them suppressed
    total: int | None  # the count of the root; None: nothing is known of it
    largest: int  # the largest count of a cell that is looked at

    @cached_property
    def tables(self) -> NDArray[np.int64]:
        """Every table, shape (tables, cells)."""
        cells = self.tree.cells
        if self.total is not None:
            shape = (self.total + 1,) * (cells - 1)
            first = np.indices(shape).reshape(cells - 1, int(np.prod(shape))).T
            rest = self.total - first.sum(axis=1, keepdims=True)
            return np.hstack([first, rest])[rest[:, 0] >= 0]
        return np.indices((self.largest + 1,) * cells).reshape(cells, -1).T

    @cached_property
    def logs(self) -> NDArray[np.float64]:
        """The logarithm of the weight of each table."""
        counts = [_added(level, self.tables) for level in self.tree.levels]
        logs = np.zeros(len(self.tables))
        own = np.array(self.prior.concentrations, dtype=np.float64)
        weights = [np.bincount(level, own) for level in self.tree.levels]
        for level in range(1, self.tree.depth):
            parents = self.tree.parents(level)
            for parent in range(self.tree.sizes[level - 1]):
                children = parents == parent
                logs += self._division(
                    weights[level][children], counts[level][:, children], counts[level - 1][:, parent]
                )
        for told in self.answers:
            asked, places = np.unique(counts[told.level][:, told.position], return_inverse=True)
            logs += np.asarray(told.mechanism.logpmf(told.answer, asked))[places]  # type: ignore[attr-defined]
        return logs

    def _division(
        self, weights: NDArray[np.float64], counts: NDArray[np.int64], whole: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The logarithm of the probability of counts given their sum."""
        last = int(whole.max())
        steps = np.arange(last)
        found = _cumulated(np.log1p(steps))[whole]
        if not self.prior.is_multinomial:
            found = found - _cumulated(np.log(weights.sum() + steps))[whole]
        for weight, count in zip(weights, counts.T, strict=True):
            known = np.log(weight / weights.sum()) + np.zeros(last)
            rises = known if self.prior.is_multinomial else np.log(weight + steps)
            found = found + _cumulated(rises - np.log1p(steps))[count]
        return found

    @cached_property
    def chances(self) -> NDArray[np.float64]:
        """The probability of each table given all answers."""
        weights = np.exp(self.logs - self.logs.max())
        chances: NDArray[np.float64] = weights / weights.sum()
        return chances

    @property
    def evidence(self) -> float:
        """The logarithm of the probability of the answers."""
        peak = float(self.logs.max())
        return peak + float(np.log(np.exp(self.logs - peak).sum()))

    def law(self, cells: NDArray[np.bool_]) -> NDArray[np.float64]:
        """P[the sum of some cells is k] for k = 0 and so on."""
        return np.bincount(self.tables[:, cells].sum(axis=1), self.chances)


def _added(level: NDArray[np.int64], tables: NDArray[np.int64]) -> NDArray[np.int64]:
    """The counts of the nodes of a level, shape (tables, nodes)."""
    return np.stack([tables[:, level == node].sum(axis=1) for node in range(level.max() + 1)], 1)


def _cumulated(steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sums of the first 0, 1, and so on."""
    return np.append(0.0, np.cumsum(steps))


_MADE = nc.Laplace, nc.DiscreteLaplace, nc.Gaussian, nc.DiscreteGaussian
_TOTALS = {2: 400, 3: 200, 4: 60}  # the largest of so many cells
_SPREAD = {2: (12.0, 120, 700), 3: (1.6, 25, 90), 4: (0.45, 9, 26)}
"""Without a total: the largest scale, the largest count, and up to where a cell is enumerated."""


def random_tables(seed: int) -> SummedTables:
    """A tree of two to four cells, answers of any noise at some nodes, a stated prior."""
    random = np.random.default_rng(seed)
    cells, has_total = int(random.integers(2, 5)), bool(random.random() < 0.5)
    widest, most, largest = _SPREAD[cells]
    tree = nc.Tree.flat(cells) if random.random() < 0.5 else nc.Tree.binary(cells)
    if random.random() < 0.3:
        groups = np.unique(random.integers(0, 2, cells), return_inverse=True)[1]
        tree = nc.Tree((np.zeros(cells, np.int64), groups, np.arange(cells)))
    whole = int(random.integers(0, _TOTALS[cells] if has_total else most))
    table = random.multinomial(whole, random.dirichlet(np.full(cells, random.choice([0.2, 1, 5]))))
    told: list[Told] = []
    for level, size in enumerate(tree.sizes):
        may_miss = has_total or level < tree.depth - 1
        for position in range(size):
            if may_miss and random.random() < 0.25 and (told or level < tree.depth - 1):
                continue
            count = int(table[tree.levels[level] == position].sum())
            for _ in range(int(random.integers(1, 3)) if random.random() < 0.4 else 1):
                scale = np.exp(random.uniform(np.log(0.2), np.log(60 if has_total else widest)))
                noise = _MADE[int(random.integers(4))](float(scale))
                error = float(noise.draws(1, random)[0]) * int(random.choice([1, 1, 1 + 2 * has_total]))
                told.append(Told(level, position, count + error, noise))
    weights = np.exp(random.uniform(-3, 3, cells)).tolist()
    prior = nc.Splits(weights, is_multinomial=bool(random.random() < 0.5))
    return SummedTables(tree, prior, tuple(told), whole if has_total else None, largest)
