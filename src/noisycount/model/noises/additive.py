"""Noise that is added to the count: what every noise states about itself.

Noise with a density, whose answers are rounded to a public grid.

Noise on the integers, whose law is exact: its scale is the rational that is drawn.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import field
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisycount.frozen import frozen
from noisycount.model.laws.factors import Factor, LogFactor, ValuedFactor
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.errors import (
    LOG_HALF,
    CertifiedErrorLaw,
    ErrorLaw,
    ErrorLikelihood,
    log_one_minus_exp,
)
from noisycount.model.noises.sum_transforms import Summand
from noisycount.model.sampling.scalar import RandomIntegers
from noisycount.model.sampling.scales import as_written, drawable, public_grid
from noisycount.model.searches import bracketed, bracketed_by_factors, first_whole, root
from noisycount.validation import positive_number, real_number, whole_number

__all__ = [
    "AdditiveNoise",
    "ContinuousNoise",
    "DiscreteNoise",
    "Sampler",
    "SymmetricNoise",
    "require_log_concave",
]


_PRECISE = 1e-14  # relative; 1e-11 is promised


_FIRST_STEP = 0.1  # of the start, which Gaussian noise of that variance or the slope tells


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

    def logpmf(
        self,
        answer: float,
        counts: ArrayLike,
        size: int | None = None,  # noqa: ARG002  (as additive noise of every size)
    ) -> Reals:
        """The logarithm of P[Y = answer | K = k], or of the density, for each count k.

        Args:
            answer: The answer, in records.
            counts: Counts k, an array of any shape.
            size: Not needed.

        Raises:
            ValueError: If this noise cannot give that answer.

        Numerical error: 1e-11, absolute or relative, whichever is larger.
        """
        self.check_answer(answer)
        errors = self.errors
        missed = float(answer) - np.asarray(counts, dtype=np.float64)
        at_zero = float(errors.log_density(np.zeros(1))[0])
        logs: Reals = errors.log_density(missed) - at_zero + math.log(errors.peak)
        return logs[()]

    def log_tail(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| >= alpha], alpha in records."""
        errors = self.errors
        return min(0.0, errors.log_tail_at(_reach(errors, alpha))) if alpha > 0 else 0.0

    def log_within(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| < alpha], alpha in records, also where it is tiny."""
        if alpha <= 0:
            return -math.inf
        errors = self.errors
        reach = _reach(errors, alpha)
        if errors.is_geometric or reach >= errors.spread:  # the tail keeps its distance to 1
            return log_one_minus_exp(min(0.0, errors.log_tail_at(reach)))
        inside = errors.within(reach)
        return math.log(inside) if inside > 0 else -math.inf

    def log_exceedance(self, error: float) -> float:
        """The logarithm of P[Z >= error], error in records."""
        errors = self.errors
        tail = errors.log_tail_at(error if error > 0 else errors.first - error) + LOG_HALF
        return tail if error > 0 else math.log1p(-math.exp(tail))

    def smallest_error(self, beta: float) -> float:
        """The smallest alpha, in records, with P[|Y − K| >= alpha] <= beta, beta in (0, 1)."""
        return self.error_with_tail(math.log(beta))

    def error_with_tail(self, log_beta: float) -> float:
        """The smallest alpha, in records, with ln P[|Y − K| >= alpha] <= log_beta < 0.

        Numerical error: 1e-11 relative; an integer is the smallest up to ties within 1e-12 of beta.
        """
        deviation, steepest = math.sqrt(self.variance), self.errors.steepest
        if log_beta < LOG_HALF:
            start = max(
                deviation * math.sqrt(-2 * log_beta), -log_beta / float(steepest or math.inf)
            )
        else:
            start = 1.25 * deviation * math.exp(log_one_minus_exp(log_beta))

        def missing(alpha: float) -> float:
            return -self.excess(alpha, log_beta) if alpha else -math.inf

        if self.is_discrete:
            first, step = max(1, math.ceil(start)), max(1, math.ceil(_FIRST_STEP * start))
            return int(first_whole(missing, bracketed(missing, first, step, (0, math.inf))).high)
        bracket = bracketed_by_factors(missing, start, 1 + _FIRST_STEP)
        return root(missing, bracket, _PRECISE).high

    def excess(self, alpha: float, log_beta: float) -> float:
        """Positive where P[|Y − K| >= alpha] exceeds beta, falling in alpha.

        Below beta = 1/2 the difference of the logarithms of the tails, which are concave; above
        that of the masses within alpha, which are then the part that keeps its digits.
        """
        if log_beta < LOG_HALF:
            return self.log_tail(alpha) - log_beta
        return log_one_minus_exp(log_beta) - self.log_within(alpha)


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


def _reach(errors: ErrorLaw, alpha: float) -> float:
    """The smallest error of at least alpha that the noise can make."""
    return math.ceil(alpha) if errors.is_discrete else alpha


@frozen
class ContinuousNoise(AdditiveNoise):
    """Noise on the real numbers, of any positive scale.

    Args:
        scale: In records, positive and finite.

    Raises:
        ValueError: If the scale is not a positive finite number.
    """

    scale: float = field()  # without, the property of the base would be its default

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_number(self.scale, "scale"))

    def on_grid(self, count: int, steps: Callable[[Fraction, RandomIntegers], int]) -> float:
        """The count plus noise on a public grid.

        Args:
            count: The true count, a whole number.
            steps: Draws the noise in steps of the grid, from the scale in such steps.
        """
        grid = public_grid(self.scale)
        drawn = steps(self.exact_scale / grid, RandomIntegers())
        return float(whole_number(count, "count") + drawn * grid)


class Sampler(NamedTuple):
    """The exact draws of a law on the integers, of a scale that is a rational number.

    Attributes:
        one: A single draw.
        many: Draws in bulk, of the same law.
    """

    one: Callable[[Fraction, RandomIntegers], int]
    many: Callable[..., NDArray[np.int64]]


@frozen(init=False)
class DiscreteNoise(AdditiveNoise):
    """Noise on the integers; of its scale its kinds tell."""

    scales: ClassVar[tuple[float, float]] = (2.0**-10, 2.0**52)  # below, the variance underflows
    sampler: ClassVar[Sampler]

    scale: Fraction = field()  # without, the property of the base would be its default

    def __init__(self, scale: float | Fraction) -> None:
        object.__setattr__(self, "scale", drawable(as_written(scale, "scale")))

    @property
    def exact_scale(self) -> Fraction:
        """The scale."""
        return self.scale

    def release(self, count: int) -> int:
        """The count plus one exact draw of the noise.

        Args:
            count: The true count, a whole number.
        """
        return whole_number(count, "count") + self.sampler.one(self.scale, RandomIntegers())

    def samples(self, size: int) -> NDArray[np.int64]:
        """Independent draws of the noise, in records, shape (size,), by the exact sampler."""
        return self.sampler.many(self.scale, whole_number(size, "size"))

    def draws(self, size: int, generator: np.random.Generator) -> Reals:
        """Draws of the noise from a seed, in records, shape (size,): never to be released."""
        return self.sampler.many(self.scale, size, generator.bytes).astype(np.float64)
