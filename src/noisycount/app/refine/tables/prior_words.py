"""What was known of a table before its answers, in words."""

import numpy as np

from noisycount.analysis.tables.tree_solution import TreeSolution
from noisycount.app.refine.tables.refined import RefinedTable
from noisycount.app.refine.tables.selected import SELECTED
from noisycount.shown.numbers import signed

__all__ = ["prior_object", "prior_words", "sensitivity_words"]

_MOST_CELLS = 5000  # of a larger table it takes too long to solve it twice more


def prior_words(refined: RefinedTable) -> list[str]:
    """What was assumed, or learned from the answers."""
    if refined.told is None:
        return [SELECTED]
    return [refined.told.prior.words]


def sensitivity_words(refined: RefinedTable) -> list[str]:
    """How far estimates of cells move under half and twice the concentration."""
    told = refined.told
    if told is None or not isinstance(told.solution, TreeSolution) or len(told) > _MOST_CELLS:
        return []
    solution, own = told.solution, told.level(-1)
    moved = [
        np.abs(
            TreeSolution.of(
                solution.model, told.prior.scaled(factor).levels, solution.solved.settings
            )
            .summary(told.tree.depth - 1)
            .mean
            - own.mean
        )
        for factor in (0.5, 2.0)
    ]
    largest = max(float(each.max()) for each in moved)
    return [f"under half and twice the concentration cells move by {signed(largest, 1)} at most"]


def prior_object(refined: RefinedTable) -> object:
    """The prior as JSON; null where each count was as likely."""
    return None if refined.told is None else refined.told.prior.to_dict()
