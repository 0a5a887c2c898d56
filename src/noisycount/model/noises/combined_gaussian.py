"""Precision-weighted mean of independent answers under discrete Gaussian noise.

For answers yᵢ with scales σᵢ, the count x has the likelihood Π e^(−(yᵢ − x)²/(2σᵢ²)). Up to a factor without x, this is
e^(−τ·(ȳ − x)²/2), where τ = Σ 1/σᵢ² and ȳ = Σ yᵢ/(σᵢ²·τ). So the rational number ȳ is a sufficient statistic: the
normalizing sums of discrete noise do not depend on x. The proofs are on the page “Accuracy first”; `discrete_gaussian`
has the noise of one answer.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from operator import mul
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.normal import log_two_sided
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.gaussian import Gaussian, GaussianLikelihood
from noisycount.model.sampling.scalar import fraction_as_written

_STEPS = 1024  # smallest number of grid steps a scale
_REACH = 12.0  # scales: end of the grid; the mass e^(−72) beyond it is added to the end
_LAST_DIGIT = 2.0**-51  # relative size of the last digit of a double, rounded up
_ROUNDING = 1e-12  # upper bound of the rounding error of a tail computed by convolutions


@frozen
class CombinedGaussian(Gaussian):
    """Noise of the precision-weighted mean ȳ of independent answers under discrete Gaussian noise.

    Its likelihood is exactly that of Gaussian noise of scale 1/√τ. Its error bounds are about the whole number nearest
    to ȳ, which is the count of the largest likelihood, and are never too small.

    Args:
        scale: 1/√τ, in records, rounded up in its last digit.
        parts: The scales of the discrete noises, the newest first; at least two.

    Example:
        >>> both = CombinedGaussian.from_scales([Fraction(20), Fraction(20)])
        >>> round(both.scale, 3), both.nearest([np.array([103]), np.array([98])]), both.smallest_error(0.05)
        (14.142, array([101]), 29)
        >>> DiscreteGaussian(both.scale).smallest_error(0.05)
        29
    """

    parts: tuple[Fraction, ...] = ()
    name: ClassVar[str] = "combined discrete Gaussian"

    @classmethod
    def from_scales(cls, scales: Sequence[Fraction]) -> "CombinedGaussian":
        """Return the noise of the mean of answers with these scales."""
        return cls(float(_summed_precision(scales)) ** -0.5 * (1 + _LAST_DIGIT), tuple(scales))

    @property
    def exact_scale(self) -> Fraction:
        """The scale as the decimal that Python prints for it, so that it can be read back."""
        return fraction_as_written(self.scale, "scale")

    @property
    def newest(self) -> DiscreteGaussian:
        """The noise of the newest answer."""
        return DiscreteGaussian(self.parts[0])

    @property
    def oldest(self) -> DiscreteGaussian:
        """The noise of the first answer."""
        return DiscreteGaussian(self.parts[-1])

    @property
    def variance(self) -> float:
        """Variance of the mean answer, in records².

        It is at most scale², and nearly that if all scales are at least 1.
        """
        return sum(float(weight) ** 2 * DiscreteGaussian(part).variance for weight, part in self._weights_and_scales)

    @property
    def _weights_and_scales(self) -> list[tuple[Fraction, Fraction]]:
        """Pairs of the weight of an answer in the mean and its scale. The weights sum to 1."""
        whole = _summed_precision(self.parts)
        return [(1 / (part**2 * whole), part) for part in self.parts]

    def factor(self, answer: float) -> GaussianLikelihood:
        """Return the factor e^(−τ·(ȳ − k)²/2) of a count k, where ȳ is the mean answer and τ = 1/scale²."""
        return GaussianLikelihood(answer, Fraction(self.scale))

    def sums(self, parts: Sequence[NDArray[np.int64]]) -> tuple[list[int], int]:
        """Return the mean answer of each count as a fraction: the numerators, and their common denominator.

        `parts` has one array for each answer.
        """
        weights = [weight for weight, _ in self._weights_and_scales]
        whole = math.lcm(*(weight.denominator for weight in weights))
        terms = [int(weight * whole) for weight in weights]
        rows = zip(*(part.tolist() for part in parts), strict=True)
        return [sum(map(mul, terms, row)) for row in rows], whole

    def nearest(self, parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the whole number nearest to each mean answer; a tie goes to the larger one."""
        sums, whole = self.sums(parts)
        return np.array([(2 * weighted_sum + whole) // (2 * whole) for weighted_sum in sums], dtype=np.int64)

    def means(self, parts: Sequence[NDArray[np.int64]]) -> Reals:
        """Return each mean answer as a correctly rounded float."""
        sums, whole = self.sums(parts)
        return np.array([weighted_sum / whole for weighted_sum in sums], dtype=np.float64)

    def release(self, count: int) -> float:  # noqa: ARG002  (the interface of a mechanism)
        """Raise ValueError: a combination is computed from answers and cannot be drawn."""
        raise ValueError(
            f"noise must be that of one draw, got a combination of {len(self.parts)}: draw each answer by its own noise"
        )

    def log_tail(self, alpha: float) -> float:
        """Return the logarithm of an upper bound of P[|nearest − K| >= alpha], alpha in records.

        For whole α this is twice P[ȳ − K >= α − 1/2]. Z is stochastically at most N + 1, where N is normal with the
        scale of Z. So the probability is at most P[N(0, 1/τ) >= α − 3/2]. A second bound comes from a grid to which
        each wᵢ·Zᵢ is rounded up. The smaller bound is returned.

        Numerical error: never below ln P, except for ties within 1e-12 of it.
        """
        whole_alpha = math.ceil(alpha)
        if whole_alpha < 1:
            return 0.0
        grid, tails = _tails_above(self.parts)
        place = min(math.ceil((whole_alpha - 0.5) / grid) + len(tails) // 2, len(tails) - 1)
        grid_tail = 2 * float(tails[place])
        closed = float(log_two_sided(np.array((whole_alpha - 1.5) / self.scale))) if whole_alpha > 1 else 0.0
        return min(0.0, closed, math.log(grid_tail + _ROUNDING))

    def error_with_tail(self, log_beta: float) -> float:
        """Return the smallest whole alpha for which the bound `log_tail` is at most log_beta."""
        alpha = max(1, math.floor(Gaussian.error_with_tail(self, log_beta)) - 1)
        while alpha > 1 and self.log_tail(alpha - 1) <= log_beta:
            alpha -= 1
        while self.log_tail(alpha) > log_beta:
            alpha += 1
        return alpha


def _summed_precision(scales: Sequence[Fraction]) -> Fraction:
    """Return the sum of 1/scale² over all scales."""
    return sum((1 / scale**2 for scale in scales), Fraction(0))


@lru_cache(maxsize=64)
def _tails_above(scales: tuple[Fraction, ...]) -> tuple[float, Reals]:
    """Return the step of a grid, and an upper bound of P[Σ wᵢ·Zᵢ >= point] for each of its points in ascending order.

    Each term is rounded up to the grid. Mass beyond an end is moved to the end above it.
    """
    precision = _summed_precision(scales)
    grid = 2.0 ** math.floor(math.log2(float(precision) ** -0.5 / _STEPS))
    half = math.ceil(_REACH * float(precision) ** -0.5 / grid)
    masses: Reals | None = None
    for scale in scales:
        term = _masses_rounded_up(DiscreteGaussian(scale), Fraction(grid) * scale**2 * precision, half)
        masses = term if masses is None else _convolved_terms(masses, term, half)
    assert masses is not None  # noqa: S101 - a combination has at least two scales
    return grid, np.cumsum(masses[::-1])[::-1]


def _masses_rounded_up(noise: DiscreteGaussian, step: Fraction, half: int) -> Reals:
    """Return P[⌈Z/step⌉ = i] for i = −half..half, with the mass beyond at the ends."""
    places = np.arange(-half, half)
    # P[⌈Z/step⌉ > place] = P[Z >= ⌊place·step⌋ + 1]. The small shift can only enlarge this tail.
    firsts = np.floor(places * float(step) - 1e-9 - 1e-15 * half * float(step)) + 1
    above = np.concatenate([[1.0], noise.errors.exceedance(firsts), [0.0]])
    return np.maximum(above[:-1] - above[1:], 0.0)


def _convolved_terms(one: Reals, other: Reals, half: int) -> Reals:
    """Return the distribution of a sum of two terms on −half..half. The mass beyond is added to both ends."""
    size = 1 << (4 * half + 1).bit_length()
    whole = np.fft.irfft(np.fft.rfft(one, size) * np.fft.rfft(other, size), size)[: 4 * half + 1]
    inner: Reals = np.maximum(whole[half : 3 * half + 1], 0.0)
    inner[0] += max(whole[:half].sum(), 0.0)
    inner[-1] += max(whole[3 * half + 1 :].sum(), 0.0)
    return inner
