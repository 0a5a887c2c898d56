"""The mean absolute error of the posterior mean."""

import math

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander

from noisycount.analysis.evaluation.case import Case
from noisycount.analysis.posterior.sides import mean_of
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.gram import POINTS, gram_points
from noisycount.model.search import first_wholes, roots

__all__ = ["mean_error", "mean_estimates", "smooth_pieces"]

_NODES, _WEIGHTS = leggauss(8)  # few points: a piece that they do not tell is halved
# from values at the nodes to the series through them
_TO_SERIES = np.linalg.inv(legvander(_NODES, 7))
_SMOOTH = 1e-7  # of the whole in the last two terms of a series: the terms left out are far smaller
_HALVINGS = 40  # after which a piece is narrower than any bend of a double


def mean_estimates(case: Case, answers: Reals) -> Reals:
    """The posterior mean for each answer, in records."""
    return mean_of(answers, case.belief.around(answers))[1]


def mean_error(case: Case) -> float:
    """E|K − E[K | Y]|, as an integral or a sum over the answers."""
    ends = np.array(case.span)
    if case.errors.is_discrete:
        total = _sum_over_answers(case)
        rate = 1 / case.errors.spread
        beyond = -math.exp(-rate) / math.expm1(-rate) if case.errors.is_geometric else 0.0
    else:
        total = _integral(case, smooth_pieces(case))
        beyond = case.errors.spread if case.errors.is_geometric else 0.0
    return total + (beyond * float(_density_of_error(case, ends).sum()) if beyond else 0.0)


def _density_of_error(case: Case, answers: Reals) -> Reals:
    """Σ_k P[K = k]·f(y − k)·|k − e(y)| for each answer y and its posterior mean e(y).

    With j = ⌊e⌋, it is the sum of w·(e − k) plus twice that of w·(k − e) over the counts above j;
    the first vanishes where the belief is true. An estimate below the answer has the mirror image.
    """
    means = mean_estimates(case, answers)
    floors = np.floor(means)
    is_up = floors >= np.floor(answers)
    found = np.empty(answers.shape)
    up = case.truth.upper(answers[is_up], floors[is_up] + 1)
    found[is_up] = 2 * np.exp(up.logs) * (up.distances + (floors + 1 - means)[is_up])
    down = case.truth.lower(answers[~is_up], floors[~is_up])
    found[~is_up] = 2 * np.exp(down.logs) * (down.distances + (means - floors)[~is_up])
    if case.truth is not case.belief:
        total, true_means = mean_of(answers, case.truth.around(answers))
        found += np.where(is_up, 1, -1) * np.exp(total) * (means - true_means)
    return found * case.density_scale


def _cuts_at_integers(case: Case) -> Reals:
    """The answers at which the posterior mean passes an integer, in rising order."""
    low, high = case.span
    ends = mean_estimates(case, np.array([low, high]))
    goals = np.arange(math.ceil(ends[0]), math.floor(ends[1]) + 1, dtype=np.float64)
    grid = np.unique(np.round(np.linspace(low, high, 2 * goals.size + 2)))
    places = np.searchsorted(mean_estimates(case, grid), goals)
    lows = grid[np.maximum(places - 1, 0)]
    highs = grid[np.minimum(places, grid.size - 1)]
    if case.errors.is_discrete:
        return first_wholes(lambda answers: mean_estimates(case, answers) >= goals, lows, highs)
    return roots(lambda answers: mean_estimates(case, answers) - goals, lows, highs)


def smooth_pieces(case: Case) -> Reals:
    """The ends of the pieces within which the density of the error is smooth."""
    low, high = case.span
    edges = [np.array(case.span), _cuts_at_integers(case)]
    counts = case.inner_integers
    grain = min(case.errors.spread, case.errors.spread**2)
    if case.errors.smooth_over == 0:
        edges.append(counts)
    if grain < 1:
        middles = roots(lambda y: _excess_above(case, y, counts[:-1]), counts[:-1], counts[1:])
        steps = grain * 2.0 ** np.arange(math.ceil(-math.log2(grain)) + 1)
        spread = np.concatenate([-steps[::-1], [0.0], steps])
        edges.append((middles[:, None] + spread).ravel())
        edges.append((counts[:, None] + spread).ravel())
    longest = max(1.0, case.errors.spread)
    edges.append(np.linspace(low, high, math.ceil((high - low) / longest) + 1))
    joined = np.unique(np.concatenate(edges))
    return joined[(joined >= low) & (joined <= high)]


def _excess_above(case: Case, answers: Reals, floors: Reals) -> Reals:
    """By how much the belief in counts above a floor exceeds that in the others, in nats."""
    above, below = case.belief.upper(answers, floors + 1), case.belief.lower(answers, floors)
    return np.nan_to_num(above.logs - below.logs)


def _integral(case: Case, edges: Reals) -> float:
    """The integral over the pieces, which are halved until eight points tell them."""
    starts, lengths = edges[:-1], np.diff(edges)
    total = 0.0
    for _ in range(_HALVINGS if lengths.size else 0):
        points = starts[:, None] + lengths[:, None] * ((1 + _NODES) / 2)
        values = _density_of_error(case, points.ravel()).reshape(points.shape)
        masses = values @ _WEIGHTS * (lengths / 2)
        rest = np.abs(values @ _TO_SERIES[-2:].T).sum(axis=1) * lengths
        rough = rest > _SMOOTH * (total + masses.sum()) / math.sqrt(lengths.size)
        total += float(masses[~rough].sum())
        if not rough.any():
            break
        halves = lengths[rough] / 2
        starts = np.concatenate([starts[rough], starts[rough] + halves])
        lengths = np.concatenate([halves, halves])
    return total


def _sum_over_answers(case: Case) -> float:
    """The sum over all whole answers, in runs between the places where it may bend."""
    low, high = case.span
    bends = [np.array([low, high + 1]), _cuts_at_integers(case)]
    longest = max(POINTS, int(case.errors.spread / 2))
    if case.errors.smooth_over == 0:
        bends.append(case.inner_integers)
    bends.append(np.arange(low, high + 1, longest))
    edges = np.unique(np.concatenate(bends))
    edges = edges[(edges >= low) & (edges <= high + 1)]
    points, weights = gram_points(edges)
    return float(_density_of_error(case, points) @ weights)
