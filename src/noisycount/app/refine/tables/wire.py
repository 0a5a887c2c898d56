"""A refined table as JSON."""

import math
from typing import Any

from noisycount.app.refine.tables.added import added_columns
from noisycount.app.refine.tables.prior_words import prior_object, told_sensitivity
from noisycount.app.refine.tables.refined import RefinedTable
from noisycount.shown.plain import plain

__all__ = ["refined_object"]


def refined_object(refined: RefinedTable, total: int | None) -> dict[str, Any]:
    """A refined table; a number that is not known is null.

    Args:
        refined: The table.
        total: The public number of records in all; None: not known.
    """
    table = refined.published
    levels = [""] * len(table.answers)
    for level in table.levels:
        for row in level.rows.tolist():
            levels[row] = level.name
    added = {name: column.cells for name, column in added_columns(refined.estimates).items()}
    rows = [
        {
            "level": levels[row],
            "keys": dict(zip(table.names, table.keys[row], strict=True)),
            "answer": _number(table.answers[row]),
            "below": _number(table.below[row]),
            **{name: cells[row] for name, cells in added.items()},
        }
        for row in range(len(levels))
    ]
    return {
        "rows": rows,
        "table": table.subject,
        "by": list(table.names),
        "levels": [
            {"level": level.name, "counts": len(level.rows), "mechanism": plain(level.mechanism)}
            for level in table.levels
        ],
        "level": refined.level,
        "total": total,
        "prior": prior_object(refined),
        "sensitivity": plain(told_sensitivity(refined)),
        "warning": None if refined.told is None else refined.told.warning,
        "evidence": None if refined.told is None else plain(refined.told.evidence),
        "draws": refined.draws,
        "unused": [] if refined.nested is None else list(refined.nested.left_out),
        "notes": list(table.notes),
    }


def _number(value: float) -> int | float | None:
    """A number, whole where it is whole; None of nan."""
    if math.isnan(value):
        return None
    return int(value) if value == int(value) else float(value)
