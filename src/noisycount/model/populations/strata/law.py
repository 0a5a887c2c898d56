"""The law of a sum of independent binomial counts around its mean."""

import math

import numpy as np

from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.log_gamma import binomial_expansion

__all__ = ["WIDE", "sum_of_binomials"]

WIDE = 5.0
"""From this standard deviation on, in records, a law is found by its frequencies."""

_REACH = 9.0  # standard deviations: farther out a normal law is e^−40 below its top
_VANISHING = 1e-300  # of the largest probability: smaller products of doubles lose their digits
_BATCH = 64  # single records convolved in pairs: their law is still short
_NEGLIGIBLE = 45.0  # nats: frequencies at which a normal law has less than e^−45 are left out
_CHUNK = 1 << 16  # frequencies times kinds at once: arrays of 512 kB


def sum_of_binomials(sizes: Reals, rates: Reals, complements: Reals) -> tuple[int, Reals]:
    """The probabilities of a sum of independent Bin(size, rate) around its mean.

    A wide law comes from its characteristic function, which is negligible but for a few dozen
    frequencies: each probability is exact to 1e-15 of the largest. A narrow one is convolved from
    positive terms: each probability keeps its digits.

    Args:
        sizes: The number of records of each kind, positive, shape (kinds,); whole where the law
            is narrow.
        rates: Their rates p, in [0, 1], shape (kinds,).
        complements: 1 − p to full relative precision, shape (kinds,).

    Returns:
        The first count of the run, and the logarithms of the probabilities, −inf for 0.
    """
    deviation = math.sqrt(float(sizes @ (rates * complements)))
    if deviation > WIDE:
        first, chances = _by_frequencies(sizes, rates, complements, deviation)
    else:
        first, chances = _by_convolution(sizes, rates, complements)
    with np.errstate(divide="ignore"):
        return first, np.log(np.maximum(chances, 0.0))


def _by_frequencies(
    sizes: Reals, rates: Reals, complements: Reals, deviation: float
) -> tuple[int, Reals]:
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
    law: Reals = laws[0]
    return law


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
