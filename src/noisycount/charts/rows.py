"""Parts of pictures of rows: labels left of the axes, the line at 0, and the axis of counts.

`table` and `refined_table` are such pictures.
"""

from collections.abc import Iterable, Sequence
from textwrap import wrap

from noisycount.charts.picture import AxisRange, RuleMark, TextMark
from noisycount.charts.plot import Axis
from noisycount.charts.theme import INK, MUTED, Style

_ROOM = 0.02  # share of the width that is left free beyond the ends of an axis
_LABEL = 38  # characters of a line of a row label
_NOTE = 70  # characters of a line of a note
_LINE = 16  # height of a line of text, in pixels
_MAX_TICKS = 5


def wrapped_notes(notes: Sequence[str]) -> list[str]:
    """Return the lines below a heading, with long notes wrapped.

    Example:
        >>> wrapped_notes(["age >= 50", "line: ±20 around each answer, 95 % sure; all at once within ±36 of them"])
        ['age >= 50', 'line: ±20 around each answer, 95 % sure; all at once within ±36 of', 'them']
    """
    return [line for note in notes for line in wrap(note, _NOTE) or [note]]


def _label_lines(label: str) -> list[str]:
    return wrap(label, _LABEL) or [label]


def label_height(label: str) -> int:
    """Return the height of a row label, in pixels."""
    return _LINE * len(_label_lines(label))


def row_labels(labels: Iterable[tuple[str, float]], name: str) -> list[TextMark]:
    """Return the row labels, each at the middle of its row, and their common name above them.

    Args:
        labels: The text of each label, and the middle of its row in pixels from the top.
        name: The name of the labels, such as that of a column.
    """
    texts = [
        TextMark((-8, middle - (label_height(label) - _LINE) / 2), "\n".join(_label_lines(label)), INK, "end")
        for label, middle in labels
    ]
    return [*texts, TextMark((-8, -12), name, MUTED, "end")]


def zero_line() -> RuleMark:
    """Return a vertical line at 0."""
    return RuleMark(0, Style(MUTED, width=1))


def count_range(spans: Sequence[tuple[float, float]], title: str, field: str) -> AxisRange:
    """Return the axis from 0 or the smallest low end of the spans to their largest high end, with some free space."""
    smallest = min(low for low, _ in spans)
    low, high = min(0, smallest), max(1, smallest + 1, *(high for _, high in spans))
    room = _ROOM * (high - low)
    axis = Axis(title, is_whole=True, field=field)
    return AxisRange(axis, low - room if low else 0, high + room, _MAX_TICKS, has_grid=True)
