"""The counts of a table whose cells are listed, from one scan of the records."""

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from noisycount.release.question.keys import CellQuestion
from noisycount.release.sources.spark.api import Columns, Frame
from noisycount.release.sources.spark.records import UNIT, Records
from noisycount.release.sources.spark.tables.keyed import MATCH, keyed_records
from noisycount.release.sources.spark.tables.keys import key_names
from noisycount.release.sources.spark.tables.listed import CELL, SLOTS, joined, slots_of
from noisycount.release.sources.spark.tables.units import group_tag, left_in, other_tag

__all__ = ["cell_counts"]

Counts = NDArray[np.int64]

_NUMBER = "n"
_LOST = -1  # the slot of records without a unit


def cell_counts(records: Records, question: CellQuestion) -> tuple[list[Counts], bool]:
    """The true counts of each level, and whether there is a record without a unit."""
    if not records.has_units:
        cells, _ = _counted(_records_by_cell(records, question), CELL, question.size)
        return [level.sums(cells) for level in question.levels], False
    ends = np.cumsum([level.size for level in question.levels])
    slots = slots_of(question.levels, question.size)
    by_slot = _units_by_slot(records, question, slots)
    counts, is_lost = _counted(by_slot, SLOTS, int(ends[-1]) if len(ends) else 0)
    return np.split(counts, ends[:-1]) if len(ends) else [], is_lost


def _records_by_cell(records: Records, question: CellQuestion) -> Frame:
    """How many records each cell has: keys are counted before they are looked up."""
    make, parts = records.api.functions, question.keys.parts
    keyed = keyed_records(records, parts, question.where)
    groups = keyed.groupBy(*key_names(parts)).agg(make.sum(MATCH).alias(_NUMBER))
    found = joined(groups, question, None, records.api)
    return (
        found.withColumn(CELL, _cell(question, make.col(CELL), records))
        .groupBy(CELL)
        .agg(make.sum(_NUMBER).alias(_NUMBER))
    )


def _cell(question: CellQuestion, cell: Columns, records: Records) -> Columns:
    """The cell of a row; missing: of none."""
    make = records.api.functions
    return make.coalesce(cell, make.lit(len(question.keys))) if question.has_other else cell


def _units_by_slot(records: Records, question: CellQuestion, slots: pa.ListArray) -> Frame:
    """How many units each slot has; one in several of its cells is one."""
    make = records.api.functions
    keyed = keyed_records(records, question.keys.parts, question.where)
    found = joined(keyed, question, slots, records.api)
    others = slots[len(question.keys)].as_py() if question.has_other else []
    of_others = make.array(*map(make.lit, others)).cast("array<bigint>")
    found = found.withColumn(SLOTS, make.coalesce(make.col(SLOTS), of_others))
    if question.most is not None and question.most < question.size:
        found = _left(found, records, question, question.most)
    lost = make.array(make.lit(_LOST)).cast("array<bigint>")
    is_lost = make.col(UNIT).isNull()
    placed = make.explode(make.when(is_lost, lost).otherwise(make.col(SLOTS)))
    units = (
        found.select(UNIT, MATCH, placed.alias(SLOTS))
        .groupBy(UNIT, SLOTS)
        .agg(make.max(MATCH).alias(MATCH))
    )
    return units.groupBy(SLOTS).agg(make.sum(MATCH).alias(_NUMBER))


def _left(found: Frame, records: Records, question: CellQuestion, most: int) -> Frame:
    """Each unit with each of its cells, and whether it matches and is left there."""
    make, parts = records.api.functions, question.keys.parts
    is_listed = make.col(CELL).isNotNull()
    tag = make.when(is_listed, group_tag(parts, question.salt, make)).otherwise(
        other_tag(question.salt, make)
    )
    match = make.col(MATCH)
    if not question.has_other:
        match = make.when(is_listed, match).otherwise(make.lit(0))
    pairs = (
        found.withColumn("tag", tag)
        .groupBy(UNIT, CELL, "tag", SLOTS)
        .agg(make.max(match).alias(MATCH))
    )
    return left_in(pairs, make.col("tag"), most, records.unit_kind, records.api)


def _counted(frame: Frame, place: str, size: int) -> tuple[Counts, bool]:
    """The counts that a frame has with their places, and whether records without a unit are there.

    What is in no place has a missing one.
    """
    found = frame.where(frame[place].isNotNull()).select(place, _NUMBER).toArrow()
    places, numbers = (found[name].to_numpy() for name in (place, _NUMBER))
    is_counted = places != _LOST
    counts = np.zeros(size, np.int64)
    counts[places[is_counted]] = numbers[is_counted]
    return counts, not is_counted.all()
