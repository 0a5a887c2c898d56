"""Laws of tables by enumeration: every table of integers, its weight in 80 digits."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
from flint import arb

from noisycount import Exact, Mechanism, NoiseSum, Population, Tree
from tests.oracles.balls import ball, total
from tests.oracles.noises import Noise, noise_of, sum_of_discrete
from tests.oracles.posterior import Law

__all__ = ["Division", "EnumeratedTables", "Told"]

_REACH = 400  # records: of a sum of discrete noises, whose scales are a few records


@dataclass(frozen=True)
class Told:
    """One answer.

    Attributes:
        level: Of its node.
        position: Of its node.
        answer: In records; of a suppressed one the threshold, whole if answers are.
        mechanism: That gave it.
        is_below: Whether it is known only that the answer was less.
    """

    level: int
    position: int
    answer: float
    mechanism: Mechanism
    is_below: bool = False

    def likelihood(self, count: int) -> arb:
        """The density of the answer, or the probability of one below it."""
        if isinstance(self.mechanism, Exact):
            return arb(int(count < self.answer if self.is_below else count == self.answer))
        noise = _noise(self.mechanism)
        error = ball(self.answer) - count
        return 1 - noise.exceedance(error) if self.is_below else noise.density(error)


@dataclass(frozen=True)
class Division:
    """How the counts of a level come from those of the level above.

    Attributes:
        weights: Concentrations of the nodes, or rates.
        is_multinomial: Whether they are rates.
    """

    weights: tuple[Fraction, ...]
    is_multinomial: bool = False

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
    """All tables on a tree, weighed by prior and answers.

    Attributes:
        tree: Of few cells.
        divisions: Of each level below the root.
        answers: About any nodes.
        total: The count of the root; its law; or the largest count of one about which nothing is
            known, beyond which answers leave no weight: (0, largest).
    """

    tree: Tree
    divisions: tuple[Division, ...]
    answers: tuple[Told, ...]
    total: int | Population | tuple[int, int]

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
                chance *= _chance(
                    division, tuple(children), tuple(counts[level][c] for c in children)
                )
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
def _noise(mechanism: Mechanism) -> Noise:
    if isinstance(mechanism, NoiseSum) and mechanism.is_discrete:
        return sum_of_discrete(mechanism.noises, _REACH)
    return noise_of(mechanism)


def _compositions(whole: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a count as an ordered sum of counts."""
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
