"""Answers on pages as SVG: one count on a line from 0, a row of a table as a bar, equal steps of time as lines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple, Self

from noisycount.charts.plot import Axis
from noisycount.charts.svg import AxisRange, below_axis, digits, fitted, svg_text
from noisycount.display.numbers import signed
from noisycount.frozen import frozen

NARROW, WIDE = 360.0, 720.0  # width of a picture on a telephone and elsewhere, so that its text stays readable
_SIDE, _ROW = 14.0, 22.0  # beside an axis, and height of a row of the key
_BELOW = 46.0  # height of the numbers below an axis and of its name
_BAND, _CURVE = 22.0, 54.0  # height of a range, and of a curve above it
_MIN_WIDTH = 3.0  # width of a range that would not be seen
_SAMPLE = 26.0  # width of a sample in the key


@frozen
class Estimated:
    """A noisy or refined count, and the ends of the range in which the true count lies; in units."""

    value: float
    low: float
    high: float

    def differs(self, other: Self) -> bool:
        """Return True if the other count differs so much that a reader should see both."""
        gaps = (abs(self.value - other.value), abs(self.low - other.low), abs(self.high - other.high))
        return max(gaps) > max(1.0, (other.high - other.low) / 8)

    @property
    def words(self) -> str:
        """The count and its range in a few words."""
        return f"{signed(self.value)}, from {signed(self.low)} to {signed(self.high)}"


@frozen
class CountPicture:
    """One count on a line from 0: the answer with its range and, if it differs, the refined curve."""

    answer: Estimated
    refined: Estimated | None = None  # the estimate from the answer and what is public
    curve: Sequence[tuple[float, float]] = ()  # counts, and the probability of each given the answer
    unit: str = "persons"  # what is counted, the name of the axis

    def svg(self, width: float) -> str:
        """Draw the picture, so many units wide."""
        counts = [self.answer, *([self.refined] if self.refined else [])]
        names = [f"{name}: {each.words}" for name, each in zip(("the answer", "refined"), counts, strict=False)]
        low = min(0.0, *(each.low for each in counts))
        axis = AxisRange.of(Axis(self.unit, low=low), [max(1.0, *(each.high for each in counts))])

        def across(value: float) -> float:
            return _SIDE + axis.share(value) * (width - 2 * _SIDE)

        above = 6 + (_ROW * len(names) + _CURVE) * bool(self.refined)
        floor = above + _BAND + 12
        left, right = across(self.answer.low), across(self.answer.high)
        wide = max(_MIN_WIDTH, right - left)
        parts = [
            *(_key(names, ("bar", "refined-line")) if self.refined else ()),
            *_axis([(across(value), number) for value, number in axis.ticks if value == int(value)], floor, width),
            svg_text(self.unit, width - _SIDE, floor + 38, anchor="end", kind="ink"),
            _bar(max(0.0, (left + right - wide) / 2), above + 6, wide, _BAND),
            _path("line-1", f"M{digits(across(self.answer.value))} {digits(above)}V{digits(floor)}"),
        ]
        if self.curve:
            most = max(chance for _, chance in self.curve) / (_CURVE - 8)
            shown = [(across(count), chance / most) for count, chance in self.curve if low <= count <= axis.high]
            points = [f"{digits(place)} {digits(above - height)}" for place, height in shown]
            parts.append(_path("refined-line", f"M{'L'.join(points)}"))
        return _picture(parts, width, floor + _BELOW, "; ".join(names))


class Point(NamedTuple):
    """A count of a period of time."""

    line: str  # the name of the line on which it lies
    period: int  # the number of the period, which rises by 1 from each to the next
    label: str  # the name of the period, such as 2026-01
    estimate: Estimated


_TALL = 210.0  # height of the lines
_LEFT = 58.0  # width of the numbers beside them
_MAX_DOTS = 40  # of a line: more would be one thick line
_MAX_LINES, _MIN_POINTS = 4, 3  # lines that colours tell apart, and points of each
_YEARS = 18.0  # height of the years below months or quarters


@frozen
class LinesPicture:
    """Counts at equal steps of time as lines, each with the band in which the true counts lie."""

    title: str  # what is counted, and by what
    lines: Mapping[str, Sequence[Point]]  # by their names, each in the order of time
    axes: tuple[str, str] = ("time", "persons")  # the names of the axes, across and upwards

    @classmethod
    def of(cls, title: str, points: Sequence[Point], axes: tuple[str, str]) -> Self | None:
        """Return the picture of points; None if steps of time differ, or lines are too many or too short."""
        lines: dict[str, list[Point]] = {}
        for point in sorted(points, key=lambda point: point.period):
            lines.setdefault(point.line, []).append(point)
        steps = {after.period - before.period for line in lines.values() for before, after in pairwise(line)}
        shortest = min(map(len, lines.values()), default=0)
        is_drawn = len(lines) <= _MAX_LINES and shortest >= _MIN_POINTS and len(steps) == 1
        names = dict.fromkeys(point.line for point in points)
        return cls(title, {name: lines[name] for name in names}, axes) if is_drawn else None

    def svg(self, width: float) -> str:
        """Draw the picture, so many units wide."""
        points = sorted((point for line in self.lines.values() for point in line), key=lambda point: point.period)
        low = min(0.0, *(point.estimate.low for point in points))
        x = AxisRange(Axis(self.axes[0]), points[0].period, points[-1].period)
        y = AxisRange.of(Axis(self.axes[1], low=low), [max(1.0, *(point.estimate.high for point in points))])
        names = list(self.lines) if len(self.lines) > 1 else []
        top = _ROW * len(names) + 30
        floor = top + _TALL

        def across(period: float) -> float:
            return _LEFT + x.share(period) * (width - _LEFT - 2 * _SIDE)

        def upwards(count: float) -> float:
            return floor - y.share(count) * _TALL

        parts = list(_key(names, [f"line-{number}" for number in range(1, len(names) + 1)]))
        parts.append(svg_text(self.axes[1], 4, top - 12, kind="ink"))
        for count, number in y.ticks:
            parts.append(_path("grid", f"M{digits(_LEFT)} {digits(upwards(count))}H{digits(width - _SIDE)}"))
            parts.append(svg_text(number, _LEFT - 8, upwards(count) + 4.5, anchor="end"))
        labels = {across(point.period): point.label.partition("-") for point in points}
        parts += _axis([(place, part or year) for place, (year, _, part) in labels.items()], floor, width, left=_LEFT)
        years = {year: place for place, (year, _, part) in reversed(labels.items()) if part}
        starts = [(place, year) for year, place in reversed(years.items())]
        parts += [svg_text(year, place, floor + 37, anchor="middle") for place, year in fitted(starts, width)]
        below = _BELOW + _YEARS * bool(years)
        parts.append(svg_text(self.axes[0], width - _SIDE, floor + below - 8, anchor="end", kind="ink"))
        for place, line in enumerate(self.lines.values(), 1):
            parts += _line(line, place, across, upwards)
        return _picture(parts, width, floor + below, self.title)


def _line(
    line: Sequence[Point], number: int, across: Callable[[float], float], upwards: Callable[[float], float]
) -> Iterator[str]:
    """Draw a line over its band, with a dot at each count."""
    places = [(digits(across(point.period)), point.estimate) for point in line]
    ends = [f"{x} {digits(upwards(count.low))}" for x, count in places]
    ends += [f"{x} {digits(upwards(count.high))}" for x, count in reversed(places)]
    yield _path(f"fill-{number} ribbon", f"M{'L'.join(ends)}Z")
    yield _path(f"line-{number}", f"M{'L'.join(f'{x} {digits(upwards(count.value))}' for x, count in places)}")
    if len(places) <= _MAX_DOTS:
        for x, count in places:
            yield f'<circle class="fill-{number}" cx="{x}" cy="{digits(upwards(count.value))}" r="3.5"/>'


def bar_svg(told: Estimated, ends: tuple[float, float], refined: Estimated | None = None) -> str:
    """A bar from 0 to the answer with the line of its range, and below them the refined count with its own."""
    low, high = ends

    def across(value: float) -> float:
        return (min(max(value, low), high) - low) / (high - low) * 1000

    def marked(kind: str, each: Estimated, middle: float) -> Iterator[str]:
        yield _path(kind, f"M{digits(across(each.low))} {middle}H{digits(across(each.high))}")
        yield _path(kind, f"M{digits(across(each.value))} {middle - 5}V{middle + 5}")

    bar = sorted((0.0, told.value))
    parts = [
        _bar(across(bar[0]), 3, across(bar[1]) - across(bar[0]), 14),
        _path("axis", f"M{digits(across(0))} 0V34"),
        *marked("line", told, 10),
        *(marked("refined-line", refined, 25) if refined else ()),
    ]
    tall = "spark tall" if refined else "spark"
    return (
        f'<svg class="chart {tall}" viewBox="0 0 1000 {34 if refined else 20}" preserveAspectRatio="none"'
        f' aria-hidden="true">{"".join(parts)}</svg>'
    )


def _bar(left: float, top: float, width: float, height: float) -> str:
    where = f'x="{digits(left)}" y="{digits(top)}" width="{digits(width)}" height="{digits(height)}"'
    return f'<rect class="bar" {where}/>'


def _path(kind: str, path: str) -> str:
    return f'<path class="{kind}" d="{path}"/>'


def _key(words: Sequence[str], kinds: Sequence[str]) -> Iterator[str]:
    """Rows, each with a sample of what it names."""
    for row, (text, kind) in enumerate(zip(words, kinds, strict=True)):
        middle = (row + 0.5) * _ROW
        if kind == "bar":
            yield _bar(_SIDE, middle - 6, _SAMPLE, 12)
        else:
            yield _path(kind, f"M{digits(_SIDE)} {digits(middle)}h{digits(_SAMPLE)}")
        yield svg_text(text, _SIDE + _SAMPLE + 8, middle + 4.5, kind="ink")


def _axis(numbers: Sequence[tuple[float, str]], floor: float, width: float, left: float = _SIDE) -> Iterator[str]:
    """Draw a line across with ticks, and with as many of its numbers as there is room for."""
    yield _path("axis", f"M{digits(left)} {digits(floor)}H{digits(width - _SIDE)}")
    yield from below_axis(numbers, floor, width)


def _picture(parts: Sequence[str], width: float, height: float, said: str) -> str:
    """The text of a picture, and in words what it shows."""
    return (
        f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(said)}"'
        f' viewBox="0 0 {digits(width)} {digits(height)}" width="{digits(width)}" height="{digits(height)}">'
        f"{''.join(parts)}</svg>"
    )
