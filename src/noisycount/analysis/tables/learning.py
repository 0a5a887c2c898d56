"""About where each count lies: least squares on the tree, from which windows and tilts start.

The laws of all counts: passes are repeated until rounding and windows do no harm.

How counts divide, learned from the answers alone: a mixture of concentrations for each level.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.level_answers import NO_END, Bounds
from noisycount.analysis.tables.likelihoods import LevelLikelihood
from noisycount.analysis.tables.model import Divisions, Model, Settings, cell_windows
from noisycount.analysis.tables.passes import Down, Up, downward, upward
from noisycount.analysis.tables.prior import LearnedLevel, PriorLevel, cells_below
from noisycount.analysis.tables.split import Split
from noisycount.analysis.tables.sums import sum_of_logs
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.tables.tree import Tree

__all__ = [
    "EXACT",
    "LEARNED",
    "Solved",
    "divisions_of",
    "estimates",
    "first_settings",
    "guesses",
    "learned",
    "solved",
]

_WIDE = 1e30  # records²: the variance of a count of which nothing is told
_LITTLE = 0.01  # records
_TOLD = 1e25  # records²: less than that, and more than that of any noise
_LEAST = 1 / 8  # of a part that was made positive: so much of it is left


@frozen(eq=False)
class LeastSquares:
    """What is told of each count by its own answers and those below, level by level.

    Attributes:
        value: About where it lies, in records.
        deviation: A standard deviation, in records.
        is_told: Whether anything is told of it.
    """

    value: tuple[Reals, ...]
    deviation: tuple[Reals, ...]
    is_told: tuple[NDArray[np.bool_], ...]


def estimates(
    tree: Tree, levels: Sequence[LevelLikelihood], *, is_positive: bool = True
) -> LeastSquares:
    """Answers and sums of answers, weighed by their variances.

    Args:
        tree: Of the counts.
        levels: What was answered about each level.
        is_positive: Whether counts that would be negative, or nearly so, are made about as large as
            noise lets them be; else they have no bias.
    """
    up = [_answers_of(one, is_positive=is_positive) for one in levels]
    for level in range(tree.depth - 2, -1, -1):
        parents, size = tree.parents(level + 1), tree.sizes[level]
        value, variance = up[level + 1]
        if is_positive:
            up[level + 1] = _positive(value, variance), variance
        total, spread = (_sums(parents, part, size) for part in up[level + 1])
        up[level] = _joined(up[level], (total, np.minimum(spread, _WIDE)))
    values, variances = zip(*up, strict=True)
    told = tuple(variance < _TOLD for variance in variances)
    return LeastSquares(values, tuple(map(np.sqrt, variances)), told)


def guesses(tree: Tree, told: LeastSquares) -> list[Reals]:
    """An estimate of each count from all answers, on which no law rests.

    What is missing or too much in a sum is shared in proportion to variances.
    """
    found = [told.value[0]]
    for level in range(1, tree.depth):
        parents, size = tree.parents(level), tree.sizes[level - 1]
        value, variance = told.value[level], told.deviation[level] ** 2
        missing = found[-1] - np.bincount(parents, value, size)
        shares = variance / np.maximum(np.bincount(parents, variance, size), 1e-300)[parents]
        parts = _positive(value + shares * missing[parents], variance)
        # made positive, parts of which little is told may add up to far more than their sum
        excess = np.maximum(np.bincount(parents, parts, size) - found[-1], 0.0)
        found.append(np.maximum(parts - shares * excess[parents], _LEAST * parts))
    return found


def _sums(parents: NDArray[np.int64], values: Reals, size: int) -> Reals:
    """The sums of the values of the children of each node."""
    return np.bincount(parents, values, size).astype(np.float64)


def _positive(values: Reals, variances: Reals) -> Reals:
    """Values made positive within about one standard deviation of 0."""
    spread = np.clip(np.sqrt(variances) / 2, 1e-3, np.abs(values) + 1.0)
    return spread * np.logaddexp(0.0, values / spread)


def _answers_of(level: LevelLikelihood, *, is_positive: bool) -> tuple[Reals, Reals]:
    """The answers of each node as one number and its variance."""
    size = level.bounds.low.size
    value, precision = np.zeros(size), np.full(size, 1 / _WIDE)
    for one in level.answers:
        middle = np.where(one.suppressed, one.answers / 2, one.answers)
        spread = np.where(one.suppressed, np.abs(middle) / 2, 0.0) + _deviation(one.mechanism)
        value[one.nodes] += (np.maximum(middle, 0.0) if is_positive else middle) / spread**2
        precision[one.nodes] += 1 / spread**2
    low, high = level.bounds
    value /= precision
    is_known = low == high
    if is_positive:
        value = np.clip(value, low, np.minimum(high, NO_END))
    return np.where(is_known, low, value), np.where(is_known, 1e-9, 1 / precision)


def _deviation(mechanism: Mechanism) -> float:
    """The standard deviation of noise, and little where there is none."""
    if isinstance(mechanism, SymmetricNoise) and math.isfinite(mechanism.variance):
        return max(math.sqrt(mechanism.variance), _LITTLE)
    return _LITTLE


def _joined(first: tuple[Reals, Reals], second: tuple[Reals, Reals]) -> tuple[Reals, Reals]:
    """Two estimates of the same counts, weighed by their variances."""
    precisions = 1 / np.maximum(first[1], 1e-12), 1 / np.maximum(second[1], 1e-12)
    total = precisions[0] + precisions[1]
    return (precisions[0] * first[0] + precisions[1] * second[0]) / total, 1 / total


EXACT = 5e-11  # total variation that transforms may move a law at a node where the prior is stated

# The same where it is learned: rare concentrations have laws of their own, far from the others.
LEARNED = 1e-3
_MOVES = 1  # times that a target is moved before counts are shared among zones
_MOST_ZONES = 33
_REPEATS = 5  # passes, of which two are usual
_MOST_REPEATS = 20  # the same where answers contradict each other, so that targets begin far away
_GROSS = 1e-3  # total variation: with more than that a law is not known yet


class Solved(NamedTuple):
    """What both passes tell.

    Attributes:
        up: The way up.
        down: The way down.
        settings: How they were computed.
    """

    up: Up
    down: Down
    settings: Settings


def first_settings(model: Model) -> Settings:
    """Those to begin with, in windows of the cells that leave each count what it can be.

    Raises:
        ValueError: If a count may be one of too many.
    """
    if model.likeliest is None:
        targets = guesses(model.tree, estimates(model.tree, model.levels))
    else:
        targets = [counts.astype(np.float64) for counts in model.likeliest]
    start = Settings.start(targets)
    while True:
        apart = _apart(model, cell_windows(model, start))
        if not apart.any():
            return start
        cells = np.where(apart, 2 * start.widened[-1] + 1, start.widened[-1])
        start = replace(start, widened=(*start.widened[:-1], cells))


def _apart(model: Model, cells: Bounds) -> NDArray[np.bool_]:
    """Which cells have windows that do not add up to what a count above them can be."""
    tree, apart = model.tree, np.zeros(model.tree.cells, np.bool_)
    for places, own in zip(tree.levels[:-1], model.levels[:-1], strict=True):
        least, most = np.zeros(own.bounds.low.size, np.int64), np.zeros_like(own.bounds.low)
        np.add.at(least, places, cells.low)
        np.add.at(most, places, cells.high)
        apart |= ((least > own.bounds.high) | (most < own.bounds.low))[places]
    return apart & model.levels[-1].is_answered


def solved(model: Model, divisions: Divisions, settings: Settings, aim: float = EXACT) -> Solved:
    """Both passes, until no window is too short and no transform moved a law by more than aimed at.

    Where many passes do not reach that, what was reached is told in `down.rounding`.

    Args:
        model: The table.
        divisions: How counts divide.
        settings: Those to begin with.
        aim: Total variation that transforms may move a law at a node.

    Raises:
        ValueError: If no table has the answers.
    """
    for repeat in range(_MOST_REPEATS):
        up = upward(model, settings, divisions)
        down = downward(model, settings, divisions, up)
        found = Solved(up, down, replace(settings, tilts=up.tilts))
        coarse, is_shared = _coarse(down, aim), repeat >= _MOVES
        is_late = repeat + 1 >= _REPEATS and not _is_cut(down)
        if is_late or not any(map(np.any, (*coarse, down.short[-1]))):
            found = _bounded(model, divisions, found) if aim == EXACT else found
            coarse, is_shared = [moved > aim for moved in found.down.rounding], True
            worst = max(float(moved.max()) for moved in found.down.rounding)
            is_over = is_late and (worst <= _GROSS or aim > EXACT)
            if is_over or not any(map(np.any, coarse)):
                break
        settings = _mended(settings, down, coarse, is_shared=is_shared)
    return found


def _bounded(model: Model, divisions: Divisions, found: Solved) -> Solved:
    """The same with bounds of what transforms moved and left out at each node.

    Where upper bounds stand for what was left out all weights of tables are at least the true ones,
    so that the share of tables with such a count is at least what the laws lack.
    """
    settings = replace(found.settings, is_bounded=True)
    above = upward(model, settings, divisions)
    rounding = downward(model, settings, divisions, above).rounding
    return found._replace(down=replace(found.down, rounding=rounding))


def _is_cut(down: Down) -> bool:
    """Whether a law goes on beyond its window, and all sums are exact enough to show that."""
    is_exact = not any(moved.any() for moved in down.rounding)
    return is_exact and any(map(np.any, down.short))


def _mended(
    settings: Settings, down: Down, coarse: Sequence[NDArray[np.bool_]], *, is_shared: bool
) -> Settings:
    """Settings with other targets, or zones, where transforms moved laws, and wider windows."""
    targets, spreads = list(settings.targets), list(settings.spreads)
    zones = list(settings.zones)
    for level, wrong in enumerate(coarse):
        told, own = down.summaries[level], zones[level]
        targets[level] = np.where(wrong, told.mean, targets[level])
        spreads[level] = np.where(wrong, np.maximum(told.std, 0.5), spreads[level])
        if is_shared:
            more = np.minimum(np.maximum(down.zones[level], 2 * own + 1), _MOST_ZONES)
            zones[level] = np.where(wrong, more, own)
    pairs = zip(settings.widened, down.short, strict=True)
    widened = tuple(np.where(short, 2 * wide + 1, wide) for wide, short in pairs)
    ends = settings.ends if settings.ends is None or not down.short[-1].any() else None
    return Settings(tuple(targets), tuple(spreads), tuple(zones), widened, ends)


def _coarse(down: Down, aim: float) -> list[NDArray[np.bool_]]:
    """Whether transforms moved the laws of nodes by more than aimed at, or cut them off."""
    pairs = zip(down.rounding, down.short, strict=False)
    return [(moved > aim) | short for moved, short in pairs]


def shared(settings: Settings, down: Down, aim: float) -> Settings:
    """Settings with zones where transforms moved laws by more than aimed at."""
    return _mended(settings, down, _coarse(down, aim), is_shared=True)


def about(settings: Settings, down: Down) -> Settings:
    """Settings about the laws that were found, in windows that end with them."""
    targets, spreads = (
        tuple(getattr(one, name) for one in down.summaries) for name in ("mean", "std")
    )
    ends = None if down.short[-1].any() else down.ends
    return replace(settings, targets=targets, spreads=spreads, ends=ends)


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


def _begun(model: Model, told: LeastSquares, level: int, cells: Reals) -> LearnedLevel:
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


def _is_told(model: Model, told: LeastSquares, level: int, node: int) -> bool:
    """Whether something is told of each child of a node, of which it has several."""
    children = model.children(level, node)
    return children.size > 1 and bool(told.is_told[level + 1][children].all())


def _evidence(
    model: Model, told: LeastSquares, prior: LearnedLevel, level: int, node: int
) -> Reals:
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
