"""Hockey-stick divergence δ at many ε at once: arrays with one row for each ε take the place of a search for each one.

`certified_deltas` computes δ at the ordinary ε. Other ε are left to `hockey_stick`, with other formulas of
`answer_sums`: those next to the largest loss, those with masses that underflow, and those where a sum cancels.
"""

import math
from collections.abc import Sequence
from dataclasses import field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.privacy.answer_sums import LARGEST_EPSILON, LEFT_OUT, Flags, Mesh
from noisycount.analysis.privacy.bounds import CertifiedNumber
from noisycount.analysis.privacy.pairs import Excess, LinearExcess, excess_rows
from noisycount.analysis.privacy.threshold import CLOSE
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import ErrorLaw

Places = NDArray[np.intp]
_ROWS = 50  # ε whose terms are in memory at once: they stay in the cache
_DEPTH = 80.0  # nats below the first weight of a sum: smaller weights do not change it as a double
_MILLS = 10.0  # nats by which f(z)/f(0) may exceed P[Z >= z], relative to the same ratio at 0, before both underflow
_STEPS = 8  # largest number of steps of the secant method
_UNITS = 8.0  # floats next to an answer over which its log-odds may change before a search ends
_CLOSEST = 2e-11  # log-odds at which a search ends: they change δ by at most twice as much
_FLAT = 0.5  # nats: a density that varies by less over all counts is treated as flat
_SMALLEST = 1e-250  # smallest sum of terms, and smallest ratio of two sums, that loses no digits by underflow
_UNDERFLOWS = 1e-290  # a smaller probability has lost digits
_LOST = 1e-305  # bound of thousands of masses that underflow, each below 1e-308
_STEP_AFTER = 1e-6  # share of the spread of the noise by which an answer certainly lies above its threshold
_UNDECIDED = 1e-11  # log-odds closer to 0 may be 0, as they are rounded
_CANCELLED = 100.0  # ratio of the error of a sum to its rounding, above which another formula is tried
_TELLING = 1e-8  # relative error of δ above which the threshold is inexact too
_OF_SUMS = 1e-10  # relative error of δ under a sum of noises: measured, with a margin of 2
_OF_TABLE = 1e-11  # relative error of a tail from a table of a sum of noises
_TABLE_DEPTH = 120.0  # nats by which a sum of noises falls within its table
_LIKELY = 0.5  # δ above which 1 − δ has more digits


@frozen(eq=False)
class TermRows:
    """Sums Σ Q·w·f over counts, one row for each ε, where f is the density or the tail of the noise.

    Q is the base of the pair of count distributions, w = (P₊ − e^ε·P₋)/Q the excess of a row.

    Attributes:
        is_flat: True if the noise density is nearly flat over all counts, in every row.
    """

    mesh: Mesh
    epsilons: Reals  # shape (rows,)
    excesses: Sequence[Excess]
    guesses: Reals  # approximate threshold of the answer, same shape
    margin: float  # largest distance of a threshold from its guess at which the sums are exact, in records
    is_flat: bool
    table: ErrorLaw  # the noise, or its table, whose values take less
    _offsets: Reals = field(init=False, repr=False)  # offsets of counts, shape (rows, points)
    _weights: Reals = field(init=False, repr=False)  # Q at these offsets, 0 beyond the points, same shape
    _values: Reals = field(init=False, repr=False)  # Q·w, same shape
    _sure_gains: Reals = field(init=False, repr=False)  # Σ Q·w over higher counts, which the noise leaves above
    _sure_uncertainties: Reals = field(init=False, repr=False)  # their errors, shape (rows,)
    _flat_scales: Reals = field(init=False, repr=False)  # scale of the sums if the density is flat, shape (rows, 1)

    def __post_init__(self) -> None:
        points = self.mesh.points
        starts, width, beyond = self._windows()
        stops = np.minimum(starts + width, points.offsets.size)
        places = starts[:, None] + np.arange(width)
        is_point = places < points.offsets.size
        places = np.minimum(places, points.offsets.size - 1)
        offsets, weights = points.offsets[places], points.weights[places] * is_point
        values = excess_rows(self.excesses, offsets) * weights
        gains, uncertainties = self._sums_from_stop(np.where(stops < beyond, points.offsets.size, stops))
        scales = np.abs(values).max(axis=1, keepdims=True)
        scales *= min(1.0, float(points.offsets[-1] - points.offsets[0]) / self.mesh.errors.spread)
        for name, value in (
            ("_offsets", offsets),
            ("_weights", weights),
            ("_values", values),
            ("_sure_gains", gains),
            ("_sure_uncertainties", uncertainties),
            ("_flat_scales", scales),
        ):
            object.__setattr__(self, name, value)

    def _sums_from_stop(self, stops: Places) -> tuple[Reals, Reals]:
        """Return each row's sum over the points from its stop on, and its error; nan if a term is negative there."""
        points = self.mesh.points
        linear = [one for one in self.excesses if isinstance(one, LinearExcess)]
        if len(linear) == len(self.excesses):
            return _linear_sums(self.mesh, linear, stops), np.zeros(stops.size)
        gains, uncertainties = np.zeros(stops.size), np.zeros(stops.size)
        for row in np.flatnonzero(stops < points.offsets.size).tolist():
            excess, stop = self.excesses[row], stops[row]
            negligible = np.flatnonzero(points.log_weights[stop:] < points.log_weights[stop] - _DEPTH)
            part = slice(stop, stop + int(negligible[0]) if negligible.size else None)
            sure_offsets, sure_weights = points.offsets[part], points.weights[part]
            sure_values = excess.at(sure_offsets)
            gains[row] = sure_weights @ sure_values if sure_values[0] >= 0 else math.nan
            uncertainties[row] = excess.uncertainty(sure_offsets, sure_weights)
        return gains, uncertainties

    def _windows(self) -> tuple[Places, int, Places]:
        """Return, for each row, its first point, its number of points, and the first point that no noise reaches.

        No weight matters at the points between the last point of a row and the first point that no noise reaches.
        """
        points, errors = self.mesh.points, self.mesh.errors
        offsets, logs = points.offsets, points.log_weights
        nearest = np.minimum(offsets.searchsorted(self.guesses), offsets.size - 1)
        here = logs[nearest] + errors.log_density(offsets[nearest] - self.guesses)
        here -= float(errors.log_density(np.zeros(1))[0])
        steepest = math.log(max(1.0, *(excess.largest_magnitude(offsets) for excess in self.excesses)))
        depth = LEFT_OUT + steepest + points.highest_log_weight - float(here.min())
        reach = errors.distance_at_depth(depth) + self.margin
        if reach > self.table.distance_at_depth(depth):  # the table ends before
            object.__setattr__(self, "table", errors)
        first, stop = self._points_that_matter(LEFT_OUT + steepest + _MILLS)
        starts = np.maximum(offsets.searchsorted(self.guesses - reach), first)
        beyond = offsets.searchsorted(self.guesses + reach)
        width = int((np.minimum(beyond, stop) - starts).max())
        return starts, max(1, width), beyond

    def _points_that_matter(self, depth: float) -> tuple[int, int]:
        """Return the first point that matters to some row, and the point after the last one.

        The weights Q·f(y − k) of the others are below e^−depth of the largest one, for all answers y of the rows: f is
        log-concave, so that lower counts matter most to the lowest answer, and higher counts to the highest one. Above
        an answer, f(0) takes the place of f: it bounds the tail of the noise.
        """
        points, errors = self.mesh.points, self.mesh.errors
        offsets, logs = points.offsets, points.log_weights
        if not errors.has_formula:
            return 0, offsets.size
        below_lowest = offsets - (self.guesses.min() - self.margin)
        below_highest = offsets - (self.guesses.max() + self.margin)
        lower, upper = (logs + errors.log_density(distances) for distances in (below_lowest, below_highest))
        bounded = logs + errors.log_density(np.minimum(below_highest, 0.0))
        first = np.flatnonzero(lower >= lower.max() - depth)[0]
        last = np.flatnonzero(bounded >= upper.max() - depth)[-1]
        return int(first), int(last) + 1

    def log_odds(self, answers: Reals) -> Reals:
        """Return the log-odds of an answer of each row, in the notation of the class; nan if unknown.

        They are ln of Σ Q·w·f over w > 0, divided by Σ Q·(−w)·f over w < 0. If the noise is flat, return Σ Q·w·(f/f* −
        1) − (e^ε − 1) on the scale of the sums, f* the density at the threshold of w.
        """
        errors = self.mesh.errors
        if self.is_flat:
            thresholds = self._excess_thresholds
            distances = (answers - thresholds[:, 0]).tolist()
            rows = zip(distances, self._offsets - thresholds, strict=True)
            changes = np.stack([errors.log_change(distance, steps) for distance, steps in rows])
            gains = (self._values * np.expm1(changes)).sum(axis=1)
            return (gains - np.expm1(self.epsilons)) / self._flat_scales[:, 0]
        terms = self._values * np.exp(self.table.log_density(answers[:, None] - self._offsets))
        above, below = np.maximum(terms, 0.0).sum(axis=1), -np.minimum(terms, 0.0).sum(axis=1)
        is_known = np.minimum(above, below) > _SMALLEST * np.maximum(np.maximum(above, below), 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(is_known, np.log(above / below), np.nan)

    def deltas(self, answers: Reals, log_odds: Reals, slack: float) -> list[CertifiedNumber | None]:
        """Return δ at the threshold of each row, or None if another formula is needed.

        Args:
            answers: The threshold of each row, or for integers, the first one at which the log-odds are not negative.
            log_odds: The log-odds at `answers`. For integers, they have been decided.
            slack: Error of these log-odds by rounding that moves a threshold far, as they hardly rise there.
        """
        errors, pair = self.mesh.errors, self.mesh.pair
        is_tabulated = self.table is not errors
        rounding = pair.rounding + errors.rounding + (_OF_TABLE if is_tabulated else 0.0)
        chances = self.table.exceedance(answers[:, None] - self._offsets)
        products = self._values * chances
        gains = np.maximum(products, 0.0).sum(axis=1) + self._sure_gains
        losses = -np.minimum(products, 0.0).sum(axis=1)
        uncertainties = self._sure_uncertainties + self._uncertainties(chances)
        values, bounds = gains - losses, rounding * (gains + losses) + uncertainties
        is_sound = (self._weights >= _UNDERFLOWS) | (self._values == 0)
        is_sound = is_sound.all(axis=1) & (gains > _SMALLEST)
        if self.is_flat:
            others, their_bounds, is_precise = self._sum_from_threshold(answers)
            is_better = is_precise & (bounds > _CANCELLED * rounding * values) & (their_bounds < bounds)
            values, bounds = np.where(is_better, others, values), np.where(is_better, their_bounds, bounds)
        is_sound &= (bounds <= _TELLING * values) & (values <= _LIKELY)
        if not errors.is_discrete:
            is_sound &= 2 * slack * gains <= _OF_SUMS * values
            bounds = bounds - self._missed_gain_bounds(answers, log_odds - slack, gains)
        if errors.rounding:
            bounds = bounds + _OF_SUMS * values
        results = zip(values.tolist(), bounds.tolist(), is_sound.tolist(), strict=True)
        return [CertifiedNumber.probability(value, bound) if sound else None for value, bound, sound in results]

    def _missed_gain_bounds(self, answers: Reals, log_odds: Reals, gains: Reals) -> Reals:
        """Return a bound, at most 0, of the error of δ that arises because log-odds at the thresholds are not 0."""
        if self.is_flat:
            step, errors = _STEP_AFTER * self.mesh.errors.spread, self.mesh.errors
            is_after = self.log_odds(answers + step) > _UNDECIDED
            beyond = errors.exceedance(answers - self._excess_thresholds[:, 0])
            between = np.where(is_after, np.minimum(beyond, errors.peak * step), beyond)
            return log_odds * self._flat_scales[:, 0] * between
        return 2 * log_odds * gains

    def _sum_from_threshold(self, answers: Reals) -> tuple[Reals, Reals, Flags]:
        """Return δ and its error by the formula of `Terms` without cancellation, and a mask of precise rows."""
        errors, sizes = self.mesh.errors, np.abs(self._values)
        at_threshold, distances = answers[:, None] - self._excess_thresholds, self._offsets - self._excess_thresholds
        low = np.where(distances < 0, at_threshold, answers[:, None] - self._offsets)
        between = errors.between(low, np.abs(distances))
        gains = (sizes * between).sum(axis=1)
        uncertainties = (sizes * errors.error_of_between(low, np.abs(distances))).sum(axis=1)
        uncertainties = uncertainties + _LOST * (sizes * (between < _UNDERFLOWS)).sum(axis=1)
        uncertainties = uncertainties + self._uncertainties(between)
        chances = errors.exceedance(at_threshold[:, 0])
        losses = np.expm1(self.epsilons) * chances
        rounding = self.mesh.pair.rounding + errors.rounding
        return gains - losses, rounding * (gains + losses) + uncertainties, chances > _UNDERFLOWS

    def _uncertainties(self, chances: Reals) -> Reals:
        """Return the error of each row's sum of excesses, weighted by the probabilities of the answers."""
        reached = self._weights * chances
        rows = zip(self.excesses, self._offsets, reached, strict=True)
        if isinstance(self.excesses[0], LinearExcess):
            return np.zeros(len(self.excesses))
        return np.array([excess.uncertainty(offsets, some) for excess, offsets, some in rows])

    @property
    def _excess_thresholds(self) -> Reals:
        """Thresholds of the excess of each row, shape (rows, 1)."""
        return np.array([[excess.threshold] for excess in self.excesses])


def _linear_sums(mesh: Mesh, excesses: Sequence[LinearExcess], stops: Places) -> Reals:
    """Return the sum of Q·w over the points from each row's stop on, for linear w; nan if w < 0 at the stop.

    Q is the base of the pair, w the excess of a row. All rows use two cumulative sums that begin at the last point: Σ
    Q, and Σ Q·(d − d*) with the offset d* of the stop. No term is negative, and long doubles keep the digits of a term.
    """
    points, (masses, moments) = mesh.points, mesh.sums_from_last
    thresholds, at, slopes = np.array([(one.threshold, one.at_threshold, one.slope) for one in excesses]).T
    beyond = np.append(points.offsets, np.inf)[stops] - thresholds
    is_end = stops == points.offsets.size
    with np.errstate(invalid="ignore"):
        sums = slopes * (moments[stops] + beyond * masses[stops]) + at * masses[stops]
    return np.where(is_end, 0.0, np.where(beyond >= 0, sums, np.nan)).astype(np.float64)


def certified_deltas(
    mesh: Mesh,
    asked: Sequence[tuple[float, Excess]],
    known_thresholds: Sequence[tuple[float, float, float]],
    margin: float,
    slack: float,
) -> list[CertifiedNumber | None]:
    """Return δ for each ε of an ascending list, or None for an ε that must be computed alone.

    Args:
        mesh: Points for the sums at all ε.
        asked: Each ε with its excess w.
        known_thresholds: Some ε in ascending order, each with the threshold of the answer relative to that of w, and
            the slope of the log-odds there, per record.
        margin: Largest distance of a threshold from its guess at which the sums are exact, in records.
        slack: Error of log-odds by rounding, if they may hardly rise at a threshold; otherwise 0.
    """
    results: list[CertifiedNumber | None] = []
    errors = mesh.errors
    table = errors if errors.has_formula else errors.tabulated(errors.distance_at_depth(_TABLE_DEPTH) + margin)
    places, distances, slopes = np.array(known_thresholds).T
    length = _ROWS if mesh.points.offsets.size > _ROWS else len(asked)
    for first, stop in pairwise([*range(0, len(asked), length), len(asked)]):
        epsilons = np.array([epsilon for epsilon, _ in asked[first:stop]])
        excesses = [excess for _, excess in asked[first:stop]]
        thresholds = np.array([excess.threshold for excess in excesses])
        starts = thresholds + np.interp(epsilons, places, distances)
        is_flat = _is_flat(mesh, starts)
        if epsilons[-1] > LARGEST_EPSILON:
            results += [None] * epsilons.size
            continue
        rows = TermRows(mesh, epsilons, excesses, starts, margin, is_flat, table)
        solve = _first_integers if mesh.errors.is_discrete else _secant_roots
        answers, log_odds = solve(rows, np.interp(epsilons, places, slopes))
        is_found = np.isfinite(answers) & (np.abs(answers - starts) <= margin)
        found = rows.deltas(np.where(is_found, answers, starts), log_odds, slack)
        results += [one if is_one else None for one, is_one in zip(found, is_found.tolist(), strict=True)]
    return results


def _is_flat(mesh: Mesh, guesses: Reals) -> bool:
    """Return True if the density of the noise is nearly flat over all counts, for the answers of all rows."""
    lows, highs = guesses - mesh.points.offsets[-1], guesses - mesh.points.offsets[0]
    densities = mesh.errors.log_density(np.stack([lows, highs, np.minimum(np.maximum(0.0, lows), highs)]))
    return bool((densities.max(axis=0) - densities.min(axis=0) < _FLAT).all())


def _secant_roots(rows: TermRows, slopes: Reals) -> tuple[Reals, Reals]:
    """Return, for each row, an answer with log-odds just below 0 and these log-odds; nan if none was found.

    The secant method searches the answers.

    Args:
        rows: The sums.
        slopes: First slope of the log-odds in each row, per record.
    """
    answers, values = rows.guesses, rows.log_odds(rows.guesses)
    for _ in range(_STEPS):
        allowed = np.maximum(CLOSE, _UNITS * slopes * np.spacing(np.abs(answers)))
        is_found = (values >= -allowed) & (values <= 0)
        if is_found.all():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            following = np.where(is_found, answers, answers - (values + allowed / 2) / slopes)
            at_following = rows.log_odds(following)
            secants = (at_following - values) / (following - answers)
        slopes = np.where(np.isfinite(secants) & (secants > 0), secants, slopes)
        answers, values = following, at_following
    is_found = (values >= -_CLOSEST) & (values <= 0)
    return np.where(is_found, answers, np.nan), values


def _first_integers(rows: TermRows, slopes: Reals) -> tuple[Reals, Reals]:
    """Return, for each row, the first integer with log-odds >= 0 and these log-odds; nan if their sign is uncertain."""
    answers, values = rows.guesses, rows.log_odds(rows.guesses)
    for _ in range(_STEPS):
        with np.errstate(divide="ignore", invalid="ignore"):
            answers = np.ceil(answers - values / slopes)
        before, values = rows.log_odds(answers - 1), rows.log_odds(answers)
        is_found = (before < -_UNDECIDED) & (values > _UNDECIDED)
        if is_found.all():
            break
        slopes = np.where(values > before, values - before, slopes)
        values = np.where(is_found, 0.0, values)
    return np.where(is_found, answers, np.nan), values
