"""SVG pictures of answers on pages: a single count, a bar in a table row, and a time series.

Colours come from the style sheet of the page. `svg` has the charts of exploration, `picture_svg` pictures in files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple, Self

from noisycount.charts.picture import AxisRange
from noisycount.charts.plot import Axis
from noisycount.charts.svg import below_axis, digits, fitted, svg_text
from noisycount.display.numbers import signed
from noisycount.frozen import frozen

NARROW, WIDE = 360.0, 720.0  # widths of a picture on a telephone and on a larger screen; text is never scaled
_SIDE, _ROW = 14.0, 22.0  # space on each side of an axis, and height of a legend row
_BELOW = 46.0  # height of the numbers below an axis and of its title
_BAND, _CURVE = 22.0, 54.0  # height of the bar of an interval, and of the curve above it
_MIN_WIDTH = 3.0  # smallest width of the bar of an interval, so that it can be seen
_SAMPLE = 26.0  # width of a line sample in the legend


@frozen
class Estimated:
    """A noisy or refined count and its interval, in rows or persons."""

    value: float
    low: float
    high: float

    def differs(self, other: Self) -> bool:
        """Return True if the other count differs so much that both should be drawn.

        This holds if a value or an end differs by more than 1 and by more than 1/8 of the length of the other interval.
        """
        gaps = (abs(self.value - other.value), abs(self.low - other.low), abs(self.high - other.high))
        return max(gaps) > max(1.0, (other.high - other.low) / 8)

    @property
    def words(self) -> str:
        """The count and its interval as text, such as "12, from 8 to 16"."""
        return f"{signed(self.value)}, from {signed(self.low)} to {signed(self.high)}"


@frozen
class CountPicture:
    """A count on a horizontal axis from 0: its interval as a bar, and the curve of the refined count, if given."""

    answer: Estimated
    refined: Estimated | None = None  # estimate from the answer and public knowledge
    curve: Sequence[tuple[float, float]] = ()  # pairs (count, its posterior probability)
    unit: str = "persons"  # what is counted; the title of the axis

    def svg(self, width: float) -> str:
        """Return the SVG text of the picture, `width` pixels wide."""
        estimates = [self.answer, *([self.refined] if self.refined else [])]
        names = [f"{name}: {count.words}" for name, count in zip(("the answer", "refined"), estimates, strict=False)]
        low = min(0.0, *(count.low for count in estimates))
        axis = AxisRange.from_values(Axis(self.unit, low=low), [max(1.0, *(count.high for count in estimates))])

        def x_pixel(value: float) -> float:
            return _SIDE + axis.share(value) * (width - 2 * _SIDE)

        above = 6 + (_ROW * len(names) + _CURVE) * bool(self.refined)
        floor = above + _BAND + 12
        left, right = x_pixel(self.answer.low), x_pixel(self.answer.high)
        bar_width = max(_MIN_WIDTH, right - left)
        parts = [
            *(_legend(names, ("bar", "refined-line")) if self.refined else ()),
            *_draw_axis(
                [(x_pixel(value), number) for value, number in axis.ticks if value == int(value)], floor, width
            ),
            svg_text(self.unit, width - _SIDE, floor + 38, anchor="end", kind="ink"),
            _rectangle(max(0.0, (left + right - bar_width) / 2), above + 6, bar_width, _BAND),
            _path_element("line-1", f"M{digits(x_pixel(self.answer.value))} {digits(above)}V{digits(floor)}"),
        ]
        if self.curve:
            scale = max(chance for _, chance in self.curve) / (_CURVE - 8)
            pixels = [(x_pixel(count), chance / scale) for count, chance in self.curve if low <= count <= axis.high]
            points = [f"{digits(x)} {digits(above - height)}" for x, height in pixels]
            parts.append(_path_element("refined-line", f"M{'L'.join(points)}"))
        return _svg_document(parts, width, floor + _BELOW, "; ".join(names))


class Point(NamedTuple):
    """A count of one period of time."""

    line: str  # name of the line that the point belongs to
    period: int  # index of the period; consecutive periods differ by 1
    label: str  # label of the period, such as 2026-01
    estimate: Estimated


_TALL = 210.0  # height of the plotting area
_LEFT = 58.0  # width of the numbers left of the plotting area
_MAX_DOTS = 40  # largest number of points of a line that are drawn as dots; more would overlap
_MAX_LINES, _MIN_POINTS = (
    4,
    3,
)  # largest number of lines that colours can distinguish, and smallest number of points of a line
_YEARS = 18.0  # height of the row of years below months or quarters


@frozen
class LinesPicture:
    """A time series at equal steps: a line for each group, with a band that spans the intervals."""

    title: str  # what is counted and by what it is grouped
    lines: Mapping[str, Sequence[Point]]  # points of each line in the order of time, by the name of the line
    axes: tuple[str, str] = ("time", "persons")  # titles of the x axis and the y axis

    @classmethod
    def from_points(cls, title: str, points: Sequence[Point], axes: tuple[str, str]) -> Self | None:
        """Return the picture of the points.

        Returns None if the periods are not equally spaced, if there are more than 4 lines, or if a line has fewer than
        3 points.
        """
        lines: dict[str, list[Point]] = {}
        for point in sorted(points, key=lambda point: point.period):
            lines.setdefault(point.line, []).append(point)
        steps = {after.period - before.period for line in lines.values() for before, after in pairwise(line)}
        shortest = min(map(len, lines.values()), default=0)
        is_drawn = len(lines) <= _MAX_LINES and shortest >= _MIN_POINTS and len(steps) == 1
        names = dict.fromkeys(point.line for point in points)
        return cls(title, {name: lines[name] for name in names}, axes) if is_drawn else None

    def svg(self, width: float) -> str:
        """Return the SVG text of the picture, `width` pixels wide."""
        points = sorted((point for line in self.lines.values() for point in line), key=lambda point: point.period)
        low = min(0.0, *(point.estimate.low for point in points))
        x = AxisRange(Axis(self.axes[0]), points[0].period, points[-1].period)
        y = AxisRange.from_values(Axis(self.axes[1], low=low), [max(1.0, *(point.estimate.high for point in points))])
        names = list(self.lines) if len(self.lines) > 1 else []
        top = _ROW * len(names) + 30
        floor = top + _TALL

        def x_pixel(period: float) -> float:
            return _LEFT + x.share(period) * (width - _LEFT - 2 * _SIDE)

        def y_pixel(count: float) -> float:
            return floor - y.share(count) * _TALL

        parts = list(_legend(names, [f"line-{number}" for number in range(1, len(names) + 1)]))
        parts.append(svg_text(self.axes[1], 4, top - 12, kind="ink"))
        for count, number in y.ticks:
            parts.append(_path_element("grid", f"M{digits(_LEFT)} {digits(y_pixel(count))}H{digits(width - _SIDE)}"))
            parts.append(svg_text(number, _LEFT - 8, y_pixel(count) + 4.5, anchor="end"))
        labels = {x_pixel(point.period): point.label.partition("-") for point in points}
        parts += _draw_axis(
            [(place, part or year) for place, (year, _, part) in labels.items()], floor, width, left=_LEFT
        )
        years = {year: place for place, (year, _, part) in reversed(labels.items()) if part}
        starts = [(place, year) for year, place in reversed(years.items())]
        parts += [svg_text(year, place, floor + 37, anchor="middle") for place, year in fitted(starts, width)]
        below = _BELOW + _YEARS * bool(years)
        parts.append(svg_text(self.axes[0], width - _SIDE, floor + below - 8, anchor="end", kind="ink"))
        for index, line in enumerate(self.lines.values(), 1):
            parts += _draw_line(line, index, x_pixel, y_pixel)
        return _svg_document(parts, width, floor + below, self.title)


def _draw_line(
    line: Sequence[Point], number: int, x_pixel: Callable[[float], float], y_pixel: Callable[[float], float]
) -> Iterator[str]:
    """Yield the SVG of a band, of the line over it, and of a dot at each count if they are at most 40."""
    estimates = [(digits(x_pixel(point.period)), point.estimate) for point in line]
    ends = [f"{x} {digits(y_pixel(count.low))}" for x, count in estimates]
    ends += [f"{x} {digits(y_pixel(count.high))}" for x, count in reversed(estimates)]
    yield _path_element(f"fill-{number} ribbon", f"M{'L'.join(ends)}Z")
    yield _path_element(
        f"line-{number}", f"M{'L'.join(f'{x} {digits(y_pixel(count.value))}' for x, count in estimates)}"
    )
    if len(estimates) <= _MAX_DOTS:
        for x, count in estimates:
            yield f'<circle class="fill-{number}" cx="{x}" cy="{digits(y_pixel(count.value))}" r="3.5"/>'


def bar_svg(answer: Estimated, ends: tuple[float, float], refined: Estimated | None = None) -> str:
    """Return the SVG text of a table row: a bar from 0 to the answer with its interval, and below it the refined count.

    Args:
        answer: The noisy count.
        ends: The counts at the left and the right end of the picture, the same for all rows of a table.
        refined: The refined count, if there is one.
    """
    low, high = ends

    def x_pixel(value: float) -> float:
        return (min(max(value, low), high) - low) / (high - low) * 1000

    def interval_marks(kind: str, count: Estimated, middle: float) -> Iterator[str]:
        yield _path_element(kind, f"M{digits(x_pixel(count.low))} {middle}H{digits(x_pixel(count.high))}")
        yield _path_element(kind, f"M{digits(x_pixel(count.value))} {middle - 5}V{middle + 5}")

    bar = sorted((0.0, answer.value))
    parts = [
        _rectangle(x_pixel(bar[0]), 3, x_pixel(bar[1]) - x_pixel(bar[0]), 14),
        _path_element("axis", f"M{digits(x_pixel(0))} 0V34"),
        *interval_marks("line", answer, 10),
        *(interval_marks("refined-line", refined, 25) if refined else ()),
    ]
    tall = "spark tall" if refined else "spark"
    return (
        f'<svg class="chart {tall}" viewBox="0 0 1000 {34 if refined else 20}" preserveAspectRatio="none"'
        f' aria-hidden="true">{"".join(parts)}</svg>'
    )


def _rectangle(left: float, top: float, width: float, height: float) -> str:
    where = f'x="{digits(left)}" y="{digits(top)}" width="{digits(width)}" height="{digits(height)}"'
    return f'<rect class="bar" {where}/>'


def _path_element(kind: str, path: str) -> str:
    return f'<path class="{kind}" d="{path}"/>'


def _legend(texts: Sequence[str], kinds: Sequence[str]) -> Iterator[str]:
    """Yield the rows of a legend: a bar or a piece of a line of each kind, and its text."""
    for row, (text, kind) in enumerate(zip(texts, kinds, strict=True)):
        middle = (row + 0.5) * _ROW
        if kind == "bar":
            yield _rectangle(_SIDE, middle - 6, _SAMPLE, 12)
        else:
            yield _path_element(kind, f"M{digits(_SIDE)} {digits(middle)}h{digits(_SAMPLE)}")
        yield svg_text(text, _SIDE + _SAMPLE + 8, middle + 4.5, kind="ink")


def _draw_axis(numbers: Sequence[tuple[float, str]], floor: float, width: float, left: float = _SIDE) -> Iterator[str]:
    """Yield the SVG of an x axis with its ticks and those of its numbers that have room."""
    yield _path_element("axis", f"M{digits(left)} {digits(floor)}H{digits(width - _SIDE)}")
    yield from below_axis(numbers, floor, width)


def _svg_document(parts: Sequence[str], width: float, height: float, description: str) -> str:
    """Return the text of an SVG document; `description` states its content for readers who cannot see it."""
    return (
        f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(description)}"'
        f' viewBox="0 0 {digits(width)} {digits(height)}" width="{digits(width)}" height="{digits(height)}">'
        f"{''.join(parts)}</svg>"
    )
