"""Base classes of noise Z that is added to a count, and of the distribution of Z at arrays of errors.

`SymmetricNoise` derives answers, likelihoods and error quantiles from an `ErrorLaw`. Read `laplace` next.
"""

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
from noisycount.model.sampling.scalar import RandomIntegers, drawable_scale, fraction_as_written, public_grid
from noisycount.model.searches import bracket_root, bracketed_by_factors, first_whole, root
from noisycount.validation import positive_number, real_number, whole_number

# ln(1/2). Of P[|Z| >= z] and P[|Z| < z], only the smaller one keeps its relative precision.
LOG_HALF = -math.log(2)


def log_one_minus_exp(logarithm: float) -> float:
    """Return ln(1 − e^x) for x <= 0, to full relative precision at both ends."""
    if logarithm > LOG_HALF:
        return math.log(-math.expm1(logarithm)) if logarithm < 0 else -math.inf
    return math.log1p(-math.exp(logarithm))


class ErrorLaw(ABC):
    """The distribution of symmetric, unimodal noise Z at arrays of errors, in records."""

    __slots__ = ()

    @property
    @abstractmethod
    def is_discrete(self) -> bool:
        """True if Z is an integer."""

    @property
    def is_geometric(self) -> bool:
        """True if the logarithm of the density is −|z|/spread plus a constant."""
        return False

    @property
    def is_costly(self) -> bool:
        """True if computing each value takes a numerical integral."""
        return False

    @property
    @abstractmethod
    def largest_log_change(self) -> Fraction | None:
        """Largest change of the logarithm of the density from one record to the next, or None if it is unbounded."""

    @property
    @abstractmethod
    def spread(self) -> float:
        """Typical size of the noise, in records."""

    @property
    @abstractmethod
    def smooth_over(self) -> float:
        """Length in records over which the density is smooth; 0 if the density has a kink."""

    @property
    @abstractmethod
    def peak(self) -> float:
        """Density at 0, or P[Z = 0] if Z is discrete."""

    @abstractmethod
    def distance_at_depth(self, depth: float) -> float:
        """Return the distance from 0, in records, at which the density has fallen by a factor e^depth."""

    @abstractmethod
    def log_density(self, errors: Reals) -> Reals:
        """Return the logarithm of the density, or of P[Z = z] if Z is discrete, up to an additive constant."""

    def log_heights(self, errors: Reals) -> Reals:
        """Return the logarithm of the density, or of P[Z = z] if Z is discrete, with its constant."""
        at_zero = float(self.log_density(np.zeros(1))[0])
        return self.log_density(errors) + (math.log(self.peak) - at_zero)

    @abstractmethod
    def log_change(self, error: float, steps: Reals) -> Reals:
        """Return ln f(error − step) − ln f(error) for the density f and each step."""

    @abstractmethod
    def log_tail(self, distances: Reals) -> Reals:
        """Return ln P[|Z| >= z] for z > 0, also if the probability underflows.

        For discrete noise, the function is smooth between the integers from 1 on. For continuous noise, z = 0 is
        allowed.
        """

    def log_tail_at(self, distance: float) -> float:
        """Return ln P[|Z| >= distance] of a single distance."""
        return float(self.log_tail(cast("Reals", np.float64(distance))))

    @abstractmethod
    def between(self, low: Reals, widths: Reals) -> Reals:
        """Return P[low <= Z < low + width] for widths >= 0, to full relative precision."""

    def tail(self, distances: Reals) -> Reals:
        """Return P[|Z| >= z] for z > 0, to full relative precision."""
        return np.exp(self.log_tail(distances))

    def exceedance(self, errors: Reals) -> Reals:
        """Return P[Z >= error] to full relative precision. It is smooth between integers if Z is discrete."""
        is_above = np.asarray(errors) > 0
        distances = np.where(is_above, errors, 1.0 - errors) if self.is_discrete else np.abs(errors)
        tails = self.tail(distances) / 2
        return np.where(is_above, tails, 1 - tails)

    def log_exceedance(self, errors: Reals) -> Reals:
        """Return ln P[Z >= error], also if the probability underflows."""
        is_above = np.asarray(errors) > 0
        logs = self.log_tail(np.where(is_above, errors, self.first - errors)) - math.log(2)
        return np.where(is_above, logs, np.log1p(-np.exp(logs)))

    def within(self, reach: float) -> float:
        """Return P[|Z| < reach] for reach > 0, also if it is tiny; `reach` is whole if Z is discrete."""
        width = np.array([reach - self.first])
        at_zero = self.peak if self.is_discrete else 0.0
        return at_zero + 2 * float(self.between(np.array([self.first]), width)[0])

    def tabulated(self, reach: float) -> "ErrorLaw":  # noqa: ARG002  (a closed form needs no table)
        """Return a form of the distribution that is fast for many errors up to `reach`: possibly this object."""
        return self

    @property
    def first(self) -> float:
        """The constant c with P[Z < z] = P[Z >= c − z]: 1 if Z is discrete, else 0."""
        return 1.0 if self.is_discrete else 0.0


class CertifiedErrorLaw(ErrorLaw):
    """A distribution of noise with bounds on the numerical error of its tails and masses."""

    __slots__ = ()

    @property
    @abstractmethod
    def rounding(self) -> float:
        """Relative error of a tail or a mass, beyond the rounding of a few operations."""

    @property
    def has_formula(self) -> bool:
        """True if no value takes a numerical integral."""
        return True

    @abstractmethod
    def error_of_between(self, low: Reals, widths: Reals) -> Reals | float:
        """Return the additional absolute error of each mass that `between` returns."""


class ClosedForm(CertifiedErrorLaw):
    """A distribution whose tails and masses are closed formulas, exact up to the rounding of a few operations."""

    rounding: ClassVar[float] = 0.0

    __slots__ = ()

    def error_of_between(self, low: Reals, widths: Reals) -> float:  # noqa: ARG002  (of no mass)
        """Return 0."""
        return 0.0


@frozen
class ErrorLikelihood(Factor):
    """The density of noise at answer − k, as a factor of the count k."""

    answer: float  # the answer, in records
    errors: ErrorLaw
    is_log_concave: bool = True  # True if the logarithm of the density is concave

    @property
    def kinks(self) -> tuple[float, ...]:
        """The answer, except if the density is smooth and log-concave."""
        is_smooth = self.errors.smooth_over > 0 and self.is_log_concave
        return () if is_smooth else (self.answer,)

    def expansion(self, centre: int) -> Expansion:
        """Return the change of the logarithm from the centre. All of it is in the term `bend`."""
        error = self.answer - centre
        return Expansion(Decimal(0), lambda offsets: self.errors.log_change(error, offsets))

    def log_ratio_to_next(self, count: int) -> float:
        """Return the change of the logarithm from this count to the next."""
        return float(self.errors.log_change(self.answer - count, np.ones(1))[0])


_PRECISE = 1e-14  # relative precision of the search; the docstrings promise 1e-11
_FIRST_STEP = 0.1  # first step of the search, relative to its start


class SymmetricNoise(Mechanism):
    """A mechanism Y = K + Z, where the noise Z is symmetric, unimodal and independent of the count K.

    A kind of noise implements the abstract members; the others follow from them.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def errors(self) -> CertifiedErrorLaw:
        """Distribution of the noise Z, evaluated for arrays of errors."""

    @property
    @abstractmethod
    def is_log_concave(self) -> bool:
        """True if the logarithm of the density is concave."""

    @property
    def epsilon(self) -> float | Fraction | None:
        """An ε with δ = 0 for a count of sensitivity 1, or None if no finite ε has δ = 0."""
        largest_log_change = self.errors.largest_log_change
        return None if largest_log_change is None else float(largest_log_change)

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance of the noise, in records²; infinite if it does not exist."""

    @property
    @abstractmethod
    def mean_absolute(self) -> float:
        """E|Z| in records; infinite if it does not exist."""

    @abstractmethod
    def draws(self, size: int, generator: np.random.Generator) -> Reals:
        """Return simulated noise from a seeded generator, in records, shape (size,). Never release these values."""

    @property
    def is_discrete(self) -> bool:
        """True if the answers are integers."""
        return self.errors.is_discrete

    def check_answer(self, answer: float) -> None:
        """Raise ValueError if this noise cannot produce the answer."""
        if not real_number(answer, "answer").is_integer() and self.is_discrete:
            raise ValueError(f"answer must be an integer under discrete noise, got {answer!r}")

    def likelihood(self, answer: float, size: int) -> Factor:  # noqa: ARG002  (additive noise does not depend on the size)
        """Return the likelihood of a count k: the density of the noise at answer − k."""
        self.check_answer(answer)
        return self.factor(float(answer))

    def factor(self, answer: float) -> Factor:
        """Return the likelihood of a count for an answer that has been checked."""
        return ErrorLikelihood(answer, self.errors, self.is_log_concave)

    def tail(self, answer: float, size: int, *, upper: bool) -> ValuedFactor:  # noqa: ARG002  (additive noise does not depend on the size)
        """Return P[Y >= answer | K = k] (upper) or P[Y <= answer | K = k] as a function of the count k."""
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
        size: int | None = None,  # noqa: ARG002  (additive noise does not depend on the size)
    ) -> Reals:
        """Return ln P[Y = answer | K = k], or the logarithm of the density, for each count k.

        Args:
            answer: The answer, in records.
            counts: Counts k, an array of any shape.
            size: Ignored; additive noise does not depend on the number of records.

        Raises:
            ValueError: If this noise cannot give that answer.

        Numerical error: 1e-11, absolute or relative, whichever is larger.
        """
        self.check_answer(answer)
        return self.errors.log_heights(float(answer) - np.asarray(counts, dtype=np.float64))[()]

    def log_tail(self, alpha: float) -> float:
        """Return ln P[|Y − K| >= alpha], alpha in records."""
        errors = self.errors
        return min(0.0, errors.log_tail_at(_smallest_possible_error(errors, alpha))) if alpha > 0 else 0.0

    def log_within(self, alpha: float) -> float:
        """Return ln P[|Y − K| < alpha], alpha in records, also if it is tiny."""
        if alpha <= 0:
            return -math.inf
        errors = self.errors
        reach = _smallest_possible_error(errors, alpha)
        if errors.is_geometric or reach >= errors.spread:  # the tail keeps its distance to 1
            return log_one_minus_exp(min(0.0, errors.log_tail_at(reach)))
        inside = errors.within(reach)
        return math.log(inside) if inside > 0 else -math.inf

    def log_exceedance(self, error: float) -> float:
        """Return ln P[Z >= error], error in records."""
        errors = self.errors
        tail = errors.log_tail_at(error if error > 0 else errors.first - error) + LOG_HALF
        return tail if error > 0 else math.log1p(-math.exp(tail))

    def smallest_error(self, beta: float) -> float:
        """Return the smallest alpha, in records, with P[|Y − K| >= alpha] <= beta, for beta in (0, 1)."""
        return self.error_with_tail(math.log(beta))

    def error_with_tail(self, log_beta: float) -> float:
        """Return the smallest alpha, in records, with ln P[|Y − K| >= alpha] <= log_beta < 0.

        Numerical error: 1e-11 relative; an integer is the smallest up to ties within 1e-12 of beta.
        """
        deviation, largest_log_change = math.sqrt(self.variance), self.errors.largest_log_change
        if log_beta < LOG_HALF:
            start = max(deviation * math.sqrt(-2 * log_beta), -log_beta / float(largest_log_change or math.inf))
        else:
            start = 1.25 * deviation * math.exp(log_one_minus_exp(log_beta))

        def shortfall(alpha: float) -> float:
            return -self.excess(alpha, log_beta) if alpha else -math.inf

        if self.is_discrete:
            first, step = max(1, math.ceil(start)), max(1, math.ceil(_FIRST_STEP * start))
            return int(first_whole(shortfall, bracket_root(shortfall, first, step, (0, math.inf))).high)
        bracket = bracketed_by_factors(shortfall, start, 1 + _FIRST_STEP)
        return root(shortfall, bracket, _PRECISE).high

    def excess(self, alpha: float, log_beta: float) -> float:
        """Return a number that falls in alpha and is positive if P[|Y − K| >= alpha] exceeds beta.

        For beta < 1/2, it is the difference of the logarithms of the tails, which are concave. For larger beta, it is
        that of the masses within alpha, which then keep their relative precision.
        """
        if log_beta < LOG_HALF:
            return self.log_tail(alpha) - log_beta
        return log_one_minus_exp(log_beta) - self.log_within(alpha)


class AdditiveNoise(SymmetricNoise):
    """Noise of a single kind, such as Laplace noise, with a single scale."""

    __slots__ = ()

    scales: ClassVar[tuple[float, float]] = (2.0**-52, 2.0**52)
    """Smallest and largest scale with a variance that a float can represent."""

    @abstractmethod
    def __init__(self, scale: float | Fraction) -> None:
        """Build noise of a scale in records."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the kind of noise in plain text, such as "discrete Gaussian"."""

    @property
    @abstractmethod
    def scale(self) -> float | Fraction:
        """Width of the noise, in records: a larger scale has a larger variance."""

    @property
    def exact_scale(self) -> Fraction:
        """The scale as an exact rational number."""
        return Fraction(self.scale)

    @property
    def variance_rounding(self) -> float:
        """Relative error of the variance, beyond the rounding of a few operations."""
        return 0.0


def require_log_concave(noise: SymmetricNoise, what: str) -> None:
    """Raise ValueError if the density is not log-concave. A decision would then need several thresholds."""
    if not noise.is_log_concave:
        raise ValueError(
            f"mechanism must have a log-concave density for {what}, which rests on a single threshold, got {noise!r}"
        )


def _smallest_possible_error(errors: ErrorLaw, alpha: float) -> float:
    """Return the smallest possible error that is at least alpha."""
    return math.ceil(alpha) if errors.is_discrete else alpha


@frozen
class ContinuousNoise(AdditiveNoise):
    """Noise on the real numbers, with any positive scale.

    Attributes:
        scale: In records, positive and finite.
    """

    scale: float = field()  # without field(), the property of the base class would become the default value

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_number(self.scale, "scale"))

    def on_grid(self, count: int, steps: Callable[[Fraction, RandomIntegers], int]) -> float:
        """Return the count plus noise on a public grid.

        Args:
            count: The true count, a whole number.
            steps: A function that draws the noise in grid steps, given the scale in grid steps.
        """
        grid = public_grid(self.scale)
        drawn = steps(self.exact_scale / grid, RandomIntegers())
        return float(whole_number(count, "count") + drawn * grid)


class Sampler(NamedTuple):
    """Exact samplers of an integer distribution with a rational scale."""

    one: Callable[[Fraction, RandomIntegers], int]  # draws one number
    many: Callable[..., NDArray[np.int64]]  # draws an array from the same distribution


@frozen(init=False)
class DiscreteNoise(AdditiveNoise):
    """Noise on the integers. Each kind defines the meaning of its scale."""

    scales: ClassVar[tuple[float, float]] = (2.0**-10, 2.0**52)  # below, the variance underflows
    sampler: ClassVar[Sampler]

    scale: Fraction = field()  # without field(), the property of the base class would become the default value

    def __init__(self, scale: float | Fraction) -> None:
        object.__setattr__(self, "scale", drawable_scale(fraction_as_written(scale, "scale")))

    def release(self, count: int) -> int:
        """Return the count plus one exact draw of the noise.

        Args:
            count: The true count, a whole number.
        """
        return whole_number(count, "count") + self.sampler.one(self.scale, RandomIntegers())

    def samples(self, size: int) -> NDArray[np.int64]:
        """Return independent exact draws of the noise, in records, shape (size,)."""
        return self.sampler.many(self.scale, whole_number(size, "size"))

    def draws(self, size: int, generator: np.random.Generator) -> Reals:
        """Return simulated noise from a seeded generator, in records, shape (size,). Never release these values."""
        return self.sampler.many(self.scale, size, generator.bytes).astype(np.float64)
