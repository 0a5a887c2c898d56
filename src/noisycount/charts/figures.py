"""A figure of a paper as an Altair chart; nothing is computed here but where names have room."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import altair as alt
import vl_convert

from noisycount.charts.plot import Axis, Line, Panel, Plot
from noisycount.charts.refinement import THEME
from noisycount.charts.theme import GRID, MUTED, Style

__all__ = ["figure_chart", "figure_png", "figure_svg", "spread"]

_WIDTH = 270
_HEIGHTS = {1: 230, 2: 190, 3: 160}  # of a panel, by how many there are
_BESIDE, _SAMPLE = 12, 22  # pixels from the axes to a sample of the line, and its length
_LINE_HEIGHT, _FONT = 16.0, 13
_ABOVE = 1.04  # how far the axis goes beyond the largest value
_SHARE = "format(100 * datum.value, '.12~g') + ' %'"
_POWER = "datum.value < 1e-3 ? format(datum.value, '.0e') : format(datum.value, '~g')"


def figure_chart(figure: Plot) -> alt.VConcatChart:
    """Return a figure as a chart as wide as a phone, its panels below each other.

    The name of each line stands at its end, moved up or down where two would overlap.

    Args:
        figure: What to draw.

    Example:
        >>> from noisycount.charts.theme import STYLES
        >>> line = Line("answer", STYLES["answer"], (1.0, 2.0), (1.0, 4.0))
        >>> axes = Axis("noise", "records"), Axis("error", "records")
        >>> figure = Plot("a.1", "A", "Fig. 1", "Error", "", *axes, (Panel("", (line,)),))
        >>> len(figure_chart(figure).vconcat)
        1
    """
    heading = alt.TitleParams(
        figure.title, subtitle=f"{figure.source}, {figure.number}", fontSize=16, offset=14
    )
    return alt.VConcatChart(
        vconcat=[_panel(figure, panel) for panel in figure.panels],
        title=heading,
        spacing=26,
        config=THEME,
    )


def figure_svg(figure: Plot, *, is_headed: bool = True) -> str:
    """Return a figure as the text of an SVG; without its heading for a page that has it beside."""
    return str(vl_convert.vegalite_to_svg(_specification(figure, is_headed=is_headed)))


def figure_png(figure: Plot) -> bytes:
    """Return a figure as a PNG of double resolution."""
    return bytes(vl_convert.vegalite_to_png(_specification(figure, is_headed=True), scale=2))


def _specification(figure: Plot, *, is_headed: bool) -> dict[str, Any]:
    """What Vega-Lite draws; to write it down takes longer than to draw it."""
    whole = _whole(figure)
    return whole if is_headed else {name: part for name, part in whole.items() if name != "title"}


@lru_cache(maxsize=64)
def _whole(figure: Plot) -> dict[str, Any]:
    return figure_chart(figure).to_dict()


def _panel(figure: Plot, panel: Panel) -> alt.LayerChart:
    height = _HEIGHTS[len(figure.panels)]
    lines = [line for each in figure.panels for line in each.lines]
    across = _Scale(figure.x, [x for line in lines for x in line.xs], _WIDTH)
    upwards = _Scale(
        figure.y, [y for line in panel.lines for y in line.ys], height, is_upwards=True
    )
    layers = [_drawn(line).encode(x=across.x(), y=upwards.y()) for line in panel.lines]
    layers += _names(panel.lines, across, upwards)
    title = alt.TitleParams(panel.title, offset=8) if panel.title else alt.Undefined
    return alt.LayerChart(layer=layers, title=title, width=_WIDTH, height=height)


class _Scale:
    """Where values lie, in pixels."""

    def __init__(
        self, axis: Axis, values: Sequence[float], length: float, *, is_upwards: bool = False
    ) -> None:
        self.axis, self.length, self.is_turned = axis, length, is_upwards != axis.is_reversed
        least, largest = min(values), max(values)
        room = (largest / least) ** (_ABOVE - 1) if axis.is_log else _ABOVE
        top = largest * room if is_upwards and largest > 0 else largest
        self.low = axis.low if axis.low is not None else least
        self.high = axis.high if axis.high is not None else top

    def place(self, value: float) -> float:
        """The pixel, from the left or from the top."""
        low, high, at = (
            map(math.log, (self.low, self.high, value))
            if self.axis.is_log
            else (self.low, self.high, value)
        )
        share = (at - low) / (high - low)
        return self.length * (1 - share if self.is_turned else share)

    def scale(self) -> alt.Scale:
        return alt.Scale(
            type="log" if self.axis.is_log else "linear",
            domain=[self.low, self.high],
            nice=False,
            zero=False,
            reverse=self.axis.is_reversed,
        )

    def x(self) -> alt.X:
        ticks = self._ticks()
        return alt.X("x:Q", scale=self.scale(), axis=alt.Axis(title=self.axis.label, **ticks))

    def y(self) -> alt.Y:
        """The axis upwards, its title above it, where it can be read without turning the head."""
        axis = alt.Axis(
            title=self.axis.label,
            titleAngle=0,
            titleAlign="left",
            titleAnchor="end",
            titleBaseline="bottom",
            titleX=-44,
            titleY=-10,
            grid=True,
            gridColor=GRID,
            **self._ticks(),
        )
        return alt.Y("y:Q", scale=self.scale(), axis=axis)

    def _ticks(self) -> dict[str, Any]:
        values = self.axis.ticks
        ticks: dict[str, Any] = {"tickCount": len(values) or 5}
        if values:
            ticks |= {"values": list(values), "labelOverlap": False}
        if self.axis.is_share:
            return ticks | {"labelExpr": _SHARE}
        return ticks | ({"labelExpr": _POWER} if self.axis.is_log else {"format": ",.12~g"})


def _drawn(line: Line) -> alt.Chart:
    points = zip(line.xs, line.ys, strict=True)
    chart = alt.Chart(alt.InlineData([{"x": x, "y": y} for x, y in points]))
    colour, width = line.style.colour, line.style.width
    if len(line.xs) == 1:
        dot: alt.Chart = chart.mark_point(color=colour, filled=True, opacity=1, size=70)
        return dot
    curve: alt.Chart = chart.mark_line(
        color=colour, strokeDash=list(line.style.dash), strokeWidth=width
    )
    return curve


def _names(lines: Sequence[Line], across: _Scale, upwards: _Scale) -> list[alt.Chart]:
    """The names of lines, right of the axes, each with a sample of its line, tied to its end."""
    named = [line for line in lines if line.name]
    places = [
        (across.place(x), upwards.place(y)) for x, y in (_last(line, across) for line in named)
    ]
    heights = spread([y for _, y in places], _LINE_HEIGHT, upwards.length)
    layers = []
    for line, (x, y), height in zip(named, places, heights, strict=True):
        layers.append(_rule((x + 1, y), (_WIDTH + _BESIDE - 2, height), Style(MUTED, width=0.8)))
        if len(line.xs) > 1:
            ends = (_WIDTH + _BESIDE, height), (_WIDTH + _BESIDE + _SAMPLE, height)
            layers.append(_rule(*ends, line.style))
        beside = _BESIDE + (_SAMPLE + 5 if len(line.xs) > 1 else 0)
        layers.append(_text(line.name, line.style, _WIDTH + beside, height))
    return layers


def _rule(start: tuple[float, float], end: tuple[float, float], style: Style) -> alt.Chart:
    """A straight line between two places in pixels."""
    chart = alt.Chart(alt.InlineData([{}])).mark_rule(
        color=style.colour, strokeDash=list(style.dash), strokeWidth=style.width
    )
    rule: alt.Chart = chart.encode(
        x=alt.value(start[0]), y=alt.value(start[1]), x2=alt.value(end[0]), y2=alt.value(end[1])
    )
    return rule


def _last(line: Line, across: _Scale) -> tuple[float, float]:
    """The rightmost point of a line."""
    return max(zip(line.xs, line.ys, strict=True), key=lambda point: across.place(point[0]))


def _text(name: str, style: Style, x: float, y: float) -> alt.Chart:
    chart = alt.Chart(alt.InlineData([{}])).mark_text(
        align="left", baseline="middle", color=style.colour, fontSize=_FONT, fontWeight="bold"
    )
    text: alt.Chart = chart.encode(x=alt.value(x), y=alt.value(y), text=alt.value(name))
    return text


def spread(places: Sequence[float], gap: float, length: float) -> list[float]:
    """Places at least `gap` apart, within 0 and `length` if they fit, moved as little as possible.

    Neighbours that would be nearer form a group, which stands where its members are on average.

    Example:
        >>> spread([10, 12, 60], gap=8, length=100)
        [7.0, 15.0, 60.0]
    """
    order = sorted(range(len(places)), key=lambda number: places[number])
    groups: list[list[int]] = []
    middles: list[float] = []
    for number in order:
        groups.append([number])
        middles.append(float(places[number]))
        while len(groups) > 1:
            reach = gap * (len(groups[-2]) + len(groups[-1])) / 2
            if middles[-1] - middles[-2] >= reach:
                break
            last, before = groups.pop(), groups.pop()
            middles[-2:] = []
            groups.append(before + last)
            half = gap * (len(groups[-1]) - 1) / 2
            mean = sum(places[member] for member in groups[-1]) / len(groups[-1])
            middles.append(min(max(mean, half), max(length - half, half)))
    found = [0.0] * len(places)
    for members, middle in zip(groups, middles, strict=True):
        for rank, member in enumerate(members):
            found[member] = middle + gap * (rank - (len(members) - 1) / 2)
    return found
