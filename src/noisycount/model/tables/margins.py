"""The cells of a table, and its margins: their sums over some of its parts."""

from collections.abc import Sequence

import numpy as np

from noisycount.model.tables.levels import Codes, Level

__all__ = ["OTHER", "TOTAL", "cell_level", "margin_levels"]

TOTAL = "total"
"""What a reader calls the sum of all cells."""

OTHER = "other"
"""What a reader calls the row of all other keys."""


def cell_level(codes: Codes, names: Sequence[str], *, has_other: bool = False) -> Level:
    """The level of the cells themselves, "other" as the last of them if there is one.

    Args:
        codes: the places of each cell's keys among the values of the parts, shape (cells, parts).
        names: what the parts are called.
        has_other: whether what is in no cell is counted too.

    Example:
        >>> codes = np.array([[0, 0], [0, 1], [1, 0]], dtype=np.int32)
        >>> cell_level(codes, ("town", "sex"), has_other=True).of_cell
        array([0, 1, 2, 3], dtype=int32)
    """
    size = len(codes) + has_other
    return Level(",".join(names), np.arange(size, dtype=np.int32), size, codes)


def margin_levels(
    codes: Codes,
    names: Sequence[str],
    margins: Sequence[Sequence[str]],
    *,
    has_other: bool = False,
) -> tuple[Level, ...]:
    """The margins of a table, each with its nodes in the order of the places of their keys.

    "Other", the last cell, is a part of the total, and of no other margin.

    Args:
        codes: the places of each cell's keys among the values of the parts, shape (cells, parts).
        names: what the parts are called.
        margins: the names of the parts that each margin keeps; () is the total.
        has_other: whether what is in no cell is counted too.

    Raises:
        ValueError: a margin keeps what is no part of the table.

    Example:
        >>> codes = np.array([[0, 0], [0, 1], [1, 0]], dtype=np.int32)
        >>> town, total = margin_levels(codes, ("town", "sex"), [("town",), ()])
        >>> town.of_cell.tolist(), town.codes.tolist(), total.of_cell.tolist()
        ([0, 0, 1], [[0, -1], [1, -1]], [0, 0, 0])
    """
    return tuple(_margin(codes, names, margin, has_other=has_other) for margin in margins)


def _margin(codes: Codes, names: Sequence[str], margin: Sequence[str], *, has_other: bool) -> Level:
    """One margin, its nodes in the lexicographic order of the places of their keys."""
    for name in margin:
        if name not in names:
            raise ValueError(f"margins name {name!r}: choose parts of {', '.join(names)}")
    parts = [part for part, name in enumerate(names) if name in margin]
    nodes = np.zeros(len(codes), dtype=np.int64)
    for part in parts:
        joined = nodes * (int(codes[:, part].max(initial=0)) + 1) + codes[:, part]
        nodes = np.unique(joined, return_inverse=True)[1]
    size = int(nodes.max(initial=-1 if parts else 0)) + 1
    kept = np.full((size, len(names)), -1, dtype=np.int32)
    for part in parts:
        kept[nodes, part] = codes[:, part]
    of_cell = np.append(nodes, [-1 if parts else 0] * has_other).astype(np.int32)
    name = ",".join(names[part] for part in parts) or TOTAL
    return Level(name, of_cell, size, kept)
