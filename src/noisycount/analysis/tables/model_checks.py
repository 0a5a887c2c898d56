"""Checks of the model of a table: answers that contradict it, and changes under another concentration of the prior.

`farthest_out` compares answers with their distribution under the prior; `sensitivity` solves the table again.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from noisycount.analysis.posterior.predictive import contradiction_warning, is_expected, two_sided_probability
from noisycount.analysis.tables.independent_cells import IndependentCells
from noisycount.analysis.tables.likelihoods import NO_END, Bounds, LevelAnswers
from noisycount.analysis.tables.passes import Summary, first_settings
from noisycount.analysis.tables.prior import CellLevel, StatedLevel, TablePrior
from noisycount.analysis.tables.tree_solution import (
    TreeSolution,
    centred_settings,
)
from noisycount.display.numbers import signed
from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.exact import below
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.noises.laplace import Laplace
from noisycount.model.populations.binomial import BetaBinomial, Binomial
from noisycount.model.populations.population import Population
from noisycount.model.tables.tree import Tree

Solution: TypeAlias = TreeSolution | IndependentCells
_SMALLEST_DEVIATION = 1e-150  # records: standard deviation if neither shares nor noise have any
_FREE = Bounds(np.zeros(1, np.int64), np.full(1, NO_END))


class _Outlier(NamedTuple):
    """Answer in the tail of its distribution under an assumption."""

    surprise: float  # probability of an answer at least as far out
    expected: float  # expected answer, in records
    known: str  # assumption, in words
    remedy: str  # what to check in addition to the noise


def farthest_out(prior: TablePrior, solution: Solution, tree: Tree, *, is_exact: bool) -> tuple[float, str | None]:
    """Return the surprise of all answers, and a description of what is odd about them; None if nothing is.

    Without `is_exact`, answers that are surely expected are skipped: a small surprise is exact, and a larger one is at
    most 1.
    """
    groups = [group for level in range(tree.depth) for group in solution.answers(level)]
    outlier = min(_outliers(groups, prior, solution, tree, is_exact=is_exact), default=None)
    if outlier is None:
        return 1.0, None
    number = sum(group.nodes.size for group in groups)
    surprise = min(1.0, number * outlier.surprise)
    words = contradiction_warning(surprise, outlier.expected, number, outlier.known)
    return surprise, words and f"{words}: check {outlier.remedy} and the noise"


def _outliers(
    groups: Sequence[LevelAnswers], prior: TablePrior, solution: Solution, tree: Tree, *, is_exact: bool
) -> Iterator[_Outlier]:
    """Yield the answers that are farthest out, of each level and mechanism."""
    model = None if isinstance(solution, IndependentCells) else solution.up.model
    for group in groups:
        bounds = _FREE if model is None else model.levels[group.level].bounds
        yield from _outlier_of_bounds(group, bounds, tree)
        split = prior.levels[group.level - 1] if group.level else None
        if isinstance(split, StatedLevel):
            yield from _outliers_of_shares(group, split, solution.summary(group.level - 1), tree, is_exact=is_exact)
        is_whole = group.nodes.size == tree.sizes[group.level] and not group.suppressed.any()
        if model is not None and is_whole:
            yield from _outlier_of_total(group, model.total, model.levels[0].bounds)


def _outlier_of_bounds(group: LevelAnswers, bounds: Bounds, tree: Tree) -> Iterator[_Outlier]:
    """Yield the answer that is farthest from the range of possible counts of its node."""
    noise = group.mechanism
    if not isinstance(noise, SymmetricNoise):
        return
    low, high = (np.broadcast_to(end, tree.sizes[group.level])[group.nodes] for end in bounds)
    largest_answer = group.answers - (group.suppressed & noise.is_discrete)
    excess = np.where(group.suppressed, 0.0, largest_answer - high)
    gaps = np.maximum(low - largest_answer, excess)
    index = int(np.argmax(gaps))
    if gaps[index] > 0:
        sides = 1 if group.suppressed[index] else 2
        chance = sides * math.exp(noise.log_exceedance(float(gaps[index])))
        nearest = float((high if excess[index] > 0 else low)[index])
        remedy = f"{_node_name(group, index, tree)}, what is known of its sums"
        yield _Outlier(chance, nearest, "whatever the counts are", remedy)


def _outliers_of_shares(
    group: LevelAnswers, split: StatedLevel, parent_summary: Summary, tree: Tree, *, is_exact: bool
) -> Iterator[_Outlier]:
    """Yield the answers that are farthest below and above their stated shares of the counts above.

    Each of these counts is the one within its interval that fits the answer best.
    """
    weights, is_multinomial = split.weights, split.is_multinomial
    parents = tree.parents(group.level)
    parent_of_node = parents[group.nodes]
    weight, parent_weight = weights[group.nodes], np.bincount(parents, weights)[parent_of_node]
    rate = weight / parent_weight
    size = np.clip(
        np.round(group.answers / rate),
        np.maximum(parent_summary.low[parent_of_node], 1),
        parent_summary.high[parent_of_node],
    )
    differences = group.answers - size * rate
    differences[(rate >= 1) | (group.suppressed & (differences > 0))] = 0.0
    spread = size * rate * (1 - rate) * (1 if is_multinomial else (parent_weight + size) / (parent_weight + 1))
    standard_distances = differences / np.maximum(np.sqrt(spread + group.variance), _SMALLEST_DEVIATION)
    for index in {int(np.argmin(standard_distances)), int(np.argmax(standard_distances))}:
        if not standard_distances[index]:
            continue
        parent_count, answer = int(size[index]), float(group.answers[index])
        other_weight = float(parent_weight[index] - weight[index])
        law = (
            Binomial(parent_count, float(rate[index]))
            if is_multinomial
            else BetaBinomial(parent_count, float(weight[index]), other_weight)
        )
        observed = below(answer) if group.suppressed[index] else answer
        if not is_exact and not group.suppressed[index] and is_expected(law, answer, group.mechanism):
            continue
        chance = two_sided_probability(law, law.law(), observed, group.mechanism)
        remedy = f"{_node_name(group, index, tree)}, the prior"
        yield _Outlier(chance, float(size[index] * rate[index]), "under the stated prior", remedy)


def _outlier_of_total(group: LevelAnswers, total: Population | None, bounds: Bounds) -> Iterator[_Outlier]:
    """Yield the sum of all answers of a level if it is improbable under the assumed total.

    P[|S| >= x] <= e^(1 − x/s) for a sum S of log-concave noise with standard deviation s: Lovász and Vempala (2007),
    The geometry of logconcave functions, Lemma 5.7. Laplace noise of scale s has that tail except for the factor e.
    """
    answer, deviation = float(group.answers.sum()), math.sqrt(group.variance * group.nodes.size)
    if isinstance(total, Population):
        is_one = group.nodes.size == 1 or not deviation
        noise, factor = (group.mechanism, 1.0) if is_one else (Laplace(deviation), math.e)
        chance = min(1.0, factor * two_sided_probability(total, total.law(), answer, noise))
        yield _Outlier(chance, total.law().mean, "under the stated total", "the total")
        return
    low, high = float(bounds.low[0]), float(bounds.high[0])
    gap = max(low - answer, answer - high)
    if gap > deviation > 0:
        chance = math.exp(1 - gap / deviation)
        yield _Outlier(chance, min(max(answer, low), high), "under the stated total", "the total")


def _node_name(group: LevelAnswers, index: int, tree: Tree) -> str:
    """Return the name of the node of an answer."""
    label = ", ".join(tree.label(group.level, int(group.nodes[index])))
    return f"the answer of {label}" if label else "the total"


_FACTORS = 0.5, 2.0


@frozen
class Move(Shown):
    """Changes under another concentration of the prior.

    Attributes:
        factor: The factor of the concentration.
        largest: The largest change of the mean of a cell, in records.
        average: The mean of these changes over all cells, in records.
        largest_deviations: The largest change, in standard deviations of that cell.
        average_deviations: The mean of these.
        log_evidence: The change of the logarithm of the evidence.
    """

    factor: float
    largest: float
    average: float
    largest_deviations: float
    average_deviations: float
    log_evidence: float


@frozen
class Sensitivity(Shown):
    """Changes under half and under twice the concentration of a prior.

    Attributes:
        moves: The changes under half and under twice; empty if the prior has no concentration.
        words: One line that describes them.
    """

    moves: tuple[Move, ...]
    words: str


def sensitivity(prior: TablePrior, solution: Solution) -> Sensitivity:
    """Return the changes under half and under twice the concentration; this solves the table twice more."""
    if isinstance(solution, IndependentCells) or isinstance(prior.levels[-1], CellLevel):
        return Sensitivity((), "a distribution of cells has no concentration")
    if prior.scaled(2).levels == prior.levels:
        return Sensitivity((), "known rates have no concentration")
    moves = tuple(_changes_under_factor(prior, solution, factor) for factor in _FACTORS)
    largest = max(move.largest for move in moves)
    deviations = max(move.largest_deviations for move in moves)
    return Sensitivity(
        moves,
        "under half and twice the concentration cells move by "
        f"{signed(largest, 1)} at most, and by {deviations:.2g} standard deviations",
    )


def _changes_under_factor(prior: TablePrior, solution: TreeSolution, factor: float) -> Move:
    """Return the changes under a factor of the concentration."""
    model, records = solution.up.model, solution.records
    settings = centred_settings(solution.up.settings, solution.down) if prior.is_learned else first_settings(model)
    solution_with_factor = TreeSolution.solve(
        model, prior.scaled(factor).levels, settings, solution.record_answers, records
    )
    before, after = solution.down[-1].summary, solution_with_factor.down[-1].summary  # in packs
    changes = np.abs(after.mean - before.mean)
    deviations = np.divide(changes, before.std, out=np.zeros_like(changes), where=before.std > 0)
    return Move(
        factor,
        records * float(changes.max()),
        records * float(changes.mean()),
        float(deviations.max()),
        float(deviations.mean()),
        solution_with_factor.up.evidence - solution.up.evidence,
    )
