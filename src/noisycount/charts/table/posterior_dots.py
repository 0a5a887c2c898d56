"""What a chart of a table posterior shows: the answers of its cells beside their estimates."""

import numpy as np

from noisycount.analysis.tables.table_estimates import TablePosterior
from noisycount.charts.table.dots import RefinedDot, RefinedDots, answer_error

__all__ = ["posterior_dots"]

_LEVEL = 0.95


def posterior_dots(told: TablePosterior) -> RefinedDots:
    """The cells of a table, each with its answer if it has one, and its estimate.

    Args:
        told: The laws of the counts.
    """
    cells, answers, errors = told.level(-1), np.full(len(told), np.nan), np.zeros(len(told))
    for one in told.solution.cell_answers:
        given = ~one.suppressed
        answers[one.nodes[given]] = one.answers[given]
        errors[one.nodes[given]] = answer_error(one.mechanism, _LEVEL)
    dots = [
        RefinedDot(
            ", ".join(told.tree.label(-1, cell)),
            None if np.isnan(answers[cell]) else float(answers[cell]),
            float(errors[cell]),
            float(cells.mean[cell]),
            int(cells.low[cell]),
            int(cells.high[cell]),
        )
        for cell in range(len(told))
    ]
    return RefinedDots.of_largest(dots, "What are the true counts?", [told.prior.words], _LEVEL)
