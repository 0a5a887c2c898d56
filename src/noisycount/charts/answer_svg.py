"""Answers on pages as SVG: one count on a line from 0, a row of a table as a bar, ordered rows as lines with bands."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from html import escape
from typing import Self, TypeAlias

from noisycount.charts.plot import Axis
from noisycount.charts.svg import AxisRange, apart, digits, svg_text
from noisycount.display.numbers import signed
from noisycount.frozen import frozen

NARROW, WIDE = 360.0, 720.0  # of a picture on a telephone and elsewhere, so that its words stay readable
_SIDE, _ROW, _BELOW = 14.0, 22.0, 26.0  # beside an axis, of a row of the key, and of the numbers below
_BAND, _CURVE = 22.0, 54.0  # the height of a range, and of a curve above it
_LEAST = 3.0  # the width of a range that would not be seen
_SAMPLE = 26.0  # of the key


@frozen
class Estimated:
    """A count as it is told, and the ends of the range in which it lies; in units."""

    value: float
    low: float
    high: float

    def differs(self, other: Self) -> bool:
        """Whether another says so much else that a reader should see both."""
        gaps = (abs(self.value - other.value), abs(self.low - other.low), abs(self.high - other.high))
        return max(gaps) > max(1.0, (other.high - other.low) / 8)

    @property
    def words(self) -> str:
        """It in a few words."""
        return f"{signed(self.value)}, from {signed(self.low)} to {signed(self.high)}"


@frozen
class CountPicture:
    """One count on a line from 0: the answer with its range and, where that says more, the refined curve."""

    answer: Estimated
    refined: Estimated | None = None  # what it says together with what is public; None: nothing more
    curve: Sequence[tuple[float, float]] = ()  # counts, and how likely each is then

    def svg(self, width: float) -> str:
        """The picture, so many units wide."""
        told = [self.answer, *([self.refined] if self.refined else [])]
        names = [f"{name}: {each.words}" for name, each in zip(("the answer", "refined"), told, strict=False)]
        low = min(0.0, *(each.low for each in told))
        axis = AxisRange.of(Axis("", low=low), [max(1.0, *(each.high for each in told))])

        def across(value: float) -> float:
            return _SIDE + axis.share(value) * (width - 2 * _SIDE)

        above = 6 + (_ROW * len(names) + _CURVE) * bool(self.refined)
        floor = above + _BAND + 12
        left, right = across(self.answer.low), across(self.answer.high)
        wide = max(_LEAST, right - left)
        parts = [
            *(_key(names, ("bar", "refined-line")) if self.refined else ()),
            *_axis([(across(value), number) for value, number in axis.ticks if value == int(value)], floor, width),
            _bar((left + right - wide) / 2, above + 6, wide, _BAND),
            _path("line-1", f"M{digits(across(self.answer.value))} {digits(above)}V{digits(floor)}"),
        ]
        if self.curve:
            most = max(chance for _, chance in self.curve) / (_CURVE - 8)
            shown = [(across(count), chance / most) for count, chance in self.curve if low <= count <= axis.high]
            points = [f"{digits(place)} {digits(above - height)}" for place, height in shown]
            parts.append(_path("refined-line", f"M{'L'.join(points)}"))
        return _picture(parts, width, floor + _BELOW, "; ".join(names))


Point: TypeAlias = tuple[float, str, Estimated]  # a place across, its label, and the count there
_TALL = 210.0  # the height of the lines
_LEFT = 58.0  # of the numbers beside them
_MOST_DOTS = 40  # of a line: more would be one thick line
_MOST_LINES, _FEWEST = 4, 3  # which colours tell apart, and points of each


@frozen
class LinesPicture:
    """Counts in the order of time or of numbers: lines, each with the band in which the true counts lie."""

    title: str  # what is counted
    lines: Mapping[str, Sequence[Point]]  # at most four, by the name of each

    @classmethod
    def of(cls, title: str, cells: Sequence[tuple[Sequence[object], Sequence[str], Estimated]]) -> Self | None:
        """The picture of cells, with keys and their texts, along the first column that has an order; None: none."""
        for column in range(len(cells[0][0]) if cells else 0):
            lines: dict[str, list[Point]] = {}
            for keys, texts, told in (cell for cell in cells if cell[0][column] is not None):
                place = place_of(keys[column])
                if place is None:
                    break
                name = ", ".join(text for at, text in enumerate(texts) if at != column)
                lines.setdefault(name, []).append((place, texts[column], told))
            else:
                fewest = min((len({place for place, *_ in line}) for line in lines.values()), default=0)
                if len(lines) <= _MOST_LINES and fewest >= _FEWEST:
                    return cls(title, {name: sorted(line, key=lambda point: point[0]) for name, line in lines.items()})
        return None

    def svg(self, width: float) -> str:
        """The picture, so many units wide."""
        points = [point for line in self.lines.values() for point in line]
        low = min(0.0, *(told.low for _, _, told in points))
        x = AxisRange(Axis(""), min(place for place, _, _ in points), max(place for place, _, _ in points))
        y = AxisRange.of(Axis("", low=low), [max(1.0, *(told.high for _, _, told in points))])
        names = list(self.lines) if len(self.lines) > 1 else []
        top = _ROW * len(names) + 10
        floor = top + _TALL

        def across(place: float) -> float:
            return _LEFT + x.share(place) * (width - _LEFT - 2 * _SIDE)

        def upwards(count: float) -> float:
            return floor - y.share(count) * _TALL

        parts = list(_key(names, [f"line-{number}" for number in range(1, len(names) + 1)]))
        for count, number in y.ticks:
            parts.append(_path("grid", f"M{digits(_LEFT)} {digits(upwards(count))}H{digits(width - _SIDE)}"))
            parts.append(svg_text(number, _LEFT - 8, upwards(count) + 4.5, anchor="end"))
        labels = sorted({(across(place), _short(label)) for place, label, _ in points})
        parts += _axis(labels, floor, width, left=_LEFT)
        for place, line in enumerate(self.lines.values(), 1):
            parts += _line(line, place, across, upwards)
        return _picture(parts, width, floor + _BELOW, self.title)


def _short(label: str) -> str:
    """A range as it stands below an axis."""
    return label.replace(" to under ", "–").replace(" to ", "–").replace(" or more", "+")


def _line(
    line: Sequence[Point], number: int, across: Callable[[float], float], upwards: Callable[[float], float]
) -> Iterator[str]:
    """A line over its band, with a dot at each count."""
    at = [(digits(across(place)), told) for place, _, told in line]
    ends = [f"{x} {digits(upwards(told.low))}" for x, told in at]
    ends += [f"{x} {digits(upwards(told.high))}" for x, told in reversed(at)]
    yield _path(f"fill-{number} ribbon", f"M{'L'.join(ends)}Z")
    yield _path(f"line-{number}", f"M{'L'.join(f'{x} {digits(upwards(told.value))}' for x, told in at)}")
    if len(at) <= _MOST_DOTS:
        for x, told in at:
            yield f'<circle class="fill-{number}" cx="{x}" cy="{digits(upwards(told.value))}" r="3.5"/>'


_NUMBER, _PERIOD = re.compile(r"-?\d+(\.\d+)?(e\+\d+)?"), re.compile(r"(\d{4})-(Q?)(\d\d?)(?:-(\d\d))?")


def place_of(label: object) -> float | None:
    """Where a key lies in the order of time or of numbers; None for one that has no such place.

    Example:
        >>> place_of(7), place_of("2026-Q2"), place_of("2026-01"), place_of("18 to 64"), place_of("Bern")
        (7.0, 8106.0, 24313.0, 18.0, None)
    """
    if isinstance(label, bool) or label is None:
        return None
    text = str(label)
    if (found := _PERIOD.fullmatch(text)) is not None:
        year, is_quarter, part, day = int(found[1]), found[2], int(found[3]), found[4]
        if day is None:
            return float(year * (4 if is_quarter else 12) + part)
        with suppress(ValueError):  # a text that is no day
            return float(date.fromisoformat(text).toordinal())
        return None
    number, _, rest = text.partition(" ")
    is_one = rest == "" or rest.startswith(("to ", "or more"))
    return float(number) if is_one and _NUMBER.fullmatch(number) else None


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
    return f'<path class="{kind}" vector-effect="non-scaling-stroke" d="{path}"/>'


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
    """A line across with as many of its numbers as there is room for."""
    yield _path("axis", f"M{digits(left)} {digits(floor)}H{digits(width - _SIDE)}")
    told = (list(apart(numbers[::step], width)) for step in range(1, len(numbers) + 1))
    evenly = (found for step, found in enumerate(told, 1) if len(found) == len(numbers[::step]))
    for place, number in next(evenly, ()):
        yield _path("axis", f"M{digits(place)} {digits(floor)}v5")
        yield svg_text(number, place, floor + 20, anchor="middle")


def _picture(parts: Sequence[str], width: float, height: float, said: str) -> str:
    """The text of a picture, and in words what it shows."""
    return (
        f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(said)}"'
        f' viewBox="0 0 {digits(width)} {digits(height)}" width="{digits(width)}" height="{digits(height)}">'
        f"{''.join(parts)}</svg>"
    )
