"""Bounds of the part of δ that noisy answers hide around a threshold, for two answers or for pairs of counts.

`WeightedWindow` has the weights of the counts around a threshold. `hidden_by_two_answers` and `hidden_by_count_pairs`
bound the part that the noise hides.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.privacy.bounds import CertifiedNumber
from noisycount.analysis.privacy.hockey_stick import hockey_sticks
from noisycount.analysis.privacy.pairs import Pair
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

# The logarithm of Σ_y √(L_y(k)·L_y(k + d)) for distances d, where L_y(k) is the likelihood of the answers y at count k.
Closeness = Callable[[Reals], Reals]
_OVERFLOW = 700.0  # largest ε whose exponential does not overflow
_APART = -16.0  # logarithm: e^−16 of the hidden part is less than the distance of the bounds
_UNDERFLOW = 1e-300  # lower bound of weights in ratios, so that the ratios stay finite


@frozen(eq=False, slots=False)
class WeightedWindow:
    """Weights v of the counts in a window around the threshold t: v < 0 below it, v >= 0 from t on.

    For answers y with the likelihood L_y(k) at count k, δ₊ is Σ_y (Σ_k v_k·L_y(k))₊. That is the δ₊ without noise,
    Σ_{k >= t} v_k, less the hidden part Σ_y min(Σ_{k >= t} v_k·L_y(k), Σ_{k < t} −v_k·L_y(k)).
    """

    known: CertifiedNumber  # δ₊ without noise
    factor: float  # e^ε
    above: Reals  # v_t, v_{t + 1}, … inside the window
    below: Reals  # −v_{t − 1}, −v_{t − 2}, … inside the window
    error: float  # bound of the sum of the errors of all weights

    @property
    def scale(self) -> float:
        """Largest absolute weight."""
        return float(max(self.above.max(), self.below.max()))

    @property
    def is_hidden(self) -> bool:
        """True if the window has counts on both sides of the threshold, so that noise can hide something."""
        return self.above.size > 0 and self.below.size > 0

    def shortened(self, most: int, weight: float) -> "WeightedWindow":
        """Return a shorter window with at most `most` counts on each side.

        The counts at an end are omitted if they and the counts outside of the window weigh at most `weight` on that
        side.
        """
        if not self.is_hidden:
            return self
        above = _without_end(self.above, weight - self._weight_outside(self.above, 0.0))
        below = _without_end(self.below, weight - self._weight_outside(self.below, self.factor - 1))
        return replace(self, above=above[:most], below=below[:most])

    def hidden_at_most(self, closeness: Closeness) -> float:
        """Return an upper bound of the hidden part of the window. `closeness` is that of `window`.

        Bhattacharyya's bound holds for each pair of counts with weights a and b and likelihoods f and g: Σ min(a·f,
        b·g) <= √(a·b)·Σ √(f·g).
        """
        roots = np.convolve(np.sqrt(self.above), np.sqrt(self.below))
        likely = np.exp(closeness(np.arange(1.0, roots.size + 1)))
        return min(float(roots @ likely), float(self.above.sum()), float(self.below.sum()))

    def upper_delta(self, hidden: float) -> float:
        """Return the upper end of δ₊ if noise hides at least `hidden` in the window.

        It holds as an adversary who also knows every count outside of the window can only distinguish more.
        """
        return self.known.upper + self.error - hidden

    def lower_delta(self, hidden: float, closeness: Closeness) -> float:
        """Return the lower end of δ₊ if noise hides at most `hidden` in the window.

        The set of answers that is best for the window is one of all sets, so its gain is a lower bound. Counts outside
        of the window are misjudged most often at the ends of the window, as the answers rise with the count. There
        Bhattacharyya's bound applies: Σ min(a·f, b·g) <= √(a·b)·Σ √(f·g).
        """
        return self.known.lower - self.error - hidden - self.misjudged_weight(closeness)

    def misjudged_weight(self, closeness: Closeness) -> float:
        """Return an upper bound of the weight outside of the window that the window's best set misjudges."""
        above = _misjudged_probability(self.above, self.below, closeness)
        below = _misjudged_probability(self.below, self.above, closeness)
        misjudged_weight = above * self._weight_outside(self.above, 0.0)
        return misjudged_weight + below * self._weight_outside(self.below, self.factor - 1)

    def _weight_outside(self, inside: Reals, excess: float) -> float:
        """Return an upper bound of the weight that one side has outside of the window.

        Args:
            inside: Weights of this side in the window.
            excess: Total weight of this side minus δ₊ without noise (`known`): 0 above the threshold, e^ε − 1 below it.
        """
        return max(0.0, self.known.upper + excess - float(inside.sum())) + self.error


def _without_end(side: Reals, weight: float) -> Reals:
    """Return a side without the counts at its end that together weigh at most `weight`. The first count stays."""
    beyond = np.cumsum(side[::-1])[::-1]
    return side[: max(1, int(np.count_nonzero(beyond > weight)))]


def _misjudged_probability(side: Reals, other: Reals, closeness: Closeness) -> float:
    """Return an upper bound of the probability that answers at the last count of a side favour the other side."""
    logs = 0.5 * (np.log(np.maximum(other, _UNDERFLOW)) - math.log(max(side[-1], _UNDERFLOW)))
    distances = np.arange(other.size, dtype=np.float64) + side.size
    return min(1.0, float(np.exp(np.minimum(0.0, logs + closeness(distances))).sum()))


def weighted_windows(pair: Pair, epsilons: list[float], reach: int) -> list[WeightedWindow]:
    """Return the weights of the counts around the threshold of each ε, up to `reach` counts on each side."""
    known = hockey_sticks(pair, None, epsilons)
    return [_weighted_window_at(pair, *one, reach) for one in zip(epsilons, known, strict=True)]


def window(closeness: Closeness, most: int, apart: float = _APART) -> int:
    """Return the number of counts on each side of a window whose ends the answers do not confuse.

    Args:
        closeness: Logarithm of the Bhattacharyya coefficient of two counts by their distance.
        most: Largest number of counts.
        apart: Counts are confused if their closeness is above this.
    """
    mixed = np.flatnonzero(closeness(np.arange(1.0, most + 1)) > apart)
    return min(most, int(mixed[-1]) + 2) if mixed.size else 1


def _weighted_window_at(pair: Pair, epsilon: float, known: CertifiedNumber, reach: int) -> WeightedWindow:
    """Return the weights of the counts around the threshold of one ε."""
    low, high = pair.base.support
    excess = pair.excess(epsilon)
    factor = math.exp(min(epsilon, _OVERFLOW))
    threshold = min(max(excess.threshold, low), high + 1)
    first, last = max(low, int(threshold) - reach), min(high, int(threshold) + reach - 1)
    if pair.base.deviation == 0 or known.value == 0 or last < threshold:
        return WeightedWindow(known, factor, np.zeros(0), np.zeros(0), 0.0)
    offsets = np.arange(first, last + 1.0)
    masses = pair.base.pmf(offsets)
    weights = masses * excess.at(offsets)
    place = int(threshold) - first
    error = pair.rounding * float(np.abs(weights).sum()) + excess.uncertainty(offsets, masses)
    above, below = np.maximum(weights[place:], 0.0), np.maximum(-weights[:place][::-1], 0.0)
    return WeightedWindow(known, factor, above, below, error)


_ROUNDINGS = 10.0  # roundings per term of each sum; a sum has at most as many terms as there are distances
_LARGEST = 600.0  # largest exponent used: its exponential and products of it do not overflow


@frozen(eq=False, slots=False)
class _ThresholdSide:
    """The sum X = Σ_i w_i·L(i)/L(0) over the places i >= 0 of one side of the threshold.

    For a slope s of the noise, an answer at distance d >= 0 on this side has the factor e^(s·(d − |i − d|)) in
    L(i)/L(0). An answer on the other side has the factor e^(−s·i).
    """

    chances: Reals  # probability of each distance of an answer on this side
    neither: float  # X if no answer is on this side
    either: Reals  # X if one of two answers is on this side, for each distance
    rises: Reals  # Σ w_i·e^(2·s·i) over i < d, for each distance d
    sums: Reals  # Σ w_i over i < d
    growths: Reals  # e^(2·s·d)

    @classmethod
    def from_weights(cls, places: Reals, weights: Reals, slope: float, first: float) -> "_ThresholdSide":
        """Return the side of the threshold with these weights at ascending places.

        An answer on this side is at a distance of `first`, `first` + 1, … places.

        Args:
            places: Places i of the weights.
            weights: Weights w_i.
            slope: Slope s of the noise, per place.
            first: Smallest distance of an answer.
        """
        last = int(places[-1])
        ranks = np.arange(last + 1.0)
        distances = ranks + first
        chances = -math.expm1(-slope) * np.exp(-slope * ranks)
        chances[-1] = math.exp(-slope * last)
        reached = np.searchsorted(places, ranks, side="right")
        falls = np.exp(-2 * slope * np.maximum(0.0, places[:, None] - distances))
        rises = weights * _limited_exponential(2 * slope * places)
        return cls(
            chances,
            float(weights @ np.exp(-2 * slope * places)),
            np.maximum.accumulate(weights @ falls),
            _partial_sums(rises, reached),
            _partial_sums(weights, reached),
            _limited_exponential(2 * slope * distances),
        )

    def both_answers(self, most: float) -> float:
        """Return E min(X, most) for the sum X of this side if both answers are on this side.

        For a given distance of the nearer answer, X rises with the distance of the farther one, until it exceeds
        `most`.
        """
        least = (most - self.rises) / self.growths + self.sums
        nearest = np.arange(self.either.size)
        ends = np.maximum(self.either.searchsorted(least), nearest)
        masses, moments = self.beyond
        mass, moment = masses[nearest] - masses[ends], moments[nearest] - moments[ends]
        values = self.rises * mass + self.growths * (moment - self.sums * mass)
        pairs = values + most * masses[ends]
        same = np.minimum(self.rises + self.growths * (self.either - self.sums), most)
        return float(self.chances @ (2 * pairs - self.chances * same))

    def one_each(self, other: "_ThresholdSide") -> float:
        """Return E min(X, Z) for the sums X and Z of this and the other side, if each has one of the two answers."""
        ends = other.either.searchsorted(self.either)
        masses, moments = other.beyond
        return self.chances @ (moments[0] - moments[ends] + self.either * masses[ends])

    @cached_property
    def beyond(self) -> tuple[Reals, Reals]:
        """Sums over all distances of an answer from each one on: of the probabilities, and of these times the sum X."""
        masses, moments = np.zeros((2, self.either.size + 1))
        masses[:-1] = np.cumsum(self.chances[::-1])[::-1]
        moments[:-1] = np.cumsum((self.chances * self.either)[::-1])[::-1]
        return masses, moments

    def one_answer(self, most: float) -> float:
        """Return E min(X, most) for the sum X of this side if one answer is on this side."""
        return float(self.chances @ np.minimum(self.either, most))


def hidden_by_two_answers(
    weighed: WeightedWindow, slope: float, steps: int, *, is_centred: bool
) -> tuple[float, float]:
    """Return bounds of Σ_y min(Σ_{k >= t} v_k·L_y(k), Σ_{k < t} −v_k·L_y(k)) for two answers.

    The bounds differ by rounding only. Sums over pairs of distances are computed as differences of sums over one
    distance.

    Args:
        weighed: Weights v of the counts.
        slope: Slope of the noise, per step of the grid.
        steps: Steps of the grid in a record.
        is_centred: True if answers lie on the places of the grid, False if they lie between them.
    """
    above, below = weighed.above, weighed.below
    first = 1.0 if is_centred else 0.5
    upper = _ThresholdSide.from_weights(steps * np.arange(float(above.size)), above, slope, first)
    lower = _ThresholdSide.from_weights(steps * np.arange(1.0, below.size + 1), below, slope, first)
    beside = math.exp(-slope)
    beyond, middle = (beside / (1 + beside), math.tanh(slope / 2)) if is_centred else (0.5, 0.0)
    hidden = (
        beyond**2 * (upper.both_answers(lower.neither) + lower.both_answers(upper.neither))
        + 2 * beyond**2 * upper.one_each(lower)
        + 2 * beyond * middle * (upper.one_answer(lower.neither) + lower.one_answer(upper.neither))
        + middle**2 * min(upper.neither, lower.neither)
    )
    distances = max(upper.chances.size, lower.chances.size)
    error = _ROUNDINGS * distances**2 * 2.0**-53 * float(above.sum() + below.sum())
    return hidden - error, hidden + error


def _partial_sums(terms: Reals, reached: NDArray[np.intp]) -> Reals:
    """Return the sum of the first `reached` terms, for each number in `reached`."""
    sums: Reals = np.concatenate([[0.0], np.cumsum(terms)])
    return sums[reached]


def _limited_exponential(logs: Reals) -> Reals:
    """Return e^logs, with exponents limited so that none overflows."""
    return np.exp(np.minimum(logs, _LARGEST))


_UNIT = 2.0**-53
_PER_LEVEL = 16.0  # roundings of a transform for each doubling of its length


def hidden_by_count_pairs(
    weighed: WeightedWindow, answers: int, slope: float, steps: int, *, is_centred: bool
) -> tuple[float, float]:
    """Return bounds of Σ_y min(Σ_{k >= t} v_k·L_y(k), Σ_{k < t} −v_k·L_y(k)), from pairs of counts.

    min(a + a*, b) is at least min(a, b) and at most min(a, b) + min(a*, b). So the sum is at least
    Σ_y min(v_k·L_y(k), −v_l·L_y(l)) for any two counts k and l, and at most the sum of these over all pairs. For one
    pair it is a mean over the sum of q independent terms ln(L(k)/L(l)), one for each of the q answers.

    Args:
        weighed: Weights v of the counts.
        answers: Number q of answers.
        slope: Slope of the noise, per step of the grid.
        steps: Steps of the grid in a record.
        is_centred: True if answers lie on the places of the grid, False if they lie between them.
    """
    hidden = np.zeros((weighed.above.size, weighed.below.size))
    error = 0.0
    for distance in range(1, sum(hidden.shape)):
        ranks = np.arange(max(0, distance - weighed.below.size), min(distance, weighed.above.size))
        above, below = weighed.above[ranks], weighed.below[distance - 1 - ranks]
        part = _law_of_one_answer(distance * steps, slope, is_centred=is_centred)
        law = _law_of_sum(part, answers)
        most = slope * distance * steps * answers
        logs = np.minimum(_LARGEST, np.linspace(-most, most, law.size))
        least = np.minimum(np.multiply.outer(above, np.exp(logs)), below[:, None])
        hidden[ranks, distance - 1 - ranks] = least @ law
        roundings = answers * _PER_LEVEL * math.log2(2 * law.size) * math.sqrt(2 * law.size)
        error += _UNIT * roundings * float(below.sum())
    return max(0.0, float(hidden.max()) - error), float(hidden.sum()) + error


def _law_of_one_answer(places: int, slope: float, *, is_centred: bool) -> Reals:
    """Return the distribution of the log-likelihood ratio of two counts for one answer, given the second count.

    It lies between −slope·places and slope·places. If `is_centred`, the logarithm rises by two slopes from one place
    between the counts to the next. Otherwise it rises by two slopes from one cell to the next, and by one slope between
    an outermost cell and the answers beyond it.
    """
    ratio = math.exp(-slope)
    if is_centred:
        law = math.tanh(slope / 2) * ratio ** np.arange(places + 1.0)
        law[[0, -1]] = 1 / (1 + ratio), ratio**places / (1 + ratio)
        return law
    law = np.zeros(2 * places + 1)
    law[1::2] = (1 - ratio) / 2 * ratio ** np.arange(places)
    law[[0, -1]] = 0.5, ratio**places / 2
    return law


def _law_of_sum(part: Reals, answers: int) -> Reals:
    """Return the distribution of the sum of independent numbers that share one distribution."""
    size = answers * (part.size - 1) + 1
    length = 1 << (size - 1).bit_length()
    law: Reals = np.fft.irfft(np.fft.rfft(part, length) ** answers, length)[:size]
    return np.maximum(law, 0.0)
