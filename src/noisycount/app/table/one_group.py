"""What a table costs where each unit counts in one of its groups only."""

import math
from fractions import Fraction

import numpy as np

from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.model.tables.levels import Level
from noisycount.release.tables.plan import TablePlan, table_plan

__all__ = ["one_group_words"]


def one_group_words(plan: TablePlan) -> str:
    """For what part of its price no error of a table is larger, where each is in one group only.

    The levels share the price anew then, so that they do not all gain as much: the one that gains
    least decides.

    Args:
        plan: A table of units that may be in all groups, without ranges.

    Returns:
        What follows a statement; empty where nothing is saved.
    """
    levels = [
        Level(level.name, np.empty(0, np.int32), level.size or 0, np.empty((0, 0), np.int32))
        for level in plan.levels
    ]
    alone = table_plan(levels, plan.price, 1, is_replacement=plan.is_replacement)
    factors = {
        Fraction(new.sensitivity, old.sensitivity) * old.share / new.share
        for new, old in zip(alone.levels, plan.levels, strict=True)
    }
    price = "the price" if issubclass(plan.price.noise, DiscreteLaplace) else "ρ"
    if len(factors) == 1:
        return f", and the same error costs {factors.pop()} of {price}"
    most = max(factors)
    if most >= 1:
        return ""
    return f", and for {math.ceil(100 * most)} % of {price} no error is larger than now"
