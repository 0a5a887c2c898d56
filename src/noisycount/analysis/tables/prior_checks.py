"""Whether answers contradict what was stated about a table, and what it owes to its prior."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from noisycount.analysis.posterior.predictive import contradiction, two_sided
from noisycount.analysis.tables.answers import LevelAnswers
from noisycount.analysis.tables.cell_solution import CellSolution
from noisycount.analysis.tables.likelihoods import NO_END, Bounds
from noisycount.analysis.tables.model import first_settings
from noisycount.analysis.tables.passes import Summary
from noisycount.analysis.tables.prior import CellLevel, StatedLevel, TablePrior
from noisycount.analysis.tables.tree_solution import TreeSolution
from noisycount.display.numbers import signed
from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.exact import below
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.noises.laplace import Laplace
from noisycount.model.populations.binomial import BetaBinomial, Binomial
from noisycount.model.populations.population import Population
from noisycount.model.tables.tree import Tree

Solution: TypeAlias = TreeSolution | CellSolution
_LEAST = 1e-150  # records: a standard deviation where neither shares nor noise have any
_FREE = Bounds(np.zeros(1, np.int64), np.full(1, NO_END))


class _Odd(NamedTuple):
    """An answer that is far out."""

    surprise: float  # the probability of one at least as far, by itself
    expected: float  # from where it is far, in records
    known: str  # what was assumed
    remedy: str  # what to check beside the noise


def farthest_out(prior: TablePrior, solution: Solution, tree: Tree) -> tuple[float, str | None]:
    """The surprise of all answers, and in words what is odd about them; None if nothing is."""
    told = [one for level in range(tree.depth) for one in solution.answers(level)]
    odd = min(_all_odd(told, prior, solution, tree), default=None)
    if odd is None:
        return 1.0, None
    number = sum(one.nodes.size for one in told)
    surprise = min(1.0, number * odd.surprise)
    words = contradiction(surprise, odd.expected, number, odd.known)
    return surprise, words and f"{words}: check {odd.remedy} and the noise"


def _all_odd(told: Sequence[LevelAnswers], prior: TablePrior, solution: Solution, tree: Tree) -> Iterator[_Odd]:
    """The answers that are farthest out, of each level and mechanism."""
    model = None if isinstance(solution, CellSolution) else solution.model
    for one in told:
        bounds = _FREE if model is None else model.levels[one.level].bounds
        yield from _beyond(one, bounds, tree)
        split = prior.levels[one.level - 1] if one.level else None
        if isinstance(split, StatedLevel):
            yield from _of_shares(one, split, solution.summary(one.level - 1), tree)
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


def _of_shares(one: LevelAnswers, split: StatedLevel, above: Summary, tree: Tree) -> Iterator[_Odd]:
    """The answers that are farthest below and above their stated shares of the counts above.

    Each of these counts is that of its interval which fits the answer best.
    """
    weights, is_multinomial = split.split
    parents = tree.parents(one.level)
    own = parents[one.nodes]
    part, whole = weights[one.nodes], np.bincount(parents, weights)[own]
    rate = part / whole
    size = np.clip(np.round(one.answers / rate), np.maximum(above.low[own], 1), above.high[own])
    missed = one.answers - size * rate
    missed[(rate >= 1) | (one.suppressed & (missed > 0))] = 0.0
    spread = size * rate * (1 - rate) * (1 if is_multinomial else (whole + size) / (whole + 1))
    far = missed / np.maximum(np.sqrt(spread + _variance(one)), _LEAST)
    for place in {int(np.argmin(far)), int(np.argmax(far))}:
        if not far[place]:
            continue
        records, answer = int(size[place]), float(one.answers[place])
        rest = float(whole[place] - part[place])
        law = (
            Binomial(records, float(rate[place])) if is_multinomial else BetaBinomial(records, float(part[place]), rest)
        )
        given = below(answer) if one.suppressed[place] else answer
        chance = two_sided(law, law.law(), given, one.mechanism)
        remedy = f"{_named(one, place, tree)}, the prior"
        yield _Odd(chance, float(size[place] * rate[place]), "under the stated prior", remedy)


def _of_total(one: LevelAnswers, total: Population | None, bounds: Bounds) -> Iterator[_Odd]:
    """The sum of all answers of a level, if it is far from what was known of the total.

    P[|S| >= x] <= e^(1 − x/s) of a sum S of log-concave noise with standard deviation s: Lovász and
    Vempala (2007), The geometry of logconcave functions, Lemma 5.7. Laplace noise of scale s has
    that tail but for the factor e.
    """
    answer, deviation = float(one.answers.sum()), math.sqrt(_variance(one) * one.nodes.size)
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


def _variance(one: LevelAnswers) -> float:
    """That of the noise of each answer, in records²; 0 where there is none."""
    return one.mechanism.variance if isinstance(one.mechanism, SymmetricNoise) else 0.0


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
    if isinstance(solution, CellSolution) or isinstance(prior.levels[-1], CellLevel):
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
    model, records = solution.model, solution.records
    levels = prior.scaled(factor).levels
    other = TreeSolution.of(model, levels, first_settings(model), solution.told, records)
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
