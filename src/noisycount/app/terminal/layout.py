"""Names, values and rows as lines of a terminal, in which no number is cut."""

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

__all__ = ["as_records", "column_widths", "wrapped"]

_BETWEEN = 3  # what a table draws between two columns
_BREAKABLE = 24  # a longer word may break over lines, unless it is a number
_NUMBER = re.compile(r"[^\w\s]*\d.*", re.DOTALL)
_WORD = re.compile(r"\S+\s*")


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines as wide as there is room for; a word that is wider stays whole.

    Example:
        >>> wrapped("the next may cost up to 1/170141183460469231731687303715884105727", 12)
        ['the next may', 'cost up to', '1/170141183460469231731687303715884105727']
    """
    lines = [text[: len(text) - len(text.lstrip())]]
    for word in _WORD.findall(text):
        if lines[-1].strip() and cell_len(lines[-1] + word.rstrip()) > width:
            lines.append("")
        lines[-1] += word
    return [line.rstrip() for line in lines]


def column_widths(rows: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """A width for each column of a table; None where a number would have to break.

    Example:
        >>> column_widths([("adversary", "δ"), ("distribution only", "0.00286")], 30)
        [16, 7]
        >>> column_widths([("adversary", "δ"), ("distribution only", "0.00286")], 20) is None
        True
    """
    columns = list(zip(*rows, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    least = [max(map(_least_width, column)) for column in columns]
    room = width - _BETWEEN * len(columns) - 1
    while sum(widths) > room:
        spare, place = max((have - need, place) for place, (have, need) in _pairs(widths, least))
        if not spare:
            return None
        widths[place] -= 1
    return widths


def as_records(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    """A name and a value for each cell that is not empty, with an empty pair between rows."""
    for number, row in enumerate(rows):
        if number:
            yield "", ""
        yield from ((name, cell) for name, cell in zip(header, row, strict=True) if cell)


def _pairs(widths: list[int], least: list[int]) -> Iterator[tuple[int, tuple[int, int]]]:
    return enumerate(zip(widths, least, strict=True))


def _least_width(cell: str) -> int:
    """The width below which a number in the cell, or a word of usual length, would break."""
    if _NUMBER.fullmatch(cell):
        return cell_len(cell)
    return max((_word_width(word) for word in cell.split()), default=1)


def _word_width(word: str) -> int:
    return cell_len(word) if _NUMBER.fullmatch(word) else min(cell_len(word), _BREAKABLE)
