"""Answers that grow finer until one is large enough: the exact law of where such a chain stops."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.model.gradual import equal_probability

Reals = NDArray[np.float64]
Wholes = NDArray[np.int64]

_FAR = 2.0**60  # records: beyond every threshold


class StoppedChain:
    """Discrete Laplace answers at rising rates 1/scale, stopped at the first that reaches its threshold.

    Thresholds do not rise. With u_i(y) = P[not stopped before i | Y_i = y], which the count does not change, u_i is
    1 − Σ_{j<i} C_ij·e^(−rate_j·(T_j − y)) below T_{i−1} and F_i·e^(−rate_{i−1}·(y − T_{i−1})) from there on.
    """

    def __init__(self, rates: Reals, thresholds: Reals, near: Reals, far: Reals) -> None:
        self.rates, self.thresholds = rates, thresholds
        self._near, self._far = near, far
        ends = thresholds
        self._peaks = np.tanh(rates / 2)
        self._before = np.concatenate([[_FAR], ends[:-1]])
        self._slower = np.concatenate([[1.0], rates[:-1]])
        places = np.arange(rates.size)
        self._is_before = places < places[:, None]
        self._falls = {side: np.where(self._is_before, rates[:, None] + side * rates, 1.0) for side in (-1, 1)}
        self._parts = {side: self._near / np.expm1(-falls) for side, falls in self._falls.items()}
        self._far_beyond = self._far / -np.expm1(-(rates + self._slower))
        self._beyond_all = self._falling(places, ends, self._before)
        self._beyond_all += self._far_beyond * np.exp(-rates * (self._before - ends))
        self._short_all = self._rising(places, ends, np.where(places > 0, self._before, ends))
        self._steps = np.where(self._far > 0, rates - self._slower, 1.0)

    @classmethod
    def of(cls, scales: list[Fraction], thresholds: list[int]) -> Self:
        """Solved from the first price on, by what added noise does to 1 and e^(rate·y) that end at a threshold."""
        rates, ends = np.array([float(1 / scale) for scale in scales]), np.array(thresholds, float)
        near, far = np.zeros((rates.size, rates.size)), np.zeros(rates.size)
        for place, pair in enumerate(pairwise(scales)):
            rate, slower = rates[place], rates[:place]
            weight = (1 - equal_probability(*pair)) * math.tanh(rate / 2)
            at_end = near[place, :place] * np.exp(-slower * (ends[:place] - ends[place]))
            kept = _transform(rate, slower) / _transform(rates[place + 1], slower)
            near[place + 1, :place] = near[place, :place] * kept
            past = np.sum(at_end / np.expm1(-(rate - slower)))
            near[place + 1, place] = weight * (past - 1 / math.expm1(-rate))
            inner = np.sum(at_end * np.exp(-(rate + slower)) / np.expm1(-(rate + slower)))
            far[place + 1] = weight * (inner - math.exp(-rate) / math.expm1(-rate))
        return cls(rates, ends, near, far)

    def first(self, prices: int) -> "StoppedChain":
        """The chain of the first prices alone."""
        near, far = self._near[:prices, :prices], self._far[:prices]
        return StoppedChain(self.rates[:prices], self.thresholds[:prices], near, far)

    def _falling(self, places: Wholes, low: Reals, high: Reals) -> Reals:
        """Σ_{low <= y < high} e^(−rate·(y − low))·u(y), where high is at most the threshold before."""
        return self._summed(places, high - low, low, -1)

    def _rising(self, places: Wholes, low: Reals, high: Reals) -> Reals:
        """Σ_{low <= y < high} e^(−rate·(high − 1 − y))·u(y), where high is at most the threshold before."""
        return self._summed(places, high - low, high - 1, 1)

    def _summed(self, places: Wholes, lengths: Reals, starts: Reals, side: int) -> Reals:
        """One geometric sum for 1 and for each e^(rate_j·y), from its start on."""
        rates = self.rates[places]
        depths = np.where(self._is_before[places], self.rates * (self.thresholds - starts[:, None]), 0.0)
        sums = self._parts[side][places] * np.exp(-depths) * np.expm1(-self._falls[side][places] * lengths[:, None])
        return np.expm1(-rates * lengths) / np.expm1(-rates) - sums.sum(axis=1)

    def beyond(self, counts: Reals, edges: Reals) -> Reals:
        """P[stops with an answer >= edge] by price, for edges of at least the counts: shape (prices, counts)."""
        rates, ends, before = self.rates[:, None], self.thresholds[:, None], self._before[:, None]
        is_far = edges >= before
        starts = np.where(is_far, edges, np.maximum(ends, counts))
        depths = rates * (starts - counts) + np.where(is_far, self._slower[:, None] * (edges - before), 0.0)
        chances: Reals = np.where(is_far, self._far_beyond[:, None], self._beyond_all[:, None]) * np.exp(-depths)
        places, inside = self._between(edges)
        rate, edge, count, last = self.rates[places], edges[inside], counts[inside], self._before[places]
        part = self._falling(places, edge, last) + self._far_beyond[places] * np.exp(-rate * (last - edge))
        chances[places, inside] = part * np.exp(-rate * (edge - count))
        chances *= self._peaks[:, None]
        return chances

    def short(self, counts: Reals, edges: Reals) -> Reals:
        """P[stops with an answer < edge] by price, for edges of at most the counts: shape (prices, counts)."""
        rates, before, slower = self.rates[:, None], self._before[:, None], self._slower[:, None]
        is_far = edges > before
        low = np.where(is_far, before, counts + 1)
        chances: Reals = self._short_all[:, None] * np.exp(-rates * (counts + 1 - low))
        past = np.where(is_far, edges - before, 1.0)
        depths = rates * (counts + 1 - edges) + slower * (past - 1)
        steps = self._steps[:, None]
        chances += (self._far / np.expm1(-self._steps))[:, None] * np.exp(-depths) * np.expm1(-steps * past)
        chances = np.where(is_far, chances, 0.0)
        places, inside = self._between(edges)
        rate, edge = self.rates[places], edges[inside]
        part = self._rising(places, self.thresholds[places], edge)
        chances[places, inside] = part * np.exp(-rate * (counts[inside] + 1 - edge))
        chances *= self._peaks[:, None]
        return chances

    def _between(self, edges: Reals) -> tuple[Wholes, Wholes]:
        """The one price whose threshold lies below an edge and the one before not, and which edges have one."""
        places = np.searchsorted(-self.thresholds, -edges, side="right")
        inside = np.flatnonzero(places < self.rates.size)
        return places[inside], inside

    def unstopped(self, counts: Reals, reach: int) -> tuple[Reals, Reals]:
        """P[no answer reaches its threshold, and the last lies more than reach above the count], and below it."""
        last = np.full(counts.size, self.rates.size - 1)
        rate, end = self.rates[-1], self.thresholds[-1]
        high = np.minimum(counts + reach + 1, end)
        above = self._falling(last, high, np.full(counts.size, end)) * np.exp(-rate * np.maximum(high - counts, 0))
        low = np.minimum(counts - reach, end)
        below = self._rising(last, np.full(counts.size, -_FAR), low) * np.exp(-rate * (counts + 1 - low))
        return self._peaks[-1] * above, self._peaks[-1] * below


def _transform(rate: float, power: Reals) -> Reals:
    """E[e^(power·D)] of discrete Laplace noise D."""
    both: Reals = np.expm1(-(rate - power)) * np.expm1(-(rate + power))
    return math.expm1(-rate) ** 2 / both
