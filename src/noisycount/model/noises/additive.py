"""Noise that is added to the count: its law at many errors at once, and what every noise states."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import field
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisycount.frozen import frozen
from noisycount.model.laws.factors import Factor, LogFactor, ValuedFactor
from noisycount.model.laws.gamma import Expansion, Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.sampling.scalar import RandomIntegers, as_written, drawable, public_grid
from noisycount.model.searches import bracketed, bracketed_by_factors, first_whole, root
from noisycount.validation import positive_number, real_number, whole_number

# ln(1/2): of a tail and the mass within, the one below it is the part that keeps its digits.
LOG_HALF = -math.log(2)


def log_one_minus_exp(logarithm: float) -> float:
    """ln(1 − e^x) for x <= 0, to full relative precision at both ends."""
    if logarithm > LOG_HALF:
        return math.log(-math.expm1(logarithm)) if logarithm < 0 else -math.inf
    return math.log1p(-math.exp(logarithm))


class ErrorLaw(ABC):
    """The law of symmetric, one-peaked noise Z at arrays of errors, in records."""

    __slots__ = ()

    @property
    @abstractmethod
    def is_discrete(self) -> bool:
        """Whether Z is an integer."""

    @property
    def is_geometric(self) -> bool:
        """Whether the logarithm of the density is −|z|/spread up to a constant."""
        return False

    @property
    def is_costly(self) -> bool:
        """Whether each value takes an integral of its own."""
        return False

    @property
    @abstractmethod
    def steepest(self) -> Fraction | None:
        """The largest change of the logarithm of the density a record; None: there is no bound."""

    @property
    @abstractmethod
    def spread(self) -> float:
        """A typical size of the noise, in records."""

    @property
    @abstractmethod
    def smooth_over(self) -> float:
        """The length in records over which the density has no bend; 0 if it has a kink."""

    @property
    @abstractmethod
    def peak(self) -> float:
        """The density at 0, or the probability of 0 if Z is discrete."""

    @abstractmethod
    def reach(self, depth: float) -> float:
        """The distance from 0, in records, at which the density has fallen by e^depth."""

    @abstractmethod
    def log_density(self, errors: Reals) -> Reals:
        """The logarithm of the density, or of the probability, up to a constant."""

    def log_heights(self, errors: Reals) -> Reals:
        """The same with its constant."""
        at_zero = float(self.log_density(np.zeros(1))[0])
        return self.log_density(errors) + (math.log(self.peak) - at_zero)

    @abstractmethod
    def log_change(self, error: float, steps: Reals) -> Reals:
        """How the logarithm of the density changes from an error to error − step."""

    @abstractmethod
    def log_tail(self, distances: Reals) -> Reals:
        """The logarithm of P[|Z| >= z] for z > 0, also where the probability underflows.

        Of discrete noise it is smooth between the integers from 1 on; of continuous noise it is asked for at 0, too.
        """

    def log_tail_at(self, distance: float) -> float:
        """The `log_tail` of one distance, which laws take as an array without axes."""
        return float(self.log_tail(cast("Reals", np.float64(distance))))

    @abstractmethod
    def between(self, low: Reals, widths: Reals) -> Reals:
        """P[low <= Z < low + width] for widths >= 0, to full relative precision."""

    def tail(self, distances: Reals) -> Reals:
        """P[|Z| >= z] for z > 0, to full relative precision."""
        return np.exp(self.log_tail(distances))

    def exceedance(self, errors: Reals) -> Reals:
        """P[Z >= error], to full relative precision; smooth between integers if Z is discrete."""
        is_above = np.asarray(errors) > 0
        distances = np.where(is_above, errors, 1.0 - errors) if self.is_discrete else np.abs(errors)
        tails = self.tail(distances) / 2
        return np.where(is_above, tails, 1 - tails)

    def log_exceedance(self, errors: Reals) -> Reals:
        """The logarithm of P[Z >= error], also where the probability underflows."""
        is_above = np.asarray(errors) > 0
        logs = self.log_tail(np.where(is_above, errors, self.first - errors)) - math.log(2)
        return np.where(is_above, logs, np.log1p(-np.exp(logs)))

    def within(self, reach: float) -> float:
        """P[|Z| < reach] for a reach above 0, whole if Z is discrete; also where it is tiny."""
        width = np.array([reach - self.first])
        at_zero = self.peak if self.is_discrete else 0.0
        return at_zero + 2 * float(self.between(np.array([self.first]), width)[0])

    def tabulated(self, reach: float) -> "ErrorLaw":  # noqa: ARG002  (a closed form needs no table)
        """The law for very many errors up to a distance from 0: itself where each is cheap."""
        return self

    @property
    def first(self) -> float:
        """What an error and its opposite add up to, as P[Z < z] = P[Z >= first − z]."""
        return 1.0 if self.is_discrete else 0.0


class CertifiedErrorLaw(ErrorLaw):
    """A law of noise that tells how exact its tails and masses are."""

    __slots__ = ()

    @property
    @abstractmethod
    def rounding(self) -> float:
        """The relative error of a tail or a mass, where it exceeds that of a few operations."""

    @abstractmethod
    def uncertainty(self, low: Reals, widths: Reals) -> Reals | float:
        """How far each mass of `between` may be off beyond that."""


class ClosedForm(CertifiedErrorLaw):
    """A law whose tails and masses are closed forms, exact but for a few operations."""

    rounding: ClassVar[float] = 0.0

    __slots__ = ()

    def uncertainty(self, low: Reals, widths: Reals) -> float:  # noqa: ARG002  (of no mass)
        """0."""
        return 0.0


@frozen
class ErrorLikelihood(Factor):
    """The density of noise at answer − k, as a factor of the count k."""

    answer: float  # the answer, in records
    errors: ErrorLaw
    is_log_concave: bool = True  # whether the logarithm of the density is concave

    @property
    def kinks(self) -> tuple[float, ...]:
        """The answer, unless the density is smooth and turns only there."""
        is_smooth = self.errors.smooth_over > 0 and self.is_log_concave
        return () if is_smooth else (self.answer,)

    def expansion(self, centre: int) -> Expansion:
        """All of the change as bend."""
        error = self.answer - centre
        return Expansion(Decimal(0), lambda offsets: self.errors.log_change(error, offsets))

    def log_step(self, count: int) -> float:
        """The change from this count to the next."""
        return float(self.errors.log_change(self.answer - count, np.ones(1))[0])


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
        return self.errors.log_heights(float(answer) - np.asarray(counts, dtype=np.float64))[()]

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
            start = max(deviation * math.sqrt(-2 * log_beta), -log_beta / float(steepest or math.inf))
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

        Below beta = 1/2 the difference of the logarithms of the tails, which are concave; above that of the masses
        within alpha, which are then the part that keeps its digits.
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


def require_log_concave(noise: SymmetricNoise, what: str) -> None:
    """Refuse, with a ValueError, noise under which several runs of answers can mean the same."""
    if not noise.is_log_concave:
        raise ValueError(
            f"mechanism must have a log-concave density for {what}, which rests on a single threshold, got {noise!r}"
        )


def _reach(errors: ErrorLaw, alpha: float) -> float:
    """The smallest error of at least alpha that the noise can make."""
    return math.ceil(alpha) if errors.is_discrete else alpha


@frozen
class ContinuousNoise(AdditiveNoise):
    """Noise on the real numbers, of any positive scale.

    Attributes:
        scale: In records, positive and finite.
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
    """The exact draws of a law on the integers, of a scale that is a rational number."""

    one: Callable[[Fraction, RandomIntegers], int]  # a single draw
    many: Callable[..., NDArray[np.int64]]  # draws in bulk, of the same law


@frozen(init=False)
class DiscreteNoise(AdditiveNoise):
    """Noise on the integers; of its scale its kinds tell."""

    scales: ClassVar[tuple[float, float]] = (2.0**-10, 2.0**52)  # below, the variance underflows
    sampler: ClassVar[Sampler]

    scale: Fraction = field()  # without, the property of the base would be its default

    def __init__(self, scale: float | Fraction) -> None:
        object.__setattr__(self, "scale", drawable(as_written(scale, "scale")))

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
