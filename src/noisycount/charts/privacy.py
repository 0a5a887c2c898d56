"""Privacy curves as an Altair chart: which part of them is shown, and where their names stand."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Self

import altair as alt
import numpy as np

from noisycount.analysis.privacy.privacy_curve import PrivacyCurve
from noisycount.charts.drawing import as_lines, data_chart, heading, unchecked
from noisycount.charts.theme import CONFIG, INK, MUTED, Style, styles
from noisycount.frozen import frozen

_MOST_POWERS = 8


@frozen
class PrivacyLine:
    """δ(ε) against one adversary, as far as it is drawn."""

    name: str  # the adversary
    note: str  # what stands below the name, such as δ at the ε that is asked for
    epsilons: Sequence[float]  # where δ is known, increasing, at least one
    deltas: Sequence[float]  # δ there, positive, not increasing
    mark: float | None = None  # δ at the ε that is asked for; None where it is not drawn

    def __post_init__(self) -> None:
        """The refusal of a line that cannot be drawn."""
        if not len(self.epsilons) == len(self.deltas) > 0:
            lengths = len(self.epsilons), len(self.deltas)
            raise ValueError(f"epsilons and deltas must be equally many, got {lengths}: give a δ for each ε")
        if not min(self.deltas) > 0:
            raise ValueError(f"deltas must be positive, got {min(self.deltas)!r}: leave it out")

    def place(self, delta: float) -> tuple[float, float]:
        """Where the line comes down to δ; else its first point, below it, or its last, above."""
        points = list(zip(self.epsilons, self.deltas, strict=True))
        for (before, high), (after, low) in pairwise(points):
            if low <= delta <= high:
                part = math.log(high / delta) / math.log(high / low) if low < high else 0.0
                return before + part * (after - before), delta
        return points[0] if points[0][1] < delta else points[-1]


@frozen
class PrivacyAxes:
    """What the two axes show."""

    epsilon: float  # the largest ε
    floor: float  # the smallest δ, a power of ten below the top
    top: float  # the largest δ, a power of ten
    asked: float | None  # the ε that is asked for; None: none is
    words: str  # that ε in words

    def delta(self, share: float) -> float:
        """The δ at a share of the height, from the top."""
        return self.top * math.exp(share * math.log(self.floor / self.top))

    def share(self, delta: float) -> float:
        """The share of the height at which δ is, from the top."""
        return math.log(delta / self.top) / math.log(self.floor / self.top)

    @property
    def powers(self) -> list[float]:
        """Powers of ten that have room on the axis."""
        low, high = round(math.log10(self.floor)), round(math.log10(self.top))
        step = math.ceil((high - low) / _MOST_POWERS)
        return [float(f"1e{power}") for power in range(high, low - 1, -step)]


_POINTS = 120
_FLOORS = (1e-6, 1e-9, 1e-12)
_BESIDE = 1.25  # how far the axis goes beyond the ε that is asked for
_WIDEST = 3.0  # how often the shortest line fits into the axis
_ROOM = 4.0  # how often the axis without the ε that is asked for fits into that with it


@frozen
class NamedCurve:
    """A privacy curve, and what stands beside it."""

    name: str  # the adversary
    curve: PrivacyCurve  # how well an answer hides one record from this adversary
    delta: float | None = None  # δ at the ε that is asked for; None where none is
    note: str = ""  # what stands below the name

    def line(self, end: float, floor: float, asked: float | None) -> PrivacyLine:
        """A line from ε = 0 to where it leaves the picture."""
        left = np.linspace(1.0, 0.0, _POINTS if end else 1)
        epsilons = end * (1 - left**3)  # lines fall steepest at their end
        deltas = np.maximum(self.curve.delta(epsilons), floor)
        is_asked = self.delta is not None and asked is not None and asked <= end
        return PrivacyLine(
            name=self.name,
            note=self.note,
            epsilons=epsilons.tolist(),
            deltas=deltas.tolist(),
            mark=self.delta if is_asked and (self.delta or 0) >= floor else None,
        )


@frozen
class PrivacyView:
    """Lines and the axes that hold them."""

    lines: tuple[PrivacyLine, ...]  # one for each curve
    axes: PrivacyAxes  # from ε = 0 and from the largest δ to where δ is negligible

    @classmethod
    def of(
        cls,
        curves: Sequence[NamedCurve],
        asked: float | None = None,
        words: str = "",
        done: Callable[[float], None] = lambda _: None,
    ) -> Self:
        """The part of the curves that tells them apart."""
        floor = _floor(curves)
        ends = [float(each.curve.epsilon(floor)) for each in curves]
        width = _width(ends, asked)
        lines = []
        for number, (each, end) in enumerate(zip(curves, ends, strict=True), start=1):
            lines.append(each.line(min(end, width), floor, asked))
            done(number / len(ends))
        top = float(f"1e{math.ceil(math.log10(max(line.deltas[0] for line in lines)))}")
        return cls(tuple(lines), PrivacyAxes(width, floor, max(top, 10 * floor), asked, words))


def _floor(curves: Sequence[NamedCurve]) -> float:
    """A δ that is negligible, and below all that are asked for if one of them is."""
    least = min((each.delta for each in curves if each.delta), default=1.0)
    return next((floor for floor in _FLOORS if floor < least), _FLOORS[-1])


def _width(ends: Sequence[float], asked: float | None) -> float:
    """The largest ε to show, from those at which the lines come down to the floor."""
    down = [end for end in ends if 0 < end < math.inf]
    if not down:
        return _BESIDE * (asked or 1.0)
    longest = min(max(down), _WIDEST * min(down))
    if asked is None:
        return longest
    if asked <= max(down) or _BESIDE * asked <= _ROOM * longest:
        return max(longest, _BESIDE * asked)
    return longest


WIDTH, HEIGHT = 560, 340  # of the axes, in pixels
_HEIGHTS = (0.5, 0.68, 0.86)  # where labels stand, as shares from the top, outer lines first
_TEXT_WIDTH, _TEXT_HEIGHT, _GAP = 140, 40, 10


@frozen
class Label:
    """The name of a line, and where it stands: right of all lines, or left of them."""

    line: PrivacyLine
    on_line: tuple[float, float]
    place: tuple[float, float]
    is_left: bool = False

    def layers(self, colour: str) -> list[alt.Chart]:
        """A thin line from the curve to the text, and the text's two lines."""
        ends = [self.on_line, self.place]
        leader = points(ends).mark_line(color=MUTED, strokeWidth=1)
        return [leader, self._text(-1, colour, self.line.name), self._text(1, INK, self.line.note)]

    def _text(self, side: int, colour: str, text: str) -> alt.Chart:
        """A line of the text, above or below the place."""
        chart: alt.Chart = points([self.place]).mark_text(
            align="right" if self.is_left else "left",
            baseline="middle",
            color=colour,
            dx=(-1 if self.is_left else 1) * _GAP / 2,
            dy=side * _TEXT_HEIGHT / 4,
            fontSize=14,
            fontWeight="bold" if side < 0 else "normal",
        )
        return chart.encode(text=alt.TextValue(text))


def labels(lines: Sequence[PrivacyLine], axes: PrivacyAxes) -> list[Label]:
    """A label for each line, at the height of its mark or, where it has none, apart from others.

    The innermost stands left of itself if there is room, the others right of all lines.
    """
    inward = sorted(lines, key=lambda line: line.place(axes.floor)[0], reverse=True)
    found: list[Label] = []
    highest = 0.0
    half, gap = _TEXT_HEIGHT / 2 / HEIGHT, _GAP / WIDTH * axes.epsilon
    room = _TEXT_WIDTH / WIDTH * axes.epsilon + gap
    for number, line in enumerate(inward):
        is_inner = number == len(inward) - 1 > 0
        on_line = _point(line, axes, _HEIGHTS[-1] if is_inner else _HEIGHTS[number])
        above = line.place(axes.delta(max(0.0, axes.share(on_line[1]) - half)))[0]
        if is_inner and line.deltas[-1] <= on_line[1] and above >= room:
            found.append(Label(line, on_line, (above - gap, on_line[1]), is_left=True))
            continue
        lowest = 1 - half - 2 * half * (len(inward) - 1 - number)
        share = min(max(axes.share(on_line[1]), highest), lowest)
        below = axes.delta(share + half)
        passing = [other.place(below)[0] for other in lines if other.deltas[0] >= below]
        outside = max(passing, default=on_line[0])
        found.append(Label(line, on_line, (outside + gap, axes.delta(share))))
        highest = share + 2 * half
    return found


def _point(line: PrivacyLine, axes: PrivacyAxes, share: float) -> tuple[float, float]:
    """The mark of a line; without one, where it comes down to a share of the height."""
    if line.mark is not None and axes.asked is not None:
        return axes.asked, line.mark
    return line.place(axes.delta(share))


def points(places: Sequence[tuple[float, float]]) -> alt.Chart:
    """Pairs of ε and δ as the data of a mark."""
    values = [{"epsilon": float(epsilon), "delta": float(delta)} for epsilon, delta in places]
    return data_chart(values)


_CHARACTERS = 90  # of a line above the chart, so that it is no wider
_EPSILON = "ε: the odds about one person change by a factor of at most e^ε"
_DELTA = "δ: the probability that the person is given away instead"
_POWER = "datum.value < 1e-3 ? format(datum.value, '.0e') : format(datum.value, '~g')"


@unchecked
def privacy_chart(lines: Sequence[PrivacyLine], axes: PrivacyAxes, title: str, subtitle: str) -> alt.LayerChart:
    """δ against ε, one line an adversary, with marks and names at the ε that is asked for."""
    layers = _asked(axes)
    names = [line.name for line in lines]
    drawn = dict(zip(names, styles(names), strict=True))
    for line in lines:
        layers += [_curve(line, drawn[line.name]), *_mark(line, axes, drawn[line.name].colour)]
    for label in labels(lines, axes):
        layers += label.layers(drawn[label.line.name].colour)
    x = alt.X("epsilon:Q", title=_EPSILON, scale=alt.Scale(domain=[0, axes.epsilon], nice=False))
    y = alt.Y(
        "delta:Q",
        title=_DELTA,
        axis=alt.Axis(values=axes.powers, tickCount=len(axes.powers), labelExpr=_POWER, titlePadding=12),
        scale=alt.Scale(type="log", domain=[axes.floor, axes.top], nice=False),
    )
    return alt.LayerChart(
        layer=[layer.encode(x=x, y=y) for layer in layers],
        title=heading(title, as_lines(subtitle, _CHARACTERS), offset=30),
        width=WIDTH,
        height=HEIGHT,
        config=CONFIG,
    )


def _curve(line: PrivacyLine, style: Style) -> alt.Chart:
    chart = points(list(zip(line.epsilons, line.deltas, strict=True)))
    curve: alt.Chart = chart.mark_line(color=style.colour, strokeDash=list(style.dash), strokeWidth=style.width)
    return curve


def _mark(line: PrivacyLine, axes: PrivacyAxes, colour: str) -> list[alt.Chart]:
    """A dot where the line has the ε that is asked for."""
    if line.mark is None or axes.asked is None:
        return []
    dot: alt.Chart = points([(axes.asked, line.mark)]).mark_point(
        color=colour, fill=colour, filled=True, opacity=1, size=70
    )
    return [dot]


def _asked(axes: PrivacyAxes) -> list[alt.Chart]:
    """A dashed line over the whole height, with its ε above; nothing beyond the axis."""
    if axes.asked is None or axes.asked > axes.epsilon:
        return []
    ends = points([(axes.asked, axes.floor), (axes.asked, axes.top)])
    text = points([(axes.asked, axes.top)]).mark_text(align="left", baseline="bottom", color=INK, dy=-6, fontSize=14)
    return [ends.mark_line(color=INK, strokeDash=[6, 4], strokeWidth=1.5), text.encode(text=alt.TextValue(axes.words))]
