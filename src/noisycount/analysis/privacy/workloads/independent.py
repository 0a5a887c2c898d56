"""The divergences of answers to independent questions: their log ratios add up."""

import math
from collections.abc import Sequence
from functools import cached_property, reduce
from itertools import product

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.privacy.bounds import Between, Bounded
from noisycount.analysis.privacy.workloads.lattice import LOST, Kernel, is_continuous, kernel, span
from noisycount.analysis.privacy.workloads.lists import Pattern, ReducedList
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.populations.binomial import Binomial

__all__ = ["IndependentList", "is_of_independent"]


_FEWEST = 3  # questions: two are had as a whole


_MOST = 6  # whose 64 moves take seconds


_STEPS = 32  # of a record, for noise with a density


_POINTS = 2**15  # of the log ratio of one answer, on each side of 0


_APART = 1e-10  # what the rates of all patterns together may differ from products


_FAINT = 1e-15  # a mass whose log ratio may lie beyond the points


_WIDEST = 60.0  # of a log ratio


_ROUNDING = 1e-12  # of the masses of one law, relative


_UNIT = 2.0**-53


_PER_LEVEL = 32.0  # roundings of transforms for each doubling of their length


_OVERFLOW = 700.0  # ε whose exponential does not overflow


Complexes = NDArray[np.complex128]


_Moved = tuple[Reals, Reals]


"""The law of an answer, moved by a record and not."""


def is_of_independent(told: ReducedList) -> bool:
    """Whether a list asks three or more questions that tell nothing of each other, each once."""
    number = len(told.mechanisms)
    if not _FEWEST <= number <= _MOST or len(told.answers) != number:
        return False
    return len(told.rates) == 2**number and told.size * _difference(told) <= _APART


def _difference(told: ReducedList) -> float:
    """How far the rates of patterns are from products, added up."""
    ones = [told.question_rate(place) for place in range(len(told.mechanisms))]
    return math.fsum(abs(rate - _product(ones, pattern)) for pattern, rate in told.rates.items())


def _product(ones: list[float], pattern: Pattern) -> float:
    """The rate of a pattern if questions are independent."""
    return math.prod(p if bit else 1 - p for p, bit in zip(ones, pattern, strict=True))


@frozen(eq=False, slots=False)
class IndependentList:
    """δ₊ and δ₋ of answers to independent questions.

    The answers about the other records have a product f of laws, and δ = E(Π r_i − e^ε)₊ under it,
    r_i = f_i(y_i − d_i)/f_i(y_i). A coordinate that does not move tells nothing, so that all move.
    Ratios are parted between their neighbours on a grid of logarithms, such that their means stay:
    as x₊ is convex this raises δ (of what is told), and their means in each part lower it (of what
    is seen).

    Attributes:
        told: The list.
    """

    told: ReducedList

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """δ₊ and δ₋: the record moves to where the first question holds, or from there."""
        factors: Reals = np.exp(np.minimum(epsilons, _OVERFLOW))
        lower, upper = np.zeros((2, 2, len(epsilons)))
        for moves in product((0, 1), repeat=len(self._answers)):
            moved = list(zip(self._answers, moves, strict=True))
            for kind, found in enumerate((lower, upper)):
                excesses = self._excesses([one.laws[kind][way] for one, way in moved], factors)
                none = math.prod(1 - one.beyond[kind][way] for one, way in moved)
                found[moves[0]] = np.maximum(found[moves[0]], excesses + (1 - none))
        plus, minus = (self._bounded(lower[way], upper[way], factors) for way in (0, 1))
        return plus, minus

    def _excesses(self, laws: list[Complexes], factors: Reals) -> Reals:
        """Σ (P − e^ε·R)₊ of the product of some laws, for each ε."""
        masses, moments = np.fft.irfft(reduce(np.multiply, laws), self._length)
        return np.array([np.maximum(moments - factor * masses, 0.0).sum() for factor in factors])

    def _bounded(self, lower: Reals, upper: Reals, factors: Reals) -> list[Bounded]:
        """Bounds for each ε, with what laws may be off."""
        roundings = _PER_LEVEL * math.log2(self._length) * math.sqrt(self._length)
        error = _UNIT * roundings * len(self._answers)
        error += (self.told.size - 1) * _difference(self.told)
        error += sum(6 * LOST + _ROUNDING for _ in self._answers)
        relative = sum(one.kernel.error for one in self._answers)
        found: list[Bounded] = []
        for low, high, factor in zip(lower.tolist(), upper.tolist(), factors.tolist(), strict=True):
            off = (1 + factor) * error
            found.append(Between.of_bounds(low - off, high + off + 2 * relative, 0.5))
        return found

    @property
    def _length(self) -> int:
        """That of a transform, which holds the sum of all log ratios."""
        return 1 << (2 * _POINTS * len(self.told.mechanisms)).bit_length()

    @cached_property
    def _answers(self) -> list["_Answer"]:
        """Each answer, on a grid of log ratios that holds those of all."""
        laws = [self._law(place) for place in range(len(self.told.mechanisms))]
        most = max(_widest(*law) for _, pair in laws for law in pair)
        return [_Answer.of(one, pair, most / _POINTS, self._length) for one, pair in laws]

    def _law(self, place: int) -> tuple[Kernel, tuple[_Moved, _Moved]]:
        """The law of an answer about the other records, moved and not: seen, and told."""
        mechanism, rate = self.told.mechanisms[place][0], self.told.question_rate(place)
        others = self.told.size - 1
        noise = kernel(mechanism, _STEPS if is_continuous(mechanism) else 1)
        low, high = span(others, rate)
        reached = np.arange(low, high + 1.0)
        counts = Binomial(others, rate).law().pmf(reached) if others else np.ones(1)
        parts = [[np.convolve(counts, law) for law in both] for both in noise.offsets()]
        seen, told = (
            (
                np.concatenate([[0.0, *part[kind]] for part in parts]),
                np.concatenate([[*part[kind], 0.0] for part in parts]),
            )
            for kind in (0, 1)
        )
        return noise, (seen, told)


@frozen(eq=False)
class _Answer:
    """One answer to a question, as a law of a log ratio.

    Attributes:
        kernel: Its noise.
        laws: The transforms of the masses R and P at each log ratio ln(P/R), as seen and as told,
            for a record that moves up and down.
        beyond: The mass of P at infinite log ratios, as seen, and that beyond the grid, as told.
    """

    kernel: Kernel
    laws: Sequence[Sequence[Complexes]]
    beyond: Sequence[Sequence[float]]

    @classmethod
    def of(
        cls,
        noise: Kernel,
        pair: tuple[_Moved, _Moved],
        step: float,
        length: int,
    ) -> "_Answer":
        """An answer from its laws, moved by a record and not."""
        (seen, told) = pair
        lower = [_parted(one, other, step, is_told=False) for one, other in (seen, seen[::-1])]
        upper = [_parted(one, other, step, is_told=True) for one, other in (told, told[::-1])]
        laws = [[np.fft.rfft(table, length) for table, _ in both] for both in (lower, upper)]
        return cls(noise, laws, [[beyond for _, beyond in both] for both in (lower, upper)])


def _widest(law: Reals, other: Reals) -> float:
    """The largest size of ln(P/R) of all but faint masses."""
    is_both = (law > 0) & (other > 0) & (np.maximum(law, other) > _FAINT)
    logs = np.abs(np.log(law[is_both]) - np.log(other[is_both]))
    return min(_WIDEST, float(logs.max(initial=0.1)) * (1 + 1e-9))


def _parted(law: Reals, other: Reals, step: float, *, is_told: bool) -> tuple[Reals, float]:
    """R and P at log ratios on a grid, shape (2, points), and P beyond it.

    What is told has the P that belongs to R at each point, what is seen the P that is there. Of
    what is seen P is beyond the grid where there is no R; what else lies outside is left out.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ranks = (np.log(law) - np.log(other)) / step + _POINTS
    is_beyond = (law > 0) & ~(ranks < 2 * _POINTS)
    beyond = float(law[is_beyond if is_told else other == 0].sum())
    is_inside = ~is_beyond & (ranks >= 0)
    places = np.floor(ranks[is_inside]).astype(np.intp)
    masses, moments = other[is_inside], law[is_inside]
    shares = np.clip(np.expm1((ranks[is_inside] - places) * step) / math.expm1(step), 0.0, 1.0)
    size = 2 * _POINTS + 1
    table = [
        np.bincount(places, mass * (1 - shares), size)
        + np.bincount(places + 1, mass * shares, size)
        for mass in (masses, moments)
    ]
    if is_told:
        table[1] = table[0] * np.exp(step * (np.arange(size) - _POINTS))
        beyond += float(law[~is_beyond & ~is_inside].sum())
    return np.stack(table), beyond
