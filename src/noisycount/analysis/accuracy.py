"""Accuracy of an answer with added noise: its error, the probability that it is out of range, and the ε that it needs.

`relative_error` has the same for errors relative to the count, `within` for accuracy goals without a guess.
"""

import math
from collections.abc import Sequence

from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise, log_one_minus_exp
from noisycount.model.noises.laplace import Laplace, LaplaceKernel
from noisycount.model.searches import bracketed_by_factors, root
from noisycount.validation import open_probability, positive_number, real_number, whole_number

_LINEAR_BELOW = 1e-290  # below this beta, 1 − (1 − b)^k is k·b to the last digit, and b/k may underflow


def accuracy(noise: Mechanism, beta: float, queries: int = 1) -> float:
    """Return the smallest alpha with P[any |error| >= alpha] <= beta.

    One answer with noise Z fails with probability b(α) = P[|Z| >= α], any of k independent answers with probability 1 −
    (1 − b(α))^k. Under discrete noise alpha is an integer, and an answer lies within ±(alpha − 1) with probability at
    least 1 − beta.

    Args:
        noise: The noise of each answer: `Laplace`, `Gaussian`, `DiscreteLaplace`, `DiscreteGaussian` or a `NoiseSum` of
            these.
        beta: The probability of failure, in (0, 1).
        queries: The number of answers with independent noise, at least 1.

    Returns:
        Alpha in records; an `int` under discrete noise.

    Raises:
        ValueError: If beta is not in (0, 1), queries is not a positive whole number, or the mechanism does not add
            noise.

    Source: blog *Analyzing Utility of Private Mechanisms*, (α, β)-accuracy; exact in place of its additive bound, and
    of its union bound, which is `accuracy(noise, beta / queries)`. Numerical error: 1e-10 relative for beta from 1e-300
    to 1 − 1e-12; an integer is the smallest up to ties within 1e-12 of beta.

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
    """Return P[any |error| >= alpha], the inverse of `accuracy`.

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
    """Return an error that a sum of Laplace noises reaches with probability at most beta.

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
    log_odds = math.log(2) - math.log(open_probability(beta, "beta"))
    width = max(math.hypot(*sizes), max(sizes) * math.sqrt(log_odds))
    return width * math.sqrt(8 * log_odds)


def added_noise(noise: Mechanism) -> SymmetricNoise:
    """Return the mechanism if it adds noise to the count. Raise ValueError if it does not."""
    if isinstance(noise, SymmetricNoise):
        return noise
    raise ValueError(
        f"noise must be noise that is added to the count, such as Laplace(10.0) or a NoiseSum, got {noise!r}"
    )


def log_beta_of_one(beta: float, answers: int) -> float:
    """Return ln b for the failure probability b of one answer, if any of the answers fails with probability beta.

    For k answers with independent noise, 1 − (1 − b)^k = beta.
    """
    any_failure = open_probability(beta, "beta")
    if answers == 1 or any_failure < _LINEAR_BELOW:
        return math.log(any_failure) - math.log(answers)
    return log_one_minus_exp(math.log1p(-any_failure) / answers)


def out_of_range_probability(count: int, size: int, noise: Mechanism) -> float:
    """Return P[Y < 0 or Y > size] for the noisy answer Y = count + Z with noise Z.

    For Laplace noise of scale b it is (e^(−k/b) + e^(−(n − k)/b))/2, for discrete noise P[Z >= k + 1] + P[Z >= n − k +
    1], as answers of 0 and n are within the range.

    Args:
        count: The true count k, in records, from 0 to the size.
        size: The number n of records of the database, at least 1.
        noise: Any additive noise.

    Raises:
        ValueError: If the count is not a whole number from 0 to the size, the size is not a positive whole number, or
            the mechanism does not add noise.

    Source: Naldi and D'Acquisto (2014), eq. (2). Numerical error: 1e-10 relative.

    Example:
        >>> import noisycount as nc
        >>> round(nc.out_of_range_probability(0, 100, nc.Laplace(10)), 6)
        0.500023
        >>> round(nc.out_of_range_probability(0, 100, nc.DiscreteLaplace(10)), 6)
        0.475042
    """
    records = whole_number(size, "size", smallest=1)
    positives = whole_number(count, "count")
    if positives > records:
        raise ValueError(f"count must be at most the size {records}, got {count!r}")
    below = negative_probability(positives, noise)
    return below + negative_probability(records - positives, noise)


def out_of_range_bounds(size: int, noise: Mechanism) -> tuple[float, float]:
    """Return the smallest and the largest `out_of_range_probability` over all counts.

    The noise is symmetric and one-peaked, so the probability is convex in the count: largest at 0
    and at n, smallest in the middle. For Laplace noise the largest is (1 + e^(−εn))/2 and the
    smallest is e^(−εn/2) for even n, (e^(−ε(n−1)/2) + e^(−ε(n+1)/2))/2 for odd n. The paper prints
    the second formula for all n, although no count is (n − 1)/2 if n is even.

    Args:
        size: The number n of records of the database, at least 1.
        noise: Any additive noise.

    Raises:
        ValueError: If the size is not a positive whole number, or the mechanism does not add noise.

    Source: Naldi and D'Acquisto (2014), Theorem 1, eq. (3) to (6), for noise of any kind.
    Numerical error: 1e-10 relative.

    Example:
        >>> import noisycount as nc
        >>> smallest, largest = nc.out_of_range_bounds(100, nc.Laplace.for_epsilon(0.1))
        >>> round(smallest, 6), round(largest, 6)
        (0.006738, 0.500023)
    """
    records = whole_number(size, "size", smallest=1)
    smallest = out_of_range_probability(records // 2, records, noise)
    return smallest, out_of_range_probability(0, records, noise)


def negative_probability(count: float, noise: Mechanism) -> float:
    """Return P[Y < 0] for a true count k >= 0 and noise Z: P[Z >= k], or P[Z >= k + 1] under discrete noise."""
    symmetric = added_noise(noise)
    smallest_error = math.floor(count) + 1.0 if symmetric.is_discrete else float(count)
    return math.exp(symmetric.log_exceedance(smallest_error))


_TOLERANCE = 1e-14  # of ε, relative; the docstring promises 1e-10
_FIRST_FACTOR = 1.1  # width of the first bracket around the ε of continuous noise


def epsilon_for_accuracy(
    alpha: float, beta: float, queries: int = 1, noise: type[LaplaceKernel] = Laplace, parts: int = 1
) -> float:
    """Return the smallest ε of each answer with P[any |error| >= alpha] <= beta.

    For k answers with Laplace noise ε = −ln(1 − (1 − beta)^(1/k))/alpha. An answer may be the sum
    of noisy counts of disjoint parts, each with independent noise at that ε.

    Args:
        alpha: The error that counts as a failure, in records, positive. Discrete noise is a whole number
            and fails from ⌈alpha⌉ on: for an answer within ±m, give alpha = m + 1.
        beta: The probability of failure, in (0, 1).
        queries: The number k of answers with independent noise, at least 1.
        noise: `Laplace` or `DiscreteLaplace`.
        parts: The number of noisy counts that are summed to one answer, at least 1.

    Returns:
        ε of each noisy count. `epsilon_of_group` gives their total price.

    Raises:
        ValueError: If alpha is not positive and finite, beta is not in (0, 1), a number is not
            whole and positive, or the noise is neither `Laplace` nor `DiscreteLaplace`.

    Source: the inverse of `accuracy`; blog *Analyzing Utility of Private Mechanisms*, whose example
    has two disjoint parts and one total.
    Numerical error: 1e-10 relative; discrete noise at the returned ε meets the goal.

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
    epsilon = _summed_noise(Laplace(1), summands).error_with_tail(log_beta) / reach
    if not is_discrete:
        return epsilon

    def margin(epsilon: float) -> float:
        return -_summed_noise(noise.for_epsilon(epsilon), summands).excess(reach, log_beta)

    return root(margin, bracketed_by_factors(margin, epsilon, _FIRST_FACTOR), _TOLERANCE).high


def _summed_noise(noise: LaplaceKernel, parts: int) -> SymmetricNoise:
    """Return the noise of a sum of `parts` noisy counts."""
    if parts == 1:
        return noise
    from noisycount.model.noises.noise_sum import NoiseSum  # noqa: PLC0415  (few plans need it)

    return NoiseSum([noise] * parts)
