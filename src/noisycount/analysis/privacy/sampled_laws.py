"""Distributions of the number of positives in a sample drawn without replacement, averaged over a table of counts.

P[S = s | K = k] is m!·(n − m)!/n! times k!·(n − k)!, 1/(s!·(m − s)!) and 1/(j!·(n − m − j)!) with j = k − s. So the
distribution ("law") of S is a correlation of two sequences, times a third one. The logarithms of the factors span
thousands: blocks of counts and of samples are correlated around a centre of their own, with one tilt for all three.

The law is smooth in s, whatever the table is. As 1/Γ is entire and |Γ(x)/Γ(x + iy)|² <= exp(y²·ψ₁(x)), each
P[S = s | K = k] continues to an entire function of s with |P(s + iy)| <= P(s)·exp(y²/(2·σ²)), where 1/σ² is the sum of
the four trigammas ψ₁(x + 1) <= 1/(x + 1/2). So does their mixture, as all weights are positive. In a cell of 3·σ, the
terms of its polynomial series fall like exp(1.125·sinh²(η) − N·η) for each η > 0, times the growth of the law on the
real axis. So 24 correlations determine the law in a cell. The last terms of the series show the error of the terms that
are left out. If they are not small, the cell is summed at each sample.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals, log_hypergeometric
from noisycount.model.laws.integer_series import SHORTEST, integer_series

_SHORTEST = 64.0  # integers in a block, beside the two terms below
_MOST_BLOCKS = 512.0  # about, of a sample of nearly all records
_STEEPEST, _DEVIATIONS = 16.0, 6.0  # in a block: no factor then changes by more than some hundred nepers
_HIGHEST = 345.0  # nepers to which factors are scaled: thousands of products of two are no more than a double
_LEAST = -745.0  # nepers, whose exponential is 0
_FARTHEST = 40.0  # standard deviations: beyond, a hypergeometric law is below e^−700
_NEGLIGIBLE = 50.0  # nepers below the sum: what so little of a double adds is lost

Places = NDArray[np.int64]


def sampled_laws(first: int, weights: Reals, size: int, sample_size: int) -> Reals:
    """Return Σ_k weight·P[S = s | K = k] for s = 0..m, for each row of weights, shape (rows, m + 1).

    Args:
        first: The first count of the table.
        weights: Rows of weights of consecutive counts, none negative, shape (rows, counts).
        size: The number n of records.
        sample_size: The number m of records drawn, from 0 to n.
    """
    weights = weights[:, : size - first + 1]
    last, share = first + weights.shape[1] - 1, sample_size / size
    reach = largest_sample_distance(first + np.arange(weights.shape[1], dtype=np.float64), size, sample_size)
    low, high = max(0, math.floor(share * first) - reach), min(sample_size, math.ceil(share * last) + reach)
    spread = math.sqrt(1 - share)
    counts, samples = _block_ends(first, last, size, spread), _block_ends(low, high, sample_size, spread)
    with np.errstate(divide="ignore"):
        logs = np.log(weights)
    laws = np.zeros((weights.shape[0], sample_size + 1))
    is_reached = _relevant_block_pairs(first, logs, counts, samples, size, sample_size)
    for (begin, end), is_used in zip(samples.astype(int).tolist(), is_reached, strict=True):
        if is_used.any():
            block = _SampleBlock(begin, end, size, sample_size)
            ends = counts[is_used].astype(int)
            laws[:, begin : end + 1] = block.law(ends, [logs[:, a - first : b - first + 1] for a, b in ends.tolist()])
    return laws


def largest_sample_distance(counts: Reals, size: int, sample_size: int) -> int:
    """Return the largest distance of the number in a sample from its mean that matters, given any of these counts."""
    share = sample_size / size
    widest = math.sqrt(share * (1 - share) * float((counts * (1 - counts / size)).max()))
    return math.ceil(_FARTHEST * (widest + 1))


def _block_ends(first: int, last: int, total: int, spread: float) -> Reals:
    """Return the first and the last integer of each block, shape (blocks, 2)."""
    edges = [first]
    while edges[-1] <= last:
        root = math.sqrt(min(edges[-1], total - edges[-1]))
        length = _SHORTEST + min(total / _MOST_BLOCKS, _STEEPEST * root) + _DEVIATIONS * spread * root
        edges.append(min(edges[-1] + math.ceil(length), last + 1))
    return np.array([(start, stop - 1) for start, stop in pairwise(edges)], dtype=np.float64)


def _relevant_block_pairs(  # noqa: PLR0913, PLR0917  (a table, its blocks, and how a sample is drawn)
    first: int, logs: Reals, counts: Reals, samples: Reals, size: int, sample_size: int
) -> NDArray[np.bool_]:
    """Return a mask of the block pairs whose counts matter to the samples, shape (sample blocks, count blocks).

    A pair is left out if the largest possible contribution of its counts to a sample is negligible compared with the
    smallest sum in its block of samples.
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


class _Correlation(NamedTuple):
    """The part of a law from one block of counts: a correlation of two scaled sequences, times a third sequence."""

    counts: Reals  # factors of the counts, shape (rows, counts)
    left: Reals  # factors of the positives outside the sample, in rising order, shape (counts + samples − 1,)
    log_factors: Reals  # logarithms of the factors of the samples, shape (rows, samples)

    def law(self, places: Places) -> Reals:
        """Return the law at some samples, shape (rows, places)."""
        starts, length = self.log_factors.shape[1] - 1 - places, self.counts.shape[1]
        if places.size == self.log_factors.shape[1]:
            sums = np.array([np.correlate(self.left, row)[::-1] for row in self.counts])
        else:
            columns = self.counts.T
            sums = np.array([self.left[start : start + length] @ columns for start in starts.tolist()]).T
        with np.errstate(divide="ignore"):
            return np.exp(np.log(sums) + self.log_factors[:, places])


@frozen
class _SampleBlock:
    """A block of samples: begin..end positives among the m records drawn from n."""

    begin: int
    end: int
    size: int  # n
    sample_size: int  # m

    def law(self, ends: Places, logs: Sequence[Reals]) -> Reals:
        """Return the law at every sample of the block, shape (rows, samples).

        Args:
            ends: The first and the last count of each block that reaches the samples, shape (blocks, 2).
            logs: Logarithms of the weights in each block, shape (rows, counts) each.
        """
        parts = self._correlations(ends, logs)
        every = np.arange(self.end - self.begin + 1)
        cells = _split_into_cells(every.size, self._deviation(int(ends.min()), int(ends.max())))
        law = np.zeros((logs[0].shape[0], every.size))
        if cells:
            nodes = np.concatenate([start + integer_series(stop - start).nodes for start, stop in cells]).astype(
                np.int64
            )
            law[:, nodes] = sum(part.law(nodes) for part in parts)
            rough = [cell for cell in cells if not all(_fill_cell(row[slice(*cell)]) for row in law)]
            every = np.concatenate([every[slice(*cell)] for cell in rough] or [every[:0]])
        if every.size:
            law[:, every] = sum(part.law(every) for part in parts)
        return law

    def _deviation(self, first: int, last: int) -> float:
        """Return σ of the module docstring for counts from first to last; 0 if the distribution is not smooth here."""
        rest = self.size - self.sample_size
        ends = self.begin, self.sample_size - self.end, first - self.end, rest - (last - self.begin)
        return 1 / math.sqrt(sum(1 / (end + 0.5) for end in ends)) if min(ends) >= 0 else 0.0

    def _correlations(self, ends: Places, logs: Sequence[Reals]) -> list[_Correlation]:
        """Return the term of the law of the samples that each block of counts contributes.

        The logarithms of a term are relative to those at the likeliest pair of a count and a sample.
        """
        rest, share = self.size - self.sample_size, self.sample_size / self.size
        middle = (self.begin + self.end) / 2
        nearest = np.round(middle / share) if share else 0.0
        counts = np.clip(nearest, *ends.T.astype(np.float64))
        samples = np.clip(np.round(share * counts), self.begin, self.end)
        lefts = np.clip(counts - samples, 0, rest)
        centres = log_hypergeometric(counts - lefts, counts, self.size, self.sample_size).tolist()
        parts = []
        for (start, stop), part, count, left, centre in zip(
            ends.tolist(), logs, counts.astype(int).tolist(), lefts.astype(int).tolist(), centres, strict=True
        ):
            tilt = math.log((self.size - count + 0.5) / (count + 0.5))
            of_counts = part - _log_binomial_changes(self.size, count, (start, stop), tilt)
            of_samples = _log_binomial_changes(self.sample_size, count - left, (self.begin, self.end), tilt)
            of_left = _log_binomial_changes(rest, left, (start - self.end, stop - self.begin), tilt)
            largest, likeliest = _row_maxima(of_counts), _row_maxima(of_left[None])
            factors = of_samples + (centre - 2 * _HIGHEST) + (largest + likeliest)
            parts.append(
                _Correlation(
                    _scaled_exponentials(of_counts - largest), _scaled_exponentials(of_left - likeliest[0]), factors
                )
            )
        return parts


def _row_maxima(logs: Reals) -> Reals:
    """Return the largest logarithm of each row, 0 if all are −inf, shape (rows, 1)."""
    peaks = logs.max(axis=1, keepdims=True)
    return np.where(peaks > -np.inf, peaks, 0.0)


_LENGTH = 3.0  # deviations in a cell
_EXACT = 1e-12  # largest size of the last terms of a series, relative to the smallest value in the cell


def _split_into_cells(length: int, deviation: float) -> list[tuple[int, int]]:
    """Return the cells of a block of integers, three deviations long each; an empty list if they would be short."""
    count = math.ceil(length / max(_LENGTH * deviation, 1.0))
    if length < SHORTEST * count:
        return []
    return list(pairwise(np.round(np.linspace(0, length, count + 1)).astype(int).tolist()))


def _fill_cell(law: Reals) -> bool:
    """Write the law at all integers of a cell, from its values at the nodes. Return False if these do not suffice.

    A tilt takes the law from end to end; the series is that of the ratio.
    """
    series = integer_series(law.size)
    nodes = series.nodes
    values = law[nodes]
    if values.min() <= 0:
        return not values.any()
    tilt = math.log(values[-1] / values[0]) / (law.size - 1)
    growth = np.exp(tilt * np.arange(law.size))
    ratios = values / growth[nodes]
    law[:] = (series.interpolation @ ratios) * growth
    law[nodes] = values
    return float(np.abs(series.last_terms @ ratios).sum()) <= _EXACT * float(ratios.min())


def _scaled_exponentials(logs: Reals) -> Reals:
    """Return scaled exponentials: no product of two overflows, and those with tiny, slow products are 0."""
    return np.where(logs > -2 * _HIGHEST, np.exp(logs + _HIGHEST), 0.0)


def _log_binomial_changes(total: int, centre: int, ends: tuple[int, int], tilt: float) -> Reals:
    """Return ln C(total, x) − ln C(total, centre) − tilt·(x − centre) for x from end to end, −inf outside 0..total."""
    first, last = max(ends[0], 0), min(ends[1], total)
    logs = np.full(ends[1] - ends[0] + 1, -np.inf)
    if first <= last:
        low, high = min(first, centre), max(last, centre)
        places = np.arange(low, high, dtype=np.float64)
        sums = np.append(0.0, np.cumsum(np.log((total - places) / (places + 1)) - tilt))
        logs[first - ends[0] : last - ends[0] + 1] = sums[first - low : last - low + 1] - sums[centre - low]
    return logs
