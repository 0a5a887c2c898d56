"""Learning of a prior from the answers of a tree: a mixture of concentrations for each level.

`learned_levels` is expectation maximisation over the passes; `learned_cells` has the prior of a flat table.
"""

from dataclasses import replace

import numpy as np

from noisycount.analysis.tables.likeliest import LeastSquares, least_squares
from noisycount.analysis.tables.likelihoods import Bounds, Counts, Model
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


def learned_levels(model: Model, settings: Settings) -> tuple[tuple[LearnedLevel, ...], Settings]:
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
        levels = tuple(map(_prune, levels, improved, shares))
        if change < _SETTLED:
            break
    return levels, settings


def _likely_ends(model: Model, estimates: LeastSquares) -> tuple[Bounds, ...] | None:
    """Return the ranges of each level's counts by least squares; None if these ranges do not add up."""
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
            evidence.append(_evidence(model, estimates, start, (level, node), children[None]))
    if not evidence:
        return start
    logs = np.array(evidence)
    likelihoods = np.exp(logs - logs.max(axis=1, keepdims=True))
    chances = even
    for _ in range(_STEPS):
        shares = likelihoods * chances
        shares /= shares.sum(axis=1, keepdims=True)
        chances = _mean_shares(shares)
    return _prune(start, chances, shares)


def _evidence(
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


def _prune(level: LearnedLevel, chances: Reals, shares: Reals) -> LearnedLevel:
    """Return the mixture with other probabilities, without concentrations that hardly any node has."""
    common = shares.mean(axis=0)
    is_kept = common >= min(_RARE, float(common.max()))
    return LearnedLevel(level.concentrations[is_kept], chances[is_kept] / chances[is_kept].sum(), level.cells)
