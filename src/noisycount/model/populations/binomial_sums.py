"""The law of a sum of independent binomial counts, around its mean and far into its tails."""

import math
from dataclasses import field
from itertools import pairwise

import numpy as np

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals, binomial_expansion

WIDE = 5.0  # from this standard deviation on, in records, a law is found by its frequencies
_REACH = 9.0  # standard deviations: farther out a normal law is e^−40 below its top
_VANISHING = 1e-300  # of the largest probability: smaller products of doubles lose their digits
_BATCH = 64  # single records convolved in pairs: their law is still short
_NEGLIGIBLE = 45.0  # nats: frequencies at which a normal law has less than e^−45 are left out
_CHUNK = 1 << 16  # frequencies times kinds at once: arrays of 512 kB


def sum_of_binomials(sizes: Reals, rates: Reals, complements: Reals) -> tuple[int, Reals]:
    """The probabilities of a sum of independent Bin(size, rate) around its mean.

    A wide law comes from its characteristic function, which is negligible but for a few dozen frequencies: each
    probability is exact to 1e-15 of the largest. A narrow one is convolved from positive terms: each probability keeps
    its digits.
    """
    deviation = math.sqrt(float(sizes @ (rates * complements)))
    if deviation > WIDE:
        first, chances = _by_frequencies(sizes, rates, complements, deviation)
    else:
        first, chances = _by_convolution(sizes, rates, complements)
    with np.errstate(divide="ignore"):
        return first, np.log(np.maximum(chances, 0.0))


def _by_frequencies(sizes: Reals, rates: Reals, complements: Reals, deviation: float) -> tuple[int, Reals]:
    """P[K = k] = (1/M)·Σ_j φ(2πj/M)·e^(−2πijk/M) for M counts around the mean.

    |1 − p + p·e^it|² = 1 − 4p(1 − p)·sin²(t/2); phases are taken about the mean.
    """
    total, mean = round(float(sizes.sum())), float(sizes @ rates)
    reach = math.ceil(_REACH * deviation) + 1
    centre = round(mean)
    first, last = max(0, centre - reach), min(total, centre + reach)
    period = 2 ** (2 * reach + 1).bit_length()
    most = math.ceil(math.sqrt(2 * _NEGLIGIBLE) * period / (2 * math.pi * deviation) * 1.2)
    angles = 2 * math.pi / period * np.arange(min(most, period // 2) + 1)
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


def _by_convolution(sizes: Reals, rates: Reals, complements: Reals) -> tuple[int, Reals]:
    """The convolution of the laws, of which what is below 1e-300 of the largest is left out."""
    single = sizes == 1
    first, law = 0, np.ones(1)
    for start in range(0, int(single.sum()), _BATCH):
        part = slice(start, start + _BATCH)
        batch = np.stack([complements[single][part], rates[single][part]], axis=1)
        first, law = _convolved(first, law, 0, _of_single_records(batch))
    for place in np.flatnonzero(~single):
        kind = _of_one_kind(int(sizes[place]), float(rates[place]), float(complements[place]))
        first, law = _convolved(first, law, *kind)
    return first, law


def _of_single_records(laws: Reals) -> Reals:
    """The law of a sum of Bernoulli counts, from their laws, shape (records, 2)."""
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


def _of_one_kind(size: int, rate: float, complement: float) -> tuple[int, Reals]:
    """The binomial law where it is above 1e-300 of its largest probability."""
    if rate > complement:
        first, law = _of_one_kind(size, complement, rate)
        return size - first - law.size + 1, law[::-1]
    if rate == 0:
        return 0, np.ones(1)
    reach = 40 * math.sqrt(size * rate * complement) + 160
    first, last = max(0, math.floor(size * rate - reach)), min(size, math.ceil(size * rate + reach))
    centre = min(last, max(first, round(size * rate)))
    offsets = np.arange(first - centre, last - centre + 1, dtype=np.float64)
    weights = np.exp(binomial_expansion(size, rate, centre)(offsets))
    return _trimmed(first, weights / weights.sum())


def _convolved(first: int, law: Reals, other_first: int, other: Reals) -> tuple[int, Reals]:
    """The law of a sum of two counts."""
    return _trimmed(first + other_first, np.convolve(law, other))


def _trimmed(first: int, law: Reals) -> tuple[int, Reals]:
    """The law without its vanishing ends."""
    held = np.flatnonzero(law > _VANISHING * law.max())
    return first + int(held[0]), law[held[0] : held[-1] + 1]


_PANEL = 2.0  # log-odds: logarithms of transforms are analytic within π of them, seen from each
_NODES = 16  # of a rule for a panel, which leaves 1e-17 of what a panel adds to such a logarithm
_NOTHING = 1e-13  # of a vector of length 1: rounding is all that is left of it


@frozen(eq=False)
class Kinds:
    """Independent records, each with one of several rates.

    What a wide law needs of them are sums of functions that are smooth in the log-odds. Gauss's rules for the records
    in each panel of log-odds have those sums to all digits.
    """

    sizes: Reals  # the number of records of each kind, positive, shape (kinds,)
    log_odds: Reals  # the log-odds of their rates, rising, shape (kinds,)
    few: Reals = field(init=False)  # the sizes and the log-odds of the kinds that stand for them, shape (2, few)

    def __post_init__(self) -> None:
        panels = np.floor(self.log_odds / _PANEL)
        edges = [0, *(np.flatnonzero(np.diff(panels)) + 1).tolist(), panels.size]
        parts = [_gauss_rule(self.sizes[first:last], self.log_odds[first:last]) for first, last in pairwise(edges)]
        object.__setattr__(self, "few", np.concatenate(parts, axis=1))

    @property
    def total(self) -> int:
        """The number of records."""
        return int(self.sizes.sum())

    @property
    def mirrored(self) -> "Kinds":
        """The records that do not satisfy the predicate."""
        return Kinds(self.sizes[::-1], -self.log_odds[::-1])

    def moments(self, tilt: float) -> tuple[float, float]:
        """The mean and the variance of the count under tilted rates."""
        rates, complements = _rates(self.few[1] + tilt)
        return float(self.few[0] @ rates), float(self.few[0] @ (rates * complements))

    def log_growth(self, tilt: float) -> float:
        """Σ n·(ln(1 − p + p·e^θ) − θ·p) for the tilt θ, the mean taken out."""
        rates, _ = _rates(self.few[1])
        return float(self.few[0] @ (np.log1p(rates * math.expm1(tilt)) - rates * tilt))

    def law(self, tilt: float) -> tuple[int, Reals]:
        """The first count, and the log-probabilities around the mean, under tilted rates."""
        is_wide = self.moments(tilt)[1] > WIDE**2
        sizes, log_odds = self.few if is_wide else (self.sizes, self.log_odds)
        return sum_of_binomials(sizes, *_rates(log_odds + tilt))


def _rates(log_odds: Reals) -> tuple[Reals, Reals]:
    """The rates with these log-odds, and their complements."""
    shrunk = np.exp(-np.abs(log_odds))
    large, small = 1 / (1 + shrunk), shrunk / (1 + shrunk)
    return np.where(log_odds >= 0, large, small), np.where(log_odds >= 0, small, large)


def _gauss_rule(weights: Reals, places: Reals) -> Reals:
    """Fewer weights and places with the same sums of smooth functions, shape (2, nodes).

    The nodes are the eigenvalues of the matrix that Lanczos's method makes of the places.

    Source: Golub and Welsch (1969).
    """
    if places.size <= _NODES:
        return np.stack([weights, places])
    total, middle = float(weights.sum()), float(places[0] + places[-1]) / 2
    basis = np.empty((_NODES, places.size))
    basis[0] = np.sqrt(weights / total)
    diagonal, beside = np.empty(_NODES), np.empty(_NODES)
    size = _NODES
    for row in range(_NODES):
        image = (places - middle) * basis[row]
        diagonal[row] = image @ basis[row]
        for _ in range(2):  # as rounding is not orthogonal
            image -= (basis[: row + 1] @ image) @ basis[: row + 1]
        beside[row] = math.sqrt(image @ image)
        if beside[row] <= _NOTHING:
            size = row + 1
            break
        if row + 1 < _NODES:
            basis[row + 1] = image / beside[row]
    matrix = np.diag(diagonal[:size]) + np.diag(beside[: size - 1], 1)
    nodes, vectors = np.linalg.eigh(matrix, UPLO="U")
    return np.stack([total * vectors[0] ** 2, middle + nodes])


_STEP = 3.0  # standard deviations: each tilted law serves half of them on either side of its mean
_NEWTON_STEPS = 20  # a stop: each comes nearer by at most 2
_NEAR_GOAL = 0.1  # standard deviations: the law is exact under any tilt, and likely near it


def deep_sum_of_binomials(kinds: Kinds, depth: float) -> tuple[int, Reals]:
    """The log-probabilities of a sum of binomial counts, each from a tilt under which it is likely.

    ln P[k] = ln Q_θ[k] + Σ n·ln(1 − p + p·e^θ) − θ·k for the law Q_θ of the tilted rates. Tilts are taken three
    standard deviations apart, until the law is narrow enough to be convolved.
    """
    mean, variance = kinds.moments(0.0)
    first, logs = kinds.law(0.0)
    if variance <= WIDE**2:
        return first, logs
    half = _STEP / 2 * math.sqrt(variance)
    low, high = max(first, math.ceil(mean - half)), min(first + logs.size, math.ceil(mean + half))
    middle = logs[low - first : high - first]
    above = _outward(kinds, mean, high, depth)
    mirrored = _outward(kinds.mirrored, kinds.total - mean, kinds.total - low + 1, depth)
    return low - mirrored.size, np.concatenate([mirrored[::-1], middle, above])


def _outward(kinds: Kinds, mean: float, start: int, depth: float) -> Reals:
    """The log-probabilities of start, start + 1 and so on, above the mean, down to the depth."""
    total = kinds.total
    variance = kinds.moments(0.0)[1]
    goal, tilt = mean, 0.0
    parts = [np.empty(0)]
    while start <= total and (not parts[-1].size or parts[-1][-1] > -depth):
        goal = min(goal + _STEP * math.sqrt(variance), total - 0.5)
        tilt, variance = _tilt_to(goal, kinds, tilt)
        first, logs = kinds.law(tilt)
        is_narrow = variance <= WIDE**2
        reach = math.inf if is_narrow else _STEP / 2 * math.sqrt(variance)
        stop = int(min(first + logs.size, total + 1, goal + reach + 1))
        counts = np.arange(start, stop, dtype=np.float64)
        growth = kinds.log_growth(tilt)
        parts.append(logs[start - first : stop - first] + growth - tilt * (counts - mean))
        start = total + 1 if is_narrow else stop
    return np.concatenate(parts)


def _tilt_to(goal: float, kinds: Kinds, tilt: float) -> tuple[float, float]:
    """The tilt that moves the mean next to a goal, by Newton's method, and the variance there."""
    for _ in range(_NEWTON_STEPS):
        mean, variance = kinds.moments(tilt)
        missing = goal - mean
        if abs(missing) < _NEAR_GOAL * math.sqrt(variance):
            break
        tilt += max(-2.0, min(2.0, missing / variance))
    return tilt, variance
