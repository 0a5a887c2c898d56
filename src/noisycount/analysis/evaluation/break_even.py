"""How wrong may the assumed rate be before the estimate is worse than the answer?"""

import math
from collections.abc import Callable

from noisycount.analysis.evaluation.evaluation import mean_absolute_error
from noisycount.analysis.posterior.refine import Estimate
from noisycount.model.mechanism import Mechanism
from noisycount.model.populations.beta_binomial import BetaBinomial
from noisycount.model.populations.binomial import Binomial
from noisycount.model.populations.population import Population
from noisycount.model.search import bracketed, root
from noisycount.model.validation import instance_of, positive_number, whole_number

__all__ = ["break_even_rates"]

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
