"""The averages of the posterior mean, and how often it is nearer to the count than the answer."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.evaluation.case import FAR, Case
from noisycount.analysis.evaluation.mean.errors import mean_error, mean_estimates, smooth_pieces
from noisycount.analysis.posterior.sides import Side, mean_of
from noisycount.model.laws.expansion import Reals
from noisycount.model.search import roots

__all__ = ["MeanEstimate"]

_ROWS = 64  # counts that are averaged at once
_ZOOMS = 12  # each by 4: to 1e-7 of a piece, where the excess is below rounding
_ZOOM = np.linspace(0, 1, 9)  # eight steps, of which the two around the lowest point are kept
_EQUAL = 1e-11  # of both sides: what rounding moves their weighted distances, and more
_NEAR = 1e-13  # of a record, or relative: what rounding moves a mean, and more


@dataclass(frozen=True, slots=True, eq=False)
class MeanEstimate:
    """The posterior mean.

    Attributes:
        case: The count and its answer.
    """

    case: Case

    @property
    def error(self) -> float:
        """E|K − E[K | Y]|."""
        return mean_error(self.case)

    @property
    def improvement(self) -> float:
        """P[|K − E[K | Y]| < |K − Y|]."""
        if self.case.errors.is_discrete:
            return _of_whole_answers(self.case)[0]
        return _of_real_answers(self.case)

    @property
    def tie(self) -> float:
        """P[|K − E[K | Y]| = |K − Y|], 0 if the noise is continuous."""
        return _of_whole_answers(self.case)[1] if self.case.errors.is_discrete else 0.0


def _of_real_answers(case: Case) -> float:
    """From the answers z at which the mean e is the answer, and y_k at which (e + y)/2 is k.

    Given K = k the mean is nearer where e < y and y > y_k, and where e > y and y < y_k.
    """
    counts, believed = case.counts, case.belief.table
    low, high = 2 * counts - believed.last, 2 * counts - believed.first
    turns = roots(lambda y: (mean_estimates(case, y) - counts) + (y - counts), low, high)[:, None]
    meetings = _meetings(case)
    starts, stops = meetings[::2], np.append(meetings[1::2], FAR)
    mirrored_starts, mirrored_stops = np.append(-FAR, meetings[1::2]), meetings[::2]
    total = 0.0
    for row in range(0, counts.size, _ROWS):
        rows = slice(row, row + _ROWS)
        some, turn = counts[rows, None], turns[rows]
        here = _reached(case, counts[rows], starts, stops)
        chances = case.chances_between(some, np.maximum(starts[here], turn), stops[here]).sum(1)
        here = _reached(case, counts[rows], mirrored_starts, mirrored_stops)
        nearer = np.minimum(mirrored_stops[here], turn)
        chances += case.chances_between(some, mirrored_starts[here], nearer).sum(1)
        total += float(case.chances[rows] @ chances)
    return total


def _reached(case: Case, counts: Reals, starts: Reals, stops: Reals) -> slice:
    """The runs of answers that the noise reaches from these counts."""
    first = np.searchsorted(stops, counts[0] - case.reach)
    return slice(int(first), int(np.searchsorted(starts, counts[-1] + case.reach, side="right")))


def _meetings(case: Case) -> Reals:
    """The answers at which the mean passes from above the answer to below it, or back."""

    def excess(answers: Reals) -> Reals:
        return mean_estimates(case, answers.ravel()).reshape(answers.shape) - answers

    believed = case.belief.table
    ends = np.array([believed.first - 1.0, believed.last + 1.0])
    edges = smooth_pieces(case)
    edges = np.concatenate([ends[:1], edges[(edges > ends[0]) & (edges < ends[1])], ends[1:]])
    inner = edges[:-1, None] + np.diff(edges)[:, None] * (np.arange(4) / 4)
    answers = np.append(inner.ravel(), ends[1])
    values = excess(answers)
    touching = _touching(answers, values, excess)
    if touching.size:
        answers = np.union1d(answers, touching)
        values = excess(answers)
    above = values >= 0
    changes = np.flatnonzero(above[1:] != above[:-1])
    return roots(excess, answers[changes], answers[changes + 1])


def _touching(answers: Reals, values: Reals, excess: Callable[[Reals], Reals]) -> Reals:
    """Answers between which the excess changes its sign twice, found where it is nearly 0."""
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


def _of_whole_answers(case: Case) -> tuple[float, float]:
    """The probabilities of an improvement and of a tie, from every answer that leaves them open."""
    truth, believed = case.truth.table, case.belief.table
    low = float(min(2 * truth.first - believed.last, believed.first - 1))
    high = float(max(2 * truth.last - believed.first, believed.last + 1))
    low, high = max(low, truth.first - case.reach), min(high, truth.last + case.reach)
    answers = np.arange(low, high + 1)
    sides = case.belief.around(answers)
    means = mean_of(answers, sides)[1]
    middles, is_same = (means + answers) / 2, _is_answer(sides)
    allowed = _NEAR * np.maximum(1.0, np.abs(middles))
    up, down = (means >= answers) & ~is_same, (means < answers) & ~is_same
    above = case.truth.upper(answers[up], np.floor((middles + allowed)[up]) + 1)
    below = case.truth.lower(answers[down], np.ceil((middles - allowed)[down]) - 1)
    improved = float(np.exp(above.logs).sum() + np.exp(below.logs).sum()) * case.density_scale
    beyond = case.errors.exceedance(high + 1 - case.counts)
    beyond += case.errors.exceedance(case.counts - low + 1)
    everywhere = mean_of(answers[is_same], case.truth.around(answers[is_same]))[0]
    tied = float(np.exp(everywhere).sum()) * case.density_scale
    nearest = np.round(middles)
    met = ~is_same & (np.abs(middles - nearest) <= allowed) & (nearest != answers)
    tied += float(_joint(case, nearest[met], answers[met]).sum())
    return improved + float(case.chances @ beyond), tied


def _is_answer(sides: tuple[Side, Side]) -> NDArray[np.bool_]:
    """Whether the mean is the answer: the weighted distances to both sides are equal."""
    below, above = sides
    with np.errstate(over="ignore", invalid="ignore"):
        rest = np.exp(np.minimum(below.logs - above.logs, 0)) * below.distances
        share = np.exp(np.minimum(above.logs - below.logs, 0)) * (1 + above.distances)
    return np.abs(share - rest) <= _EQUAL * (share + rest)


def _joint(case: Case, counts: Reals, answers: Reals) -> Reals:
    """P[K = k, Y = y] for counts and answers of one shape."""
    table = case.truth.table
    inside = (counts >= table.first) & (counts <= table.last)
    held, given = counts[inside], answers[inside]
    chances = table.chances[(held - table.first).astype(np.int64)]
    return chances * case.errors.between(given - held, np.ones(held.shape))
