"""Answers that grow finer until one is large enough: the exact law of where such a chain stops."""

import math
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Wholes = NDArray[np.int64]

_FAR = 2.0**60  # records: beyond every threshold
_STEEPEST = 700.0  # nats: e^−700 is 0, and e^700 does not overflow


class StoppedChain:
    """Discrete Laplace answers at rising rates 1/scale, stopped at the first that reaches its threshold.

    Thresholds do not rise. With u_i(y) = P[not stopped before i | Y_i = y], which the count does not change, u_i is
    1 − Σ_{j<i} C_ij·e^(−rate_j·(T_j − y)) below T_{i−1} and F_i·e^(−rate_{i−1}·(y − T_{i−1})) from there on.
    """

    def __init__(self, rates: Reals, thresholds: Reals, near: Reals, far: Reals) -> None:
        self.rates, self.thresholds = rates, thresholds
        self.near, self._far = near, far
        ends = thresholds
        self._peaks = np.tanh(rates / 2)
        self._before = np.concatenate([[_FAR], ends[:-1]])
        self._slower = np.concatenate([[1.0], rates[:-1]])
        places = np.arange(rates.size)
        self._is_before = places < places[:, None]
        self._falls = {side: np.where(self._is_before, rates[:, None] + side * rates, 1.0) for side in (-1, 1)}
        self._parts = {side: self.near / np.expm1(-falls) for side, falls in self._falls.items()}
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
        for place, rate in enumerate(rates[:-1]):
            slower, weight, kept = rates[:place], *_added_noise(rates, place)
            at_end = near[place, :place] * np.exp(-slower * (ends[:place] - ends[place]))
            near[place + 1, :place] = near[place, :place] * kept
            past = np.sum(at_end / np.expm1(-(rate - slower)))
            near[place + 1, place] = weight * (past - 1 / math.expm1(-rate))
            inner = np.sum(at_end * np.exp(-(rate + slower)) / np.expm1(-(rate + slower)))
            far[place + 1] = weight * (inner - math.exp(-rate) / math.expm1(-rate))
        return cls(rates, ends, near, far)

    def first(self, prices: int) -> "StoppedChain":
        """The chain of the first prices alone."""
        near, far = self.near[:prices, :prices], self._far[:prices]
        return StoppedChain(self.rates[:prices], self.thresholds[:prices], near, far)

    @cached_property
    def added(self) -> tuple[Reals, Reals, Reals, Reals]:
        """What `_added_noise` returns for each price, and 1/(e^(rate_i − rate_j) − 1) and 1/(e^(rate_i + rate_j) − 1).

        Rows have a price each; the means and the differences are 0 from its own on.
        """
        weights, means = np.zeros(self.rates.size), np.zeros_like(self.near)
        for place in range(self.rates.size - 1):
            weights[place], means[place, :place] = _added_noise(self.rates, place)
        rates, slower = self.rates[:, None], np.where(self._is_before, self.rates, 0.0)
        apart, both = (1 / np.expm1(np.minimum(sums, _STEEPEST)) for sums in (rates - slower, rates + self.rates))
        return weights, means, np.where(self._is_before, apart, 0.0), both

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

    def ever_outside(self, counts: Reals, low: Reals, high: Reals, depth: float) -> Reals:
        """P[at some price the answer reaches its threshold and is < low or >= high], shape (counts,).

        By Theorem 5a of the page “Accuracy first”, for low <= count < high. Up to the first threshold below `high` the
        chain that stops has the same probabilities. Prices at which an error leaves the range with less than e^−depth
        are added up instead.
        """
        stopped = np.sum(self.thresholds[:, None] >= high, axis=0)
        first = np.arange(self.rates.size)[:, None] <= stopped
        chances: Reals = np.where(first, self.beyond(counts, high) + self.short(counts, low), 0.0).sum(axis=0)
        nearest = np.minimum(high - counts, counts - low + 1)
        cells = np.flatnonzero(stopped < self.rates.size - 1)
        if cells.size:
            chain = _NeverOutside(self, counts[cells], low[cells], high[cells], stopped[cells])
            while (goes_on := chain.places < self.rates.size - 1).any():
                goes_on &= chain.rate * nearest[cells] <= depth
                left = cells[~goes_on]
                later = self.rates > chain.rate[~goes_on, None]
                chances[left] += 2 * np.where(later, np.exp(-self.rates * nearest[left, None]), 0.0).sum(axis=1)
                cells = cells[goes_on]
                if not cells.size:
                    break
                chain.keep(goes_on)
                chances[cells] += chain.advance()
        return chances


class _NeverOutside:
    """Probabilities v_i(y) = P[never told outside the range before price i | Y_i = y], for several ranges at once.

    Below `edge`, the smaller of the threshold and `low`, v is 1 − Σ_j left_j·e^(−rate_j·(edge − 1 − y)). From `low` up
    to `high` it is 1 − Σ_j up_j·e^(−rate_j·(high − 1 − y)) − Σ_j down_j·e^(−rate_j·(y − low)). An answer elsewhere was
    told wrong at the price before. Each range has a price i of its own, at its index in `places`.
    """

    def __init__(self, chain: StoppedChain, counts: Reals, low: Reals, high: Reals, places: Wholes) -> None:
        self.chain, self.counts, self.low, self.high, self.places = chain, counts, low, high, places
        self.edge = np.minimum(chain.thresholds[places], low)
        near, rates, ends = chain.near[places], chain.rates, chain.thresholds
        self.left = near * np.exp(-rates * np.where(near, ends - self.edge[:, None] + 1, 0.0))
        self.up = near * np.exp(-rates * np.where(near, ends - high[:, None] + 1, 0.0))
        self.down = np.zeros_like(near)
        self.across = np.exp(-rates * (high - low)[:, None])  # how far a mode falls over the range

    @property
    def rate(self) -> Reals:
        """The rate of the price of each range."""
        return self.chain.rates[self.places]

    def keep(self, is_kept: NDArray[np.bool_]) -> None:
        """Drop the other ranges."""
        for name in ("counts", "low", "high", "places", "edge", "left", "up", "down", "across"):
            setattr(self, name, getattr(self, name)[is_kept])

    def advance(self) -> Reals:
        """Go on to the next price; return P[told outside the range there for the first time]."""
        chain, rows = self.chain, np.arange(self.places.size)
        rate, rates, left, up, down = self.rate, chain.rates, self.left, self.up, self.down
        weight, kept, apart, both = (table[self.places] for table in chain.added)
        across = self.across
        own, alone = across[rows, self.places], -1 / np.expm1(-rate)
        # sums of v towards an edge, each place weighed by e^(−rate·distance)
        crossed = apart * (across - own[:, None]) * np.exp(rate)[:, None]
        turned = (1 - own[:, None] * across) * (1 + both)
        whole = (1 - own) * alone
        to_edge = alone - _rows_summed(left, 1 + both)
        to_high = whole - _rows_summed(up, turned) - _rows_summed(down, crossed)
        to_low = whole - _rows_summed(up, crossed) - _rows_summed(down, turned)
        gap = np.exp(-rate * (self.low - self.edge + 1))
        past = both * across * np.exp(np.minimum(rates, _STEEPEST))
        taken = (
            _rows_summed(left, apart) + gap * to_low,
            _rows_summed(up, apart) + _rows_summed(down, past),
            _rows_summed(down, apart) + _rows_summed(up, past) + gap * to_edge,
        )
        for modes, part in zip((left, up, down), taken, strict=True):
            np.multiply(modes, kept, out=modes)
            modes[rows, self.places] = weight * (alone - 1 - part)
        return self._told(weight * to_edge, weight * to_low, weight * to_high)

    def _told(self, to_edge: Reals, to_low: Reals, to_high: Reals) -> Reals:
        """Return P[told outside for the first time]: from the threshold on, in the gap below the range, and beyond."""
        before, rates, edge = self.rate, self.chain.rates, self.edge
        self.places = self.places + 1
        rate = self.rate
        self.edge = np.minimum(edge, self.chain.thresholds[self.places])
        step, gap = edge - self.edge, self.low - edge
        falls = np.exp(-rates * step[:, None])
        own = np.exp(-rate * step)
        both = self.chain.added[3][self.places]
        between = (1 - own) / -np.expm1(-rate) - _rows_summed(self.left, (1 - own[:, None] * falls) * (1 + both))
        self.left *= falls
        inside = to_edge * np.exp(-before * gap) * np.expm1(-(rate - before) * gap) / np.expm1(-(rate - before))
        inside += to_low * np.exp(-before) * np.expm1(-(rate + before) * gap) / np.expm1(-(rate + before))
        beyond = to_edge * np.exp(-before * (self.high - edge + 1)) + to_high * np.exp(-before)
        chances: Reals = between * np.exp(-rate * (self.counts - edge + 1))
        chances += inside * np.exp(-rate * (self.counts - self.low + 1))
        chances += beyond * np.exp(-rate * (self.high - self.counts)) / -np.expm1(-(rate + before))
        return chances * np.tanh(rate / 2)


def _rows_summed(modes: Reals, factors: Reals) -> Reals:
    """Return the sum of products of each row."""
    sums: Reals = np.einsum("ij,ij->i", modes, factors)
    return sums


def _added_noise(rates: Reals, place: int) -> tuple[float, Reals]:
    """Return the weight of Z_i other than 0, times tanh(rate/2), and E[e^(rate_j·Z_i)] for each j < i."""
    rate, finer, slower = rates[place], rates[place + 1], rates[:place]
    equal = math.exp(rate - finer) * (math.expm1(-rate) / math.expm1(-finer)) ** 2
    return (1 - equal) * math.tanh(rate / 2), _transform(rate, slower) / _transform(finer, slower)


def _transform(rate: float, power: Reals) -> Reals:
    """E[e^(power·D)] of discrete Laplace noise D."""
    both: Reals = np.expm1(-(rate - power)) * np.expm1(-(rate + power))
    return math.expm1(-rate) ** 2 / both
