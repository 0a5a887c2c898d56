"""A plot of lines as an Altair chart, with places of values and names in pixels."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import altair as alt

from noisycount.charts.drawing import data_chart, png, specification, svg, unchecked
from noisycount.charts.plot import Axis, Line, Panel, Plot, share_of
from noisycount.charts.theme import CONFIG, GRID, MUTED, Style

_ABOVE = 1.04  # how far the axis goes beyond the largest value
_SHARE = "format(100 * datum.value, '.12~g') + ' %'"
_POWER = "datum.value < 1e-3 ? format(datum.value, '.0e') : format(datum.value, '~g')"


class PlotScale:
    """Where values lie, in pixels."""

    def __init__(self, axis: Axis, values: Sequence[float], length: float, *, is_upwards: bool = False) -> None:
        self.axis, self.length, self.is_turned = axis, length, is_upwards != axis.is_reversed
        least, largest = min(values), max(values)
        room = (largest / least) ** (_ABOVE - 1) if axis.is_log else _ABOVE
        top = largest * room if is_upwards and largest > 0 else largest
        self.low = axis.low if axis.low is not None else least
        self.high = axis.high if axis.high is not None else top

    def place(self, value: float) -> float:
        """The pixel, from the left or from the top."""
        share = share_of(self.axis, self.low, self.high, value)
        return self.length * (1 - share if self.is_turned else share)

    def scale(self) -> alt.Scale:
        """The scale, from end to end."""
        return alt.Scale(
            type="log" if self.axis.is_log else "linear",
            domain=[self.low, self.high],
            nice=False,
            zero=False,
            reverse=self.axis.is_reversed,
        )

    def x(self) -> alt.X:
        """The axis across."""
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


_WIDTH = 270
_HEIGHTS = {1: 230, 2: 190, 3: 160}  # of a panel, by how many there are
_LOW = 120  # of one of more
_BESIDE, _SAMPLE = 12, 22  # pixels from the axes to a sample of the line, and its length
_LINE_HEIGHT, _FONT = 16.0, 13


@unchecked
def plot_chart(plot: Plot) -> alt.VConcatChart:
    """A plot as a chart as wide as a phone, its panels below each other, the name of each line at its end."""
    heading = alt.TitleParams(plot.title, subtitle=f"{plot.source}, {plot.number}", fontSize=16, offset=14)
    return alt.VConcatChart(
        vconcat=[_panel(plot, panel) for panel in plot.panels], title=heading, spacing=26, config=CONFIG
    )


def plot_svg(plot: Plot, *, is_headed: bool = True) -> str:
    """A plot as the text of an SVG; without its heading for a page that has it beside."""
    return svg(_specification(plot, is_headed=is_headed))


def plot_png(plot: Plot) -> bytes:
    """A plot as a PNG of double resolution."""
    return png(_specification(plot, is_headed=True))


def _specification(plot: Plot, *, is_headed: bool) -> dict[str, Any]:
    """What Vega-Lite draws, with or without its heading."""
    whole = _whole(plot)
    return whole if is_headed else {name: part for name, part in whole.items() if name != "title"}


@lru_cache(maxsize=64)
def _whole(plot: Plot) -> dict[str, Any]:
    return specification(plot_chart(plot))


def _panel(plot: Plot, panel: Panel) -> alt.LayerChart:
    height = _HEIGHTS.get(len(plot.panels), _LOW)
    lines = [line for each in plot.panels for line in each.lines]
    across = PlotScale(plot.x, [x for line in lines for x in line.xs], _WIDTH)
    upwards = PlotScale(plot.y, [y for line in panel.lines for y in line.ys], height, is_upwards=True)
    layers = [_drawn(line).encode(x=across.x(), y=upwards.y()) for line in panel.lines]
    layers += _names(panel.lines, across, upwards)
    title = alt.TitleParams(panel.title, offset=8) if panel.title else alt.Undefined
    return alt.LayerChart(layer=layers, title=title, width=_WIDTH, height=height)


def _drawn(line: Line) -> alt.Chart:
    points = zip(line.xs, line.ys, strict=True)
    chart = data_chart([{"x": x, "y": y} for x, y in points])
    colour, width = line.style.colour, line.style.width
    if len(line.xs) == 1:
        dot: alt.Chart = chart.mark_point(color=colour, filled=True, opacity=1, size=70)
        return dot
    curve: alt.Chart = chart.mark_line(color=colour, strokeDash=list(line.style.dash), strokeWidth=width)
    return curve


def _names(lines: Sequence[Line], across: PlotScale, upwards: PlotScale) -> list[alt.Chart]:
    """The names of lines, right of the axes, each with a sample of its line, tied to its end."""
    named = [line for line in lines if line.name]
    places = [(across.place(x), upwards.place(y)) for x, y in (_last(line, across) for line in named)]
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
    chart = data_chart([{}]).mark_rule(color=style.colour, strokeDash=list(style.dash), strokeWidth=style.width)
    rule: alt.Chart = chart.encode(
        x=alt.XValue(start[0]), y=alt.YValue(start[1]), x2=alt.X2Value(end[0]), y2=alt.Y2Value(end[1])
    )
    return rule


def _last(line: Line, across: PlotScale) -> tuple[float, float]:
    """The rightmost point of a line."""
    return max(zip(line.xs, line.ys, strict=True), key=lambda point: across.place(point[0]))


def _text(name: str, style: Style, x: float, y: float) -> alt.Chart:
    chart = data_chart([{}]).mark_text(
        align="left", baseline="middle", color=style.colour, fontSize=_FONT, fontWeight="bold"
    )
    text: alt.Chart = chart.encode(x=alt.XValue(x), y=alt.YValue(y), text=alt.TextValue(name))
    return text
