"""A chart of a page as SVG: its colours are classes of the page's style, light or dark."""

import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import Self

from noisycount.charts.plot import Axis, Line, Plot, share_of
from noisycount.charts.theme import BLUE, GREEN, PURPLE, VERMILION
from noisycount.display.numbers import percent
from noisycount.frozen import frozen

_ROOM = 1.06  # how far an axis goes beyond its values
_LEAST_RATIO = 2.0  # of the ends of a logarithmic axis
_MOST = 7  # numbers of an axis
_LEADING = (1, 2, 5)
_PLAIN = (1e-3, 1e6)  # between which numbers are written without powers of ten
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@frozen
class AxisRange:
    """The part of an axis that is drawn."""

    axis: Axis  # what it shows
    low: float  # its first value
    high: float  # its last value, above the first

    @classmethod
    def of(cls, axis: Axis, values: Sequence[float]) -> Self:
        """The span of all values, or as the axis says."""
        low = min(values) if axis.low is None else axis.low
        high = max(values) if axis.high is None else axis.high
        if axis.is_log:
            wide = max(1.0, math.sqrt(_LEAST_RATIO * low / high))
            room = max(wide, _ROOM)
            return cls(
                axis, low if axis.low is not None else low / room, high if axis.high is not None else high * room
            )
        if axis.high is None:
            high = low + ((high - low) * _ROOM or 1.0)
        return cls(axis, low, high)

    def share(self, value: float) -> float:
        """How far along the axis a value is, 0 to 1; its end for what is beyond."""
        return share_of(self.axis, self.low, self.high, min(max(value, self.low), self.high))

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Round values, each with its number."""
        values = self._logarithmic() if self.axis.is_log else self._linear()
        return [(value, self._text(value)) for value in values]

    def _linear(self) -> list[float]:
        width = self.high - self.low
        step = 10.0 ** math.floor(math.log10(width / _MOST))
        step *= next(factor for factor in (1, 2, 2.5, 5, 10) if width / (step * factor) <= _MOST)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(number * step, 12) for number in range(first, last + 1)]

    def _logarithmic(self) -> list[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for leading in (_LEADING, (1, 3), (1,)):
            values = self._inside([float(f"{one}e{power}") for power in powers for one in leading])
            if len(values) <= _MOST:
                return values if len(values) > 1 else self._linear()
        return values[:: math.ceil(len(values) / _MOST)]

    def _inside(self, values: list[float]) -> list[float]:
        return [value for value in values if self.low <= value * (1 + 1e-9) and value * (1 - 1e-9) <= self.high]

    def _text(self, value: float) -> str:
        if self.axis.is_share:
            return percent(value)
        least, most = _PLAIN
        if value and self.axis.is_log and not least <= abs(value) < most:
            power = math.floor(math.log10(value) + 1e-9)
            leading = round(value / 10.0**power)
            raised = f"10{str(power).translate(_RAISED)}"
            return raised if leading == 1 else f"{leading}·{raised}"
        return f"{value:,.10g}".replace("-", "−")


@frozen
class Mark:
    """A place across that the picture marks from top to bottom."""

    x: float  # where, on the axis across
    words: str  # what it is
    is_dashed: bool = False  # whether the line is

    @property
    def kind(self) -> str:
        """Its class in the style of the page."""
        return "dash" if self.is_dashed else "line"


@frozen
class ChartView:
    """One chart, whole."""

    plot: Plot  # its axes, with units, and its lines, in one panel
    sentence: str  # what it means
    marks: tuple[Mark, ...] = ()  # places to note
    band: tuple[float, float] | None = None  # from where to where the picture is shaded; None: nowhere
    band_words: str = ""  # what is shaded
    note: str = ""  # what is not shown, and why; empty where all is

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines, each with a name."""
        return self.plot.panels[0].lines

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the columns of the table, with units."""
        plot = self.plot
        if self._shares_places:
            return (plot.x.label, *(f"{plot.y.label}: {line.name}" for line in self.lines))
        return "line", plot.x.label, plot.y.label

    def rows(self) -> Iterator[tuple[str | float, ...]]:
        """The rows of the table: every number that is drawn."""
        if self._shares_places:
            yield from zip(self.lines[0].xs, *(line.ys for line in self.lines), strict=True)
        else:
            yield from (row[1:] for row in self.plot.rows())

    @property
    def _shares_places(self) -> bool:
        return len({line.xs for line in self.lines}) == 1


_WIDTH, _LEFT, _RIGHT = 360.0, 64.0, 12.0  # of the picture, and beside the axes
_ROW, _HEIGHT = 20.0, 190.0  # of a row of the key, and of the axes
_ABOVE, _BELOW = 30.0, 46.0  # room for the title of an axis, and for numbers too
_SAMPLE = 30.0  # of a line in the key
_LETTER, _APART = 8.4, 6.0  # width of a character below an axis, at most, and of the gap between two labels
_CLASSES = {BLUE: "line-1", VERMILION: "line-2", GREEN: "line-3", PURPLE: "line-4"}


def chart_svg(shown: ChartView, name: str) -> str:
    """A chart as the text of an SVG, without styles or scripts of its own."""
    frame = _Frame.of(shown)
    parts = [*_key(shown), *_axes(frame), *_drawn(frame)]
    described = f"{shown.sentence} {shown.plot.description}"
    return (
        f'<svg class="chart" role="img" aria-labelledby="{name}-title {name}-desc" '
        f'viewBox="0 0 {digits(_WIDTH)} {digits(frame.bottom + _BELOW)}" '
        f'width="{digits(_WIDTH)}" height="{digits(frame.bottom + _BELOW)}">'
        f'<title id="{name}-title">{escape(shown.plot.title)}</title>'
        f'<desc id="{name}-desc">{escape(described)}</desc>{"".join(parts)}</svg>'
    )


@frozen
class _Frame:
    """Where values lie in a picture."""

    shown: ChartView
    x: AxisRange
    y: AxisRange
    top: float

    @classmethod
    def of(cls, shown: ChartView) -> Self:
        """Axes that hold every line, below the key."""
        across = [value for line in shown.lines for value in line.xs]
        upwards = [value for line in shown.lines for value in line.ys]
        rows = len(list(_entries(shown)))
        return cls(shown, AxisRange.of(shown.plot.x, across), AxisRange.of(shown.plot.y, upwards), rows * _ROW + _ABOVE)

    @property
    def bottom(self) -> float:
        """Where the axis across is."""
        return self.top + _HEIGHT

    def across(self, value: float) -> float:
        """From the left."""
        return _LEFT + self.x.share(value) * (_WIDTH - _LEFT - _RIGHT)

    def upwards(self, value: float) -> float:
        """From the top."""
        return self.bottom - self.y.share(value) * _HEIGHT

    def place(self, x: float, y: float) -> str:
        """A point in the words of a path."""
        return f"{digits(self.across(x))} {digits(self.upwards(y))}"


def _entries(shown: ChartView) -> Iterator[tuple[str, str]]:
    """The rows of the key: a sample, 30 wide and centred on the row, and its words."""
    for line in shown.lines:
        yield _stroke(line, f"M0 0H{digits(_SAMPLE)}"), line.name
    for mark in shown.marks:
        yield f'<path class="{mark.kind}" d="M15 -8V8"/>', mark.words
    if shown.band is not None:
        yield '<rect class="band" x="0" y="-7" width="30" height="14"/>', shown.band_words


def _key(shown: ChartView) -> Iterator[str]:
    for row, (sample, words) in enumerate(_entries(shown)):
        middle = (row + 0.5) * _ROW
        yield f'<g transform="translate(4 {digits(middle)})">{sample}</g>'
        yield svg_text(words, 4 + _SAMPLE + 8, middle + 4.5, kind="ink")


def _axes(frame: _Frame) -> Iterator[str]:
    """Lines of the grid, numbers, and what they are numbers of."""
    right = _WIDTH - _RIGHT
    for value, number in frame.y.ticks:
        height = frame.upwards(value)
        yield f'<path class="grid" d="M{digits(_LEFT)} {digits(height)}H{digits(right)}"/>'
        yield svg_text(number, _LEFT - 8, height + 4.5, anchor="end")
    yield f'<path class="axis" d="M{digits(_LEFT)} {digits(frame.bottom)}H{digits(right)}"/>'
    yield from below_axis([(frame.across(value), number) for value, number in frame.x.ticks], frame.bottom, _WIDTH)
    yield svg_text(frame.shown.plot.y.label, 4, frame.top - 12, kind="ink")
    yield svg_text(frame.shown.plot.x.label, right, frame.bottom + 40, anchor="end", kind="ink")


def below_axis(labels: Sequence[tuple[float, str]], floor: float, width: float) -> Iterator[str]:
    """Yield a tick at each place of an axis, and below it as many of the labels as there is room for."""
    for place, _ in labels:
        yield f'<path class="axis" d="M{digits(place)} {digits(floor)}v5"/>'
    for place, text in fitted(labels, width):
        yield svg_text(text, place, floor + 19, anchor="middle")


def fitted(labels: Sequence[tuple[float, str]], width: float) -> list[tuple[float, str]]:
    """Return the labels below an axis, or every second, third … of them if they would touch.

    Args:
        labels: The place of the middle of each label from the left, in order, and its text.
        width: That of the picture. A label that would leave the picture is moved inwards.
    """
    halves = [_LETTER * len(text) / 2 for _, text in labels]
    inside = [min(max(place, half), width - half) for (place, _), half in zip(labels, halves, strict=True)]
    ends = [(middle - half, middle + half) for middle, half in zip(inside, halves, strict=True)]
    for step in range(1, len(labels) + 1):
        if all(end + _APART <= start for (_, end), (start, _) in pairwise(ends[::step])):
            return list(zip(inside, (text for _, text in labels), strict=True))[::step]
    return []


def _drawn(frame: _Frame) -> Iterator[str]:
    """The band, the lines and the marks."""
    shown = frame.shown
    if shown.band is not None:
        left, right = map(frame.across, shown.band)
        yield (
            f'<rect class="band" x="{digits(left)}" y="{digits(frame.top)}" '
            f'width="{digits(right - left)}" height="{digits(_HEIGHT)}"/>'
        )
    for line in shown.lines:
        points = [frame.place(*point) for point in zip(line.xs, line.ys, strict=True)]
        yield _stroke(line, f"M{'L'.join(points)}")
    for mark in shown.marks:
        place = digits(frame.across(mark.x))
        ends = f"M{place} {digits(frame.top)}V{digits(frame.bottom)}"
        yield f'<path class="{mark.kind}" d="{ends}"/>'


def _stroke(line: Line, path: str) -> str:
    """A path in the style of a line; one that is there to compare with is thin and dashed."""
    kind = _CLASSES.get(line.style.colour, "dash")
    dashes = " ".join(map(str, line.style.dash))
    dashed = f' stroke-dasharray="{dashes}"' if line.style.dash[1] and kind != "dash" else ""
    return f'<path class="{kind}"{dashed} d="{path}"/>'


def svg_text(words: str, x: float, y: float, *, anchor: str = "start", kind: str = "") -> str:
    """A text at a place, which is its start, its middle or its end."""
    where = f'x="{digits(x)}" y="{digits(y)}"'
    turned = "" if anchor == "start" else f' text-anchor="{anchor}"'
    called = f' class="{kind}"' if kind else ""
    return f"<text{called} {where}{turned}>{escape(words)}</text>"


def digits(number: float) -> str:
    """A coordinate with no more digits than anybody sees."""
    return f"{number:.1f}".removesuffix(".0")
