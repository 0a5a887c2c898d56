"""Laws of the positive records in a sample that is drawn without replacement, mixed over a table of counts.

P[S = s | K = k] is m!·(n − m)!/n! times k!·(n − k)!, 1/(s!·(m − s)!) and 1/(j!·(n − m − j)!) with j = k − s. So the law
of S is a correlation of two sequences, times a third one. The factors span thousands of nepers: blocks of counts and of
samples are correlated around a centre of their own, with a tilt that all three share.
"""

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from noisycount.model.laws.gamma import Reals, log_hypergeometric

_SHORTEST = 64.0  # integers in a block, beside the two terms below
_MOST_BLOCKS = 512.0  # about, of a sample of nearly all records
_STEEPEST, _DEVIATIONS = 16.0, 6.0  # in a block: no factor then changes by more than some hundred nepers
_HIGHEST = 345.0  # nepers to which factors are scaled: thousands of products of two are no more than a double
_LEAST = -745.0  # nepers, whose exponential is 0
_FARTHEST = 40.0  # standard deviations: beyond, a hypergeometric law is below e^−700
_NEGLIGIBLE = 50.0  # nepers below the sum: what so little of a double adds is lost


def sampled_laws(first: int, weights: Reals, size: int, sample_size: int) -> Reals:
    """Return Σ_k weight·P[S = s | K = k] for s = 0..m, shape (rows, m + 1).

    Args:
        first: The first count of the table.
        weights: Rows of weights of consecutive counts, none negative, shape (rows, counts).
        size: The number n of records.
        sample_size: The number m of records drawn, from 0 to n.
    """
    weights = weights[:, : size - first + 1]
    last, share = first + weights.shape[1] - 1, sample_size / size
    reach = farthest_sample(first + np.arange(weights.shape[1], dtype=np.float64), size, sample_size)
    low, high = max(0, math.floor(share * first) - reach), min(sample_size, math.ceil(share * last) + reach)
    spread = math.sqrt(1 - share)
    counts, samples = _blocks(first, last, size, spread), _blocks(low, high, sample_size, spread)
    with np.errstate(divide="ignore"):
        logs = np.log(weights)
    laws = np.zeros((weights.shape[0], sample_size + 1))
    for sample, count in np.argwhere(_is_reached(first, logs, counts, samples, size, sample_size)):
        (start, stop), (begin, end) = counts[count].astype(int).tolist(), samples[sample].astype(int).tolist()
        part = logs[:, start - first : stop - first + 1]
        laws[:, begin : end + 1] += _block_law(part, (start, stop), (begin, end), size, sample_size)
    return laws


def farthest_sample(counts: Reals, size: int, sample_size: int) -> int:
    """Return how far from its mean the number in a sample lies at most, given any of these counts."""
    share = sample_size / size
    widest = math.sqrt(share * (1 - share) * float((counts * (1 - counts / size)).max()))
    return math.ceil(_FARTHEST * (widest + 1))


def _blocks(first: int, last: int, total: int, spread: float) -> Reals:
    """Return the first and the last integer of each block, shape (blocks, 2)."""
    edges = [first]
    while edges[-1] <= last:
        root = math.sqrt(min(edges[-1], total - edges[-1]))
        length = _SHORTEST + min(total / _MOST_BLOCKS, _STEEPEST * root) + _DEVIATIONS * spread * root
        edges.append(min(edges[-1] + math.ceil(length), last + 1))
    return np.array([(start, stop - 1) for start, stop in pairwise(edges)], dtype=np.float64)


def _is_reached(  # noqa: PLR0913, PLR0917  (a table, its blocks, and how a sample is drawn)
    first: int, logs: Reals, counts: Reals, samples: Reals, size: int, sample_size: int
) -> NDArray[np.bool_]:
    """Return which blocks of samples each block of counts adds to, shape (blocks of samples, blocks of counts).

    A pair is left out if the most that the counts can add to a sample is negligible beside the least that the sums hold
    anywhere in the block of samples.
    """
    share = sample_size / size
    is_above = share * counts[:, 0] > samples[:, 1:]
    is_below = share * counts[:, 1] < samples[:, :1]
    nearest = np.where(is_above, samples[:, 1:], samples[:, :1]), np.where(is_above, counts[:, 0], counts[:, 1])
    most = np.where(is_above | is_below, log_hypergeometric(*nearest, size, sample_size), 0.0)
    is_reached = np.zeros(most.shape, dtype=bool)
    for row in logs:
        places = np.array(
            [start + row[start : stop + 1].argmax() for start, stop in (counts - first).astype(int).tolist()]
        )
        largest = row[places]
        ends = [log_hypergeometric(samples[:, [end]], first + places, size, sample_size) for end in (0, 1)]
        least = (np.minimum(*ends) + largest).max(axis=1, keepdims=True)
        is_reached |= most + largest >= np.maximum(least - _NEGLIGIBLE, _LEAST)
    return is_reached


def _block_law(logs: Reals, counts: tuple[int, int], samples: tuple[int, int], size: int, sample_size: int) -> Reals:
    """Return what a block of counts adds to a block of samples, shape (rows, samples).

    The centre of both is where they are likeliest together.
    """
    rest, share = size - sample_size, sample_size / size
    middle = (samples[0] + samples[1]) / 2
    count = min(max(round(middle / share), counts[0]), counts[1]) if share else counts[0]
    sample = min(max(round(share * count), samples[0]), samples[1])
    left = min(max(count - sample, 0), rest)
    tilt = math.log((size - count + 0.5) / (count + 0.5))
    of_counts = logs - _changes(size, count, counts, tilt)
    of_samples = _changes(sample_size, count - left, samples, tilt)
    of_left = _changes(rest, left, (counts[0] - samples[1], counts[1] - samples[0]), tilt)
    centre = float(log_hypergeometric(np.array(count - left), np.array(count), size, sample_size))
    likeliest, law = float(of_left.max()), np.zeros((logs.shape[0], of_samples.size))
    for row, weight in zip(law, of_counts, strict=True):
        largest = float(weight.max())
        if min(likeliest, largest) > -math.inf:
            sums = np.correlate(_scaled(of_left - likeliest), _scaled(weight - largest))[::-1]
            with np.errstate(divide="ignore"):
                row[:] = np.exp(np.log(sums) + (of_samples + (centre + largest + likeliest - 2 * _HIGHEST)))
    return law


def _scaled(logs: Reals) -> Reals:
    """Return exponentials of which no product overflows, or has few digits and takes long for it."""
    return np.where(logs > -2 * _HIGHEST, np.exp(logs + _HIGHEST), 0.0)


def _changes(total: int, centre: int, ends: tuple[int, int], tilt: float) -> Reals:
    """Return ln C(total, x) − ln C(total, centre) − tilt·(x − centre) for x from end to end, −inf outside 0..total."""
    first, last = max(ends[0], 0), min(ends[1], total)
    logs = np.full(ends[1] - ends[0] + 1, -np.inf)
    if first <= last:
        low, high = min(first, centre), max(last, centre)
        places = np.arange(low, high, dtype=np.float64)
        sums = np.append(0.0, np.cumsum(np.log((total - places) / (places + 1)) - tilt))
        logs[first - ends[0] : last - ends[0] + 1] = sums[first - low : last - low + 1] - sums[centre - low]
    return logs
