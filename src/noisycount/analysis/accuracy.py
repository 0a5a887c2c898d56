"""How far is the answer from the count?"""

import math

from noisycount.model.additive import AdditiveNoise
from noisycount.model.validation import fraction_of_one, real_number, whole_number

__all__ = ["accuracy", "failure_probability"]


def accuracy(noise: AdditiveNoise, beta: float, queries: int = 1) -> float:
    """The smallest alpha with P[any |error| >= alpha] <= beta.

    One answer fails with probability b(α) = P[|Z| >= α], any of k independent ones with
    1 − (1 − b(α))^k. Under discrete noise alpha is an integer, and an answer lies within
    ±(alpha − 1) with probability at least 1 − beta.

    Args:
        noise: The noise of each answer.
        beta: The probability of failure, in (0, 1).
        queries: The number of answers with independent noise, at least 1.

    Returns:
        Alpha in records; an `int` under discrete noise.

    Raises:
        ValueError: If beta is not in (0, 1) or queries is not a positive whole number.

    Source: blog *Analyzing Utility of Private Mechanisms*, (α, β)-accuracy; exact in place of its
    union bound, which is `accuracy(noise, beta / queries)`.

    Example:
        >>> from noisycount.model.noise import DiscreteLaplace
        >>> accuracy(DiscreteLaplace.for_epsilon(0.15), 0.05)
        21
    """
    answers = whole_number(queries, "queries", smallest=1)
    whole = fraction_of_one(beta, "beta")
    return noise.smallest_error(-math.expm1(math.log1p(-whole) / answers))


def failure_probability(noise: AdditiveNoise, alpha: float, queries: int = 1) -> float:
    """P[any |error| >= alpha], the inverse of `accuracy`.

    Args:
        noise: The noise of each answer.
        alpha: The error in records, at least 0.
        queries: The number of answers with independent noise, at least 1.

    Raises:
        ValueError: If alpha is negative or not finite, or queries is not a positive whole number.

    Source: as for `accuracy`.

    Example:
        >>> from noisycount.model.noise import Laplace
        >>> round(failure_probability(Laplace(10), 30), 6)
        0.049787
    """
    answers = whole_number(queries, "queries", smallest=1)
    if real_number(alpha, "alpha") < 0:
        raise ValueError(f"alpha must not be negative, got {alpha!r}")
    log_tail = noise.log_tail(alpha)
    if log_tail == 0:
        return 1.0
    return -math.expm1(answers * math.log1p(-math.exp(log_tail)))
