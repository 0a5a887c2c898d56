"""The lines of titles that stand above a table."""

import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["is_number", "likely_width", "title_lines"]


def likely_width(records: Sequence[Sequence[str]]) -> tuple[int, int]:
    """How many records have as many cells as most have, and how many cells that is."""
    if not records:
        return 0, 0
    widths = Counter(map(len, records))
    return max((number, width) for width, number in widths.items())


def title_lines(records: Sequence[Sequence[str]]) -> int:
    """How many lines of one cell stand before the names of the columns.

    Spreadsheets fill such lines up with empty cells.
    """
    _, width = likely_width(records)
    first = next((n for n, record in enumerate(records) if not _is_title(record)), 0)
    names = records[first] if records else []
    are_names = all(name.strip() and not is_number(name) for name in names)
    return first if len(names) == width > 1 and are_names else 0


def _is_title(record: Sequence[str]) -> bool:
    """Whether a line says one thing at most, and in the first cell."""
    return not any(cell.strip() for cell in record[1:]) and "\n" not in "".join(record)


def is_number(text: str) -> bool:
    """Whether a text is made of digits, as names of columns hardly are."""
    return re.fullmatch(r"[+-]?[0-9.,]+", text.strip()) is not None
