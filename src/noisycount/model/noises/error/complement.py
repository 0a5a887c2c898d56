"""The logarithm of the other side of a probability."""

import math

__all__ = ["LOG_HALF", "log_one_minus_exp"]

LOG_HALF = -math.log(2)
"""ln(1/2): of a tail and the mass within, the one below it is the part that keeps its digits."""


def log_one_minus_exp(logarithm: float) -> float:
    """ln(1 − e^x) for x <= 0, to full relative precision at both ends."""
    if logarithm > LOG_HALF:
        return math.log(-math.expm1(logarithm)) if logarithm < 0 else -math.inf
    return math.log1p(-math.exp(logarithm))
