"""Scales as rational numbers, and exact integer noise from the operating system's randomness, one draw at a time.

All arithmetic is on uniform random integers: a draw uses no floating point, logarithm or clock. The algorithms are
those of Canonne, Kamath and Steinke, *The Discrete Gaussian for Differential Privacy* (2020). `vectors` draws arrays
from the same distributions.
"""

import math
import os
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from numbers import Integral

from noisycount.validation import RationalLike, parse_rational, positive_number

Entropy = Callable[[int], bytes]
_BLOCK = 64  # bytes read at once, as a draw takes several integers and each system call is slow
# The largest numerator and denominator of a scale. Their products with twice a trial number, or
# with the units of e^−1 that a draw is far out, stay under 2^63: a trial of 2^9 has a chance below
# 10^−1000, a draw of 2^9 units one of e^−512.
LARGEST_TERM = 2**53
_GRID_BITS = 40  # at least 2^40 grid steps a scale; `Gaussian.release` states the resulting error


def fraction_as_written(value: float | Fraction, name: str) -> Fraction:
    """Return the positive rational that a number stands for: a float stands for the decimal that Python prints.

    The numerator and the denominator are Python's integers: those of NumPy overflow silently, and noise would be too
    small.
    """
    number = positive_number(value, name)
    if isinstance(value, Fraction):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(int(value)) if isinstance(value, Integral) else Fraction(str(number))


def price_as_written(value: RationalLike, name: str) -> Fraction:
    """Return the positive rational that a price stands for; a text or a decimal is accepted too."""
    if not isinstance(value, (str, Decimal)):
        return fraction_as_written(value, name)
    number = parse_rational(value)
    if number is None or number <= 0:
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
    return number


def check_range(scale: float | Fraction) -> None:
    """Raise ValueError if a scale lies outside 2^−52..2^52 records.

    The decimal printed for 2.0**-52 is slightly smaller than this float, so the float is compared.
    """
    if float(scale) < 2.0**-52 or scale > 2**52:
        raise ValueError(f"scale must be between 2**-52 and 2**52 records, got {float(scale)!r}")


def drawable_scale(scale: Fraction) -> Fraction:
    """Return the scale, rounded up if its terms are too large for the vectorised sampler."""
    check_range(scale)
    if max(scale.numerator, scale.denominator) <= LARGEST_TERM:
        return scale
    if scale < 1:
        return 1 / _to_53_bits(1 / scale, math.floor)
    return _to_53_bits(scale, math.ceil)


def _to_53_bits(value: Fraction, rounded: Callable[[Fraction], int]) -> Fraction:
    """Return a number of at least 1, rounded to 53 significant bits."""
    shift = 2 ** (53 - math.floor(value).bit_length())
    return Fraction(rounded(value * shift), shift)


def public_grid(scale: float) -> Fraction:
    """Return the grid step 2^min(0, ⌊log2 scale⌋ − 40) of continuous answers, in records."""
    return Fraction(2) ** min(0, math.frexp(scale)[1] - 1 - _GRID_BITS)


class RandomIntegers:
    """Uniform random integers from random bytes, which are read as needed.

    An instance serves one release: nothing is shared between threads or forked processes.

    Attributes:
        entropy: A function that returns a number of random bytes; by default `os.urandom`.
    """

    __slots__ = ("_available", "_entropy", "_pool")

    def __init__(self, entropy: Entropy = os.urandom) -> None:
        self._entropy = entropy
        self._pool = 0
        self._available = 0

    def bits(self, width: int) -> int:
        """Return a uniform integer of `width` random bits."""
        while self._available < width:
            fresh = int.from_bytes(self._entropy(_BLOCK), "little")
            self._pool |= fresh << self._available
            self._available += 8 * _BLOCK
        value = self._pool & ((1 << width) - 1)
        self._pool >>= width
        self._available -= width
        return value

    def below(self, bound: int) -> int:
        """Return a uniform integer in 0..bound − 1, by rejection sampling."""
        width = (bound - 1).bit_length()
        value = self.bits(width)
        while value >= bound:
            value = self.bits(width)
        return value


def bernoulli_exp(numerator: int, denominator: int, integers: RandomIntegers) -> bool:
    """Return True with probability exactly e^(−numerator/denominator), for a ratio of at least 0.

    For γ <= 1 the first k at which a Bernoulli(γ/k) fails is odd with probability Σ (−γ)^k/k! = e^−γ; whole units of a
    larger γ are split off.

    Source: Canonne, Kamath, Steinke (2020), Algorithm 1.
    """
    while numerator > denominator:
        if not bernoulli_exp(1, 1, integers):
            return False
        numerator -= denominator
    trial = 1
    while integers.below(denominator * trial) < numerator:
        trial += 1
    return trial % 2 == 1


def exponential_steps(scale: Fraction, integers: RandomIntegers) -> int:
    """Return a geometric number: P[G >= g] = e^(−g/scale) for g = 0, 1, 2, …."""
    units = scale.numerator
    offset = integers.below(units)
    while not bernoulli_exp(offset, units, integers):
        offset = integers.below(units)
    whole = 0
    while bernoulli_exp(1, 1, integers):
        whole += 1
    return (offset + units * whole) // scale.denominator


def discrete_laplace(scale: Fraction, integers: RandomIntegers) -> int:
    """Return one exact draw of the discrete Laplace distribution P[Z = z] ∝ e^(−|z|/scale).

    Source: Canonne, Kamath, Steinke (2020), Algorithm 2.
    """
    while True:
        magnitude = exponential_steps(scale, integers)
        negative = integers.bits(1)
        if magnitude or not negative:
            return -magnitude if negative else magnitude


def discrete_gaussian(scale: Fraction, integers: RandomIntegers) -> int:
    """Return one exact draw of the discrete Gaussian distribution P[Z = z] ∝ e^(−z²/(2·scale²)).

    A discrete Laplace z of the same scale is kept with probability e^(−(|z|/scale − 1)²/2), which is at least 55.7 % of
    the draws at any scale.

    Source: Canonne, Kamath, Steinke (2020), Algorithm 3, with t = scale: their Laplace sampler needs a whole t, ours
    takes any rational.
    """
    units = scale.numerator
    while True:
        draw = discrete_laplace(scale, integers)
        excess = abs(draw) * scale.denominator - units
        if bernoulli_exp(excess * excess, 2 * units * units, integers):
            return draw


def rounded_laplace(scale: Fraction, integers: RandomIntegers) -> int:
    """Return one exact draw of the continuous Laplace distribution, rounded to the nearest integer.

    As P[|Z| >= j] = e^(−(j − 1/2)/scale) for j >= 1, a Bernoulli variable decides if Z is 0, and a geometric variable
    then gives |Z| − 1.
    """
    if bernoulli_exp(scale.denominator, 2 * scale.numerator, integers):
        magnitude = 1 + exponential_steps(scale, integers)
        return -magnitude if integers.bits(1) else magnitude
    return 0
