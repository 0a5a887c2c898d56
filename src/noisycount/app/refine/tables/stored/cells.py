"""The cells of a table that a ledger keeps: their keys, and the levels above them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from noisycount.app.table.asked import Item
from noisycount.app.table.typed import items
from noisycount.model.tables.levels import Codes, Level
from noisycount.model.tables.margins import cell_level, margin_levels
from noisycount.model.tables.ranges import range_levels
from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.release.question.grouping import Edges, Part, Period, Plain, Span
from noisycount.release.question.operands import Column
from noisycount.release.question.schema import Kind
from noisycount.release.tables.labels import TableLabels

__all__ = ["StoredCells", "stored_levels"]

_SPANS = {span.name.lower(): span for span in Span}


@dataclass(frozen=True, slots=True)
class StoredCells:
    """The cells of a stored table.

    Attributes:
        labels: Their keys, for a reader.
        codes: The places of the keys, shape (cells, parts).
    """

    labels: TableLabels
    codes: Codes

    @classmethod
    def of(cls, asked: dict[str, Any], answer: TableAnswer) -> "StoredCells":
        """The cells, from a question or, where only the records knew them, from its answer."""
        if "questions" in asked:
            questions = tuple(asked["questions"])
            codes = np.arange(len(questions), dtype=np.int32)[:, np.newaxis]
            return cls(TableLabels(("question",), (questions,)), codes)
        parts = [_part(item) for text in asked["by"] for item in items(text)]
        values, codes = _coded(asked["keys"], answer.keys or (), len(parts))
        labels = tuple(
            tuple(map(part.label, keys)) for part, keys in zip(parts, values, strict=True)
        )
        names = tuple(part.column.name for part in parts)
        return cls(TableLabels(names, labels, codes, is_hidden=asked["keys"] is None), codes)


def stored_levels(asked: dict[str, Any], cells: StoredCells) -> list[Level]:
    """What was counted, level by level, the cells first.

    Args:
        asked: The part of a question that tells of its table.
        cells: Those of the table.
    """
    names, codes, has_other = cells.labels.names, cells.codes, bool(asked.get("other"))
    first = cell_level(codes, names, has_other=has_other)
    if "questions" in asked:
        return [replace(first, name="questions")]
    if asked.get("cumulative"):
        return [first, *range_levels(len(codes))]
    return [first, *margin_levels(codes, names, asked.get("margins", ()), has_other=has_other)]


def _part(item: Item) -> Part:
    """What the table was grouped by, from its text; the kind of the column decides no label."""
    if not item.grouping:
        return Plain(Column(item.column, Kind.TEXT))
    if item.grouping in _SPANS:
        return Period(Column(item.column, Kind.DATE), _SPANS[item.grouping])
    edges = tuple(float(edge) for edge in item.grouping.split(","))
    return Edges(Column(item.column, Kind.REAL), edges)


def _coded(
    written: dict[str, Any] | None, found: Sequence[Sequence[Any]], parts: int
) -> tuple[list[list[Any]], Codes]:
    """The values of each part, and the places of each cell's keys among them."""
    if written is None:
        columns = [[row[part] for row in found] for part in range(parts)]
        values = [list({json.dumps(key): key for key in column}.values()) for column in columns]
        places = [{json.dumps(key): at for at, key in enumerate(keys)} for keys in values]
        listed = [
            [at[json.dumps(key)] for at, key in zip(places, row, strict=True)] for row in found
        ]
        return values, np.array(listed, dtype=np.int32).reshape(len(found), parts)
    if "grid" in written:
        sizes = [len(keys) for keys in written["grid"]]
        codes = np.indices(sizes, dtype=np.int32).reshape(len(sizes), -1).T
        return written["grid"], np.ascontiguousarray(codes)
    return written["values"], np.array(written["cells"], dtype=np.int32)
