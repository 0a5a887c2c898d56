"""Charts of a refined count and of a refined table, saved as SVG or PNG files.

The chart of a count shows the prior, the likelihood of the answer and the posterior.
"""

from pathlib import Path

import numpy as np

from noisycount.charts.picture_svg import save_picture
from noisycount.charts.refined_table import RefinedDot, RefinedDots, RefinedSums, answer_error, refined_picture
from noisycount.charts.refinement import RefinementCurves, refinement_picture
from noisycount.display.output import checked_writing, draft
from noisycount.display.texts import ALL_KEYS
from noisycount.tasks.refine.estimate import Refinement
from noisycount.tasks.refine.published import PublishedLevel, PublishedTable
from noisycount.tasks.refine.refined import RefinedTable


def save_plot(refinement: Refinement, file: Path) -> None:
    """Save the chart of a refined count to a file, as SVG or PNG by its ending."""
    size, answers = refinement.assumed.population.records, len(refinement.answers)
    kind = "average" if refinement.noise is not None else "weighted average"
    averaged = f"; the answer is the {kind} of {answers}" if answers > 1 else ""
    subtitle = f"{size:,} records{averaged}"
    picture = refinement_picture(
        RefinementCurves.from_posterior(refinement.posterior, refinement.level, refinement.answer),
        "What is the true count?",
        subtitle,
    )
    with checked_writing(file):
        save_picture(picture, file)


def save_refined_table_plot(refined: RefinedTable, file: Path) -> None:
    """Save the chart of the cells of a table and their sums to a file, as SVG or PNG by its ending."""
    picture = refined_picture(_dots_of_table(refined))
    with draft(file) as draft_file:
        save_picture(picture, draft_file)


def _dots_of_table(refined: RefinedTable) -> RefinedDots:
    """Return the answers and estimates to draw: those of the cells, and those of each level of sums."""
    table = refined.published
    cells = table.levels if table.is_selected else (table.cells,)
    dots = [dot for level in cells for dot in _dots_of_level(refined, level)]
    sums = [
        RefinedSums(level.name, level_dots)
        for level in table.levels
        if level not in cells and (level_dots := _dots_of_level(refined, level))
    ]
    names = ", ".join(table.names)
    return RefinedDots(dots, "What are the true counts?", [table.subject], refined.level, table.unit, names, sums)


def _dots_of_level(refined: RefinedTable, level: PublishedLevel) -> list[RefinedDot]:
    """Return the answers and estimates of a level, without the counts that have no estimate."""
    table, error = refined.published, answer_error(level.mechanism, refined.level)
    estimates = zip(*(refined.estimates[name][level.rows].tolist() for name in ("mean", "low", "high")), strict=True)
    return [
        RefinedDot(
            _key_label(table, level, row),
            None if np.isnan(table.answers[row]) else float(table.answers[row]),
            error,
            mean,
            low,
            high,
        )
        for row, (mean, low, high) in zip(level.rows.tolist(), estimates, strict=True)
        if mean is not None
    ]


def _key_label(table: PublishedTable, level: PublishedLevel, row: int) -> str:
    """Return the keys of a count as text.

    For a sum, leave out the summed columns of a hierarchy, and each other summed column whose key is "all".
    """
    keys = table.keys[row]
    if level.of_cell is not None or level is table.cells:
        return ", ".join(keys)
    is_kept = [
        column in level.columns or not (table.is_hierarchy or key == ALL_KEYS) for column, key in enumerate(keys)
    ]
    kept_keys = [key for key, is_kept in zip(keys, is_kept, strict=True) if is_kept]
    return ", ".join(kept_keys) or level.name
