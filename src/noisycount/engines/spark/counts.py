"""Tables of Arrow as frames of Spark: what is bound so is never a part of a text.

The keys of records as columns of Spark.

The listed cells of a table as a frame, which records are joined with.

The keys, the unit and the match of each record: what all tables begin with.

The groups that each unit is left in.

The counts of a table whose cells are listed, from one scan of the records.

The groups that records have, and how many units each.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import islice
from operator import and_

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray
from pyspark.sql.pandas.types import from_arrow_schema

from noisycount.engines.expressions import coded, decoded, edges_of, is_text, key_expression
from noisycount.engines.spark.records import LOST, UNIT, Records, SparkAlgebra
from noisycount.engines.spark.sessions import Api, Columns, Frame, Functions
from noisycount.engines.truth import OTHER, salt_text
from noisycount.model.tables.levels import Level
from noisycount.query.grouping import (
    OUTSIDE,
    CellQuestion,
    Edges,
    Key,
    KeyCounts,
    KeyQuestion,
    Part,
    Plain,
)
from noisycount.query.predicate import Predicate
from noisycount.query.schema import Kind

__all__ = ["bound_frame", "cell_counts", "key_counts"]


def bound_frame(table: pa.Table, api: Api) -> Frame:
    """The rows of a table, of which Connect wants the types to be said where it has none."""
    made: Frame
    if table.num_rows:
        made = api.session.createDataFrame(table)
    else:
        made = api.session.createDataFrame([], from_arrow_schema(table.schema))
    return made


_MOST_CASES = 64  # edges; to make more cases takes seconds, and machine code ends at 64 KB


_TYPES = {Kind.INTEGER: "array<bigint>", Kind.REAL: "array<double>"}


def key_names(parts: Sequence[Part]) -> list[str]:
    """What frames call the keys."""
    return [f"k{number}" for number in range(len(parts))]


def key_column(part: Part, algebra: SparkAlgebra) -> Columns:
    """The code of the key of a record, as `key_expression` has it."""
    if isinstance(part, Edges) and len(part.edges) > _MOST_CASES:
        return _range_number(part, algebra)
    return key_expression(part, algebra)


def _range_number(part: Edges, algebra: SparkAlgebra) -> Columns:
    """The number of a range, by a bisection of a list of edges."""
    make, kind = algebra.functions, part.column.kind
    edges = make.split(make.lit(",".join(map(repr, edges_of(part)))), ",").cast(_TYPES[kind])
    value = algebra.column(part.column, kind)
    steps = [make.lit(1 << bit) for bit in reversed(range(len(part.edges).bit_length()))]

    def further(place: Columns, step: Columns) -> Columns:
        return make.when(make.get(edges, place + step) <= value, place + step).otherwise(place)

    place = make.aggregate(make.array(*steps), make.lit(-1), further).cast("bigint")
    inside = algebra.chosen(place >= 0, place, algebra.number(OUTSIDE))
    return algebra.chosen(algebra.is_missing(value), algebra.nothing(), inside)


def is_inside(part: Part, key: Columns) -> Columns | None:
    """Whether a key is that of a group; None: each is."""
    if isinstance(part, Plain) and part.column.kind is not Kind.DATE:
        return None
    return key.isNull() | (key != OUTSIDE)


def key_texts(parts: Sequence[Part], functions: Functions) -> list[Columns]:
    """The text of each key that is hashed, which tells where it ends; see `truncation`."""
    texts = [
        _text(part, functions.col(name), functions)
        for part, name in zip(parts, key_names(parts), strict=True)
    ]
    mark, missing = functions.lit(":"), functions.lit("-")
    return [
        functions.coalesce(
            functions.concat(functions.length(text).cast("string"), mark, text), missing
        )
        for text in texts
    ]


def _text(part: Part, code: Columns, functions: Functions) -> Columns:
    """The text of a key, from its code."""
    if is_text(part):
        return code
    if isinstance(part, Plain) and part.column.kind is Kind.BOOLEAN:
        return (code == 1).cast("string")
    if isinstance(part, Plain) and part.column.kind is Kind.DATE:
        digits = functions.lpad(code.cast("string"), 8, "0")
        dash = functions.lit("-")
        day = [functions.substring(digits, start, length) for start, length in _OF_A_DAY]
        return functions.concat(day[0], dash, day[1], dash, day[2])
    return code.cast("string")


_OF_A_DAY = ((1, 4), (5, 2), (7, 2))


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


_DIGITS = 32  # of a hash


def group_tag(parts: Sequence[Part], salt: str, functions: Functions) -> Columns:
    """The hash of a group, as `truncation` has it."""
    return functions.md5(
        functions.concat(functions.lit(salt_text(salt)), *key_texts(parts, functions))
    )


def other_tag(salt: str, functions: Functions) -> Columns:
    """The hash of the group of all that is not listed."""
    return functions.md5(functions.lit(salt_text(salt) + OTHER))


def left_in(pairs: Frame, tag: Columns, most: int, unit_kind: Kind | None, api: Api) -> Frame:
    """Those pairs of units and groups that match, of which each unit has at most so many.

    Args:
        pairs: Each unit with each of its groups once, and whether it matches there; the rest is
            kept as it is.
        tag: The hash of the group.
        most: How many.
        unit_kind: Of the units.
        api: What makes expressions.
    """
    make = api.functions
    unit = make.col(UNIT)
    text = unit if unit_kind is Kind.TEXT else unit.cast("string")
    place = _as_number(make.md5(make.concat(tag, text)), make)
    window = api.window.partitionBy(UNIT).orderBy(make.col(MATCH).desc(), place)
    is_left = make.row_number().over(window) <= most
    kept = make.when(is_left, make.col(MATCH)).otherwise(make.lit(0))
    return pairs.withColumn(MATCH, kept)


def _as_number(digest: Columns, functions: Functions) -> Columns:
    """A text in the order of a hash as a number, whose last byte counts most."""
    starts = range(_DIGITS - 1, 0, -2)
    return functions.concat(*(functions.substring(digest, start, 2) for start in starts))


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


_BATCH = 50_000  # groups, each of which takes some hundred bytes of Python


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
