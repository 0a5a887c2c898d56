"""Posterior mean, median or mode of the count for each of many answers, and the surprise of each answer.

`refine` is the public function; it also warns of answers that contradict the population.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from numbers import Real
from operator import attrgetter
from typing import Any, Literal, cast, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisycount.analysis.posterior.laplace_intervals import (
    LaplaceIntervals,
    WideIntervals,
    laplace_intervals,
    wide_intervals,
)
from noisycount.analysis.posterior.observed import (
    Container,
    NumpyConvertible,
    Published,
    checked_mechanism,
    column_in,
    values_and_mechanism,
)
from noisycount.analysis.posterior.posterior import Posterior, posterior_of
from noisycount.analysis.posterior.predictive import SURPRISING, not_surprising_range, two_sided_probability
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.population import Population
from noisycount.model.searches import Bracket, first_whole
from noisycount.validation import require_instance

_DEPTH = 50.0  # nats: e^−50 of a distribution is far below the promised error
_WIDEST = 20_000  # number of counts up to which a sum over all of them is faster than a computation for each answer


def surprises(answers: Reals, population: Population, mechanism: Mechanism) -> Reals:
    """Return the `Posterior.surprise` of each answer, shape (answers,).

    Numerical error:
        At most 1e-13, and the sums leave out 1e-16.
    """
    different, places = np.unique(answers, return_inverse=True)
    surprise = _surprise_under(population, mechanism)
    return np.array([surprise(answer) for answer in different.tolist()], dtype=np.float64)[places]


def _surprise_under(population: Population, mechanism: Mechanism) -> Callable[[float], float]:
    """Return the surprise as a function of the answer. If few counts matter, it is a sum over them."""
    prior = population.law()
    first, last = prior.counts_within(_DEPTH)
    if last - first > _WIDEST or not isinstance(mechanism, SymmetricNoise) or mechanism.errors.is_costly:
        return lambda answer: two_sided_probability(population, prior, answer, mechanism)
    counts = np.arange(first, last + 1, dtype=np.float64)
    chances, errors = np.exp(prior.log_pmf(counts)), mechanism.errors

    def surprise(answer: float) -> float:
        distances = answer - counts
        # Not a product of vectors, for which NumPy wakes threads that wait for the processor.
        tails = (float((chances * np.exp(errors.log_exceedance(side * distances))).sum()) for side in (-1, 1))
        return min(1.0, 2 * min(tails))

    return surprise


Estimate = Literal["mean", "median", "mode"]

_FEW = 24  # number of Chebyshev nodes; means of at most so many answers are computed one by one
_PIECE = 1 << 16  # answers that are read at once; they stay in the cache
_WORTH_INTERVALS = 2000  # number of answers from which on fitting intervals pays
_COUNTS_PER_ANSWER = 5000  # of a table that takes less time than a posterior of its own for each answer
_LARGEST_TABLE = 1 << 20  # largest number of counts of a table; with more it would lose digits
_TOLERANCE = 1e-12  # posterior standard deviations; the documented error is 1e-10


@overload
def refine(
    answers: float | Published, population: Population, mechanism: Mechanism | None = None, by: Estimate = "mean"
) -> float: ...


@overload
def refine(
    answers: Sequence[float | Published] | Reals,
    population: Population,
    mechanism: Mechanism | None = None,
    by: Estimate = "mean",
) -> Reals: ...


@overload
def refine(
    answers: Container, population: Population, mechanism: Mechanism | None = None, by: Estimate = "mean"
) -> Container: ...


def refine(
    answers: ArrayLike | Published | Sequence[float | Published] | NumpyConvertible,
    population: Population,
    mechanism: Mechanism | None = None,
    by: Estimate = "mean",
) -> Reals | float | NumpyConvertible:
    """Return the posterior mean, median or mode of the count for each answer by itself.

    Args:
        answers: Answers in records, in any shape, each about another count. The estimate for nan is nan. A pandas
            or Polars Series or an Arrow array gives an object of its kind with its labels; missing values stay
            missing.
        population: The distribution of each count before its answer.
        mechanism: The distribution of each answer given its count. Default: the mechanism of the answers, if they
            are releases.
        by: "mean" (least squared error), "median" (least absolute error) or "mode".

    Returns:
        Estimates in records, in the shape and kind of the answers; a float for a single answer.

    Raises:
        ValueError: If an answer is infinite, not a number, or impossible under the mechanism, `by` is none of the
            three, or the population or the mechanism has the wrong type.

    Warns:
        UserWarning: If answers contradict the population: the number of answers with a surprise below 1e-3.

    Source: Naldi and D'Acquisto (2014), eq. (11), applied to each answer of a column.
    Numerical error: as for `posterior`.

    Example:
        >>> import noisycount as nc
        >>> found = nc.refine([35.2, 1e9, float("nan")], nc.Binomial(100, 0.3), nc.Laplace(10))
        >>> found.round(6).tolist()
        [31.351086, 32.141037, nan]
    """
    if by not in get_args(Estimate):
        raise ValueError(f'by must be "mean", "median" or "mode", got {by!r}')
    require_instance(population, Population, "population")
    values, law = values_and_mechanism(answers, mechanism)
    checked_mechanism(law)
    column = column_in(values)
    asked = _real_answers(values if column is None else column.values)
    extremes = _extreme_answers(asked)
    shaped = refine_array(asked.reshape(-1), population, law, by, extremes).reshape(asked.shape)
    _warn_of_contradiction(asked.reshape(-1), extremes, population, law)
    if column is not None:
        return cast("NumpyConvertible", column.container(shaped))
    return float(shaped) if asked.ndim == 0 else shaped


def _warn_of_contradiction(
    answers: Reals, extremes: tuple[float, float], population: Population, mechanism: Mechanism
) -> None:
    """Warn once if answers contradict the population, and state their number.

    The surprise rises with the rank of a low answer from below, and with the rank of a high answer from above. If the
    answers are as expected, the surprise is nearly proportional to the rank. So interpolation finds the first answer
    that is not surprising in few steps.
    """
    low, high = not_surprising_range(population, mechanism)
    if not answers.size or (low <= extremes[0] and extremes[1] <= high):
        return
    surprise, number = _surprise_under(population, mechanism), 0
    pieces, missing = [], 0
    for start in range(0, answers.size, _PIECE):
        piece = answers[start : start + _PIECE]
        is_outside = piece < low
        is_outside |= piece > high
        pieces.append(piece[is_outside])
        missing += int(np.count_nonzero(np.isnan(piece)))
    sorted_outside = np.sort(np.concatenate(pieces))
    lows = int(np.searchsorted(sorted_outside, low))
    for outside in (sorted_outside[:lows], sorted_outside[lows:][::-1]):

        def excess(rank: float, outside: Reals = outside) -> float:
            return surprise(float(outside[int(rank)])) - SURPRISING

        number += int(first_whole(excess, Bracket(-1, outside.size, -SURPRISING, SURPRISING)).high)
    if number:
        verb, given = ("contradicts" if number == 1 else "contradict"), answers.size - missing
        warnings.warn(
            f"{number:,} of {given:,} answers {verb} the population: their surprise is below {SURPRISING:g}",
            UserWarning,
            stacklevel=3,
        )


def posterior_values(
    answers: Reals, population: Population, mechanism: Mechanism, value: Callable[[Posterior], int]
) -> Reals:
    """Return an integer of each answer's posterior, such as a quantile. It must never fall as the answer rises.

    If the integer is equal at both ends of a run of sorted answers, it is the same for the whole run.
    Shapes: answers (answers,).
    """
    different, places = np.unique(answers, return_inverse=True)
    found = np.empty_like(different)
    last = different.size - 1

    def value_at(place: int) -> float:
        return value(posterior_of(float(different[place]), population, mechanism))

    open_runs = [(0, last, value_at(0), value_at(last))] if last >= 0 else []
    while open_runs:
        low, high, at_low, at_high = open_runs.pop()
        found[low], found[high] = at_low, at_high
        if at_low == at_high:
            found[low : high + 1] = at_low
        elif high - low > 1:
            middle = (low + high) // 2
            at_middle = value_at(middle)
            open_runs += [(low, middle, at_low, at_middle), (middle, high, at_middle, at_high)]
    return found[places]


def _real_answers(answers: ArrayLike) -> Reals:
    """Return the answers as an array of floats. Raise ValueError for texts and booleans."""
    is_listed = isinstance(answers, (list, tuple))
    try:
        given = np.array(answers, dtype=object) if is_listed else np.asarray(answers)
        asked = given.astype(np.float64, copy=False) if _has_real_numbers(given) else None
    except (TypeError, ValueError, OverflowError):
        asked = None
    if asked is None:
        raise ValueError("answers must be numbers in one array, with nan for missing")
    return asked


def _extreme_answers(answers: Reals) -> tuple[float, float]:
    """Return the smallest and the largest answer, which must be finite; nan if there is none."""
    if not answers.size:
        return math.nan, math.nan
    lowest, highest = answers.min(), answers.max()
    if np.isnan(lowest):
        lowest, highest = np.fmin.reduce(answers, axis=None), np.fmax.reduce(answers, axis=None)
    if np.isinf([lowest, highest]).any():
        raise ValueError("answers must be finite, or nan where missing, got inf")
    return float(lowest), float(highest)


def _has_real_numbers(given: NDArray[Any]) -> bool:
    """Return True if all elements of an array are real numbers."""
    if given.dtype != object:
        return given.dtype.kind in "iuf"
    kinds = set(map(type, given.reshape(-1).tolist()))
    return all(issubclass(kind, Real) and not issubclass(kind, bool) for kind in kinds)


def refine_array(
    answers: Reals,
    population: Population,
    mechanism: Mechanism,
    by: Estimate = "mean",
    extremes: tuple[float, float] | None = None,
) -> Reals:
    """Return the result of `refine` for an array, shape (answers,), without a warning.

    `extremes` are the smallest and the largest answer, if the caller knows them.
    """
    lowest, highest = extremes or _extreme_answers(answers)
    if math.isnan(lowest):
        return answers.copy()
    _check_answers(answers, [lowest, highest], population, mechanism)
    if isinstance(mechanism, SymmetricNoise):
        if not mechanism.is_log_concave:
            return _where_present(answers, lambda some: _estimates_one_by_one(some, population, mechanism, by))
        if by == "mean" and mechanism.errors.is_geometric:
            return _laplace_means(answers, (lowest, highest), population, mechanism)

    def estimates(present: Reals) -> Reals:
        if by == "mean":
            return _interpolated_or_single_means(present, population, mechanism)
        return posterior_values(present, population, mechanism, attrgetter(by))

    return _where_present(answers, estimates)


def _where_present(answers: Reals, estimates: Callable[[Reals], Reals]) -> Reals:
    """Return the estimates of the answers that are not nan, and nan for the others."""
    present = ~np.isnan(answers)
    if present.all():
        return estimates(answers)
    found = np.full_like(answers, np.nan)
    found[present] = estimates(answers[present])
    return found


def _check_answers(answers: Reals, extremes: list[float], population: Population, mechanism: Mechanism) -> None:
    """Raise the mechanism's error if it cannot give the smallest, the largest or the first fractional answer."""
    doubtful = extremes
    for start in range(0, answers.size, _PIECE):
        piece = answers[start : start + _PIECE]
        broken = piece[piece != np.floor(piece)]
        doubtful = [*extremes, *broken[~np.isnan(broken)][:1].tolist()]
        if doubtful != extremes:
            break
    for answer in doubtful:
        mechanism.likelihood(answer, population.size)


def _estimates_one_by_one(answers: Reals, population: Population, mechanism: Mechanism, by: Estimate) -> Reals:
    """Return the estimates of all answers, one by one: they need not rise with the answer."""
    different, places = np.unique(answers, return_inverse=True)
    found = [getattr(posterior_of(y, population, mechanism), by) for y in different.tolist()]
    return np.array(found, dtype=np.float64)[places]


def _laplace_means(
    answers: Reals, extremes: tuple[float, float], population: Population, mechanism: SymmetricNoise
) -> Reals:
    """Return the means by look-up in intervals, and one by one if there are no intervals."""
    lowest, highest = extremes
    most = min(_LARGEST_TABLE, _COUNTS_PER_ANSWER * answers.size)
    intervals: LaplaceIntervals | WideIntervals | None = laplace_intervals(
        population.law(), population.size, mechanism.errors.spread, extremes, most
    )
    if intervals is None and answers.size > _WORTH_INTERVALS:
        intervals = wide_intervals(population, mechanism)
    if intervals is None:
        return _where_present(answers, lambda some: _interpolated_or_single_means(some, population, mechanism))
    means = intervals.means(answers, extremes)
    first, last = intervals.covered_answers
    if lowest < first or highest > last:
        beyond = (answers < first) | (answers > last)
        means[beyond] = _interpolated_or_single_means(answers[beyond], population, mechanism)
    return means


def _interpolated_or_single_means(answers: Reals, population: Population, mechanism: Mechanism) -> Reals:
    """Return the posterior means, interpolated between Chebyshev points if that is exact enough."""
    different, places = np.unique(answers, return_inverse=True)
    found = np.empty_like(different)

    def posterior_of_answer(answer: float) -> Posterior:
        return posterior_of(answer, population, mechanism)

    smooth = not _is_discrete(mechanism)
    open_runs = [(0, different.size)]
    while open_runs:
        low, high = open_runs.pop()
        run = different[low:high]
        if run.size <= _FEW or not smooth:
            found[low:high] = [posterior_of_answer(float(answer)).mean for answer in run]
        elif (values := _interpolated_means(run, posterior_of_answer)) is not None:
            found[low:high] = values
        else:
            middle = (low + high) // 2
            open_runs += [(low, middle), (middle, high)]
    return found[places]


def _interpolated_means(run: Reals, posterior_of_answer: Callable[[float], Posterior]) -> Reals | None:
    """Return the means on a run of rising answers from a polynomial; None if it is not exact enough.

    The nodes include both ends of the run. As means never fall, no mean between them can be far from theirs.
    """
    nodes = np.polynomial.chebyshev.chebpts2(_FEW)
    middle, half = (run[0] + run[-1]) / 2, (run[-1] - run[0]) / 2
    asked = np.clip(middle + half * nodes, run[0], run[-1])
    points = [posterior_of_answer(float(answer)) for answer in asked]
    means = np.array([point.mean for point in points])
    base = float(means[0])
    coefficients = np.polynomial.chebyshev.chebfit(nodes, means - base, _FEW - 1)
    deviation = min(point.variance for point in points) ** 0.5
    allowed = max(_TOLERANCE * deviation, float(np.spacing(np.abs(means).min())))
    if max(np.abs(coefficients[-4:]).max(), np.spacing(np.ptp(means))) > allowed:
        return None
    interpolated: Reals = np.polynomial.chebyshev.chebval((run - middle) / half, coefficients)
    return base + interpolated


def _is_discrete(mechanism: Mechanism) -> bool:
    """Return True if the mechanism rejects an answer between integers."""
    try:
        mechanism.likelihood(0.5, 1)
    except ValueError:
        return True
    return False
