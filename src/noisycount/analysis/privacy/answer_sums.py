"""Sums over counts that give the log-odds of an answer and δ at one ε.

`Terms` sums directly over the points of a `Mesh`. `LargestLoss` and `ExcessSumsNearLargestLoss` replace these sums for
geometric noise where ε is so close to the largest privacy loss that direct sums would cancel.
"""

import math
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.privacy.bounds import CertifiedNumber, difference, log_sum
from noisycount.analysis.privacy.pairs import Excess, Pair
from noisycount.analysis.privacy.threshold import CLOSE
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import MeshPoints
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import CertifiedErrorLaw

_NEAR_LARGEST = 1 / 8  # share of the largest loss: within this distance of it, direct sums cancel
_LARGEST_EXPONENT = 700.0  # largest exponent used, whose exponential does not overflow
_ULPS = 4  # error of a loss by a logarithm and a sum of two terms, in units in the last place
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]


@frozen(eq=False)
class LargestLoss:
    """The largest privacy loss λ = ln(M₊/M₋) under noise that is geometric on both sides.

    M₊ and M₋ are the sums Σ P·e^(r·k) over counts k for P₊ and P₋, with r = 1/scale. Beyond the last count the density
    of the answer y is M·e^(−r·y), up to a constant, under both distributions. The likelihood ratio there is e^λ, its
    largest value.

    M₊ − M₋ is summed as Σ (P₊ − P₋)·(e^(r·k) − e^(r·k₀)), where k₀ is the count at which P₊ − P₋ changes its sign. No
    term of this sum is negative.
    """

    loss: Fraction
    error: float  # absolute error of λ; 0 if P₊ is P₋ shifted up by one record, as then λ = r
    rate: float  # r
    log_mass: float  # ln M₋
    points: MeshPoints  # quadrature points of Q
    minus: Reals  # P₋/Q at the points

    @classmethod
    def from_pair(cls, pair: Pair, errors: CertifiedErrorLaw, points: MeshPoints) -> Self | None:
        """Return the largest loss of a pair, or None if the noise is not geometric."""
        steepest = errors.largest_log_change
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
        """Return the largest loss less ε, without cancellation."""
        return float(self.loss - Fraction(epsilon))


def _loss_of_any(pair: Pair, points: MeshPoints, rate: float, log_mass: float) -> tuple[Fraction, float]:
    """Return the largest loss and its absolute error for a pair that is not a shift by one record."""
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
    rest = math.exp(-highest)  # 1, on the scale of the sums
    loss = math.log1p(gain) if highest == 0 else highest + math.log(rest + gain)
    return Fraction(loss), uncertainty / (rest + gain) + _ULPS * math.ulp(loss)


@frozen(eq=False, slots=False)
class Mesh:
    """Quadrature points for sums over counts with the base distribution Q of a pair, and the pair and the noise."""

    points: MeshPoints
    pair: Pair
    errors: CertifiedErrorLaw

    @cached_property
    def sums_from_last(self) -> tuple[NDArray[np.longdouble], NDArray[np.longdouble]]:
        """Sums over the points from each point on: of the base Q, and of Q·(d − d*) with the offset d* of that point.

        The last element, after the last point, is 0.
        """
        offsets, weights = self.points.offsets, self.points.weights.astype(np.longdouble)
        masses = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
        moments = np.append(np.cumsum((np.diff(offsets) * masses[1:-1])[::-1])[::-1], [0.0, 0.0])
        return masses, moments

    def largest_loss_near(self, epsilon: float) -> LargestLoss | None:
        """Return the largest loss if ε is above 7/8 of it; otherwise None."""
        return self._largest_loss if epsilon > self._near_from else None

    @cached_property
    def _near_from(self) -> float:
        """Seven eighths of the largest loss; inf if there is no largest loss."""
        steepest = self.errors.largest_log_change
        if not self.pair.is_shift:
            steepest = None if self._largest_loss is None else self._largest_loss.loss
        return math.inf if steepest is None else (1 - _NEAR_LARGEST) * float(steepest)

    @cached_property
    def _largest_loss(self) -> LargestLoss | None:
        """Largest loss of the pair; None if the noise is not geometric."""
        return LargestLoss.from_pair(self.pair, self.errors, self.points)


@frozen(eq=False)
class ExcessSumsNearLargestLoss:
    """Sums of the excess w = (P₊ − e^ε·P₋)/Q over counts, at an ε just below the largest loss λ.

    The factor e^λ − e^ε is taken out, so that the sums do not cancel. `LargestLoss` defines Q, r, M₋ and λ. If the
    noise were one exponential for all counts k, then Σ Q·w·e^(r·(k − y)) = (e^λ − e^ε)·M₋·e^(−r·y) for an answer y. At
    counts above y the noise is smaller than that exponential; the sums subtract the deficit there.
    """

    largest: LargestLoss
    gap: float  # λ − ε; if it is not positive, no answer has a likelihood ratio above e^ε
    epsilon: float
    excess: Excess
    is_discrete: bool  # True if the noise is an integer
    rounding: float  # relative error of a term

    def upper_bound(self, excess: Excess) -> Self:
        """Return the sums with the largest loss that its error allows, and with another excess."""
        exact = replace(self.largest, error=0.0)
        return replace(self, largest=exact, gap=self.gap + self.largest.error, excess=excess)

    @property
    def is_precise(self) -> bool:
        """True if the largest loss is more precise than a sum of terms: then the log-odds of this class are better."""
        return self.largest.error <= self.rounding

    @property
    def uncertainty(self) -> float:
        """Absolute error of ln(e^λ − e^ε), λ the largest loss."""
        return self.largest.error / -math.expm1(-self.gap) if self.largest.error else 0.0

    def log_odds(self, answer: float) -> float:
        """Return ln of (e^λ − e^ε)·M₋·e^(−r·y) over 2·Σ_{k > y} Q·w·sinh(r·(k − y)); −inf for ε >= λ."""
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
        """Return the logarithm of P₊[Y >= y] − e^ε·P₋[Y >= y], without the deficit."""
        return self._log_gain(answer) - math.log(self._tail_divisor)

    def tail_gain(self, answer: float) -> CertifiedNumber:
        """Return P₊[Y >= y] − e^ε·P₋[Y >= y] for an answer y; the class and `LargestLoss` define the other symbols.

        For continuous noise it is (e^λ − e^ε)·M₋·e^(−r·y)/2 − Σ_{k > y} Q·w·(cosh(r·(k − y)) − 1). If ε >= λ or a term
        would overflow, this formula does not apply, and the result has an infinite error.
        """
        if self.gap <= 0:
            return CertifiedNumber(0.0, math.inf)
        exponents, above = self._exponents(answer)
        points = self.largest.points
        logs = points.log_weights[above] + exponents[above]
        log_gain = self._log_gain(answer)
        if max(log_gain, float(logs.max(initial=-math.inf))) > _LARGEST_EXPONENT:
            return CertifiedNumber(0.0, math.inf)
        gain, weights = math.exp(log_gain), np.exp(logs)
        lacks = weights * self._noise_deficit(exponents[above])
        offsets = points.offsets[above]
        values = self.excess.at(offsets)
        uncertainty = self.excess.uncertainty(offsets, lacks)
        uncertainty += self.rounding * 2 * float(lacks @ np.maximum(-values, 0.0))
        uncertainty += gain * self.uncertainty
        losses, whole = float(lacks @ values), self._tail_divisor
        return difference(gain / whole, losses / whole, self.rounding, uncertainty / whole)

    def _noise_deficit(self, exponents: Reals) -> Reals:
        """Return the deficit of the noise at counts above the answer, as a share of the exponential there."""
        missing = -np.expm1(-exponents)
        if self.is_discrete:
            return missing * (1 - math.exp(-self.largest.rate) * np.exp(-exponents))
        return missing**2

    @property
    def _tail_divisor(self) -> float:
        """Divisor that turns the exponential into the tail probability of the noise."""
        return 1 + math.exp(-self.largest.rate) if self.is_discrete else 2.0

    def _log_gain(self, answer: float) -> float:
        """Return the logarithm of (e^λ − e^ε)·M₋·e^(−r·y) at an answer y, in the notation of the class."""
        log_gap = self.epsilon + math.log(math.expm1(self.gap))
        return log_gap + self.largest.log_mass - self.largest.rate * answer

    def _exponents(self, answer: float) -> tuple[Reals, Flags]:
        """Return (k − y)/scale at each point k for an answer y, and a mask of the positive ones."""
        exponents = (self.largest.points.offsets - answer) * self.largest.rate
        return exponents, exponents > 0


LARGEST_EPSILON = 640.0  # largest ε for which e^ε times a sum cannot overflow
_CANCELLED = 100.0  # ratio of the error of a sum to its rounding, above which another formula is tried
LEFT_OUT = 60.0  # nats below the sum at which the noise does not reach a count
_FLAT = 0.5  # nats: a density that varies by less is treated as flat
_MOST_CELLS = 4  # intervals between counts that are tried before a general search
_SMALL = 1e-250  # smallest sum, and smallest ratio of two sums, that is not computed in logarithms
_UNDERFLOWS = 1e-290  # a smaller factor has lost digits that e^ε would restore
_LOST = 1e-305  # a bound of thousands of masses that underflow, each below 1e-308


@frozen(eq=False, slots=False)
class Terms:
    """Sums Σ Q·w·f over counts, f the density or the tail of the noise, w the excess over a base Q of a pair."""

    pair: Pair
    errors: CertifiedErrorLaw
    epsilon: float
    excess: Excess
    points: MeshPoints  # quadrature points of Q, exact for noise with a kink where the points are fine
    approximate_answer: float  # answer near which the sums are needed
    margin: float  # largest distance of the answer from `approximate_answer`, in records
    below: ExcessSumsNearLargestLoss | None  # the sums just below the largest loss, if ε lies there
    _near: slice = field(init=False, repr=False)
    _offsets: Reals = field(init=False, repr=False)
    _values: Reals = field(init=False, repr=False)
    _negative: int = field(init=False, repr=False)
    _flat_scale: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        near = self._relevant_points()
        offsets, weights = self.points.offsets[near], self.points.weights[near]
        values = self.excess.at(offsets)
        products = weights * values
        is_nothing = not (values.size and (values[0] or values[-1]))  # w rises with the count
        object.__setattr__(self, "_near", near)
        object.__setattr__(self, "_offsets", offsets)
        object.__setattr__(self, "_values", products)
        object.__setattr__(self, "_negative", values.size if is_nothing else int(values.searchsorted(0.0)))
        if not is_nothing and weights.min() < _UNDERFLOWS:
            lost, (logs, highest) = weights < _UNDERFLOWS, self._log_terms
            products[lost] = np.sign(values[lost]) * np.exp(logs[lost] + highest)
        flat_scale = self._scale_of_flat() if self._sums_at_largest_loss is None else 0
        object.__setattr__(self, "_flat_scale", flat_scale)

    @cached_property
    def _log_terms(self) -> tuple[Reals, float]:
        """Logarithms of the terms |Q·w| less the largest of them, and the largest logarithm itself."""
        with np.errstate(divide="ignore"):
            logs = self.points.log_weights[self._near] + np.log(np.abs(self.excess.at(self._offsets)))
        highest = float(logs.max(initial=-math.inf))
        return (logs - highest if highest > -math.inf else logs), highest

    @property
    def _sums_at_largest_loss(self) -> ExcessSumsNearLargestLoss | None:
        """Sums next to the largest loss; None if the log-odds from other sums are more precise."""
        return self.below if self.below is not None and self.below.is_precise else None

    def _relevant_points(self) -> slice:
        """Return the slice of points whose terms matter for answers near `approximate_answer`.

        The terms of the other points are below e^−60 of the sums.
        |w| is largest at one end of the points: far below the threshold it is about e^ε.
        """
        logs, offsets = self.points.log_weights, self.points.offsets
        least = self.errors.distance_at_depth(LEFT_OUT) + self.margin
        if self.approximate_answer - least <= offsets[0] and offsets[-1] < self.approximate_answer + least:
            return slice(0, offsets.size)
        steepest = max(1.0, self.excess.largest_magnitude(offsets))
        depth = LEFT_OUT + math.log(steepest)
        nearest = min(int(offsets.searchsorted(self.approximate_answer)), logs.size - 1)
        distance = np.array(offsets[nearest] - self.approximate_answer)
        here = float(logs[nearest] + self.errors.log_change(0.0, distance))
        reach = self.errors.distance_at_depth(depth + self.points.highest_log_weight - here) + self.margin
        start = offsets.searchsorted(self.approximate_answer - reach)
        return slice(int(start), int(offsets.searchsorted(self.approximate_answer + reach)))

    def upper_bound(self) -> "Terms":
        """Return these terms with the largest excess and the largest loss that their errors allow."""
        below, excess = self.below, self.excess.upper_bound()
        if below is not None:
            below = below.upper_bound(excess)
        return replace(self, excess=excess, below=below)

    @property
    def is_summed_plainly(self) -> bool:
        """True if the log-odds are computed directly from the sums of the terms."""
        return self._sums_at_largest_loss is None and not self._flat_scale

    @property
    def slack(self) -> float:
        """Error of the log-odds, beyond rounding of their terms."""
        return self._sums_at_largest_loss.uncertainty if self._sums_at_largest_loss is not None else 0.0

    @property
    def reaches_all(self) -> bool:
        """True if the noise can carry every point to the answers near `approximate_answer`."""
        return self._near == slice(0, self.points.offsets.size)

    def _scale_of_flat(self) -> float:
        """Return the scale of the sums if the noise density is nearly flat over all counts; otherwise 0."""
        if not self.reaches_all:
            return 0.0
        low, high = self.approximate_answer - self._offsets[[-1, 0]]
        ends = np.array([low, high, min(max(0.0, low), high)])  # the peak lies between, or beyond
        densities = self.errors.log_density(ends)
        if float(densities.max() - densities.min()) >= _FLAT:
            return 0.0
        width = float(self._offsets[-1] - self._offsets[0])
        return float(np.abs(self._values).max()) * min(1.0, width / self.errors.spread)

    def log_odds(self, answer: float) -> float:
        """Return ln(Σ Q·w·f over w > 0, divided by Σ Q·(−w)·f over w < 0), f the density of the answer at a count.

        If the noise is flat over all counts, return the difference of the two sums on their scale instead.
        """
        if self._sums_at_largest_loss is not None:
            return self._sums_at_largest_loss.log_odds(answer)
        if self._flat_scale:
            return self._relative_density(answer) / self._flat_scale
        if self._negative in (0, self._offsets.size):
            return -math.inf if self._negative else math.inf
        densities = self.errors.log_density(answer - self._offsets)
        terms = self._values * np.exp(densities)
        above = float(np.add.reduce(terms[self._negative :]))
        below = -float(np.add.reduce(terms[: self._negative]))
        if min(above, below) > _SMALL * max(above, below, 1.0):  # no term underflows, nor does the quotient
            return math.log(above / below)
        logs = self._log_terms[0] + densities
        return log_sum(logs[self._negative :]) - log_sum(logs[: self._negative])

    def root_between_counts(self, answer: float) -> tuple[float, float]:
        """Return approximately the answer at which the log-odds are 0 under continuous Laplace noise, and their slope.

        Between two counts, Σ Q·w·f is a·e^(−d/scale) + b·e^(d/scale) at a distance d from an answer. Within one
        interval between counts the root is exact. The result is (nan, nan) if no root is found.
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
        """Return Σ Q·w·(f/f* − 1) − (e^ε − 1), with f* the density at the threshold k* of w.

        This equals Σ Q·w·f/f*, without cancellation.
        """
        threshold = self.excess.threshold
        changes = self.errors.log_change(answer - threshold, self._offsets - threshold)
        gains = float(self._values @ np.expm1(changes))
        return gains - math.expm1(min(self.epsilon, LARGEST_EPSILON))

    def tail_gain(self, answer: float) -> CertifiedNumber:
        """Return P₊[Y >= answer] − e^ε·P₋[Y >= answer], from the formula with the smallest error."""
        return self.tail_gain_and_gains(answer)[0]

    def tail_gain_and_gains(self, answer: float) -> tuple[CertifiedNumber, float]:
        """Return P₊[Y >= answer] − e^ε·P₋[Y >= answer], and the sum of the positive terms of `_direct_sum`."""
        best, gains = self._direct_sum(answer)
        others = [self._sum_from_threshold, *([] if self.below is None else [self.below.tail_gain])]
        for other in others:
            if best.error > _CANCELLED * self._term_rounding * best.value:
                best = min(best, other(answer), key=lambda one: one.error)
        return best, gains

    def missed_gain(
        self, answer: float, log_odds: float, following: float, gains: float = math.nan, most: float = math.inf
    ) -> float:
        """Return a bound of the gain that is lost if the set of answers begins at `answer`, not at the threshold.

        The threshold lies between `answer` and `following`. From `answer` up to it the log-odds are at least `log_odds`
        and at most 0. The missed gain is at most e^(−log_odds) − 1 times the sum of the positive terms between the two
        answers.

        Args:
            answer: An answer at or below the threshold.
            log_odds: Log-odds at `answer`, or a lower bound of them.
            following: An answer at or above the threshold.
            gains: Sum of the positive terms from `answer` on; nan if it is not computed yet.
            most: A rougher bound, from the gains of all answers from `answer` on, is returned if it is at most this.
        """
        if self._flat_scale:
            return -log_odds * self._flat_scale * self._largest_noise_probability(answer, following)
        if log_odds >= -CLOSE and not self.slack:  # so close to 0 that the gains from `answer` on are a good bound
            is_known = not math.isnan(gains) and self._sums_at_largest_loss is None
            missed_gain = -2 * log_odds * (gains if is_known else self._positive_sum(answer))
            if missed_gain <= most:
                return missed_gain
        gains = self._positive_sum(answer)
        between = max(0.0, gains - self._positive_sum(following))
        missed_gain = math.expm1(min(-log_odds, LARGEST_EPSILON)) * between if between else 0.0
        return missed_gain + self.slack * gains

    def _largest_noise_probability(self, low: float, high: float) -> float:
        """Return a bound of P[threshold of the excess plus noise lies between two answers]."""
        start, stop = low - self.excess.threshold, high - self.excess.threshold
        nearest = np.array(max(start, -stop, 0.0))
        highest = self.errors.peak * math.exp(float(self.errors.log_change(0.0, nearest)))
        beyond = float(self.errors.exceedance(np.array(start)))
        return min(beyond, highest * (stop - start)) if stop < math.inf else beyond

    def _positive_sum(self, answer: float) -> float:
        """Return the sum of the positive terms Q·w·S(answer − k), with S the tail probability of the noise."""
        if math.isinf(answer):
            return 0.0
        if self._sums_at_largest_loss is not None:
            return math.exp(min(self._sums_at_largest_loss.log_gain(answer), LARGEST_EPSILON))
        chances = self.errors.exceedance(answer - self._offsets[self._negative :])
        gains = float(self._values[self._negative :] @ chances)
        certain = slice(self._near.stop, None)
        values = np.maximum(self.excess.at(self.points.offsets[certain]), 0.0)
        return gains + float(self.points.weights[certain] @ values)

    def _direct_sum(self, answer: float) -> tuple[CertifiedNumber, float]:
        """Return Σ Q·w·S(answer − k) summed directly, and the sum of its positive terms; S is the tail of the noise."""
        errors = answer - self._offsets
        chances = self.errors.exceedance(errors)
        products = self._values * chances
        lost = chances < _UNDERFLOWS
        if lost.any():
            logs = self._log_terms[0][lost] + self.errors.log_exceedance(errors[lost]) + self._log_terms[1]
            products[lost] = np.sign(self._values[lost]) * np.exp(logs)
        gains = np.add.reduce(products[self._negative :])
        losses = np.add.reduce(products[: self._negative])
        reached = self.points.weights[self._near] * chances
        uncertainty = self.excess.uncertainty(self._offsets, reached)
        if self._near.stop < self.points.offsets.size:  # counts beyond those exceed the answer
            certain = slice(self._near.stop, None)
            offsets, weights = self.points.offsets[certain], self.points.weights[certain]
            values = self.excess.at(offsets)
            negative = int(values.searchsorted(0.0))
            gains += weights[negative:] @ values[negative:]
            losses += weights[:negative] @ values[:negative]
            uncertainty += self.excess.uncertainty(offsets, weights)
        return self._difference(float(gains), -float(losses), uncertainty), float(gains)

    def _sum_from_threshold(self, answer: float) -> CertifiedNumber:
        """Return Σ Q·w·(S(answer − k) − S(answer − k*)) − (e^ε − 1)·S(answer − k*), with k* the threshold of w.

        S is the tail probability of the noise. No term of the sum is negative.
        """
        if self.epsilon > LARGEST_EPSILON:
            return CertifiedNumber(0.0, math.inf)
        at_threshold = np.array(answer - self.excess.threshold)
        errors = answer - self.points.offsets
        values = self.points.weights * self.excess.at(self.points.offsets)
        distances = self.points.offsets - self.excess.threshold
        negative = distances < 0
        low = np.where(negative, at_threshold, errors)
        between = self.errors.between(low, np.abs(distances))
        terms = np.where(negative, -values, values) * between
        uncertain = np.abs(values) * self.errors.error_of_between(low, np.abs(distances))
        uncertainty = float(uncertain.sum())
        uncertainty += _LOST * float(np.abs(values[between < _UNDERFLOWS]).sum())
        uncertainty += self.excess.uncertainty(self.points.offsets, self.points.weights * between)
        chance = float(self.errors.exceedance(at_threshold))
        losses = math.expm1(self.epsilon) * chance
        if chance < _UNDERFLOWS:
            losses = math.exp(self.epsilon + float(self.errors.log_exceedance(at_threshold)))
        return self._difference(float(terms.sum()), losses, uncertainty)

    def _difference(self, gains: float, losses: float, uncertainty: float = 0.0) -> CertifiedNumber:
        """Return gains less losses, each a sum of terms that are not negative."""
        return difference(gains, losses, self._term_rounding, uncertainty)

    @property
    def _term_rounding(self) -> float:
        """Relative error of a term."""
        return self.pair.rounding + self.errors.rounding
