"""The counts of predicates, from one scan of the records."""

from collections.abc import Sequence

from noisycount.release.question.tree import Predicate
from noisycount.release.sources.spark.api import Columns, Frame
from noisycount.release.sources.spark.records import LOST, UNIT, Records

__all__ = ["has_lost", "predicate_counts"]


def predicate_counts(records: Records, predicates: Sequence[Predicate]) -> tuple[list[int], bool]:
    """How many units match each predicate, and whether there is a record without one.

    No record is left out unless a filter may be used, so that the time of a count does not tell
    how many match.
    """
    frame = records.of_any(predicates)
    matches = [
        records.matches(predicate).alias(f"m{number}")
        for number, predicate in enumerate(predicates)
    ]
    if records.has_units:
        grouped = _by_unit(records, frame.select(records.api.functions.col(UNIT), *matches))
    else:
        grouped = frame.select(*matches, records.api.functions.lit(0).alias(LOST))
    make = records.api.functions
    totals = [_sum(records, f"m{number}") for number in range(len(predicates))]
    (row,) = grouped.agg(*totals, make.coalesce(make.max(LOST), make.lit(0)).alias(LOST)).collect()
    *counts, lost = row
    return [int(count) for count in counts], bool(lost)


def has_lost(records: Records) -> bool:
    """Whether there is a record without a unit."""
    ((lost,),) = records.frame.agg(records.api.functions.max(records.is_lost())).collect()
    return bool(lost)


def _by_unit(records: Records, frame: Frame) -> Frame:
    """A row of each unit, which is 1 where it has a record that matches."""
    make = records.api.functions
    matches = [make.max(name).alias(name) for name in frame.columns if name != UNIT]
    lost = make.max(records.is_lost()).alias(LOST)
    return frame.groupBy(UNIT).agg(*matches, lost)


def _sum(records: Records, name: str) -> Columns:
    make = records.api.functions
    return make.coalesce(make.sum(name), make.lit(0)).alias(name)
