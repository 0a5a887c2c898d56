"""The sum of several independent noises as one noise.

`NoiseSum` is public; `sum_law` computes its distribution.
"""

import math
from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction

import numpy as np

from noisycount.frozen import frozen
from noisycount.model.laws.factors import Factor, LogFactor, Product
from noisycount.model.laws.gamma import DIGITS, Reals, decimal_ratio
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import AdditiveNoise, CertifiedErrorLaw, SymmetricNoise
from noisycount.model.noises.gaussian import GaussianErrors, GaussianKernel, GaussianLikelihood
from noisycount.model.noises.laplace import LaplaceKernel, LaplaceLikelihood
from noisycount.model.noises.sum_law import SumLaw
from noisycount.model.sampling.scalar import check_range
from noisycount.validation import real_number, whole_number

_FARTHEST_ANSWER = 2.0**56  # records: the largest count 2^53 plus 14 times the largest scale 2^52
_DEEP = 1e4  # nats: up to this depth, differences of the logarithm have an error of at most 1e-11


@frozen(init=False, repr=False)
class NoiseSum(SymmetricNoise):
    """The sum Z = Σ Zᵢ of independent noises, all discrete or all continuous. Its density is their convolution.

    Args:
        noises: At least one `Laplace`, `Gaussian`, `DiscreteLaplace` or `DiscreteGaussian`. A `NoiseSum` among them is
            replaced by its own noises.

    Raises:
        ValueError: If the list is empty or has other objects, if a scale lies outside 2^−52..2^52 records, or if
            discrete and continuous noises are mixed.

    Source: sums of Laplace noises as in the blog *Analyzing Utility of Private Mechanisms*, after Chan, Shi and Song
    (2011).

    Numerical error: 1e-11 absolute in the logarithm of the density, where the logarithm is above −2000.

    Example:
        >>> import noisycount as nc
        >>> nc.NoiseSum([nc.Laplace(3.0), nc.Laplace(4.0)]).variance
        50.0
    """

    noises: tuple[AdditiveNoise, ...]
    _law: SumLaw = field(init=False, repr=False, compare=False)

    def __init__(self, noises: Sequence[Mechanism]) -> None:
        parts = _flattened_noises(noises)
        object.__setattr__(self, "noises", parts)
        object.__setattr__(self, "_law", _law_of_sum(parts))

    @property
    def is_discrete(self) -> bool:
        """True if the answers are integers, because all noises are discrete."""
        return self._law.is_discrete

    @property
    def is_log_concave(self) -> bool:
        """True if all noises are log-concave."""
        return all(noise.is_log_concave for noise in self.noises)

    @property
    def variance(self) -> float:
        """Variance of the noise, in records²: the sum of the variances."""
        return math.fsum(noise.variance for noise in self.noises)

    @property
    def mean_absolute(self) -> float:
        """E|Z| in records."""
        if len(self.noises) == 1:
            return self.noises[0].mean_absolute
        return self._single_gaussian.mean_absolute if self._is_gaussian else self._law.mean_absolute

    @property
    def errors(self) -> CertifiedErrorLaw:
        """Distribution of the noise Z, evaluated for arrays of errors."""
        if len(self.noises) == 1:
            return self.noises[0].errors
        return self._single_gaussian if self._is_gaussian else self._law

    def log_density(self, error: float) -> float:
        """Return the logarithm of the density of the noise, or of P[Z = error] if it is discrete.

        Args:
            error: In records, an integer if all noises are discrete.

        Numerical error: 1e-11 absolute where the logarithm is above −2000.
        """
        return float(self._law.log_density(np.array(float(error))))

    def error_with_tail(self, log_beta: float) -> float:
        """Return the smallest alpha, in records, with ln P[|Y − K| >= alpha] <= log_beta < 0."""
        if len(self.noises) == 1:
            return self.noises[0].error_with_tail(log_beta)
        return SymmetricNoise.error_with_tail(self, log_beta)

    def check_answer(self, answer: float) -> None:
        """Raise ValueError if this noise cannot produce the answer."""
        SymmetricNoise.check_answer(self, answer)
        if len(self.noises) > 1 and abs(real_number(answer, "answer")) > _FARTHEST_ANSWER:
            raise ValueError(f"answer must lie within 2**56 records of 0, got {answer!r}")

    def likelihood(self, answer: float, size: int) -> Factor:
        """Return the likelihood of a count k: the density of the noise at answer − k.

        Args:
            answer: The answer, in records, an integer if all noises are discrete.
            size: The number of records of the database; the likelihood does not depend on it.

        Raises:
            ValueError: If the noise cannot give that answer.
        """
        if len(self.noises) == 1:
            return self.noises[0].likelihood(answer, size)
        self.check_answer(answer)
        answer = float(answer)
        if self._law.is_normal:
            variance = sum((Fraction(noise.scale) ** 2 for noise in self.noises), Fraction(0))
            return GaussianLikelihood(answer, Fraction(DIGITS.sqrt(decimal_ratio(variance))))
        farthest, widest = max(abs(answer), abs(answer - size)), self._law.widest_laplace
        if widest and (self._law.is_kinked or farthest > _DEEP * widest):
            slope = LaplaceLikelihood(answer, Fraction(widest))
            # The remaining factor is almost constant far out, so that the product keeps its digits there.
            flat_factor = LogFactor(lambda counts: self._law.log_lifted(np.asarray(answer - counts)))
            return Product((slope, flat_factor))
        return LogFactor(lambda counts: self._law.log_density(np.asarray(answer - counts)))

    def release(self, count: int) -> int | float:
        """Return the count plus one exact draw of each noise, rounded once to a float if they are continuous.

        Args:
            count: The true count, a whole number.
        """
        draws = [Fraction(noise.release(0)) for noise in self.noises]
        total = sum(draws, Fraction(whole_number(count, "count")))
        return int(total) if self.is_discrete else float(total)

    def draws(self, size: int, generator: np.random.Generator) -> Reals:
        """Return simulated noise from a seeded generator, in records, shape (size,). Never release these values."""
        total = np.zeros(size)
        for noise in self.noises:
            total += noise.draws(size, generator)
        return total

    @property
    def _is_gaussian(self) -> bool:
        """True if the sum is a single continuous Gaussian noise."""
        return self._law.is_normal and not self.is_discrete

    @property
    def _single_gaussian(self) -> GaussianErrors:
        """Gaussian distribution of the sum. It is valid only if `_is_gaussian` is true."""
        return GaussianErrors(math.sqrt(self.variance))


def _flattened_noises(noises: Sequence[Mechanism]) -> tuple[AdditiveNoise, ...]:
    """Return the noises, with each `NoiseSum` replaced by its noises; raise ValueError for an invalid list."""
    parts: list[AdditiveNoise] = []
    for noise in noises:
        if isinstance(noise, NoiseSum):
            parts.extend(noise.noises)
        elif isinstance(noise, LaplaceKernel | GaussianKernel):
            check_range(noise.scale)
            parts.append(noise)
        else:
            raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere in model)
                "noises must be Laplace, Gaussian, DiscreteLaplace or DiscreteGaussian noises, "
                f"got {noise!r} among them"
            )
    if not parts:
        raise ValueError(f"noises must hold at least one noise, got {noises!r}")
    if len({noise.is_discrete for noise in parts}) > 1:
        raise ValueError(
            f"noises must be all discrete or all continuous, got {parts!r}: take all of them in "
            "their discrete form, or all in their continuous form"
        )
    return tuple(parts)


def _law_of_sum(noises: Sequence[AdditiveNoise]) -> SumLaw:
    """Return the distribution of the sum."""
    laplace, gaussian = (
        tuple(float(noise.scale) for noise in noises if isinstance(noise, kind))
        for kind in (LaplaceKernel, GaussianKernel)
    )
    return SumLaw(laplace, gaussian, noises[0].is_discrete)
