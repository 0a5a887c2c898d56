"""The groups that each unit is left in."""

from collections.abc import Sequence

from noisycount.release.question.grouping import Part
from noisycount.release.question.schema import Kind
from noisycount.release.sources.spark.api import Api, Columns, Frame, Functions
from noisycount.release.sources.spark.records import UNIT
from noisycount.release.sources.spark.tables.keyed import MATCH
from noisycount.release.sources.spark.tables.keys import key_texts
from noisycount.release.sources.truncation import OTHER, salt_text

__all__ = ["group_tag", "left_in", "other_tag"]

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
