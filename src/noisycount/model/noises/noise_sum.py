"""Several independent noises that are added to one count."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np

from noisycount.model.drawing.scales import check_range
from noisycount.model.laws.expansion import DIGITS, Expansion, Reals, decimal_ratio
from noisycount.model.laws.factor import BaseFactor, Factor, LogStep
from noisycount.model.laws.tails import Tail
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise, check_integer
from noisycount.model.noises.error_laws import CertifiedErrorLaw, GaussianErrors
from noisycount.model.noises.gaussian import DiscreteGaussian, Gaussian, GaussianLikelihood
from noisycount.model.noises.laplace import DiscreteLaplace, Laplace
from noisycount.model.noises.smallest_error import log_one_minus_exp, smallest_error
from noisycount.model.noises.sums.sum_law import SumLaw
from noisycount.model.noises.sums.summed_errors import SummedErrors
from noisycount.model.validation import real_number, whole_number

__all__ = ["NoiseSum", "SumLikelihood", "SumTail"]

Noise = Laplace | Gaussian | DiscreteLaplace | DiscreteGaussian

_FARTHEST_ANSWER = 2.0**56


@dataclass(frozen=True, slots=True, init=False)
class NoiseSum(SymmetricNoise):
    """The sum of independent noises: its density is the convolution of theirs.

    Discrete noises may be joined by one `Laplace` noise, or by any continuous ones if Gaussian
    noise with a variance of at least 3 records² is among them.

    Args:
        noises: At least one `Laplace`, `Gaussian`, `DiscreteLaplace` or `DiscreteGaussian`; of a
            `NoiseSum` its noises are taken.

    Raises:
        ValueError: If there is no noise, or something else among them, or one with a scale outside
            2^−52..2^52 records, or discrete noises are joined by others than said above.

    Source: the sums of Laplace noises are those of the blog *Analyzing Utility of Private
    Mechanisms*, after Chan, Shi and Song (2011).

    Example:
        >>> NoiseSum([Laplace(3.0), Laplace(4.0)]).variance
        50.0
    """

    noises: tuple[Noise, ...]
    _law: SumLaw = field(init=False, repr=False, compare=False)

    def __init__(self, noises: Sequence[Mechanism]) -> None:
        parts = _flat(noises)
        object.__setattr__(self, "noises", parts)
        object.__setattr__(self, "_law", _law(parts))

    @property
    def is_discrete(self) -> bool:
        """Whether the answers are integers: all noises are discrete."""
        return all(isinstance(noise, DiscreteLaplace | DiscreteGaussian) for noise in self.noises)

    @property
    def variance(self) -> float:
        """The variance of the noise, in records²: the sum of the variances."""
        return math.fsum(noise.variance for noise in self.noises)

    @property
    def errors(self) -> CertifiedErrorLaw:
        """The law of the noise at many errors at once."""
        if len(self.noises) == 1:
            return self.noises[0].errors
        if all(isinstance(noise, Gaussian) for noise in self.noises):
            return GaussianErrors(math.sqrt(self.variance))
        return SummedErrors(self._law)

    def log_density(self, error: float) -> float:
        """The logarithm of the density of the noise, or of its probability if it is discrete.

        Args:
            error: In records, an integer if all noises are discrete.

        Numerical error: 1e-11 absolute where the logarithm is above −2000.
        """
        return float(self._law.log_density(np.array(float(error)), error % 1.0))

    def log_exceedance(self, error: float) -> float:
        """The logarithm of P[Z >= error], error in records, as precise as `log_density`."""
        return float(self._law.log_tail(np.array(float(error)), error % 1.0))

    def log_tail(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| >= alpha], alpha in records."""
        if alpha <= 0:
            return 0.0
        reach = math.ceil(alpha) if self.is_discrete else alpha
        return min(0.0, math.log(2) + self.log_exceedance(float(reach)))

    def log_within(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| < alpha], alpha in records, also where it is tiny."""
        if alpha <= 0:
            return -math.inf
        reach = math.ceil(alpha) if self.is_discrete else alpha
        if reach >= math.sqrt(self.variance):
            return log_one_minus_exp(self.log_tail(reach))
        return self._law.log_within(reach)

    def error_with_tail(self, log_beta: float) -> float:
        """The smallest alpha, in records, with ln P[|Y − K| >= alpha] <= log_beta < 0."""
        if len(self.noises) == 1:
            return self.noises[0].error_with_tail(log_beta)
        return smallest_error(self, log_beta)

    def check_answer(self, answer: float) -> None:
        """Refuse, with a ValueError, an answer that this noise cannot give."""
        if self.is_discrete:
            check_integer(answer)
        if abs(real_number(answer, "answer")) > _FARTHEST_ANSWER:
            raise ValueError(f"answer must lie within 2**56 records of 0, got {answer!r}")

    def likelihood(self, answer: float, size: int) -> Factor:
        """The likelihood of a count k: the density of the noise at answer − k.

        Args:
            answer: The answer, in records, an integer if all noises are discrete.
            size: The number of records of the database; the likelihood does not depend on it.

        Raises:
            ValueError: If the noise cannot give that answer.
        """
        if len(self.noises) == 1:
            return self.noises[0].likelihood(answer, size)
        self.check_answer(answer)
        if all(isinstance(noise, Gaussian) for noise in self.noises):
            variance = sum((noise.exact_scale**2 for noise in self.noises), Fraction(0))
            return GaussianLikelihood(float(answer), Fraction(DIGITS.sqrt(decimal_ratio(variance))))
        return SumLikelihood(float(answer), self._law)

    def tail(self, answer: float, size: int, *, upper: bool) -> Tail:
        """P[Y >= answer | K = k] (upper) or P[Y <= answer | K = k] as a function of the count k."""
        if len(self.noises) == 1:
            return self.noises[0].tail(answer, size, upper=upper)
        self.check_answer(answer)
        side = 1 if upper else -1
        phase = side * float(answer) % 1.0

        def log_values(counts: Reals) -> Reals:
            return self._law.log_tail(np.asarray(side * (float(answer) - counts)), phase)

        return SumTail(
            lambda count: float(log_values(np.array(count))),
            kinks=(answer - 1, answer, answer + 1),
            log_values=log_values,
        )

    def release(self, count: int) -> int | float:
        """The count plus one exact draw of each noise, rounded once if any is continuous.

        Args:
            count: The true count, a whole number.
        """
        draws = [Fraction(noise.release(0)) for noise in self.noises]
        total = sum(draws, Fraction(whole_number(count, "count")))
        return int(total) if self.is_discrete else float(total)


@dataclass(frozen=True, slots=True)
class SumLikelihood(BaseFactor):
    """The density of a sum of noises at answer − k, as a factor of the count k.

    Attributes:
        answer: The answer, in records.
        law: The law of the sum.
    """

    answer: float
    law: SumLaw

    @property
    def kinks(self) -> tuple[float, ...]:
        """The answer, unless Gaussian noise rounds the law as widely as Laplace noise goes."""
        return (self.answer,) if self.law.is_kinked else ()

    def expansion(self, centre: int) -> Expansion:
        """All of the change as bend."""
        return _differences(self._log_values, centre)

    def log_step(self, count: int) -> float:
        """The difference of the logarithms at the next count and at this one."""
        here, there = self._log_values(np.array([count, count + 1.0]))
        return float(there - here)

    def exact_log_step(self, count: int) -> LogStep:
        """The same, as the rational that the float stands for; symmetry holds exactly."""
        return LogStep(shift=Fraction(self.log_step(count)))

    def _log_values(self, counts: Reals) -> Reals:
        return self.law.log_density(np.asarray(self.answer - counts), self.answer % 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SumTail(Tail):
    """The tail of a sum of noises.

    Attributes:
        log_values: Its logarithm at many counts at once.
    """

    log_values: Callable[[Reals], Reals]

    def expansion(self, centre: int) -> Expansion:
        """The differences of the logarithm."""
        return _differences(self.log_values, centre)


def _differences(log_values: Callable[[Reals], Reals], centre: int) -> Expansion:
    """The differences of logarithms at offsets from a count and at that count."""
    at_centre = float(log_values(np.array(float(centre))))

    def bend(offsets: Reals) -> Reals:
        change: Reals = log_values(np.asarray(centre + offsets)) - at_centre
        return change

    return Expansion(Decimal(0), bend)


def _flat(noises: Sequence[Mechanism]) -> tuple[Noise, ...]:
    """The noises, with those of a sum in its place."""
    parts: list[Noise] = []
    for noise in noises:
        if isinstance(noise, NoiseSum):
            parts.extend(noise.noises)
        elif isinstance(noise, Noise):
            check_range(noise.scale)
            parts.append(noise)
        else:
            raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere in model)
                "noises must be Laplace, Gaussian, DiscreteLaplace or DiscreteGaussian noises, "
                f"got {noise!r} among them"
            )
    if not parts:
        raise ValueError(f"noises must hold at least one noise, got {noises!r}")
    return tuple(parts)


def _law(noises: Sequence[Noise]) -> SumLaw:
    """The law of the sum."""
    return SumLaw(
        tuple(noise.scale for noise in noises if isinstance(noise, Laplace)),
        tuple(float(noise.scale) for noise in noises if isinstance(noise, DiscreteLaplace)),
        math.fsum(noise.scale**2 for noise in noises if isinstance(noise, Gaussian)),
        tuple(float(noise.scale) for noise in noises if isinstance(noise, DiscreteGaussian)),
    )
