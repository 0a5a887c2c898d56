"""Mean absolute error of the posterior mean, and the probability that the mean is closer to the count than the answer.

Both are integrals over the answers if the noise is continuous, and sums over the answers if it is discrete.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander
from numpy.typing import NDArray

from noisycount.analysis.evaluation.error_by_count import ErrorByCount
from noisycount.analysis.evaluation.error_by_piece import ErrorByPiece
from noisycount.analysis.evaluation.estimates import FAR, Case
from noisycount.analysis.posterior.laplace_intervals import GeometricSides, Side, mean_of
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.smooth_law import POINTS, gram_sum_rule
from noisycount.model.searches import first_wholes, roots

_NODES, _WEIGHTS = leggauss(8)  # few nodes: a piece on which they do not suffice is halved

# Matrix from values at the nodes to the coefficients of the Legendre series through them.
_TO_SERIES = np.linalg.inv(legvander(_NODES, 7))
_SMOOTH = 1e-7  # largest last two terms of a series, relative to the integral: later terms are far smaller
_CHUNK = 1 << 15  # answers evaluated at once; their intermediate arrays stay in the cache
_HALVINGS = 40  # largest number of halvings of a piece


def mean_estimates(case: Case, answers: Reals) -> Reals:
    """Return the posterior mean for each answer, in records."""
    return mean_of(answers, case.belief.sums_around(answers))[1]


def _density_of_error(case: Case, answers: Reals) -> Reals:
    """Return Σ_k w_k·|k − e| for each answer y, with weights w_k = P[K = k]·f(y − k) and its posterior mean e.

    With j = ⌊e⌋, it is Σ_k w_k·(e − k) + 2·Σ_{k > j} w_k·(k − e). The first sum is 0 if the assumed population is the
    true one. If the estimate is below the integer part of the answer, the mirror image is used.
    """
    means = mean_estimates(case, answers)
    floors = np.floor(means)
    is_up = floors >= np.floor(answers)
    errors = np.empty(answers.shape)
    up = case.truth.upper(answers[is_up], floors[is_up] + 1)
    errors[is_up] = 2 * np.exp(up.logs) * (up.distances + (floors + 1 - means)[is_up])
    down = case.truth.lower(answers[~is_up], floors[~is_up])
    errors[~is_up] = 2 * np.exp(down.logs) * (down.distances + (means - floors)[~is_up])
    if case.truth is not case.belief:
        total, true_means = mean_of(answers, case.truth.sums_around(answers))
        errors += np.where(is_up, 1, -1) * np.exp(total) * (means - true_means)
    return errors * case.density_scale


def _cuts_at_integers(case: Case) -> Reals:
    """Return the answers at which the posterior mean passes an integer, in rising order."""
    low, high = case.span
    ends = mean_estimates(case, np.array(case.span))
    goals = np.arange(math.ceil(ends[0]), math.floor(ends[1]) + 1, dtype=np.float64)
    if isinstance(case.belief, GeometricSides) and not case.errors.is_discrete:
        return _cuts_of_laplace(case, case.belief, goals)
    grid = np.unique(np.round(np.linspace(low, high, 2 * goals.size + 2)))
    places = np.searchsorted(mean_estimates(case, grid), goals)
    lows = grid[np.maximum(places - 1, 0)]
    highs = grid[np.minimum(places, grid.size - 1)]
    if case.errors.is_discrete:
        return first_wholes(lambda answers: mean_estimates(case, answers) >= goals, lows, highs)
    return roots(lambda answers: mean_estimates(case, answers) - goals, lows, highs)


def _cuts_of_laplace(case: Case, belief: GeometricSides, goals: Reals) -> Reals:
    """Return the answers under Laplace noise at which the posterior mean is each of some integers, in rising order.

    With the weights e^a·e^(−u/b) of the counts up to m, and e^c·e^(−(1 − u)/b) of the others, the mean at m + u is the
    mean of the others with probability 1/(1 + e^(a − c + (1 − 2u)/b)). This gives u for a mean.
    """
    wholes = np.arange(case.span[0], case.span[1] + 1)
    floors = wholes[:-1]
    below, above = belief.lower(floors, floors), belief.upper(wholes[1:], wholes[1:])
    cells = np.clip(np.searchsorted(mean_estimates(case, wholes), goals) - 1, 0, floors.size - 1)
    rise = goals - floors[cells] + below.distances[cells]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_odds = np.log((1 + above.distances + below.distances)[cells] / rise - 1)
        places = 0.5 + ((below.logs - above.logs)[cells] - log_odds) / (2 * belief.rate)
    return floors[cells] + np.clip(np.nan_to_num(places), 0.0, 1.0)


def smooth_pieces(case: Case) -> Reals:
    """Return the ends of the ranges of answers ("pieces") within which the density of the error is smooth."""
    low, high = case.span
    edges = [np.array(case.span), _cuts_at_integers(case)]
    counts = case.inner_integers
    grain = min(case.errors.spread, case.errors.spread**2)
    if case.errors.smooth_over == 0:
        edges.append(counts)
    if grain < 1:
        middles = roots(lambda y: _log_odds_above(case, y, counts[:-1]), counts[:-1], counts[1:])
        steps = grain * 2.0 ** np.arange(math.ceil(-math.log2(grain)) + 1)
        spread = np.concatenate([-steps[::-1], [0.0], steps])
        edges.append((middles[:, None] + spread).ravel())
        edges.append((counts[:, None] + spread).ravel())
    longest = max(1.0, case.errors.spread)
    edges.append(np.linspace(low, high, math.ceil((high - low) / longest) + 1))
    joined = np.unique(np.concatenate(edges))
    return joined[(joined >= low) & (joined <= high)]


def _log_odds_above(case: Case, answers: Reals, floors: Reals) -> Reals:
    """Return the posterior log-odds of the counts above a floor against the other counts."""
    above, below = case.belief.upper(answers, floors + 1), case.belief.lower(answers, floors)
    return np.nan_to_num(above.logs - below.logs)


def _integrals_over_pieces(case: Case, starts: Reals, stops: Reals) -> Reals:
    """Return the integral of the density of the error over each piece. Pieces are halved until eight nodes suffice."""
    lengths = stops - starts
    owners, masses = np.arange(lengths.size), np.zeros(lengths.size)
    for _ in range(_HALVINGS if lengths.size else 0):
        integrals, last_terms = _quadrature_over_pieces(case, starts, lengths)
        rough = last_terms > _SMOOTH * (masses.sum() + integrals.sum()) / math.sqrt(lengths.size)
        masses += np.bincount(owners, np.where(rough, 0.0, integrals), masses.size)
        if not rough.any():
            break
        halves = lengths[rough] / 2
        starts = np.concatenate([starts[rough], starts[rough] + halves])
        lengths, owners = np.concatenate([halves, halves]), np.concatenate([owners[rough], owners[rough]])
    return masses


def _quadrature_over_pieces(case: Case, starts: Reals, lengths: Reals) -> tuple[Reals, Reals]:
    """Return the integral of the density of the error over each piece, and the size of its last two terms."""
    integrals, last_terms = np.empty((2, lengths.size))
    step = _CHUNK // _NODES.size
    for begin in range(0, lengths.size, step):
        some = slice(begin, begin + step)
        nodes = starts[some, None] + lengths[some, None] * ((1 + _NODES) / 2)
        values = _density_of_error(case, nodes.ravel()).reshape(nodes.shape)
        integrals[some] = values @ _WEIGHTS * (lengths[some] / 2)
        last_terms[some] = np.abs(values @ _TO_SERIES[-2:].T).sum(axis=1) * lengths[some]
    return integrals, last_terms


def _sum_over_answers(case: Case) -> float:
    """Return the sum of the density of the error over all integer answers, by quadrature between possible kinks."""
    low, high = case.span
    bends = [np.array([low, high + 1]), _cuts_at_integers(case)]
    longest = max(POINTS, int(case.errors.spread / 2))
    if case.errors.smooth_over == 0:
        bends.append(case.inner_integers)
    bends.append(np.arange(low, high + 1, longest))
    edges = np.unique(np.concatenate(bends))
    edges = edges[(edges >= low) & (edges <= high + 1)]
    points, weights = gram_sum_rule(edges)
    return float(_density_of_error(case, points) @ weights)


# Smallest error, in spreads of the noise, that is summed by pieces: what they leave out is 1e-11 of a spread.
_LEAST_BY_PIECE = 0.05


def error_by_piece(case: Case) -> float | None:
    """Return the mean absolute error by sums around each integer, or None if these sums are too imprecise."""
    by_piece = ErrorByPiece.of_case(case)
    found = None if by_piece is None else by_piece.sum
    if found is None:
        return None
    total = found.error
    for low, high in found.gaps:
        if case.errors.is_discrete:
            total += float(_density_of_error(case, np.arange(low, high + 1)).sum())
            continue
        inner = smooth_pieces(replace(case, span=(math.floor(low), math.ceil(high))))
        edges = np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]])
        total += float(_integrals_over_pieces(case, edges[:-1], edges[1:]).sum())
    return total if total >= _LEAST_BY_PIECE * case.errors.spread else None


_ROWS = 64  # counts that are averaged at once
_ZOOMS = 12  # each by 4: to 1e-7 of a piece, where the excess is below rounding
_ZOOM = np.linspace(0, 1, 9)  # eight intervals, of which the two around the lowest point are kept
_EQUAL = 1e-11  # relative tolerance of the weighted distances on both sides, above their rounding error
_NEAR = 1e-13  # tolerance of a mean, in records or relative, above its rounding error


# Smallest error, in spreads of the noise, that is summed by counts: a distance of a mean has the rounding of a spread.
_LEAST = 1e-5


@frozen(eq=False)
class MeanEstimate:
    """The posterior mean as the estimate."""

    case: Case

    @property
    def error(self) -> float:
        """Mean absolute error E|K − E[K | Y]|, an integral or a sum over the answers."""
        case = self.case
        if not case.is_smooth and (by_piece := error_by_piece(case)) is not None:
            return by_piece
        if (by_count := ErrorByCount.of_case(case)) is not None:
            average = by_count.average
            if average >= _LEAST * case.errors.spread:
                return average
        ends = np.array(case.span)
        if case.errors.is_discrete:
            total = _sum_over_answers(case)
            rate = 1 / case.errors.spread
            beyond = -math.exp(-rate) / math.expm1(-rate) if case.errors.is_geometric else 0.0
        else:
            edges = smooth_pieces(case)
            total = float(_integrals_over_pieces(case, edges[:-1], edges[1:]).sum())
            beyond = case.errors.spread if case.errors.is_geometric else 0.0
        return total + (beyond * float(_density_of_error(case, ends).sum()) if beyond else 0.0)

    @property
    def improvement(self) -> float:
        """Probability P[|K − E[K | Y]| < |K − Y|]."""
        if self.case.errors.is_discrete:
            return _improvement_and_tie_of_whole_answers(self.case)[0]
        return _improvement_of_real_answers(self.case)

    @property
    def tie(self) -> float:
        """Probability P[|K − E[K | Y]| = |K − Y|], 0 if the noise is continuous."""
        return _improvement_and_tie_of_whole_answers(self.case)[1] if self.case.errors.is_discrete else 0.0


def _improvement_of_real_answers(case: Case) -> float:
    """Return the probability that the posterior mean is closer to the count than the answer, for continuous noise.

    Given K = k, the mean e is closer than the answer y if e < y and y > y_k, or if e > y and y < y_k. Here y_k is the
    answer at which (e + y)/2 is k. The sign of e − y changes at the answers that `_answers_equal_to_mean` returns.
    """
    counts, believed = case.counts, case.belief.table
    low, high = 2 * counts - believed.last, 2 * counts - believed.first
    turns = roots(lambda y: (mean_estimates(case, y) - counts) + (y - counts), low, high)[:, None]
    meetings = _answers_equal_to_mean(case)
    starts, stops = meetings[::2], np.append(meetings[1::2], FAR)
    mirrored_starts, mirrored_stops = np.append(-FAR, meetings[1::2]), meetings[::2]
    total = 0.0
    for row in range(0, counts.size, _ROWS):
        rows = slice(row, row + _ROWS)
        some, turn = counts[rows, None], turns[rows]
        here = _runs_within_reach(case, counts[rows], starts, stops)
        chances = case.chances_between(some, np.maximum(starts[here], turn), stops[here]).sum(1)
        here = _runs_within_reach(case, counts[rows], mirrored_starts, mirrored_stops)
        nearer = np.minimum(mirrored_stops[here], turn)
        chances += case.chances_between(some, mirrored_starts[here], nearer).sum(1)
        total += float(case.chances[rows] @ chances)
    return total


def _runs_within_reach(case: Case, counts: Reals, starts: Reals, stops: Reals) -> slice:
    """Return the slice of the runs of answers that contain answers within the reach of the noise of some counts."""
    first = np.searchsorted(stops, counts[0] - case.reach)
    return slice(int(first), int(np.searchsorted(starts, counts[-1] + case.reach, side="right")))


def _answers_equal_to_mean(case: Case) -> Reals:
    """Return the answers at which the sign of posterior mean minus answer changes, in rising order."""

    def excess(answers: Reals) -> Reals:
        return mean_estimates(case, answers.ravel()).reshape(answers.shape) - answers

    believed = case.belief.table
    ends = np.array([believed.first - 1.0, believed.last + 1.0])
    edges = smooth_pieces(case)
    edges = np.concatenate([ends[:1], edges[(edges > ends[0]) & (edges < ends[1])], ends[1:]])
    inner = edges[:-1, None] + np.diff(edges)[:, None] * (np.arange(4) / 4)
    answers = np.append(inner.ravel(), ends[1])
    values = excess(answers)
    touching = _answers_in_dips(answers, values, excess)
    if touching.size:
        answers = np.union1d(answers, touching)
        values = excess(answers)
    above = values >= 0
    changes = np.flatnonzero(above[1:] != above[:-1])
    return roots(excess, answers[changes], answers[changes + 1])


def _answers_in_dips(answers: Reals, values: Reals, excess: Callable[[Reals], Reals]) -> Reals:
    """Return one answer near each minimum of |excess| between neighbours of one sign, as the sign may change twice."""
    near = np.abs(values)
    alike = (values[:-2] >= 0) == (values[2:] >= 0)
    dips = 1 + np.flatnonzero(alike & (near[1:-1] <= near[:-2]) & (near[1:-1] <= near[2:]))
    low, high, sides = answers[dips - 1], answers[dips + 1], np.where(values[dips] >= 0, 1.0, -1.0)
    for _ in range(_ZOOMS):
        if not low.size:
            break
        points = low[:, None] + (high - low)[:, None] * _ZOOM
        lowest = np.clip((sides[:, None] * excess(points)).argmin(axis=1), 1, _ZOOM.size - 2)
        rows = np.arange(low.size)
        low, high = points[rows, lowest - 1], points[rows, lowest + 1]
    return (low + high) / 2


def _improvement_and_tie_of_whole_answers(case: Case) -> tuple[float, float]:
    """Return the probabilities of an improvement and of a tie for discrete noise.

    The sum has every answer that may be closer to the count than the mean. All farther answers count as improvements.
    """
    truth, believed = case.truth.table, case.belief.table
    low = float(min(2 * truth.first - believed.last, believed.first - 1))
    high = float(max(2 * truth.last - believed.first, believed.last + 1))
    low, high = max(low, truth.first - case.reach), min(high, truth.last + case.reach)
    answers = np.arange(low, high + 1)
    sides = case.belief.sums_around(answers)
    means = mean_of(answers, sides)[1]
    middles, is_same = (means + answers) / 2, _is_mean_at_answer(sides)
    allowed = _NEAR * np.maximum(1.0, np.abs(middles))
    up, down = (means >= answers) & ~is_same, (means < answers) & ~is_same
    above = case.truth.upper(answers[up], np.floor((middles + allowed)[up]) + 1)
    below = case.truth.lower(answers[down], np.ceil((middles - allowed)[down]) - 1)
    improved = float(np.exp(above.logs).sum() + np.exp(below.logs).sum()) * case.density_scale
    beyond = case.errors.exceedance(high + 1 - case.counts)
    beyond += case.errors.exceedance(case.counts - low + 1)
    everywhere = mean_of(answers[is_same], case.truth.sums_around(answers[is_same]))[0]
    tied = float(np.exp(everywhere).sum()) * case.density_scale
    nearest = np.round(middles)
    met = ~is_same & (np.abs(middles - nearest) <= allowed) & (nearest != answers)
    tied += float(_joint_probabilities(case, nearest[met], answers[met]).sum())
    return improved + float(case.chances @ beyond), tied


def _is_mean_at_answer(sides: tuple[Side, Side]) -> NDArray[np.bool_]:
    """Return a mask of the answers that equal their posterior means.

    There the weighted distances of the counts on both sides are equal.
    """
    below, above = sides
    with np.errstate(over="ignore", invalid="ignore"):
        rest = np.exp(np.minimum(below.logs - above.logs, 0)) * below.distances
        share = np.exp(np.minimum(above.logs - below.logs, 0)) * (1 + above.distances)
    return np.abs(share - rest) <= _EQUAL * (share + rest)


def _joint_probabilities(case: Case, counts: Reals, answers: Reals) -> Reals:
    """Return P[K = k, Y = y] for counts k and answers y of one shape, without the counts outside the table."""
    table = case.truth.table
    inside = (counts >= table.first) & (counts <= table.last)
    counts_inside, answers_inside = counts[inside], answers[inside]
    chances = table.chances[(counts_inside - table.first).astype(np.int64)]
    return chances * case.errors.between(answers_inside - counts_inside, np.ones(counts_inside.shape))
