"""Keys of groups as people read them."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import prod

__all__ = ["ALL_KEYS", "MISSING", "OTHER_KEYS", "label_text", "listed_text", "summed_texts"]

ALL_KEYS = "all"
"""In place of a key over which is summed, where the sum is of all that match."""

MISSING = "(missing)"
"""The key of missing values."""

OTHER_KEYS = "(other)"
"""All keys that were not listed."""

_FEW, _SHORT = 3, 28  # keys that are named, and their characters
_UNEVEN = "all listed"


def label_text(label: object) -> str:
    """A key of a group: missing values and truth values have words of their own.

    Example:
        >>> label_text("Bern"), label_text(3), label_text(None), label_text(True)
        ('Bern', '3', '(missing)', 'true')
    """
    if label is None:
        return MISSING
    return str(label).lower() if isinstance(label, bool) else str(label)


def listed_text(labels: Sequence[object]) -> str:
    """What stands for the listed keys over which a count sums: others are not in it.

    Example:
        >>> listed_text(["Bern", None]), listed_text(range(1, 13))
        ('all of Bern, (missing)', 'all 12 listed')
    """
    named = ", ".join(map(label_text, labels[:_FEW]))
    is_named = len(labels) <= _FEW and len(named) <= _SHORT
    return f"all of {named}" if is_named else f"all {len(labels):,} listed"


def summed_texts(
    cells: Iterable[tuple[Hashable, Sequence[Hashable]]],
) -> Mapping[Hashable, tuple[str, ...]]:
    """For each sum what stands for the keys over which it runs, one text a column.

    Args:
        cells: for each cell that is a part of a sum which sum it is, and its keys in the columns
            over which that runs; no two of a sum have the same.

    Example:
        >>> even, uneven = [("F", ["a", 1]), ("F", ["a", 2])], [("M", ["a", 1]), ("M", ["b", 2])]
        >>> told = summed_texts([*even, *uneven])
        >>> told["F"], told["M"]
        (('all of a', 'all of 1, 2'), ('all listed', 'all listed'))
    """
    keys: dict[Hashable, list[dict[Hashable, None]]] = {}
    sizes: dict[Hashable, int] = {}
    for node, cell in cells:
        met = keys.setdefault(node, [{} for _ in cell])
        for column, key in zip(met, cell, strict=True):
            column[key] = None
        sizes[node] = sizes.get(node, 0) + 1
    return {
        node: tuple(listed_text(list(column)) for column in columns)
        if prod(map(len, columns)) == sizes[node]
        else (_UNEVEN,) * len(columns)
        for node, columns in keys.items()
    }
