"""The counts of a stored table with their keys."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from noisycount.app.refine.tables.stored_cells import StoredCells, stored_levels
from noisycount.release.ledger.entries import Entry
from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.release.register.asked import asked_of
from noisycount.release.tables.table_labels import Label

__all__ = ["StoredRow", "StoredRows", "stored_rows"]

_UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)
_OTHER = "other"


@dataclass(frozen=True, slots=True)
class StoredRow:
    """One count.

    Attributes:
        level: Which counts it belongs to, such as "town" or "total".
        keys: None where the level sums over them, and for missing values.
        texts: The same as people read them.
        answer: The noisy count, in units.
    """

    level: str
    keys: tuple[Label, ...]
    texts: tuple[str, ...]
    answer: int


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The counts of a table, in the order of the ledger.

    Attributes:
        names: What the table is grouped by.
        rows: The cells first.
    """

    names: tuple[str, ...]
    rows: tuple[StoredRow, ...]


def stored_rows(entry: Entry) -> StoredRows | None:
    """The counts of an entry; None where it is no table, has no answer or is not understood."""
    asked, answer = asked_of(entry).get("table"), entry.answer
    if not isinstance(asked, dict) or not isinstance(answer, TableAnswer):
        return None
    with suppress(*_UNREADABLE):
        cells = StoredCells.of(asked, answer)
        rows = _rows(cells, answer, asked)
        return StoredRows(tuple(cells.labels.names), tuple(rows))
    return None


def _rows(cells: StoredCells, answer: TableAnswer, asked: dict[str, object]) -> Iterator[StoredRow]:
    """Each count, level by level.

    Raises:
        ValueError: There are not as many counts as keys.
    """
    for place, (level, counts) in enumerate(
        zip(stored_levels(asked, cells), answer.levels, strict=True)
    ):
        keys = cells.labels.of(level)
        last = level.size - 1 if asked.get("other") and not place else None
        for node, (key, count) in enumerate(zip(keys, counts.tolist(), strict=True)):
            name = _OTHER if node == last else level.name
            texts = cells.labels.texts(level, node)
            yield StoredRow(name, tuple(key), tuple(texts), count)
