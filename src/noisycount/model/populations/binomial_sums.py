"""Distribution of a sum of independent binomial counts, around its mean and deep into its tails.

`deep_sum_of_binomials` serves `strata`; `sum_of_binomials` computes the part around the mean.
"""

import math
from dataclasses import field
from itertools import pairwise

import numpy as np

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals, binomial_expansion

WIDE = 5.0  # records: from this standard deviation on, the characteristic function is inverted
_REACH = 9.0  # standard deviations: farther out, a normal density is below e^−40 of its peak
_VANISHING = 1e-300  # share of the largest probability: smaller products of doubles lose their digits
_BATCH = 64  # single records convolved in pairs at once: their distribution is still short
_NEGLIGIBLE = 45.0  # nats: frequencies with a characteristic function below e^−45 are left out
_CHUNK = 1 << 16  # frequencies times kinds at once: arrays of 512 kB


def sum_of_binomials(sizes: Reals, rates: Reals, complements: Reals) -> tuple[int, Reals]:
    """Return the first count and ln P[K = first + i] of a sum of independent Bin(size, rate), around its mean.

    A wide distribution is the inverse of its characteristic function, which is negligible except at a few dozen
    frequencies: each probability is exact to 1e-15 of the largest. A narrow one is a convolution of positive terms:
    each probability keeps its digits.
    """
    deviation = math.sqrt(float(sizes @ (rates * complements)))
    if deviation > WIDE:
        first, chances = _sum_by_frequencies(sizes, rates, complements, deviation)
    else:
        first, chances = _sum_by_convolution(sizes, rates, complements)
    with np.errstate(divide="ignore"):
        return first, np.log(np.maximum(chances, 0.0))


def _sum_by_frequencies(sizes: Reals, rates: Reals, complements: Reals, deviation: float) -> tuple[int, Reals]:
    """Return the first count and P[K = first + i] by inversion of the characteristic function φ.

    P[K = k] = (1/M)·Σ_j φ(2πj/M)·e^(−2πijk/M) for M counts around the mean.
    |1 − p + p·e^it|² = 1 − 4p(1 − p)·sin²(t/2); phases are relative to the mean.
    """
    total, mean = round(float(sizes.sum())), float(sizes @ rates)
    reach = math.ceil(_REACH * deviation) + 1
    centre = round(mean)
    first, last = max(0, centre - reach), min(total, centre + reach)
    period = 2 ** (2 * reach + 1).bit_length()
    frequencies = math.ceil(math.sqrt(2 * _NEGLIGIBLE) * period / (2 * math.pi * deviation) * 1.2)
    angles = 2 * math.pi / period * np.arange(min(frequencies, period // 2) + 1)
    logs, phases = np.zeros(angles.size), np.zeros(angles.size)
    step = max(1, _CHUNK // angles.size)
    for start in range(0, sizes.size, step):
        part = slice(start, start + step)
        size, rate, complement = sizes[part, None], rates[part, None], complements[part, None]
        logs += (size * np.log1p(-4 * rate * complement * np.sin(angles / 2) ** 2)).sum(0) / 2
        turn = np.arctan2(rate * np.sin(angles), 1 - 2 * rate * np.sin(angles / 2) ** 2)
        phases += (size * (turn - rate * angles)).sum(0)
    waves = np.exp(logs - 1j * (phases + (mean - centre) * angles))
    chances: Reals = np.fft.irfft(waves, period)[np.arange(first - centre, last - centre + 1)]
    return first, chances


def _sum_by_convolution(sizes: Reals, rates: Reals, complements: Reals) -> tuple[int, Reals]:
    """Return the first count and P[K = first + i] by convolution; values below 1e-300 of the largest are left out."""
    single = sizes == 1
    first, law = 0, np.ones(1)
    for start in range(0, int(single.sum()), _BATCH):
        part = slice(start, start + _BATCH)
        batch = np.stack([complements[single][part], rates[single][part]], axis=1)
        first, law = _convolved_counts(first, law, 0, _sum_of_bernoullis(batch))
    for place in np.flatnonzero(~single):
        kind = _trimmed_binomial(int(sizes[place]), float(rates[place]), float(complements[place]))
        first, law = _convolved_counts(first, law, *kind)
    return first, law


def _sum_of_bernoullis(laws: Reals) -> Reals:
    """Return the distribution of a sum of Bernoulli counts, from the distribution of each, shape (records, 2)."""
    while laws.shape[0] > 1:
        if laws.shape[0] % 2:
            nothing = np.zeros((1, laws.shape[1]))
            nothing[0, 0] = 1
            laws = np.concatenate([laws, nothing])
        left, right = laws[::2], laws[1::2]
        width = left.shape[1]
        laws = np.zeros((left.shape[0], 2 * width - 1))
        for place in range(width):
            laws[:, place : place + width] += left * right[:, place : place + 1]
    return laws[0]


def _trimmed_binomial(size: int, rate: float, complement: float) -> tuple[int, Reals]:
    """Return the binomial distribution where it is above 1e-300 of its largest probability, and its first count."""
    if rate > complement:
        first, law = _trimmed_binomial(size, complement, rate)
        return size - first - law.size + 1, law[::-1]
    if rate == 0:
        return 0, np.ones(1)
    reach = 40 * math.sqrt(size * rate * complement) + 160
    first, last = max(0, math.floor(size * rate - reach)), min(size, math.ceil(size * rate + reach))
    centre = min(last, max(first, round(size * rate)))
    offsets = np.arange(first - centre, last - centre + 1, dtype=np.float64)
    weights = np.exp(binomial_expansion(size, rate, centre)(offsets))
    return _without_rare_ends(first, weights / weights.sum())


def _convolved_counts(first: int, law: Reals, other_first: int, other: Reals) -> tuple[int, Reals]:
    """Return the distribution of a sum of two independent counts."""
    return _without_rare_ends(first + other_first, np.convolve(law, other))


def _without_rare_ends(first: int, law: Reals) -> tuple[int, Reals]:
    """Return the distribution without ends below 1e-300 of its largest probability."""
    indices = np.flatnonzero(law > _VANISHING * law.max())
    return first + int(indices[0]), law[indices[0] : indices[-1] + 1]


_PANEL = 2.0  # width of a panel of log-odds: the logarithm of the transform is analytic within π of its centre
_NODES = 16  # nodes of the Gauss rule of a panel, with an error of 1e-17 of the panel's sum
_NOTHING = 1e-13  # length below which a vector that had length 1 is only rounding error


@frozen(eq=False)
class RateGroups:
    """Independent records, grouped by their rate.

    A wide distribution needs only sums of functions that are smooth in the log-odds. A Gauss rule for each panel of
    log-odds has the same sums to double precision.
    """

    sizes: Reals  # number of records of each kind, positive, shape (kinds,)
    log_odds: Reals  # log-odds of their rates, ascending, shape (kinds,)
    gauss: Reals = field(init=False)  # weights and log-odds of the Gauss rules, shape (2, nodes)

    def __post_init__(self) -> None:
        panels = np.floor(self.log_odds / _PANEL)
        edges = [0, *(np.flatnonzero(np.diff(panels)) + 1).tolist(), panels.size]
        parts = [_gauss_rule(self.sizes[first:last], self.log_odds[first:last]) for first, last in pairwise(edges)]
        object.__setattr__(self, "gauss", np.concatenate(parts, axis=1))

    @property
    def total(self) -> int:
        """Number of records."""
        return int(self.sizes.sum())

    @property
    def mirrored(self) -> "RateGroups":
        """Groups of the records under the negated predicate."""
        return RateGroups(self.sizes[::-1], -self.log_odds[::-1])

    def moments(self, tilt: float) -> tuple[float, float]:
        """Return the mean and the variance of the count under rates tilted by θ = tilt."""
        rates, complements = _rates_and_complements(self.gauss[1] + tilt)
        return float(self.gauss[0] @ rates), float(self.gauss[0] @ (rates * complements))

    def log_growth(self, tilt: float) -> float:
        """Return the cumulant function without the mean, Σ n·(ln(1 − p + p·e^θ) − θ·p), for n records of rate p."""
        rates, _ = _rates_and_complements(self.gauss[1])
        return float(self.gauss[0] @ (np.log1p(rates * math.expm1(tilt)) - rates * tilt))

    def law(self, tilt: float) -> tuple[int, Reals]:
        """Return the first count and the log-probabilities around the mean, under tilted rates."""
        is_wide = self.moments(tilt)[1] > WIDE**2
        sizes, log_odds = self.gauss if is_wide else (self.sizes, self.log_odds)
        return sum_of_binomials(sizes, *_rates_and_complements(log_odds + tilt))


def _rates_and_complements(log_odds: Reals) -> tuple[Reals, Reals]:
    """Return the rates with these log-odds, and their complements 1 − rate."""
    shrunk = np.exp(-np.abs(log_odds))
    large, small = 1 / (1 + shrunk), shrunk / (1 + shrunk)
    return np.where(log_odds >= 0, large, small), np.where(log_odds >= 0, small, large)


def _gauss_rule(weights: Reals, places: Reals) -> Reals:
    """Return the nodes and weights of a Gauss rule for a weighted sum over `places`, shape (2, nodes).

    The nodes are the eigenvalues of the tridiagonal matrix of the Lanczos recurrence.

    Source: Golub and Welsch (1969).
    """
    if places.size <= _NODES:
        return np.stack([weights, places])
    total, middle = float(weights.sum()), float(places[0] + places[-1]) / 2
    basis = np.empty((_NODES, places.size))
    basis[0] = np.sqrt(weights / total)
    diagonal, off_diagonal = np.empty(_NODES), np.empty(_NODES)
    size = _NODES
    for row in range(_NODES):
        image = (places - middle) * basis[row]
        diagonal[row] = image @ basis[row]
        for _ in range(2):  # one pass leaves rounding errors that are not orthogonal
            image -= (basis[: row + 1] @ image) @ basis[: row + 1]
        off_diagonal[row] = math.sqrt(image @ image)
        if off_diagonal[row] <= _NOTHING:
            size = row + 1
            break
        if row + 1 < _NODES:
            basis[row + 1] = image / off_diagonal[row]
    matrix = np.diag(diagonal[:size]) + np.diag(off_diagonal[: size - 1], 1)
    nodes, vectors = np.linalg.eigh(matrix, UPLO="U")
    return np.stack([total * vectors[0] ** 2, middle + nodes])


_STEP = 3.0  # standard deviations between the means of two tilted distributions
_NEWTON_STEPS = 20  # largest number of steps; each changes the tilt by at most 2
_NEAR_GOAL = 0.1  # standard deviations: every tilt is exact, so the mean need not be closer to its target


def deep_sum_of_binomials(kinds: RateGroups, depth: float) -> tuple[int, Reals]:
    """Return the first count and ln P[K = first + i] down to e^−depth, each from a tilt that makes it likely.

    ln P[k] = ln Q_θ[k] + Σ n·ln(1 − p + p·e^θ) − θ·k for the distribution Q_θ of the tilted rates. The means of the
    tilted distributions are three standard deviations apart, until the distribution is narrow enough to be convolved.
    """
    mean, variance = kinds.moments(0.0)
    first, logs = kinds.law(0.0)
    if variance <= WIDE**2:
        return first, logs
    half = _STEP / 2 * math.sqrt(variance)
    low, high = max(first, math.ceil(mean - half)), min(first + logs.size, math.ceil(mean + half))
    middle = logs[low - first : high - first]
    above = _upper_tail(kinds, mean, high, depth)
    mirrored = _upper_tail(kinds.mirrored, kinds.total - mean, kinds.total - low + 1, depth)
    return low - mirrored.size, np.concatenate([mirrored[::-1], middle, above])


def _upper_tail(kinds: RateGroups, mean: float, start: int, depth: float) -> Reals:
    """Return ln P[K = k] for k = start, start + 1, … above the mean, down to e^−depth."""
    total = kinds.total
    variance = kinds.moments(0.0)[1]
    target_mean, tilt = mean, 0.0
    parts = [np.empty(0)]
    while start <= total and (not parts[-1].size or parts[-1][-1] > -depth):
        target_mean = min(target_mean + _STEP * math.sqrt(variance), total - 0.5)
        tilt, variance = _tilt_for_mean(target_mean, kinds, tilt)
        first, logs = kinds.law(tilt)
        is_narrow = variance <= WIDE**2
        reach = math.inf if is_narrow else _STEP / 2 * math.sqrt(variance)
        stop = int(min(first + logs.size, total + 1, target_mean + reach + 1))
        counts = np.arange(start, stop, dtype=np.float64)
        growth = kinds.log_growth(tilt)
        parts.append(logs[start - first : stop - first] + growth - tilt * (counts - mean))
        start = total + 1 if is_narrow else stop
    return np.concatenate(parts)


def _tilt_for_mean(target_mean: float, kinds: RateGroups, tilt: float) -> tuple[float, float]:
    """Return the tilt that moves the mean next to a target, by Newton's method, and the variance there."""
    for _ in range(_NEWTON_STEPS):
        mean, variance = kinds.moments(tilt)
        shortfall = target_mean - mean
        if abs(shortfall) < _NEAR_GOAL * math.sqrt(variance):
            break
        tilt += max(-2.0, min(2.0, shortfall / variance))
    return tilt, variance
