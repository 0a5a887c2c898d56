"""The groups that records have, and how many units each."""

from collections.abc import Iterator
from functools import reduce
from itertools import islice
from operator import and_

import numpy as np

from noisycount.release.question.keys import KeyCounts, KeyQuestion
from noisycount.release.sources.expressions.keys import decoded
from noisycount.release.sources.spark.api import Columns, Frame, Functions
from noisycount.release.sources.spark.records import LOST, UNIT, Records
from noisycount.release.sources.spark.tables.keyed import MATCH, keyed_records
from noisycount.release.sources.spark.tables.keys import is_inside, key_names
from noisycount.release.sources.spark.tables.units import group_tag, left_in

__all__ = ["key_counts"]

_BATCH = 50_000  # groups, each of which takes some hundred bytes of Python
_NUMBER = "n"


def key_counts(records: Records, question: KeyQuestion) -> Iterator[tuple[KeyCounts, bool]]:
    """Groups with their counts, in batches, each with whether a record without a unit was seen."""
    make = records.api.functions
    names = key_names(question.parts)
    groups = _groups(records, question).groupBy(*names)
    counted = groups.agg(make.sum(MATCH).alias(_NUMBER), make.max(LOST).alias(LOST))
    asked = (make.col(_NUMBER) > 0) | (make.col(LOST) > 0)
    rows = counted.where(asked).select(*names, _NUMBER, LOST).toLocalIterator()
    return _batches(question, rows)


def _groups(records: Records, question: KeyQuestion) -> Frame:
    """Each record, or each unit with each of its groups, and whether it matches there."""
    make = records.api.functions
    names = key_names(question.parts)
    keyed = keyed_records(records, question.parts, question.where)
    inside = _inside(question, make)
    if inside is not None:
        keyed = keyed.withColumn(MATCH, make.when(inside, make.col(MATCH)).otherwise(make.lit(0)))
    if not records.has_units:
        return keyed.withColumn(LOST, make.lit(0))
    pairs = keyed.groupBy(UNIT, *names).agg(make.max(MATCH).alias(MATCH))
    if question.most is not None:
        tag = group_tag(question.parts, question.salt, make)
        pairs = left_in(pairs, tag, question.most, records.unit_kind, records.api)
    return pairs.withColumn(LOST, records.is_lost())


def _inside(question: KeyQuestion, functions: Functions) -> Columns | None:
    """Whether all keys are those of groups; None: they always are."""
    named = zip(question.parts, key_names(question.parts), strict=True)
    found = [is_inside(part, functions.col(name)) for part, name in named]
    told = [each for each in found if each is not None]
    return reduce(and_, told) if told else None


def _batches(
    question: KeyQuestion, rows: Iterator[tuple[object, ...]]
) -> Iterator[tuple[KeyCounts, bool]]:
    """Rows of keys with a count and whether there is a record without a unit."""
    while batch := list(islice(rows, _BATCH)):
        counted = [row for row in batch if row[-2] > 0]  # type: ignore[operator]  # a number
        keys = [tuple(map(decoded, question.parts, row[:-2])) for row in counted]  # type: ignore[arg-type]  # codes
        counts = np.array([row[-2] for row in counted], np.int64)
        yield KeyCounts(keys, counts), any(row[-1] for row in batch)
