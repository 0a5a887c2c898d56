"""The laws of a count before and after its answers, as curves over the counts that matter."""

import numpy as np

from noisycount.analysis.posterior.observed import likelihood
from noisycount.analysis.posterior.posterior import Posterior
from noisycount.model.below import Below
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.factor import Product
from noisycount.model.noises.additive import SymmetricNoise

__all__ = ["likelihood_curve", "shown_counts"]

_COUNTS = 1000  # of each range: a choice, enough for curves without corners in a small file
_LEFT_OUT = 1e-3  # of each law, on each side


def shown_counts(told: Posterior) -> Reals:
    """Counts over the range of all curves, and as many again where the posterior lies.

    Raises:
        ValueError: An answer is not that of noise which is added to the count, or is no number.
    """
    population = told.population
    prior, ends = population.law(), _reach(told)
    around = [min(population.records, max(0, end)) for end in ends]
    ranges = [
        (
            min(prior.quantile(_LEFT_OUT), around[0]),
            max(prior.quantile(1 - _LEFT_OUT), around[1]),
        ),
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
    normalised: Reals = heights / (heights @ widths)
    return normalised


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
