"""What is the count, given the answer: its law, the estimates that follow, and curves of both."""

import warnings
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from noisycount.analysis.posterior.law import above, quantiles, quantiles_from_above, up_to
from noisycount.analysis.posterior.observed import Answer, Answers, likelihood, observed
from noisycount.analysis.posterior.predictive import contradiction, farthest, is_expected, law_given, two_sided
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

LEVEL = 0.95  # of the interval that is shown
_NEXT_TO_ONE = 1 - 2.0**-53
_LEAST_LEVEL = 2.0**-54  # in place of a level of 0, whose quantile is no count


def tail_levels(level: float) -> tuple[float, float]:
    """The levels of the ends of an equal-tailed interval, both in (0, 1)."""
    tail = (1 - open_probability(level, "level")) / 2
    return tail, min(1 - tail, _NEXT_TO_ONE)


class Estimates:
    """Moments, quantiles and probabilities of a law of a count, and what a law in scipy.stats answers.

    To the names of scipy.stats counts and levels are numbers or arrays of any shape; results have that shape.
    """

    __slots__ = ()

    law: CountDistribution

    @property
    def mean(self) -> float:
        """E[K | Y], in records: the estimate of least squared error."""
        return self.law.mean

    @property
    def variance(self) -> float:
        """Var[K | Y], in records²."""
        return self.law.variance

    @property
    def median(self) -> int:
        """The smallest k with P[K <= k | Y] >= 1/2: the estimate of least absolute error."""
        return self.law.median

    @property
    def mode(self) -> int:
        """The smallest most probable count."""
        return self.law.mode

    @property
    def std(self) -> float:
        """The standard deviation, in records: the root of the variance."""
        return self.law.deviation

    def interval(self, level: float = LEVEL) -> tuple[int, int]:
        """The equal-tailed interval: the quantiles at (1 − level)/2 and (1 + level)/2.

        Args:
            level: The probability that the interval is meant to hold, in (0, 1).

        Raises:
            ValueError: If the level is not in (0, 1).
        """
        low, high = tail_levels(level)
        return self.law.quantile(low), self.law.quantile(high)

    def probability(self, low: float, high: float) -> float:
        """P[low <= K <= high | Y]."""
        return self.law.probability(low, high)

    def pmf(self, counts: ArrayLike) -> Reals:
        """P[K = k | Y] for each count k."""
        return self.law.pmf(counts)

    def logpmf(self, counts: ArrayLike) -> Reals:
        """The logarithm of P[K = k | Y] for each count k, −inf for 0."""
        return self.law.log_pmf(counts)

    def cdf(self, counts: ArrayLike) -> Reals:
        """P[K <= k | Y] for each number k."""
        return up_to(self.law, counts)[()]

    def sf(self, counts: ArrayLike) -> Reals:
        """P[K > k | Y] for each number k, to full relative precision."""
        return above(self.law, counts)[()]

    def ppf(self, levels: ArrayLike) -> Reals:
        """The smallest k with P[K <= k | Y] >= level, for each level.

        Level 0 gives the count below the smallest possible one, level 1 the largest, as in SciPy.

        Raises:
            ValueError: If a level is not in [0, 1].
        """
        return quantiles(self.law, levels)[()]

    def isf(self, levels: ArrayLike) -> Reals:
        """The smallest k with P[K > k | Y] <= level, for each level, also where 1 − level is 1.

        Raises:
            ValueError: If a level is not in [0, 1].
        """
        return quantiles_from_above(self.law, levels)[()]

    def rvs(
        self, size: int | tuple[int, ...] | None = None, random_state: int | np.random.Generator | None = None
    ) -> Reals:
        """Counts drawn from the law, for simulations: never to be released.

        Args:
            size: How many, or the shape; None: a single number.
            random_state: A seed or a generator; None: new draws each time.
        """
        levels = np.random.default_rng(random_state).random(size)
        return self.ppf(np.maximum(levels, _LEAST_LEVEL))

    def _estimates(self) -> dict[str, object]:
        """Those that are shown, by name."""
        shown = {name: getattr(self, name) for name in ("mean", "median", "mode", "std")}
        return {**shown, "interval": self.interval(), "level": LEVEL}


@frozen(repr=False, slots=False)
class Posterior(Charted, Estimates):
    """The law of the count after an answer, and the estimates that follow from it.

    It also answers to `pmf`, `logpmf`, `cdf`, `sf`, `ppf`, `isf` and `rvs`, as laws in scipy.stats do.

    Attributes:
        law: The distribution of the count given the answers.
        population: What was known about the count before.
        observed: The answers, each with its mechanism.
    """

    law: CountDistribution
    population: Population
    observed: tuple[tuple[Answer, Mechanism], ...]

    @cached_property
    def surprise(self) -> float:
        """The prior predictive probability of an answer at least as far out.

        min(1, 2·min(P[Y <= y], P[Y >= y])) before any answer; of several answers the smallest,
        times their number; of a suppressed answer the probability that it was below its threshold.
        Below 1e-3 the answer contradicts the assumed population.
        """
        prior = self.population.law()
        least = min(two_sided(self.population, prior, *pair) for pair in farthest(self.observed))
        return min(1.0, len(self.observed) * least)

    @cached_property
    def warning(self) -> str | None:
        """What is odd about the answers, in words; None where the surprise is 1e-3 or more."""
        if all(
            not isinstance(answer, Below) and is_expected(self.population, answer, mechanism)
            for answer, mechanism in self.observed
        ):
            return None
        mean = self.population.law().mean
        odd = contradiction(self.surprise, mean, len(self.observed), "under the assumed population")
        return None if odd is None else f"{odd}: check the population and the noise"

    def _facts(self) -> dict[str, object]:
        return {
            **self._odd,
            **self._estimates(),
            "surprise": self.surprise,
            "answers": [answer for answer, _ in self.observed],
            "mechanisms": [mechanism for _, mechanism in self.observed],
            "population": self.population,
        }

    def _key_facts(self) -> dict[str, object]:
        estimates = {"mean": self.mean, "median": self.median, "std": self.std}
        answers = [answer for answer, _ in self.observed]
        odd = {"warning": f"surprise {self.surprise:.0e}"} if self._odd else {}
        return {**odd, **estimates, "interval": self.interval(), "answers": answers}

    @property
    def _odd(self) -> dict[str, object]:
        """The warning, if there is one."""
        warning = self.warning
        return {} if warning is None else {"warning": warning}


def posterior(
    answer: Answers, population: Population, mechanism: Mechanism | Sequence[Mechanism] | None = None
) -> Posterior:
    """The law of the count given its answers: P[K = k | Y = y] ∝ P[K = k]·Π f(y | k).

    Args:
        answer: The answer y, in records: any finite number that the mechanism can give, or
            `below(t)` if it was suppressed; or several answers about one count, each with independent noise.
        population: What is known about the count before the answers.
        mechanism: The law of the answer given the count; or as many as there are answers. None:
            each answer carries its own, as what a desk releases does.

    Raises:
        ValueError: If a mechanism cannot give its answer, the numbers of answers and mechanisms
            differ, or the population or a mechanism is something else.

    Warns:
        UserWarning: If the answers contradict the population: their `surprise` is below 1e-3.

    Source: Naldi and D'Acquisto (2014), eq. (8)-(11); the mean is their Bayes estimator.
    Numerical error: below 1e-10 posterior standard deviations plus 4 units in the last place in the
    mean, 1e-9 relative in the variance.

    Example:
        >>> import noisycount as nc
        >>> told = nc.posterior(35.2, nc.Binomial(100, 0.3), nc.Laplace(10))
        >>> round(told.mean, 6), told.median, told.interval(0.95)
        (31.351086, 32, (23, 39))
    """
    told = posterior_of(answer, population, mechanism)
    if (odd := told.warning) is not None:
        warnings.warn(odd, UserWarning, stacklevel=2)
    return told


def posterior_of(
    answer: Answers, population: Population, mechanism: Mechanism | Sequence[Mechanism] | None = None
) -> Posterior:
    """The same as `posterior` without a warning, for whoever warns in words of their own."""
    require_instance(population, Population, "population")
    told = observed(answer, mechanism)
    return Posterior(law_given(population, told), population, told)


_COUNTS = 1000  # of each range: a choice, enough for curves without corners in a small file
_LEFT_OUT = 1e-3  # of each law, on each side


def shown_counts(told: Posterior) -> Reals:
    """Counts over the range of all curves, and as many again where the posterior lies."""
    population = told.population
    prior, ends = population.law(), _reach(told)
    around = [min(population.records, max(0, end)) for end in ends]
    ranges = [
        (min(prior.quantile(_LEFT_OUT), around[0]), max(prior.quantile(1 - _LEFT_OUT), around[1])),
        told.interval(1 - 2 * _LEFT_OUT),
    ]
    return np.unique(np.concatenate([np.linspace(*ends, _COUNTS).round() for ends in ranges]))


def likelihood_curve(told: Posterior, counts: Reals) -> Reals:
    """The likelihood of the answers at each count, with a sum of 1 over all counts of the range."""
    size = told.population.records
    likelihoods = (likelihood(answer, mechanism, size) for answer, mechanism in told.observed)
    logs = Product(tuple(likelihoods)).logs_around_largest(counts, np.zeros_like(counts))
    heights = np.exp(logs - logs.max())
    widths = np.gradient(counts) if counts.size > 1 else np.ones(1)
    return heights / (heights @ widths)


def _reach(told: Posterior) -> tuple[float, float]:
    """Between which counts the answers lie with nearly all of their noise."""
    ends = []
    for answer, mechanism in told.observed:
        if isinstance(answer, Below):
            raise ValueError(f"answer must be a number to be drawn, got {answer!r}")  # noqa: TRY004
        if not isinstance(mechanism, SymmetricNoise):
            raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere in analysis)
                f"mechanism must be noise that is added to the count, got {mechanism!r}"
            )
        error = mechanism.smallest_error(_LEFT_OUT)
        ends += [answer - error, answer + error]
    return min(ends), max(ends)
