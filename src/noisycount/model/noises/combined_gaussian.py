"""The mean of independent answers under discrete Gaussian noise, weighted by their precisions.

Of answers yᵢ with the scales σᵢ the count x has the likelihood Π e^(−(yᵢ − x)²/(2σᵢ²)), which is e^(−τ·(ȳ − x)²/2) but
for a factor without x: τ = Σ 1/σᵢ², ȳ = Σ yᵢ/(σᵢ²·τ). So ȳ, a rational number, tells all that they tell, exactly: the
sums that make discrete noise a law do not depend on x. The proofs are on the page “Accuracy first”.
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
from noisycount.model.sampling.scalar import as_written

_STEPS = 1024  # of the grid a scale, at least
_REACH = 12.0  # scales, beyond which all is taken for the end of the grid: e^(−72) of it
_LAST_DIGIT = 2.0**-51  # of a double, relative
_ROUNDING = 1e-12  # of a tail by convolutions of numbers that add up to 1, rounded up


@frozen
class CombinedGaussian(Gaussian):
    """The noise of the mean ȳ of independent answers under discrete Gaussian noise, weighted by their precisions.

    As a likelihood it is that of Gaussian noise of the scale 1/√τ, exactly. What it states of errors is about the whole
    number nearest to ȳ, the count of the largest likelihood, and is never too small.

    Args:
        scale: 1/√τ, in records, rounded up in its last digit.
        parts: The scales of the discrete noises, the newest first; at least two.

    Example:
        >>> both = CombinedGaussian.of([Fraction(20), Fraction(20)])
        >>> round(both.scale, 3), both.nearest([np.array([103]), np.array([98])]), both.smallest_error(0.05)
        (14.142, array([101]), 29)
        >>> DiscreteGaussian(both.scale).smallest_error(0.05)
        29
    """

    parts: tuple[Fraction, ...] = ()
    name: ClassVar[str] = "combined discrete Gaussian"

    @classmethod
    def of(cls, scales: Sequence[Fraction]) -> "CombinedGaussian":
        """That of answers of these scales."""
        return cls(float(_precision(scales)) ** -0.5 * (1 + _LAST_DIGIT), tuple(scales))

    @property
    def exact_scale(self) -> Fraction:
        """The scale as the decimal that Python shows for it, from which it is read again."""
        return as_written(self.scale, "scale")

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
        """Σ wᵢ²·Var Zᵢ, in records²; at most scale², and all but equal to it from parts of 1 record on."""
        return sum(float(weight) ** 2 * DiscreteGaussian(part).variance for weight, part in self._weighted)

    @property
    def _weighted(self) -> list[tuple[Fraction, Fraction]]:
        """The weight wᵢ of each part in the mean, beside its scale; all weights add up to 1."""
        whole = _precision(self.parts)
        return [(1 / (part**2 * whole), part) for part in self.parts]

    def factor(self, answer: float) -> GaussianLikelihood:
        """The factor e^(−τ·(ȳ − k)²/2) of a count k."""
        return GaussianLikelihood(answer, Fraction(self.scale))

    def sums(self, parts: Sequence[NDArray[np.int64]]) -> tuple[list[int], int]:
        """Of each count a whole number that is ȳ times another one, and that one; of each part an array of answers."""
        weights = [weight for weight, _ in self._weighted]
        whole = math.lcm(*(weight.denominator for weight in weights))
        terms = [int(weight * whole) for weight in weights]
        rows = zip(*(part.tolist() for part in parts), strict=True)
        return [sum(map(mul, terms, row)) for row in rows], whole

    def nearest(self, parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """The whole number nearest to each ȳ, of two the larger."""
        sums, whole = self.sums(parts)
        return np.array([(2 * each + whole) // (2 * whole) for each in sums], dtype=np.int64)

    def means(self, parts: Sequence[NDArray[np.int64]]) -> Reals:
        """Each ȳ, correctly rounded."""
        sums, whole = self.sums(parts)
        return np.array([each / whole for each in sums], dtype=np.float64)

    def release(self, count: int) -> float:
        """Refused: a combination is made of answers that were drawn."""
        raise ValueError(f"noise must be drawn as one answer, got a combination of {len(self.parts)} for {count!r}")

    def log_tail(self, alpha: float) -> float:
        """The logarithm of a bound of P[|nearest − K| >= alpha], alpha in records.

        Twice that of P[ȳ − K >= α − 1/2], for whole α. By Z <= N + 1 in law, N being normal with the scale of Z, that
        is at most P[N(0, 1/τ) >= α − 3/2]; or it is found on a grid, to which each wᵢ·Zᵢ is rounded up.

        Numerical error: never below ln P, but for a tie within 1e-12 of it.
        """
        least = math.ceil(alpha)
        if least < 1:
            return 0.0
        grid, tails = _tails_above(self.parts)
        place = min(math.ceil((least - 0.5) / grid) + len(tails) // 2, len(tails) - 1)
        found = 2 * float(tails[place])
        closed = float(log_two_sided(np.array((least - 1.5) / self.scale))) if least > 1 else 0.0
        return min(0.0, closed, math.log(found + _ROUNDING))

    def error_with_tail(self, log_beta: float) -> float:
        """The smallest whole alpha with ln P[|nearest − K| >= alpha] <= log_beta, by the bound."""
        alpha = max(1, math.floor(Gaussian.error_with_tail(self, log_beta)) - 1)
        while alpha > 1 and self.log_tail(alpha - 1) <= log_beta:
            alpha -= 1
        while self.log_tail(alpha) > log_beta:
            alpha += 1
        return alpha


def _precision(scales: Sequence[Fraction]) -> Fraction:
    """The sum of the inverse squares of scales."""
    return sum((1 / scale**2 for scale in scales), Fraction(0))


@lru_cache(maxsize=64)
def _tails_above(scales: tuple[Fraction, ...]) -> tuple[float, Reals]:
    """A grid, and for each of its points from one end to the other a bound of P[Σ wᵢ·Zᵢ >= point].

    Each term is rounded up to the grid, and what lies beyond an end is taken for the end above it.
    """
    precision = _precision(scales)
    grid = 2.0 ** math.floor(math.log2(float(precision) ** -0.5 / _STEPS))
    half = math.ceil(_REACH * float(precision) ** -0.5 / grid)
    masses: Reals | None = None
    for scale in scales:
        term = _rounded_up(DiscreteGaussian(scale), Fraction(grid) * scale**2 * precision, half)
        masses = term if masses is None else _sum_of(masses, term, half)
    assert masses is not None  # noqa: S101 - there are parts
    return grid, np.cumsum(masses[::-1])[::-1]


def _rounded_up(noise: DiscreteGaussian, step: Fraction, half: int) -> Reals:
    """The law of ⌈Z/step⌉ from −half to half."""
    places = np.arange(-half, half)
    # P[⌈Z/step⌉ > place] = P[Z >= ⌊place·step⌋ + 1]; less by a little, as more is above then
    firsts = np.floor(places * float(step) - 1e-9 - 1e-15 * half * float(step)) + 1
    above = np.concatenate([[1.0], noise.errors.exceedance(firsts), [0.0]])
    return np.maximum(above[:-1] - above[1:], 0.0)


def _sum_of(one: Reals, other: Reals, half: int) -> Reals:
    """The law of a sum of two, from −half to half, with what is beyond at the ends."""
    size = 1 << (4 * half + 1).bit_length()
    whole = np.fft.irfft(np.fft.rfft(one, size) * np.fft.rfft(other, size), size)[: 4 * half + 1]
    inner: Reals = np.maximum(whole[half : 3 * half + 1], 0.0)
    inner[0] += max(whole[:half].sum(), 0.0)
    inner[-1] += max(whole[3 * half + 1 :].sum(), 0.0)
    return inner
