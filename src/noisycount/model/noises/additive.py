"""Noise that is added to the count: what every noise states about itself."""

import math
from abc import abstractmethod
from fractions import Fraction
from typing import ClassVar

import numpy as np

from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.factor import Factor
from noisycount.model.laws.tails import LogFactor, ValuedFactor
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.error.factors import ErrorLikelihood
from noisycount.model.noises.error.law import CertifiedErrorLaw
from noisycount.model.noises.error.smallest import log_one_minus_exp, smallest_error
from noisycount.model.noises.sums.summand import Summand
from noisycount.model.validation import real_number

__all__ = ["AdditiveNoise", "SymmetricNoise", "require_log_concave"]


class SymmetricNoise(Mechanism):
    """A mechanism Y = K + Z: the noise Z is symmetric, one-peaked and independent of the count.

    What is abstract here a noise must state; the rest follows from it.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def errors(self) -> CertifiedErrorLaw:
        """The law of the noise at many errors at once."""

    @property
    @abstractmethod
    def is_log_concave(self) -> bool:
        """Whether the logarithm of the density is concave."""

    @property
    def epsilon(self) -> float | Fraction | None:
        """An ε with δ = 0 for a count of sensitivity 1; None: there is none."""
        steepest = self.errors.steepest
        return None if steepest is None else float(steepest)

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the noise, in records²; infinite if it has none."""

    @property
    @abstractmethod
    def mean_absolute(self) -> float:
        """E|Z|, in records; infinite if it has none."""

    @abstractmethod
    def draws(self, size: int, generator: np.random.Generator) -> Reals:
        """Draws of the noise from a seed, in records, shape (size,): never to be released."""

    @property
    def is_discrete(self) -> bool:
        """Whether the answers are integers."""
        return self.errors.is_discrete

    def check_answer(self, answer: float) -> None:
        """Refuse, with a ValueError, an answer that this noise cannot give."""
        if not real_number(answer, "answer").is_integer() and self.is_discrete:
            raise ValueError(f"answer must be an integer under discrete noise, got {answer!r}")

    def likelihood(self, answer: float, size: int) -> Factor:  # noqa: ARG002  (as additive noise of every size)
        """The likelihood of a count k: the density of the noise at answer − k."""
        self.check_answer(answer)
        return self.factor(float(answer))

    def factor(self, answer: float) -> Factor:
        """The likelihood of a count for an answer that this noise can give."""
        return ErrorLikelihood(answer, self.errors, self.is_log_concave)

    def tail(self, answer: float, size: int, *, upper: bool) -> ValuedFactor:  # noqa: ARG002  (as additive noise of every size)
        """P[Y >= answer | K = k] (upper) or P[Y <= answer | K = k] as a function of the count k."""
        self.check_answer(answer)
        side, errors = (1 if upper else -1), self.errors
        return LogFactor(
            lambda counts: errors.log_exceedance(side * (float(answer) - counts)),
            kinks=(answer - 1, answer, answer + 1),
            is_log_concave=self.is_log_concave,
        )

    def log_tail(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| >= alpha], alpha in records."""
        if alpha <= 0:
            return 0.0
        errors = self.errors
        reach = math.ceil(alpha) if errors.is_discrete else alpha
        return min(0.0, float(errors.log_tail(np.array(float(reach)))))

    def log_within(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| < alpha], alpha in records, also where it is tiny."""
        if alpha <= 0:
            return -math.inf
        errors = self.errors
        reach = math.ceil(alpha) if errors.is_discrete else alpha
        if errors.is_geometric or reach >= errors.spread:  # the tail keeps its distance to 1
            return log_one_minus_exp(self.log_tail(reach))
        inside = errors.within(reach)
        return math.log(inside) if inside > 0 else -math.inf

    def log_exceedance(self, error: float) -> float:
        """The logarithm of P[Z >= error], error in records."""
        errors = self.errors
        distance = error if error > 0 else errors.first - error
        tail = float(errors.log_tail(np.array(float(distance)))) - math.log(2)
        return tail if error > 0 else math.log1p(-math.exp(tail))

    def smallest_error(self, beta: float) -> float:
        """The smallest alpha, in records, with P[|Y − K| >= alpha] <= beta, beta in (0, 1)."""
        return self.error_with_tail(math.log(beta))

    def error_with_tail(self, log_beta: float) -> float:
        """The smallest alpha, in records, with ln P[|Y − K| >= alpha] <= log_beta < 0."""
        return smallest_error(self, log_beta)


class AdditiveNoise(SymmetricNoise):
    """Noise of one kind and one scale."""

    __slots__ = ()

    scales: ClassVar[tuple[float, float]] = (2.0**-52, 2.0**52)
    """The smallest and the largest scale whose variance a float holds."""

    @abstractmethod
    def __init__(self, scale: float | Fraction) -> None:
        """Noise of that scale, in records."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the kind of noise is called, in words."""

    @property
    @abstractmethod
    def scale(self) -> float | Fraction:
        """How wide the noise is, in records: larger scales have larger variances."""

    @property
    def exact_scale(self) -> Fraction:
        """The scale as the rational that it stands for."""
        return Fraction(self.scale)

    @property
    def variance_rounding(self) -> float:
        """The relative error of the variance, where it exceeds that of a few operations."""
        return 0.0

    @property
    def summand(self) -> Summand | None:
        """What the noise brings to a sum; None: it cannot be summed."""
        return None


def require_log_concave(noise: SymmetricNoise, what: str) -> None:
    """Refuse, with a ValueError, noise under which several runs of answers can mean the same.

    Args:
        noise: The noise.
        what: What rests on a single threshold.
    """
    if not noise.is_log_concave:
        raise ValueError(
            f"mechanism must have a log-concave density for {what}, which rests on a single "
            f"threshold, got {noise!r}"
        )
