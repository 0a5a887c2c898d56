"""A refined table as an Altair chart: in each row the answer with its noise, and the estimate."""

from collections.abc import Iterator, Sequence

import altair as alt

from noisycount.charts.dots import RefinedDot, RefinedDots
from noisycount.charts.drawing import as_lines, as_rows, count_axis, count_scale, unchecked
from noisycount.charts.theme import BLUE, CONFIG, DENSE, GRID, INK, MUTED, SOLID, VERMILION
from noisycount.display.numbers import percent

__all__ = ["refined_chart"]

_RAW, _REFINED = "answer, with noise", "refined"
_WIDTH = 420
_CHARACTERS = 70  # of a line above the chart
_LINE = 16  # pixels of a line of text
_ROW, _NARROW_ROW = 30, 22  # pixels of a row, and of one of many
_MANY = 20  # rows
_APART = 0.17  # of a row: the answer above its middle, the estimate below
_BETWEEN = 28  # pixels from level to level


@unchecked
def refined_chart(table: RefinedDots) -> alt.LayerChart | alt.VConcatChart:
    """Two dots a row with their intervals: the answer above, the estimate from all answers below.

    Sums stand below the cells, each level on a scale of its own.

    Args:
        table: The rows.

    Example:
        >>> dots = [RefinedDot("Bern", 12, 5, 11.2, 8, 14), RefinedDot("Biel", -1, 5, 1.7, 0, 4)]
        >>> refined_chart(RefinedDots(dots, "Persons by town", [])).title.text
        'Persons by town'
    """
    cells = _level(table.dots, table.unit, has_legend=True)
    if not table.sums:
        alone: alt.LayerChart = cells.properties(title=_title(table), config=CONFIG)
        return alone
    sums = [
        _level(one.dots, table.unit).properties(title=alt.TitleParams(one.name, frame="group"))
        for one in table.sums
    ]
    return alt.VConcatChart(
        vconcat=[cells, *sums],
        title=_title(table),
        spacing=_BETWEEN,
        config=CONFIG,
        resolve=alt.Resolve(scale={"x": "independent", "y": "independent"}),
    )


def _level(rows: Sequence[RefinedDot], unit: str, *, has_legend: bool = False) -> alt.LayerChart:
    """The rows of one level."""
    middles, height = _middles(rows)
    marks = alt.Chart(alt.InlineData(list(_marks(rows, middles))))
    y = alt.Y("place:Q", axis=None, scale=alt.Scale(domain=[0, height], reverse=True, nice=False))
    x = alt.X("count:Q", title=unit, axis=count_axis(), scale=_scale(rows))
    kinds, legend = [_RAW, _REFINED], _legend() if has_legend else None
    colour = alt.Color(
        "kind:N", scale=alt.Scale(domain=kinds, range=[VERMILION, BLUE]), legend=legend
    )
    dash = alt.StrokeDash(
        "kind:N", scale=alt.Scale(domain=kinds, range=[list(DENSE), list(SOLID)]), legend=None
    )
    spans = marks.mark_rule(strokeWidth=2, opacity=0.75).encode(
        x=alt.X("low:Q"), x2="high:Q", y=y, color=colour, strokeDash=dash
    )
    dots = marks.mark_circle(opacity=1, size=46).encode(x=x, y=y, color=colour)
    zero = alt.Chart(alt.InlineData([{}])).mark_rule(color=MUTED).encode(x=alt.XDatum(0))
    layers = [_lines(middles, y), zero, spans, dots, _labels(rows, middles, y)]
    return alt.LayerChart(layer=layers, width=_WIDTH, height=height)


def _legend() -> alt.Legend:
    """The names of the two dots, above the cells."""
    return alt.Legend(
        orient="top", title=None, labelFontSize=13, symbolType="circle", symbolStrokeWidth=0
    )


def _title(table: RefinedDots) -> alt.TitleParams:
    """The heading, and what the lines are."""
    notes = [*table.notes, f"lines: where the count lies with {percent(table.level)} probability"]
    lines = [line for note in notes for line in as_lines(note, _CHARACTERS)]
    return alt.TitleParams(table.title, subtitle=lines, fontSize=19, offset=18, frame="group")


def _middles(dots: Sequence[RefinedDot]) -> tuple[list[float], float]:
    """The middle of each row from the top, and the height of all, in pixels."""
    least = _NARROW_ROW if len(dots) > _MANY else _ROW
    middles: list[float] = []
    top = 0.0
    for dot in dots:
        room = max(least, _LINE * (1 + as_rows(dot.label).count("\n")) + 6)
        middles.append(top + room / 2)
        top += room
    return middles, top


def _marks(dots: Sequence[RefinedDot], middles: Sequence[float]) -> Iterator[dict[str, object]]:
    """The two dots of each row; one where there is no answer."""
    apart = _APART * (_NARROW_ROW if len(dots) > _MANY else _ROW)
    for dot, middle in zip(dots, middles, strict=True):
        if dot.answer is not None:
            low, high = dot.answer - dot.error, dot.answer + dot.error
            yield _mark(_RAW, middle - apart, dot.answer, low, high)
        yield _mark(_REFINED, middle + apart, dot.estimate, dot.low, dot.high)


def _mark(kind: str, place: float, count: float, low: float, high: float) -> dict[str, object]:
    return {"kind": kind, "place": place, "count": count, "low": low, "high": high}


def _lines(middles: Sequence[float], y: alt.Y) -> alt.Chart:
    """A thin line through the middle of each row, by which the eye finds its label."""
    values = alt.InlineData([{"place": middle} for middle in middles])
    lines: alt.Chart = alt.Chart(values).mark_rule(color=GRID, strokeDash=[1, 3])
    return lines.encode(y=y)


def _labels(dots: Sequence[RefinedDot], middles: Sequence[float], y: alt.Y) -> alt.Chart:
    """The label of each row beside its middle."""
    labels = []
    for dot, middle in zip(dots, middles, strict=True):
        text = as_rows(dot.label)
        labels.append({"label": text, "place": middle - _LINE * text.count("\n") / 2})
    texts: alt.Chart = alt.Chart(alt.InlineData(labels)).mark_text(
        align="right", baseline="middle", lineBreak="\n", lineHeight=_LINE, fontSize=13, color=INK
    )
    return texts.encode(x=alt.XValue(-8), y=y, text="label:N")


def _scale(dots: Sequence[RefinedDot]) -> alt.Scale:
    answered = [(dot.answer, dot.error) for dot in dots if dot.answer is not None]
    low = min([*(dot.low for dot in dots), *(answer - error for answer, error in answered)])
    high = max([*(dot.high for dot in dots), *(answer + error for answer, error in answered)])
    return count_scale(low, high)
