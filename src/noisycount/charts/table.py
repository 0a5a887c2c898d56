"""A table of published counts as an Altair chart: a bar a row, and where its count lies."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any, Self

import altair as alt

from noisycount.charts import drawing
from noisycount.charts.theme import BLUE, CONFIG, GREEN, INK, MOST_ROWS, PURPLE, VERMILION
from noisycount.display.numbers import percent, plus_minus
from noisycount.display.texts import OTHER_KEYS, label_text
from noisycount.frozen import frozen

MOST_KINDS = 4  # so many colours are told apart by every kind of colour vision
_STANDARD_ERRORS = 2  # length of the line on each side of a sum


def is_tabled(result: object) -> bool:
    """Whether a result is a published table, whose first level are its cells."""
    return all(hasattr(result, name) for name in ("answers", "labels", "rows", "confidence"))


@frozen
class TableBar:
    """One count."""

    label: str  # what was counted
    answer: float  # the published count, or a sum of counts, in units
    error: float  # the length of the line on each side of it
    kind: str = ""  # which of several bars of one label; empty where each label has one


@frozen
class TableBars:
    """What a chart of a table shows."""

    bars: Sequence[TableBar]  # rows in their order, those of one label behind each other
    title: str  # the heading
    notes: Sequence[str]  # lines below it
    axis: str  # what the numbers are
    kinds: str = ""  # what tells the bars of one label apart, such as the name of a column
    labels: str = ""  # what the labels are, such as the names of columns
    sums: Sequence[TableBar] = ()  # of a cumulative table for each row the sum of the rows up to it

    def __post_init__(self) -> None:
        """The refusal of what cannot be drawn."""
        if not 1 <= len(self.bars) <= MOST_ROWS:
            raise ValueError(
                f"result has {len(self.bars):,} rows, and a chart shows 1 to {MOST_ROWS}: draw "
                "a part of them, or write them to a file"
            )
        if len(self.names) > MOST_KINDS:
            raise ValueError(
                f"result has {len(self.names)} kinds of bars, and a chart tells {MOST_KINDS} "
                "apart: put the kind into the label"
            )

    @property
    def names(self) -> list[str]:
        """The kinds in their order."""
        return list(dict.fromkeys(bar.kind for bar in self.bars))

    @classmethod
    def of(cls, told: Any) -> Self:  # noqa: ANN401 - a published table
        """The cells of a published table, those of its last column beside each other if few."""
        cells, names = told.rows[: len(told.answers[0])], list(told.labels.names)
        labels = [_keys(row, names) for row in cells]
        is_beside = _is_beside(labels)
        bars = [
            TableBar(", ".join(each[:-1]), row.answer, row.error, each[-1])
            if is_beside
            else TableBar(", ".join(each), row.answer, row.error)
            for row, each in zip(cells, labels, strict=True)
        ]
        unit = "rows" if told.unit is None else "persons"
        return cls(
            bars=bars,
            title=f"{unit.capitalize()} by {_listed(names)}",
            notes=_notes(told, cells),
            axis=f"{unit}, with noise",
            kinds=names[-1] if is_beside else "",
            labels=", ".join(names[:-1] if is_beside else names),
            sums=_sums(told, [", ".join(each) for each in labels]),
        )


def _keys(row: Any, names: Sequence[str]) -> list[str]:  # noqa: ANN401 - a row of a table
    """What stands for each key of a row."""
    if row.level == "other" and "other" not in names:
        return [OTHER_KEYS] if len(names) == 1 else [OTHER_KEYS, ""]
    return [label_text(label) for label in row.labels]


def _sums(told: Any, labels: Sequence[str]) -> list[TableBar]:  # noqa: ANN401 - a published table
    """Return the sums of the first cells of a cumulative table, each up to a label; of other tables none."""
    if getattr(told, "cumulative", None) is None:
        return []
    return list(map(sum_bar, labels, told.cumulative.tolist(), told.cumulative_errors.tolist()))


def sum_bar(label: str, total: float, standard_error: float) -> TableBar:
    """Return the bar of the sum of all rows up to a label."""
    return TableBar(label, total, _STANDARD_ERRORS * standard_error)


def _is_beside(labels: Sequence[Sequence[str]]) -> bool:
    """Whether the cells of each label follow each other, and differ in few last keys."""
    if not labels or min(map(len, labels)) < 2 or labels[-1][0] == OTHER_KEYS:  # noqa: PLR2004
        return False
    kinds = {each[-1] for each in labels}
    firsts = [tuple(each[:-1]) for each in labels]
    runs = 1 + sum(one != other for one, other in pairwise(firsts))
    return 1 < len(kinds) <= MOST_KINDS and runs == len(set(firsts))


def _notes(told: Any, cells: Sequence[Any]) -> list[str]:  # noqa: ANN401 - the same
    """Return what was counted, and how far off it may be."""
    errors = sorted({cell.error for cell in cells})
    widths = " to ".join(dict.fromkeys(map(plus_minus, (errors[0], errors[-1]))))
    all_within = plus_minus(max(cell.error_of_all for cell in cells))
    sure = f"line: {widths} around each answer, {percent(told.confidence)} sure"
    together = f"all at once within {all_within}" if len(told.rows) > 1 else ""
    return [*([told.where] if told.where else []), "; ".join(filter(None, (sure, together)))]


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


_COLOURS = (BLUE, VERMILION, GREEN, PURPLE)
_WIDTH = 420
_BETWEEN = 28  # pixels from the cells to their sums
_GAP = 8  # pixels between groups
_ALONE, _BESIDE = 14, 12  # thickness of a bar, and of one beside others


@drawing.unchecked
def table_chart(table: TableBars) -> alt.LayerChart | alt.VConcatChart:
    """Draw bars from 0 to each answer, and a line from the least to the largest count that it may be; sums below."""
    title = drawing.table_heading(table.title, table.notes)
    rows = _rows_chart(table)
    if not table.sums:
        alone: alt.LayerChart = rows.properties(title=title, config=CONFIG)
        return alone
    sums = _rows_chart(replace(table, bars=table.sums, kinds=""))
    note = f"line: {_STANDARD_ERRORS} standard errors on each side"
    heading = alt.TitleParams("Sum so far", subtitle=note, offset=10, frame="group")
    return alt.VConcatChart(
        vconcat=[rows, sums.properties(title=heading)],
        title=title,
        spacing=_BETWEEN,
        config=CONFIG,
        resolve=alt.Resolve(scale={"x": "independent", "y": "independent"}),
    )


def _rows_chart(table: TableBars) -> alt.LayerChart:
    """Draw the bars of a table, with their labels and axis."""
    places, labels, height = _layout(table)
    values = [_value(bar, place, table) for bar, place in zip(table.bars, places, strict=True)]
    rows, y = drawing.data_chart(values), drawing.rows_axis(height)
    x = alt.X("answer:Q", title=table.axis, axis=drawing.count_axis(), scale=drawing.count_scale(values))
    thick = _BESIDE if table.kinds else _ALONE
    bars = rows.mark_bar(height=thick, opacity=0.55).encode(x=x, x2=alt.X2Datum(0), y=y, color=_colour(table))
    spans = rows.mark_rule(color=INK, strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q", y=y)
    dots = rows.mark_circle(color=INK, opacity=1, size=34).encode(x=x, y=y)
    layers = [bars, drawing.zero_line(), spans, dots, *drawing.row_labels(labels, y, table.labels)]
    return alt.LayerChart(layer=layers, width=_WIDTH, height=height)


def _colour(table: TableBars) -> alt.Color | alt.ColorValue:
    """A colour for each kind, with its name above the chart."""
    if not table.kinds:
        return alt.ColorValue(BLUE)
    legend = alt.Legend(orient="top", labelFontSize=13, titleFontSize=13, title=table.kinds, symbolOpacity=0.55)
    colours = list(_COLOURS[: len(table.names)])
    return alt.Color("kind:N", scale=alt.Scale(domain=table.names, range=colours), legend=legend)


def _value(bar: TableBar, place: float, table: TableBars) -> dict[str, object]:
    value: dict[str, object] = {
        "place": place,
        "answer": bar.answer,
        "low": bar.answer - bar.error,
        "high": bar.answer + bar.error,
    }
    return {**value, "kind": bar.kind} if table.kinds else value


def _layout(table: TableBars) -> tuple[list[float], list[tuple[str, float]], float]:
    """The middle of each bar from the top, of each label, bars of one behind each other; and the height of all."""
    thick = (_BESIDE if table.kinds else _ALONE) + 2
    places, labels, top = list[float](), list[tuple[str, float]](), _GAP / 2
    for label, group in groupby(table.bars, key=lambda bar: bar.label):
        number = len(list(group))
        room = max(number * thick, drawing.label_height(label))
        middle = top + room / 2
        labels.append((label, middle))
        places += [middle + (place - (number - 1) / 2) * thick for place in range(number)]
        top += room + _GAP
    return places, labels, top - _GAP / 2
