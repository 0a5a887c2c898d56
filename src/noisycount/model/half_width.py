"""Half-width of the interval that contains discrete noise, and the ε that achieves a half-width.

`readable_epsilon_within` is public; `noises.laplace` has the noise.
"""

import math
from decimal import ROUND_CEILING, Context
from fractions import Fraction

from noisycount.model.noises.additive import AdditiveNoise, log_one_minus_exp
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.sampling.scalar import fraction_as_written
from noisycount.validation import open_probability, positive_number, whole_number

_READABLE = Context(prec=2, rounding=ROUND_CEILING)  # a larger ε is more accurate, so the goal is still met


def readable_epsilon_within(error: float | Fraction, confidence: float, queries: int = 1) -> Fraction:
    """Return the ε with which discrete Laplace noise stays within ±error, rounded up to two digits.

    All k answers lie within ±m, m = ⌊error⌋, with probability (1 − b)^k, where b = 2e^(−(m+1)ε)/(1 + e^−ε). At the ε of
    continuous noise, −ln(1 − confidence^(1/k))/error, this can be less than the confidence. The result is the larger ε
    of the two, rounded up to a decimal of two significant digits.

    Args:
        error: The half-width of the interval, in records, positive.
        confidence: The probability that all answers lie inside, in (0, 1).
        queries: The number k of answers, at least 1.

    Raises:
        ValueError: If the error is not positive and finite, the confidence is not in (0, 1), or queries is not a
            positive whole number.

    Source: Naldi and D'Acquisto (2015), eq. (7) and (10), for discrete noise and several answers.
    Numerical error: ε is an exact decimal; whether it keeps the goal is decided by logarithms of probabilities in
    doubles.

    Example:
        >>> import noisycount as nc
        >>> nc.readable_epsilon_within(15, 0.95, queries=10)
        Fraction(9, 25)
    """
    width = fraction_as_written(error, "error")
    log_beta = _log_beta_of_one_answer(confidence, queries)
    epsilon = _READABLE.create_decimal_from_float(epsilon_within(error, confidence, queries))
    too_large = math.floor(width) + 1
    while DiscreteLaplace.for_epsilon(Fraction(epsilon)).excess(too_large, log_beta) > 0:
        epsilon = _READABLE.next_plus(epsilon)
    return Fraction(epsilon)


def epsilon_within(error: float | Fraction, confidence: float, queries: int = 1) -> float:
    """Return the ε with which continuous Laplace noise stays within ±error in all of k answers.

    ε = −ln(1 − confidence^(1/k))/error.
    """
    return -_log_beta_of_one_answer(confidence, queries) / positive_number(error, "error")


def error_within(noise: AdditiveNoise, confidence: float, queries: int = 1) -> int:
    """Return the smallest m, in records, such that all answers lie within ±m with that confidence."""
    return int(noise.error_with_tail(_log_beta_of_one_answer(confidence, queries))) - 1


def _log_beta_of_one_answer(confidence: float, queries: int) -> float:
    """Return ln b for the b with (1 − b)^k = confidence."""
    inside = math.log(open_probability(confidence, "confidence"))
    return log_one_minus_exp(inside / whole_number(queries, "queries", smallest=1))
