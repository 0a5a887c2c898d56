"""The law of a count given answers whose noise is narrow: a table of the counts near them."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from noisycount.analysis.posterior.observed import Answer, likelihood
from noisycount.model.below import Below
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.factor import Product
from noisycount.model.laws.table_law import TableLaw
from noisycount.model.laws.weighted_table import weighted_table
from noisycount.model.laws.windowed_law import WindowedLaw
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.population import Population

__all__ = ["common", "is_cheap", "law_given"]

Observed = Sequence[tuple[Answer, Mechanism]]

_WIDEST = 1 << 13  # counts: their table takes less than a search for the mode of a smooth law
_DEPTH = 60.0  # nats: e^−60 of a law is far beyond a double
_SPARE = 30.0  # nats by which the answers may be less likely than the likeliest ones


def law_given(population: Population, observed: Observed) -> CountDistribution:
    """The law of the count given its answers.

    Where the likelihoods are log-concave and fall fast enough it is a table of a window W of
    counts. Outside the likelihood L falls from the window's ends on, and the prior adds up to 1, so
    that Σ_{k∉W} P[k]·L(k) <= L(first) + L(last). The window is taken if that is below
    e^−60/(n + 1)² of the sum over W: then neither mean nor variance changes by more than e^−60.

    Args:
        population: What is known about the count, among n records.
        observed: The answers, each with its mechanism.

    Raises:
        ValueError: If a mechanism cannot give its answer, or no count has all answers.
    """
    likelihoods = Product(
        tuple(likelihood(answer, law, population.size) for answer, law in observed)
    )
    windowed = _windowed(population, observed, likelihoods)
    return windowed or population.law(*likelihoods.factors)


def _windowed(
    population: Population, observed: Observed, likelihoods: Product
) -> WindowedLaw | None:
    """The law as a table of a window; None where that does not pay or would leave out too much."""
    depth = _DEPTH + 2 * math.log(population.records + 1)
    if not likelihoods.is_log_concave or not is_cheap(population, observed):
        return None
    limits = common(population.support, likelihoods.support)
    ends = common(limits, _hull(observed, depth + _SPARE + math.log(population.records + 1)))
    if not 0 <= ends[1] - ends[0] <= _WIDEST:
        return None
    table = _weighted(population, likelihoods, ends)
    if table is None or _log_left_out(population, table, likelihoods, limits) > -depth:
        return None
    return WindowedLaw(table, -depth, limits, partial(population.law, *likelihoods.factors))


def is_cheap(population: Population, observed: Observed) -> bool:
    """Whether prior and likelihoods at all counts of a window cost less than a few dozen points."""
    if not population.has_chances:
        return False
    return population.smooth_prior is None or not any(
        isinstance(law, SymmetricNoise) and law.errors.is_costly for _, law in observed
    )


def _hull(observed: Observed, depth: float) -> tuple[float, float]:
    """The counts around all answers of noise that is added, as far as it may bring them."""
    ends = [_around(y, law, depth) for y, law in observed if isinstance(law, SymmetricNoise)]
    lowest = min((low for low, _ in ends), default=-math.inf)
    return lowest, max((high for _, high in ends), default=math.inf)


def _around(answer: Answer, noise: SymmetricNoise, depth: float) -> tuple[float, float]:
    """The counts that may have an answer, but for e^−depth."""
    reach = noise.errors.reach(depth)
    if isinstance(answer, Below):
        return -math.inf, answer.threshold + reach
    return answer - reach, answer + reach


def common(limits: tuple[float, float], ends: tuple[float, float]) -> tuple[int, int]:
    """The whole numbers within both."""
    return math.ceil(max(limits[0], ends[0])), math.floor(min(limits[1], ends[1]))


def _weighted(
    population: Population, likelihoods: Product, ends: tuple[int, int]
) -> TableLaw | None:
    """The law on a window; None: the prior has no count there.

    A prior with a formula is expanded around the likeliest count, where rounding is least.
    """
    if population.smooth_prior is not None:
        factors = (population.smooth_prior, *likelihoods.factors)
        return weighted_table(ends[0], np.zeros(ends[1] - ends[0] + 1), factors)
    log_prior = population.log_chances(*ends)
    if log_prior.max() == -math.inf:
        return None
    return weighted_table(ends[0], log_prior, likelihoods.factors)


def _log_left_out(
    population: Population, table: TableLaw, likelihoods: Product, limits: tuple[int, int]
) -> float:
    """The logarithm of a bound of the law outside the table, over that inside; inf: none is known.

    The log-concave likelihood falls beyond an end if it does not rise towards it.
    """
    first, last = table.support
    total = float(population.log_chances(table.mode, table.mode)[0] - table.log_pmf(table.mode))
    left_out = -math.inf
    for end, inwards, limit in ((first, 1, limits[0]), (last, -1, limits[1])):
        if end == limit:
            continue
        if first == last:
            return math.inf
        offsets = np.array([end, end + inwards], dtype=np.float64) - table.mode
        at_end, inside = likelihoods.expansion(table.mode)(offsets).tolist()
        if at_end > inside:
            return math.inf
        left_out = float(np.logaddexp(left_out, at_end - total))
    return left_out
