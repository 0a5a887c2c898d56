"""The counts of a table that a ledger keeps, each with its keys."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from noisycount.app.refine.tables.stored.cells import StoredCells, stored_levels
from noisycount.model.tables.levels import Level
from noisycount.model.tables.margins import OTHER
from noisycount.release.ledger.asked import asked_of
from noisycount.release.ledger.entries import Entry
from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.release.tables.labels import Label

__all__ = ["StoredRow", "StoredRows", "level_names", "rows_member", "stored_rows"]

_UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)


@dataclass(frozen=True, slots=True)
class StoredRow:
    """One count.

    Attributes:
        level: Which counts it belongs to, such as "town" or "total".
        keys: None where the level sums over them, and for missing values.
        texts: The same as people read them.
        answer: The noisy count, in units.
        sum_of: Of whom it is the sum; None of a cell.
    """

    level: str
    keys: tuple[Label, ...]
    texts: tuple[str, ...]
    answer: int
    sum_of: str | None = None


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The counts of a table, in the order of the ledger.

    Attributes:
        names: What the table is grouped by.
        rows: The cells first.
    """

    names: tuple[str, ...]
    rows: tuple[StoredRow, ...]


def level_names(levels: Sequence[Level], *, has_other: bool) -> list[str]:
    """The name of the level of each count, level by level.

    Args:
        levels: The cells first.
        has_other: Whether the last cell is that of all other keys.
    """
    names = [level.name for level in levels for _ in range(level.size)]
    if has_other:
        names[levels[0].size - 1] = OTHER
    return names


def stored_rows(entry: Entry) -> StoredRows | None:
    """The counts of an entry; None where it is no table, has no answer or is not understood."""
    asked, answer = asked_of(entry).get("table"), entry.answer
    if not isinstance(asked, dict) or not isinstance(answer, TableAnswer):
        return None
    with suppress(*_UNREADABLE):
        cells = StoredCells.of(asked, answer)
        return StoredRows(tuple(cells.labels.names), tuple(_rows(cells, answer, asked)))
    return None


def rows_member(entry: Entry) -> dict[str, Any]:
    """The counts of an entry as `rows`, named as `count --json` names them; {} for no table.

    Args:
        entry: As the ledger has it; one that no noisycount wrote has no rows.
    """
    found = stored_rows(entry)
    if found is None:
        return {}
    return {
        "rows": [
            {"level": row.level, "keys": dict(zip(found.names, row.keys, strict=True))}
            | {"answer": row.answer}
            | ({} if row.sum_of is None else {"sum_of": row.sum_of})
            for row in found.rows
        ]
    }


def _rows(cells: StoredCells, answer: TableAnswer, asked: dict[str, Any]) -> Iterator[StoredRow]:
    """Each count, level by level.

    Raises:
        ValueError: There are not as many counts as keys.
    """
    levels = stored_levels(asked, cells)
    names = iter(level_names(levels, has_other=bool(asked.get("other"))))
    for level, counts in zip(levels, answer.levels, strict=True):
        told = zip(
            cells.labels.of(level),
            cells.labels.all_texts(level),
            cells.labels.sums(level),
            counts.tolist(),
            strict=True,
        )
        for keys, texts, sum_of, count in told:
            yield StoredRow(next(names), tuple(keys), texts, count, sum_of)
