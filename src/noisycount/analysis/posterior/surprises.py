"""How surprising each of many answers is, from one table of what was known before."""

import numpy as np

from noisycount.analysis.posterior.posterior import posterior_of
from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.populations.population import Population

__all__ = ["surprises"]

_LEFT_OUT = 1e-16  # of the law of the count, on each side
_WIDEST = 20_000  # counts; beyond, one answer after the other is as fast


def surprises(answers: Reals, population: Population, noise: AdditiveNoise) -> Reals:
    """The surprise of each answer, as `Posterior.surprise` tells it, shape (answers,).

    P[Y <= y] is the sum of P[K = k]·P[Y <= y | k] over the counts that matter, and so for >=.

    Args:
        answers: Answers in records, without nan, each about a count of its own.
        population: What is known about each count before its answer.
        noise: The noise of each answer.

    Numerical error:
        At most 1e-13, and the sums leave out 2e-16.

    Example:
        >>> from noisycount.model.noises.laplace import Laplace
        >>> from noisycount.model.populations.binomial import Binomial
        >>> surprises(np.array([30.0, 95.0]), Binomial(100, 0.3), Laplace(5)).round(6).tolist()
        [0.996369, 3e-06]
    """
    different, places = np.unique(answers, return_inverse=True)
    prior = population.law()
    low, high = prior.quantile(_LEFT_OUT), prior.quantile(1 - _LEFT_OUT)
    if high - low > _WIDEST:
        found = [posterior_of(float(each), population, noise).surprise for each in different]
        return np.array(found, dtype=np.float64)[places]
    counts = np.arange(low, high + 1, dtype=np.float64)
    masses = np.exp(prior.log_pmf(counts))

    def beyond(answer: float, *, upper: bool) -> float:
        tail = noise.tail(answer, population.records, upper=upper)
        return float(masses @ np.exp(tail.log_values(counts)))

    least = [min(beyond(each, upper=side) for side in (False, True)) for each in different.tolist()]
    return np.minimum(1.0, 2 * np.array(least, dtype=np.float64))[places]
