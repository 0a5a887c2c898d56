"""Which ε meets a goal that an owner can say in words?"""

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from noisycount.analysis.accuracy import failure_probability
from noisycount.model.noise import DiscreteLaplace
from noisycount.model.validation import fraction_of_one, positive_number

__all__ = ["epsilon_for_relative_error", "readable_epsilon"]

_READABLE = Context(prec=2, rounding=ROUND_CEILING)


def epsilon_for_relative_error(count: float, within: float, confidence: float) -> float:
    """The ε with which Laplace noise stays within ±within·count with that confidence.

    ε = −ln(1 − confidence) / (within·count).

    Args:
        count: A public guess of the count, in records; never the true count, which ε would reveal.
        within: The relative half-width of the interval, positive (0.2 is ±20 %).
        confidence: The probability of an answer inside it, in (0, 1).

    Raises:
        ValueError: If the guess or the width is not positive and finite, or the confidence is not
            in (0, 1).

    Source: Naldi and D'Acquisto (2015), eq. (10); the sign of its example is a misprint.
    Numerical error: 3 units in the last place.

    Example:
        >>> round(epsilon_for_relative_error(100, 0.2, 0.8), 6)
        0.080472
    """
    width = positive_number(within, "within") * positive_number(count, "count")
    return -math.log1p(-fraction_of_one(confidence, "confidence")) / width


def readable_epsilon(count: float, within: float, confidence: float) -> Fraction:
    """The ε of `epsilon_for_relative_error`, raised until discrete noise keeps the promise too.

    Discrete Laplace noise lies within ±m, m = ⌊within·count⌋, with probability
    1 − 2e^(−(m+1)ε)/(1 + e^−ε), which can be less than the confidence at the ε of eq. (10). The
    result is rounded up to a decimal of two significant digits.

    Args:
        count: A public guess of the count, in records; never the true count.
        within: The relative half-width of the interval, positive.
        confidence: The probability of an answer inside it, in (0, 1).

    Raises:
        ValueError: As for `epsilon_for_relative_error`.

    Source: Naldi and D'Acquisto (2015), eq. (7) and (10).

    Example:
        >>> readable_epsilon(100, 0.2, 0.95)
        Fraction(3, 20)
    """
    continuous = epsilon_for_relative_error(count, within, confidence)
    largest_error = math.floor(_exact(within) * _exact(count))
    epsilon = _READABLE.create_decimal_from_float(continuous)
    while not _keeps(epsilon, largest_error, confidence):
        epsilon = _next_readable(epsilon)
    return Fraction(epsilon)


def _exact(value: float) -> Fraction:
    """The decimal that is shown for a number, as a fraction."""
    return Fraction(str(value))


def _keeps(epsilon: Decimal, largest_error: int, confidence: float) -> bool:
    """Whether discrete Laplace noise lies within ±largest_error with that confidence."""
    noise = DiscreteLaplace.for_epsilon(Fraction(epsilon))
    return failure_probability(noise, largest_error + 1) <= 1 - confidence


def _next_readable(epsilon: Decimal) -> Decimal:
    """The next larger decimal of two significant digits."""
    return _READABLE.next_plus(epsilon)
