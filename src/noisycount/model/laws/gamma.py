"""Logarithms of binomial distributions and of ratios of gamma functions around a count, without cancellation.

`Expansion` represents such a logarithm; `factors` builds likelihoods and priors from it.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisycount.frozen import frozen

Reals = NDArray[np.float64]
# Slopes are summed in 60 digits, because near a mode they cancel and are then multiplied by large offsets.
DIGITS = Context(prec=60)


def decimal_ratio(value: Fraction) -> Decimal:
    """Return the fraction as a decimal of 60 digits."""
    return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


_LARGE = 64.0  # nats: terms above this size are summed exactly if they cancel
_KEPT = 8.0  # terms cancel if the sum of their sizes exceeds the size of their sum by this factor


class Kink(NamedTuple):
    """The piecewise linear function weight·max(side·(d − place), 0) of an offset d."""

    place: Decimal  # offset of the bend, in 60 digits
    side: int  # 1 if the function is linear above the bend, −1 if below
    weight: Decimal  # slope per record, in 60 digits

    @property
    def mirrored(self) -> "Kink":
        """The function of the negative offset."""
        return Kink(DIGITS.minus(self.place), -self.side, self.weight)

    def exact(self, offset: Decimal) -> Decimal:
        """Return the value at one offset, in 60 digits."""
        beyond = DIGITS.multiply(Decimal(self.side), DIGITS.subtract(offset, self.place))
        return DIGITS.multiply(self.weight, max(beyond, Decimal(0)))


@frozen
class Expansion:
    """The change of a logarithm around a count c: ln f(c + d) − ln f(c) as a function of the offset d.

    It is slope·d + curvature·d² + kinks + bend(d). For very narrow noise, the first three terms may be 10^31 nats and
    cancel. They are then summed in 60 digits.
    """

    slope: Decimal  # per record, in 60 digits
    bend: Callable[[Reals], Reals]  # remaining terms as a function of offsets d in records, precise near d = 0
    curvature: Decimal = Decimal(0)  # per squared record, in 60 digits
    kinks: tuple[Kink, ...] = ()  # piecewise linear terms

    @classmethod
    def of_product(cls, factors: Sequence["Expansion"]) -> "Expansion":
        """Return the expansion of a product of at least one factor."""
        return Expansion(
            reduce(DIGITS.add, [factor.slope for factor in factors]),
            lambda offsets: reduce(np.add, (factor.bend(offsets) for factor in factors)),
            reduce(DIGITS.add, [factor.curvature for factor in factors]),
            tuple(kink for factor in factors for kink in factor.kinks),
        )

    def __add__(self, other: "Expansion") -> "Expansion":
        """Return the expansion of the product of two factors."""
        return Expansion.of_product((self, other))

    @property
    def mirrored(self) -> "Expansion":
        """The expansion in the other direction, as a function of the negative offset."""
        return Expansion(
            DIGITS.minus(self.slope),
            lambda offsets: self.bend(-offsets),
            self.curvature,
            tuple(kink.mirrored for kink in self.kinks),
        )

    def __call__(self, offsets: Reals) -> Reals:
        """Return the change of the logarithm at each offset from the centre, in the shape of `offsets`."""
        change: Reals = float(self.slope) * offsets
        if self.curvature or self.kinks:
            change = self._sum_terms(offsets, change)
        return change + self.bend(offsets)

    def _sum_terms(self, offsets: Reals, straight: Reals) -> Reals:
        """Return the change without `bend`; offsets whose terms cancel are computed in 60 digits."""
        terms = [straight, float(self.curvature) * offsets * offsets]
        for place, side, weight in self.kinks:
            terms.append(float(weight) * np.maximum(side * (offsets - float(place)), 0.0))
        change = np.asarray(reduce(np.add, terms))
        sizes = reduce(np.add, map(np.abs, terms))
        cancels = (sizes > _LARGE) & (np.abs(change) * _KEPT < sizes)
        if cancels.any():
            change[cancels] = [self._exact_sum(Decimal(offset)) for offset in offsets[cancels].tolist()]
        return change

    def _exact_sum(self, offset: Decimal) -> float:
        """Return the change at one offset without `bend`, summed in 60 digits."""
        line = DIGITS.fma(self.curvature, offset, self.slope)
        parts = [DIGITS.multiply(line, offset), *(kink.exact(offset) for kink in self.kinks)]
        return float(reduce(DIGITS.add, parts))


FLAT = Expansion(Decimal(0), np.zeros_like)  # a constant function
_SHIFT = 16  # from this argument on, Stirling's series has double precision
_STEPS = np.arange(float(_SHIFT))
# B_2k/(2k·(2k − 1)) with Bernoulli numbers B_2k, the coefficients of x^(1−2k) in Stirling's error.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_FEWER = (64.0, 64.0, 64.0, 150.0, 1000.0, 1.5e5)  # from each of these x on, one term less gives 18 digits
_SMALLEST = 2.0**-1022  # the smallest double of full precision
_SMALL = 0.1  # up to this |u|, the series of the deviance has double precision
_LEAST_RATIO = 2.0**-53 - 1  # smallest ratio: an exact −1 is only a rounding error
_PLACES = 18.0  # digits of the series of the deviance, more than a double has
# Coefficients of u^18 to u^2 in (1 + u)·ln(1 + u) − u. The next term is below 1e-19 of u²/2.
_SERIES = tuple((-1.0) ** k / (k * (k - 1)) for k in range(18, 1, -1))


def stirling_error(points: Reals) -> Reals:
    """Return Stirling's error δ(x) = ln Γ(x) − [(x − 1/2)·ln x − x + ln(2π)/2] for x > 0.

    Absolute error 1e-15 for x >= 1. Below 16 the argument is raised by δ(x) − δ(x + 1) = (x + 1/2)·ln(1 + 1/x) − 1.
    """
    smallest = float(points.min()) if points.size else math.inf
    small = points < _SHIFT if smallest < _SHIFT else None
    lifted = points if small is None else np.where(small, points + _SHIFT, points)
    inverse = 1 / lifted
    terms = len(_STIRLING) - bisect_right(_FEWER, smallest)
    if terms == 1:
        return inverse * _STIRLING[0]
    square = inverse * inverse
    error = np.full(points.shape, _STIRLING[terms - 1])
    for coefficient in reversed(_STIRLING[: terms - 1]):
        error *= square
        error += coefficient
    error *= inverse
    if small is not None:
        raised = points[small][:, None] + _STEPS
        error[small] += ((raised + 0.5) * _log_growth(raised) - 1).sum(axis=1)
    return error


def _log_growth(points: Reals) -> Reals:
    """Return ln(1 + 1/x) for x > 0, also if 1/x overflows."""
    large = np.maximum(points, 1.0)
    small_x = points / large  # x if x < 1, else 1
    return np.where(points < 1, np.log1p(small_x) - np.log(small_x), np.log1p(1 / large))


def _deviance(ratios: Reals) -> Reals:
    """Return (1 + u)·ln(1 + u) − u for u > −1, to full relative precision also near u = 0."""
    sizes = np.abs(ratios)
    largest = float(sizes.max(initial=0.0))
    if largest < _SMALL:
        return _near_deviance(ratios, largest)
    small = sizes < _SMALL
    far = np.where(small, 1.0, ratios)
    near = _near_deviance(np.where(small, ratios, 0.0), _SMALL)
    return np.where(small, near, (1 + far) * np.log1p(far) - far)


def _near_deviance(ratios: Reals, largest: float) -> Reals:
    """Return the deviance by its series, for |u| <= largest <= 1/10."""
    terms = 2 + int(_PLACES / -math.log10(max(largest, _SMALLEST)))
    first, *others = _SERIES[-terms:]
    series = np.full_like(ratios, first)
    for coefficient in others:
        series *= ratios
        series += coefficient
    series *= ratios
    series *= ratios
    return series


def log_gamma_bends(points: Sequence[float], offsets: Reals) -> Reals:
    """Return the sum of ln Γ(x + d) − ln Γ(x) − d·ln x over several points x, each with its own offsets d.

    Each term is x·((1 + u)·ln(1 + u) − u) − ln(1 + u)/2 + δ(x + d) − δ(x) with u = d/x and Stirling's error δ.

    Args:
        points: The points x >= 1.
        offsets: The offsets, shape (points, …).
    """
    rows = offsets.reshape(len(points), -1)
    starts = np.array(points, dtype=np.float64)[:, None]
    ratios = np.maximum(rows / starts, _LEAST_RATIO)
    # A point is at least 1; only the rounding of 2^53 + 1 could make it smaller.
    errors = stirling_error(np.concatenate([np.maximum(starts + rows, 1.0), starts], axis=1))
    changes: Reals = starts * _deviance(ratios) - np.log1p(ratios) / 2
    changes += errors[:, :-1] - errors[:, -1:]
    total: Reals = np.add.reduce(changes, axis=0)
    return total.reshape(offsets.shape[1:])


def gamma_ratio_expansion(count: int, shape: float) -> Expansion:
    """Return the expansion of ln Γ(k + shape)/Γ(k + 1) around k = count.

    If the arguments of the two gamma functions are far apart, each function is expanded by itself.
    """
    if shape <= count + 2:
        return Expansion(Decimal(0), lambda offsets: _gamma_ratio_change(count, shape, offsets))
    lower, upper = count + 1, count + shape
    exact_upper = DIGITS.add(Decimal(count), Decimal(shape))
    slope = DIGITS.ln(DIGITS.divide(exact_upper, Decimal(lower)))

    def bend(offsets: Reals) -> Reals:
        return log_gamma_bends([upper], offsets[None]) - log_gamma_bends([lower], offsets[None])

    return Expansion(slope, bend)


def _gamma_ratio_change(count: int, shape: float, offsets: Reals) -> Reals:
    """Return the change of ln Γ(k + shape)/Γ(k + 1) from k = count to count + d, for shape <= count + 2.

    With x = count + 1 and a = shape − 1 it equals a·ln(1 + d/x) + d·ln(1 + a/(x + d)) + (x + a − 1/2)·ln(1 − a·d/((x +
    d)·(x + a))) + δ(x + d + a) − δ(x + d) − δ(x + a) + δ(x) with Stirling's error δ: the large and equal parts of the
    two gamma functions are gone.
    """
    excess = shape - 1
    lower, upper = count + 1, count + shape
    moved = count + offsets
    moved_lower, moved_upper = moved + 1, moved + shape
    errors = stirling_error(np.stack([moved_upper, moved_lower]))
    first = stirling_error(np.array([upper, lower]))
    change: Reals = excess * _log_ratio(moved_lower, lower, offsets)
    change += offsets * _log_ratio(moved_upper, moved_lower, excess)
    products = moved_upper * lower, moved_lower * upper
    change += (upper - 0.5) * _log_ratio(*products, -excess * offsets)
    change += (errors[0] - errors[1]) - (first[0] - first[1])
    return change


def _log_ratio(upper: Reals, lower: float | Reals, difference: float | Reals) -> Reals:
    """Return ln(upper/lower), computed from their difference if they are nearly equal."""
    near = 2 * upper > lower
    with np.errstate(over="ignore", divide="ignore"):
        ratios = np.where(near, 1.0, upper / lower)
        change: Reals = np.where(near, np.log1p(np.where(near, difference / lower, 0.0)), 0.0)
    change += np.log(np.maximum(ratios, _SMALLEST))
    far = (ratios < _SMALLEST) | np.isinf(change)
    if far.any():
        change = np.where(far, np.log(upper) - np.log(lower), change)
    return change


def binomial_expansion(size: int, rate: float, centre: int) -> Expansion:
    """Return the expansion of ln P[K = centre + d] for K ~ Bin(size, rate), 0 < rate < 1.

    It follows from C(n, c+d)/C(n, c) = Γ(c+1)·Γ(n−c+1) / (Γ(c+d+1)·Γ(n−c−d+1)).
    """
    above, below = centre + 1, size - centre + 1
    exact_rate = Decimal(rate)
    odds = DIGITS.divide(exact_rate, DIGITS.subtract(Decimal(1), exact_rate))
    slope = DIGITS.ln(DIGITS.multiply(odds, DIGITS.divide(Decimal(below), Decimal(above))))

    def bend(offsets: Reals) -> Reals:
        return -log_gamma_bends([above, below], np.stack([offsets, -offsets]))

    return Expansion(slope, bend)


def log_hypergeometric(positives: Reals, counts: Reals, size: int, sample_size: int) -> Reals:
    """Return ln P[S = s | K = k] for the positives S in a sample of m among n records; −inf for probability 0.

    It is ln(b(s; k)·b(m − s; n − k)/b(m; n)) for binomial probabilities b of rate m/n.

    Source: Loader (2000), Fast and accurate computation of binomial probabilities.
    """
    complement = sample_size - positives, size - counts
    with np.errstate(divide="ignore", invalid="ignore"):
        logs: Reals = _log_binomial(positives, counts, size, sample_size) + _log_binomial(
            *complement, size, sample_size
        )
        logs -= _log_binomial(np.array(sample_size), np.array(size), size, sample_size)
    possible = (positives >= 0) & (positives <= counts) & (complement[0] >= 0) & (complement[0] <= complement[1])
    return np.where(possible, logs, -np.inf)


def _log_binomial(chosen: Reals, number: Reals, size: int, sample_size: int) -> Reals:
    """Return ln P[chosen] of the binomial distribution with `number` trials and rate m/n, for 0 <= chosen <= number.

    The deviances hold at both ends too. The rounding of m/n and 1 − m/n cancels in the product of three probabilities.
    """
    first, second = np.broadcast_arrays(np.asarray(chosen, np.float64), np.asarray(number, np.float64))
    second = np.clip(second, 0, size)
    first = np.clip(first, 0, second)
    complement = second - first
    inner = np.maximum(np.stack([second, first, complement]), 1)
    errors = stirling_error(inner)
    roots = np.log(inner[0] / inner[1] / inner[2] / (2 * np.pi)) / 2
    logs: Reals = np.where((first > 0) & (complement > 0), errors[0] - errors[1] - errors[2] + roots, 0.0)
    for part, share in ((first, sample_size / size), (complement, (size - sample_size) / size)):
        expected = second * share
        ratios = np.divide(part - expected, expected, out=np.zeros_like(expected), where=expected > 0)
        logs = logs - expected * _deviance(np.maximum(ratios, _LEAST_RATIO))
    return logs
