"""Distribution of a count given answers, and the prior predictive probability of the answers (their surprise).

`posterior` makes results of them.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache, partial

import numpy as np

from noisycount.analysis.posterior.observed import Answer, likelihood
from noisycount.display.numbers import signed
from noisycount.model.exact import Below, Exact
from noisycount.model.laws.count_law import CountDistribution, TableLaw, WindowedLaw, weighted_table
from noisycount.model.laws.factors import Product
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.binomial import BetaBinomial
from noisycount.model.populations.population import Exchangeable, Population
from noisycount.model.subsampling import Subsample

Observed = Sequence[tuple[Answer, Mechanism]]
_WIDEST = 1 << 13  # largest number of counts of a window: a table takes less time than a search for the mode
_DEPTH = 60.0  # nats: e^−60 of a sum changes no double
_SPARE = 30.0  # nats by which the answers may be less likely than the likeliest ones


def law_given(population: Population, observed: Observed) -> CountDistribution:
    """Return the distribution of the count given answers.

    If the likelihoods are log-concave and fall fast enough, it is a table over a window W of counts. Outside W the
    likelihood L falls, and the prior sums to 1, so that Σ_{k∉W} P[k]·L(k) <= L(first) + L(last). The window is used if
    that bound is below e^−60/(n + 1)² of the sum over W: then mean and variance change by less than e^−60.
    """
    likelihoods = Product(tuple(likelihood(answer, law, population.size) for answer, law in observed))
    windowed = _law_on_window(population, observed, likelihoods)
    return windowed or population.law(*likelihoods.factors)


def _law_on_window(population: Population, observed: Observed, likelihoods: Product) -> WindowedLaw | None:
    """Return the distribution as a table of a window, or None if that is slower or would leave out too much."""
    depth = _DEPTH + 2 * math.log(population.records + 1)
    if not likelihoods.is_log_concave or not is_cheap(population, observed):
        return None
    limits = common_range(population.support, likelihoods.support)
    ends = common_range(limits, _count_range(observed, depth + _SPARE + math.log(population.records + 1)))
    if not 0 <= ends[1] - ends[0] <= _WIDEST:
        return None
    table = _table_on_window(population, likelihoods, ends)
    if table is None or _log_left_out(population, table, likelihoods, limits) > -depth:
        return None
    return WindowedLaw(table, -depth, limits, partial(population.law, *likelihoods.factors))


def is_cheap(population: Population, observed: Observed) -> bool:
    """Return True if prior and likelihoods at all counts of a window take less time than a smooth distribution."""
    if not population.has_chances:
        return False
    return population.smooth_prior is None or not any(
        isinstance(law, SymmetricNoise) and law.errors.is_costly for _, law in observed
    )


def _count_range(observed: Observed, depth: float) -> tuple[float, float]:
    """Return the smallest and the largest count from which noise may lead to the answers, except for e^−depth."""
    lowest, highest = math.inf, -math.inf
    for answer, law in observed:
        if isinstance(law, SymmetricNoise):
            reach = law.errors.distance_at_depth(depth)
            lowest = -math.inf if isinstance(answer, Below) else min(lowest, answer - reach)
            highest = max(highest, (answer.threshold if isinstance(answer, Below) else answer) + reach)
    return (lowest, highest) if lowest <= highest else (-math.inf, math.inf)


def common_range(limits: tuple[float, float], ends: tuple[float, float]) -> tuple[int, int]:
    """Return the first and the last whole number within both ranges."""
    return math.ceil(max(limits[0], ends[0])), math.floor(min(limits[1], ends[1]))


def _table_on_window(population: Population, likelihoods: Product, ends: tuple[int, int]) -> TableLaw | None:
    """Return the distribution on a window, or None if the prior has no count there.

    A prior with a formula is expanded around the likeliest count, where rounding errors are smallest.
    """
    if population.smooth_prior is not None:
        factors = (population.smooth_prior, *likelihoods.factors)
        return weighted_table(ends[0], np.zeros(ends[1] - ends[0] + 1), factors)
    log_prior = population.log_chances(*ends)
    if log_prior.max() == -math.inf:
        return None
    return weighted_table(ends[0], log_prior, likelihoods.factors)


def _log_left_out(population: Population, table: TableLaw, likelihoods: Product, limits: tuple[int, int]) -> float:
    """Return the log of a bound of P[outside the table] / P[inside], or inf if no bound is known.

    The log-concave likelihood falls beyond an end if it does not rise towards it.
    """
    first, last = table.support
    is_beyond = first > limits[0], last < limits[1]
    if not any(is_beyond):
        return -math.inf
    if first == last:
        return math.inf
    evidence = float(population.log_chances(table.mode, table.mode)[0] - table.log_pmf(table.mode))
    offsets = np.array([first, last, first + 1, last - 1], dtype=np.float64) - table.mode
    *at_ends, after_first, before_last = likelihoods.expansion(table.mode)(offsets).tolist()
    left_out = -math.inf
    for is_cut, at_end, inside in zip(is_beyond, at_ends, (after_first, before_last), strict=True):
        if is_cut and at_end > inside:
            return math.inf
        if is_cut:
            left_out = float(np.logaddexp(left_out, at_end - evidence))
    return left_out


_SHARES = (0.5, 0.9, 0.99)  # quantiles of the count at which the tail of an answer is tried
SURPRISING = 1e-3  # the surprise below which answers contradict what was assumed
_ROUNDING = 1e-5  # relative: larger than the rounding error of a bound
_ROUNDING_OF_FORMULAS, _ROUNDING_OF_TABLES = 4e-14, 4e-12  # relative, of products of means
_BERRY_ESSEEN = 0.56  # times the sum of E|X − E[X]|³ over σ³, at most 1/σ as each term is at most a variance
_READABLE = 1e-6  # smaller probabilities are written in scientific notation
_DOUBLE = 40.0  # nats: e^−40 of a sum changes no double
_LARGEST_SIZE = 10**9  # largest number of records at which `_beta_binomial_probability` has five digits
_LIKELY = 0.49  # if one tail is smaller, it is the smaller of the two, which sum to at least 1
_WIDEST_PREDICTIVE = 1 << 12  # number of counts up to which all tails take less time than a search


def two_sided_probability(
    population: Population, prior: CountDistribution, answer: Answer, mechanism: Mechanism
) -> float:
    """Return min(1, 2·min(P[Y <= y], P[Y >= y])) under the prior; P[Y < t] for an answer suppressed below t.

    Numerical error: 1e-11 relative, down to 1e-300.
    """
    counted, noise = _counted_population(population, mechanism)
    if noise is not mechanism:
        return two_sided_probability(counted, counted.law(), answer, noise)
    if isinstance(answer, Below):
        return _tail_probability(population, prior, answer.largest_answer(mechanism), mechanism, upper=False)
    is_upper = answer > _mean_and_deviation_bounds(population)[0]
    chance = _tail_probability(population, prior, answer, mechanism, upper=is_upper)
    if chance >= _LIKELY:
        chance = min(chance, _tail_probability(population, prior, answer, mechanism, upper=not is_upper))
    return min(1.0, 2 * chance)


def _counted_population(population: Population, mechanism: Mechanism) -> tuple[Population, Mechanism]:
    """Return the population and mechanism of an answer, reduced to the sample if its distribution is known."""
    if isinstance(mechanism, Subsample) and isinstance(population, Exchangeable):
        sample = population.sample(mechanism.sample_size)
        if sample is not None:
            return sample.population, mechanism.noise or Exact()
    return population, mechanism


def contradiction_warning(surprise: float, expected: float, answers: int, known: str) -> str | None:
    """Return a warning that answers contradict the expected count, or None if their surprise is not small."""
    if surprise >= SURPRISING:
        return None
    one = "an answer" if answers == 1 else "one of several answers"
    mean = signed(expected, 0 if expected >= 10 else 2)  # noqa: PLR2004  (two digits are enough)
    return f"{one} this far from the {mean} expected has a probability of {_probability_text(surprise)} {known}"


def _probability_text(probability: float) -> str:
    """Format a small probability with one digit."""
    if not probability:
        return "less than 1e-300"
    text = f"{probability:.0e}"
    return f"{Decimal(text):f}" if probability >= _READABLE else text


@lru_cache(maxsize=16)
def _mean_and_deviation_bounds(population: Population) -> tuple[float, float, float]:
    """Return the mean of the count, and a lower and an upper bound of its standard deviation, in records.

    The lower bound allows for the rounding of formulas only.
    """
    moments = population.moments
    product = moments.positives * moments.negatives
    variance = product - moments.discordant
    smallest, largest = variance - _ROUNDING_OF_FORMULAS * product, variance + _ROUNDING_OF_TABLES * product
    return moments.positives, math.sqrt(max(0.0, smallest)), math.sqrt(max(0.0, largest))


@lru_cache(maxsize=16)
def _usual_counts(population: Population) -> tuple[int, int]:
    """Return the quantiles at `SURPRISING` and 1 − `SURPRISING`."""
    law = population.law()
    return law.quantile(SURPRISING), law.quantile(1 - SURPRISING)


def not_surprising_range(population: Population, mechanism: Mechanism) -> tuple[float, float]:
    """Return a range of answers whose surprise is at least `SURPRISING`; an empty range if no such range is known."""
    population, mechanism = _counted_population(population, mechanism)
    mean, _, deviation = _mean_and_deviation_bounds(population)
    if not isinstance(mechanism, SymmetricNoise):
        share = mechanism.sample_size / max(1, population.size) if isinstance(mechanism, Subsample) else 1
        return math.nextafter(share * mean, math.inf), share * mean
    far = mechanism.smallest_error(2 * SURPRISING) * (1 - _ROUNDING) - mechanism.is_discrete - deviation
    low, high = _usual_counts(population)
    return min(low, mean - far), max(high, mean + far)


def is_expected(population: Population, answer: float, mechanism: Mechanism) -> bool:
    """Return True if a bound shows that the surprise of an answer is at least `SURPRISING`.

    P[Y >= y] >= P[K >= m]·P[Z >= y − m] for every number m, and P[Y <= y] likewise. Three bounds are tried: m is the
    possible count nearest to y; m = E[K] − σ, with P[K >= m] >= 1/2 by Cantelli's inequality; m is a quantile of K.
    """
    population, mechanism = _counted_population(population, mechanism)
    if not isinstance(mechanism, SymmetricNoise):
        return all(_is_likely(population, mechanism, answer, upper=upper) for upper in (False, True))
    mean, _, deviation = _mean_and_deviation_bounds(population)
    low, high = population.support
    nearest, goal = min(max(answer, low), high), SURPRISING * (1 + _ROUNDING)
    tail = min(_smallest_tail(population, nearest, side) for side in (-1, 1))
    if tail >= goal and tail * math.exp(mechanism.log_tail(abs(answer - nearest))) >= goal:
        return True
    if mechanism.log_tail(abs(answer - mean) + deviation) >= math.log(2 * goal):
        return True
    low, high = _usual_counts(population)
    return low <= answer <= high


def _smallest_tail(population: Population, count: float, side: int) -> float:
    """Return a lower bound of P[K >= count] (side 1) or P[K <= count] (side −1); 0 if no bound is quick to compute.

    For independent records it is 1 − Φ((m − E[K])/σ) − 0.56/σ, by the inequality of Berry and Esseen with the constant
    of Shevtsova (2010). A distribution with one mode has at least (w + 1)·min(P[m], P[m + w]) on m..m + w.
    """
    mean, deviation, _ = _mean_and_deviation_bounds(population)
    if population.are_independent and deviation > 0:
        return math.erfc(side * (count - mean) / deviation / math.sqrt(2)) / 2 - _BERRY_ESSEEN / deviation
    if isinstance(population, BetaBinomial) and population.is_log_concave and population.size <= _LARGEST_SIZE:
        farther = max(side * count, side * mean)
        nearest = side * math.ceil(farther)
        last = max(0, min(population.size, nearest + side * int(deviation)))
        return (abs(last - nearest) + 1) * min(_beta_binomial_probability(population, each) for each in (nearest, last))
    return 0.0


def _beta_binomial_probability(population: BetaBinomial, count: int) -> float:
    """Return P[K = count] for 0 <= count <= size, with a relative error of 1e-14 a record."""
    size, alpha, beta, log_gamma = population.size, population.alpha, population.beta, math.lgamma
    log_binomial = log_gamma(size + 1) - log_gamma(count + 1) - log_gamma(size - count + 1)
    log_beta = log_gamma(count + alpha) + log_gamma(size - count + beta) - log_gamma(size + alpha + beta)
    return math.exp(log_binomial + log_beta + log_gamma(alpha + beta) - log_gamma(alpha) - log_gamma(beta))


def _is_likely(population: Population, mechanism: Mechanism, answer: float, *, upper: bool) -> bool:
    """Return True if P[Y >= answer] (upper) or P[Y <= answer] is certain to be at least `SURPRISING`.

    P[Y >= y] >= P[K >= m]·P[Y >= y | K = m] for every count m, as that tail rises in m. Three quantiles are tried.
    """
    law, tail = population.law(), mechanism.tail(answer, population.size, upper=upper)
    low, high = tail.support
    places = [(1 - share, law.quantile(share if upper else 1 - share)) for share in _SHARES]
    return any(
        low <= place <= high and chance * math.exp(tail.log_value(float(place))) >= SURPRISING
        for chance, place in places
    )


def farthest_answers(observed: Iterable[tuple[Answer, Mechanism]]) -> Iterator[tuple[Answer, Mechanism]]:
    """Yield the answers that can be the most surprising: the smallest and the largest answer of each mechanism."""
    values = defaultdict[Mechanism, set[float]](set)
    for answer, mechanism in observed:
        if isinstance(answer, Below):
            yield answer, mechanism
        else:
            values[mechanism].add(answer)
    for mechanism, answers in values.items():
        yield from ((answer, mechanism) for answer in {min(answers), max(answers)})


def _tail_probability(
    population: Population, prior: CountDistribution, answer: float, mechanism: Mechanism, *, upper: bool
) -> float:
    """Return P[Y >= answer] (upper) or P[Y <= answer] under the prior."""
    chance = _summed_tail(population, prior, answer, mechanism, upper=upper)
    if chance is None:
        chance = _smooth_tail(population, prior, answer, mechanism, upper=upper)
    return min(1.0, chance)


def _summed_tail(
    population: Population, prior: CountDistribution, answer: float, mechanism: Mechanism, *, upper: bool
) -> float | None:
    """Return the sum of the tail over the counts near the answer, plus P[K beyond them], as the tail is 1 there.

    Return None if counts on the other side, whose tails are smaller, might change the sum.
    """
    if not isinstance(mechanism, SymmetricNoise) or not is_cheap(population, [(answer, mechanism)]):
        return None
    reach = mechanism.errors.distance_at_depth(_DEPTH)
    low, high = prior.support
    first, last = common_range((low, high), (answer - reach, answer + reach))
    if not 0 <= last - first <= _WIDEST_PREDICTIVE:
        return None
    if upper and high - first <= _WIDEST_PREDICTIVE:
        last = high
    if not upper and last - low <= _WIDEST_PREDICTIVE:
        first = low
    counts = np.arange(first, last + 1, dtype=np.float64)
    tail = mechanism.tail(answer, population.size, upper=upper).log_values(counts)
    start, beyond = (0, (last + 1, math.inf)) if upper else (-1, (-math.inf, first - 1))
    log_sum = np.logaddexp.reduce(prior.log_pmf(counts) + tail)
    total = float(np.logaddexp(log_sum, prior.log_probability(*beyond)))
    is_all = counts[start] == (low, high)[start]
    return math.exp(total) if is_all or tail[start] <= total - _DOUBLE else None


def _smooth_tail(
    population: Population, prior: CountDistribution, answer: float, mechanism: Mechanism, *, upper: bool
) -> float:
    """Return Σ_k P[K = k]·T(k), T(k) the tail of the answer if the count is k.

    The distribution proportional to the terms has Q[m] = P[m]·T(m)/Σ at its mode m, so Σ = P[m]·T(m)/Q[m].
    """
    tail = mechanism.tail(answer, population.size, upper=upper)
    if max(map(tail.log_value, prior.support)) == -math.inf:  # a tail is largest at an end of the support
        return 0.0
    try:
        terms = population.law(tail)
    except ValueError:
        return 0.0
    mode = terms.mode
    largest = float(prior.log_pmf(mode)) + tail.log_value(float(mode))
    return math.exp(largest - float(terms.log_pmf(mode)))
