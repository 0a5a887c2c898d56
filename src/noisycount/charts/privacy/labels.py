"""The names of privacy curves, where no line can be."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from noisycount.charts.privacy.curves import PrivacyAxes, PrivacyLine
from noisycount.charts.theme import INK, MUTED

__all__ = ["HEIGHT", "WIDTH", "labels", "points"]

WIDTH, HEIGHT = 560, 340  # of the axes, in pixels
_HEIGHTS = (0.5, 0.68, 0.86)  # where labels stand, as shares from the top, outer lines first
_TEXT_WIDTH, _TEXT_HEIGHT, _GAP = 140, 40, 10


@dataclass(frozen=True, slots=True)
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
    return alt.Chart(alt.InlineData(values))
