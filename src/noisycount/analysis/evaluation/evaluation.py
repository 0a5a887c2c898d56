"""Mean absolute error of an estimate, and the probability that the estimate is closer to the count than the answer.

The module also has the joint distribution of count and answer for samples of the records, and the range of assumed
rates for which an estimate has a smaller error than the answer.
"""

import math
from collections.abc import Callable
from dataclasses import field
from functools import cache
from typing import Literal, TypeAlias, get_args

import numpy as np

from noisycount.analysis.evaluation.estimates import (
    RawAnswer,
    RoundedAnswer,
    WholeEstimate,
    assumed_table,
    case_of,
    median_estimate,
    mode_estimate,
    table_of,
)
from noisycount.analysis.evaluation.mean import MeanEstimate
from noisycount.analysis.posterior.law import DEPTH, CountTable
from noisycount.analysis.posterior.refine import Estimate, refine_array
from noisycount.frozen import frozen
from noisycount.model.exact import Exact
from noisycount.model.laws.count_law import TIE
from noisycount.model.laws.factors import LOG_TIE
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.smooth_law import smooth_law
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise, require_log_concave
from noisycount.model.populations.binomial import BetaBinomial, Binomial
from noisycount.model.populations.population import Population
from noisycount.model.searches import bracket_root, root
from noisycount.model.subsampling import DrawnPositives, Subsample
from noisycount.validation import positive_number, require_instance, whole_number

_ENTRIES = 20_000_000  # largest number of pairs of count and answer; such tables take some hundred megabytes
_EQUAL = 1e-11  # tolerance of a posterior mean, in mean absolute deviations, above its rounding error
_ROUNDING = 4 * float(np.finfo(float).eps)  # rounding error of a difference of two rounded numbers, relative to both


@frozen(eq=False)
class SampledEstimate:
    """An estimate for each answer about a sample, and the answer scaled up to the database for comparison."""

    counts: Reals  # the counts, shape (counts,)
    joint: Reals  # P[Y = y, K = k], shape (answers, counts)
    scaled: Reals  # y·size/sample size, shape (answers,)
    estimates: Reals  # shape (answers,)
    unsure: Reals  # bound of the rounding error of each estimate, in records, shape (answers,)
    _away: Reals = field(init=False, repr=False)
    _gain: Reals = field(init=False, repr=False)

    def __post_init__(self) -> None:
        away = np.abs(self.counts - self.estimates[:, None])
        gain = np.abs(self.counts - self.scaled[:, None]) - away
        rounding = _ROUNDING * np.maximum(self.counts, np.abs(self.scaled)[:, None])
        gain[np.abs(gain) <= self.unsure[:, None] + rounding] = 0.0
        object.__setattr__(self, "_away", away)
        object.__setattr__(self, "_gain", gain)

    @property
    def error(self) -> float:
        """Mean absolute error E|K − estimate|."""
        return float((self.joint * self._away).sum())

    @property
    def improvement(self) -> float:
        """Probability P[|K − estimate| < |K − Y·size/sample size|]."""
        return float(self.joint[self._gain > 0].sum())

    @property
    def tie(self) -> float:
        """Probability P[|K − estimate| = |K − Y·size/sample size|], up to rounding."""
        return float(self.joint[self._gain == 0].sum())


def sampled_estimate(
    population: Population, mechanism: Subsample, by: str, assumed: Population | None
) -> SampledEstimate:
    """Return the joint distribution of count and answer, and the estimate for each answer, for a sample of the records.

    Raises:
        ValueError: If the sample is larger than the population, its noise is continuous, the table would be too large,
            or the assumed population excludes an answer that the true one allows.
    """
    size, sample_size, noise = population.size, mechanism.sample_size, mechanism.noise
    if sample_size > size:
        raise ValueError(f"sample_size must be at most the {size} records there are, got {sample_size}")
    if noise is not None and not (isinstance(noise, SymmetricNoise) and noise.is_discrete):
        raise ValueError(
            f"mechanism must have discrete noise or none if it draws a sample, as all answers are summed, got {noise!r}"
        )
    table = table_of(population.law(), size)
    first, last = _drawn_ends(table, sample_size, size)
    reach = 0 if noise is None else int(np.ceil(noise.error_with_tail(-DEPTH)))
    answers = np.arange(first - reach, last + reach + 1, dtype=np.float64)
    span = (float(answers[0]), float(answers[-1]))
    believed = table if assumed is None else assumed_table(assumed, mechanism, span)
    start, stop = min(table.first, believed.first), max(table.last, believed.last)
    if noise is not None:  # samples may be likely under the assumed population only
        ends = _drawn_ends(believed, sample_size, size)
        first, last = min(first, ends[0]), max(last, ends[1])
    _check_entries(max(answers.size, last - first + 1) * (stop - start + 1))
    positives = np.arange(first, last + 1, dtype=np.float64)
    logs = _log_likelihoods(positives, range(start, stop + 1), sample_size, size)
    if noise is not None:
        errors = (answers[:, None] - positives).ravel()
        chances = noise.errors.between(errors, np.ones(1)).reshape(answers.size, positives.size)
        with np.errstate(divide="ignore"):
            logs = np.log(chances @ np.exp(logs))
    joint = np.exp(logs + _log_table(table, start, stop))
    possible = joint.sum(axis=1) > 0
    log_joint = (logs + _log_table(believed, start, stop))[possible]
    scaled = answers[possible] * size / sample_size
    counts = np.arange(start, stop + 1, dtype=np.float64)
    estimates = _estimates_of_answers(by, scaled, counts, log_joint, size)
    if by == "mode" and noise is None:  # two counts often have equal weights; `refine_array` compares them exactly
        estimates = refine_array(answers[possible], assumed or population, mechanism, "mode")
    unsure = _mean_absolute_deviations(counts, log_joint, estimates) * _EQUAL if by == "mean" else 0 * estimates
    return SampledEstimate(counts, joint[possible], scaled, estimates, unsure)


def _drawn_ends(table: CountTable, sample_size: int, size: int) -> tuple[int, int]:
    """Return the smallest and the largest number of positives in a sample that is likely for a count of the table."""
    laws = [smooth_law([DrawnPositives(k, sample_size, size)]) for k in (table.first, table.last)]
    return table_of(laws[0], sample_size).first, table_of(laws[1], sample_size).last


def _log_likelihoods(positives: Reals, counts: range, sample_size: int, size: int) -> Reals:
    """Return ln P[S = s | K = k] for s positives in the sample, shape (positives, counts)."""
    laws = (smooth_law([DrawnPositives(count, sample_size, size)]) for count in counts)
    return np.array([law.log_pmf(positives) for law in laws]).T


def _log_table(table: CountTable, start: int, stop: int) -> Reals:
    """Return the log probabilities of the counts start..stop, −inf outside the table."""
    return np.pad(table.logs, (table.first - start, stop - table.last), constant_values=-np.inf)


def _estimates_of_answers(by: str, scaled: Reals, counts: Reals, log_weights: Reals, size: int) -> Reals:
    """Return the estimate for each answer.

    Args:
        by: "answer", "rounded", "mean", "median" or "mode".
        scaled: Answers scaled up to the database, shape (answers,).
        counts: Consecutive counts, shape (counts,).
        log_weights: Posterior log-weights of the counts, shape (answers, counts).
        size: Number of records.
    """
    if by == "answer":
        return scaled
    if by == "rounded":
        return np.clip(np.floor(scaled + 0.5), 0, size)
    peaks = log_weights.max(axis=1, keepdims=True)
    if not np.isfinite(peaks).all():
        raise ValueError(
            "assumed must make every answer possible that the population makes possible: check its size and rate"
        )
    if by == "mode":
        return counts[(log_weights >= peaks - LOG_TIE).argmax(axis=1)]
    shares = np.exp(log_weights - peaks)
    if by == "mean":
        return counts[0] + shares @ (counts - counts[0]) / shares.sum(axis=1)
    below = np.cumsum(shares, axis=1)
    return counts[(below >= below[:, -1:] * (0.5 * (1 - TIE))).argmax(axis=1)]


def _mean_absolute_deviations(counts: Reals, log_joint: Reals, means: Reals) -> Reals:
    """Return the mean absolute deviation of the count from its posterior mean, for each answer."""
    shares = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    return (shares * np.abs(counts - means[:, None])).sum(axis=1) / shares.sum(axis=1)


def _check_entries(entries: int) -> None:
    """Raise ValueError if a table of `entries` pairs of count and answer is too large."""
    if entries > _ENTRIES:
        raise ValueError(
            f"population and sample must leave at most {_ENTRIES:,} pairs of count and answer to "
            f"sum, got {entries:,}: take a smaller size, or simulate"
        )


EstimateKind = Literal["answer", "rounded", "mean", "median", "mode"]
ESTIMATES: tuple[EstimateKind, ...] = get_args(EstimateKind)


Averages: TypeAlias = RawAnswer | RoundedAnswer | WholeEstimate | MeanEstimate | SampledEstimate


def averages(population: Population, mechanism: Mechanism, by: EstimateKind, assumed: Population | None) -> Averages:
    """Return the averages of an estimate. Raise ValueError as `mean_absolute_error` does."""
    if by not in ESTIMATES:
        raise ValueError(f"by must be one of {', '.join(map(repr, ESTIMATES))}, got {by!r}")
    _check_populations(population, assumed)
    if isinstance(mechanism, Exact) and assumed is None:
        return RawAnswer(0.0)  # every estimate is the count itself
    if isinstance(mechanism, Subsample):
        if by in ("answer", "rounded"):
            assumed = None
        return sampled_estimate(population, mechanism, by, assumed)
    if not isinstance(mechanism, SymmetricNoise):
        raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere in analysis)
            "mechanism must be noise that is added to the count, Subsample, or Exact without `assumed`, "
            f"got {mechanism!r}"
        )
    if by == "answer":
        return RawAnswer(mechanism.mean_absolute)
    if by == "rounded":
        return RoundedAnswer(case_of(population, mechanism, None))
    require_log_concave(mechanism, f"the average of an estimate by {by!r}")
    case = case_of(population, mechanism, assumed)
    if by == "mean":
        return MeanEstimate(case)
    return median_estimate(case) if by == "median" else mode_estimate(case)


def _check_populations(population: Population, assumed: Population | None) -> None:
    """Raise ValueError if an argument is no population, or the two populations differ in size."""
    require_instance(population, Population, "population")
    if assumed is None:
        return
    require_instance(assumed, Population, "assumed")
    if assumed.size != population.size:
        raise ValueError(f"assumed must be about the {population.size} records of the population, got {assumed.size}")


def mean_absolute_error(
    population: Population, mechanism: Mechanism, by: EstimateKind, assumed: Population | None = None
) -> float:
    """Return the mean absolute error E|K − estimate(Y)| of an estimate of the count, over counts K and answers Y.

    For the answer itself under Laplace noise it is the scale, 1/ε. The posterior median has the smallest error of all
    estimates if the assumed population is the true one.

    Args:
        population: The distribution of the count.
        mechanism: The distribution of the answer given the count. Either noise that is added; for "mean", "median" and
            "mode" its density must be log-concave. Or `Subsample`, alone or with discrete noise: its answer is scaled
            by size/sample size. Or `Exact`, if `assumed` is None.
        by: "answer", "rounded" (to the nearest integer in 0..size), or the posterior "mean", "median" or "mode".
        assumed: The population that the estimator assumes. Default: `population`.

    Returns:
        The error in records.

    Raises:
        ValueError: If `by` is none of the five, the assumed population has another size or is so different that its
            probabilities underflow, the mechanism is none of those above, a sample is larger than the population, or
            too many counts matter: more than four million, or for a sample more than 20 million pairs of count and
            answer.

    Source: Naldi and D'Acquisto (2014), eq. (12) and (14), there by simulation.
    Numerical error: 1e-9 relative, or 1e-15 records if that is more.

    Example:
        >>> import noisycount as nc
        >>> of = [nc.mean_absolute_error(nc.Binomial(100, 0.3), nc.Laplace(1), by)
        ...       for by in ("answer", "rounded", "mean", "median")]
        >>> [round(error, 4) for error in of]
        [1.0, 0.9595, 0.9805, 0.9333]
    """
    return float(averages(population, mechanism, by, assumed).error)


def improvement_probability(
    population: Population, mechanism: Mechanism, by: EstimateKind, assumed: Population | None = None
) -> float:
    """Return the probability that an estimate is closer to the count K than the answer Y.

    It is P[|K − estimate(Y)| < |K − Y|]. `tie_probability` returns the probability of equal distances.

    Args:
        population: The distribution of the count.
        mechanism: The distribution of the answer given the count, as for `mean_absolute_error`.
        by: "answer", "rounded", "mean", "median" or "mode".
        assumed: The population that the estimator assumes. Default: `population`.

    Raises:
        ValueError: As for `mean_absolute_error`.

    Source: Naldi and D'Acquisto (2014), eq. (13), there by simulation.
    Numerical error: 1e-9 absolute.

    Example:
        >>> import noisycount as nc
        >>> round(nc.improvement_probability(nc.Binomial(100, 0.3), nc.Laplace(1), "median"), 4)
        0.6446
    """
    return float(averages(population, mechanism, by, assumed).improvement)


def tie_probability(
    population: Population, mechanism: Mechanism, by: EstimateKind, assumed: Population | None = None
) -> float:
    """Return the probability that an estimate is exactly as close to the count K as the answer Y.

    It is P[|K − estimate(Y)| = |K − Y|]. Under continuous noise it is 1 for the answer itself, and 0 for
    every other estimate.

    Args:
        population: The distribution of the count.
        mechanism: The distribution of the answer given the count, as for `mean_absolute_error`.
        by: "answer", "rounded", "mean", "median" or "mode".
        assumed: The population that the estimator assumes. Default: `population`.

    Raises:
        ValueError: As for `mean_absolute_error`.

    Source: Naldi and D'Acquisto (2014), eq. (13), for continuous noise only.
    Numerical error: 1e-9 absolute. A posterior mean is taken to be equal to the answer if the weighted distances of the
    counts on both sides of the answer agree within 1e-11 relative, or both underflow. It is taken to be as far from a
    count as the answer if the middle of mean and answer is within 1e-13 records, or 1e-13 relative, of the count. For a
    sample, two distances are taken to be equal if they differ by at most 8.9e-16 of the larger of count and scaled
    answer; for a posterior mean 1e-11 mean absolute deviations of the count are added.

    Example:
        >>> import noisycount as nc
        >>> round(nc.tie_probability(nc.Binomial(100, 0.3), nc.DiscreteLaplace(1), "median"), 4)
        0.9697
    """
    return float(averages(population, mechanism, by, assumed).tie)


_PRECISION = 1e-11  # relative, of the squared distance from the true rate: far below the stated error of 1e-9


def break_even_rates(
    population: Population, mechanism: Mechanism, by: Estimate = "mean", deviation: float = 0.0
) -> tuple[float, float]:
    """Return the smallest and the largest assumed rate for which an estimate has a smaller error than the answer.

    They are the rates r below and above the true one at which E|K − estimate(Y)| = E|K − Y|. The estimator assumes
    `Binomial(size, r)`, or `BetaBinomial.from_rate(size, r, deviation)` if the deviation is positive.

    Args:
        population: The true distribution of the count.
        mechanism: Noise that is added to the count.
        by: "mean", "median" or "mode".
        deviation: The standard deviation of the assumed rate; 0: the rate is taken as certain.

    Returns:
        The smaller and the larger rate. If the estimate is better at every rate on one side of the true one, the
        last rate that can be assumed on that side: 0 or 1, or the limit that the deviation sets.

    Raises:
        ValueError: If `by` is none of the three, the estimate is not better than the answer at the true mean rate, or
            no beta distribution has that mean and the deviation; else as for `mean_absolute_error`.

    Source: Naldi and D'Acquisto (2014), section 3.2, where the rate is known.
    Numerical error: 1e-9 in a rate. Under Laplace noise the error of the mode jumps as the rate changes: it is smaller
    than that of the answer up to the rate that is returned, and larger beyond.

    Example:
        >>> import noisycount as nc
        >>> sure = nc.break_even_rates(nc.Binomial(1000, 0.3), nc.Laplace(10))
        >>> unsure = nc.break_even_rates(nc.Binomial(1000, 0.3), nc.Laplace(10), deviation=0.02)
        >>> [round(rate, 4) for rate in (*sure, *unsure)]
        [0.2848, 0.3156, 0.2714, 0.3294]
    """
    if by not in ("mean", "median", "mode"):
        raise ValueError(f'by must be "mean", "median" or "mode", got {by!r}')
    require_instance(population, Population, "population")
    size = whole_number(population.size, "the size of the population", smallest=1)
    assumed = _population_of_rate(size, deviation)
    goal = mean_absolute_error(population, mechanism, "answer")

    @cache
    def excess(rate: float) -> float:
        return mean_absolute_error(population, mechanism, by, assumed(rate)) - goal

    law = population.law()
    true_rate, first_step = law.mean / size, math.hypot(law.deviation, goal) / size
    lowest, highest = _rate_limits(deviation)
    if not lowest <= true_rate <= highest:
        raise ValueError(
            f"deviation must be below √(rate·(1 − rate)) = "
            f"{math.sqrt(true_rate * (1 - true_rate)):.6g} at the true rate, got {deviation!r}"
        )
    if excess(true_rate) >= 0:
        raise ValueError(
            f"by must name an estimate that is better than the answer at the true rate "
            f"{true_rate:.6g}, which the posterior {by} is not: give another, or a deviation"
        )
    below, above = (_find_sign_change(excess, true_rate, end, first_step) for end in (lowest, highest))
    return below, above


def _population_of_rate(size: int, deviation: float) -> Callable[[float], Population]:
    """Return the function from an assumed mean rate to the assumed population."""
    if deviation == 0:
        return lambda rate: Binomial(size, rate)
    spread = positive_number(deviation, "deviation")
    return lambda rate: BetaBinomial.from_rate(size, rate, spread)


def _rate_limits(deviation: float) -> tuple[float, float]:
    """Return the smallest and the largest mean rate that can be assumed.

    A beta distribution with mean `rate` has a deviation below √(rate·(1 − rate)). A margin of 1e-3 of deviation² is
    left.
    """
    if deviation == 0:
        return 0.0, 1.0
    half = math.sqrt(max(0.0, 0.25 - deviation**2 * (1 + 1e-3)))
    return 0.5 - half, 0.5 + half


def _find_sign_change(excess: Callable[[float], float], inside: float, end: float, first_step: float) -> float:
    """Return the rate at which the excess, negative at `inside`, becomes positive; `end` if it stays negative.

    The excess grows about as the square of the distance from `inside`. The search is for that square, in which the
    excess is nearly linear.
    """
    side, farthest = math.copysign(1.0, end - inside), abs(end - inside)

    def excess_away(square: float) -> float:
        return excess(inside + side * math.sqrt(square) if square < farthest**2 else end)

    bracket = bracket_root(excess_away, 0.0, min(first_step, farthest) ** 2, (0.0, farthest**2))
    if bracket.is_open:
        return end
    return inside + side * math.sqrt(root(excess_away, bracket, _PRECISION).low)
