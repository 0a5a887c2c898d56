"""How much the estimates of a table owe to how concentrated its prior is."""

from dataclasses import dataclass

import numpy as np

from noisycount.analysis.tables.cells.solution import CellSolution
from noisycount.analysis.tables.certified import first_settings
from noisycount.analysis.tables.prior import TablePrior
from noisycount.analysis.tables.prior_splits import CellLevel
from noisycount.analysis.tables.trees.solution import TreeSolution
from noisycount.shown.numbers import signed
from noisycount.shown.value import Shown

__all__ = ["Move", "Sensitivity", "sensitivity"]

_FACTORS = 0.5, 2.0


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Sensitivity(Shown):
    """What half and twice the concentration of a prior change.

    Attributes:
        moves: Under half, and under twice; empty where the prior has no concentration.
        words: One line on them.
    """

    moves: tuple[Move, ...]
    words: str


def sensitivity(prior: TablePrior, solution: TreeSolution | CellSolution) -> Sensitivity:
    """What half and twice the concentration change: the table is solved twice more.

    Args:
        prior: How counts divided before any answer.
        solution: The laws of all counts under it.
    """
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
    model = solution.model
    other = TreeSolution.of(model, prior.scaled(factor).levels, first_settings(model))
    cells = model.tree.depth - 1
    own = solution.summary(cells)
    moved = np.abs(other.summary(cells).mean - own.mean)
    deviations = np.divide(moved, own.std, out=np.zeros_like(moved), where=own.std > 0)
    return Move(
        factor,
        float(moved.max()),
        float(moved.mean()),
        float(deviations.max()),
        float(deviations.mean()),
        other.evidence - solution.evidence,
    )
