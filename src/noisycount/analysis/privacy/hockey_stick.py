"""Hockey-stick divergence δ of a count with or without noise: the largest excess of P₊ over e^ε·P₋.

`hockey_sticks` computes one direction for a pair of count distributions; `composition` has both directions of answers.
"""

import math
from bisect import bisect_left
from fractions import Fraction
from functools import cached_property

import numpy as np

from noisycount.analysis.privacy.answer_sums import LARGEST_EPSILON, ExcessSumsNearLargestLoss, Mesh, Terms
from noisycount.analysis.privacy.bounds import NOTHING, CertifiedNumber
from noisycount.analysis.privacy.many_epsilons import certified_deltas
from noisycount.analysis.privacy.pairs import Excess, Masses, Pair
from noisycount.analysis.privacy.threshold import Search, SignChange, ThresholdForecast, first_whole, root
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import CertifiedErrorLaw
from noisycount.model.searches import first_true

WIDEST_MESH = 2.0**13  # number of integers up to which one mesh serves several ε
_SHARE_OF_MESH = 256  # integers that one of many ε may add to a mesh that serves all of them
_MANY = 16  # number of ε from which on they are computed at once
_SAMPLES = 8  # ε whose thresholds predict those of many others
_SMALLEST = 1e-290  # δ below which it is not computed at larger ε
_SLOPE_STEP = 0.125  # records over which the slope of log-odds is measured
_NEARBY = 40.0  # records around an answer in which a mesh is fine
_MOST_MESHES = 20  # largest number of meshes; each one reaches 4 times as far
_SMOOTH = 48.0  # records: noise that is smooth over this length needs no fine part of a mesh
_MOST_BLOCKS = 64  # largest number of blocks in a standard deviation of the count, if no part of the mesh is fine
_TILTED = 13.0  # standard deviations of the count by which sums may reach beyond the threshold of w
_FAR_OUT = 750.0  # nats by which noise falls below 1e-300 of its peak
_FLATTENING = 0.951  # share of the largest loss, below which log-odds rise by far more than rounding
_TELLING = 1e-8  # relative error of δ above which the threshold is inexact too
_OF_SUMS = 1e-10  # relative error of δ under a sum of noises: measured, with a margin of 2
_ROUNDED = 2e-12  # log-odds farther from 0 keep their sign despite rounding
_UNSURE = 0.01  # relative error of δ above which the error moves the threshold considerably
_ROUGH = 1e-10  # share of δ: a gain missed by the threshold may be bounded roughly if it is smaller
_LIKELY = 0.5  # δ above which 1 − complement has more digits
_UNDECIDED = 1e-11  # log-odds closer to 0 may be 0, as they are rounded
EpsilonExcess = tuple[float, Excess]


@frozen
class Threshold:
    """Threshold of the answers that a positive record makes more likely by a factor above e^ε."""

    passage: SignChange  # place at which the log-odds are 0
    terms: Terms  # terms of δ around that place


@frozen(eq=False, slots=False)
class NoisyPair:
    """A pair of count distributions, and the noise that is added to the count."""

    pair: Pair
    errors: CertifiedErrorLaw

    def hockey_sticks(self, asked: list[EpsilonExcess]) -> list[CertifiedNumber]:
        """Return sup_S P₊[Y in S] − e^ε·P₋[Y in S] over sets S of answers, for each ε of an ascending list.

        `asked` has each ε with the excess of the pair. The set of all answers from a threshold on attains the supremum.
        At the threshold the densities have the ratio e^ε.
        """
        forecast = ThresholdForecast(self.errors, self.pair.base.deviation)
        common, forecast = self._common_mesh(asked, forecast)
        at_once = self._deltas_at_once(asked, forecast, common) if len(asked) >= _MANY and common is not None else {}
        values: list[CertifiedNumber] = []
        for one in asked:
            if one[0] in at_once:
                values.append(at_once[one[0]])
                continue
            if values and values[-1].upper <= _SMALLEST:  # δ does not rise with ε
                values.append(CertifiedNumber(0.0, values[-1].upper))
                continue
            threshold = self._threshold(one, forecast.expected(*one), common)
            values.append(self._with_error_bound(*one, None if threshold is None else self._supremum(threshold)))
            if threshold is not None:
                forecast = forecast.with_threshold(*one, threshold.passage)
        return values

    def _deltas_at_once(
        self, asked: list[EpsilonExcess], forecast: ThresholdForecast, common: Mesh
    ) -> dict[float, CertifiedNumber]:
        """Return δ at many ε together, from the thresholds at a few of them.

        Some ε, which need another formula, are left out.
        """
        is_shift = self.pair.is_shift
        ordinary = [
            (epsilon, excess)
            for epsilon, excess in asked
            if common.largest_loss_near(epsilon) is None and not (is_shift and self._is_flattening(epsilon))
        ]
        if len(ordinary) < _MANY:
            return {}
        known: list[tuple[float, float, float]] = []
        for place in np.linspace(0, len(ordinary) - 1, _SAMPLES).round().astype(int).tolist():
            epsilon, excess = ordinary[place]
            threshold = self._threshold((epsilon, excess), forecast.expected(epsilon, excess), common)
            if threshold is not None and math.isfinite(threshold.passage.place):
                forecast = forecast.with_threshold(epsilon, excess, threshold.passage)
                answer, terms = threshold.passage.place, threshold.terms
                slope = (terms.log_odds(answer + _SLOPE_STEP) - terms.log_odds(answer)) / _SLOPE_STEP
                known.append((epsilon, answer - excess.threshold, slope))
        if len(known) < _SAMPLES // 2:
            return {}
        slack = 0.0 if is_shift or self.errors.largest_log_change is None else _ROUNDED
        found = certified_deltas(common, ordinary, known, self._forecast_margin, slack)
        return {epsilon: one for (epsilon, _), one in zip(ordinary, found, strict=True) if one is not None}

    def _common_mesh(
        self, asked: list[EpsilonExcess], forecast: ThresholdForecast
    ) -> tuple[Mesh | None, ThresholdForecast]:
        """Return a mesh of points for the sums at all ε, and the updated forecast of thresholds.

        The mesh is None unless the noise is smooth or all thresholds are close together.
        """
        threshold = asked[-1][1].threshold
        if self.errors.smooth_over >= max(_SMOOTH, self.pair.base.deviation / _MOST_BLOCKS):
            beyond = threshold + _TILTED * self.pair.base.deviation
            return self._make_mesh(None, beyond, self.errors.smooth_over), forecast
        if len(asked) == 1:
            return None, forecast
        ends = asked[0], asked[-1]
        first, last = (self._threshold(one, forecast.expected(*one), None) for one in ends)
        if first is None or last is None:
            return None, forecast
        low, high = first.passage.answer, last.passage.answer
        if (
            not 0 <= high - low <= max(WIDEST_MESH, _SHARE_OF_MESH * len(asked))
        ):  # nan or infinite if a threshold is beyond all answers
            return None, forecast
        mesh = self._make_mesh((math.floor(low), math.ceil(high)), self._highest_offset(high, asked[-1][1]))
        return mesh, forecast.with_threshold(*asked[0], first.passage)

    def _threshold(
        self, asked: EpsilonExcess, expected: tuple[float, float, float], common: Mesh | None
    ) -> Threshold | None:
        """Return the answer at which the densities have the ratio e^ε, or None if the search fails."""
        epsilon, excess = asked
        expected_answer, step, slope = expected
        for again in range(_MOST_MESHES):
            mesh = common or self._make_mesh(
                (math.floor(expected_answer), math.ceil(expected_answer)), self._highest_offset(expected_answer, excess)
            )
            margin = self._forecast_margin * 4.0**again
            if common is not None and again == 0:
                margin = min(_NEARBY, 16 * step + 1)
            below = self._sums_near_largest_loss(asked, mesh)
            terms = Terms(self.pair, self.errors, epsilon, excess, mesh.points, expected_answer, margin, below)
            margin = math.inf if terms.reaches_all else margin
            passage = self._find_sign_change(terms, self._make_search(expected_answer, step, slope, margin))
            away = abs(passage.answer - expected_answer)
            fits = common is not None or mesh.points.is_every_integer or away <= _NEARBY
            if math.isinf(away) or (fits and away <= margin):
                return Threshold(passage, terms)
            expected_answer, step, slope = passage.answer, max(self.errors.spread, away) / 16, math.nan
        return None

    def _with_error_bound(self, epsilon: float, excess: Excess, found: CertifiedNumber | None) -> CertifiedNumber:
        """Return δ as computed or, if that is more precise far out, 0 with the error bound P₊[K >= threshold].

        Far out, terms underflow and hide δ.

        Raises:
            ValueError: If no threshold was found and the bound is not small.
        """
        if excess.threshold > _FAR * self.pair.base.deviation:
            most = _TWICE * math.exp(self.pair.log_tail_bound(excess.threshold))  # 2, as the threshold may be inexact
            if most < _UNPROMISED and (found is None or found.error > most):
                return CertifiedNumber.probability(0.0, most)
        if found is None:
            raise ValueError(
                f"epsilon must be one at which a threshold of the answers can be found, got {epsilon!r}: "
                "take a smaller epsilon, whose δ is at least as large"
            )
        return found

    def _find_sign_change(self, terms: Terms, search: Search) -> SignChange:
        """Return the answer at which the log-odds are 0."""
        if self.errors.is_discrete:
            return first_whole(terms.log_odds, search)
        if self.errors.is_geometric and terms.is_summed_plainly:
            place, slope = terms.root_between_counts(search.guess)
            if abs(place - search.guess) <= search.margin:
                search = self._make_search(place, search.step, slope, search.margin)
        return root(terms.log_odds, search)

    def _sums_near_largest_loss(self, asked: EpsilonExcess, mesh: Mesh) -> ExcessSumsNearLargestLoss | None:
        """Return the sums next to the largest loss if ε lies there; otherwise None."""
        epsilon, excess = asked
        largest, rounding = mesh.largest_loss_near(epsilon), self.pair.rounding
        if largest is None:
            return None
        gap, is_discrete = largest.above(epsilon), self.errors.is_discrete
        return ExcessSumsNearLargestLoss(largest, gap, epsilon, excess, is_discrete, rounding)

    def _make_mesh(self, fine: tuple[float, float] | None, highest: float, coarsest: float = math.inf) -> Mesh:
        """Return a mesh of points for sums of functions that may have a kink between the two offsets `fine`."""
        points = self.pair.base.points(fine, highest, coarsest)
        return Mesh(points, self.pair, self.errors)

    def _missed_gain(self, threshold: Threshold, found: float, gains: float) -> float:
        """Return a bound of the gain above `found` that the exact threshold can have, if `threshold` is inexact."""
        passage, terms = threshold.passage, threshold.terms
        is_discrete = self.errors.is_discrete
        if is_discrete and passage.log_odds < -_UNDECIDED and not terms.slack:
            return 0.0
        if is_discrete or self._is_flattening(terms.epsilon):
            low = self._answer_surely_below(terms, passage.answer - 1)
            return terms.missed_gain(low, -_ROUNDED, passage.next)
        return terms.missed_gain(passage.answer, passage.log_odds, passage.next, gains, _ROUGH * found)

    def _is_flattening(self, epsilon: float) -> bool:
        """Return True if the log-odds may come close to their largest value long before they reach it."""
        largest_log_change = self.errors.largest_log_change
        if largest_log_change is None or self.errors.is_geometric:
            return False
        return not self.pair.is_shift or epsilon > _FLATTENING * largest_log_change

    def _answer_surely_below(self, terms: Terms, answer: float) -> float:
        """Return an answer, at or below the given one, with negative log-odds despite rounding."""
        step = 1.0
        while answer > self._lowest_answer and terms.log_odds(answer) >= -_ROUNDED:
            answer, step = answer - step, 2 * step
        return answer

    def _without_tied_answer(self, found: CertifiedNumber, threshold: Threshold) -> CertifiedNumber:
        """Return δ without an answer whose ratio is e^ε up to rounding, as this answer adds nothing but rounding."""
        rest = threshold.terms.tail_gain(threshold.passage.answer + 1)
        if rest.error > found.error / 2:
            return found
        return CertifiedNumber(rest.value, found.error + abs(found.value - rest.value))

    def _delta_below_lowest(self, terms: Terms) -> CertifiedNumber:
        """Return δ if every answer is at least as likely for a positive record: 0, up to rounding.

        As P₊ − e^ε·P₋ is at most 0 in total, its positive part is at most its negative part. The negative part arises
        from rounding alone.
        """
        values = terms.excess.at(terms.points.offsets)
        losses = float(terms.points.weights @ np.maximum(-values, 0.0))
        return CertifiedNumber.probability(0.0, _UNDECIDED * losses)

    def _delta_beyond_highest(self, terms: Terms) -> CertifiedNumber:
        """Return δ if no answer has a ratio of e^ε: 0, up to the errors of the ratios."""
        if terms.below is not None and self._largest_possible_delta(terms) == 0:
            return NOTHING
        missed = 0.0
        if self._is_flattening(terms.epsilon) and terms.log_odds(self._highest_answer) >= -_UNDECIDED:
            missed = terms.missed_gain(self._answer_surely_below(terms, self._highest_answer), -_ROUNDED, math.inf)
        return CertifiedNumber.probability(0.0, max(missed, self._largest_possible_delta(terms)))

    def _largest_possible_delta(self, terms: Terms) -> float:
        """Return the largest δ that the errors of the excess and of the largest loss allow."""
        higher = terms.upper_bound()
        if higher.below is not None and higher.below.gap <= 0:
            return 0.0
        end = self.pair.base.support[1]
        search = self._make_search(end, max(1.0, self.errors.spread))
        answer = self._find_sign_change(higher, search).answer
        if answer < math.inf:
            points = terms.points
            largest = terms.excess.largest_gain(points.offsets, points.weights)
            found = higher.tail_gain(answer) if answer > -math.inf else CertifiedNumber(largest, 0.0)
            return min(largest, found.value + 2 * found.error)
        return 0.0

    @cached_property
    def _forecast_margin(self) -> float:
        """Distance in records of a threshold from its forecast, within which the terms are exact."""
        return max(_NEARBY, self.errors.spread)

    @cached_property
    def _highest_answer(self) -> float:
        """Answer above which the log-odds are constant, or above which answers have a probability below 1e-300."""
        last = self.pair.base.support[1]
        return last if self.errors.is_geometric else last + self._noise_reach

    @cached_property
    def _lowest_answer(self) -> float:
        """Answer below which the log-odds are constant, or below which answers have a probability below 1e-300."""
        first = self.pair.base.support[0]
        return first if self.errors.is_geometric else first - self._noise_reach

    @property
    def _noise_reach(self) -> float:
        """Error that the noise exceeds with a probability below 1e-300."""
        return min(self.errors.distance_at_depth(_FAR_OUT), 2 * _FAR_OUT * self.errors.spread)

    def _highest_offset(self, answer: float, excess: Excess) -> float:
        """Return the offset up to which sums reach.

        For noise with a finite ε and a shifted distribution, this offset lies far beyond the threshold, as sums close
        to that ε need these counts.
        """
        tilted = self.pair.is_shift and self.errors.largest_log_change is not None
        beyond = _TILTED * self.pair.base.deviation if tilted else 0.0
        return max(answer, excess.threshold) + beyond

    def _make_search(self, guess: float, step: float, slope: float = math.nan, margin: float = math.inf) -> Search:
        """Return a search between the answers beyond which the log-odds are constant."""
        return Search(guess, step, self._highest_answer, margin, self._lowest_answer, slope)

    def _supremum(self, threshold: Threshold) -> CertifiedNumber:
        """Return δ at a threshold: the supremum, with an error that covers an inexact threshold.

        If the threshold is inexact by rounding, the missed gain is at most the rounding of the sum. It is negligible if
        the rounding is small.
        """
        passage, terms = threshold.passage, threshold.terms
        if math.isinf(passage.answer):
            is_below = passage.answer < 0
            return (self._delta_below_lowest if is_below else self._delta_beyond_highest)(terms)
        found, gains = terms.tail_gain_and_gains(passage.answer)
        missed = self._missed_gain(threshold, found.value, gains)
        if found.error > _TELLING * found.value:
            missed += found.error
        if self.errors.rounding:  # a noise without a closed form
            missed += _OF_SUMS * abs(found.value)
        found = CertifiedNumber(found.value, found.error + missed)
        if found.error > _UNSURE * found.value:
            most = self._largest_possible_delta(terms) - found.value
            found = CertifiedNumber(found.value, max(found.error, most))
        if self.errors.is_discrete and abs(passage.at_next) < _UNDECIDED:
            found = self._without_tied_answer(found, threshold)
        rest = self._complement_of_delta(threshold) if found.value > _LIKELY and not self.errors.rounding else None
        return CertifiedNumber.more_precise(found.value, found.error, rest)

    def _complement_of_delta(self, threshold: Threshold) -> CertifiedNumber:
        """Return 1 − δ, with an error that covers an inexact threshold.

        Between the threshold used and the exact one, the log-odds lie between 0 and their value at the threshold used.
        So the complement there is at most e^|log-odds| times the smallest one.
        """
        passage, terms = threshold.passage, threshold.terms
        rest = self._complement(terms, passage.answer)
        off = terms.slack + _ROUNDED - (0.0 if self.errors.is_discrete else passage.log_odds)
        is_decided = passage.log_odds < -_UNDECIDED and passage.at_next > _UNDECIDED  # despite rounding
        if self.errors.is_discrete and not terms.slack and is_decided:
            off = 0.0
        return CertifiedNumber(rest.value, rest.error - math.expm1(-off) * rest.value)

    def _complement(self, terms: Terms, answer: float) -> CertifiedNumber:
        """Return P₊[Y < answer] + e^ε·P₋[Y >= answer] = 1 − δ, a sum without negative terms."""
        if terms.epsilon > LARGEST_EPSILON:
            return CertifiedNumber(0.0, math.inf)
        errors = answer - terms.points.offsets
        missed = self.errors.exceedance(self.errors.first - errors)
        chances = self.errors.exceedance(errors)
        return _complement(self.pair, self.pair.masses(terms.points), terms.epsilon, missed, chances)


_TWICE = 2.0  # for the rounding of a weight and of its ratio, and for the tails on both sides
_FEW = 2.0**-50  # relative error of 8 roundings: of e^ε, of 1 minus a tail, of products and sums
_NEXT_TO_1 = 2.0**-52  # largest error of a float next to 1, far more than terms that underflow


def _complement(pair: Pair, masses: Masses, epsilon: float, missed: Reals, chances: Reals) -> CertifiedNumber:
    """Return P₊[not A] + e^ε·P₋[A] for a set A of answers, a sum without negative terms.

    A probability close to 1 is computed as 1 minus a tail; only the tail can have a larger error than rounding.

    Args:
        pair: The pair of count distributions.
        masses: Weights of the points in sums over P₊ and over P₋.
        epsilon: ε.
        missed: Probability of not A at each point.
        chances: Probability of A at each point.
    """
    plus, minus = masses
    grown = math.exp(epsilon) * minus
    found = math.fsum([*(plus * missed).tolist(), *(grown * chances).tolist()])
    tails = CertifiedNumber.probability(float((plus + grown) @ (missed * chances)), 0.0)
    error = _TWICE * (pair.rounding * tails.value + tails.error)
    if pair.precision is None:
        return CertifiedNumber(found, error + _TWICE * pair.rounding * found + _NEXT_TO_1)
    return CertifiedNumber(found, error + (pair.precision + _FEW) * found)


_NEGLIGIBLE = -720.0  # logarithm of a probability below the 1e-301 that brackets allow for
_UNPROMISED = 1e-50  # smallest δ for which nine digits are guaranteed
_FAR = 25.0  # standard deviations within which nothing is negligible


def hockey_sticks(pair: Pair, errors: CertifiedErrorLaw | None, epsilons: list[float]) -> list[CertifiedNumber]:
    """Return sup_S P₊[Y in S] − e^ε·P₋[Y in S] for each ε, where Y is the count plus noise.

    With any noise, the supremum is at most P₊[K >= threshold], as w is negative below the threshold. Values of ε whose
    bound underflows are not computed.

    Args:
        pair: The pair of count distributions.
        errors: Distribution of the noise; None: no noise.
        epsilons: ε in ascending order.
    """
    if pair.base.deviation == 0:  # the count is certain, so its answers reveal nothing
        return [NOTHING] * len(epsilons)
    end = pair.base.support[1]
    asked = [(epsilon, pair.excess(epsilon)) for epsilon in epsilons]
    possible = [one for one in asked if one[1].threshold <= end]
    far = _FAR * pair.base.deviation

    def is_negligible(place: int) -> bool:
        threshold = possible[place][1].threshold
        return threshold > far and pair.log_tail_bound(threshold) <= _NEGLIGIBLE

    known = possible[: first_true(is_negligible, 0, len(possible))]
    found = _deltas_without_noise(pair, known) if errors is None else _delta_with_noise(pair, errors, known)
    underflows = [CertifiedNumber.probability(0.0, 0.0)] * (len(possible) - len(known))
    return found + underflows + _zero_delta(pair, [one for _, one in asked[len(possible) :]])


def _zero_delta(pair: Pair, excesses: list[Excess]) -> list[CertifiedNumber]:
    """Return δ if no count has a ratio of e^ε: 0, up to the errors of the ratios."""
    if not excesses:
        return []
    end = pair.base.support[1]
    points = pair.base.points((end, end), end)
    gains = [one.largest_gain(points.offsets, points.weights) for one in excesses]
    return [CertifiedNumber.probability(0.0, gain) if gain else NOTHING for gain in gains]


def _delta_with_noise(pair: Pair, errors: CertifiedErrorLaw, asked: list[EpsilonExcess]) -> list[CertifiedNumber]:
    """Return δ with noise. For a pair that is a shift by one record it is 0 from the ε of the noise on."""
    bound = errors.largest_log_change if pair.is_shift else None
    below = asked if bound is None else asked[: bisect_left(asked, bound, key=lambda one: Fraction(one[0]))]
    found = NoisyPair(pair, errors).hockey_sticks(below) if below else []
    return found + [NOTHING] * (len(asked) - len(below))


def _deltas_without_noise(pair: Pair, asked: list[EpsilonExcess]) -> list[CertifiedNumber]:
    """Return δ of the exact count for each ε: the sum of P₊ − e^ε·P₋ over the counts from the threshold on.

    No term is negative. Counts at which a term is 0 up to rounding add to the error, on both sides of the threshold.
    """
    values: list[CertifiedNumber] = []
    while len(values) < len(asked):
        lowest = asked[len(values)][1].threshold
        near = [one for _, one in asked[len(values) :] if one.threshold - lowest <= WIDEST_MESH]
        points = pair.base.points((lowest, near[-1].threshold), near[-1].threshold)
        masses: Masses | None = None  # computed if needed
        for excess in near:
            first, stop = excess.undecided_range
            start, first_place, stop_place = points.offsets.searchsorted([excess.threshold, first, stop]).tolist()
            offsets, weights = points.offsets, points.weights
            value = float(weights[start:] @ excess.at(offsets[start:]))
            error = pair.rounding * value + excess.uncertainty(offsets[first_place:], weights[first_place:])
            rest, epsilon = None, asked[len(values)][0]
            if value > _LIKELY and epsilon <= LARGEST_EPSILON:
                chances = (points.offsets >= excess.threshold).astype(np.float64)
                masses = masses or pair.masses(points)
                rest = _complement(pair, masses, epsilon, 1 - chances, chances)
                missed = excess.uncertainty(offsets[first_place:stop_place], weights[first_place:stop_place])
                rest = CertifiedNumber(rest.value, rest.error + missed)
            values.append(CertifiedNumber.more_precise(value, error, rest))
    return values
