"""Posterior distribution of the count given answers, its estimates, and the curves of its chart.

`predictive` computes the distribution and the surprise of an answer, `law` its probabilities for whole arrays.
"""

import warnings
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from noisycount.analysis.posterior.law import probability_above, quantiles, quantiles_from_above, up_to
from noisycount.analysis.posterior.observed import Answer, Answers, likelihood, pair_with_mechanisms
from noisycount.analysis.posterior.predictive import (
    contradiction_warning,
    farthest_answers,
    is_expected,
    law_given,
    two_sided_probability,
)
from noisycount.display.values import Charted
from noisycount.frozen import frozen
from noisycount.model.exact import Below
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.factors import Product
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.population import Population
from noisycount.validation import open_probability, require_instance

LEVEL = 0.95  # of intervals, unless another level is given
_NEXT_TO_ONE = 1 - 2.0**-53
_SMALLEST_LEVEL = 2.0**-54  # replaces a level of 0, whose quantile is no possible count


def interval_end_levels(level: float) -> tuple[float, float]:
    """Return the levels of the two ends of an equal-tailed interval, both in (0, 1)."""
    tail = (1 - open_probability(level, "level")) / 2
    return tail, min(1 - tail, _NEXT_TO_ONE)


class Estimates:
    """Moments, quantiles and probabilities of a count's distribution, and the methods of scipy.stats.

    The methods named as in scipy.stats take numbers or arrays of any shape, and return results of that shape.
    """

    __slots__ = ()

    law: CountDistribution

    @property
    def mean(self) -> float:
        """E[K | Y], in records: the estimate with the smallest mean squared error."""
        return self.law.mean

    @property
    def variance(self) -> float:
        """Var[K | Y], in records²."""
        return self.law.variance

    @property
    def median(self) -> int:
        """Smallest k with P[K <= k | Y] >= 1/2: the estimate with the smallest mean absolute error."""
        return self.law.median

    @property
    def mode(self) -> int:
        """Most probable count; the smallest of several."""
        return self.law.mode

    @property
    def std(self) -> float:
        """Standard deviation, in records."""
        return self.law.deviation

    def interval(self, level: float = LEVEL) -> tuple[int, int]:
        """Return the equal-tailed interval: the quantiles at (1 − level)/2 and (1 + level)/2.

        Args:
            level: The probability of a count inside the interval, in (0, 1).

        Raises:
            ValueError: If the level is not in (0, 1).
        """
        low, high = interval_end_levels(level)
        return self.law.quantile(low), self.law.quantile(high)

    def probability(self, low: float, high: float) -> float:
        """Return P[low <= K <= high | Y]."""
        return self.law.probability(low, high)

    def pmf(self, counts: ArrayLike) -> Reals:
        """Return P[K = k | Y] for each count k."""
        return self.law.pmf(counts)

    def logpmf(self, counts: ArrayLike) -> Reals:
        """Return ln P[K = k | Y] for each count k, −inf for 0."""
        return self.law.log_pmf(counts)

    def cdf(self, counts: ArrayLike) -> Reals:
        """Return P[K <= k | Y] for each number k."""
        return up_to(self.law, counts)[()]

    def sf(self, counts: ArrayLike) -> Reals:
        """Return P[K > k | Y] for each number k, to full relative precision."""
        return probability_above(self.law, counts)[()]

    def ppf(self, levels: ArrayLike) -> Reals:
        """Return the smallest k with P[K <= k | Y] >= level, for each level.

        Level 0 gives the count below the smallest possible one, level 1 the largest, as in SciPy.

        Raises:
            ValueError: If a level is not in [0, 1].
        """
        return quantiles(self.law, levels)[()]

    def isf(self, levels: ArrayLike) -> Reals:
        """Return the smallest k with P[K > k | Y] <= level, for each level, also if 1 − level rounds to 1.

        Raises:
            ValueError: If a level is not in [0, 1].
        """
        return quantiles_from_above(self.law, levels)[()]

    def rvs(
        self, size: int | tuple[int, ...] | None = None, random_state: int | np.random.Generator | None = None
    ) -> Reals:
        """Draw counts from the distribution, for simulations. Never release them.

        Args:
            size: The number of counts, or a shape; None: a single number.
            random_state: A seed or a generator; None: different draws each time.
        """
        levels = np.random.default_rng(random_state).random(size)
        return self.ppf(np.maximum(levels, _SMALLEST_LEVEL))

    def _estimates(self) -> dict[str, object]:
        """Return the estimates that are shown, by name."""
        estimates = {name: getattr(self, name) for name in ("mean", "median", "mode", "std")}
        return {**estimates, "interval": self.interval(), "level": LEVEL}


@frozen(repr=False, slots=False)
class Posterior(Charted, Estimates):
    """The posterior distribution of a count given answers, and its estimates.

    It has the methods `pmf`, `logpmf`, `cdf`, `sf`, `ppf`, `isf` and `rvs` of a distribution in scipy.stats.

    Attributes:
        law: The distribution of the count given the answers.
        population: The prior distribution of the count.
        observed: The answers, each with its mechanism.
    """

    law: CountDistribution
    population: Population
    observed: tuple[tuple[Answer, Mechanism], ...]

    @cached_property
    def surprise(self) -> float:
        """Prior predictive probability of an answer at least as far out as this one.

        For one answer y: min(1, 2·min(P[Y <= y], P[Y >= y])) under the prior. For a suppressed answer: the probability
        that it is below its threshold. For several answers: the smallest value times their number. A value below 1e-3
        contradicts the assumed population.
        """
        prior = self.population.law()
        smallest = min(two_sided_probability(self.population, prior, *pair) for pair in farthest_answers(self.observed))
        return min(1.0, len(self.observed) * smallest)

    @cached_property
    def warning(self) -> str | None:
        """Warning that the answers contradict the population, or None if the surprise is at least 1e-3."""
        if all(
            not isinstance(answer, Below) and is_expected(self.population, answer, mechanism)
            for answer, mechanism in self.observed
        ):
            return None
        mean = self.population.law().mean
        text = contradiction_warning(self.surprise, mean, len(self.observed), "under the assumed population")
        return None if text is None else f"{text}: check the population and the noise"

    def _facts(self) -> dict[str, object]:
        return {
            **self._warning_fact,
            **self._estimates(),
            "surprise": self.surprise,
            "answers": [answer for answer, _ in self.observed],
            "mechanisms": [mechanism for _, mechanism in self.observed],
            "population": self.population,
        }

    def _key_facts(self) -> dict[str, object]:
        estimates = {"mean": self.mean, "median": self.median, "std": self.std}
        answers = [answer for answer, _ in self.observed]
        warning = {"warning": f"surprise {self.surprise:.0e}"} if self._warning_fact else {}
        return {**warning, **estimates, "interval": self.interval(), "answers": answers}

    @property
    def _warning_fact(self) -> dict[str, object]:
        """The warning by its name, or nothing."""
        warning = self.warning
        return {} if warning is None else {"warning": warning}


def posterior(
    answer: Answers, population: Population, mechanism: Mechanism | Sequence[Mechanism] | None = None
) -> Posterior:
    """Return the posterior distribution of the count: P[K = k | Y = y] ∝ P[K = k]·Π f(y | k).

    Args:
        answer: The answer y, in records: any finite number that the mechanism can give, or
            `below(t)` if it was suppressed; or several answers about one count, each with independent noise.
        population: The prior distribution of the count.
        mechanism: The mechanism of the answer, or a sequence with one for each answer. None: each
            answer carries its mechanism, as the releases of a desk do.

    Raises:
        ValueError: If a mechanism cannot give its answer, the numbers of answers and mechanisms
            differ, or an argument has another type.

    Warns:
        UserWarning: If the answers contradict the population: their `surprise` is below 1e-3.

    Source: Naldi and D'Acquisto (2014), eq. (8)-(11); the mean is their Bayes estimator.
    Numerical error: below 1e-10 posterior standard deviations plus 4 units in the last place in the
    mean, 1e-9 relative in the variance.

    Example:
        >>> import noisycount as nc
        >>> result = nc.posterior(35.2, nc.Binomial(100, 0.3), nc.Laplace(10))
        >>> round(result.mean, 6), result.median, result.interval(0.95)
        (31.351086, 32, (23, 39))
    """
    result = posterior_of(answer, population, mechanism)
    if (text := result.warning) is not None:
        warnings.warn(text, UserWarning, stacklevel=2)
    return result


def posterior_of(
    answer: Answers, population: Population, mechanism: Mechanism | Sequence[Mechanism] | None = None
) -> Posterior:
    """Return the result of `posterior` without its warning, for callers that show a warning of their own."""
    require_instance(population, Population, "population")
    pairs = pair_with_mechanisms(answer, mechanism)
    return Posterior(law_given(population, pairs), population, pairs)


_COUNTS = 1000  # points of each range of a chart: smooth curves in a small file
_LEFT_OUT = 1e-3  # probability outside the chart, on each side of each distribution


def chart_counts(result: Posterior) -> Reals:
    """Return the counts of a chart: half of them over the range of all curves, half where the posterior is large."""
    population = result.population
    prior, ends = population.law(), _likelihood_range(result)
    around = [min(population.records, max(0, end)) for end in ends]
    ranges = [
        (min(prior.quantile(_LEFT_OUT), around[0]), max(prior.quantile(1 - _LEFT_OUT), around[1])),
        result.interval(1 - 2 * _LEFT_OUT),
    ]
    return np.unique(np.concatenate([np.linspace(*ends, _COUNTS).round() for ends in ranges]))


def likelihood_curve(result: Posterior, counts: Reals) -> Reals:
    """Return the likelihood of the answers at each count, scaled to a sum of 1 over all counts of the range."""
    size = result.population.records
    likelihoods = (likelihood(answer, mechanism, size) for answer, mechanism in result.observed)
    logs = Product(tuple(likelihoods)).logs_around_largest(counts, np.zeros_like(counts))
    heights = np.exp(logs - logs.max())
    widths = np.gradient(counts) if counts.size > 1 else np.ones(1)
    return heights / (heights @ widths)


def _likelihood_range(result: Posterior) -> tuple[float, float]:
    """Return a range of counts around all answers.

    Noise leads from a count outside to an answer with probability `_LEFT_OUT`.
    """
    ends = []
    for answer, mechanism in result.observed:
        if isinstance(answer, Below):
            raise ValueError(f"answer must be a number to be drawn, got {answer!r}")  # noqa: TRY004
        if not isinstance(mechanism, SymmetricNoise):
            raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere in analysis)
                f"mechanism must be noise that is added to the count, got {mechanism!r}"
            )
        error = mechanism.smallest_error(_LEFT_OUT)
        ends += [answer - error, answer + error]
    return min(ends), max(ends)
