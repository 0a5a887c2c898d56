"""What tells records from others: a hash of their cells that no chunk, library or file changes."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noisycount.release.sources.duckdb.frames.stream import Cells

__all__ = ["ColumnContent", "content_hash"]


def _sha256() -> Any:  # noqa: ANN401 - hashlib does not name its type
    return hashlib.sha256()


@dataclass(slots=True)
class ColumnContent:
    """The content of one column, cell by cell.

    Where cells are missing, what their bytes happen to be is left out, and their places are kept.

    Attributes:
        length: How many cells were added.
        format: Of their values, as Arrow names it.
    """

    length: int = 0
    format: str = ""
    _values: Any = field(default_factory=_sha256)
    _texts: Any = field(default_factory=_sha256)
    _missing: Any = field(default_factory=_sha256)

    @classmethod
    def of(cls, batches: Iterable[Cells]) -> "ColumnContent":
        """The content of all cells of a column."""
        content = cls()
        for cells in batches:
            content.add(cells)
        return content

    def add(self, cells: Cells) -> None:
        """The next cells."""
        values = cells.values
        if cells.missing is not None:
            values = np.where(cells.missing, np.zeros(1, values.dtype), values)
            places = np.flatnonzero(cells.missing) + self.length
            self._missing.update(places.astype("<i8"))
        self._values.update(np.ascontiguousarray(values, values.dtype.newbyteorder("<")))
        if cells.texts is not None:
            self._texts.update(cells.texts)
        self.format = cells.format
        self.length += len(values)

    @property
    def facts(self) -> list[object]:
        """The length, and what stands for the cells."""
        parts = (self._values, self._texts, self._missing)
        return [self.length, *(part.hexdigest() for part in parts)]


def content_hash(columns: Mapping[str, list[object]], rows: int) -> str:
    """The hash of records in their order; that of their columns does not matter.

    Args:
        columns: What each column is, and holds.
        rows: How many records there are.
    """
    said = json.dumps([rows, columns], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(said.encode()).hexdigest()
