"""Accuracy relative to a public guess of the count, and its price in ε. See `accuracy` for errors in records."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import overload

import numpy as np

from noisycount.analysis.accuracy import epsilon_for_accuracy
from noisycount.model.concentrated import l1_sensitivity
from noisycount.model.half_width import readable_epsilon_within
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.laplace import Laplace, LaplaceKernel
from noisycount.model.sampling.scalar import fraction_as_written, price_as_written
from noisycount.model.searches import bracket_root, first_whole
from noisycount.validation import LARGEST_WHOLE, RationalLike, open_probability, positive_number, whole_number

Values = float | Sequence[float] | Reals


@overload
def epsilon_for_relative_error(count: float, within: float, confidence: float) -> float: ...


@overload
def epsilon_for_relative_error(count: Values, within: Values, confidence: Values) -> float | Reals: ...


def epsilon_for_relative_error(count: Values, within: Values, confidence: Values) -> float | Reals:
    """Return the ε at which Laplace noise stays within ±within·count with the given confidence.

    ε = −ln(1 − confidence) / (within·count).

    Args:
        count: A public guess of the count, in records; never the true count, which ε would reveal.
        within: The relative half-width of the interval, positive (0.2 is ±20 %).
        confidence: The probability of an answer inside it, in (0, 1).

    Returns:
        ε; an array where any argument is one, of their common shape.

    Raises:
        ValueError: If the guess or the width is not positive and finite, or the confidence is not in (0, 1).

    Source: Naldi and D'Acquisto (2015), eq. (10); the sign of its example is a misprint.
    Numerical error: 4 units in the last place.

    Example:
        >>> import noisycount as nc
        >>> round(nc.epsilon_for_relative_error(100, 0.2, 0.8), 6)
        0.080472
    """
    return _surprisal_over(confidence, within=within, count=count)


@overload
def relative_error(count: float, confidence: float, epsilon: float) -> float: ...


@overload
def relative_error(count: Values, confidence: Values, epsilon: Values) -> float | Reals: ...


def relative_error(count: Values, confidence: Values, epsilon: Values) -> float | Reals:
    """Return the w such that Laplace noise stays within ±w·count with the given confidence.

    w = −ln(1 − confidence) / (ε·count).

    Args:
        count: A public guess of the count, in records.
        confidence: The probability of an answer inside the interval, in (0, 1).
        epsilon: The privacy loss ε of the answer, positive.

    Returns:
        The relative half-width; an array where any argument is one, of their common shape.

    Raises:
        ValueError: If the guess or ε is not positive and finite, or the confidence is not in (0, 1).

    Source: Naldi and D'Acquisto (2015), eq. (10) solved for w.
    Numerical error: 4 units in the last place.

    Example:
        >>> import noisycount as nc
        >>> round(nc.relative_error(100, 0.8, 0.1), 6)
        0.160944
    """
    return _surprisal_over(confidence, epsilon=epsilon, count=count)


@overload
def relative_confidence(count: float, within: float, epsilon: float) -> float: ...


@overload
def relative_confidence(count: Values, within: Values, epsilon: Values) -> float | Reals: ...


def relative_confidence(count: Values, within: Values, epsilon: Values) -> float | Reals:
    """Return the probability that Laplace noise stays within ±within·count.

    p = 1 − e^(−ε·within·count).

    Args:
        count: A public guess of the count, in records.
        within: The relative half-width of the interval, positive.
        epsilon: The privacy loss ε of the answer, positive.

    Returns:
        The confidence; an array where any argument is one, of their common shape.

    Raises:
        ValueError: If the guess, the width or ε is not positive and finite.

    Source: Naldi and D'Acquisto (2015), eq. (9), in which "w + c" is a misprint of w·c.
    Numerical error: 4 units in the last place.

    Example:
        >>> import noisycount as nc
        >>> round(nc.relative_confidence(100, 0.2, 0.1), 6)
        0.864665
    """
    reach = _scaled_product({"epsilon": epsilon, "within": within, "count": count})
    with np.errstate(over="ignore", under="ignore"):
        return _float_or_array(-np.expm1(-reach))


@overload
def count_for_relative_error(within: float, confidence: float, epsilon: float) -> float: ...


@overload
def count_for_relative_error(within: Values, confidence: Values, epsilon: Values) -> float | Reals: ...


def count_for_relative_error(within: Values, confidence: Values, epsilon: Values) -> float | Reals:
    """Return the smallest count of which Laplace noise is at most the share `within`, with the given confidence.

    c = −ln(1 − confidence) / (ε·within).

    Args:
        within: The relative half-width of the interval, positive.
        confidence: The probability of an answer inside it, in (0, 1).
        epsilon: The privacy loss ε of the answer, positive.

    Returns:
        The count, in records; an array where any argument is one, of their common shape.

    Raises:
        ValueError: If the width or ε is not positive and finite, or the confidence is not in (0, 1).

    Source: Naldi and D'Acquisto (2015), eq. (10) solved for c.
    Numerical error: 4 units in the last place.

    Example:
        >>> import noisycount as nc
        >>> round(nc.count_for_relative_error(0.2, 0.8, 0.1), 4)
        80.4719
    """
    return _surprisal_over(confidence, epsilon=epsilon, within=within)


def iso_epsilon_curves(count: float, epsilons: Values, confidences: Values) -> Reals:
    """Return the relative half-width for each ε at each confidence: one curve per ε.

    Args:
        count: A public guess of the count, in records.
        epsilons: The ε of the curves, positive, shape (curves,).
        confidences: The confidences at which each curve is computed, in (0, 1), shape (points,).

    Returns:
        The half-widths w, shape (curves, points).

    Raises:
        ValueError: As for `relative_error`.

    Source: Naldi and D'Acquisto (2015), Fig. 1.
    Numerical error: 4 units in the last place.

    Example:
        >>> import noisycount as nc
        >>> nc.iso_epsilon_curves(100, [0.05, 0.1], [0.5, 0.8, 0.95]).round(3).tolist()
        [[0.139, 0.322, 0.599], [0.069, 0.161, 0.3]]
    """
    rows = np.atleast_1d(_check_values(epsilons, "epsilon", positive_number))[:, None]
    return np.asarray(relative_error(count, np.atleast_1d(np.asarray(confidences)), rows))


def _surprisal_over(confidence: Values, **divisors: Values) -> float | Reals:
    """Return −ln(1 − confidence), divided by each of the divisors."""
    surprisal: Reals = -np.log1p(-_check_values(confidence, "confidence", open_probability))
    return _float_or_array(_scaled_product(divisors, surprisal, -1))


def _scaled_product(values: dict[str, Values], start: Reals | float = 1.0, power: int = 1) -> Reals:
    """Return the start multiplied by each of the values (power 1), or divided by each of them (power −1).

    Binary exponents are summed separately, so that no intermediate result overflows.
    """
    product, exponent = np.frexp(start)
    join = np.multiply if power > 0 else np.divide
    for name, factors in values.items():
        mantissas, exponents = np.frexp(_check_values(factors, name, positive_number))
        product, exponent = join(product, mantissas), exponent + power * exponents
    with np.errstate(over="ignore", under="ignore"):
        result: Reals = np.ldexp(product, exponent)
    return result


def _check_values(values: Values, name: str, check: Callable[[float, str], float]) -> Reals:
    """Check each value, and return them as an array."""
    if np.ndim(values) == 0:
        return np.asarray(check(values, name))  # type: ignore[arg-type]
    checked = [check(value, name) for value in np.ravel(values).tolist()]
    return np.array(checked).reshape(np.shape(values))


def _float_or_array(values: Reals) -> float | Reals:
    """Return a float if there is one value, else the array."""
    return float(values) if np.ndim(values) == 0 else values


def readable_epsilon(count: float, within: float, confidence: float) -> Fraction:
    """Return the ε of `epsilon_for_relative_error`, rounded up so that discrete noise has the accuracy too.

    It is `readable_epsilon_within` for an error of within·count records, multiplied exactly.

    Args:
        count: A public guess of the count, in records; never the true count.
        within: The relative half-width of the interval, positive.
        confidence: The probability of an answer inside it, in (0, 1).

    Raises:
        ValueError: As for `epsilon_for_relative_error`.

    Source: Naldi and D'Acquisto (2015), eq. (7) and (10).
    Numerical error: as for `readable_epsilon_within`.

    Example:
        >>> import noisycount as nc
        >>> nc.readable_epsilon(100, 0.2, 0.95)
        Fraction(3, 20)
    """
    epsilon_for_relative_error(count, within, confidence)  # raises errors with the names of these arguments
    return readable_epsilon_within(
        fraction_as_written(within, "within") * fraction_as_written(count, "count"), confidence
    )


def epsilon_of_group(
    epsilon: RationalLike, answers: int, *, disjoint: bool = False, replaced: bool = False
) -> Fraction:
    """Return the total price of several answers at one ε.

    The total is answers·ε. If the answers count disjoint parts, adding or removing a record changes one answer only,
    and the total is ε. If the number of records is public, neighbouring data sets differ by a *replaced* record: it
    moves from one part to another, two answers change, and the total is 2ε.

    Args:
        epsilon: The privacy loss ε of each answer, positive; a float is read as written.
        answers: The number of answers, at least 1.
        disjoint: True if no record is counted in two answers.
        replaced: True if neighbouring data sets differ by a replaced record.

    Raises:
        ValueError: If ε is not positive and finite, or answers is not a positive whole number.

    Source: blog *Analyzing Utility of Private Mechanisms*, where a total of two parts costs ε,
    as its neighbouring data sets differ by an added or removed record.

    Example:
        >>> import noisycount as nc
        >>> nc.epsilon_of_group(0.1, 12), nc.epsilon_of_group(0.1, 12, disjoint=True)
        (Fraction(6, 5), Fraction(1, 10))
        >>> nc.epsilon_of_group(0.1, 12, disjoint=True, replaced=True)
        Fraction(1, 5)
    """
    number = whole_number(answers, "answers", smallest=1)
    moved = l1_sensitivity(number, 1 if disjoint else number, replaced=replaced)
    return moved * price_as_written(epsilon, "epsilon")


def affordable_answers(
    budget: RationalLike, alpha: float, beta: float, noise: type[LaplaceKernel] = Laplace, *, together: bool = False
) -> int:
    """Return the number of answers of a given accuracy that a budget pays for.

    It is the largest k with k·ε <= budget, where ε is the price of an answer that fails with
    probability beta. If `together`, beta bounds the probability that any of the k answers fails.

    Args:
        budget: The remaining budget, in ε, positive; a float is read as written.
        alpha: The error that counts as a failure, in records, positive.
        beta: The probability of failure, in (0, 1).
        noise: `Laplace` or `DiscreteLaplace`.
        together: True if beta is the probability that any answer fails, not that a given one does.

    Returns:
        The number of answers; 0 if the budget does not pay for one.

    Raises:
        ValueError: As for `epsilon_for_accuracy`, or if the budget is not positive and finite.

    Source: `epsilon_for_accuracy`, and sequential composition.

    Example:
        >>> import noisycount as nc
        >>> nc.affordable_answers(2, 20, 0.05), nc.affordable_answers(2, 20, 0.05, together=True)
        (13, 7)
    """
    available = price_as_written(budget, "budget")

    def price(answers: int) -> Fraction:
        """Return the ε of each of the given number of answers."""
        return fraction_as_written(epsilon_for_accuracy(alpha, beta, answers, noise), "epsilon")

    if not together:
        return available // price(1)

    def overspend(answers: float) -> float:
        """Return +inf if the answers cost more than the budget, else −inf."""
        return math.inf if int(answers) * price(int(answers)) > available else -math.inf

    bracket = bracket_root(overspend, 1, 1, (1, LARGEST_WHOLE))
    return int(min(first_whole(overspend, bracket).high - 1, LARGEST_WHOLE))
