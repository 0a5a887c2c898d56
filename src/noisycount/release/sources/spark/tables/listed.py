"""The listed cells of a table as a frame, which records are joined with."""

from collections.abc import Sequence
from functools import reduce
from operator import and_

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from noisycount.model.tables.levels import Level
from noisycount.release.question.grouping import Key, Part
from noisycount.release.question.keys import CellQuestion
from noisycount.release.sources.expressions.keys import coded, is_text
from noisycount.release.sources.spark.api import Api, Columns, Frame
from noisycount.release.sources.spark.bound import bound_frame
from noisycount.release.sources.spark.tables.keys import key_names

__all__ = ["CELL", "SLOTS", "joined", "slots_of"]

CELL = "cell"
"""What frames call the number of a cell."""

SLOTS = "slots"
"""What frames call the slots of a cell: the nodes of all levels that it is in, numbered through."""


def slots_of(levels: Sequence[Level], size: int) -> pa.ListArray:
    """The slots of each cell, from those of the first level on.

    Args:
        levels: What is counted.
        size: How many cells there are.
    """
    first = np.cumsum([0, *(level.size for level in levels)])[:-1]
    nodes = np.array([level.of_cell for level in levels], np.int64).reshape(len(levels), size)
    is_in = nodes >= 0
    slots = (nodes + first[:, None]).T[is_in.T]
    ends = np.concatenate([[0], np.cumsum(is_in.sum(axis=0))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(slots))


def joined(frame: Frame, question: CellQuestion, slots: pa.ListArray | None, api: Api) -> Frame:
    """Each row of a frame that has keys, with the cell of these; missing: they are not listed.

    The keys that were asked for are bound in a frame, and are never part of a plan's text.

    Args:
        frame: Rows with keys.
        question: Which cells are listed.
        slots: Of each cell, and of that of other keys; None: they are not needed.
        api: What makes frames.
    """
    keys = question.keys
    names = [f"l{number}" for number in range(len(keys.parts))]
    cells = {
        name: _codes(part, values).take(pa.array(keys.codes[:, number]))
        for number, (name, part, values) in enumerate(
            zip(names, keys.parts, keys.values, strict=True)
        )
    }
    cells[CELL] = pa.array(np.arange(len(keys), dtype=np.int64))
    if slots is not None:
        cells[SLOTS] = slots[: len(keys)]
    listed = bound_frame(pa.table(cells), api)
    make = api.functions
    same: list[Columns] = [
        make.col(key).eqNullSafe(make.col(name))
        for key, name in zip(key_names(keys.parts), names, strict=True)
    ]
    found = frame.join(listed, reduce(and_, same) if same else make.lit(1) == 1, "left")
    return found.drop(*names)


def _codes(part: Part, values: Sequence[Key]) -> pa.Array:
    """What stands for the values of a part."""
    return pa.array(list(map(coded, values)), pa.string() if is_text(part) else pa.int64())
