"""Picture of a table of published counts: a bar for each cell, with the interval of its true count.

`TableBars.from_table` prepares the data; `table_picture` draws it. The row labels and the axis of counts also serve
`refined_table`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from textwrap import wrap
from typing import Any, Self

from noisycount.charts.picture import (
    AxisRange,
    BarMarks,
    DotMarks,
    Frame,
    Picture,
    PictureMark,
    RuleMark,
    SpanMarks,
    TextMark,
)
from noisycount.charts.plot import Axis
from noisycount.charts.theme import BLUE, GREEN, INK, MOST_ROWS, MUTED, PURPLE, VERMILION, Style
from noisycount.display.numbers import percent, plus_minus
from noisycount.display.texts import OTHER_KEYS, label_text
from noisycount.frozen import frozen

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


MOST_KINDS = 4  # number of colours that readers with any colour vision can distinguish
_STANDARD_ERRORS = 2  # half-length of the line at a sum, in standard errors


def is_published_table(result: object) -> bool:
    """Return True if a result is a published table; its first level contains the cells."""
    return all(hasattr(result, name) for name in ("answers", "labels", "rows", "confidence"))


@frozen
class TableBar:
    """A count as a bar."""

    label: str  # name of the cell
    answer: float  # published count, or a sum of counts, in rows or persons
    error: float  # half-length of the line at the answer
    kind: str = ""  # distinguishes several bars with one label; empty if each label has one bar


@frozen
class TableBars:
    """Data of the chart of a table."""

    bars: Sequence[TableBar]  # rows in their order; bars with the same label are adjacent
    title: str  # heading
    notes: Sequence[str]  # lines below the heading
    axis: str  # title of the axis of numbers
    kinds: str = ""  # title of the legend that distinguishes bars with one label, such as the name of a column
    labels: str = ""  # common name of the labels, such as the names of columns
    sums: Sequence[TableBar] = ()  # in a cumulative table, the sum of all rows up to each row

    def __post_init__(self) -> None:
        """Raise ValueError if there is no bar, or if there are too many."""
        if not 1 <= len(self.bars) <= MOST_ROWS:
            raise ValueError(
                f"result has {len(self.bars):,} rows, and a chart shows 1 to {MOST_ROWS}: draw "
                "a part of them, or write them to a file"
            )

    @property
    def names(self) -> list[str]:
        """The distinct kinds in the order of the bars."""
        return list(dict.fromkeys(bar.kind for bar in self.bars))

    @classmethod
    def from_table(cls, table: Any) -> Self:  # noqa: ANN401 - a published table
        """Return the bars of the cells of a published table, side by side if the last key has few values."""
        cells, names = table.rows[: len(table.answers[0])], list(table.labels.names)
        labels = [_key_texts(row, names) for row in cells]
        is_grouped = _has_few_last_keys(labels)
        bars = [
            TableBar(", ".join(keys[:-1]), row.answer, row.error, keys[-1])
            if is_grouped
            else TableBar(", ".join(keys), row.answer, row.error)
            for row, keys in zip(cells, labels, strict=True)
        ]
        unit = "rows" if table.unit is None else "persons"
        return cls(
            bars=bars,
            title=f"{unit.capitalize()} by {_join_with_and(names)}",
            notes=_chart_notes(table, cells),
            axis=f"{unit}, with noise",
            kinds=names[-1] if is_grouped else "",
            labels=", ".join(names[:-1] if is_grouped else names),
            sums=_sum_bars(table, [", ".join(keys) for keys in labels]),
        )


def _key_texts(row: Any, names: Sequence[str]) -> list[str]:  # noqa: ANN401 - a row of a published table
    """Return the text of each key of a row."""
    if row.level == "other" and "other" not in names:
        return [OTHER_KEYS] if len(names) == 1 else [OTHER_KEYS, ""]
    return [label_text(label) for label in row.labels]


def _sum_bars(table: Any, labels: Sequence[str]) -> list[TableBar]:  # noqa: ANN401 - a published table
    """Return a bar for each cumulative sum of a table; an empty list if the table has no cumulative sums."""
    if getattr(table, "cumulative", None) is None:
        return []
    return list(map(sum_bar, labels, table.cumulative.tolist(), table.cumulative_errors.tolist()))


def sum_bar(label: str, total: float, standard_error: float) -> TableBar:
    """Return the bar of the sum of all rows up to a label. Its line spans two standard errors on each side."""
    return TableBar(label, total, _STANDARD_ERRORS * standard_error)


def _has_few_last_keys(labels: Sequence[Sequence[str]]) -> bool:
    """Return True if the last key has 2 to 4 different values, and cells that differ only in it are adjacent."""
    if not labels or min(map(len, labels)) < 2 or labels[-1][0] == OTHER_KEYS:  # noqa: PLR2004
        return False
    kinds = {keys[-1] for keys in labels}
    first_keys = [tuple(keys[:-1]) for keys in labels]
    runs = 1 + sum(keys != following for keys, following in pairwise(first_keys))
    return 1 < len(kinds) <= MOST_KINDS and runs == len(set(first_keys))


def _chart_notes(table: Any, cells: Sequence[Any]) -> list[str]:  # noqa: ANN401 - a published table
    """Return the notes of the chart: the condition of the count, and the errors of one cell and of all cells."""
    errors = sorted({cell.error for cell in cells})
    widths = " to ".join(dict.fromkeys(map(plus_minus, (errors[0], errors[-1]))))
    all_within = plus_minus(max(cell.error_of_all for cell in cells))
    single = f"line: {widths} around each answer, {percent(table.confidence)} sure"
    together = f"all at once within {all_within}" if len(table.rows) > 1 else ""
    return [*([table.where] if table.where else []), "; ".join(filter(None, (single, together)))]


def _join_with_and(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


_COLOURS = (BLUE, VERMILION, GREEN, PURPLE)
_WIDTH = 420
_FRAME_SPACING = 28  # pixels between the cells and their sums
_GAP = 8  # pixels between groups of bars
_BAR_HEIGHT, _GROUPED_BAR_HEIGHT = 14, 12  # thickness of a bar, and of a bar in a group


def table_picture(table: TableBars) -> Picture:
    """Return the picture: bars from 0 to each answer, and lines for the intervals of the true counts."""
    frames = [_rows_frame(table)]
    if table.sums:
        sums = _rows_frame(replace(table, bars=table.sums, kinds=""))
        note = f"line: {_STANDARD_ERRORS} standard errors on each side"
        frames.append(replace(sums, title="Sum so far", notes=[note]))
    return Picture(table.title, wrapped_notes(table.notes), frames, _FRAME_SPACING)


def _rows_frame(table: TableBars) -> Frame:
    """Return the frame of the bars of a table, with their labels and axis."""
    thickness = _GROUPED_BAR_HEIGHT if table.kinds else _BAR_HEIGHT
    places, labels, height = _row_layout(table, thickness + 2)
    legend = list(zip(table.names, _COLOURS, strict=False)) if table.kinds else []
    marks = list[PictureMark]()
    for kind, colour in legend or [("", BLUE)]:
        rows = [
            (bar.answer, place)
            for bar, place in zip(table.bars, places, strict=True)
            if not table.kinds or bar.kind == kind
        ]
        marks.append(BarMarks(rows, colour, thickness, kind))
    spans = [
        (bar.answer - bar.error, bar.answer + bar.error, place) for bar, place in zip(table.bars, places, strict=True)
    ]
    answers = [(bar.answer, place) for bar, place in zip(table.bars, places, strict=True)]
    marks += [zero_line(), SpanMarks(spans, Style(INK, width=1.5)), DotMarks(answers, INK, 5.8)]
    x = count_range([(low, high) for low, high, _ in spans], table.axis, "answer")
    marks += row_labels(labels, table.labels)
    return Frame(x, None, (_WIDTH, height), marks, legend=legend, legend_title=table.kinds)


def _row_layout(table: TableBars, bar_height: float) -> tuple[list[float], list[tuple[str, float]], float]:
    """Return the layout of the rows, in pixels from the top.

    Returns:
        The middle of each bar, each label with its middle, and the total height. Bars with one label are adjacent.
    """
    places, labels, top = list[float](), list[tuple[str, float]](), _GAP / 2
    for label, group in groupby(table.bars, key=lambda bar: bar.label):
        number = len(list(group))
        room = max(number * bar_height, label_height(label))
        middle = top + room / 2
        labels.append((label, middle))
        places += [middle + (place - (number - 1) / 2) * bar_height for place in range(number)]
        top += room + _GAP
    return places, labels, top - _GAP / 2
