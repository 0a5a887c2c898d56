"""Sums over counts that make δ at one ε: plain ones, and those next to the largest loss."""

import math
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from noisycount.analysis.privacy.bounds import Certified, difference, log_sum
from noisycount.analysis.privacy.pairs import Excess, Pair
from noisycount.analysis.privacy.threshold import CLOSE
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import MeshPoints
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import CertifiedErrorLaw

_NEAR_LARGEST = 1 / 8  # of the largest loss, within which other sums cancel
_LARGEST_EXPONENT = 700.0  # exponents up to which nothing overflows
_ULPS = 4  # of a loss that a logarithm and a sum of two may be off
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]


@frozen(eq=False)
class LargestLoss:
    """λ = ln(M₊/M₋) with M = Σ P·e^(r·k), r = 1/scale of noise that is geometric on both sides.

    Beyond the last count the density of the answer is M·e^(−r·y) up to a constant, under both laws: the likelihood
    ratio stays at e^λ, which it nowhere exceeds. M₊ − M₋ is summed as Σ (P₊ − P₋)·(e^(r·k) − e^(r·k₀)), k₀ where
    P₊ − P₋ changes its sign: no term is negative.
    """

    loss: Fraction
    error: float  # how far it may be off; 0 where P₊ is P₋ moved up by one record, as then λ = r
    rate: float  # r
    log_mass: float  # the logarithm of M₋
    points: MeshPoints  # points that sum over Q
    minus: Reals  # P₋/Q at these

    @classmethod
    def of(cls, pair: Pair, errors: CertifiedErrorLaw, points: MeshPoints) -> Self | None:
        """The largest loss of a pair; None: under this noise there is none of this kind."""
        steepest = errors.steepest
        if not errors.is_geometric or steepest is None:
            return None
        rate, offsets = float(steepest), points.offsets
        minus = np.maximum(pair.ratio_minus(offsets), 0.0)
        tilts = points.log_weights + rate * offsets
        with np.errstate(divide="ignore"):
            log_mass = log_sum(tilts + np.log(minus))
        loss, error = steepest, 0.0
        if not pair.is_shift:
            loss, error = _loss_of_any(pair, points, rate, log_mass)
        return cls(loss, error, rate, log_mass, points, minus)

    def above(self, epsilon: float) -> float:
        """The difference λ − ε, without cancellation."""
        return float(self.loss - Fraction(epsilon))


def _loss_of_any(pair: Pair, points: MeshPoints, rate: float, log_mass: float) -> tuple[Fraction, float]:
    """λ, and how far it may be off."""
    offsets = points.offsets
    differences = pair.difference(offsets)
    start = float(offsets[min(int(differences.searchsorted(0.0)), offsets.size - 1)])
    logs = points.log_weights + rate * np.maximum(offsets, start) - log_mass
    highest = float(logs.max())
    if highest < _LARGEST_EXPONENT:
        highest = 0.0
    grown = np.exp(logs - highest) * -np.expm1(-rate * np.abs(offsets - start))
    gain = float(np.abs(differences) @ grown)
    uncertainty = 2 * pair.rounding * gain + pair.difference_uncertainty(offsets, grown)
    rest = math.exp(-highest)  # 1 on the scale of the sums
    loss = math.log1p(gain) if highest == 0 else highest + math.log(rest + gain)
    return Fraction(loss), uncertainty / (rest + gain) + _ULPS * math.ulp(loss)


@frozen(eq=False, slots=False)
class Mesh:
    """Points that sum over Q."""

    points: MeshPoints
    pair: Pair
    errors: CertifiedErrorLaw

    def largest_near(self, epsilon: float) -> LargestLoss | None:
        """The largest loss as the points give it, if that ε lies just below or above."""
        return self._largest if epsilon > self._near_from else None

    @cached_property
    def _near_from(self) -> float:
        """Seven eighths of the largest loss; inf where there is none."""
        steepest = self.errors.steepest
        if not self.pair.is_shift:
            steepest = None if self._largest is None else self._largest.loss
        return math.inf if steepest is None else (1 - _NEAR_LARGEST) * float(steepest)

    @cached_property
    def _largest(self) -> LargestLoss | None:
        """The largest loss; None: the noise is not geometric."""
        return LargestLoss.of(self.pair, self.errors, self.points)


@frozen(eq=False)
class BelowLargestLoss:
    """Sums of w at an ε just below λ, which hold e^λ − e^ε as a factor.

    For answers y >= k with the noise as one exponential, Σ Q·w·e^(r·(k − y)) = (e^λ − e^ε)·M₋·e^(−r·y); from that is
    taken what the noise lacks at counts above the answer.
    """

    largest: LargestLoss
    gap: float  # λ − ε; where it is not positive no answer has a ratio of e^ε
    epsilon: float
    excess: Excess
    is_discrete: bool  # whether the noise is an integer
    rounding: float  # the relative error of a term

    def at_most(self, excess: Excess) -> Self:
        """The sums if λ is as much larger as it may be, and w is another one."""
        exact = replace(self.largest, error=0.0)
        return replace(self, largest=exact, gap=self.gap + self.largest.error, excess=excess)

    @property
    def is_precise(self) -> bool:
        """Whether λ is known better than a sum of terms, so that the log-odds here are better."""
        return self.largest.error <= self.rounding

    @property
    def uncertainty(self) -> float:
        """How far the logarithm of e^λ − e^ε may be off."""
        return self.largest.error / -math.expm1(-self.gap) if self.largest.error else 0.0

    def log_odds(self, answer: float) -> float:
        """Ln of (e^λ − e^ε)·M₋·e^(−r·y) over 2·Σ_{k > y} Q·w·sinh(r·(k − y)); −inf from λ on."""
        if self.gap <= 0:
            return -math.inf
        exponents, above = self._exponents(answer)
        if not above.any():
            return math.inf
        points = self.largest.points
        values = self.excess.at(points.offsets[above])
        logs = points.log_weights[above] + exponents[above]
        highest = float(logs.max())
        lacks = float(values @ (np.exp(logs - highest) * -np.expm1(-2 * exponents[above])))
        return self._log_gain(answer) - highest - math.log(lacks) if lacks > 0 else math.inf

    def log_gain(self, answer: float) -> float:
        """The logarithm of what the answers from there on would gain without that lack."""
        return self._log_gain(answer) - math.log(self._whole)

    def beyond(self, answer: float) -> Certified:
        """P₊[Y >= y] − e^ε·P₋[Y >= y]; of no use from ε = λ on.

        (e^λ − e^ε)·M₋·e^(−r·y)/2 − Σ_{k > y} Q·w·(cosh(r·(k − y)) − 1) of continuous noise.
        """
        if self.gap <= 0:
            return Certified(0.0, math.inf)
        exponents, above = self._exponents(answer)
        points = self.largest.points
        logs = points.log_weights[above] + exponents[above]
        log_gain = self._log_gain(answer)
        if max(log_gain, float(logs.max(initial=-math.inf))) > _LARGEST_EXPONENT:
            return Certified(0.0, math.inf)
        gain, weights = math.exp(log_gain), np.exp(logs)
        lacks = weights * self._lacks(exponents[above])
        offsets = points.offsets[above]
        values = self.excess.at(offsets)
        uncertainty = self.excess.uncertainty(offsets, lacks)
        uncertainty += self.rounding * 2 * float(lacks @ np.maximum(-values, 0.0))
        uncertainty += gain * self.uncertainty
        losses = float(lacks @ values)
        whole = self._whole
        return difference(gain / whole, losses / whole, self.rounding, uncertainty / whole)

    def _lacks(self, exponents: Reals) -> Reals:
        """What the noise lacks at counts above the answer, as a share of the exponential there."""
        missing = -np.expm1(-exponents)
        if self.is_discrete:
            return missing * (1 - math.exp(-self.largest.rate) * np.exp(-exponents))
        return missing**2

    @property
    def _whole(self) -> float:
        """Over which the exponential is the tail of the noise."""
        return 1 + math.exp(-self.largest.rate) if self.is_discrete else 2.0

    def _log_gain(self, answer: float) -> float:
        """The logarithm of (e^λ − e^ε)·M₋·e^(−r·y)."""
        log_gap = self.epsilon + math.log(math.expm1(self.gap))
        return log_gap + self.largest.log_mass - self.largest.rate * answer

    def _exponents(self, answer: float) -> tuple[Reals, Flags]:
        """The exponent r·(k − y) at each point, and where it is positive."""
        exponents = (self.largest.points.offsets - answer) * self.largest.rate
        return exponents, exponents > 0


LARGEST_EPSILON = 640.0  # beyond which e^ε times a sum could overflow
_CANCELLED = 100.0  # as much less than its terms a sum may be before another one is tried
_LEFT_OUT = 60.0  # nepers below the sum at which a count is not reached by noise
_FLAT = 0.5  # nepers over which a density is taken to be flat
_MOST_CELLS = 4  # between counts that are tried before a general search
_SMALL = 1e-250  # smallest sum, and smallest quotient of two, that is not computed in logarithms
_UNDERFLOWS = 1e-290  # below which a factor has lost digits that e^ε would bring back
_LOST = 1e-305  # as much as thousands of masses that underflow, each below 1e-308


@frozen(eq=False, slots=False)
class Terms:
    """Sums Σ Q·w·f over counts, for answers about them with noise."""

    pair: Pair
    errors: CertifiedErrorLaw
    epsilon: float
    excess: Excess
    points: MeshPoints  # points that sum over Q, exact for noise that bends where they are fine
    around: float  # about the answer that is asked for
    margin: float  # how far from there it may lie, in records
    below: BelowLargestLoss | None  # the sums just below the largest loss, if ε lies there
    _near: slice = field(init=False, repr=False)
    _offsets: Reals = field(init=False, repr=False)
    _values: Reals = field(init=False, repr=False)
    _negative: int = field(init=False, repr=False)
    _flat_scale: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        near = self._reached()
        offsets, weights = self.points.offsets[near], self.points.weights[near]
        values = self.excess.at(offsets)
        products = weights * values
        is_nothing = not (values.size and (values[0] or values[-1]))  # they rise
        object.__setattr__(self, "_near", near)
        object.__setattr__(self, "_offsets", offsets)
        object.__setattr__(self, "_values", products)
        object.__setattr__(self, "_negative", values.size if is_nothing else int(values.searchsorted(0.0)))
        if not is_nothing and weights.min() < _UNDERFLOWS:
            lost, (logs, highest) = weights < _UNDERFLOWS, self._logs
            products[lost] = np.sign(values[lost]) * np.exp(logs[lost] + highest)
        flat_scale = self._scale_of_flat() if self._leader is None else 0
        object.__setattr__(self, "_flat_scale", flat_scale)

    @cached_property
    def _logs(self) -> tuple[Reals, float]:
        """The logarithms of the sizes of all terms Q·w, less the largest of them, and that one."""
        with np.errstate(divide="ignore"):
            logs = self.points.log_weights[self._near] + np.log(np.abs(self.excess.at(self._offsets)))
        highest = float(logs.max(initial=-math.inf))
        return (logs - highest if highest > -math.inf else logs), highest

    @property
    def _leader(self) -> BelowLargestLoss | None:
        """The sums next to the largest loss, where their log-odds are the best."""
        return self.below if self.below is not None and self.below.is_precise else None

    def _reached(self) -> slice:
        """The points that noise can bring to answers near `around`, but for e^−60 of the sums.

        w is largest at an end: far below the threshold it is about −e^ε.
        """
        logs, offsets = self.points.log_weights, self.points.offsets
        least = self.errors.reach(_LEFT_OUT) + self.margin
        if self.around - least <= offsets[0] and offsets[-1] < self.around + least:
            return slice(0, offsets.size)
        steepest = max(1.0, self.excess.largest_size(offsets))
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
        """Return ln(Σ Q·w·f over w > 0, divided by Σ Q·(−w)·f over w < 0), f the density of the answer at a count.

        Under noise that is flat over all counts, return the difference of both sums on their scale instead.
        """
        if self._leader is not None:
            return self._leader.log_odds(answer)
        if self._flat_scale:
            return self._relative_density(answer) / self._flat_scale
        if self._negative in (0, self._offsets.size):
            return -math.inf if self._negative else math.inf
        densities = self.errors.log_density(answer - self._offsets)
        terms = self._values * np.exp(densities)
        above = float(np.add.reduce(terms[self._negative :]))
        below = -float(np.add.reduce(terms[: self._negative]))
        if min(above, below) > _SMALL * max(above, below, 1.0):  # so that no term and no quotient underflows
            return math.log(above / below)
        logs = self._logs[0] + densities
        return log_sum(logs[self._negative :]) - log_sum(logs[: self._negative])

    def place_between_counts(self, answer: float) -> tuple[float, float]:
        """About where the log-odds pass 0 under continuous Laplace noise, and their slope there.

        Between two counts Σ Q·w·f is a·e^(−d/scale) + b·e^(d/scale), a distance d from an answer: the place is exact
        where no count lies between. nan where there is none.
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

    def missed(
        self, answer: float, log_odds: float, following: float, gains: float = math.nan, most: float = math.inf
    ) -> float:
        """How much more than those from an answer on the answers from the threshold on can gain.

        One answer lies below the threshold, one above it. Between them the log-odds are at least those of the first, at
        most 0: what is missed is at most e^(−log-odds) − 1 of what the positive terms gain from there on, which may be
        known. Where all that they gain bounds it by at most `most`, that bound is told.
        """
        if self._flat_scale:
            return -log_odds * self._flat_scale * self._most_between(answer, following)
        if log_odds >= -CLOSE and not self.slack:  # so little that all gains bound it well enough
            is_known = not math.isnan(gains) and self._leader is None
            missed = -2 * log_odds * (gains if is_known else self._gains(answer))
            if missed <= most:
                return missed
        gains = self._gains(answer)
        between = max(0.0, gains - self._gains(following))
        missed = math.expm1(min(-log_odds, LARGEST_EPSILON)) * between if between else 0.0
        return missed + self.slack * gains

    def _most_between(self, low: float, high: float) -> float:
        """The most noise, from the threshold of w, that can lie between two answers."""
        start, stop = low - self.excess.threshold, high - self.excess.threshold
        nearest = np.array(max(start, -stop, 0.0))
        highest = self.errors.peak * math.exp(float(self.errors.log_change(0.0, nearest)))
        beyond = float(self.errors.exceedance(np.array(start)))
        return min(beyond, highest * (stop - start)) if stop < math.inf else beyond

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
            logs = self._logs[0][lost] + self.errors.log_exceedance(errors[lost]) + self._logs[1]
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
