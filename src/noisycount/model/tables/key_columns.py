"""Columns of keys: what they are called, and which of their rows share a node."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisycount.shown.label import label_text

__all__ = ["distinct_texts", "first_seen", "named_columns"]

Nodes = NDArray[np.int64]


def named_columns(keys: Any) -> dict[str, list[str]]:  # noqa: ANN401  (data frames of every kind)
    """The texts of the columns of keys, by name, from coarse to fine.

    Args:
        keys: A mapping of names to columns, a sequence of columns, or a data frame.

    Raises:
        ValueError: If there is no column, no row, or columns are of different lengths.
    """
    columns = {str(name): _texts(column) for name, column in _items(keys)}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        told = ", ".join(f"{name}: {length}" for name, length in lengths.items()) or "no column"
        raise ValueError(
            f"keys must be columns of one length, a row for each cell, got {told}: "
            "give one key of each column for each cell"
        )
    return columns


def first_seen(values: Nodes) -> Nodes:
    """The values numbered in the order of their first appearance, from 0.

    Example:
        >>> first_seen(np.array([7, 3, 7, 5]))
        array([0, 1, 0, 2])
    """
    _, firsts, codes = np.unique(values, return_index=True, return_inverse=True)
    ranks = np.empty(firsts.size, dtype=np.int64)
    ranks[np.argsort(firsts)] = np.arange(firsts.size)
    return ranks[codes]


def distinct_texts(texts: Sequence[str]) -> tuple[Nodes, list[str]]:
    """The number of each text in the order of first appearance, and the distinct texts."""
    seen: dict[str, int] = {}
    codes = np.array([seen.setdefault(text, len(seen)) for text in texts], dtype=np.int64)
    return codes, list(seen)


def _items(keys: Any) -> Iterable[tuple[str, Any]]:  # noqa: ANN401  (data frames of every kind)
    """The columns with their names; columns without have numbers."""
    if isinstance(keys, Mapping):
        return keys.items()
    names = getattr(keys, "column_names", getattr(keys, "columns", None))
    if names is not None and hasattr(keys, "__getitem__"):
        return ((str(name), keys[name]) for name in names)
    if isinstance(keys, Sequence | np.ndarray) and not isinstance(keys, str):
        return ((f"key {place}", column) for place, column in enumerate(keys, 1))
    raise ValueError(
        f"keys must be a mapping of names to columns, a sequence of columns or a data frame, "
        f"got {type(keys).__name__}"
    )


def _texts(column: Any) -> list[str]:  # noqa: ANN401  (columns of every kind)
    """The keys of one column as people read them."""
    if isinstance(column, str) or not hasattr(column, "__len__"):
        raise ValueError(
            f"keys must hold columns such as lists or arrays, got {column!r} among them"
        )
    values = list(column)
    if not isinstance(column, list | tuple):
        array = np.asarray(column)
        if array.dtype.kind != "O":
            values = (np.datetime_as_string(array) if array.dtype.kind == "M" else array).tolist()
    return [label_text(None if _is_nan(value) else value) for value in values]


def _is_nan(value: object) -> bool:
    """Whether data frames mean a missing value by it."""
    return isinstance(value, float) and math.isnan(value)
