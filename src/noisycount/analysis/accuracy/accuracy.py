"""How far is the answer from the count?"""

import math
from collections.abc import Sequence

from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.noises.error.complement import log_one_minus_exp
from noisycount.model.validation import (
    fraction_of_one,
    positive_number,
    real_number,
    whole_number,
)

__all__ = ["accuracy", "added_noise", "chan_bound", "failure_probability", "log_beta_of_one"]

_NO_LOSS = 1e-290  # below, 1 − (1 − b)^k is k·b to the last digit, and b/k may underflow


def accuracy(noise: Mechanism, beta: float, queries: int = 1) -> float:
    """The smallest alpha with P[any |error| >= alpha] <= beta.

    One answer fails with probability b(α) = P[|Z| >= α], any of k independent ones with
    1 − (1 − b(α))^k. Under discrete noise alpha is an integer, and an answer lies within
    ±(alpha − 1) with probability at least 1 − beta.

    Args:
        noise: The noise of each answer: `Laplace`, `Gaussian`, `DiscreteLaplace`,
            `DiscreteGaussian` or a `NoiseSum` of these.
        beta: The probability of failure, in (0, 1).
        queries: The number of answers with independent noise, at least 1.

    Returns:
        Alpha in records; an `int` under discrete noise.

    Raises:
        ValueError: If beta is not in (0, 1), queries is not a positive whole number, or the
            mechanism does not add noise.

    Source: blog *Analyzing Utility of Private Mechanisms*, (α, β)-accuracy; exact in place of its
    additive bound, and of its union bound, which is `accuracy(noise, beta / queries)`.
    Numerical error: 1e-10 relative for beta from 1e-300 to 1 − 1e-12; an integer is the smallest
    up to ties within 1e-12 of beta.

    Example:
        >>> import noisycount as nc
        >>> nc.accuracy(nc.DiscreteLaplace.for_epsilon(0.15), 0.05)
        21
        >>> round(nc.accuracy(nc.NoiseSum([nc.Laplace(10), nc.Laplace(10)]), 0.05), 4)
        41.13
    """
    answers = whole_number(queries, "queries", smallest=1)
    return added_noise(noise).error_with_tail(log_beta_of_one(beta, answers))


def failure_probability(noise: Mechanism, alpha: float, queries: int = 1) -> float:
    """P[any |error| >= alpha], the inverse of `accuracy`.

    Args:
        noise: The noise of each answer.
        alpha: The error in records, at least 0.
        queries: The number of answers with independent noise, at least 1.

    Raises:
        ValueError: If alpha is negative or not finite, queries is not a positive whole number, or
            the mechanism does not add noise.

    Source: as for `accuracy`.
    Numerical error: 1e-10 relative from 1e-300 on.

    Example:
        >>> import noisycount as nc
        >>> round(nc.failure_probability(nc.Laplace(10), 30), 6)
        0.049787
    """
    answers = whole_number(queries, "queries", smallest=1)
    if real_number(alpha, "alpha") < 0:
        raise ValueError(f"alpha must not be negative, got {alpha!r}: give the size of the error")
    return -math.expm1(answers * added_noise(noise).log_within(alpha)) if alpha > 0 else 1.0


def chan_bound(scales: Sequence[float], beta: float) -> float:
    """An error that a sum of Laplace noises reaches with probability at most beta.

    α = ν·√(8·ln(2/β)) with ν = max(√(Σb²), b_max·√(ln(2/β))).

    The moment generating function of one noise is 1/(1 − t²b²) <= e^(2t²b²) for t·b <= 1/√2, so
    P[|Z| >= α] <= 2·e^(−α²/(8ν²)). The bound √(Σb²)·ln(1/β) without these constants does not hold.
    The exact value, which is smaller, is `accuracy(NoiseSum([...]), beta)`.

    Args:
        scales: The scale b of each noise, in records; at least one, all positive.
        beta: The probability of failure, in (0, 1).

    Raises:
        ValueError: If there is no scale, one is not positive and finite, or beta is not in (0, 1).

    Source: Chan, Shi and Song (2011), Lemma 2.8 and Corollary 2.9, for both signs of the error.
    Numerical error: that of a closed form in doubles, some units in the last place, not rounded up.

    Example:
        >>> import noisycount as nc
        >>> round(nc.chan_bound([10, 10], 0.05), 2)
        104.34
    """
    sizes = [positive_number(scale, "each of scales") for scale in scales]
    if not sizes:
        raise ValueError(f"scales must hold at least one scale, got {scales!r}")
    log_odds = math.log(2) - math.log(fraction_of_one(beta, "beta"))
    width = max(math.hypot(*sizes), max(sizes) * math.sqrt(log_odds))
    return width * math.sqrt(8 * log_odds)


def added_noise(noise: Mechanism) -> SymmetricNoise:
    """The mechanism, if it adds noise to the count.

    Raises:
        ValueError: If it does not.
    """
    if isinstance(noise, SymmetricNoise):
        return noise
    raise ValueError(
        "noise must be noise that is added to the count, such as Laplace(10.0) or a NoiseSum, "
        f"got {noise!r}"
    )


def log_beta_of_one(beta: float, answers: int) -> float:
    """The logarithm of the b with 1 − (1 − b)^k = beta."""
    whole = fraction_of_one(beta, "beta")
    if answers == 1 or whole < _NO_LOSS:
        return math.log(whole) - math.log(answers)
    return log_one_minus_exp(math.log1p(-whole) / answers)
