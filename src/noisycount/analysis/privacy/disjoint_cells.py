"""δ of a table of disjoint cells: a record moves from one cell to another."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np

from noisycount.analysis.privacy.bounds import Between, Bounded, Certified
from noisycount.analysis.privacy.cells import (
    Cell,
    Move,
    Others,
    answer_table,
    counts_within,
    positive_sum,
    runs_of_totals,
)
from noisycount.analysis.privacy.hockey_stick import hockey_sticks
from noisycount.analysis.privacy.neighbour_pairs import neighbour_pairs
from noisycount.frozen import frozen
from noisycount.model.exact import Exact
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.laplace import DiscreteLaplace, Laplace
from noisycount.model.populations.binomial import Binomial

__all__ = ["TableAnswers"]

Answer = Exact | SymmetricNoise
"""How a count is answered."""
_DEPTH = 34.0  # nepers: a count farther off has a probability below 1e-14
_LOST = 1e-12  # of the probability of all counts that are not in a table
_REMEMBERED = 1 << 12  # curves, of a few numbers each


@frozen
class OneCount:
    """How many of some records are in the rarer of two cells, one in a million billions perhaps."""

    population: Binomial  # the records of the two cells
    is_turned: bool  # whether P₊ has the record in the other cell

    @classmethod
    def of(cls, move: Move, total: int) -> "OneCount":
        """The count where so many records are in the two cells of a move."""
        first, second = move.first.rate, move.second.rate
        return cls(Binomial(total, min(first, second) / (first + second)), second < first)


def most_of_one_count(
    count: OneCount, answers: Sequence[Answer], epsilons: list[float]
) -> list[float]:
    """An upper bound of δ₊ of one count that has one or two answers, for each ε in rising order.

    The count itself tells more than two answers. From an answer with discrete Laplace noise one
    with Laplace noise of the same scale can be made (docs/several-answers.md), so that it tells
    more, too.
    """
    if len(answers) == 1:
        return [one.upper for one in _sticks(count, answers[0], epsilons)]
    most = _sticks(count, Exact(), epsilons)
    finer = [_discrete(one) for one in answers]
    if not all(isinstance(one, SymmetricNoise) and one.is_discrete for one in finer):
        return [one.upper for one in most]
    found = [_of_two(count, finer, epsilon)[1] for epsilon in epsilons]
    return [min(one.upper, high) for one, high in zip(most, found, strict=True)]


def least_of_one_count(
    count: OneCount, answers: Sequence[Answer], epsilons: list[float]
) -> list[float]:
    """A lower bound of the same: each answer alone tells less, and so do answers in bins."""
    least = [one.lower for one in _sticks(count, answers[0], epsilons)]
    if len(answers) == 1:
        return least
    found = [_of_two(count, answers, epsilon)[0] for epsilon in epsilons]
    return [max(both) for both in zip(least, found, strict=True)]


def _sticks(count: OneCount, answer: Answer, epsilons: list[float]) -> tuple[Certified, ...]:
    """δ₊ of one answer."""
    return _known_sticks(count, answer, tuple(epsilons))


@lru_cache(maxsize=_REMEMBERED)
def _known_sticks(
    count: OneCount, answer: Answer, epsilons: tuple[float, ...]
) -> tuple[Certified, ...]:
    """The same: both ends of a bracket ask for it, and so do tables of equal cells."""
    (pair,) = neighbour_pairs(answer, count.population)
    errors = None if isinstance(answer, Exact) else answer.errors
    seen = pair.mirrored if count.is_turned else pair
    return tuple(hockey_sticks(seen, errors, list(epsilons)))


def _discrete(noise: Answer) -> Answer:
    """Discrete noise from whose answers those of this one can be made, if there is such one."""
    return DiscreteLaplace(noise.exact_scale) if isinstance(noise, Laplace) else noise


def _of_two(count: OneCount, answers: Sequence[Answer], epsilon: float) -> tuple[float, float]:
    """Below and above δ₊ of two answers in bins; (0, 1) where these would be too many."""
    others = Binomial(count.population.size - 1, count.population.rate)
    low, high = counts_within(others, _DEPTH)
    first, second = (answer_table(one, low, high + 1) for one in answers)
    if first is None or second is None:
        return 0.0, 1.0
    law = others.deep_law()
    counts = np.arange(low, high + 2)
    gain = math.exp(epsilon)
    with_record, without = law.pmf(counts - 1), law.pmf(counts)
    weights = without - gain * with_record if count.is_turned else with_record - gain * without
    value, rounding = positive_sum(first, weights, second)
    most = value + first.missed + second.missed + _LOST + rounding
    return max(0.0, value - gain * _LOST - rounding), min(1.0, most)


_RUNS = 256  # of totals: a curve of one answer takes 2 ms
_RUNS_OF_TWO = 128  # of totals: a table of two answers takes 15 ms


def told_most(move: Move, epsilons: list[float]) -> list[float]:
    """An upper bound of δ₊ of a move whose total T is told, for each ε in rising order.

    δ₊ is Σ_t P[T = t]·δ_t(ε), where δ_t is that of one count of t records that is answered by
    both mechanisms; T is 1 + Bin(n − 1, rate). δ_t falls with t, so that the ends of a run of
    totals bound it on the run.
    """
    answers = one_count_answers(move)
    found = np.zeros(len(epsilons))
    for run in runs_of_totals(move.size, move.rate, _number(answers)):
        of_count = most_of_one_count(OneCount.of(move, run.low), answers, epsilons)
        found += run.most * np.array(of_count)
    return [min(one, 1.0) for one in found.tolist()]


def told_least(move: Move, epsilons: list[float]) -> list[float]:
    """A lower bound of the same."""
    answers = one_count_answers(move)
    found = np.zeros(len(epsilons))
    for run in runs_of_totals(move.size, move.rate, _number(answers)):
        of_count = least_of_one_count(OneCount.of(move, run.high), answers, epsilons)
        found += run.least * np.array(of_count)
    return [float(one) for one in found]


def one_count_answers(move: Move) -> Sequence[Answer]:
    """How one count would be answered that tells as much as the answers about both cells."""
    asked = [cell.mechanism for cell in (move.first, move.second) if cell.mechanism is not None]
    if not asked or any(isinstance(one, Exact) for one in asked):
        return [Exact()]
    scales = [one.scale for one in asked if isinstance(one, Gaussian)]
    if len(scales) == 2:  # noqa: PLR2004  (the weighted mean of both tells all)
        return [Gaussian(1 / math.hypot(*(1 / scale for scale in scales)))]
    return asked


def _number(answers: Sequence[Answer]) -> int:
    """How many runs of totals there may be."""
    return _RUNS if len(answers) == 1 else _RUNS_OF_TWO


_WIDEST = 2048  # counts of a cell: a table of 4 million probabilities takes half a second
_DEVIATIONS = 20.0  # of a count that its table holds


def seen_least(move: Move, epsilons: list[float]) -> list[float]:
    """A lower bound of δ₊ of a move, for each ε in rising order: whoever sees more learns more.

    The answers about both cells are put into bins; where these would be too many, it is the larger
    δ of the answer about one of them, to which the other cell is as any.
    """
    if move.rate >= 1:
        count = OneCount.of(move, move.size)
        return least_of_one_count(count, one_count_answers(move), epsilons)
    return _of_both(move, epsilons) or _of_one_cell(move, epsilons)


def counted_bounds(move: Move, epsilons: list[float]) -> list[tuple[float, float]]:
    """Below and above δ₊ of a move without noise, summed over both counts; (0, 1) of too many."""
    if move.rate >= 1 or not _is_short(move):
        return [(0.0, 1.0)] * len(epsilons)
    others, found = Others.of(move), []
    for epsilon in epsilons:
        gain = math.exp(epsilon)
        weights = others.with_first - gain * others.with_second
        value, lost = float(np.maximum(weights, 0.0).sum()), _LOST * (1 + gain)
        found.append((max(0.0, value - lost), min(1.0, value + lost)))
    return found


def _is_short(move: Move) -> bool:
    """Whether a table of both counts is small."""
    rate = max(move.first.rate, move.second.rate)
    return _DEVIATIONS * math.sqrt(move.size * rate) <= _WIDEST


def _of_both(move: Move, epsilons: list[float]) -> list[float]:
    """The bound from both answers; none where there are too many counts."""
    if not _is_short(move):
        return []
    others = Others.of(move)
    first = answer_table(move.first.mechanism, *others.firsts)
    second = answer_table(move.second.mechanism, *others.seconds)
    if first is None or second is None:
        return []
    lowers = []
    for epsilon in epsilons:
        gain = math.exp(epsilon)
        weights = others.with_first - gain * others.with_second
        value, rounding = positive_sum(first, weights, second)
        lowers.append(max(0.0, value - gain * _LOST - rounding))
    return lowers


def _of_one_cell(move: Move, epsilons: list[float]) -> list[float]:
    """The bound from the answer about one cell alone."""
    firsts = _of_answer(move, move.first, epsilons, in_first=True)
    seconds = _of_answer(move, move.second, epsilons, in_first=False)
    return [max(both) for both in zip(firsts, seconds, strict=True)]


def _of_answer(move: Move, cell: Cell, epsilons: list[float], *, in_first: bool) -> list[float]:
    """The bound from the answer about a cell, in which the record is or is not in P₊."""
    if cell.mechanism is None:
        return [0.0] * len(epsilons)
    (pair,) = neighbour_pairs(cell.mechanism, Binomial(move.size, cell.rate))
    errors = None if isinstance(cell.mechanism, Exact) else cell.mechanism.errors
    sticks = hockey_sticks(pair if in_first else pair.mirrored, errors, epsilons)
    return [stick.lower for stick in sticks]


@frozen(eq=False)
class TableAnswers:
    """The divergences of answers about disjoint cells that hold all records.

    Without noise the bracket is that of rounding; with noise its upper end is of an outsider who
    is told how many records the two cells hold together, its lower end of one who sees only the
    answers about the two.
    """

    size: int
    cells: tuple[Cell, ...]  # the cells, whose rates add up to 1; at most one is not asked for

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """δ₊ and δ₋ for each ε: the same, as a record may move either way."""
        found = [_bounds(move, epsilons) for move in worst_moves(self.size, self.cells)]
        largest: list[Bounded] = [
            Between.of_bounds(max(low for low, _ in at_one), max(high for _, high in at_one))
            for at_one in zip(*found, strict=True)
        ]
        return largest, largest


def worst_moves(size: int, cells: Sequence[Cell]) -> Iterator[Move]:
    """Moves among which is the one that shows most: between the rarest cells of each mechanism."""
    kinds = defaultdict(list)
    for cell in cells:
        kinds[cell.mechanism].append(cell)
    rarest = [
        cell for kind in kinds.values() for cell in sorted(kind, key=lambda cell: cell.rate)[:2]
    ]
    for first, second in combinations(rarest, 2):
        move = Move(size, first, second)
        yield move
        if first != second:
            yield move.mirrored


def _bounds(move: Move, epsilons: list[float]) -> list[tuple[float, float]]:
    """Below and above δ₊ of one move."""
    most = told_most(move, epsilons)
    if not all(isinstance(cell.mechanism, Exact) for cell in (move.first, move.second)):
        return list(zip(seen_least(move, epsilons), most, strict=True))
    least, counted = told_least(move, epsilons), counted_bounds(move, epsilons)
    return [
        (max(low, counted_low), min(high, counted_high))
        for low, high, (counted_low, counted_high) in zip(least, most, counted, strict=True)
    ]
