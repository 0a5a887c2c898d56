"""Learning of a prior from the answers of a table, by expectation maximisation.

`learn_levels` finds a mixture of concentrations for each level of a tree; `learn_cell_law` finds the
distribution of a count of a flat table.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.answers import is_whole
from noisycount.analysis.tables.likeliest import LeastSquares, least_squares
from noisycount.analysis.tables.likelihoods import Bounds, Counts, LevelAnswers, Model
from noisycount.analysis.tables.passes import Settings, UpwardPass, downward_pass
from noisycount.analysis.tables.prior import LearnedLevel
from noisycount.analysis.tables.split import Split
from noisycount.analysis.tables.sums import sum_of_logs
from noisycount.analysis.tables.tree_solution import (
    LEARNED,
    centred_settings,
    imprecise_nodes,
    revised_settings,
)
from noisycount.model.laws.gamma import Reals
from noisycount.model.tables.cells import SHAPE, CellLaw

# Concentrations of an average child, from "nearly all in one child" to "as even as chance", a factor of 8 apart.
# Mixtures of neighbours represent what is between.
_GRID = np.array([0.06, 0.5, 4.0, 32.0, 256.0, 2048.0])
_FEWEST = 2  # index of the largest concentration of the shortest grid
_SAMPLE = 48  # number of nodes of a level for the first mixture
_STEPS = 200  # number of steps of the first mixture
_REACH = 7.0  # standard deviations of an estimate within which its count is assumed
_DOUBT = 2.0  # weight of the even prior of the mixture, in nodes
_RARE = 0.05  # a concentration is removed if a smaller share of the nodes has it
# Largest concentration, times the average count of a child. Under larger ones, counts vary by chance more than by their
# shares, so that no answer distinguishes them.
_EVEN = 1.5
_PASSES = 3  # number of passes over the tree; more change the mixture by less than its uncertainty
_SETTLED = 0.02  # change of a probability at which learning ends


def learn_levels(model: Model, settings: Settings) -> tuple[tuple[LearnedLevel, ...], Settings]:
    """Return the mixtures that nearly maximise the probability of the answers, and settings for further passes.

    The mixtures begin with some nodes of each level and least-squares estimates of their children. Passes over the
    whole tree improve them by expectation maximisation.
    """
    estimates = least_squares(model, is_positive=False)
    settings = replace(settings, ends=_likely_ends(model, estimates))
    cells = [np.bincount(level).astype(np.float64) for level in model.tree.levels[1:]]
    levels = tuple(_first_mixture(model, estimates, level, below) for level, below in enumerate(cells))
    for _ in range(_PASSES):
        down = downward_pass(UpwardPass(model, levels, settings))
        revised = revised_settings(settings, down, imprecise_nodes(down, LEARNED), is_shared=True)
        settings = centred_settings(revised, down)
        shares = [np.array(level.chances) for level in down[:-1]]
        improved = [_mean_shares(level) for level in shares]
        pairs = zip(levels, improved, strict=True)
        change = max(float(np.abs(level.chances - chances).max()) for level, chances in pairs)
        levels = tuple(map(_without_rare_concentrations, levels, improved, shares))
        if change < _SETTLED:
            break
    return levels, settings


def _likely_ends(model: Model, estimates: LeastSquares) -> tuple[Bounds, ...] | None:
    """Return the likely range of each count by least squares, level by level; None if these ranges do not add up."""
    tree, ends = model.tree, [model.levels[-1].reach(np.zeros(model.tree.cells, np.int64))]
    reach = (ends[0].high - ends[0].low) / 2
    for level in range(tree.depth - 2, -1, -1):
        parents, size = tree.parents(level + 1), tree.sizes[level]
        child_reach, reach = reach, np.zeros(size)
        np.maximum.at(reach, parents, child_reach)
        half, bounds = np.hypot(reach, _REACH * estimates.deviation[level]), model.levels[level].bounds
        middle = np.clip(estimates.value[level], bounds.low, bounds.high)
        smallest, largest = (np.bincount(parents, end, size) for end in ends[0])
        low = np.maximum(np.clip(np.floor(middle - half), bounds.low, bounds.high), smallest)
        high = np.minimum(np.clip(np.ceil(middle + half), bounds.low, bounds.high), largest)
        if not estimates.is_known[level].all() or (low > high).any():
            return None
        ends.insert(0, Bounds(low.astype(np.int64), high.astype(np.int64)))
    return tuple(ends)


def _first_mixture(model: Model, estimates: LeastSquares, level: int, cells: Reals) -> LearnedLevel:
    """Return the first mixture of a level, from some of its nodes with their children alone."""
    size = model.tree.sizes[level]
    counts = np.maximum(estimates.value[level], 0.0) / model.family_sizes(level)
    largest = max(_EVEN * float(counts.mean()), float(_GRID[_FEWEST]))
    grid = _GRID[largest >= _GRID]
    even = np.full(grid.size, 1 / grid.size)
    start = LearnedLevel(grid, even, cells)
    nodes = np.unique(np.linspace(0, size - 1, _SAMPLE).astype(np.int64))
    evidence = []
    for node in nodes.tolist():
        children = model.children(level, node)
        if children.size > 1 and estimates.is_known[level + 1][children].all():
            evidence.append(_log_evidence(model, estimates, start, (level, node), children[None]))
    if not evidence:
        return start
    logs = np.array(evidence)
    likelihoods = np.exp(logs - logs.max(axis=1, keepdims=True))
    chances = even
    for _ in range(_STEPS):
        shares = likelihoods * chances
        shares /= shares.sum(axis=1, keepdims=True)
        chances = _mean_shares(shares)
    return _without_rare_concentrations(start, chances, shares)


def _log_evidence(
    model: Model, estimates: LeastSquares, prior: LearnedLevel, node: tuple[int, int], children: Counts
) -> Reals:
    """Return the log probability of the estimates of children and of the node's answer, for each concentration."""
    level, nodes = node[0], np.array([node[1]])
    value, deviation = estimates.value[level + 1][children], estimates.deviation[level + 1][children]
    bounds = model.levels[level + 1].bounds
    first, last = bounds.low[children], bounds.high[children]
    lows = np.clip(np.floor(value - _REACH * deviation), first, last).astype(np.int64)
    highs = np.clip(np.ceil(value + _REACH * deviation), lows + 1, last).astype(np.int64)
    counts = lows[..., None] + np.arange(int((highs - lows).max()) + 1)
    logs = -0.5 * ((counts - value[..., None]) / deviation[..., None]) ** 2
    logs = np.where(counts <= highs[..., None], logs, -np.inf)
    target = np.maximum(estimates.value[level][nodes], 0.5)
    split = Split(lows, logs, prior.division(children), target[:, None])
    log_answers = model.levels[level].own_logs(nodes, split.low, split.messages.shape[1])
    return sum_of_logs(split.messages_of_sets[0] + log_answers, axis=1)


def _mean_shares(shares: Reals) -> Reals:
    """Return the updated probabilities of the mixture: the mean over nodes of the probability of each concentration.

    Two further nodes with even probabilities are included, so that no probability becomes 0. Shapes: shares (nodes,
    concentrations).
    """
    even = _DOUBT / shares.shape[1]
    return (shares.sum(axis=0) + even) / (shares.shape[0] + _DOUBT)


def _without_rare_concentrations(level: LearnedLevel, chances: Reals, shares: Reals) -> LearnedLevel:
    """Return the mixture with new probabilities, without the concentrations that hardly any node has."""
    common = shares.mean(axis=0)
    is_kept = common >= min(_RARE, float(common.max()))
    return LearnedLevel(level.concentrations[is_kept], chances[is_kept] / chances[is_kept].sum(), level.cells)


_RATIO = math.sqrt(2)  # ratio of neighbouring means, which is less than the width of a component
_SMALLEST = 0.5  # records: smallest mean
_MARGIN = 4.0  # standard deviations of the noise by which the largest mean exceeds the largest answer
# weight of the prior in cells, so that few cells do not become one point; by simulation, see the tests
_PRIOR = 2.0
_EMPTY = 0.1  # share of the prior's cells that are empty; the others are in proportion to the root of the mean
_RESOLUTION = 1 / 16  # standard deviations of the noise within which answers are joined
_MOST_ANSWERS = 5_000  # largest number of different answers; of more, an even selection is used
_ROUNDS = 300
_CONVERGED = 1e-5  # largest change of a weight at which learning ends
_NODES = 64  # number of terms of a sum over counts
_DEPTH = 14.0  # nats below its maximum at which a likelihood is negligible here
_REACH_IN_MEANS = 7.0  # means: a negative binomial distribution of shape 3 exceeds them with probability 1e-7


class _CountNodes(NamedTuple):
    """A few counts in place of all: the middles of ranges of one odd length."""

    counts: NDArray[np.int64]  # middle counts of the ranges
    run: int  # number of counts in each range


class _DistinctAnswers(NamedTuple):
    """Distinct answers under one mechanism, each with the number of cells that have it."""

    level: LevelAnswers  # all answers under the mechanism
    positions: NDArray[np.int64]  # positions of the distinct answers among them
    cells: Reals  # number of cells with each of them, or with an answer close to it


def learn_cell_law(answers: Sequence[LevelAnswers]) -> CellLaw:
    """Return the distribution from which the counts of the cells of a table seem to be drawn.

    The weights of a mixture over a geometric grid of means maximise the probability of the answers, times a prior worth
    two cells that are spread over all means, so that intervals hold with their stated probability also if there are few
    cells. Each round of expectation maximisation raises that product. Of several answers of a cell, the most precise
    one is used.

    Source: Laird (1978); Dempster, Laird and Rubin (1977), section 4.3.

    Numerical error: the likelihood of a component is a sum of 64 terms, with a relative error of about 0.1 %.
    """
    rows = list(_most_precise_rows(answers))
    means = _mean_grid(rows)
    likelihoods = np.concatenate([_component_likelihoods(row, means) for row in rows])
    roots = np.sqrt(means)
    before = np.array([_EMPTY, *((1 - _EMPTY) / roots.sum() * roots)])
    weights = _mixture_weights(likelihoods, np.concatenate([row.cells for row in rows]), before)
    return CellLaw(float(weights[0]), means, weights[1:])


def _most_precise_rows(answers: Sequence[LevelAnswers]) -> Iterator[_DistinctAnswers]:
    """Yield the most precise answer of each cell, with equal answers joined."""
    has_row = np.zeros(max(int(group.nodes.max(initial=0)) for group in answers) + 1, dtype=np.bool_)
    for group in sorted(answers, key=attrgetter("variance")):
        for is_in_part in (~group.suppressed, group.suppressed):
            positions = np.flatnonzero(is_in_part & ~has_row[group.nodes])
            has_row[group.nodes[positions]] = True
            if positions.size:
                yield _join_similar_answers(group, positions)


def _join_similar_answers(level: LevelAnswers, positions: NDArray[np.int64]) -> _DistinctAnswers:
    """Return the answers, joined if they differ by a small share of the noise only.

    If too many remain, an even selection is returned.
    """
    answers, step = level.answers[positions], math.sqrt(level.variance) * _RESOLUTION
    rounded = np.round(answers / step) if step > 1 or not is_whole(level.mechanism) else answers
    _, first, cells = np.unique(rounded, return_index=True, return_counts=True)
    excess = max(1.0, first.size / _MOST_ANSWERS)
    groups = (np.arange(first.size) / excess).astype(np.int64)
    middles = np.searchsorted(groups, np.arange(groups[-1] + 1)) + int((excess - 1) / 2)
    return _DistinctAnswers(level, positions[first[middles]], np.bincount(groups, cells).astype(np.float64))


def _mean_grid(rows: Sequence[_DistinctAnswers]) -> Reals:
    """Return the grid of means, which extends beyond the largest answer."""
    tops = [float(row.level.answers.max()) + _MARGIN * math.sqrt(row.level.variance) for row in rows]
    top = max(1.0, *tops)
    steps = max(1, math.ceil(math.log(top / _SMALLEST) / math.log(_RATIO)))
    return _SMALLEST * _RATIO ** np.arange(steps + 1.0)


def _component_likelihoods(rows: _DistinctAnswers, means: Reals) -> Reals:
    """Return P[answer | component] of each answer, up to a factor. The first component is the empty cell."""
    level, positions = rows.level, rows.positions
    nearest = np.maximum(np.round(level.answers[positions]), 0).astype(np.int64)
    if level.suppressed[positions[0]]:
        nearest[:] = 0
    peaks = level.log_likelihood(positions, nearest[:, None])
    likelihoods = np.empty((positions.size, means.size + 1))
    likelihoods[:, 0] = np.exp(level.log_likelihood(positions, np.zeros((1, 1), np.int64)) - peaks)[:, 0]
    by_noise = _noise_nodes(level)
    for number, mean in enumerate(means.tolist(), 1):
        nodes = _component_nodes(mean)
        if level.suppressed[positions[0]] or nodes.run <= by_noise.run:
            chances = _negative_binomial(nodes.counts.astype(np.float64), mean)
            logs = level.log_likelihood(positions, nodes.counts[None]) - peaks
            likelihoods[:, number] = np.exp(logs) @ (chances / chances.sum())
        else:
            counts = nearest[:, None] + by_noise.counts
            logs = np.where(counts < 0, -np.inf, level.log_likelihood(positions, counts) - peaks)
            densities = np.exp(logs) * _negative_binomial(counts.astype(np.float64), mean)
            likelihoods[:, number] = densities.sum(axis=1) * by_noise.run
    return likelihoods


def _noise_nodes(level: LevelAnswers) -> _CountNodes:
    """Return a few counts, relative to an answer, in place of all counts that its noise can reach."""
    if level.is_exact:
        return _CountNodes(np.zeros(1, dtype=np.int64), 1)
    reach = level.distance(_DEPTH)
    run = _range_length(2 * reach + 1)
    aside = math.ceil(reach / run)
    return _CountNodes(run * np.arange(-aside, aside + 1), run)


def _component_nodes(mean: float) -> _CountNodes:
    """Return a few counts in place of all likely counts of a negative binomial distribution with this mean."""
    size = math.ceil(_REACH_IN_MEANS * mean) + _NODES // 2
    run = _range_length(size)
    return _CountNodes(run // 2 + run * np.arange(math.ceil(size / run)), run)


def _range_length(size: int) -> int:
    """Return the odd length of the ranges that divide `size` counts into about `_NODES` ranges."""
    return 2 * (math.ceil(size / _NODES) // 2) + 1


def _negative_binomial(counts: Reals, mean: float) -> Reals:
    """Return P[K = k] of a negative binomial distribution of shape 3 and a mean; 0 for negative numbers."""
    logs = -np.maximum(counts, 0) * math.log1p(SHAPE / mean) - SHAPE * math.log1p(mean / SHAPE)
    return np.where(counts < 0, 0.0, np.exp(logs) * (counts + 1) * (counts + 2) / 2)


def _mixture_weights(likelihoods: Reals, cells: Reals, before: Reals) -> Reals:
    """Return the weights of the components. The first component is the empty cell."""
    weights = before
    for _ in range(_ROUNDS):
        sums = likelihoods @ weights
        updated = weights * (likelihoods.T @ (cells / sums)) + _PRIOR * before
        updated /= updated.sum()
        is_converged = float(np.abs(updated - weights).max()) < _CONVERGED
        weights = updated
        if is_converged:
            break
    return weights
