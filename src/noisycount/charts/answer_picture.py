"""Pictures of answers on pages: a single count, a time series, and the bar of a row of a table.

`picture_svg` draws the first two; the style sheet of the pages has the colours of a bar.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, Self

from noisycount.charts.picture import (
    AxisRange,
    BandMark,
    CurveMark,
    DotMarks,
    Frame,
    Picture,
    PictureMark,
    RibbonMark,
    RuleMark,
)
from noisycount.charts.picture_svg import fit_width, pixels
from noisycount.charts.plot import Axis
from noisycount.charts.table import count_range
from noisycount.charts.theme import BLUE, GREEN, PURPLE, VERMILION, Style
from noisycount.display.numbers import signed
from noisycount.frozen import frozen

NARROW, WIDE = 360.0, 720.0  # widths of a picture on a telephone and on a larger screen; text is never scaled
_BAND, _CURVE = 34.0, 88.0  # heights of the axes without and with the curve of the refined count


@frozen
class CountInterval:
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
    """A count on a horizontal axis from 0: its interval as a band, and the curve of the refined count, if given."""

    answer: CountInterval
    refined: CountInterval | None = None  # estimate from the answer and public knowledge
    curve: Sequence[tuple[float, float]] = ()  # pairs (count, its posterior probability)
    unit: str = "persons"  # what is counted; the title of the axis

    @property
    def description(self) -> str:
        """The answer and the refined count in words."""
        return "; ".join(name for name, _ in self._legend)

    @property
    def _legend(self) -> list[tuple[str, Style]]:
        """Words and line of the answer, and of the refined count if there is one."""
        answer = f"the answer: {self.answer.words}", Style(BLUE)
        return [answer, *([(f"refined: {self.refined.words}", Style(GREEN))] if self.refined else [])]

    def picture(self, width: float) -> Picture:
        """Return the picture, `width` pixels wide."""
        estimates = [self.answer, *([self.refined] if self.refined else [])]
        x = count_range([(count.low, count.high) for count in estimates], self.unit, "count")
        marks: list[PictureMark] = [
            BandMark(self.answer.low, self.answer.high, BLUE),
            RuleMark(self.answer.value, Style(BLUE)),
        ]
        y = None
        if self.curve:
            y = AxisRange(Axis(""), 0, max(chance for _, chance in self.curve), has_numbers=False)
            marks.append(CurveMark([point for point in self.curve if x.low <= point[0] <= x.high], Style(GREEN)))
        size = width, _CURVE if self.refined else _BAND
        frame = Frame(replace(x, has_grid=False), y, size, marks, legend=self._legend if self.refined else ())
        return Picture(f"The count of {self.unit}", (), [fit_width(frame, width)], title_size=16)


class Point(NamedTuple):
    """A count of one period of time."""

    line: str  # name of the line that the point belongs to
    period: int  # index of the period; consecutive periods differ by 1
    label: str  # label of the period, such as 2026-01
    estimate: CountInterval


_TALL = 210.0  # height of the axes
_MAX_DOTS = 40  # largest number of points of a line that are drawn as dots; more would overlap
_COLOURS = (BLUE, VERMILION, GREEN, PURPLE)  # of the lines; readers cannot distinguish more
_MIN_POINTS = 3  # smallest number of points of a line


@frozen
class LinesPicture:
    """A time series at equal steps: a line for each group, with a ribbon that spans the intervals."""

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
        is_drawn = len(lines) <= len(_COLOURS) and shortest >= _MIN_POINTS and len(steps) == 1
        names = dict.fromkeys(point.line for point in points)
        return cls(title, {name: lines[name] for name in names}, axes) if is_drawn else None

    @property
    def description(self) -> str:
        """The title, for readers who cannot see the picture."""
        return self.title

    def picture(self, width: float) -> Picture:
        """Return the picture, `width` pixels wide."""
        points = sorted((point for line in self.lines.values() for point in line), key=lambda point: point.period)
        low = min(0.0, *(point.estimate.low for point in points))
        high = max(1.0, *(point.estimate.high for point in points))
        names = _period_names({point.period: point.label for point in points})
        time = Axis(self.axes[0], ticks=tuple(names), names=tuple(names.values()))
        y = replace(AxisRange.from_values(Axis(self.axes[1], low=low), [high]), has_grid=True)
        marks = list[PictureMark]()
        for line, colour in zip(self.lines.values(), _COLOURS, strict=False):
            estimates = [(float(point.period), point.estimate) for point in line]
            course = [(period, count.value) for period, count in estimates]
            marks.append(RibbonMark([(period, count.low, count.high) for period, count in estimates], colour))
            marks.append(CurveMark(course, Style(colour)))
            marks += [DotMarks(course, colour, 7)] if len(course) <= _MAX_DOTS else []
        styles = map(Style, _COLOURS)
        legend = list(zip(self.lines, styles, strict=False)) if len(self.lines) > 1 else ()
        x = AxisRange(time, points[0].period, points[-1].period)
        frame = Frame(x, y, (width, _TALL), marks, legend=legend)
        return Picture(self.title, (), [fit_width(frame, width)], title_size=16)


def _period_names(labels: Mapping[int, str]) -> dict[int, str]:
    """Return the text below each period: a year, or a month or quarter with the year below the first of a year."""
    names, years = {}, set[str]()
    for period, label in labels.items():
        year, _, part = label.partition("-")
        is_new = bool(part) and year not in years
        names[period] = f"{part}\n{year}" if is_new else part or year
        years.add(year)
    return names


def bar_svg(answer: CountInterval, ends: tuple[float, float], refined: CountInterval | None = None) -> str:
    """Return the SVG text of a table row: a bar from 0 to the answer with its interval, and below it the refined count.

    Args:
        answer: The noisy count.
        ends: The counts at the left and the right end of the picture, the same for all rows of a table.
        refined: The refined count, if there is one.
    """
    low, high = ends

    def x_pixel(value: float) -> float:
        return (min(max(value, low), high) - low) / (high - low) * 1000

    def interval_marks(kind: str, count: CountInterval, middle: float) -> Iterator[str]:
        yield _path_element(kind, f"M{pixels(x_pixel(count.low))} {middle}H{pixels(x_pixel(count.high))}")
        yield _path_element(kind, f"M{pixels(x_pixel(count.value))} {middle - 5}V{middle + 5}")

    left, right = sorted((x_pixel(0.0), x_pixel(answer.value)))
    parts = [
        f'<rect class="bar" x="{pixels(left)}" y="3" width="{pixels(right - left)}" height="14"/>',
        _path_element("axis", f"M{pixels(x_pixel(0))} 0V34"),
        *interval_marks("line", answer, 10),
        *(interval_marks("refined-line", refined, 25) if refined else ()),
    ]
    tall = "spark tall" if refined else "spark"
    return (
        f'<svg class="chart {tall}" viewBox="0 0 1000 {34 if refined else 20}" preserveAspectRatio="none"'
        f' aria-hidden="true">{"".join(parts)}</svg>'
    )


def _path_element(kind: str, path: str) -> str:
    return f'<path class="{kind}" d="{path}"/>'
