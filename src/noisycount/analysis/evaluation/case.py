"""Which counts and answers matter to an average, and the weights that they have."""

import math
from dataclasses import dataclass

import numpy as np

from noisycount.analysis.evaluation.weights import Weights, Window, weights
from noisycount.analysis.posterior.laplace_cells import bulk_end
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.expansion import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.noises.error_law import ErrorLaw
from noisycount.model.populations.population import Population

__all__ = ["Case", "believed_window", "case_of", "errors_of", "window_of"]

_DEPTH = 80.0
_WIDEST = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A count, its answer, and what the estimator believes.

    Attributes:
        size: The number of records.
        truth: The weights of the true law of the count.
        belief: Those of the law that the estimator believes in; the same object if it is the true.
        errors: The law of the noise.
        reach: How far the noise reaches, in records, whole.
        span: The smallest and the largest answer that matter, whole; for Laplace noise those
            between which all counts lie, as the estimate is constant beyond.
    """

    size: int
    truth: Weights
    belief: Weights
    errors: ErrorLaw
    reach: float
    span: tuple[float, float]

    @property
    def chances(self) -> Reals:
        """P[K = k] for the counts of the window."""
        return self.truth.window.chances

    @property
    def counts(self) -> Reals:
        """The counts of the window."""
        return self.truth.window.counts

    @property
    def inner_integers(self) -> Reals:
        """The integers between which all counts lie that are true or believed in."""
        windows = self.truth.window, self.belief.window
        first, last = min(w.first for w in windows), max(w.last for w in windows)
        return np.arange(first, last + 1, dtype=np.float64)

    @property
    def density_scale(self) -> float:
        """What makes the weights of the truth a density of answers."""
        return self.errors.peak * math.exp(-float(self.errors.log_density(np.zeros(1))[0]))

    @property
    def gap(self) -> float:
        """The distance from an answer to the next larger one, in records; 0 if there is none."""
        return 1.0 if self.errors.is_discrete else 0.0


def case_of(population: Population, noise: SymmetricNoise, assumed: Population | None) -> Case:
    """The case of additive noise.

    Raises:
        ValueError: If a law is too wide to be summed count by count, or the assumed one too far off
            for its digits.
    """
    errors, reach = errors_of(noise)
    window = window_of(population.law(), population.size)
    span = (window.first - reach, window.last + reach)
    believed = window if assumed is None else believed_window(assumed, noise, span)
    if errors.is_geometric:
        span = (
            float(min(window.first, believed.first)),
            float(max(window.last, believed.last)),
        )
    truth = weights(window, errors, span)
    belief = truth if assumed is None else weights(believed, errors, span)
    return Case(population.size, truth, belief, errors, reach, span)


def errors_of(noise: SymmetricNoise) -> tuple[ErrorLaw, float]:
    """The law of the noise at many errors, and how far it reaches, in whole records."""
    reach = float(math.ceil(noise.error_with_tail(-_DEPTH)))
    return noise.errors.tabulated(reach), reach


def window_of(law: CountDistribution, size: int) -> Window:
    """The counts within e^80 of the most probable one."""
    depth = min(_DEPTH, law.depth)
    smallest = float(law.log_pmf(law.mode)) - depth
    ends = bulk_end(law, smallest, 0), bulk_end(law, smallest, size)
    return _window(law, *ends)


def _window(law: CountDistribution, first: int, last: int) -> Window:
    """The counts first..last of a law."""
    if last - first >= _WIDEST:
        raise ValueError(
            f"population must leave at most {_WIDEST:,} counts to sum, got {last - first + 1:,}: "
            "take a smaller size, or simulate"
        )
    return Window(first, law.log_pmf(np.arange(first, last + 1, dtype=np.float64)))


def believed_window(assumed: Population, mechanism: Mechanism, span: tuple[float, float]) -> Window:
    """The counts that any answer of a span makes probable under the assumed law."""
    size = assumed.size
    ends = [assumed.law(mechanism.likelihood(answer, size)) for answer in span]
    windows = [window_of(law, size) for law in ends]
    law = assumed.deep_law()
    if any(not np.isfinite(law.log_pmf(told.mode)) for told in ends):
        raise ValueError(
            "assumed must not be so far from the population that its probabilities underflow: "
            f"got {assumed!r}"
        )
    return _window(law, min(w.first for w in windows), max(w.last for w in windows))
