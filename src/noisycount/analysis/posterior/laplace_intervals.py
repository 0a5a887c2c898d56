"""The posterior mean for many answers, from sums over the counts on each side of an answer.

Under Laplace noise a mean takes a table look-up and one exponential.
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.posterior.law import DEPTH, CountTable, bulk_end
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.factors import Factor
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.smooth_law import smooth_law
from noisycount.model.noises.additive import ErrorLaw, SymmetricNoise
from noisycount.model.populations.population import Population

_BAND = 64  # consecutive counts, or answers, that share one search for the terms that matter
_MOST_BANDS = 1024  # largest number of bands of answers, as each takes a pass over all counts
_ENTRIES = 1 << 19  # terms in memory at once: 4 MB


class Side(NamedTuple):
    """Sums over the counts from an edge outwards, weighted by P[K = k]·f(y − k) for an answer y and noise density f."""

    logs: Reals  # logarithms of the sums of the weights, −inf for an empty sum
    distances: Reals  # mean distance of the counts from the edge, in records


@frozen(eq=False)
class GeometricSides:
    """Sums with weights e^(−|y − k|/scale)·P[K = k], looked up in cumulative sums from the ends of the table."""

    table: CountTable  # the distribution of the count
    rate: float  # 1/scale
    _from_first: Side = field(init=False, repr=False)
    _from_last: Side = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_from_first", _geometric_sums(self.table.logs, self.rate))
        mirrored = _geometric_sums(self.table.logs[::-1], self.rate)
        object.__setattr__(self, "_from_last", mirrored)

    def lower(self, answers: Reals, edges: Reals) -> Side:
        """Return the sums over the counts up to each edge, which is at most the answer."""
        return self._sums_beyond(self._from_first, edges - self.table.first, answers - edges)

    def upper(self, answers: Reals, edges: Reals) -> Side:
        """Return the sums over the counts from each edge on, which is at least the answer."""
        return self._sums_beyond(self._from_last, self.table.last - edges, edges - answers)

    def sums_around(self, answers: Reals) -> tuple[Side, Side]:
        """Return the sums over the counts up to the floor of each answer, and over those from the next integer on."""
        floors = np.floor(answers)
        return self.lower(answers, floors), self.upper(answers, floors + 1)

    def share_above(self, answers: Reals, edges: Reals) -> Reals:
        """Return P[K > edge | Y = answer] for each answer and its edge."""
        total = np.logaddexp(*(side.logs for side in self.sums_around(answers)))
        outside = edges + 1 >= answers
        shares = np.empty(answers.shape)
        above = self.upper(answers[outside], edges[outside] + 1)
        below = self.lower(answers[~outside], edges[~outside])
        shares[outside] = np.exp(above.logs - total[outside])
        shares[~outside] = 1 - np.exp(below.logs - total[~outside])
        return shares

    def _sums_beyond(self, side: Side, places: Reals, gaps: Reals) -> Side:
        """Return the sums over the counts beyond some edges, from the cumulative sums of one end of the table.

        Args:
            side: Sums from the end of the table to each count.
            places: Distances of the edges from that end, in records.
            gaps: Distances of the answers from the edges, in records.
        """
        last = side.logs.size - 1
        held = np.clip(places, 0, last).astype(np.int64)
        farther = np.maximum(places - last, 0)
        logs = side.logs[held] - self.rate * (gaps + farther)
        distances = np.where(places < 0, 0.0, side.distances[held] + farther)
        return Side(np.where(places < 0, -np.inf, logs), distances)


@frozen(eq=False, slots=False)
class SummedSides:
    """Sums with the weights of any noise, term by term. Terms below e^−80 of the largest one are left out."""

    table: CountTable  # the distribution of the count
    errors: ErrorLaw  # the distribution of the noise
    span: tuple[float, float]  # smallest and largest answer that matter
    _ends: dict[int, tuple[int, int]] = field(init=False, repr=False, default_factory=dict)

    @cached_property
    def _window_changes(self) -> Reals:
        """Answers ("knots") in rising order, between which the same counts matter."""
        low, high = np.floor(self.span[0]), np.ceil(self.span[1])
        bands = min(_MOST_BANDS, 2 + self.table.logs.size // _BAND)
        return np.unique(np.round(np.linspace(low, high, bands)))

    @cached_property
    def _blocks_of_64(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Reals]:
        """First index, last index, and largest log probability of each 64 counts."""
        firsts = np.arange(0, self.table.logs.size, _BAND)
        lasts = np.append(firsts[1:], self.table.logs.size) - 1
        return firsts, lasts, np.maximum.reduceat(self.table.logs, firsts)

    def _counts_of_band(self, band: int) -> slice:
        """Return the indices of the counts that matter to the answers between the knots band − 1 and band."""
        start = self._ends_at_knot(band - 1)[0] if band else 0
        return slice(start, self._ends_at_knot(band)[1] if band < self._window_changes.size else self.table.logs.size)

    def _ends_at_knot(self, knot: int) -> tuple[int, int]:
        """Return the first index of the counts that matter to the answer at a knot, and the index after the last."""
        if knot not in self._ends:
            firsts, lasts, peaks = self._blocks_of_64
            middle = self._window_changes[knot] - self.table.first
            near, far = np.clip(middle, firsts, lasts), np.where(2 * middle < firsts + lasts, lasts, firsts)
            least = (peaks + self.errors.log_density(middle - far)).max()
            matter = np.flatnonzero(peaks + self.errors.log_density(middle - near) >= least - DEPTH)
            start, stop = int(firsts[matter[0]]), int(lasts[matter[-1]]) + 1
            logs = self.table.logs[start:stop] + self.errors.log_density(middle - np.arange(start, stop))
            matter = np.flatnonzero(logs >= logs.max() - DEPTH)
            self._ends[knot] = start + int(matter[0]), start + int(matter[-1]) + 1
        return self._ends[knot]

    def lower(self, answers: Reals, edges: Reals) -> Side:
        """Return the sums over the counts up to each edge."""
        return self._both_sides(answers, edges)[0]

    def upper(self, answers: Reals, edges: Reals) -> Side:
        """Return the sums over the counts from each edge on."""
        return self._both_sides(answers, edges - 1)[1]

    def sums_around(self, answers: Reals) -> tuple[Side, Side]:
        """Return the sums over the counts up to the floor of each answer, and over those from the next integer on."""
        return self._both_sides(answers, np.floor(answers))

    def share_above(self, answers: Reals, edges: Reals) -> Reals:
        """Return P[K > edge | Y = answer] for each answer and its edge."""
        below, above = self._both_sides(answers, edges)
        with np.errstate(over="ignore"):
            return 1 / (1 + np.exp(below.logs - above.logs))

    def _both_sides(self, answers: Reals, edges: Reals) -> tuple[Side, Side]:
        """Return the sums over the counts up to each edge, and over those from the next integer on."""
        found = np.empty((4, answers.size))
        bands = np.searchsorted(self._window_changes, answers, side="right")
        order = np.argsort(bands, kind="stable")
        used, firsts = np.unique(bands[order], return_index=True)
        for band, rows in zip(used.tolist(), np.split(order, firsts[1:]), strict=False):
            columns = self._counts_of_band(band)
            step = max(1, _ENTRIES // max(1, columns.stop - columns.start))
            for begin in range(0, rows.size, step):
                some = rows[begin : begin + step]
                found[:, some] = self._side_sums(answers[some], edges[some], columns)
        return Side(found[0], found[1]), Side(found[2], found[3])

    def _side_sums(self, answers: Reals, edges: Reals, columns: slice) -> Reals:
        """Return the logarithm and the mean distance of each side, shape (4, answers).

        A count of weight 0 follows the last one, so that the sums above an edge are never empty.
        """
        first, last = self.table.first + columns.start, self.table.first + columns.stop
        counts = np.arange(first, last + 1, dtype=np.float64)
        terms = self.errors.log_density(answers[:, None] - counts)
        terms += np.append(self.table.logs[columns], -np.inf)
        peaks = terms.max(axis=1, keepdims=True)
        terms -= peaks
        np.exp(terms, out=terms)
        away = counts - (edges[:, None] + 0.5)
        np.abs(away, out=away)
        away -= 0.5  # distances to the edge, or to the next count for counts above the edge
        away *= terms
        splits = np.clip(edges - first + 1, 0, last - first).astype(np.int64)
        starts = np.arange(answers.size) * counts.size
        places = np.stack([starts, starts + splits], axis=1).ravel()
        masses, moments = (np.add.reduceat(values.ravel(), places).reshape(-1, 2) for values in (terms, away))
        masses[splits == 0, 0] = 0.0
        with np.errstate(divide="ignore"):
            logs = np.log(masses) + peaks
        distances = np.divide(moments, masses, out=np.zeros_like(masses), where=masses > 0)
        return np.stack([logs, distances], axis=2).reshape(-1, 4).T


def mean_of(answers: Reals, sides: tuple[Side, Side]) -> tuple[Reals, Reals]:
    """Return the logarithm of the sum of all weights and the mean count, from the sums on both sides of each answer."""
    return np.logaddexp(sides[0].logs, sides[1].logs), np.floor(answers) + mean_beyond_floor(sides)


def mean_beyond_floor(sides: tuple[Side, Side]) -> Reals:
    """Return the mean count minus the floor of the answer, from the sums on both sides of each answer."""
    below, above = sides
    with np.errstate(over="ignore"):
        share = 1 / (1 + np.exp(below.logs - above.logs))
        rest = 1 / (1 + np.exp(above.logs - below.logs))
    return np.asarray(share * (1 + above.distances) - rest * below.distances)


def _geometric_sums(logs: Reals, rate: float) -> Side:
    """Return ln Σ_j e^(logs[i − j] − rate·j) for each i, and the weighted mean of j, by doubling the reach of j.

    Sums are kept relative to their largest terms. The ratios of these are products of ratios of neighbours, so that
    nothing underflows. Doubling stops if further terms are below 1e-20 of the largest one. No term from farther away
    than the range of the logarithms over the rate is the largest one.
    """
    peaks, step, range_of_logs = logs.copy(), 1, np.ptp(logs)
    scratch, spare = np.empty((2, logs.size))  # new arrays of this size would cost more than their sums
    while step < logs.size and rate * step <= range_of_logs:
        np.maximum(peaks[step:], np.subtract(peaks[:-step], rate * step, out=scratch[step:]), out=peaks[step:])
        step *= 2
    with np.errstate(invalid="ignore", divide="ignore"):
        masses = np.nan_to_num(np.exp(logs - peaks))
        fades = np.nan_to_num(np.exp((peaks[:-1] - peaks[1:]) - rate))
        moments, step = np.zeros_like(logs), 1
        while step < logs.size and fades.max() > _FADED:
            moments[step:] += np.multiply(moments[:-step], fades, out=scratch[step:])
            farther = np.multiply(masses[:-step], fades, out=scratch[step:])
            masses[step:] += farther
            farther *= step
            moments[step:] += farther
            following = np.multiply(fades[step:], fades[:-step], out=spare[: max(0, fades.size - step)])
            fades, spare, step = following, fades, 2 * step
        sums = peaks + np.log(masses)
    return Side(sums, np.divide(moments, masses, out=moments, where=masses > 0))


_CHUNK = 1 << 15  # answers whose intermediate arrays stay in the cache
_MANY = 1 << 20  # answers for one task of the thread pool
_SHORT = 20_000.0  # scales: over so many an exponent loses 4e-12, and a mean 2e-12 standard deviations
_FADED = 1e-20  # relative to the largest term of a sum: smaller terms do not matter
_FAR = 50.0  # scales: e^−50 of a sum is below the precision of a double
_SOUND = 40.0  # nats by which a sum must exceed the counts that are left out: their share is below double precision


@frozen
class LaplaceIntervals:
    """Tables for the posterior mean under Laplace noise of scale b; interval m has the answers between m and m + 1.

    For an answer y in m..m + 1 the counts up to m have the weight L·e^(−(y−m)/b), those above m have the weight
    U·e^(−(m+1−y)/b). With the means of both groups of counts, the posterior mean is
    below + rise / (1 + e^(logit + (1 − 2(y−m))/b)) with logit = ln(L/U).
    """

    first: int  # first integer m
    below: Reals  # mean of the counts up to m, in records
    rise: Reals  # mean of the counts above m minus `below`, in records
    logit: Reals  # ln(L/U); in the middle of an interval the mean depends on it alone, however small the scale is
    scale: float  # scale b in records

    @property
    def ends(self) -> tuple[int, int]:
        """Smallest and largest integer that an interval has as its end."""
        return self.first, self.first + self.below.size

    @property
    def covered_answers(self) -> tuple[float, float]:
        """Smallest and largest answer with a mean in the intervals; infinite if no count lies beyond an end."""
        first, last = self.ends
        return (-math.inf if self.logit[0] == -math.inf else first, math.inf if self.logit[-1] == math.inf else last)

    def means(self, answers: Reals, extremes: tuple[float, float]) -> Reals:
        """Return the posterior mean for each answer, in the shape of the answers.

        Beyond the intervals it is the mean at their end.

        `extremes` are the smallest and the largest answer.
        """
        flat = np.ascontiguousarray(answers).reshape(-1)
        means = np.empty_like(flat)
        starts = range(0, flat.size, _MANY)
        (first, last), (lowest, highest) = self.ends, extremes
        is_inside = first <= lowest and highest < last
        with ThreadPoolExecutor(min(os.cpu_count() or 1, len(starts) or 1)) as pool:
            for done in [pool.submit(self._write_means, flat, means, start, is_inside=is_inside) for start in starts]:
                done.result()
        return means.reshape(answers.shape)

    def _write_means(self, answers: Reals, means: Reals, start: int, *, is_inside: bool) -> None:
        """Write the means of `_MANY` answers, from index `start` on, in chunks that stay in the cache.

        For an answer y between m and m + 1, the exponent is logit + (1 − 2(y − m))/b with the scale b. If the intervals
        span few scales, it is computed as g(m) − 2·(y − first)/b, with g looked up in a table: this is faster and
        precise enough. `is_inside`: no answer is beyond the intervals.
        """
        (low, high), slope = self.ends, -2 / self.scale
        is_short, last = (high - low) < _SHORT * self.scale, np.nextafter(high - low, 0)
        odds = self.logit - slope * (np.arange(self.logit.size) + 0.5) if is_short else self.logit
        places, floors = np.empty(_CHUNK, dtype=np.int64), np.empty(_CHUNK, dtype=np.int32)
        scratch, looked_up = np.empty(_CHUNK), np.empty(_CHUNK)
        with np.errstate(all="ignore"):
            for begin in range(start, min(start + _MANY, answers.size), _CHUNK):
                piece = answers[begin : begin + _CHUNK]
                mean = means[begin : begin + _CHUNK]
                place, floor = places[: piece.size], floors[: piece.size]
                part, value = scratch[: piece.size], looked_up[: piece.size]
                np.subtract(piece, low, out=part)
                if not is_inside:
                    np.clip(part, 0, last, out=part)
                floor[:] = part  # conversion to 32 bits is several times as fast as to 64 bits
                place[:] = floor
                if not is_short:
                    part -= place
                    part -= 0.5
                part *= slope
                part += odds.take(place, out=value, mode="clip")
                np.exp(part, out=part)
                part += 1
                np.divide(self.rise.take(place, out=value, mode="clip"), part, out=mean)
                mean += self.below.take(place, out=value, mode="clip")


def laplace_intervals(
    law: CountDistribution, size: int, scale: float, extremes: tuple[float, float], most: int
) -> LaplaceIntervals | None:
    """Return the intervals for answers between two extremes; None if the table would span more than `most` counts.

    Counts so improbable that their prior probabilities have lost digits are left out. Cells in which such counts may
    matter are left out too: the means of answers there must be summed separately.
    """
    (lowest, highest), reach, depth = extremes, math.ceil(_FAR * scale) + 1, law.depth
    first = bulk_end(law, depth, max(0, math.floor(min(lowest, law.mode)) - reach))
    last = bulk_end(law, depth, min(size, math.ceil(max(highest, law.mode)) + reach))
    if last - first > most:
        return None
    table = CountTable.between(law, first, last)
    floors = np.arange(first - 1, last + 1, dtype=np.float64)
    from_first, from_last = (_geometric_sums(logs, 1 / scale) for logs in (table.logs, table.logs[::-1]))
    lower = Side(np.append(-np.inf, from_first.logs), np.append(0.0, from_first.distances))
    upper = Side(np.append(from_last.logs[::-1], -np.inf), np.append(from_last.distances[::-1], 0.0))
    below, above = floors - lower.distances, floors + 1 + upper.distances
    # If the counts up to m lie near 0, m minus a distance would lose the digits of their mean: it is summed directly.
    inside = np.flatnonzero(below[1:] < floors[1:] / 2) + 1
    if inside.size:
        with np.errstate(divide="ignore"):
            weighted = table.logs + np.log(np.arange(table.logs.size))
        moments = _geometric_sums(weighted, 1 / scale).logs
        below[inside] = first + np.exp(moments[inside - 1] - lower.logs[inside])
    below[0], above[-1] = above[0], below[-1]
    largest = np.maximum(lower.logs, upper.logs) - table.logs.max()
    sound = np.flatnonzero(largest > _SOUND - depth)
    kept = slice(int(sound[0]), int(sound[-1]) + 1)
    logit = lower.logs - upper.logs
    return LaplaceIntervals(first - 1 + kept.start, below[kept], (above - below)[kept], logit[kept], scale)


_POINTS = 24  # nodes of a polynomial, which then has the precision of a double in an interval
_FARTHEST = 40  # standard deviations from the mode: there the density has fallen by e^800
_MARGIN = 1024  # records from each end of the counts in which the quantities are not smooth
_PIECE = 1 << 18  # answers evaluated at once; their intermediate arrays take some megabytes
_NODES = np.polynomial.chebyshev.chebpts1(_POINTS)


@frozen
class WideIntervals:
    """The quantities of `LaplaceIntervals` as polynomials in m, for counts of too many records to be tabulated.

    The quantities change on the scale of the standard deviation of the count, and of the distance to the nearest end.
    In an interval half as long as the smaller of the two, the polynomial through 24 integers gives them at every
    integer.
    """

    prior: Factor  # the distribution of the count before an answer
    size: int  # number of records
    mechanism: SymmetricNoise  # the noise
    edges: Reals  # first integer of each interval, then the end of the last interval

    @property
    def covered_answers(self) -> tuple[float, float]:
        """Smallest and largest answer whose means the intervals contain."""
        return float(self.edges[0]), float(self.edges[-1] - 1)

    def means(self, answers: Reals, extremes: tuple[float, float]) -> Reals:
        """Return the posterior mean for each answer, shape (answers,); nan for answers that are not covered.

        If there are more answers than integers between them, the quantities are tabulated at every integer.
        `extremes` are the smallest and the largest answer.
        """
        (first, last), (lowest, highest), scale = self.covered_answers, extremes, self.mechanism.errors.spread
        low, high = max(first, math.floor(lowest)), min(last, math.floor(highest))
        fits = dict[int, Reals]()
        if 0 <= high - low < answers.size:
            integers = np.arange(low, high + 1)
            distance, rise, logit = self._interpolated_quantities(integers, fits)
            means = LaplaceIntervals(int(low), integers - distance, rise, logit - 1 / scale, scale).means(
                answers, extremes
            )
            if lowest < first or highest > last:
                means[(answers < first) | (answers > last)] = np.nan
            return means
        means = np.full_like(answers, np.nan)
        places = np.flatnonzero((answers >= first) & (answers <= last))
        for start in range(0, places.size, _PIECE):
            part = places[start : start + _PIECE]
            floors = np.floor(answers[part])
            distance, rise, logit = self._interpolated_quantities(floors, fits)
            nearness = -2 * (answers[part] - floors) / scale
            with np.errstate(over="ignore"):
                means[part] = floors - distance + rise / (1 + np.exp(logit + nearness))
        return means

    def _interpolated_quantities(self, integers: Reals, fits: dict[int, Reals]) -> Reals:
        """Return the three quantities at covered integers, shape (3, integers).

        Add the fits of their intervals to `fits`.
        """
        intervals = np.searchsorted(self.edges, integers, side="right") - 1
        found = np.empty((3, integers.size))
        for interval in np.unique(intervals).tolist():
            if interval not in fits:
                fits[interval] = self._fit_interval(interval)
            here = intervals == interval
            middle, half = self._middle_and_half(interval)
            found[:, here] = np.polynomial.chebyshev.chebval((integers[here] - middle) / half, fits[interval])
        return found

    def _middle_and_half(self, interval: int) -> tuple[float, float]:
        """Return the middle of an interval and half of its length."""
        start, stop = self.edges[interval : interval + 2]
        return float(start + stop) / 2, float(stop - start) / 2

    def _fit_interval(self, interval: int) -> Reals:
        """Return the coefficients of the three polynomials of an interval, shape (points, 3)."""
        middle, half = self._middle_and_half(interval)
        integers = np.unique(np.round(middle + half * _NODES)).astype(int)
        known = np.array([self._exact_quantities(int(integer)) for integer in integers])
        places = (integers - middle) / half
        return np.polynomial.chebyshev.chebfit(places, known, places.size - 1)

    def _exact_quantities(self, integer: int) -> tuple[float, float, float]:
        """Return the three quantities at m: m minus the mean of the counts up to m, the rise, and the log-odds.

        The rise is to the mean of the counts above m. The log-odds are those of the two groups for the answer m.
        """
        law = smooth_law([self.prior, self.mechanism.likelihood(integer, self.size)])
        log_below, below = law.part(0, integer)
        log_above, above = law.part(integer + 1, self.size)
        return integer - below, above - below, log_below - log_above


def wide_intervals(population: Population, mechanism: SymmetricNoise) -> WideIntervals | None:
    """Return intervals for answers within 40 standard deviations of the mode and at least 1,024 records from both ends.

    Return None if that leaves no interval, or if the quantities are not smooth: if the prior is not log-concave, or has
    no smooth logarithm.
    """
    prior = population.smooth_prior
    if prior is None or not prior.is_log_concave:
        return None
    law, size = population.law(), population.records
    deviation = law.variance**0.5
    reach = int(_FARTHEST * deviation)
    edge = max(_MARGIN, law.mode - reach)
    last = min(size - _MARGIN, law.mode + reach)
    edges = [edge]
    while edge < last:
        edge += int(min(deviation, edge, size - edge) / 2) + 1
        edges.append(min(edge, last))
    return WideIntervals(prior, size, mechanism, np.array(edges, dtype=np.float64)) if edges[1:] else None
