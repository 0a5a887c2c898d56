"""Answers about one count with discrete Gaussian noises."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from noisycount.analysis.privacy.certified import Between, Bounded
from noisycount.analysis.privacy.pairs.pair import Pair
from noisycount.analysis.privacy.repeated.weighed import Weighed, weighed, window
from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian

__all__ = ["GaussianAnswers"]

_LONGEST = 2**21  # places of a sum of answers
_WIDEST = 2**16  # counts of a window, on each side of the threshold
_APART = -30.0  # the logarithm of the closeness of counts that no answers mix up
_DEPTH = 37.0  # the sum of the noises exceeds √(2·37) of its scales with 2·e^−37 = 2e-16
_OUTSIDE = 4e-16  # twice that
_UNIT = 2.0**-53
_PER_LEVEL = 64.0  # roundings of three transforms for each doubling of their length
_HALF_WAY = 0.5  # where only rounding parts the bounds


@dataclass(frozen=True, eq=False)
class GaussianAnswers:
    """q answers with discrete Gaussian noises, whose weighted sum T = Σ w·Y is sufficient.

    The weights are 1/scale² times what makes them whole numbers without a common factor. Given the
    count k, T is k·Σ w and the sum of the weighted noises.

    Attributes:
        scales: Of the noises, in records.
    """

    scales: tuple[Fraction, ...]

    @classmethod
    def of(cls, noises: Sequence[DiscreteGaussian]) -> "GaussianAnswers":
        """Those of the noises."""
        return cls(tuple(sorted(noise.exact_scale for noise in noises)))

    @cached_property
    def is_within_reach(self) -> bool:
        """Whether the sum has few enough places: not of scales such as 3 and 3.001."""
        return sum(self._weights) + 2 * self._reach < _LONGEST

    def hockey_sticks(self, pairs: Sequence[Pair], epsilons: list[float]) -> list[list[Bounded]]:
        """δ in one direction, for each pair of laws and each ε.

        Args:
            pairs: The laws of the count.
            epsilons: ε >= 0, rising.
        """
        total = sum(self._weights)
        most = min(_WIDEST, max(1, (_LONGEST - 2 * self._reach) // (2 * total)))
        reach = window(self._closeness, most, _APART)
        found = [weighed(pair, epsilons, reach) for pair in pairs]
        return [[self._bounded(one) for one in each] for each in found]

    def _bounded(self, one: Weighed) -> Bounded:
        """δ₊, as the sum hides part of it."""
        if not one.is_hidden:
            return one.known
        hidden, error = self._hidden(one)
        lower = one.least(hidden + error, self._closeness)
        return Between.of_bounds(lower, one.most(hidden - error), _HALF_WAY)

    def _hidden(self, one: Weighed) -> tuple[float, float]:
        """Σ_T min(Σ_{k >= t} v_k·P[T | k], Σ_{k < t} −v_k·P[T | k]), and how far that is off."""
        total = sum(self._weights)
        counts = one.above.size + one.below.size
        size = 1 << math.ceil(math.log2(counts * total + 2 * self._reach + 1))
        above, below = np.zeros(size), np.zeros(size)
        start = one.below.size * total
        above[start : start + one.above.size * total : total] = one.above
        below[0:start:total] = one.below[::-1]
        noise = self._transform(size)
        sides = (np.fft.irfft(np.fft.rfft(side) * noise, size) for side in (above, below))
        hidden = float(np.minimum(*sides).sum())
        length = math.sqrt(float(one.above @ one.above + one.below @ one.below))
        rounding = _UNIT * (_PER_LEVEL * math.log2(size) + len(self.scales))
        weight = float(one.above.sum() + one.below.sum())
        return hidden, rounding * math.sqrt(size) * length + _OUTSIDE * weight

    def _transform(self, size: int) -> Reals:
        """The transform of the law of the weighted noises on a circle, which is real."""
        product: Reals = np.ones(size // 2 + 1)
        for scale, weight in dict(zip(self.scales, self._weights, strict=True)).items():
            reach = math.ceil(math.sqrt(2 * _DEPTH) * float(scale)) + 1
            errors = np.arange(-reach, reach + 1)
            masses = np.exp(-(errors**2) / (2 * float(scale) ** 2))
            law = np.bincount((weight * errors) % size, masses / masses.sum(), size)
            product = product * np.fft.rfft(law).real ** self.scales.count(scale)
        return product

    def _closeness(self, distances: Reals) -> Reals:
        """−d²/8·Σ 1/scale², as a sum over a lattice is largest where it is not moved."""
        precision = sum(float(scale) ** -2 for scale in self.scales)
        logs: Reals = -(distances**2) * precision / 8
        return logs

    @cached_property
    def _weights(self) -> tuple[int, ...]:
        """The weight of each answer."""
        precisions = [1 / scale**2 for scale in self.scales]
        common = math.lcm(*(one.denominator for one in precisions))
        whole = [int(one * common) for one in precisions]
        divisor = math.gcd(*whole)
        return tuple(one // divisor for one in whole)

    @cached_property
    def _reach(self) -> int:
        """How far the weighted noises reach: they are as concentrated as Gaussian ones."""
        pairs = zip(self.scales, self._weights, strict=True)
        variance = sum(float(scale * weight) ** 2 for scale, weight in pairs)
        return math.ceil(math.sqrt(2 * _DEPTH * variance)) + 1
