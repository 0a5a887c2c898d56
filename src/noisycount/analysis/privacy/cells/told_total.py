"""δ of a move between two cells if the outsider is told how many records they hold together."""

import math
from collections.abc import Sequence

import numpy as np

from noisycount.analysis.privacy.cells.cell import Move
from noisycount.analysis.privacy.cells.one_count import (
    Answer,
    OneCount,
    least_of_one_count,
    most_of_one_count,
)
from noisycount.analysis.privacy.cells.totals import runs_of_totals
from noisycount.model.exact import Exact
from noisycount.model.noises.gaussian import Gaussian

__all__ = ["one_count_answers", "told_least", "told_most"]

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
