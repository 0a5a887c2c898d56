"""Picture of privacy profiles δ(ε): its axes, its lines, and the names of the lines.

`PrivacyView.from_curves` chooses the axes, `place_labels` places the names, `privacy_picture` puts all together.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from textwrap import wrap
from typing import Self

import numpy as np

from noisycount.analysis.privacy.privacy_curve import PrivacyCurve
from noisycount.charts.picture import (
    AxisRange,
    CurveMark,
    DotMarks,
    Frame,
    Picture,
    PictureMark,
    RuleMark,
    SegmentMark,
    TextMark,
    text_width,
)
from noisycount.charts.plot import Axis
from noisycount.charts.theme import DASHED, INK, MUTED, Style, styles
from noisycount.frozen import frozen

_MAX_POWERS = 8


@frozen
class PrivacyLine:
    """Points of the privacy profile δ(ε) against one adversary, within the axes."""

    name: str  # name of the adversary
    note: str  # text below the name, such as δ at the requested ε
    epsilons: Sequence[float]  # ε of each point, increasing, at least one
    deltas: Sequence[float]  # δ of each point, positive, not increasing
    mark: float | None = None  # δ at the requested ε; None if it is not drawn

    def point_at(self, delta: float) -> tuple[float, float]:
        """Return the point (ε, δ) at which the line falls to δ.

        Returns the first point if the whole line is below δ, and the last if it is above.
        """
        points = list(zip(self.epsilons, self.deltas, strict=True))
        for (before, high), (after, low) in pairwise(points):
            if low <= delta <= high:
                part = math.log(high / delta) / math.log(high / low) if low < high else 0.0
                return before + part * (after - before), delta
        return points[0] if points[0][1] < delta else points[-1]


@frozen
class PrivacyAxes:
    """Ends of the two axes, and the requested ε."""

    epsilon: float  # the largest ε
    floor: float  # the smallest δ, a power of ten below the top
    top: float  # the largest δ, a power of ten
    requested_epsilon: float | None  # requested ε; None if there is none
    epsilon_text: str  # requested ε as text

    def delta(self, height_share: float) -> float:
        """Return δ at a share of the height, measured from the top."""
        return self.top * math.exp(height_share * math.log(self.floor / self.top))

    def height_share(self, delta: float) -> float:
        """Return the position of δ as a share of the height, measured from the top."""
        return math.log(delta / self.top) / math.log(self.floor / self.top)

    @property
    def tick_powers(self) -> list[float]:
        """Powers of ten with a number on the axis, at most nine."""
        low, high = round(math.log10(self.floor)), round(math.log10(self.top))
        step = math.ceil((high - low) / _MAX_POWERS)
        return [float(f"1e{power}") for power in range(high, low - 1, -step)]


_POINTS = 120
_FLOORS = (1e-6, 1e-9, 1e-12)
_MARGIN_RATIO = 1.25  # end of the axis relative to the requested ε
_WIDEST = 3.0  # largest length of the axis relative to the shortest line
_ROOM = 4.0  # largest length of the axis with the requested ε relative to that without it


@frozen
class NamedCurve:
    """A privacy profile with the name of the adversary and a note."""

    name: str  # name of the adversary
    curve: PrivacyCurve  # privacy profile of one record against this adversary
    delta: float | None = None  # δ at the requested ε; None if no ε is requested
    note: str = ""  # text below the name

    def line(self, end: float, floor: float, requested_epsilon: float | None) -> PrivacyLine:
        """Return the points from ε = 0 to `end`, with δ at least `floor`.

        Args:
            end: The last ε of the line.
            floor: The smallest δ of the axis.
            requested_epsilon: The requested ε, if there is one.
        """
        remaining = np.linspace(1.0, 0.0, _POINTS if end else 1)
        epsilons = end * (1 - remaining**3)  # denser towards the end, where lines are steepest
        deltas = np.maximum(self.curve.delta(epsilons), floor)
        is_marked = self.delta is not None and requested_epsilon is not None and requested_epsilon <= end
        return PrivacyLine(
            name=self.name,
            note=self.note,
            epsilons=epsilons.tolist(),
            deltas=deltas.tolist(),
            mark=self.delta if is_marked and (self.delta or 0) >= floor else None,
        )


@frozen
class PrivacyView:
    """Lines, and the axes that contain them."""

    lines: tuple[PrivacyLine, ...]  # one for each curve
    axes: PrivacyAxes  # ε from 0; δ from the largest value down to a negligible one

    @classmethod
    def from_curves(
        cls,
        curves: Sequence[NamedCurve],
        requested_epsilon: float | None = None,
        epsilon_text: str = "",
        done: Callable[[float], None] = lambda _: None,
    ) -> Self:
        """Return the part of the curves in which they differ visibly.

        Args:
            curves: A privacy profile for each adversary.
            requested_epsilon: The requested ε, if there is one.
            epsilon_text: The requested ε as text.
            done: Called with the share of the curves that are computed.
        """
        floor = _smallest_delta(curves)
        ends = [float(named.curve.epsilon(floor)) for named in curves]
        width = _largest_epsilon(ends, requested_epsilon)
        lines = []
        for number, (named, end) in enumerate(zip(curves, ends, strict=True), start=1):
            lines.append(named.line(min(end, width), floor, requested_epsilon))
            done(number / len(ends))
        top = float(f"1e{math.ceil(math.log10(max(line.deltas[0] for line in lines)))}")
        return cls(tuple(lines), PrivacyAxes(width, floor, max(top, 10 * floor), requested_epsilon, epsilon_text))


def _smallest_delta(curves: Sequence[NamedCurve]) -> float:
    """Return the smallest δ of the axis: 1e-6, or less if a curve has a smaller δ at the requested ε."""
    smallest = min((named.delta for named in curves if named.delta), default=1.0)
    return next((floor for floor in _FLOORS if floor < smallest), _FLOORS[-1])


def _largest_epsilon(ends: Sequence[float], requested_epsilon: float | None) -> float:
    """Return the largest ε of the axis.

    Args:
        ends: The ε at which each line falls to the smallest δ of the axis.
        requested_epsilon: The requested ε, if there is one.
    """
    finite_ends = [end for end in ends if 0 < end < math.inf]
    if not finite_ends:
        return _MARGIN_RATIO * (requested_epsilon or 1.0)
    longest = min(max(finite_ends), _WIDEST * min(finite_ends))
    if requested_epsilon is None:
        return longest
    if requested_epsilon <= max(finite_ends) or _MARGIN_RATIO * requested_epsilon <= _ROOM * longest:
        return max(longest, _MARGIN_RATIO * requested_epsilon)
    return longest


_SIZE = _WIDTH, _HEIGHT = 560, 340  # size of the axes, in pixels
_HEIGHTS = (0.5, 0.68, 0.86)  # heights of the labels as shares from the top, outer lines first
_TEXT_HEIGHT, _GAP, _FONT = 40, 10, 14


@frozen
class Label:
    """Name of a line and its position, right of all lines or left of them."""

    line: PrivacyLine
    on_line: tuple[float, float]  # ε and δ of the point of the line that the label names
    place: tuple[float, float]  # ε and δ of the label
    is_left: bool = False


def place_labels(lines: Sequence[PrivacyLine], axes: PrivacyAxes) -> list[Label]:
    """Return a label for each line: at the height of its mark, or if the line has no mark, at a free height.

    The label of the innermost line is left of that line if it fits there; the others are right of all lines.
    """
    inward = sorted(lines, key=lambda line: line.point_at(axes.floor)[0], reverse=True)
    placed: list[Label] = []
    highest = 0.0
    half, gap = _TEXT_HEIGHT / 2 / _HEIGHT, _GAP / _WIDTH * axes.epsilon
    for number, line in enumerate(inward):
        is_inner = number == len(inward) - 1 > 0
        room = _label_width(line) / _WIDTH * axes.epsilon + gap
        on_line = _label_anchor(line, axes, _HEIGHTS[-1] if is_inner else _HEIGHTS[number])
        above = line.point_at(axes.delta(max(0.0, axes.height_share(on_line[1]) - half)))[0]
        if is_inner and line.deltas[-1] <= on_line[1] and above >= room:
            placed.append(Label(line, on_line, (above - gap, on_line[1]), is_left=True))
            continue
        lowest = 1 - half - 2 * half * (len(inward) - 1 - number)
        height_share = min(max(axes.height_share(on_line[1]), highest), lowest)
        below = axes.delta(height_share + half)
        passing = [other.point_at(below)[0] for other in lines if other.deltas[0] >= below]
        outside = max(passing, default=on_line[0])
        placed.append(Label(line, on_line, (outside + gap, axes.delta(height_share))))
        highest = height_share + 2 * half
    return placed


def _label_width(line: PrivacyLine) -> float:
    """Return the width of the two lines of a label, in pixels."""
    return max(text_width(line.name, _FONT, is_bold=True), text_width(line.note, _FONT))


def _label_anchor(line: PrivacyLine, axes: PrivacyAxes, height_share: float) -> tuple[float, float]:
    """Return the point that a label names: the mark of the line, or else the point at a share of the height."""
    if line.mark is not None and axes.requested_epsilon is not None:
        return axes.requested_epsilon, line.mark
    return line.point_at(axes.delta(height_share))


_CHARACTERS = 90  # characters of a line above the chart, so that it is no wider than the chart
_EPSILON = "ε: the odds about one person change by a factor of at most e^ε"
_DELTA = "δ: the probability that the person is given away instead"


def privacy_picture(lines: Sequence[PrivacyLine], axes: PrivacyAxes, title: str, subtitle: str) -> Picture:
    """Return the picture of δ against ε: a line for each adversary, with marks at the requested ε."""
    x = AxisRange(Axis(_EPSILON, field="epsilon"), 0, axes.epsilon)
    delta = Axis(_DELTA, is_log=True, ticks=tuple(axes.tick_powers), field="delta")
    frame = Frame(x, AxisRange(delta, axes.floor, axes.top, has_grid=True), _SIZE, ())
    names = [line.name for line in lines]
    line_styles = dict(zip(names, styles(names), strict=True))
    marks = list[PictureMark]()
    if axes.requested_epsilon is not None and axes.requested_epsilon <= axes.epsilon:
        at_top = frame.place(axes.requested_epsilon, axes.top)
        marks += [
            RuleMark(axes.requested_epsilon, Style(INK, DASHED, 1.5)),
            TextMark((at_top[0], at_top[1] - 14), axes.epsilon_text, size=_FONT),
        ]
    for line in lines:
        style = line_styles[line.name]
        marks.append(CurveMark(list(zip(line.epsilons, line.deltas, strict=True)), style))
        if line.mark is not None and axes.requested_epsilon is not None:
            marks.append(DotMarks([(axes.requested_epsilon, line.mark)], style.colour, 8))
    for label in place_labels(lines, axes):
        marks += _label_marks(label, frame, line_styles[label.line.name].colour)
    return Picture(title, wrap(subtitle, _CHARACTERS), [replace(frame, marks=marks)])


def _label_marks(label: Label, frame: Frame, colour: str) -> list[PictureMark]:
    """Return a thin line from the curve to the label, and the two lines of the label."""
    x, y = frame.place(*label.place)
    start, anchor = (x - _GAP / 2, "end") if label.is_left else (x + _GAP / 2, "start")
    quarter = _TEXT_HEIGHT / 4
    return [
        SegmentMark(frame.place(*label.on_line), (x, y), Style(MUTED, width=1)),
        TextMark((start, y - quarter), label.line.name, colour, anchor, _FONT, is_bold=True),
        TextMark((start, y + quarter), label.line.note, INK, anchor, _FONT),
    ]
