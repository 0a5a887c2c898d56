"""Privacy curves as an Altair chart; nothing is computed here but where labels have room."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import altair as alt

from noisycount.charts.refinement import THEME
from noisycount.charts.theme import INK, MUTED, Style, styles

__all__ = ["PrivacyAxes", "PrivacyLine", "privacy_chart"]

_WIDTH, _HEIGHT = 560, 340
_HEIGHTS = (0.5, 0.68, 0.86)  # where labels stand, as shares from the top, outer lines first
_TEXT_WIDTH, _TEXT_HEIGHT, _GAP = 140, 40, 10
_MOST_POWERS = 8
_POWER = "datum.value < 1e-3 ? format(datum.value, '.0e') : format(datum.value, '~g')"


@dataclass(frozen=True, slots=True)
class PrivacyLine:
    """δ(ε) against one adversary, as far as it is drawn.

    Args:
        name: The adversary.
        note: What stands below the name, such as δ at the ε that is asked for.
        epsilons: Where δ is known, increasing, at least one.
        deltas: δ there, positive, not increasing.
        mark: δ at the ε that is asked for; None where it is not drawn.

    Raises:
        ValueError: The two differ in length or are empty, or a δ is not positive: a logarithmic
            axis has no place for it.
    """

    name: str
    note: str
    epsilons: Sequence[float]
    deltas: Sequence[float]
    mark: float | None = None

    def __post_init__(self) -> None:
        """Refuse a line that cannot be drawn."""
        if not len(self.epsilons) == len(self.deltas) > 0:
            lengths = len(self.epsilons), len(self.deltas)
            raise ValueError(
                f"epsilons and deltas must be equally many, got {lengths}: give a δ for each ε"
            )
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


@dataclass(frozen=True, slots=True)
class PrivacyAxes:
    """What the two axes show.

    Args:
        epsilon: The largest ε.
        floor: The smallest δ, a power of ten below the top.
        top: The largest δ, a power of ten.
        asked: The ε that is asked for.
        words: That ε in words.
    """

    epsilon: float
    floor: float
    top: float
    asked: float
    words: str

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


def privacy_chart(
    lines: Sequence[PrivacyLine], axes: PrivacyAxes, title: str, subtitle: str
) -> alt.LayerChart:
    """Return δ against ε, one line an adversary, with marks at the ε that is asked for.

    The name of each line stands beside it, where no line can be.

    Args:
        lines: The lines, at most three, each within the axes.
        axes: What the axes show.
        title: The heading, one line.
        subtitle: The line below it.

    Example:
        >>> line = PrivacyLine("worst case", "δ = 0.07", [0, 1], [0.5, 0.01], mark=0.07)
        >>> axes = PrivacyAxes(epsilon=1, floor=0.01, top=1, asked=0.5, words="ε = 0.5")
        >>> privacy_chart([line], axes, "What can one record change?", "").height
        340
    """
    layers = _asked(axes) if axes.asked <= axes.epsilon else []
    names = [line.name for line in lines]
    drawn = dict(zip(names, styles(names), strict=True))
    for line in lines:
        layers += [_curve(line, drawn[line.name]), *_mark(line, axes, drawn[line.name].colour)]
    for label in _labels(lines, axes):
        layers += label.layers(drawn[label.line.name].colour)
    x = alt.X("epsilon:Q", title="ε", scale=alt.Scale(domain=[0, axes.epsilon], nice=False))
    y = alt.Y(
        "delta:Q",
        title="δ",
        axis=alt.Axis(
            values=axes.powers,
            tickCount=len(axes.powers),
            labelExpr=_POWER,
            titleAngle=0,
            titlePadding=16,
        ),
        scale=alt.Scale(type="log", domain=[axes.floor, axes.top], nice=False),
    )
    return alt.LayerChart(
        layer=[layer.encode(x=x, y=y) for layer in layers],
        title=alt.TitleParams(title, subtitle=subtitle, fontSize=19, offset=30),
        width=_WIDTH,
        height=_HEIGHT,
        config=THEME,
    )


@dataclass(frozen=True, slots=True)
class _Label:
    """The name of a line, and where it stands: right of all lines, or left of them."""

    line: PrivacyLine
    on_line: tuple[float, float]
    place: tuple[float, float]
    is_left: bool = False

    def layers(self, colour: str) -> list[alt.Chart]:
        """A thin line from the curve to the text, and the text's two lines."""
        ends = [self.on_line, self.place]
        leader = _chart(ends).mark_line(color=MUTED, strokeWidth=1)
        return [leader, self._text(-1, colour, self.line.name), self._text(1, INK, self.line.note)]

    def _text(self, side: int, colour: str, text: str) -> alt.Chart:
        """A line of the text, above or below the place."""
        chart: alt.Chart = _chart([self.place]).mark_text(
            align="right" if self.is_left else "left",
            baseline="middle",
            color=colour,
            dx=(-1 if self.is_left else 1) * _GAP / 2,
            dy=side * _TEXT_HEIGHT / 4,
            fontSize=14,
            fontWeight="bold" if side < 0 else "normal",
        )
        return chart.encode(text=alt.value(text))


def _labels(lines: Sequence[PrivacyLine], axes: PrivacyAxes) -> list[_Label]:
    """A label for each line: the innermost left of itself if there is room, the others outside."""
    inward = sorted(lines, key=lambda line: line.place(axes.floor)[0], reverse=True)
    labels: list[_Label] = []
    highest = 0.0
    half, gap = _TEXT_HEIGHT / 2 / _HEIGHT, _GAP / _WIDTH * axes.epsilon
    room = _TEXT_WIDTH / _WIDTH * axes.epsilon + gap
    for number, line in enumerate(inward):
        is_inner = number == len(inward) - 1 > 0
        level = axes.delta(_HEIGHTS[-1] if is_inner else _HEIGHTS[number])
        on_line = line.place(level)
        has_room = line.deltas[-1] <= level and on_line[0] >= room
        if is_inner and has_room:
            above = line.place(axes.delta(axes.share(on_line[1]) - half))[0]
            labels.append(_Label(line, on_line, (above - gap, on_line[1]), is_left=True))
            continue
        share = max(axes.share(on_line[1]), highest)
        below = axes.delta(share + half)
        outside = max(other.place(below)[0] for other in lines if other.deltas[0] >= below)
        labels.append(_Label(line, on_line, (outside + gap, axes.delta(share))))
        highest = share + 2 * half
    return labels


def _chart(points: Sequence[tuple[float, float]]) -> alt.Chart:
    values = [{"epsilon": float(epsilon), "delta": float(delta)} for epsilon, delta in points]
    return alt.Chart(alt.InlineData(values))


def _curve(line: PrivacyLine, style: Style) -> alt.Chart:
    chart = _chart(list(zip(line.epsilons, line.deltas, strict=True)))
    curve: alt.Chart = chart.mark_line(
        color=style.colour, strokeDash=list(style.dash), strokeWidth=style.width
    )
    return curve


def _mark(line: PrivacyLine, axes: PrivacyAxes, colour: str) -> list[alt.Chart]:
    """A dot where the line has the ε that is asked for."""
    if line.mark is None:
        return []
    dot: alt.Chart = _chart([(axes.asked, line.mark)]).mark_point(
        color=colour, fill=colour, filled=True, opacity=1, size=70
    )
    return [dot]


def _asked(axes: PrivacyAxes) -> list[alt.Chart]:
    """A dashed line over the whole height, with its ε above."""
    ends = _chart([(axes.asked, axes.floor), (axes.asked, axes.top)])
    text = _chart([(axes.asked, axes.top)]).mark_text(
        align="left", baseline="bottom", color=INK, dy=-6, fontSize=14
    )
    return [
        ends.mark_line(color=INK, strokeDash=[6, 4], strokeWidth=1.5),
        text.encode(text=alt.value(axes.words)),
    ]
