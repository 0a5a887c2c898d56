"""What is the count, given the answer?"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from noisycount.analysis.posterior.estimates import LEVEL, Estimates
from noisycount.analysis.posterior.observed import Answer, Answers, observed
from noisycount.analysis.posterior.predictive import (
    contradiction,
    farthest,
    is_expected,
    two_sided,
)
from noisycount.analysis.posterior.windows import law_given
from noisycount.model.below import Below
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.mechanism import Mechanism
from noisycount.model.populations.population import Population
from noisycount.model.validation import instance_of
from noisycount.shown.value import Shown

__all__ = ["Posterior", "posterior", "posterior_of"]


@dataclass(frozen=True, repr=False)
class Posterior(Shown, Estimates):
    """The law of the count after an answer, and the estimates that follow from it.

    It also answers to `pmf`, `logpmf`, `cdf`, `sf`, `ppf`, `isf` and `rvs`, as laws in scipy.stats
    do.

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
        """The estimates, what they rest on, and whether that fits."""
        return {
            **self._odd,
            "mean": self.mean,
            "median": self.median,
            "mode": self.mode,
            "std": self.std,
            "interval": self.interval(),
            "level": LEVEL,
            "surprise": self.surprise,
            "answers": [answer for answer, _ in self.observed],
            "mechanisms": [mechanism for _, mechanism in self.observed],
            "population": self.population,
        }

    def _key_facts(self) -> dict[str, object]:
        """The estimates and the answers."""
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
    answer: Answers,
    population: Population,
    mechanism: Mechanism | Sequence[Mechanism] | None = None,
) -> Posterior:
    """The law of the count given its answers: P[K = k | Y = y] ∝ P[K = k]·Π f(y | k).

    Args:
        answer: The answer y, in records: any finite number that the mechanism can give, or
            `below(t)` if it was suppressed; or several answers about one count, each with
            independent noise.
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
    answer: Answers,
    population: Population,
    mechanism: Mechanism | Sequence[Mechanism] | None = None,
) -> Posterior:
    """The same as `posterior` without a warning, for whoever warns in words of their own."""
    instance_of(population, Population, "population")
    told = observed(answer, mechanism)
    return Posterior(law_given(population, told), population, told)
