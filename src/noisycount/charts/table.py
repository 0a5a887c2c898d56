"""A table of published counts as an Altair chart: a bar a row, and where its count lies."""

from collections.abc import Sequence
from itertools import pairwise

import altair as alt

from noisycount.charts.bars import TableBar, TableBars
from noisycount.charts.drawing import as_lines, as_rows, count_axis, count_scale, unchecked
from noisycount.charts.theme import BLUE, CONFIG, GREEN, INK, MUTED, PURPLE, VERMILION

_COLOURS = (BLUE, VERMILION, GREEN, PURPLE)
_WIDTH = 420
_CHARACTERS = 70  # of a line above the chart
_LINE, _GAP = 16, 8  # pixels of a line of text, and between groups
_ALONE, _BESIDE = 14, 12  # thickness of a bar, and of one beside others


@unchecked
def table_chart(table: TableBars) -> alt.LayerChart:
    """Bars from 0 to each answer, and a line from the least to the largest count it may be.

    Example:
        >>> bars = [TableBar("Bern", 12, 5), TableBar("Biel", -1, 5)]
        >>> table_chart(TableBars(bars, "Persons by town", [], "persons")).title.text
        'Persons by town'
    """
    places, height = _places(table)
    values = [_value(bar, place, table) for bar, place in zip(table.bars, places, strict=True)]
    rows = alt.Chart(alt.InlineData(values))
    y = alt.Y("place:Q", axis=None, scale=alt.Scale(domain=[0, height], reverse=True, nice=False))
    x = alt.X("answer:Q", title=table.axis, axis=count_axis(), scale=_scale(table.bars))
    thick = _BESIDE if table.kinds else _ALONE
    bars = rows.mark_bar(height=thick, opacity=0.55).encode(x=x, x2=alt.X2Datum(0), y=y, color=_colour(table))
    spans = rows.mark_rule(color=INK, strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q", y=y)
    dots = rows.mark_circle(color=INK, opacity=1, size=34).encode(x=x, y=y)
    zero = alt.Chart(alt.InlineData([{}])).mark_rule(color=MUTED).encode(x=alt.XDatum(0))
    labels = alt.Chart(alt.InlineData(_labels(table, places))).mark_text(
        align="right", baseline="middle", lineBreak="\n", lineHeight=_LINE, fontSize=13, color=INK
    )
    layers = [bars, zero, spans, dots, labels.encode(x=alt.XValue(-8), y=y, text="label:N")]
    title = alt.TitleParams(
        table.title,
        subtitle=[line for note in table.notes for line in as_lines(note, _CHARACTERS)],
        fontSize=19,
        offset=18,
        frame="group",
    )
    return alt.LayerChart(layer=layers, title=title, width=_WIDTH, height=height, config=CONFIG)


def _scale(bars: Sequence[TableBar]) -> alt.Scale:
    low = min(bar.answer - bar.error for bar in bars)
    high = max(bar.answer + bar.error for bar in bars)
    return count_scale(low, high)


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


def _places(table: TableBars) -> tuple[list[float], float]:
    """The middle of each bar from the top, and the height of all, in pixels."""
    thick = (_BESIDE if table.kinds else _ALONE) + 2
    places: list[float] = []
    top = _GAP / 2
    for group in _groups(table.bars):
        bars = len(group) * thick
        room = max(bars, _LINE * (1 + as_rows(group[0].label).count("\n")))
        first = top + (room - bars) / 2
        places += [first + (place + 0.5) * thick for place in range(len(group))]
        top += room + _GAP
    return places, top - _GAP / 2


def _labels(table: TableBars, places: Sequence[float]) -> list[dict[str, object]]:
    """The label of each group beside its middle."""
    labels: list[dict[str, object]] = []
    start = 0
    for group in _groups(table.bars):
        inside = places[start : start + len(group)]
        label = as_rows(group[0].label)
        first_line = (inside[0] + inside[-1] - _LINE * label.count("\n")) / 2
        labels.append({"label": label, "place": first_line})
        start += len(group)
    return labels


def _groups(bars: Sequence[TableBar]) -> list[Sequence[TableBar]]:
    """Bars of one label that follow each other."""
    starts = [
        0,
        *(place for place in range(1, len(bars)) if bars[place].label != bars[place - 1].label),
        len(bars),
    ]
    return [bars[start:end] for start, end in pairwise(starts)]
