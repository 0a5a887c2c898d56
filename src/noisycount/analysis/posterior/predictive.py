"""How probable an answer at least as far out was, before it was given."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from noisycount.analysis.posterior.observed import Answer
from noisycount.analysis.posterior.windows import common, is_cheap
from noisycount.model.below import Below
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.population import Population

__all__ = ["farthest", "two_sided"]

_DEPTH = 60.0  # nats: noise that is farther out decides whether a count reaches the answer
_DOUBLE = 40.0  # nats: e^−40 of a sum is beyond a double
_WIDEST = 1 << 12  # counts: their tails take less than a search for the largest term


def two_sided(
    population: Population, prior: CountDistribution, answer: Answer, mechanism: Mechanism
) -> float:
    """min(1, 2·min(P[Y <= y], P[Y >= y])) before any answer; P[Y < t] of one that was below t.

    Args:
        population: What was known about the count.
        prior: Its law before any answer.
        answer: The answer y, in records.
        mechanism: The law of the answer given the count.

    Numerical error: 1e-11 relative, at any smallness down to 1e-300.
    """
    if isinstance(answer, Below):
        return _beyond(population, prior, answer.last(mechanism), mechanism, upper=False)
    sides = (_beyond(population, prior, answer, mechanism, upper=upper) for upper in (False, True))
    return min(1.0, 2 * min(sides))


def farthest(
    observed: Iterable[tuple[Answer, Mechanism]],
) -> Iterator[tuple[Answer, Mechanism]]:
    """The answers among which is the one of the smallest `two_sided`.

    Of answers with the same noise these are the smallest and the largest.

    Args:
        observed: Each answer with its mechanism.
    """
    told = defaultdict[Mechanism, set[float]](set)
    for answer, mechanism in observed:
        if isinstance(answer, Below):
            yield answer, mechanism
        else:
            told[mechanism].add(answer)
    for mechanism, answers in told.items():
        yield from ((answer, mechanism) for answer in {min(answers), max(answers)})


def _beyond(
    population: Population,
    prior: CountDistribution,
    answer: float,
    mechanism: Mechanism,
    *,
    upper: bool,
) -> float:
    """P[Y >= answer] (upper) or P[Y <= answer] before any answer."""
    near = _near(population, prior, answer, mechanism, upper=upper)
    if near is not None:
        return min(1.0, near)
    return min(1.0, _far(population, prior, answer, mechanism, upper=upper))


def _near(
    population: Population,
    prior: CountDistribution,
    answer: float,
    mechanism: Mechanism,
    *,
    upper: bool,
) -> float | None:
    """The sum over the counts near the answer, and all those beyond, which surely pass it.

    The counts before the first one have smaller tails than it; None: they might matter.
    """
    if not isinstance(mechanism, SymmetricNoise) or not is_cheap(population, [(answer, mechanism)]):
        return None
    reach = mechanism.errors.reach(_DEPTH)
    first, last = common(prior.support, (answer - reach, answer + reach))
    if not 0 <= last - first <= _WIDEST:
        return None
    counts = np.arange(first, last + 1, dtype=np.float64)
    tail = mechanism.tail(answer, population.size, upper=upper).log_values(counts)
    start, beyond = (0, (last + 1, math.inf)) if upper else (-1, (-math.inf, first - 1))
    log_sum = np.logaddexp.reduce(prior.log_pmf(counts) + tail)
    total = float(np.logaddexp(log_sum, prior.log_probability(*beyond)))
    is_all = counts[start] == prior.support[start]
    return math.exp(total) if is_all or tail[start] <= total - _DOUBLE else None


def _far(
    population: Population,
    prior: CountDistribution,
    answer: float,
    mechanism: Mechanism,
    *,
    upper: bool,
) -> float:
    """Σ_k P[K = k]·T(k), read off at the count m where the terms are largest.

    The law proportional to the terms has Q[m] = P[m]·T(m)/Σ, so Σ = P[m]·T(m)/Q[m].
    """
    tail = mechanism.tail(answer, population.size, upper=upper)
    if max(map(tail.log_value, prior.support)) == -math.inf:  # at one of its ends a tail is largest
        return 0.0
    try:
        terms = population.law(tail)
    except ValueError:
        return 0.0
    mode = terms.mode
    largest = float(prior.log_pmf(mode)) + tail.log_value(float(mode))
    return math.exp(largest - float(terms.log_pmf(mode)))
