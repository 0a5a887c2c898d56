"""Exact distribution of the answer at which a chain of more and more accurate answers stops.

`within` has the stopping rule; the page “Accuracy first” has the closed form and its proof.
"""

import math
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Wholes = NDArray[np.int64]

_FAR = 2.0**60  # records: above every threshold
_STEEPEST = 700.0  # nats: e^−700 is negligible, and e^700 does not overflow


class StoppedChain:
    """A chain of discrete Laplace answers at rising rates 1/scale, stopped at the first that reaches its threshold.

    Thresholds do not rise. The function u_i(y) = P[not stopped before price i | Y_i = y] does not depend on the count:

        u_i(y) = 1 − Σ_{j<i} near_ij·e^(−rate_j·(T_j − y))      for y < T_{i−1}
        u_i(y) = far_i·e^(−rate_{i−1}·(y − T_{i−1}))            for y >= T_{i−1}

    Shapes: rates, thresholds and far (prices,), near (prices, prices).
    """

    def __init__(self, rates: Reals, thresholds: Reals, near: Reals, far: Reals) -> None:
        self.rates, self.thresholds = rates, thresholds
        self.near, self._far = near, far
        ends = thresholds
        self._peaks = np.tanh(rates / 2)
        self._before = np.concatenate([[_FAR], ends[:-1]])
        self._slower = np.concatenate([[1.0], rates[:-1]])
        indices = np.arange(rates.size)
        self._is_before = indices < indices[:, None]
        self._falls = {side: np.where(self._is_before, rates[:, None] + side * rates, 1.0) for side in (-1, 1)}
        self._parts = {side: self.near / np.expm1(-falls) for side, falls in self._falls.items()}
        self._far_beyond = self._far / -np.expm1(-(rates + self._slower))
        self._beyond_all = self._falling_sum(indices, ends, self._before)
        self._beyond_all += self._far_beyond * np.exp(-rates * (self._before - ends))
        self._short_all = self._rising_sum(indices, ends, np.where(indices > 0, self._before, ends))
        self._steps = np.where(self._far > 0, rates - self._slower, 1.0)

    @classmethod
    def from_scales(cls, scales: list[Fraction], thresholds: list[int]) -> Self:
        """Compute `near` and `far` price by price: the noise between two prices has a closed form on exponentials."""
        rates, ends = np.array([float(1 / scale) for scale in scales]), np.array(thresholds, float)
        near, far = np.zeros((rates.size, rates.size)), np.zeros(rates.size)
        for price, rate in enumerate(rates[:-1]):
            slower, weight, factors = rates[:price], *_noise_between_prices(rates, price)
            at_end = near[price, :price] * np.exp(-slower * (ends[:price] - ends[price]))
            near[price + 1, :price] = near[price, :price] * factors
            above = np.sum(at_end / np.expm1(-(rate - slower)))
            near[price + 1, price] = weight * (above - 1 / math.expm1(-rate))
            inner = np.sum(at_end * np.exp(-(rate + slower)) / np.expm1(-(rate + slower)))
            far[price + 1] = weight * (inner - math.exp(-rate) / math.expm1(-rate))
        return cls(rates, ends, near, far)

    def first(self, prices: int) -> "StoppedChain":
        """Return the chain of the first `prices` prices only."""
        near, far = self.near[:prices, :prices], self._far[:prices]
        return StoppedChain(self.rates[:prices], self.thresholds[:prices], near, far)

    @cached_property
    def pair_factors(self) -> tuple[Reals, Reals, Reals, Reals]:
        """The two results of `_noise_between_prices` for each price i, and two factors for each pair of prices i and j.

        The factors are 1/(e^(rate_i − rate_j) − 1) and 1/(e^(rate_i + rate_j) − 1).

        All arrays have a row for each price i. The second result and the first factor are 0 for j >= i.
        """
        weights, means = np.zeros(self.rates.size), np.zeros_like(self.near)
        for price in range(self.rates.size - 1):
            weights[price], means[price, :price] = _noise_between_prices(self.rates, price)
        rates, slower = self.rates[:, None], np.where(self._is_before, self.rates, 0.0)
        apart, both = (1 / np.expm1(np.minimum(sums, _STEEPEST)) for sums in (rates - slower, rates + self.rates))
        return weights, means, np.where(self._is_before, apart, 0.0), both

    def _falling_sum(self, prices: Wholes, low: Reals, high: Reals) -> Reals:
        """Return Σ_{low <= y < high} e^(−rate·(y − low))·u(y), u as in the class, for high up to the last threshold."""
        return self._geometric_sums(prices, high - low, low, -1)

    def _rising_sum(self, prices: Wholes, low: Reals, high: Reals) -> Reals:
        """Return Σ_{low <= y < high} e^(−rate·(high − 1 − y))·u(y). See the class for u, `_falling_sum` for high."""
        return self._geometric_sums(prices, high - low, high - 1, 1)

    def _geometric_sums(self, prices: Wholes, lengths: Reals, starts: Reals, side: int) -> Reals:
        """Return `_falling_sum` (side −1) or `_rising_sum` (side 1) by closed formulas.

        The function u is 1 minus exponentials e^(rate_j·y) of the class docstring. So the sum of the products is one
        geometric sum for the 1, minus one for each exponential.

        Args:
            prices: The index of the price of each sum.
            lengths: The number of terms of each sum.
            starts: The answer y of the term with the factor 1.
            side: −1 or 1.
        """
        rates = self.rates[prices]
        depths = np.where(self._is_before[prices], self.rates * (self.thresholds - starts[:, None]), 0.0)
        sums = self._parts[side][prices] * np.exp(-depths) * np.expm1(-self._falls[side][prices] * lengths[:, None])
        return np.expm1(-rates * lengths) / np.expm1(-rates) - sums.sum(axis=1)

    def stopped_above(self, counts: Reals, edges: Reals) -> Reals:
        """Return P[the chain stops at this price with an answer >= edge], for edge >= count: shape (prices, counts)."""
        rates, ends, before = self.rates[:, None], self.thresholds[:, None], self._before[:, None]
        is_far = edges >= before
        starts = np.where(is_far, edges, np.maximum(ends, counts))
        depths = rates * (starts - counts) + np.where(is_far, self._slower[:, None] * (edges - before), 0.0)
        chances: Reals = np.where(is_far, self._far_beyond[:, None], self._beyond_all[:, None]) * np.exp(-depths)
        prices, inside = self._prices_around(edges)
        rate, edge, count, last = self.rates[prices], edges[inside], counts[inside], self._before[prices]
        part = self._falling_sum(prices, edge, last) + self._far_beyond[prices] * np.exp(-rate * (last - edge))
        chances[prices, inside] = part * np.exp(-rate * (edge - count))
        chances *= self._peaks[:, None]
        return chances

    def stopped_below(self, counts: Reals, edges: Reals) -> Reals:
        """Return P[the chain stops at this price with an answer < edge], for edge <= count: shape (prices, counts)."""
        rates, before, slower = self.rates[:, None], self._before[:, None], self._slower[:, None]
        is_far = edges > before
        low = np.where(is_far, before, counts + 1)
        chances: Reals = self._short_all[:, None] * np.exp(-rates * (counts + 1 - low))
        past = np.where(is_far, edges - before, 1.0)
        depths = rates * (counts + 1 - edges) + slower * (past - 1)
        steps = self._steps[:, None]
        chances += (self._far / np.expm1(-self._steps))[:, None] * np.exp(-depths) * np.expm1(-steps * past)
        chances = np.where(is_far, chances, 0.0)
        prices, inside = self._prices_around(edges)
        rate, edge = self.rates[prices], edges[inside]
        part = self._rising_sum(prices, self.thresholds[prices], edge)
        chances[prices, inside] = part * np.exp(-rate * (counts[inside] + 1 - edge))
        chances *= self._peaks[:, None]
        return chances

    def _prices_around(self, edges: Reals) -> tuple[Wholes, Wholes]:
        """Return the first price whose threshold is below each edge, and the indices of the edges with such a price."""
        prices = np.searchsorted(-self.thresholds, -edges, side="right")
        inside = np.flatnonzero(prices < self.rates.size)
        return prices[inside], inside

    def tails_without_stop(self, counts: Reals, reach: int) -> tuple[Reals, Reals]:
        """Return P[the answer of a chain that never stops is more than `reach` above the count], and P[… below it]."""
        last = np.full(counts.size, self.rates.size - 1)
        rate, end = self.rates[-1], self.thresholds[-1]
        high = np.minimum(counts + reach + 1, end)
        above = self._falling_sum(last, high, np.full(counts.size, end)) * np.exp(-rate * np.maximum(high - counts, 0))
        low = np.minimum(counts - reach, end)
        below = self._rising_sum(last, np.full(counts.size, -_FAR), low) * np.exp(-rate * (counts + 1 - low))
        return self._peaks[-1] * above, self._peaks[-1] * below

    def ever_outside(self, counts: Reals, low: Reals, high: Reals, depth: float) -> Reals:
        """Return P[at some price the answer reaches its threshold and is < low or >= high], shape (counts,).

        By Theorem 5a of the page “Accuracy first”, for low <= count < high. Up to the first threshold below `high` the
        probabilities are those of the stopped chain. For prices at which an error leaves the range with a probability
        below e^−depth, the union bound is used.
        """
        stopped = np.sum(self.thresholds[:, None] >= high, axis=0)
        first = np.arange(self.rates.size)[:, None] <= stopped
        chances: Reals = np.where(first, self.stopped_above(counts, high) + self.stopped_below(counts, low), 0.0).sum(
            axis=0
        )
        nearest = np.minimum(high - counts, counts - low + 1)
        cells = np.flatnonzero(stopped < self.rates.size - 1)
        if cells.size:
            chain = _NoErrorProbabilities(self, counts[cells], low[cells], high[cells], stopped[cells])
            while (goes_on := chain.prices < self.rates.size - 1).any():
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


class _NoErrorProbabilities:
    """Probabilities v_i(y) = P[no published answer outside the range before price i | Y_i = y], for several ranges.

    An answer that reaches its threshold is published. With edge = min(threshold, low):

        v(y) = 1 − Σ_j left_j·e^(−rate_j·(edge − 1 − y))                                      for y < edge
        v(y) = 1 − Σ_j up_j·e^(−rate_j·(high − 1 − y)) − Σ_j down_j·e^(−rate_j·(y − low))     for low <= y < high

    and 0 elsewhere, as such an answer was published at the price before. `prices` has the price i of each range.
    """

    def __init__(self, chain: StoppedChain, counts: Reals, low: Reals, high: Reals, prices: Wholes) -> None:
        self.chain, self.counts, self.low, self.high, self.prices = chain, counts, low, high, prices
        self.edge = np.minimum(chain.thresholds[prices], low)
        near, rates, ends = chain.near[prices], chain.rates, chain.thresholds
        self.left = near * np.exp(-rates * np.where(near, ends - self.edge[:, None] + 1, 0.0))
        self.up = near * np.exp(-rates * np.where(near, ends - high[:, None] + 1, 0.0))
        self.down = np.zeros_like(near)
        self.across = np.exp(-rates * (high - low)[:, None])  # factor by which each exponential falls over the range

    @property
    def rate(self) -> Reals:
        """Rate of the current price of each range."""
        return self.chain.rates[self.prices]

    def keep(self, is_kept: NDArray[np.bool_]) -> None:
        """Drop the ranges that are not marked."""
        for name in ("counts", "low", "high", "prices", "edge", "left", "up", "down", "across"):
            setattr(self, name, getattr(self, name)[is_kept])

    def advance(self) -> Reals:
        """Advance to the next price. Return P[an answer outside the range is published there for the first time]."""
        chain, rows = self.chain, np.arange(self.prices.size)
        rate, rates, left, up, down = self.rate, chain.rates, self.left, self.up, self.down
        weight, factors, apart, both = (table[self.prices] for table in chain.pair_factors)
        across = self.across
        own, alone = across[rows, self.prices], -1 / np.expm1(-rate)
        # Sums of v(y)·e^(−rate·distance of y from an edge of the range).
        crossed = apart * (across - own[:, None]) * np.exp(rate)[:, None]
        turned = (1 - own[:, None] * across) * (1 + both)
        whole = (1 - own) * alone
        to_edge = alone - _row_sums(left, 1 + both)
        to_high = whole - _row_sums(up, turned) - _row_sums(down, crossed)
        to_low = whole - _row_sums(up, crossed) - _row_sums(down, turned)
        gap = np.exp(-rate * (self.low - self.edge + 1))
        past = both * across * np.exp(np.minimum(rates, _STEEPEST))
        taken = (
            _row_sums(left, apart) + gap * to_low,
            _row_sums(up, apart) + _row_sums(down, past),
            _row_sums(down, apart) + _row_sums(up, past) + gap * to_edge,
        )
        for modes, part in zip((left, up, down), taken, strict=True):
            np.multiply(modes, factors, out=modes)
            modes[rows, self.prices] = weight * (alone - 1 - part)
        return self._published_outside(weight * to_edge, weight * to_low, weight * to_high)

    def _published_outside(self, to_edge: Reals, to_low: Reals, to_high: Reals) -> Reals:
        """Sum the probability of a first published answer outside the range: below it, in the gap, and above it."""
        before, rates, edge = self.rate, self.chain.rates, self.edge
        self.prices = self.prices + 1
        rate = self.rate
        self.edge = np.minimum(edge, self.chain.thresholds[self.prices])
        step, gap = edge - self.edge, self.low - edge
        falls = np.exp(-rates * step[:, None])
        own = np.exp(-rate * step)
        both = self.chain.pair_factors[3][self.prices]
        between = (1 - own) / -np.expm1(-rate) - _row_sums(self.left, (1 - own[:, None] * falls) * (1 + both))
        self.left *= falls
        inside = to_edge * np.exp(-before * gap) * np.expm1(-(rate - before) * gap) / np.expm1(-(rate - before))
        inside += to_low * np.exp(-before) * np.expm1(-(rate + before) * gap) / np.expm1(-(rate + before))
        beyond = to_edge * np.exp(-before * (self.high - edge + 1)) + to_high * np.exp(-before)
        chances: Reals = between * np.exp(-rate * (self.counts - edge + 1))
        chances += inside * np.exp(-rate * (self.counts - self.low + 1))
        chances += beyond * np.exp(-rate * (self.high - self.counts)) / -np.expm1(-(rate + before))
        return chances * np.tanh(rate / 2)


def _row_sums(modes: Reals, factors: Reals) -> Reals:
    """Return the sums over each row of the products of two arrays."""
    sums: Reals = np.einsum("ij,ij->i", modes, factors)
    return sums


def _noise_between_prices(rates: Reals, price: int) -> tuple[float, Reals]:
    """Describe the noise Z_i by which answer i differs from the more accurate answer i + 1.

    Returns:
        P[Z_i ≠ 0]·tanh(rate_i/2), and E[e^(rate_j·Z_i)] for each j < i.
    """
    rate, finer, slower = rates[price], rates[price + 1], rates[:price]
    equal = math.exp(rate - finer) * (math.expm1(-rate) / math.expm1(-finer)) ** 2
    return (1 - equal) * math.tanh(rate / 2), _moment_generating_function(rate, slower) / _moment_generating_function(
        finer, slower
    )


def _moment_generating_function(rate: float, power: Reals) -> Reals:
    """Return E[e^(power·D)] for discrete Laplace noise D."""
    both: Reals = np.expm1(-(rate - power)) * np.expm1(-(rate + power))
    return math.expm1(-rate) ** 2 / both
