"""The three averages of an estimate, whichever it is.

How good is an estimate of the count on average, and is it better than the answer?

How wrong may the assumed rate be before the estimate is worse than the answer?
"""

import math
from collections.abc import Callable
from typing import Literal, Protocol, get_args

from noisycount.analysis.evaluation.case import RawAnswer, RoundedAnswer, case_of
from noisycount.analysis.evaluation.mean import MeanEstimate
from noisycount.analysis.evaluation.sampled import sampled_estimate
from noisycount.analysis.evaluation.whole import median_estimate, mode_estimate
from noisycount.analysis.posterior.refine import Estimate
from noisycount.model.exact import Exact
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise, require_log_concave
from noisycount.model.populations.binomial import BetaBinomial, Binomial
from noisycount.model.populations.population import Population
from noisycount.model.searches import bracketed, root
from noisycount.model.subsampling import Subsample
from noisycount.validation import instance_of, positive_number, whole_number

Estimated = Literal["answer", "rounded", "mean", "median", "mode"]
ESTIMATES: tuple[Estimated, ...] = get_args(Estimated)


class Averages(Protocol):
    """How good an estimate is on average."""

    @property
    def error(self) -> float:
        """E|K − estimate|."""
        ...

    @property
    def improvement(self) -> float:
        """P[|K − estimate| < |K − Y|]."""
        ...

    @property
    def tie(self) -> float:
        """P[|K − estimate| = |K − Y|]."""
        ...


def averages(population: Population, mechanism: Mechanism, by: Estimated, assumed: Population | None) -> Averages:
    """The averages of an estimate."""
    if by not in ESTIMATES:
        raise ValueError(f"by must be one of {', '.join(map(repr, ESTIMATES))}, got {by!r}")
    _check_populations(population, assumed)
    if isinstance(mechanism, Exact) and assumed is None:
        return RawAnswer(0.0)  # the count itself, from which no estimate differs
    if isinstance(mechanism, Subsample):
        if by in ("answer", "rounded"):
            assumed = None
        return sampled_estimate(population, mechanism, by, assumed)
    if not isinstance(mechanism, SymmetricNoise):
        raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere in analysis)
            "mechanism must be noise that is added to the count, Subsample, or Exact with nothing "
            f"else assumed, got {mechanism!r}"
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
    """Refuse what is no population, and two of different sizes."""
    instance_of(population, Population, "population")
    if assumed is None:
        return
    instance_of(assumed, Population, "assumed")
    if assumed.size != population.size:
        raise ValueError(f"assumed must be about the {population.size} records of the population, got {assumed.size}")


def mean_absolute_error(
    population: Population, mechanism: Mechanism, by: Estimated, assumed: Population | None = None
) -> float:
    """The mean absolute error of an estimate of the count, over counts and answers.

    E|K − estimate(Y)|. Of the answer itself under Laplace noise it is the scale, 1/ε. The posterior
    median has the smallest error of all estimates.

    Args:
        population: The law of the count.
        mechanism: The law of the answer given the count. Noise that is added; for "mean", "median"
            and "mode" with a log-concave density. `Subsample` alone or with discrete noise on top,
            summed answer by answer: its answer is taken times size/sample size. `Exact` if nothing
            else is assumed.
        by: "answer", "rounded" (to the nearest integer in 0..size), or the posterior "mean",
            "median" or "mode".
        assumed: The population that the estimator believes in; None: the true one.

    Returns:
        The error in records.

    Raises:
        ValueError: If `by` is none of the five, the assumed population has another size or is so
            far off that its probabilities underflow, the mechanism is refused as said, or more than
            four million counts matter.

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
    population: Population, mechanism: Mechanism, by: Estimated, assumed: Population | None = None
) -> float:
    """The probability that an estimate is nearer to the count than the answer is.

    P[|K − estimate(Y)| < |K − Y|]; of an equal distance `tie_probability` tells.

    Args:
        population: The law of the count.
        mechanism: The law of the answer given the count, as for `mean_absolute_error`.
        by: "answer", "rounded", "mean", "median" or "mode".
        assumed: The population that the estimator believes in; None: the true one.

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
    population: Population, mechanism: Mechanism, by: Estimated, assumed: Population | None = None
) -> float:
    """The probability that an estimate is exactly as near to the count as the answer is.

    P[|K − estimate(Y)| = |K − Y|]: 0 under continuous noise, but for the answer itself.

    Args:
        population: The law of the count.
        mechanism: The law of the answer given the count, as for `mean_absolute_error`.
        by: "answer", "rounded", "mean", "median" or "mode".
        assumed: The population that the estimator believes in; None: the true one.

    Raises:
        ValueError: As for `mean_absolute_error`.

    Source: Naldi and D'Acquisto (2014), eq. (13), which compares for continuous noise only.
    Numerical error: 1e-9 absolute. A posterior mean counts as the answer where the weighted
    distances of the counts on both sides of the answer agree within 1e-11 relative or underflow,
    and as its mirror image at the count where the middle of both is within 1e-13 records, or
    1e-13 relative, of the count. From a sample it is as near where both distances differ by at most
    1e-11 mean absolute deviations of the count plus 8 units in the last place.

    Example:
        >>> import noisycount as nc
        >>> round(nc.tie_probability(nc.Binomial(100, 0.3), nc.DiscreteLaplace(1), "median"), 4)
        0.9697
    """
    return float(averages(population, mechanism, by, assumed).tie)


_PRECISION = 1e-11  # of the distance from the true rate: far below the 1e-9 that is promised
_FIRST_STEP = 1e-3  # estimates fail at rates that are off by 0.001 to 0.1


def break_even_rates(
    population: Population, mechanism: Mechanism, by: Estimate = "mean", deviation: float = 0.0
) -> tuple[float, float]:
    """The assumed rates between which the estimate has a smaller error than the answer.

    The rates r below and above the true one at which E|K − estimate| = E|K − Y|, where the
    estimator believes in `Binomial(size, r)` or, if the rate may be off by a standard deviation, in
    `BetaBinomial.from_rate(size, r, deviation)`.

    Args:
        population: The true law of the count.
        mechanism: Noise that is added to the count.
        by: "mean", "median" or "mode".
        deviation: The standard deviation of the assumed rate; 0: it is taken for certain.

    Returns:
        The smaller and the larger rate; where the estimate is better at every rate on a side, the
        last rate that can be assumed there: 0 or 1, or what the deviation allows.

    Raises:
        ValueError: If `by` is none of the three, or the estimate is not better than the answer at
            the true mean rate, or no beta law has that mean and the deviation.

    Source: the rate that Naldi and D'Acquisto (2014), section 3.2, take for known.
    Numerical error: 1e-9 in a rate. The mode under Laplace noise moves in jumps as the rate does:
    there the error is smaller up to the rate that is returned, and larger beyond.

    Example:
        >>> import noisycount as nc
        >>> sure = nc.break_even_rates(nc.Binomial(1000, 0.3), nc.Laplace(10))
        >>> unsure = nc.break_even_rates(nc.Binomial(1000, 0.3), nc.Laplace(10), deviation=0.02)
        >>> [round(rate, 4) for rate in (*sure, *unsure)]
        [0.2848, 0.3156, 0.2714, 0.3294]
    """
    if by not in ("mean", "median", "mode"):
        raise ValueError(f'by must be "mean", "median" or "mode", got {by!r}')
    instance_of(population, Population, "population")
    size = whole_number(population.size, "the size of the population", smallest=1)
    assumed = _assumed(size, deviation)
    goal = mean_absolute_error(population, mechanism, "answer")

    def excess(rate: float) -> float:
        return mean_absolute_error(population, mechanism, by, assumed(rate)) - goal

    true_rate = population.law().mean / size
    lowest, highest = _ends(deviation)
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
    return _crossing(excess, true_rate, lowest), _crossing(excess, true_rate, highest)


def _assumed(size: int, deviation: float) -> Callable[[float], Population]:
    """The population that is believed in at a rate."""
    if deviation == 0:
        return lambda rate: Binomial(size, rate)
    spread = positive_number(deviation, "deviation")
    return lambda rate: BetaBinomial.from_rate(size, rate, spread)


def _ends(deviation: float) -> tuple[float, float]:
    """The smallest and the largest mean rate that can have the deviation, where it is not 0.

    There rate·(1 − rate) = deviation²; a beta law needs a little more.
    """
    if deviation == 0:
        return 0.0, 1.0
    half = math.sqrt(max(0.0, 0.25 - deviation**2 * (1 + 1e-3)))
    return 0.5 - half, 0.5 + half


def _crossing(excess: Callable[[float], float], inside: float, end: float) -> float:
    """Where the excess becomes positive between a rate at which it is negative and an end."""
    side = math.copysign(1.0, end - inside)

    def excess_away(distance: float) -> float:
        return excess(inside + side * distance if distance < farthest else end)

    farthest = abs(end - inside)
    bracket = bracketed(excess_away, 0.0, min(_FIRST_STEP, farthest), (0.0, farthest))
    if bracket.is_open:
        return end
    return inside + side * root(excess_away, bracket, _PRECISION).low
