"""Which ε meets a goal that an owner can say in words, and how much of it does a budget pay?"""

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Context
from fractions import Fraction

from noisycount.analysis.accuracy import log_beta_of_one
from noisycount.analysis.relative_error import epsilon_for_relative_error
from noisycount.model.additive import SymmetricNoise
from noisycount.model.error_search import excess, falling_root, log_one_minus_exp
from noisycount.model.noise import DiscreteLaplace, Laplace, LaplaceKernel
from noisycount.model.scales import as_written
from noisycount.model.validation import fraction_of_one, positive_number, whole_number

__all__ = [
    "affordable_answers",
    "epsilon_for_accuracy",
    "epsilon_of_group",
    "epsilon_within",
    "error_within",
    "readable_epsilon",
    "readable_epsilon_within",
]

_READABLE = Context(prec=2, rounding=ROUND_CEILING)
_MOST_ANSWERS = 2**53


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
        alpha: The error that is too large, in records, positive; discrete noise within ±m reaches
            alpha = m + 1.
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
        >>> round(epsilon_for_accuracy(20, 0.05), 6)
        0.149787
        >>> round(epsilon_for_accuracy(20, 0.05, parts=2), 6)
        0.20565
    """
    reach = positive_number(alpha, "alpha")
    log_beta = log_beta_of_one(beta, whole_number(queries, "queries", smallest=1))
    summands = whole_number(parts, "parts", smallest=1)
    epsilon = added_up(Laplace(1), summands).error_with_tail(log_beta) / reach
    if noise is Laplace:
        return epsilon
    if noise is not DiscreteLaplace:
        raise ValueError(f"noise must be Laplace or DiscreteLaplace, got {noise!r}")

    def too_often(epsilon: float) -> float:
        each = DiscreteLaplace.for_epsilon(epsilon)
        return excess(added_up(each, summands), reach, log_beta)

    place = math.log(epsilon)
    root = math.exp(falling_root(lambda at: too_often(math.exp(at)), place, place - 0.1, unit=1))
    return _first_kept(root, too_often)


def epsilon_of_group(
    epsilon: float | Fraction,
    answers: int,
    *,
    disjoint: bool = False,
    replaced: bool = False,
) -> Fraction:
    """What several answers at one ε cost together.

    It is answers·ε. Of answers about disjoint parts, one record that is added or removed moves one
    answer only, so together they cost ε. Where the number of records is public, neighbours differ
    by one record that is *replaced*: it leaves one part for another, two answers move, and together
    they cost 2ε.

    Args:
        epsilon: The privacy loss ε of each answer, positive; a float is read as written.
        answers: How many there are, at least 1.
        disjoint: Whether no record is counted in two of them.
        replaced: Whether neighbouring data sets differ by a replaced record.

    Raises:
        ValueError: If ε is not positive and finite, or answers is not a positive whole number.

    Source: blog *Analyzing Utility of Private Mechanisms*, whose total of two parts costs ε; that
    is for added or removed records.

    Example:
        >>> epsilon_of_group(0.1, 12), epsilon_of_group(0.1, 12, disjoint=True)
        (Fraction(6, 5), Fraction(1, 10))
        >>> epsilon_of_group(0.1, 12, disjoint=True, replaced=True)
        Fraction(1, 5)
    """
    number = whole_number(answers, "answers", smallest=1)
    moved = min(number, 2 if replaced else 1) if disjoint else number
    return moved * as_written(epsilon, "epsilon")


def affordable_answers(
    budget: float | Fraction,
    alpha: float,
    beta: float,
    noise: type[LaplaceKernel] = Laplace,
    *,
    together: bool = False,
) -> int:
    """How many answers of an accuracy a budget pays.

    The largest k with k·ε <= budget. ε is that of one answer which fails with probability beta, or
    that of each of k answers of which any fails with probability beta.

    Args:
        budget: What is left to spend, in ε, positive; a float is read as written.
        alpha: The error that is too large, in records, positive.
        beta: The probability of failure, in (0, 1).
        noise: `Laplace` or `DiscreteLaplace`.
        together: Whether beta is that of any of the answers, not that of each.

    Returns:
        The number of answers; 0 if the budget does not pay for one.

    Raises:
        ValueError: As for `epsilon_for_accuracy`, or if the budget is not positive and finite.

    Source: `epsilon_for_accuracy`, and the addition of ε.

    Example:
        >>> affordable_answers(2, 20, 0.05), affordable_answers(2, 20, 0.05, together=True)
        (13, 7)
    """
    whole = as_written(budget, "budget")

    def price(answers: int) -> Fraction:
        """ε of each of so many answers."""
        return as_written(epsilon_for_accuracy(alpha, beta, answers, noise), "epsilon")

    if not together:
        return whole // price(1)
    low, high = 0, 1
    while high < _MOST_ANSWERS and high * price(high) <= whole:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle * price(middle) <= whole else (low, middle)
    return low


def readable_epsilon(count: float, within: float, confidence: float) -> Fraction:
    """The ε of `epsilon_for_relative_error`, raised until discrete noise keeps the promise too.

    It is `readable_epsilon_within` of within·count records, multiplied exactly.

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
    epsilon_for_relative_error(count, within, confidence)  # refuses by the names of this function
    return readable_epsilon_within(
        as_written(within, "within") * as_written(count, "count"), confidence
    )


def readable_epsilon_within(
    error: float | Fraction, confidence: float, queries: int = 1
) -> Fraction:
    """The ε with which discrete Laplace noise stays within ±error, rounded up to two digits.

    Of k answers all lie within ±m, m = ⌊error⌋, with probability (1 − b)^k, where
    b = 2e^(−(m+1)ε)/(1 + e^−ε). That can be less than the confidence at the ε of continuous noise,
    −ln(1 − confidence^(1/k))/error; ε is the larger of both, rounded up to a decimal of two
    significant digits.

    Args:
        error: The half-width of the interval, in records, positive.
        confidence: The probability that all answers lie inside, in (0, 1).
        queries: The number k of answers, at least 1.

    Raises:
        ValueError: If the error is not positive and finite, the confidence is not in (0, 1), or
            queries is not a positive whole number.

    Source: Naldi and D'Acquisto (2015), eq. (7) and (10), for discrete noise and several answers.

    Example:
        >>> readable_epsilon_within(15, 0.95, queries=10)
        Fraction(9, 25)
    """
    width = as_written(error, "error")
    log_beta = _log_beta_of_one(confidence, queries)
    epsilon = _READABLE.create_decimal_from_float(epsilon_within(error, confidence, queries))
    too_large = math.floor(width) + 1
    while excess(DiscreteLaplace.for_epsilon(Fraction(epsilon)), too_large, log_beta) > 0:
        epsilon = _READABLE.next_plus(epsilon)
    return Fraction(epsilon)


def epsilon_within(error: float | Fraction, confidence: float, queries: int = 1) -> float:
    """The ε with which Laplace noise stays within ±error, in all of k answers.

    ε = −ln(1 − confidence^(1/k))/error.

    Args:
        error: The half-width of the interval, in records, positive.
        confidence: The probability that all answers lie inside, in (0, 1).
        queries: The number k of answers, at least 1.

    Raises:
        ValueError: As for `readable_epsilon_within`.

    Source: Naldi and D'Acquisto (2015), eq. (10), for several answers.
    Numerical error: 4 units in the last place.

    Example:
        >>> round(epsilon_within(15, 0.95, queries=10), 6)
        0.35169
    """
    return -_log_beta_of_one(confidence, queries) / positive_number(error, "error")


def error_within(noise: DiscreteLaplace, confidence: float, queries: int = 1) -> int:
    """The smallest m such that all answers lie within ±m with that confidence, in records.

    Args:
        noise: The noise of each answer.
        confidence: The probability that all answers lie inside, in (0, 1).
        queries: The number of answers, at least 1.

    Raises:
        ValueError: If the confidence is not in (0, 1), or queries is not a positive whole number.

    Source: as for `accuracy`, of which it is one record less, as ±m holds m itself.

    Example:
        >>> error_within(DiscreteLaplace.for_epsilon(0.15), 0.95)
        20
    """
    return noise.error_with_tail(_log_beta_of_one(confidence, queries)) - 1


def _log_beta_of_one(confidence: float, queries: int) -> float:
    """The logarithm of the b with (1 − b)^k = confidence."""
    inside = math.log(fraction_of_one(confidence, "confidence"))
    return log_one_minus_exp(inside / whole_number(queries, "queries", smallest=1))


def added_up(noise: LaplaceKernel, parts: int) -> SymmetricNoise:
    """The noise of a sum of so many noisy counts."""
    if parts == 1:
        return noise
    from noisycount.model.noise_sum import NoiseSum  # noqa: PLC0415  (few plans need it)

    return NoiseSum([noise] * parts)


def _first_kept(epsilon: float, too_often: Callable[[float], float]) -> float:
    """The ε, or the next larger one that keeps the goal after all rounding."""
    step = math.ulp(epsilon)
    while too_often(epsilon) > 0:
        epsilon, step = epsilon + step, 2 * step
    return epsilon
