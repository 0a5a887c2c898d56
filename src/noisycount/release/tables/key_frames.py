"""Keys that somebody lists as the rows of a table of pandas, Polars or Arrow."""

from collections.abc import Sequence
from typing import Any

from noisycount.errors import PredicateError
from noisycount.release.question.grouping import Part

__all__ = ["is_frame", "rows_of_frame"]


def is_frame(keys: object) -> bool:
    """Whether keys are a table with named columns."""
    return hasattr(keys, "columns") and hasattr(keys, "__getitem__")


def rows_of_frame(keys: Any, parts: Sequence[Part]) -> list[tuple[object, ...]]:  # noqa: ANN401
    """The keys of each cell, in the order of the parts; NaN stands for missing values, too.

    Args:
        keys: a table whose columns are those that the table is grouped by.
        parts: what it is grouped by.

    Raises:
        PredicateError: its columns are others.
    """
    names = list(map(str, getattr(keys, "column_names", keys.columns)))
    wanted = [part.column.name for part in parts]
    if sorted(names) != sorted(wanted):
        raise PredicateError(
            f"keys have the columns {', '.join(names)[:80]}: give a table of {', '.join(wanted)}"
        )
    return list(zip(*(_values(keys[name]) for name in wanted), strict=True))


def _values(column: Any) -> list[object]:  # noqa: ANN401 - of any library
    """The values of a column in types of Python."""
    values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    return [None if value != value else value for value in values]  # noqa: PLR0124 - NaN
