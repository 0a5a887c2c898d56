"""The picture of a refined table as a file."""

from pathlib import Path

import numpy as np

from noisycount.app.refine.tables.published import PublishedLevel, PublishedTable
from noisycount.app.refine.tables.refined import RefinedTable
from noisycount.app.terminal.files import draft
from noisycount.charts.files import save_file
from noisycount.charts.table.dots import RefinedDot, RefinedDots, RefinedSums, answer_error
from noisycount.charts.table.refined_chart import refined_chart
from noisycount.shown.label import ALL_KEYS

__all__ = ["save_plot"]


def save_plot(refined: RefinedTable, file: Path) -> None:
    """The picture of the cells of a table and of their sums as one file, SVG or PNG by its ending.

    Raises:
        NoisyCountError: The file cannot be written.
    """
    chart = refined_chart(_dots(refined))
    with draft(file) as part:
        save_file(chart, part)


def _dots(refined: RefinedTable) -> RefinedDots:
    """The answers and estimates of the cells, and of each level of sums."""
    table = refined.published
    cells = table.levels if table.is_selected else (table.cells,)
    dots = [dot for level in cells for dot in _level(refined, level)]
    sums = [
        RefinedSums.of_largest(level.name, found)
        for level in table.levels
        if level not in cells and (found := _level(refined, level))
    ]
    title, notes = "What are the true counts?", [table.subject]
    return RefinedDots.of_largest(dots, title, notes, refined.level, table.unit, sums)


def _level(refined: RefinedTable, level: PublishedLevel) -> list[RefinedDot]:
    """The answers and estimates of a level; none where it is not told."""
    table, told = refined.published, refined.estimates
    return [
        RefinedDot(
            _label(table, level, row),
            None if np.isnan(table.answers[row]) else float(table.answers[row]),
            answer_error(level.mechanism, refined.level),
            float(told.mean[row]),
            int(told.low[row]),
            int(told.high[row]),
        )
        for row in level.rows.tolist()
        if told.is_told[row]
    ]


def _label(table: PublishedTable, level: PublishedLevel, row: int) -> str:
    """The keys of a count; of sums of a hierarchy, or over all keys of a column, those it keeps."""
    keys = table.keys[row]
    if level.of_cell is not None or level is table.cells:
        return ", ".join(keys)
    kept = [
        at in level.columns or not (table.is_hierarchy or key == ALL_KEYS)
        for at, key in enumerate(keys)
    ]
    told = [key for key, is_kept in zip(keys, kept, strict=True) if is_kept]
    return ", ".join(told) or level.name
