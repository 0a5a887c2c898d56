"""Line charts as SVG text for pages. Colours are CSS classes of the page's style sheet, light or dark.

`chart_svg` draws a `ChartView`.
"""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import Self

from noisycount.charts.picture import AxisRange
from noisycount.charts.plot import Line, Plot
from noisycount.charts.theme import BLUE, GREEN, PURPLE, VERMILION
from noisycount.frozen import frozen


@frozen
class Mark:
    """A vertical line at a value of the x axis."""

    x: float  # value on the x axis
    words: str  # text in the legend
    is_dashed: bool = False  # True if the line is dashed

    @property
    def kind(self) -> str:
        """The CSS class of the line."""
        return "dash" if self.is_dashed else "line"


@frozen
class ChartView:
    """A line chart of a page with its marks, its shaded band and the table of its numbers."""

    plot: Plot  # axes with units, and lines, in one panel
    sentence: str  # meaning of the chart, one sentence
    marks: tuple[Mark, ...] = ()  # vertical lines
    band: tuple[float, float] | None = None  # ends of the shaded band on the x axis; None if there is none
    band_words: str = ""  # text of the band in the legend
    note: str = ""  # values that are not shown, with the reason; empty if all are shown

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines of the chart, each with a name."""
        return self.plot.panels[0].lines

    @property
    def header(self) -> tuple[str, ...]:
        """The headers of the columns of the table, with units."""
        plot = self.plot
        if self._shares_places:
            return (plot.x.label, *(f"{plot.y.label}: {line.name}" for line in self.lines))
        return "line", plot.x.label, plot.y.label

    def rows(self) -> Iterator[tuple[str | float, ...]]:
        """Yield the rows of the table of all numbers that are drawn."""
        if self._shares_places:
            yield from zip(self.lines[0].xs, *(line.ys for line in self.lines), strict=True)
        else:
            yield from (row[1:] for row in self.plot.rows())

    @property
    def _shares_places(self) -> bool:
        return len({line.xs for line in self.lines}) == 1


_WIDTH, _LEFT, _RIGHT = 360.0, 64.0, 12.0  # width of the picture, and space left and right of the plotting area
_ROW, _HEIGHT = 20.0, 190.0  # height of a legend row, and of the plotting area
_ABOVE, _BELOW = 30.0, 46.0  # space above the plotting area for a title, and below it for numbers and a title
_SAMPLE = 30.0  # width of a line sample in the legend
_LETTER, _LABEL_GAP = 8.4, 6.0  # largest width of a character below an axis, and smallest gap between two labels
_CLASSES = {BLUE: "line-1", VERMILION: "line-2", GREEN: "line-3", PURPLE: "line-4"}


def chart_svg(view: ChartView, name: str) -> str:
    """Return the SVG text of a chart, without style sheets or scripts of its own.

    Args:
        view: The chart.
        name: The prefix of the identifiers in the SVG, unique on its page.
    """
    frame = _Frame.from_view(view)
    parts = [*_draw_legend(view), *_draw_axes(frame), *_draw_plot(frame)]
    description = f"{view.sentence} {view.plot.description}"
    return (
        f'<svg class="chart" role="img" aria-labelledby="{name}-title {name}-desc" '
        f'viewBox="0 0 {digits(_WIDTH)} {digits(frame.bottom + _BELOW)}" '
        f'width="{digits(_WIDTH)}" height="{digits(frame.bottom + _BELOW)}">'
        f'<title id="{name}-title">{escape(view.plot.title)}</title>'
        f'<desc id="{name}-desc">{escape(description)}</desc>{"".join(parts)}</svg>'
    )


@frozen
class _Frame:
    """Plotting area of a chart: converts values to positions in pixels."""

    view: ChartView
    x: AxisRange
    y: AxisRange
    top: float

    @classmethod
    def from_view(cls, view: ChartView) -> Self:
        """Return axes that contain every line, below the legend."""
        x_pixel = [value for line in view.lines for value in line.xs]
        y_pixel = [value for line in view.lines for value in line.ys]
        rows = len(list(_legend_entries(view)))
        return cls(
            view,
            AxisRange.from_values(view.plot.x, x_pixel),
            AxisRange.from_values(view.plot.y, y_pixel),
            rows * _ROW + _ABOVE,
        )

    @property
    def bottom(self) -> float:
        """Position of the x axis, in pixels from the top."""
        return self.top + _HEIGHT

    def x_pixel(self, value: float) -> float:
        """Return the position of an x value, in pixels from the left."""
        return _LEFT + self.x.share(value) * (_WIDTH - _LEFT - _RIGHT)

    def y_pixel(self, value: float) -> float:
        """Return the position of a y value, in pixels from the top."""
        return self.bottom - self.y.share(value) * _HEIGHT

    def path_point(self, x: float, y: float) -> str:
        """Return a point as coordinates of an SVG path."""
        return f"{digits(self.x_pixel(x))} {digits(self.y_pixel(y))}"


def _legend_entries(view: ChartView) -> Iterator[tuple[str, str]]:
    """Yield the rows of the legend: the SVG of a sample, 30 wide and centred on the row, and its text."""
    for line in view.lines:
        yield _stroke(line, f"M0 0H{digits(_SAMPLE)}"), line.name
    for mark in view.marks:
        yield f'<path class="{mark.kind}" d="M15 -8V8"/>', mark.words
    if view.band is not None:
        yield '<rect class="band" x="0" y="-7" width="30" height="14"/>', view.band_words


def _draw_legend(view: ChartView) -> Iterator[str]:
    for row, (sample, words) in enumerate(_legend_entries(view)):
        middle = (row + 0.5) * _ROW
        yield f'<g transform="translate(4 {digits(middle)})">{sample}</g>'
        yield svg_text(words, 4 + _SAMPLE + 8, middle + 4.5, kind="ink")


def _draw_axes(frame: _Frame) -> Iterator[str]:
    """Yield the grid lines, the numbers and the titles of both axes."""
    right = _WIDTH - _RIGHT
    for value, number in frame.y.ticks:
        height = frame.y_pixel(value)
        yield f'<path class="grid" d="M{digits(_LEFT)} {digits(height)}H{digits(right)}"/>'
        yield svg_text(number, _LEFT - 8, height + 4.5, anchor="end")
    yield f'<path class="axis" d="M{digits(_LEFT)} {digits(frame.bottom)}H{digits(right)}"/>'
    yield from below_axis([(frame.x_pixel(value), number) for value, number in frame.x.ticks], frame.bottom, _WIDTH)
    yield svg_text(frame.view.plot.y.label, 4, frame.top - 12, kind="ink")
    yield svg_text(frame.view.plot.x.label, right, frame.bottom + 40, anchor="end", kind="ink")


def below_axis(labels: Sequence[tuple[float, str]], floor: float, width: float) -> Iterator[str]:
    """Yield the SVG of a tick at each position of an axis, and of as many labels as fit below it."""
    for place, _ in labels:
        yield f'<path class="axis" d="M{digits(place)} {digits(floor)}v5"/>'
    for place, text in fitted(labels, width):
        yield svg_text(text, place, floor + 19, anchor="middle")


def fitted(labels: Sequence[tuple[float, str]], width: float) -> list[tuple[float, str]]:
    """Return the labels below an axis; if they would overlap, only every second, third … of them.

    Args:
        labels: The position of the middle of each label from the left, in ascending order, and its text.
        width: Width of the picture. A label that would reach beyond the picture is moved inwards.
    """
    halves = [_LETTER * len(text) / 2 for _, text in labels]
    inside = [min(max(place, half), width - half) for (place, _), half in zip(labels, halves, strict=True)]
    ends = [(middle - half, middle + half) for middle, half in zip(inside, halves, strict=True)]
    for step in range(1, len(labels) + 1):
        if all(end + _LABEL_GAP <= start for (_, end), (start, _) in pairwise(ends[::step])):
            return list(zip(inside, (text for _, text in labels), strict=True))[::step]
    return []


def _draw_plot(frame: _Frame) -> Iterator[str]:
    """Yield the SVG of the band, the lines and the marks."""
    view = frame.view
    if view.band is not None:
        left, right = map(frame.x_pixel, view.band)
        yield (
            f'<rect class="band" x="{digits(left)}" y="{digits(frame.top)}" '
            f'width="{digits(right - left)}" height="{digits(_HEIGHT)}"/>'
        )
    for line in view.lines:
        points = [frame.path_point(*point) for point in zip(line.xs, line.ys, strict=True)]
        yield _stroke(line, f"M{'L'.join(points)}")
    for mark in view.marks:
        place = digits(frame.x_pixel(mark.x))
        ends = f"M{place} {digits(frame.top)}V{digits(frame.bottom)}"
        yield f'<path class="{mark.kind}" d="{ends}"/>'


def _stroke(line: Line, path: str) -> str:
    """Return the SVG of a path in the style of a line; reference lines are thin and dashed."""
    kind = _CLASSES.get(line.style.colour, "dash")
    dashes = " ".join(map(str, line.style.dash))
    dashed = f' stroke-dasharray="{dashes}"' if line.style.dash[1] and kind != "dash" else ""
    return f'<path class="{kind}"{dashed} d="{path}"/>'


def svg_text(text: str, x: float, y: float, *, anchor: str = "start", kind: str = "") -> str:
    """Return the SVG of a text; its start, middle or end is at (x, y), by `anchor`."""
    position = f'x="{digits(x)}" y="{digits(y)}"'
    alignment = "" if anchor == "start" else f' text-anchor="{anchor}"'
    css_class = f' class="{kind}"' if kind else ""
    return f"<text{css_class} {position}{alignment}>{escape(text)}</text>"


def digits(number: float) -> str:
    """Return a coordinate as text, rounded to a tenth of a pixel."""
    return f"{number:.1f}".removesuffix(".0")
