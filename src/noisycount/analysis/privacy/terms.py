"""The terms of δ at one ε: what each count adds to the excess of one law over another."""

import math
from dataclasses import field, replace

import numpy as np

from noisycount.analysis.privacy.bounds import Certified, difference, log_sum
from noisycount.analysis.privacy.largest_loss import BelowLargestLoss
from noisycount.analysis.privacy.pairs import Excess, Pair
from noisycount.analysis.privacy.threshold import CLOSE
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.grids import MeshPoints
from noisycount.model.noises.errors import CertifiedErrorLaw

__all__ = ["LARGEST_EPSILON", "Terms", "complement"]


LARGEST_EPSILON = 640.0  # beyond which e^ε times a sum could overflow


_CANCELLED = 100.0  # as much less than its terms a sum may be before another one is tried


_LEFT_OUT = 60.0  # nepers below the sum at which a count is not reached by noise


_FLAT = 0.5  # nepers over which a density is taken to be flat


_MOST_CELLS = 4  # between counts that are tried before a general search


_SMALL = 1e-250  # below which sums are added in logarithms


_UNDERFLOWS = 1e-290  # below which a factor has lost digits that e^ε would bring back


_TWICE = 2.0  # rounding of a weight, and of its ratio to it; of the tails on both sides


_FEW = 2.0**-50  # 8 roundings: of e^ε, of 1 less a tail, of products and sums


_NEXT_TO_1 = 2.0**-52  # what a float next to 1 can be off, and far more than underflows


_LOST = 1e-305  # as much as thousands of masses that underflow, each below 1e-308


def complement(
    pair: Pair, points: MeshPoints, epsilon: float, missed: Reals, chances: Reals
) -> Certified:
    """P₊[no] + e^ε·P₋[yes] for an event: no term is negative.

    A chance next to 1 is 1 less a tail, which alone can be off by more than a rounding.

    Args:
        pair: The two laws.
        points: Points that sum over Q.
        epsilon: ε, at most 640.
        missed: How likely the event is not to happen at each point.
        chances: How likely it is to happen there.
    """
    plus, minus = pair.masses(points)
    grown = math.exp(epsilon) * minus
    found = math.fsum([*(plus * missed).tolist(), *(grown * chances).tolist()])
    tails = Certified.probability(float((plus + grown) @ (missed * chances)), 0.0)
    error = _TWICE * (pair.rounding * tails.value + tails.error)
    if pair.precision is None:
        return Certified(found, error + _TWICE * pair.rounding * found + _NEXT_TO_1)
    return Certified(found, error + (pair.precision + _FEW) * found)


@frozen(eq=False)
class Terms:
    """Sums Σ Q·w·f over counts, for answers about them with noise.

    Attributes:
        pair: The two laws.
        errors: The law of the noise.
        epsilon: ε.
        excess: w of that ε.
        points: Points that sum over Q, exact for noise that bends where they are fine.
        around: About the answer that is asked for.
        margin: How far from there it may lie, in records.
        below: The sums just below the largest loss, if ε lies there.
        _leader: These, where their log-odds are the best.
    """

    pair: Pair
    errors: CertifiedErrorLaw
    epsilon: float
    excess: Excess
    points: MeshPoints
    around: float
    margin: float
    below: BelowLargestLoss | None
    _leader: BelowLargestLoss | None = field(init=False, repr=False)
    _near: slice = field(init=False, repr=False)
    _offsets: Reals = field(init=False, repr=False)
    _values: Reals = field(init=False, repr=False)
    _logs: Reals = field(init=False, repr=False)
    _highest: float = field(init=False, repr=False)
    _negative: int = field(init=False, repr=False)
    _flat_scale: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        below = self.below
        is_best = below is not None and below.is_precise
        object.__setattr__(self, "_leader", below if is_best else None)
        near = self._reached()
        offsets = self.points.offsets[near]
        values = self.excess.at(offsets)
        with np.errstate(divide="ignore"):
            logs = self.points.log_weights[near] + np.log(np.abs(values))
        highest = float(logs.max(initial=-math.inf))
        if highest > -math.inf:
            logs -= highest
        weights = self.points.weights[near]
        products = weights * values
        lost = weights < _UNDERFLOWS
        if lost.any() and highest > -math.inf:
            products[lost] = np.sign(values[lost]) * np.exp(logs[lost] + highest)
        object.__setattr__(self, "_near", near)
        object.__setattr__(self, "_offsets", offsets)
        object.__setattr__(self, "_values", products)
        object.__setattr__(self, "_logs", logs)
        object.__setattr__(self, "_highest", highest)
        negative = int(values.searchsorted(0.0)) if highest > -math.inf else logs.size
        object.__setattr__(self, "_negative", negative)
        object.__setattr__(
            self, "_flat_scale", self._scale_of_flat() if self._leader is None else 0
        )

    def _reached(self) -> slice:
        """The points that noise can bring to answers near `around`, but for e^−60 of the sums.

        w is largest at an end: far below the threshold it is about −e^ε.
        """
        logs, offsets = self.points.log_weights, self.points.offsets
        least = self.errors.reach(_LEFT_OUT) + self.margin
        if self.around - least <= offsets[0] and offsets[-1] < self.around + least:
            return slice(0, offsets.size)
        steepest = float(np.abs(self.excess.at(offsets[[0, -1]])).max(initial=1.0))
        depth = _LEFT_OUT + math.log(steepest)
        nearest = min(int(offsets.searchsorted(self.around)), logs.size - 1)
        distance = np.array(offsets[nearest] - self.around)
        here = float(logs[nearest] + self.errors.log_change(0.0, distance))
        reach = self.errors.reach(depth + self.points.highest_log_weight - here) + self.margin
        start = offsets.searchsorted(self.around - reach)
        return slice(int(start), int(offsets.searchsorted(self.around + reach)))

    def at_most(self) -> "Terms":
        """The terms if w and the largest loss are as large as they may be."""
        below, excess = self.below, self.excess.at_most()
        if below is not None:
            below = below.at_most(excess)
        return replace(self, excess=excess, below=below)

    @property
    def is_summed_plainly(self) -> bool:
        """Whether the log-odds are those of the sums themselves."""
        return self._leader is None and not self._flat_scale

    @property
    def slack(self) -> float:
        """How far the log-odds may be off, beyond rounding of their terms."""
        return self._leader.uncertainty if self._leader is not None else 0.0

    @property
    def reaches_all(self) -> bool:
        """Whether noise can bring every point there."""
        return self._near == slice(0, self.points.offsets.size)

    def _scale_of_flat(self) -> float:
        """The size of the sums under noise that hardly tells one count from another; else 0."""
        if not self.reaches_all:
            return 0.0
        low, high = self.around - self._offsets[[-1, 0]]
        ends = np.array([low, high, min(max(0.0, low), high)])  # the peak lies between, or beyond
        densities = self.errors.log_density(ends)
        if float(densities.max() - densities.min()) >= _FLAT:
            return 0.0
        width = float(self._offsets[-1] - self._offsets[0])
        return float(np.abs(self._values).max()) * min(1.0, width / self.errors.spread)

    def log_odds(self, answer: float) -> float:
        """The logarithm of Σ Q·w·f over w > 0, over that of −w over w < 0, f the density there.

        Under noise that is flat over all counts it is their difference on the scale of the sums.
        """
        if self._leader is not None:
            return self._leader.log_odds(answer)
        if self._flat_scale:
            return self._relative_density(answer) / self._flat_scale
        logs = self._logs + self.errors.log_density(answer - self._offsets)
        if self._negative in (0, logs.size):
            return -math.inf if self._negative else math.inf
        weights = np.exp(logs)
        above = float(np.add.reduce(weights[self._negative :]))
        below = float(np.add.reduce(weights[: self._negative]))
        if min(above, below) > _SMALL:
            return math.log(above / below)
        return log_sum(logs[self._negative :]) - log_sum(logs[: self._negative])

    def place_between_counts(self, answer: float) -> tuple[float, float]:
        """About where the log-odds pass 0 under continuous Laplace noise, and their slope there.

        Between two counts Σ Q·w·f is a·e^(−d/scale) + b·e^(d/scale), a distance d from an answer:
        the place is exact where no count lies between. nan where there is none.
        """
        offsets, scale = self._offsets, self.errors.spread
        place, slope = answer, math.nan
        count = int(offsets.searchsorted(answer))
        for _ in range(_MOST_CELLS):
            terms = self._values * np.exp(self.errors.log_density(place - offsets))
            left, right = float(terms[:count].sum()), float(terms[count:].sum())
            if not left < 0 < right:
                return math.nan, math.nan
            losses = -float(terms[: self._negative].sum())
            slope = 2 * math.sqrt(-left) * math.sqrt(right) / scale / losses
            if not 0 < slope < math.inf:
                return math.nan, math.nan
            place += (math.log(-left) - math.log(right)) * scale / 2 - CLOSE / 2 / slope
            before, count = count, int(offsets.searchsorted(place))
            if count == before:
                break
        return place, slope

    def _relative_density(self, answer: float) -> float:
        """Σ Q·w·(f/f* − 1) − (e^ε − 1), f* the density at the threshold k* of w.

        That is Σ Q·w·f/f*, without cancellation.
        """
        threshold = self.excess.threshold
        changes = self.errors.log_change(answer - threshold, self._offsets - threshold)
        gains = float(self._values @ np.expm1(changes))
        return gains - math.expm1(min(self.epsilon, LARGEST_EPSILON))

    def beyond(self, answer: float) -> Certified:
        """P₊[Y >= answer] − e^ε·P₋[Y >= answer], from the sum that cancels least."""
        return self.beyond_with_gains(answer)[0]

    def beyond_with_gains(self, answer: float) -> tuple[Certified, float]:
        """The same, and what its positive terms gain."""
        best, gains = self._plain(answer)
        others = [self._from_threshold, *([] if self.below is None else [self.below.beyond])]
        for other in others:
            if best.error > _CANCELLED * self._rounding * best.value:
                best = min(best, other(answer), key=lambda one: one.error)
        return best, gains

    def complement(self, answer: float) -> Certified:
        """P₊[Y < answer] + e^ε·P₋[Y >= answer], which is 1 less δ: no term is negative."""
        if self.epsilon > LARGEST_EPSILON:
            return Certified(0.0, math.inf)
        errors = answer - self.points.offsets
        missed = self.errors.exceedance(self.errors.first - errors)
        chances = self.errors.exceedance(errors)
        return complement(self.pair, self.points, self.epsilon, missed, chances)

    def missed(
        self, answer: float, log_odds: float, following: float, gains: float = math.nan
    ) -> float:
        """How much more than those from an answer on the answers from the threshold on can gain.

        Between the two the log-odds are at least those of the answer, so that what is missed is at
        most e^(−log-odds) − 1 of what the positive terms gain there.

        Args:
            answer: One below the threshold.
            log_odds: The log-odds there, at most 0.
            following: An answer above the threshold.
            gains: What the positive terms gain from the answer on, if that is known.
        """
        if self._flat_scale:
            return -log_odds * self._flat_scale * self._most_between(answer, following)
        if log_odds >= -CLOSE and not self.slack:  # so little that all gains bound it well enough
            is_known = not math.isnan(gains) and self._leader is None
            return -2 * log_odds * (gains if is_known else self._gains(answer))
        gains = self._gains(answer)
        between = max(0.0, gains - self._gains(following))
        missed = math.expm1(min(-log_odds, LARGEST_EPSILON)) * between if between else 0.0
        return missed + self.slack * gains

    def _most_between(self, low: float, high: float) -> float:
        """The most noise, from the threshold of w, that can lie between two answers."""
        start, stop = low - self.excess.threshold, high - self.excess.threshold
        nearest = np.array(max(start, -stop, 0.0))
        highest = self.errors.peak * math.exp(float(self.errors.log_change(0.0, nearest)))
        return min(highest * (stop - start), float(self.errors.exceedance(np.array(start))))

    def _gains(self, answer: float) -> float:
        """What the positive terms gain from an answer on."""
        if math.isinf(answer):
            return 0.0
        if self._leader is not None:
            return math.exp(min(self._leader.log_gain(answer), LARGEST_EPSILON))
        chances = self.errors.exceedance(answer - self._offsets[self._negative :])
        gains = float(self._values[self._negative :] @ chances)
        certain = slice(self._near.stop, None)
        values = np.maximum(self.excess.at(self.points.offsets[certain]), 0.0)
        return gains + float(self.points.weights[certain] @ values)

    def _plain(self, answer: float) -> tuple[Certified, float]:
        """Σ Q·w·S(answer − k), and its positive terms."""
        errors = answer - self._offsets
        chances = self.errors.exceedance(errors)
        products = self._values * chances
        lost = chances < _UNDERFLOWS
        if lost.any():
            logs = self._logs[lost] + self.errors.log_exceedance(errors[lost]) + self._highest
            products[lost] = np.sign(self._values[lost]) * np.exp(logs)
        gains = np.add.reduce(products[self._negative :])
        losses = np.add.reduce(products[: self._negative])
        reached = self.points.weights[self._near] * chances
        uncertainty = self.excess.uncertainty(self._offsets, reached)
        if self._near.stop < self.points.offsets.size:  # what is beyond is certain to be exceeded
            certain = slice(self._near.stop, None)
            offsets, weights = self.points.offsets[certain], self.points.weights[certain]
            values = self.excess.at(offsets)
            negative = int(values.searchsorted(0.0))
            gains += weights[negative:] @ values[negative:]
            losses += weights[:negative] @ values[:negative]
            uncertainty += self.excess.uncertainty(offsets, weights)
        return self._difference(float(gains), -float(losses), uncertainty), float(gains)

    def _from_threshold(self, answer: float) -> Certified:
        """Σ Q·w·(S(answer − k) − S(answer − k*)) − (e^ε − 1)·S(answer − k*), k* the threshold of w.

        No term of the sum is negative.
        """
        if self.epsilon > LARGEST_EPSILON:
            return Certified(0.0, math.inf)
        at_threshold = np.array(answer - self.excess.threshold)
        errors = answer - self.points.offsets
        values = self.points.weights * self.excess.at(self.points.offsets)
        distances = self.points.offsets - self.excess.threshold
        negative = distances < 0
        low = np.where(negative, at_threshold, errors)
        between = self.errors.between(low, np.abs(distances))
        terms = np.where(negative, -values, values) * between
        uncertain = np.abs(values) * self.errors.uncertainty(low, np.abs(distances))
        uncertainty = float(uncertain.sum())
        uncertainty += _LOST * float(np.abs(values[between < _UNDERFLOWS]).sum())
        uncertainty += self.excess.uncertainty(self.points.offsets, self.points.weights * between)
        chance = float(self.errors.exceedance(at_threshold))
        losses = math.expm1(self.epsilon) * chance
        if chance < _UNDERFLOWS:
            losses = math.exp(self.epsilon + float(self.errors.log_exceedance(at_threshold)))
        return self._difference(float(terms.sum()), losses, uncertainty)

    def _difference(self, gains: float, losses: float, uncertainty: float = 0.0) -> Certified:
        """Gains less losses, each a sum of terms that are not negative."""
        return difference(gains, losses, self._rounding, uncertainty)

    @property
    def _rounding(self) -> float:
        """The relative error of a term."""
        return self.pair.rounding + self.errors.rounding
