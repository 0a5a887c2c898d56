"""Which ε meets an accuracy?"""

import math

from noisycount.analysis.accuracy.accuracy import log_beta_of_one
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.noises.kernels.laplace import LaplaceKernel
from noisycount.model.noises.laplace import Laplace
from noisycount.model.search import bracketed_by_factors, root
from noisycount.model.validation import positive_number, whole_number

__all__ = ["epsilon_for_accuracy"]

_PRECISE = 1e-14  # relative; 1e-10 is promised
_FACTOR = 1.1  # by which the ε of continuous noise is about off


def epsilon_for_accuracy(
    alpha: float,
    beta: float,
    queries: int = 1,
    noise: type[LaplaceKernel] = Laplace,
    parts: int = 1,
) -> float:
    """The smallest ε of each answer with P[any |error| >= alpha] <= beta.

    For k answers with Laplace noise ε = −ln(1 − (1 − beta)^(1/k))/alpha. An answer may be the sum
    of counts of disjoint parts, each with noise of its own at that ε.

    Args:
        alpha: The error that is too large, in records, positive; discrete noise, which is whole,
            reaches ⌈alpha⌉, and what lies within ±m does not reach alpha = m + 1.
        beta: The probability of failure, in (0, 1).
        queries: The number k of answers with independent noise, at least 1.
        noise: `Laplace` or `DiscreteLaplace`.
        parts: The number of noisy counts that are added up to one answer, at least 1.

    Returns:
        ε of each noisy count. What they cost together is `epsilon_of_group`.

    Raises:
        ValueError: If alpha is not positive and finite, beta is not in (0, 1), a number is not
            whole and positive, or the noise has no ε of its own.

    Source: the inverse of `accuracy`; blog *Analyzing Utility of Private Mechanisms*, whose example
    has two disjoint parts and one total.
    Numerical error: 1e-10 relative; discrete noise at the result keeps the goal.

    Example:
        >>> import noisycount as nc
        >>> round(nc.epsilon_for_accuracy(20, 0.05), 6)
        0.149787
        >>> round(nc.epsilon_for_accuracy(20, 0.05, parts=2), 6)
        0.20565
    """
    reach = positive_number(alpha, "alpha")
    log_beta = log_beta_of_one(beta, whole_number(queries, "queries", smallest=1))
    summands = whole_number(parts, "parts", smallest=1)
    if not (isinstance(noise, type) and issubclass(noise, LaplaceKernel)):
        raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere in analysis)
            f"noise must be Laplace or DiscreteLaplace, got {noise!r}"
        )
    is_discrete = noise(1).is_discrete
    if is_discrete:
        reach = math.ceil(reach)
    epsilon = _added_up(Laplace(1), summands).error_with_tail(log_beta) / reach
    if not is_discrete:
        return epsilon

    def kept(epsilon: float) -> float:
        return -_added_up(noise.for_epsilon(epsilon), summands).excess(reach, log_beta)

    return root(kept, bracketed_by_factors(kept, epsilon, _FACTOR), _PRECISE).high


def _added_up(noise: LaplaceKernel, parts: int) -> SymmetricNoise:
    """The noise of a sum of so many noisy counts."""
    if parts == 1:
        return noise
    from noisycount.model.noises.noise_sum import NoiseSum  # noqa: PLC0415  (few plans need it)

    return NoiseSum([noise] * parts)
