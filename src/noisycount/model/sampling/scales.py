"""Scales as the samplers need them: rationals of bounded terms, steps of a public grid."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from numbers import Integral

from noisycount.model.sampling.vectors import LARGEST_TERM
from noisycount.validation import Exactly, positive_number, written

_GRID_BITS = 40  # 2^40 steps a scale, or more: `Gaussian.release` derives how near that comes


def as_written(value: float | Fraction, name: str) -> Fraction:
    """The positive rational that a number stands for: a float is the decimal shown for it.

    Its terms are Python's integers: those of NumPy overflow silently, and noise would be too small.
    """
    number = positive_number(value, name)
    if isinstance(value, Fraction):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(int(value)) if isinstance(value, Integral) else Fraction(str(number))


def price_as_written(value: Exactly, name: str) -> Fraction:
    """The positive rational that a price stands for, which may be a text or a decimal too."""
    if not isinstance(value, (str, Decimal)):
        return as_written(value, name)
    number = written(value)
    if number is None or number <= 0:
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
    return number


def check_range(scale: float | Fraction) -> None:
    """Refuse, with a ValueError, a scale outside 2^−52..2^52 records.

    The decimal that is shown for 2.0**-52 is a little less: it is the float that is compared.
    """
    if float(scale) < 2.0**-52 or scale > 2**52:
        raise ValueError(f"scale must be between 2**-52 and 2**52 records, got {float(scale)!r}")


def drawable(scale: Fraction) -> Fraction:
    """The scale, rounded up where its terms are too large for the vectorised sampler."""
    check_range(scale)
    if max(scale.numerator, scale.denominator) <= LARGEST_TERM:
        return scale
    if scale < 1:
        return 1 / _to_53_bits(1 / scale, math.floor)
    return _to_53_bits(scale, math.ceil)


def _to_53_bits(value: Fraction, rounded: Callable[[Fraction], int]) -> Fraction:
    """A number of at least 1, rounded to 53 significant bits."""
    shift = 2 ** (53 - math.floor(value).bit_length())
    return Fraction(rounded(value * shift), shift)


def public_grid(scale: float) -> Fraction:
    """The step 2^min(0, ⌊log2 scale⌋ − 40) of continuous answers, in records."""
    return Fraction(2) ** min(0, math.frexp(scale)[1] - 1 - _GRID_BITS)
