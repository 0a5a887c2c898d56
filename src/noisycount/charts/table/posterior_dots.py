"""What a chart of a table posterior shows: answers beside estimates, of cells and of their sums."""

import numpy as np

from noisycount.analysis.tables.table_estimates import TablePosterior
from noisycount.charts.table.dots import RefinedDot, RefinedDots, RefinedSums, answer_error

__all__ = ["posterior_dots"]

_LEVEL = 0.95


def posterior_dots(told: TablePosterior) -> RefinedDots:
    """The cells of a table, and each level of sums about which something was answered.

    Args:
        told: The laws of the counts.
    """
    cells = told.tree.depth - 1
    sums = [
        RefinedSums.of_largest(told.tree.names[level], _level(told, level))
        for level in reversed(range(cells))
        if told.solution.answers(level)
    ]
    title, notes = "What are the true counts?", [told.prior.words]
    return RefinedDots.of_largest(_level(told, cells), title, notes, _LEVEL, sums=sums)


def _level(told: TablePosterior, level: int) -> list[RefinedDot]:
    """The nodes of a level, each with its answer if it has one, and its estimate."""
    estimates = told.level(level)
    number = len(estimates.mean)
    answers, errors = np.full(number, np.nan), np.zeros(number)
    for one in told.solution.answers(level):
        given = ~one.suppressed
        answers[one.nodes[given]] = one.answers[given]
        errors[one.nodes[given]] = answer_error(one.mechanism, _LEVEL)
    return [
        RefinedDot(
            ", ".join(told.tree.label(level, node)) or told.tree.names[level],
            None if np.isnan(answers[node]) else float(answers[node]),
            float(errors[node]),
            float(estimates.mean[node]),
            int(estimates.low[node]),
            int(estimates.high[node]),
        )
        for node in range(number)
    ]
