"""The counts of a table that a ledger keeps, each with its keys, as JSON."""

from contextlib import suppress
from typing import Any

from noisycount.app.refine.tables.stored_cells import StoredCells, stored_levels
from noisycount.model.tables.levels import Level
from noisycount.release.ledger.entries import Entry
from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.release.register.asked import asked_of

__all__ = ["OTHER", "level_names", "rows_member"]

OTHER = "other"
"""What `count --by` calls the level of the cell of all other keys."""


def level_names(levels: list[Level], *, has_other: bool) -> list[str]:
    """The name of the level of each count, level by level.

    Args:
        levels: The cells first.
        has_other: Whether the last cell is that of all other keys.
    """
    names = [level.name for level in levels for _ in range(level.size)]
    if has_other:
        names[levels[0].size - 1] = OTHER
    return names


def rows_member(entry: Entry) -> dict[str, Any]:
    """The counts of an entry as `rows`, named as `count --json` names them; {} for no table.

    A key is null where its level sums over the column, and for missing values.

    Args:
        entry: As the ledger has it; one that no noisycount wrote has no rows.
    """
    asked = asked_of(entry).get("table")
    if isinstance(asked, dict) and isinstance(entry.answer, TableAnswer):
        with suppress(ValueError, TypeError, KeyError, IndexError, OverflowError):
            return {"rows": _rows(asked, entry.answer)}
    return {}


def _rows(asked: dict[str, Any], answer: TableAnswer) -> list[dict[str, Any]]:
    cells = StoredCells.of(asked, answer)
    levels = stored_levels(asked, cells)
    labels = [each for level in levels for each in cells.labels.of(level)]
    names = level_names(levels, has_other=bool(asked.get("other")))
    counts = [count for level in answer.levels for count in level.tolist()]
    return [
        {"level": name, "keys": dict(zip(cells.labels.names, row, strict=True)), "answer": count}
        for name, row, count in zip(names, labels, counts, strict=True)
    ]
