"""What answers tell of a prior: learned from them, contradicted by them, and what the table owes to it.

Of a tree a mixture of concentrations for each level; of independent cells the law of their counts.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.posterior.predictive import contradiction, is_expected, two_sided
from noisycount.analysis.tables.answers import is_whole
from noisycount.analysis.tables.independent_cells import IndependentCells
from noisycount.analysis.tables.likeliest import LeastSquares, least_squares
from noisycount.analysis.tables.likelihoods import NO_END, Bounds, Counts, LevelAnswers, Model
from noisycount.analysis.tables.passes import Settings, Summary, UpwardPass, downward, first_settings
from noisycount.analysis.tables.prior import CellLevel, LearnedLevel, StatedLevel, TablePrior
from noisycount.analysis.tables.split import Split
from noisycount.analysis.tables.sums import sum_of_logs
from noisycount.analysis.tables.tree_solution import (
    LEARNED,
    TreeSolution,
    centred_settings,
    imprecise_nodes,
    revised_settings,
)
from noisycount.display.numbers import signed
from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.exact import below
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.noises.laplace import Laplace
from noisycount.model.populations.binomial import BetaBinomial, Binomial
from noisycount.model.populations.population import Population
from noisycount.model.tables.cells import SHAPE, CellLaw
from noisycount.model.tables.tree import Tree

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


def learned(model: Model, settings: Settings) -> tuple[tuple[LearnedLevel, ...], Settings]:
    """The mixtures that make the answers most likely, but for a little doubt.

    They are begun from some nodes of each level by what least squares tells of their children, and
    made better by passes over the whole tree (expectation and maximisation).
    """
    told = least_squares(model, is_positive=False)
    settings = replace(settings, ends=_likely_ends(model, told))
    cells = [np.bincount(level).astype(np.float64) for level in model.tree.levels[1:]]
    levels = tuple(_begun(model, told, level, below) for level, below in enumerate(cells))
    for _ in range(_PASSES):
        down = downward(UpwardPass(model, levels, settings))
        revised = revised_settings(settings, down, imprecise_nodes(down, LEARNED), is_shared=True)
        settings = centred_settings(revised, down)
        shares = [np.array(own.chances) for own in down[:-1]]
        better = [_weighed(own) for own in shares]
        pairs = zip(levels, better, strict=True)
        change = max(float(np.abs(level.chances - chances).max()) for level, chances in pairs)
        levels = tuple(map(_pruned, levels, better, shares))
        if change < _SETTLED:
            break
    return levels, settings


def _likely_ends(model: Model, told: LeastSquares) -> tuple[Bounds, ...] | None:
    """Return where least squares put the counts of each level; None if these ends do not add up."""
    tree, ends = model.tree, [model.levels[-1].reach(np.zeros(model.tree.cells, np.int64))]
    reach = (ends[0].high - ends[0].low) / 2
    for level in range(tree.depth - 2, -1, -1):
        parents, size = tree.parents(level + 1), tree.sizes[level]
        below, reach = reach, np.zeros(size)
        np.maximum.at(reach, parents, below)
        half, bounds = np.hypot(reach, _REACH * told.deviation[level]), model.levels[level].bounds
        middle = np.clip(told.value[level], bounds.low, bounds.high)
        least, most = (np.bincount(parents, end, size) for end in ends[0])
        low = np.maximum(np.clip(np.floor(middle - half), bounds.low, bounds.high), least)
        high = np.minimum(np.clip(np.ceil(middle + half), bounds.low, bounds.high), most)
        if not told.is_told[level].all() or (low > high).any():
            return None
        ends.insert(0, Bounds(low.astype(np.int64), high.astype(np.int64)))
    return tuple(ends)


def _begun(model: Model, told: LeastSquares, level: int, cells: Reals) -> LearnedLevel:
    """The mixture of a level from some of its nodes, each with its children alone."""
    size = model.tree.sizes[level]
    counts = np.maximum(told.value[level], 0.0) / model.family_sizes(level)
    largest = max(_EVEN * float(counts.mean()), float(_GRID[_FEWEST]))
    grid = _GRID[largest >= _GRID]
    even = np.full(grid.size, 1 / grid.size)
    start = LearnedLevel(grid, even, cells)
    nodes = np.unique(np.linspace(0, size - 1, _SAMPLE).astype(np.int64))
    evidence = []
    for node in nodes.tolist():
        children = model.children(level, node)
        if children.size > 1 and told.is_told[level + 1][children].all():
            evidence.append(_evidence(model, told, start, (level, node), children[None]))
    if not evidence:
        return start
    logs = np.array(evidence)
    likelihoods = np.exp(logs - logs.max(axis=1, keepdims=True))
    chances = even
    for _ in range(_STEPS):
        shares = likelihoods * chances
        shares /= shares.sum(axis=1, keepdims=True)
        chances = _weighed(shares)
    return _pruned(start, chances, shares)


def _evidence(model: Model, told: LeastSquares, prior: LearnedLevel, node: tuple[int, int], children: Counts) -> Reals:
    """For each concentration, how likely estimates and the node's answer are, as a logarithm."""
    level, nodes = node[0], np.array([node[1]])
    value, deviation = told.value[level + 1][children], told.deviation[level + 1][children]
    bounds = model.levels[level + 1].bounds
    first, last = bounds.low[children], bounds.high[children]
    lows = np.clip(np.floor(value - _REACH * deviation), first, last).astype(np.int64)
    highs = np.clip(np.ceil(value + _REACH * deviation), lows + 1, last).astype(np.int64)
    counts = lows[..., None] + np.arange(int((highs - lows).max()) + 1)
    logs = -0.5 * ((counts - value[..., None]) / deviation[..., None]) ** 2
    logs = np.where(counts <= highs[..., None], logs, -np.inf)
    target = np.maximum(told.value[level][nodes], 0.5)
    split = Split(lows, logs, prior.division(children), target[:, None])
    own = model.levels[level].own_logs(nodes, split.low, split.messages.shape[1])
    return sum_of_logs(split.messages_of_sets[0] + own, axis=1)


def _weighed(shares: Reals) -> Reals:
    """The chances of concentrations from those at each node, with a little doubt."""
    even = _DOUBT / shares.shape[1]
    return (shares.sum(axis=0) + even) / (shares.shape[0] + _DOUBT)


def _pruned(level: LearnedLevel, chances: Reals, shares: Reals) -> LearnedLevel:
    """The mixture with other chances, without what hardly any node has."""
    common = shares.mean(axis=0)
    kept = common >= min(_RARE, float(common.max()))
    return LearnedLevel(level.concentrations[kept], chances[kept] / chances[kept].sum(), level.cells)


_RATIO = math.sqrt(2)  # of neighbouring means: the laws are broader than their distance
_SMALLEST = 0.5  # records: the first mean
_BEYOND = 4.0  # standard deviations of the noise: the last mean above the largest answer
# cells beforehand, so that a few do not become one point: by simulation, see the tests
_PRIOR = 2.0
_EMPTY = 0.1  # of them are empty, the others go as the root of the mean: towards flat, not to 0
_GRAIN = 1 / 16  # of a standard deviation of the noise: answers so near teach the same
_MOST = 5_000  # different answers: of more an even selection stands for all
_ROUNDS = 300
_STILL = 1e-5  # the largest change of a weight at which learning ends
_NODES = 64  # of a sum over counts: all of few, else the middles of equal runs
_DEPTH = 14.0  # nats: what matters of a likelihood here
_TAIL = 7.0  # means: a negative binomial law of shape 3 has 1e-7 of its mass beyond


class _Nodes(NamedTuple):
    """Some counts in place of all: the middles of runs of equal odd length."""

    counts: NDArray[np.int64]
    run: int


class _Rows(NamedTuple):
    """Different answers under one mechanism."""

    level: LevelAnswers
    places: NDArray[np.int64]
    cells: Reals


def learned_cell_law(answers: Sequence[LevelAnswers]) -> CellLaw:
    """The law from which the counts of the cells of a table look drawn.

    Weights of a mixture over a geometric grid of means maximise the probability of the answers, times that of two cells
    more, which are spread over all means so that intervals of few cells cover: expectation-maximisation, each round of
    which raises it. Of several answers of a cell the most precise teaches.

    Source: Laird (1978); Dempster, Laird and Rubin (1977), section 4.3.
    Numerical error: the likelihood of a component is a sum of 64 terms, some 0.1 % off.
    """
    rows = list(_rows(answers))
    means = _means(rows)
    likelihoods = np.concatenate([_likelihoods(one, means) for one in rows])
    roots = np.sqrt(means)
    before = np.array([_EMPTY, *((1 - _EMPTY) / roots.sum() * roots)])
    weights = _weights(likelihoods, np.concatenate([one.cells for one in rows]), before)
    return CellLaw(float(weights[0]), means, weights[1:])


def _rows(answers: Sequence[LevelAnswers]) -> Iterator[_Rows]:
    """The most precise answer of each cell, equal ones together."""
    met = np.zeros(max(int(one.nodes.max(initial=0)) for one in answers) + 1, dtype=np.bool_)
    for one in sorted(answers, key=attrgetter("variance")):
        for kept in (~one.suppressed, one.suppressed):
            places = np.flatnonzero(kept & ~met[one.nodes])
            met[one.nodes[places]] = True
            if places.size:
                yield _thinned(one, places)


def _thinned(level: LevelAnswers, places: NDArray[np.int64]) -> _Rows:
    """Answers with neighbours within a small share of the noise as one, and an even selection."""
    answers, grain = level.answers[places], math.sqrt(level.variance) * _GRAIN
    near = np.round(answers / grain) if grain > 1 or not is_whole(level.mechanism) else answers
    _, first, cells = np.unique(near, return_index=True, return_counts=True)
    excess = max(1.0, first.size / _MOST)
    groups = (np.arange(first.size) / excess).astype(np.int64)
    middles = np.searchsorted(groups, np.arange(groups[-1] + 1)) + int((excess - 1) / 2)
    return _Rows(level, places[first[middles]], np.bincount(groups, cells).astype(np.float64))


def _means(rows: Sequence[_Rows]) -> Reals:
    """The grid, up to beyond the largest answer."""
    tops = [float(one.level.answers.max()) + _BEYOND * math.sqrt(one.level.variance) for one in rows]
    top = max(1.0, *tops)
    steps = max(1, math.ceil(math.log(top / _SMALLEST) / math.log(_RATIO)))
    return _SMALLEST * _RATIO ** np.arange(steps + 1.0)


def _likelihoods(rows: _Rows, means: Reals) -> Reals:
    """P[answer | component] of each row up to a factor, the empty cell first."""
    level, places = rows.level, rows.places
    nearest = np.maximum(np.round(level.answers[places]), 0).astype(np.int64)
    if level.suppressed[places[0]]:
        nearest[:] = 0
    peaks = level.log_likelihood(places, nearest[:, None])
    found = np.empty((places.size, means.size + 1))
    found[:, 0] = np.exp(level.log_likelihood(places, np.zeros((1, 1), np.int64)) - peaks)[:, 0]
    by_noise = _noise_nodes(level)
    for number, mean in enumerate(means.tolist(), 1):
        own = _component_nodes(mean)
        if level.suppressed[places[0]] or own.run <= by_noise.run:
            chances = _chances(own.counts.astype(np.float64), mean)
            logs = level.log_likelihood(places, own.counts[None]) - peaks
            found[:, number] = np.exp(logs) @ (chances / chances.sum())
        else:
            counts = nearest[:, None] + by_noise.counts
            logs = np.where(counts < 0, -np.inf, level.log_likelihood(places, counts) - peaks)
            densities = np.exp(logs) * _chances(counts.astype(np.float64), mean)
            found[:, number] = densities.sum(axis=1) * by_noise.run
    return found


def _noise_nodes(level: LevelAnswers) -> _Nodes:
    """Counts around an answer."""
    if level.is_exact:
        return _Nodes(np.zeros(1, dtype=np.int64), 1)
    reach = level.distance(_DEPTH)
    run = _run(2 * reach + 1)
    aside = math.ceil(reach / run)
    return _Nodes(run * np.arange(-aside, aside + 1), run)


def _component_nodes(mean: float) -> _Nodes:
    """Counts that a negative binomial law gives."""
    size = math.ceil(_TAIL * mean) + _NODES // 2
    run = _run(size)
    return _Nodes(run // 2 + run * np.arange(math.ceil(size / run)), run)


def _run(size: int) -> int:
    """The odd length of the runs of so many counts."""
    return 2 * (math.ceil(size / _NODES) // 2) + 1


def _chances(counts: Reals, mean: float) -> Reals:
    """The probabilities of a negative binomial law, 0 of what is no count."""
    logs = -np.maximum(counts, 0) * math.log1p(SHAPE / mean) - SHAPE * math.log1p(mean / SHAPE)
    return np.where(counts < 0, 0.0, np.exp(logs) * (counts + 1) * (counts + 2) / 2)


def _weights(likelihoods: Reals, cells: Reals, before: Reals) -> Reals:
    """The weights of the components, the empty cell's first."""
    weights = before
    for _ in range(_ROUNDS):
        sums = likelihoods @ weights
        learned = weights * (likelihoods.T @ (cells / sums)) + _PRIOR * before
        learned /= learned.sum()
        still = float(np.abs(learned - weights).max()) < _STILL
        weights = learned
        if still:
            break
    return weights


Solution: TypeAlias = TreeSolution | IndependentCells
_LEAST = 1e-150  # records: a standard deviation where neither shares nor noise have any
_FREE = Bounds(np.zeros(1, np.int64), np.full(1, NO_END))


class _Odd(NamedTuple):
    """An answer that is far out."""

    surprise: float  # the probability of one at least as far, by itself
    expected: float  # from where it is far, in records
    known: str  # what was assumed
    remedy: str  # what to check beside the noise


def farthest_out(prior: TablePrior, solution: Solution, tree: Tree, *, is_exact: bool) -> tuple[float, str | None]:
    """Return the surprise of all answers, and in words what is odd about them; None if nothing is.

    Without `is_exact` the surprise is at most 1, and equal if it is small: answers that are surely expected are passed.
    """
    told = [one for level in range(tree.depth) for one in solution.answers(level)]
    odd = min(_all_odd(told, prior, solution, tree, is_exact=is_exact), default=None)
    if odd is None:
        return 1.0, None
    number = sum(one.nodes.size for one in told)
    surprise = min(1.0, number * odd.surprise)
    words = contradiction(surprise, odd.expected, number, odd.known)
    return surprise, words and f"{words}: check {odd.remedy} and the noise"


def _all_odd(
    told: Sequence[LevelAnswers], prior: TablePrior, solution: Solution, tree: Tree, *, is_exact: bool
) -> Iterator[_Odd]:
    """The answers that are farthest out, of each level and mechanism."""
    model = None if isinstance(solution, IndependentCells) else solution.up.model
    for one in told:
        bounds = _FREE if model is None else model.levels[one.level].bounds
        yield from _beyond(one, bounds, tree)
        split = prior.levels[one.level - 1] if one.level else None
        if isinstance(split, StatedLevel):
            yield from _of_shares(one, split, solution.summary(one.level - 1), tree, is_exact=is_exact)
        is_whole = one.nodes.size == tree.sizes[one.level] and not one.suppressed.any()
        if model is not None and is_whole:
            yield from _of_total(one, model.total, model.levels[0].bounds)


def _beyond(one: LevelAnswers, bounds: Bounds, tree: Tree) -> Iterator[_Odd]:
    """The answer that is farthest from all counts that its node can have."""
    noise = one.mechanism
    if not isinstance(noise, SymmetricNoise):
        return
    low, high = (np.broadcast_to(end, tree.sizes[one.level])[one.nodes] for end in bounds)
    last = one.answers - (one.suppressed & noise.is_discrete)
    above = np.where(one.suppressed, 0.0, last - high)
    gaps = np.maximum(low - last, above)
    place = int(np.argmax(gaps))
    if gaps[place] > 0:
        sides = 1 if one.suppressed[place] else 2
        chance = sides * math.exp(noise.log_exceedance(float(gaps[place])))
        nearest = float((high if above[place] > 0 else low)[place])
        remedy = f"{_named(one, place, tree)}, what is known of its sums"
        yield _Odd(chance, nearest, "whatever the counts are", remedy)


def _of_shares(one: LevelAnswers, split: StatedLevel, above: Summary, tree: Tree, *, is_exact: bool) -> Iterator[_Odd]:
    """The answers that are farthest below and above their stated shares of the counts above.

    Each of these counts is that of its interval which fits the answer best.
    """
    weights, is_multinomial = split.weights, split.is_multinomial
    parents = tree.parents(one.level)
    own = parents[one.nodes]
    part, whole = weights[one.nodes], np.bincount(parents, weights)[own]
    rate = part / whole
    size = np.clip(np.round(one.answers / rate), np.maximum(above.low[own], 1), above.high[own])
    missed = one.answers - size * rate
    missed[(rate >= 1) | (one.suppressed & (missed > 0))] = 0.0
    spread = size * rate * (1 - rate) * (1 if is_multinomial else (whole + size) / (whole + 1))
    far = missed / np.maximum(np.sqrt(spread + one.variance), _LEAST)
    for place in {int(np.argmin(far)), int(np.argmax(far))}:
        if not far[place]:
            continue
        records, answer = int(size[place]), float(one.answers[place])
        rest = float(whole[place] - part[place])
        law = (
            Binomial(records, float(rate[place])) if is_multinomial else BetaBinomial(records, float(part[place]), rest)
        )
        given = below(answer) if one.suppressed[place] else answer
        if not is_exact and not one.suppressed[place] and is_expected(law, answer, one.mechanism):
            continue
        chance = two_sided(law, law.law(), given, one.mechanism)
        remedy = f"{_named(one, place, tree)}, the prior"
        yield _Odd(chance, float(size[place] * rate[place]), "under the stated prior", remedy)


def _of_total(one: LevelAnswers, total: Population | None, bounds: Bounds) -> Iterator[_Odd]:
    """The sum of all answers of a level, if it is far from what was known of the total.

    P[|S| >= x] <= e^(1 − x/s) of a sum S of log-concave noise with standard deviation s: Lovász and Vempala (2007), The
    geometry of logconcave functions, Lemma 5.7. Laplace noise of scale s has that tail but for the factor e.
    """
    answer, deviation = float(one.answers.sum()), math.sqrt(one.variance * one.nodes.size)
    if isinstance(total, Population):
        is_one = one.nodes.size == 1 or not deviation
        law, factor = (one.mechanism, 1.0) if is_one else (Laplace(deviation), math.e)
        chance = min(1.0, factor * two_sided(total, total.law(), answer, law))
        yield _Odd(chance, total.law().mean, "under the stated total", "the total")
        return
    low, high = float(bounds.low[0]), float(bounds.high[0])
    gap = max(low - answer, answer - high)
    if gap > deviation > 0:
        chance = math.exp(1 - gap / deviation)
        yield _Odd(chance, min(max(answer, low), high), "under the stated total", "the total")


def _named(one: LevelAnswers, place: int, tree: Tree) -> str:
    """The node of an answer."""
    label = ", ".join(tree.label(one.level, int(one.nodes[place])))
    return f"the answer of {label}" if label else "the total"


_FACTORS = 0.5, 2.0


@frozen
class Move(Shown):
    """What another concentration changes.

    Attributes:
        factor: How many times the concentration.
        largest: The largest move of the mean of a cell, in records.
        average: The mean of these moves over all cells, in records.
        largest_deviations: The largest move, in standard deviations of that cell.
        average_deviations: The mean of these.
        log_evidence: By how much the logarithm of the evidence rises.
    """

    factor: float
    largest: float
    average: float
    largest_deviations: float
    average_deviations: float
    log_evidence: float


@frozen
class Sensitivity(Shown):
    """What half and twice the concentration of a prior change.

    Attributes:
        moves: Under half, and under twice; empty where the prior has no concentration.
        words: One line on them.
    """

    moves: tuple[Move, ...]
    words: str


def sensitivity(prior: TablePrior, solution: Solution) -> Sensitivity:
    """What half and twice the concentration change: the table is solved twice more."""
    if isinstance(solution, IndependentCells) or isinstance(prior.levels[-1], CellLevel):
        return Sensitivity((), "a law of a cell has no concentration")
    if prior.scaled(2).levels == prior.levels:
        return Sensitivity((), "known rates have no concentration")
    moves = tuple(_move(prior, solution, factor) for factor in _FACTORS)
    largest = max(move.largest for move in moves)
    deviations = max(move.largest_deviations for move in moves)
    return Sensitivity(
        moves,
        "under half and twice the concentration cells move by "
        f"{signed(largest, 1)} at most, and by {deviations:.2g} standard deviations",
    )


def _move(prior: TablePrior, solution: TreeSolution, factor: float) -> Move:
    """What so many times the concentration changes."""
    model, records = solution.up.model, solution.records
    settings = centred_settings(solution.up.settings, solution.down) if prior.is_learned else first_settings(model)
    other = TreeSolution.of(model, prior.scaled(factor).levels, settings, solution.told, records)
    own, found = solution.down[-1].summary, other.down[-1].summary  # in packs
    moved = np.abs(found.mean - own.mean)
    deviations = np.divide(moved, own.std, out=np.zeros_like(moved), where=own.std > 0)
    return Move(
        factor,
        records * float(moved.max()),
        records * float(moved.mean()),
        float(deviations.max()),
        float(deviations.mean()),
        other.up.evidence - solution.up.evidence,
    )
