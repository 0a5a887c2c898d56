"""δ of a move between two cells for an outsider who sees no answer but those about the two."""

import math

import numpy as np

from noisycount.analysis.privacy.cells.answers import answer_table, positive_sum
from noisycount.analysis.privacy.cells.cell import Cell, Move
from noisycount.analysis.privacy.cells.one_count import OneCount, least_of_one_count
from noisycount.analysis.privacy.cells.others import Others
from noisycount.analysis.privacy.cells.told_total import one_count_answers
from noisycount.analysis.privacy.hockey_stick import hockey_sticks
from noisycount.analysis.privacy.pairs.of_population import record_pairs
from noisycount.model.exact import Exact
from noisycount.model.populations.binomial import Binomial

__all__ = ["counted_bounds", "seen_least"]

_WIDEST = 2048  # counts of a cell: a table of 4 million probabilities takes half a second
_DEVIATIONS = 20.0  # of a count that its table holds
_LOST = 1e-12  # of the probability of all counts that are not in a table, and of rounding


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
    (pair,) = record_pairs(cell.mechanism, Binomial(move.size, cell.rate))
    errors = None if isinstance(cell.mechanism, Exact) else cell.mechanism.errors
    sticks = hockey_sticks(pair if in_first else pair.mirrored, errors, epsilons)
    return [stick.lower for stick in sticks]
