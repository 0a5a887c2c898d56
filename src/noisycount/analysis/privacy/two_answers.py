"""What noisy answers hide of the counts around a threshold, two answers or each two counts."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.privacy.bounds import Certified
from noisycount.analysis.privacy.hockey_stick import hockey_sticks
from noisycount.analysis.privacy.pairs import Pair
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

# The logarithm of Σ_y √(L_y(k)·L_y(k + d)) for distances d, L the law of all answers.
Closeness = Callable[[Reals], Reals]
_OVERFLOW = 700.0  # ε whose exponential does not overflow
_APART = -16.0  # e^−16 of what noise hides is less than the bounds are apart
_UNDERFLOW = 1e-300  # below every weight but 0, so that ratios stay finite


@frozen(eq=False, slots=False)
class Weighed:
    """Weights v of the counts in a window around the threshold t: v < 0 below it, v >= 0 from t on.

    With answers of the likelihood L_y(k), δ₊ = Σ_y (Σ_k v_k·L_y(k))₊ is Σ_{k >= t} v_k, δ₊ without noise, less Σ_y
    min(Σ_{k >= t} v_k·L_y(k), Σ_{k < t} −v_k·L_y(k)): what the noise hides.
    """

    known: Certified  # δ₊ without noise
    factor: float  # e^ε
    above: Reals  # v_t, v_{t + 1}, … in the window
    below: Reals  # −v_{t − 1}, −v_{t − 2}, … in it
    error: float  # how far all of these may be off, added up

    @property
    def scale(self) -> float:
        """The largest weight."""
        return float(max(self.above.max(), self.below.max()))

    @property
    def is_hidden(self) -> bool:
        """Whether there is something on both sides that noise can mix up."""
        return self.above.size > 0 and self.below.size > 0

    def shortened(self, most: int, weight: float) -> "Weighed":
        """The same with fewer counts at the ends."""
        if not self.is_hidden:
            return self
        above = _without_end(self.above, weight - self._outside(self.above, 0.0))
        below = _without_end(self.below, weight - self._outside(self.below, self.factor - 1))
        return replace(self, above=above[:most], below=below[:most])

    def hidden_at_most(self, closeness: Closeness) -> float:
        """What noise hides in the window, at most.

        By Bhattacharyya's bound for each pair of counts: Σ min(a·f, b·g) <= √(a·b)·Σ √(f·g).
        """
        roots = np.convolve(np.sqrt(self.above), np.sqrt(self.below))
        likely = np.exp(closeness(np.arange(1.0, roots.size + 1)))
        return min(float(roots @ likely), float(self.above.sum()), float(self.below.sum()))

    def most(self, hidden: float) -> float:
        """The upper end of δ₊, if noise hides at least so much in the window.

        An adversary who is told all counts outside of it can only know more.
        """
        return self.known.upper + self.error - hidden

    def least(self, hidden: float, closeness: Closeness) -> float:
        """The lower end of δ₊, if noise hides at most so much in the window.

        The answers that the window would choose are some of all sets; what lies outside of it is misjudged most often
        at its ends, as the answers rise with the count, and there by Bhattacharyya's bound: Σ min(a·f, b·g) <= √(a·b)·Σ
        √(f·g).
        """
        return self.known.lower - self.error - hidden - self.missed(closeness)

    def missed(self, closeness: Closeness) -> float:
        """What is misjudged outside of the window, at most."""
        above = _misjudged(self.above, self.below, closeness)
        below = _misjudged(self.below, self.above, closeness)
        missed = above * self._outside(self.above, 0.0)
        return missed + below * self._outside(self.below, self.factor - 1)

    def _outside(self, inside: Reals, more: float) -> float:
        """The weights on one side that lie outside of the window, added up."""
        return max(0.0, self.known.upper + more - float(inside.sum())) + self.error


def _without_end(side: Reals, weight: float) -> Reals:
    """A side without the counts at its end that weigh at most so much, but for the first."""
    beyond = np.cumsum(side[::-1])[::-1]
    return side[: max(1, int(np.count_nonzero(beyond > weight)))]


def _misjudged(side: Reals, other: Reals, closeness: Closeness) -> float:
    """How likely the answers of the last count of a side speak for the other side, at most."""
    logs = 0.5 * (np.log(np.maximum(other, _UNDERFLOW)) - math.log(max(side[-1], _UNDERFLOW)))
    distances = np.arange(other.size, dtype=np.float64) + side.size
    return min(1.0, float(np.exp(np.minimum(0.0, logs + closeness(distances))).sum()))


def weighed(pair: Pair, epsilons: list[float], reach: int) -> list[Weighed]:
    """The counts around each threshold."""
    known = hockey_sticks(pair, None, epsilons)
    return [_weighed(pair, *one, reach) for one in zip(epsilons, known, strict=True)]


def window(closeness: Closeness, most: int, apart: float = _APART) -> int:
    """How many counts a window has on each side, so that no answers mix up its ends."""
    mixed = np.flatnonzero(closeness(np.arange(1.0, most + 1)) > apart)
    return min(most, int(mixed[-1]) + 2) if mixed.size else 1


def _weighed(pair: Pair, epsilon: float, known: Certified, reach: int) -> Weighed:
    """The counts around one threshold."""
    low, high = pair.base.support
    excess = pair.excess(epsilon)
    factor = math.exp(min(epsilon, _OVERFLOW))
    threshold = min(max(excess.threshold, low), high + 1)
    first, last = max(low, int(threshold) - reach), min(high, int(threshold) + reach - 1)
    if pair.base.deviation == 0 or known.value == 0 or last < threshold:
        return Weighed(known, factor, np.zeros(0), np.zeros(0), 0.0)
    offsets = np.arange(first, last + 1.0)
    masses = pair.base.pmf(offsets)
    weights = masses * excess.at(offsets)
    place = int(threshold) - first
    error = pair.rounding * float(np.abs(weights).sum()) + excess.uncertainty(offsets, masses)
    above, below = np.maximum(weights[place:], 0.0), np.maximum(-weights[:place][::-1], 0.0)
    return Weighed(known, factor, above, below, error)


_ROUNDINGS = 10.0  # of each of the sums of at most as many terms as there are distances
_LARGEST = 600.0  # an exponent whose exponential does not overflow, nor its products


@frozen(eq=False, slots=False)
class _ThresholdSide:
    """X = Σ_i w_i·L(i)/L(0) over the places i >= 0 of one side of the threshold.

    With answers at distances d >= 0 on this side, each has the factor e^(s·(d − |i − d|)) in L(i)/L(0); on the other
    side it has e^(−s·i).
    """

    chances: Reals  # those of each distance of an answer that lies on this side
    neither: float  # x if no answer does
    either: Reals  # x if one does, for each distance
    rises: Reals  # σ w_i·e^(2·s·i) over i < d, for each distance
    sums: Reals  # σ w_i over i < d
    growths: Reals  # e^(2·s·d)

    @classmethod
    def of(cls, places: Reals, weights: Reals, slope: float, first: float) -> "_ThresholdSide":
        """A side with weights at rising places, and answers at a first distance, and on from it."""
        last = int(places[-1])
        ranks = np.arange(last + 1.0)
        distances = ranks + first
        chances = -math.expm1(-slope) * np.exp(-slope * ranks)
        chances[-1] = math.exp(-slope * last)
        reached = np.searchsorted(places, ranks, side="right")
        falls = np.exp(-2 * slope * np.maximum(0.0, places[:, None] - distances))
        rises = weights * _exponential(2 * slope * places)
        return cls(
            chances,
            float(weights @ np.exp(-2 * slope * places)),
            np.maximum.accumulate(weights @ falls),
            _up_to(rises, reached),
            _up_to(weights, reached),
            _exponential(2 * slope * distances),
        )

    def both(self, most: float) -> float:
        """E min(X, most) if both answers lie on this side.

        Where the nearer one lies at a distance, X grows with that of the other: up to a place.
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
        """E min(X, Z) if one answer lies on this side, and one on the side of Z."""
        ends = other.either.searchsorted(self.either)
        masses, moments = other.beyond
        return self.chances @ (moments[0] - moments[ends] + self.either * masses[ends])

    @cached_property
    def beyond(self) -> tuple[Reals, Reals]:
        """The chances of each distance and all farther ones, and these times X."""
        masses, moments = np.zeros((2, self.either.size + 1))
        masses[:-1] = np.cumsum(self.chances[::-1])[::-1]
        moments[:-1] = np.cumsum((self.chances * self.either)[::-1])[::-1]
        return masses, moments

    def one(self, most: float) -> float:
        """E min(X, most) if one answer lies on this side."""
        return float(self.chances @ np.minimum(self.either, most))


def hidden_by_two_answers(weighed: Weighed, slope: float, steps: int, *, is_centred: bool) -> tuple[float, float]:
    """Bounds of Σ_y min(Σ_{k >= t} v_k·L_y(k), Σ_{k < t} −v_k·L_y(k)) for two answers.

    They are apart by rounding: sums over pairs of distances are differences of sums over one.
    """
    above, below = weighed.above, weighed.below
    first = 1.0 if is_centred else 0.5
    upper = _ThresholdSide.of(steps * np.arange(float(above.size)), above, slope, first)
    lower = _ThresholdSide.of(steps * np.arange(1.0, below.size + 1), below, slope, first)
    beside = math.exp(-slope)
    beyond, middle = (beside / (1 + beside), math.tanh(slope / 2)) if is_centred else (0.5, 0.0)
    hidden = (
        beyond**2 * (upper.both(lower.neither) + lower.both(upper.neither))
        + 2 * beyond**2 * upper.one_each(lower)
        + 2 * beyond * middle * (upper.one(lower.neither) + lower.one(upper.neither))
        + middle**2 * min(upper.neither, lower.neither)
    )
    distances = max(upper.chances.size, lower.chances.size)
    error = _ROUNDINGS * distances**2 * 2.0**-53 * float(above.sum() + below.sum())
    return hidden - error, hidden + error


def _up_to(terms: Reals, reached: NDArray[np.intp]) -> Reals:
    """The sums of the first terms, for each number of them."""
    sums: Reals = np.concatenate([[0.0], np.cumsum(terms)])
    return sums[reached]


def _exponential(logs: Reals) -> Reals:
    """Their exponentials, none of which overflows."""
    return np.exp(np.minimum(logs, _LARGEST))


_UNIT = 2.0**-53
_PER_LEVEL = 16.0  # roundings of a transform for each doubling of its length


def hidden_by_count_pairs(
    weighed: Weighed, answers: int, slope: float, steps: int, *, is_centred: bool
) -> tuple[float, float]:
    """Bounds of Σ_y min(Σ_{k >= t} v_k·L_y(k), Σ_{k < t} −v_k·L_y(k)): the largest part, and all.

    As min(a + a*, b) is at least min(a, b) and at most min(a, b) + min(a*, b), it is at least min(v_k·L, −v_l·L*) for
    each two counts, and at most the sum over these. That of two counts is a mean over the sum of q independent parts of
    ln(L(k)/L(l)).
    """
    hidden = np.zeros((weighed.above.size, weighed.below.size))
    error = 0.0
    for distance in range(1, sum(hidden.shape)):
        ranks = np.arange(max(0, distance - weighed.below.size), min(distance, weighed.above.size))
        above, below = weighed.above[ranks], weighed.below[distance - 1 - ranks]
        part = _of_one(distance * steps, slope, is_centred=is_centred)
        law = _power(part, answers)
        most = slope * distance * steps * answers
        logs = np.minimum(_LARGEST, np.linspace(-most, most, law.size))
        least = np.minimum(np.multiply.outer(above, np.exp(logs)), below[:, None])
        hidden[ranks, distance - 1 - ranks] = least @ law
        roundings = answers * _PER_LEVEL * math.log2(2 * law.size) * math.sqrt(2 * law.size)
        error += _UNIT * roundings * float(below.sum())
    return max(0.0, float(hidden.max()) - error), float(hidden.sum()) + error


def _of_one(places: int, slope: float, *, is_centred: bool) -> Reals:
    """The law of ln(L(k)/L(l)) of one answer from −slope·places to slope·places, given l.

    It rises by two slopes where an answer lies on the next place between the counts, and by one from cell to cell next
    to a count.
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


def _power(part: Reals, answers: int) -> Reals:
    """The law of the sum of independent numbers with one law."""
    size = answers * (part.size - 1) + 1
    length = 1 << (size - 1).bit_length()
    law: Reals = np.fft.irfft(np.fft.rfft(part, length) ** answers, length)[:size]
    return np.maximum(law, 0.0)
