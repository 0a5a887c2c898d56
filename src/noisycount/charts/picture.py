"""Pictures as plain data: frames with axes, and marks such as curves, bars and texts.

Every chart is built once, as a `Picture`. `picture_svg` draws it as SVG, `vega` turns it into an Altair chart.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from noisycount.charts.plot import Axis
from noisycount.charts.theme import INK, Style
from noisycount.display.numbers import percent
from noisycount.frozen import frozen

Point = tuple[float, float]

_ROOM = 1.06  # end of an axis relative to its largest value
_MIN_RATIO = 2.0  # smallest ratio of the ends of a logarithmic axis
_MAX_TICKS = 7  # largest number of ticks of an axis
_LEADING = (1, 2, 5)
_PLAIN_RANGE = (1e-3, 1e6)  # range of numbers written without powers of ten
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@frozen
class AxisRange:
    """An axis with the range that is drawn, and its ticks."""

    axis: Axis  # quantity and unit
    low: float  # first value
    high: float  # last value, greater than the first
    max_ticks: int = _MAX_TICKS  # largest number of ticks that are chosen
    has_grid: bool = False  # True if a line crosses the picture at each tick
    has_numbers: bool = True  # True if each tick has a number, and the axis a title

    @classmethod
    def from_values(cls, axis: Axis, values: Sequence[float]) -> Self:
        """Return the range that contains all values; ends that the axis states take precedence."""
        low = min(values) if axis.low is None else axis.low
        high = max(values) if axis.high is None else axis.high
        if axis.is_log:
            ratio = max(1.0, math.sqrt(_MIN_RATIO * low / high))
            room = max(ratio, _ROOM)
            return cls(
                axis, low if axis.low is not None else low / room, high if axis.high is not None else high * room
            )
        if axis.high is None:
            high = low + ((high - low) * _ROOM or 1.0)
        return cls(axis, low, high)

    def with_round_end(self) -> Self:
        """Return the range up to the first round value that is not below its end; the axis is linear."""
        ticks = self._linear_ticks()
        step = ticks[1] - ticks[0]
        return replace(self, high=step * math.ceil(self.high / step - 1e-9))

    def share(self, value: float) -> float:
        """Return the position of a value as a share of the axis, from 0 to 1; values beyond an end are moved to it."""
        first, last, position = self.low, self.high, min(max(value, self.low), self.high)
        if self.axis.is_log:
            first, last, position = math.log(first), math.log(last), math.log(position)
        share = (position - first) / (last - first)
        return 1 - share if self.axis.is_reversed else share

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The value and the text of each tick: values that the axis states, or else round values within the range."""
        if self.axis.names:
            return list(zip(self.axis.ticks, self.axis.names, strict=True))
        values = self._keep_inside(list(self.axis.ticks))
        if not values:
            values = self._logarithmic_ticks() if self.axis.is_log else self._linear_ticks()
        return [(value, self._format_number(value)) for value in values]

    def _linear_ticks(self) -> list[float]:
        width = self.high - self.low
        step = 10.0 ** math.floor(math.log10(width / self.max_ticks))
        step *= next(factor for factor in (1, 2, 2.5, 5, 10) if width / (step * factor) <= self.max_ticks)
        if self.axis.is_whole:
            step = max(1.0, step if step != 2.5 else 5.0)  # noqa: PLR2004 - a step of 2.5 has ticks at halves
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(number * step, 12) for number in range(first, last + 1)]

    def _logarithmic_ticks(self) -> list[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for leading in (_LEADING, (1, 3), (1,)):
            values = self._keep_inside([float(f"{digit}e{power}") for power in powers for digit in leading])
            if len(values) <= self.max_ticks:
                return values if len(values) > 1 else self._linear_ticks()
        return values[:: math.ceil(len(values) / self.max_ticks)]

    def _keep_inside(self, values: list[float]) -> list[float]:
        return [value for value in values if self.low <= value * (1 + 1e-9) and value * (1 - 1e-9) <= self.high]

    def _format_number(self, value: float) -> str:
        if self.axis.is_share:
            return percent(value)
        smallest, largest = _PLAIN_RANGE
        if value and self.axis.is_log and not smallest <= abs(value) < largest:
            power = math.floor(math.log10(value) + 1e-9)
            leading = round(value / 10.0**power)
            raised = f"10{str(power).translate(_RAISED)}"
            return raised if leading == 1 else f"{leading}·{raised}"
        sign = "+" if self.axis.is_signed and value > 0 else ""
        return f"{sign}{value:,.10g}".replace("-", "−")


@frozen
class CurveMark:
    """A line through points.

    If `is_area`, the area down to 0 is filled, in steps, because only whole counts have a value.
    """

    points: Sequence[Point]
    style: Style
    is_area: bool = False


@frozen
class DotMarks:
    """Filled circles at points."""

    points: Sequence[Point]
    colour: str
    diameter: float  # in pixels
    kind: str = ""  # name in the legend; empty if it has none


@frozen
class BandMark:
    """A shaded area between two values of the x axis."""

    low: float
    high: float
    colour: str


@frozen
class RibbonMark:
    """A shaded area between two curves."""

    rows: Sequence[tuple[float, float, float]]  # x, and the y of the lower and of the upper curve
    colour: str


@frozen
class RuleMark:
    """A vertical line at a value of the x axis, over the whole height."""

    x: float
    style: Style


@frozen
class BarMarks:
    """Horizontal bars from 0 to a value."""

    rows: Sequence[Point]  # the value of each bar, and its middle in pixels from the top
    colour: str
    thickness: float  # in pixels
    kind: str = ""  # name in the legend; empty if it has none


@frozen
class SpanMarks:
    """Horizontal lines between two values."""

    rows: Sequence[tuple[float, float, float]]  # the two values of each line, and its height in pixels from the top
    style: Style


@frozen
class SegmentMark:
    """A straight line between two points in pixels from the top left corner of the axes."""

    start: Point
    end: Point
    style: Style


@frozen
class TextMark:
    """A text; its start, middle or end is at a point in pixels from the top left corner of the axes."""

    place: Point  # the middle of the height of the first line
    text: str  # lines are separated by line breaks
    colour: str = INK
    anchor: str = "start"  # start, middle or end
    size: float = 13  # in pixels
    is_bold: bool = False


PictureMark = CurveMark | DotMarks | BandMark | RibbonMark | RuleMark | BarMarks | SpanMarks | SegmentMark | TextMark


@frozen
class Frame:
    """A pair of axes with the marks on them."""

    x: AxisRange
    y: AxisRange | None  # None: heights are pixels from the top, and there is no axis
    size: tuple[float, float]  # width and height of the axes, in pixels
    marks: Sequence[PictureMark]  # from back to front
    title: str = ""  # heading; empty if it is the only frame
    notes: Sequence[str] = ()  # lines below the heading
    # name of each kind of mark and its colour, in one row; or of each line and its style, below each other
    legend: Sequence[tuple[str, str]] | Sequence[tuple[str, Style]] = ()
    legend_title: str = ""

    def place(self, x: float, y: float) -> Point:
        """Return the position of a point in pixels from the top left corner of the axes."""
        width, height = self.size
        return self.x.share(x) * width, y if self.y is None else (1 - self.y.share(y)) * height


@frozen
class Picture:
    """Frames below each other, under a heading."""

    title: str
    notes: Sequence[str]  # lines below the heading
    frames: Sequence[Frame]
    spacing: float = 16  # pixels between two frames
    title_size: int = 19  # font size of the heading, in pixels


def text_width(text: str, size: float, *, is_bold: bool = False) -> float:
    """Return the approximate width in pixels of a line of text, in Arial or a font with the same letter widths.

    Example:
        >>> round(text_width("dashed line: the answer", 14)), round(text_width("MWm", 10))
        (157, 26)
    """
    widths = (0.28 if sign in _NARROW else 0.86 if sign in _WIDE else 0.69 if sign.isupper() else 0.56 for sign in text)
    return size * sum(widths) * (1.06 if is_bold else 1)


_NARROW, _WIDE = frozenset(" ijl|.,:;!'ftI()[]/"), frozenset("mMwW%@")
