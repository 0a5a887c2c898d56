"""The smallest error that is exceeded no more often than a goal, found by its tail."""

import math
from typing import Protocol

from noisycount.model.search import bracketed, bracketed_by_factors, first_whole, root

__all__ = ["LOG_HALF", "excess", "log_one_minus_exp", "smallest_error"]

_PRECISE = 1e-14  # relative; 1e-11 is promised
_FIRST_STEP = 0.1  # of the start, which the Gaussian law of the same variance tells
LOG_HALF = -math.log(2)
"""ln(1/2): of a tail and the mass within, the one below it is the part that keeps its digits."""


class Tailed(Protocol):
    """Symmetric noise Z."""

    @property
    def is_discrete(self) -> bool:
        """Whether Z is an integer."""
        ...

    @property
    def variance(self) -> float:
        """In records²."""
        ...

    def log_tail(self, alpha: float) -> float:
        """The logarithm of P[|Z| >= alpha]."""
        ...

    def log_within(self, alpha: float) -> float:
        """The logarithm of P[|Z| < alpha]."""
        ...


def log_one_minus_exp(logarithm: float) -> float:
    """ln(1 − e^x) for x <= 0, to full relative precision at both ends."""
    if logarithm > LOG_HALF:
        return math.log(-math.expm1(logarithm)) if logarithm < 0 else -math.inf
    return math.log1p(-math.exp(logarithm))


def excess(noise: Tailed, alpha: float, log_beta: float) -> float:
    """Positive where P[|Z| >= alpha] exceeds beta, falling in alpha, and smooth where Z is not.

    Below beta = 1/2 the difference of the logarithms of the tails, which are concave; above that of
    the masses within alpha, which are then the part that keeps its digits.
    """
    if log_beta < LOG_HALF:
        return noise.log_tail(alpha) - log_beta
    return log_one_minus_exp(log_beta) - noise.log_within(alpha)


def smallest_error(noise: Tailed, log_beta: float) -> float:
    """The smallest alpha, in records, with ln P[|Z| >= alpha] <= log_beta < 0.

    Numerical error: 1e-11 relative; an integer is the smallest up to ties within 1e-12 of beta.
    """
    deviation = math.sqrt(noise.variance)
    if log_beta < LOG_HALF:
        start = deviation * math.sqrt(-2 * log_beta)
    else:
        start = 1.25 * deviation * math.exp(log_one_minus_exp(log_beta))

    def missing(alpha: float) -> float:
        return -excess(noise, float(alpha), log_beta) if alpha else -math.inf

    if noise.is_discrete:
        first, step = max(1, math.ceil(start)), max(1, math.ceil(_FIRST_STEP * start))
        return int(first_whole(missing, bracketed(missing, first, step, (0, math.inf))).high)

    bracket = bracketed_by_factors(missing, start, 1 + _FIRST_STEP)
    return root(missing, bracket, _PRECISE).high
