"""Altair chart of a line plot (`plot.Plot`), with the names of the lines placed at their ends without overlap.

Begin with `plot_chart`; `spread` separates the names.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import altair as alt

from noisycount.charts.drawing import data_chart, png, specification, svg, unchecked
from noisycount.charts.plot import Axis, Line, Panel, Plot, share_of
from noisycount.charts.theme import CONFIG, GRID, MUTED, Style

_ABOVE = 1.04  # end of the axis relative to the largest value
_SHARE = "format(100 * datum.value, '.12~g') + ' %'"
_POWER = "datum.value < 1e-3 ? format(datum.value, '.0e') : format(datum.value, '~g')"


class PlotScale:
    """Scale of an axis of given length in pixels."""

    def __init__(self, axis: Axis, values: Sequence[float], length: float, *, is_upwards: bool = False) -> None:
        self.axis, self.length, self.is_turned = axis, length, is_upwards != axis.is_reversed
        smallest, largest = min(values), max(values)
        room = (largest / smallest) ** (_ABOVE - 1) if axis.is_log else _ABOVE
        top = largest * room if is_upwards and largest > 0 else largest
        self.low = axis.low if axis.low is not None else smallest
        self.high = axis.high if axis.high is not None else top

    def place(self, value: float) -> float:
        """Return the position of a value in pixels from the left or from the top."""
        share = share_of(self.axis, self.low, self.high, value)
        return self.length * (1 - share if self.is_turned else share)

    def scale(self) -> alt.Scale:
        """Return the Altair scale from the first to the last value of the axis."""
        return alt.Scale(
            type="log" if self.axis.is_log else "linear",
            domain=[self.low, self.high],
            nice=False,
            zero=False,
            reverse=self.axis.is_reversed,
        )

    def x(self) -> alt.X:
        """Return the horizontal axis."""
        ticks = self._ticks()
        return alt.X("x:Q", scale=self.scale(), axis=alt.Axis(title=self.axis.label, **ticks))

    def y(self) -> alt.Y:
        """Return the vertical axis, with its title written horizontally above it."""
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


def spread(places: Sequence[float], gap: float, length: float) -> list[float]:
    """Return positions at least `gap` apart, within 0 and `length` if they fit, moved as little as possible.

    Neighbours that would be closer form a group, which is centred on the mean position of its members.

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
            distance = gap * (len(groups[-2]) + len(groups[-1])) / 2
            if middles[-1] - middles[-2] >= distance:
                break
            last, before = groups.pop(), groups.pop()
            middles[-2:] = []
            groups.append(before + last)
            half = gap * (len(groups[-1]) - 1) / 2
            mean = sum(places[member] for member in groups[-1]) / len(groups[-1])
            middles.append(min(max(mean, half), max(length - half, half)))
    positions = [0.0] * len(places)
    for members, middle in zip(groups, middles, strict=True):
        for rank, member in enumerate(members):
            positions[member] = middle + gap * (rank - (len(members) - 1) / 2)
    return positions


_WIDTH = 270
_HEIGHTS = {1: 230, 2: 190, 3: 160}  # height of a panel in pixels, by the number of panels
_LOW = 120  # height of a panel if there are more than three
_BESIDE, _SAMPLE = 12, 22  # pixels from the axes to the line sample, and its length
_LINE_HEIGHT, _FONT = 16.0, 13


@unchecked
def plot_chart(plot: Plot) -> alt.VConcatChart:
    """Return a plot as a chart of the width of a telephone.

    Panels are below each other, and the name of each line is at its end.
    """
    heading = alt.TitleParams(plot.title, subtitle=f"{plot.source}, {plot.number}", fontSize=16, offset=14)
    return alt.VConcatChart(
        vconcat=[_draw_panel(plot, panel) for panel in plot.panels], title=heading, spacing=26, config=CONFIG
    )


def plot_svg(plot: Plot, *, is_headed: bool = True) -> str:
    """Return the SVG text of a plot; without its heading for pages that print the heading themselves."""
    return svg(_specification(plot, is_headed=is_headed))


def plot_png(plot: Plot) -> bytes:
    """Return a plot as PNG of double resolution."""
    return png(_specification(plot, is_headed=True))


def _specification(plot: Plot, *, is_headed: bool) -> dict[str, Any]:
    """Return the Vega-Lite specification of a plot, with or without its heading."""
    vega_lite = _build_specification(plot)
    return vega_lite if is_headed else {name: part for name, part in vega_lite.items() if name != "title"}


@lru_cache(maxsize=64)
def _build_specification(plot: Plot) -> dict[str, Any]:
    return specification(plot_chart(plot))


def _draw_panel(plot: Plot, panel: Panel) -> alt.LayerChart:
    height = _HEIGHTS.get(len(plot.panels), _LOW)
    lines = [line for other in plot.panels for line in other.lines]
    across = PlotScale(plot.x, [x for line in lines for x in line.xs], _WIDTH)
    upwards = PlotScale(plot.y, [y for line in panel.lines for y in line.ys], height, is_upwards=True)
    layers = [_draw_line(line).encode(x=across.x(), y=upwards.y()) for line in panel.lines]
    layers += _draw_names(panel.lines, across, upwards)
    title = alt.TitleParams(panel.title, offset=8) if panel.title else alt.Undefined
    return alt.LayerChart(layer=layers, title=title, width=_WIDTH, height=height)


def _draw_line(line: Line) -> alt.Chart:
    points = zip(line.xs, line.ys, strict=True)
    chart = data_chart([{"x": x, "y": y} for x, y in points])
    colour, width = line.style.colour, line.style.width
    if len(line.xs) == 1:
        dot: alt.Chart = chart.mark_point(color=colour, filled=True, opacity=1, size=70)
        return dot
    curve: alt.Chart = chart.mark_line(color=colour, strokeDash=list(line.style.dash), strokeWidth=width)
    return curve


def _draw_names(lines: Sequence[Line], across: PlotScale, upwards: PlotScale) -> list[alt.Chart]:
    """Return the marks of the names of lines, right of the axes: a sample of the line, its name, a rule to its end."""
    named = [line for line in lines if line.name]
    places = [(across.place(x), upwards.place(y)) for x, y in (_rightmost_point(line, across) for line in named)]
    heights = spread([y for _, y in places], _LINE_HEIGHT, upwards.length)
    layers = []
    for line, (x, y), height in zip(named, places, heights, strict=True):
        layers.append(_draw_rule((x + 1, y), (_WIDTH + _BESIDE - 2, height), Style(MUTED, width=0.8)))
        if len(line.xs) > 1:
            ends = (_WIDTH + _BESIDE, height), (_WIDTH + _BESIDE + _SAMPLE, height)
            layers.append(_draw_rule(*ends, line.style))
        text_offset = _BESIDE + (_SAMPLE + 5 if len(line.xs) > 1 else 0)
        layers.append(_draw_text(line.name, line.style, _WIDTH + text_offset, height))
    return layers


def _draw_rule(start: tuple[float, float], end: tuple[float, float], style: Style) -> alt.Chart:
    """Return a straight line between two points in pixels."""
    chart = data_chart([{}]).mark_rule(color=style.colour, strokeDash=list(style.dash), strokeWidth=style.width)
    rule: alt.Chart = chart.encode(
        x=alt.XValue(start[0]), y=alt.YValue(start[1]), x2=alt.X2Value(end[0]), y2=alt.Y2Value(end[1])
    )
    return rule


def _rightmost_point(line: Line, across: PlotScale) -> tuple[float, float]:
    """Return the rightmost point of a line."""
    return max(zip(line.xs, line.ys, strict=True), key=lambda point: across.place(point[0]))


def _draw_text(name: str, style: Style, x: float, y: float) -> alt.Chart:
    chart = data_chart([{}]).mark_text(
        align="left", baseline="middle", color=style.colour, fontSize=_FONT, fontWeight="bold"
    )
    text: alt.Chart = chart.encode(x=alt.XValue(x), y=alt.YValue(y), text=alt.TextValue(name))
    return text
