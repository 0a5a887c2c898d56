"""How counts divide, learned from the answers alone: a mixture of concentrations for each level."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from noisycount.analysis.tables.certified import LEARNED, about, shared
from noisycount.analysis.tables.downward import downward
from noisycount.analysis.tables.guesses import Estimates, estimates
from noisycount.analysis.tables.model import Divisions, Model, Settings
from noisycount.analysis.tables.prior_splits import LearnedLevel, PriorLevel, cells_below
from noisycount.analysis.tables.split import Split
from noisycount.analysis.tables.sums.tails import sum_of_logs
from noisycount.analysis.tables.upward import upward
from noisycount.model.laws.expansion import Reals

__all__ = ["divisions_of", "learned"]

# of an average child: from "nearly all in one child" to "as even as chance", a factor of 8 apart;
# mixtures of neighbours stand for what is between
_GRID = np.array([0.06, 0.5, 4.0, 32.0, 256.0, 2048.0])
_FEWEST = 2  # the place of the largest concentration of the shortest grid
_SAMPLE = 48  # nodes of a level from which the mixture is begun
_STEPS = 200  # of the mixture of so few nodes
_REACH = 7.0  # standard deviations of an estimate within which its count lies
_DOUBT = 2.0  # nodes whose concentration is as likely to be any: what few nodes tell is not certain
_RARE = 0.05  # a concentration that fewer nodes than this part have is left out
# times the average count of a child: under a concentration that is larger chance moves a child's
# count more than its share does, so that it is told apart by no answer
_EVEN = 1.5
_PASSES = 3  # over the whole tree; more move the chances by less than they are sure
_SETTLED = 0.02  # change of a chance


def divisions_of(levels: Sequence[PriorLevel]) -> Divisions:
    """How counts divide, level by level."""
    return lambda level, nodes, children: levels[level].division(nodes, children)


def learned(model: Model, settings: Settings) -> tuple[tuple[LearnedLevel, ...], Settings]:
    """The mixtures that make the answers most likely, but for a little doubt.

    They are begun from some nodes of each level by what least squares tells of their children, and
    made better by passes over the whole tree (expectation and maximisation).

    Returns:
        The mixture of each level above the cells, and settings that suit them.
    """
    below = cells_below(model.tree)
    told = estimates(model.tree, model.levels, is_positive=False)
    levels = tuple(
        _begun(model, told, level, below[level + 1]) for level in range(model.tree.depth - 1)
    )
    for _ in range(_PASSES):
        divisions = divisions_of(levels)
        up = upward(model, settings, divisions)
        down = downward(model, settings, divisions, up)
        settings = about(settings, down)
        better = tuple(map(_better, levels, down.chances))
        change = max(map(_change, levels, better))
        levels = tuple(map(_pruned, better, down.chances))
        if change < _SETTLED:
            break
    return levels, shared(settings, down, LEARNED)


def _begun(model: Model, told: Estimates, level: int, cells: Reals) -> LearnedLevel:
    """The mixture of a level from some of its nodes, each with its children alone."""
    size = model.tree.sizes[level]
    counts = np.maximum(told.value[level], 0.0) / model.family_sizes(level)
    largest = max(_EVEN * float(counts.mean()), float(_GRID[_FEWEST]))
    grid = _GRID[largest >= _GRID]
    even = np.full(grid.size, 1 / grid.size)
    start = LearnedLevel(grid, even, cells)
    nodes = np.unique(np.linspace(0, size - 1, _SAMPLE).astype(np.int64))
    evidence = [
        _evidence(model, told, start, level, int(node))
        for node in nodes
        if _is_told(model, told, level, int(node))
    ]
    if not evidence:
        return start
    logs = np.array(evidence)
    likelihoods = np.exp(logs - logs.max(axis=1, keepdims=True))
    chances = even
    for _ in range(_STEPS):
        shares = likelihoods * chances
        shares /= shares.sum(axis=1, keepdims=True)
        chances = _weighed(shares)
    return _pruned(replace(start, chances=chances), shares)


def _is_told(model: Model, told: Estimates, level: int, node: int) -> bool:
    """Whether something is told of each child of a node, of which it has several."""
    children = model.children(level, node)
    return children.size > 1 and bool(told.is_told[level + 1][children].all())


def _evidence(model: Model, told: Estimates, prior: LearnedLevel, level: int, node: int) -> Reals:
    """For each concentration, how likely estimates and the node's answer are, as a logarithm."""
    children = model.children(level, node)[None]
    value, deviation = told.value[level + 1][children], told.deviation[level + 1][children]
    bounds = model.levels[level + 1].bounds
    first, last = bounds.low[children], bounds.high[children]
    lows = np.clip(np.floor(value - _REACH * deviation), first, last).astype(np.int64)
    highs = np.clip(np.ceil(value + _REACH * deviation), lows + 1, last).astype(np.int64)
    counts = lows[..., None] + np.arange(int((highs - lows).max()) + 1)
    logs = -0.5 * ((counts - value[..., None]) / deviation[..., None]) ** 2
    logs = np.where(counts <= highs[..., None], logs, -np.inf)
    nodes = np.array([node])
    target = np.maximum(told.value[level][nodes], 0.5)
    split = Split(lows, logs, prior.division(nodes, children), target[:, None])
    own = model.levels[level].own_logs(nodes, split.low, split.messages.shape[1])
    evidence: Reals = sum_of_logs(split.messages_of_sets[0] + own, axis=1)
    return evidence


def _weighed(shares: Reals) -> Reals:
    """The chances of concentrations from those at each node, with a little doubt."""
    even = _DOUBT / shares.shape[1]
    chances: Reals = (shares.sum(axis=0) + even) / (shares.shape[0] + _DOUBT)
    return chances


def _better(level: LearnedLevel, shares: Reals) -> LearnedLevel:
    """The mixture with the chances that the nodes have on average."""
    return replace(level, chances=_weighed(shares))


def _change(level: LearnedLevel, better: LearnedLevel) -> float:
    """How far the chances moved."""
    return float(np.abs(level.chances - better.chances).max())


def _pruned(level: LearnedLevel, shares: Reals) -> LearnedLevel:
    """The mixture without what hardly any node has, given the chances at each node."""
    common = shares.mean(axis=0)
    kept = common >= min(_RARE, float(common.max()))
    chances = level.chances[kept] / level.chances[kept].sum()
    return LearnedLevel(level.concentrations[kept], chances, level.cells)
