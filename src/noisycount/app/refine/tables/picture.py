"""The picture of a refined table as a file."""

from pathlib import Path

import numpy as np

from noisycount.app.refine.tables.refined import RefinedTable
from noisycount.app.terminal.files import draft
from noisycount.charts.files import save_file
from noisycount.charts.table.dots import RefinedDot, RefinedDots, answer_error
from noisycount.charts.table.refined_chart import refined_chart

__all__ = ["save_plot"]


def save_plot(refined: RefinedTable, file: Path) -> None:
    """The picture of the cells of a table as one file, SVG or PNG by its ending.

    Raises:
        NoisyCountError: The file cannot be written.
    """
    chart = refined_chart(_dots(refined))
    with draft(file) as part:
        save_file(chart, part)


def _dots(refined: RefinedTable) -> RefinedDots:
    """The answers and estimates of the cells."""
    table, told = refined.published, refined.estimates
    levels = table.levels if table.is_selected else (table.cells,)
    dots = [
        RefinedDot(
            ", ".join(table.keys[row]),
            None if np.isnan(table.answers[row]) else float(table.answers[row]),
            answer_error(level.mechanism, refined.level),
            float(told.mean[row]),
            int(told.low[row]),
            int(told.high[row]),
        )
        for level in levels
        for row in level.rows.tolist()
        if told.is_told[row]
    ]
    title = "What are the true counts?"
    return RefinedDots.of_largest(dots, title, [table.subject], refined.level, table.unit)
