"""The keys, the unit and the match of each record: what all tables begin with."""

from collections.abc import Sequence

from noisycount.release.question.grouping import Part
from noisycount.release.question.tree import Predicate
from noisycount.release.sources.spark.api import Frame
from noisycount.release.sources.spark.records import UNIT, Records
from noisycount.release.sources.spark.tables.keys import key_column, key_names

__all__ = ["MATCH", "keyed_records"]

MATCH = "m"
"""What frames call whether a record, or one of some, matches: 1 or 0."""


def keyed_records(records: Records, parts: Sequence[Part], where: Predicate | None) -> Frame:
    """All records: their keys, their unit, whether they match.

    None is left out unless a filter may be used, so that the time does not tell how many match.
    """
    shown = [
        key_column(part, records.algebra).alias(name)
        for part, name in zip(parts, key_names(parts), strict=True)
    ]
    shown.append(records.matches(where).alias(MATCH))
    if records.has_units:
        shown.append(records.api.functions.col(UNIT))
    return records.of_any([] if where is None else [where]).select(*shown)
