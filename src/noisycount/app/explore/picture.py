"""A chart of Explore as SVG: its colours are classes of the page's style, light or dark."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Self

from noisycount.app.explore.ticks import Span
from noisycount.app.explore.view import View
from noisycount.charts.plot.plot import Line
from noisycount.charts.theme import BLUE, GREEN, PURPLE, VERMILION

__all__ = ["view_picture"]

_WIDTH, _LEFT, _RIGHT = 360.0, 64.0, 12.0  # of the picture, and beside the axes
_ROW, _HEIGHT = 20.0, 190.0  # of a row of the key, and of the axes
_ABOVE, _BELOW = 30.0, 46.0  # room for the title of an axis, and for numbers too
_SAMPLE = 30.0  # of a line in the key
_LETTER = 7.2  # of a number below the axis, at most
_CLASSES = {BLUE: "line-1", VERMILION: "line-2", GREEN: "line-3", PURPLE: "line-4"}


def view_picture(shown: View, name: str) -> str:
    """A chart as the text of an SVG, without styles or scripts of its own.

    Args:
        shown: The chart.
        name: What its identifiers in the page begin with.
    """
    frame = _Frame.of(shown)
    parts = [*_key(shown), *_axes(frame), *_drawn(frame)]
    described = f"{shown.sentence} {shown.plot.description}"
    return (
        f'<svg class="chart" role="img" aria-labelledby="{name}-title {name}-desc" '
        f'viewBox="0 0 {_digits(_WIDTH)} {_digits(frame.bottom + _BELOW)}" '
        f'width="{_digits(_WIDTH)}" height="{_digits(frame.bottom + _BELOW)}">'
        f'<title id="{name}-title">{escape(shown.plot.title)}</title>'
        f'<desc id="{name}-desc">{escape(described)}</desc>{"".join(parts)}</svg>'
    )


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where values lie in a picture."""

    shown: View
    x: Span
    y: Span
    top: float

    @classmethod
    def of(cls, shown: View) -> Self:
        """Axes that hold every line, below the key."""
        across = [value for line in shown.lines for value in line.xs]
        upwards = [value for line in shown.lines for value in line.ys]
        rows = len(list(_entries(shown)))
        return cls(
            shown,
            Span.of(shown.plot.x, across),
            Span.of(shown.plot.y, upwards),
            rows * _ROW + _ABOVE,
        )

    @property
    def bottom(self) -> float:
        """Where the axis across is."""
        return self.top + _HEIGHT

    def across(self, value: float) -> float:
        """From the left."""
        return _LEFT + self.x.share(value) * (_WIDTH - _LEFT - _RIGHT)

    def upwards(self, value: float) -> float:
        """From the top."""
        return self.bottom - self.y.share(value) * _HEIGHT

    def place(self, x: float, y: float) -> str:
        """A point in the words of a path."""
        return f"{_digits(self.across(x))} {_digits(self.upwards(y))}"


def _entries(shown: View) -> Iterator[tuple[str, str]]:
    """The rows of the key: a sample, 30 wide and centred on the row, and its words."""
    for line in shown.lines:
        yield _stroke(line, f"M0 0H{_digits(_SAMPLE)}"), line.name
    for mark in shown.marks:
        yield f'<path class="{_mark_class(is_dashed=mark.is_dashed)}" d="M15 -8V8"/>', mark.words
    if shown.band is not None:
        yield '<rect class="band" x="0" y="-7" width="30" height="14"/>', shown.band_words


def _key(shown: View) -> Iterator[str]:
    for row, (sample, words) in enumerate(_entries(shown)):
        middle = (row + 0.5) * _ROW
        yield f'<g transform="translate(4 {_digits(middle)})">{sample}</g>'
        yield _text(words, 4 + _SAMPLE + 8, middle + 4.5, kind="ink")


def _axes(frame: _Frame) -> Iterator[str]:
    """Lines of the grid, numbers, and what they are numbers of."""
    right = _WIDTH - _RIGHT
    for value, number in frame.y.ticks:
        height = frame.upwards(value)
        yield f'<path class="grid" d="M{_digits(_LEFT)} {_digits(height)}H{_digits(right)}"/>'
        yield _text(number, _LEFT - 8, height + 4.5, anchor="end")
    yield f'<path class="axis" d="M{_digits(_LEFT)} {_digits(frame.bottom)}H{_digits(right)}"/>'
    for value, number in _apart(frame):
        place = frame.across(value)
        yield f'<path class="axis" d="M{_digits(place)} {_digits(frame.bottom)}v5"/>'
        yield _text(number, place, frame.bottom + 19, anchor="middle")
    yield _text(frame.shown.plot.y.label, 4, frame.top - 12, kind="ink")
    yield _text(frame.shown.plot.x.label, right, frame.bottom + 40, anchor="end", kind="ink")


def _apart(frame: _Frame) -> Iterator[tuple[float, str]]:
    """The numbers across that do not touch."""
    end = 0.0
    for value, number in frame.x.ticks:
        half = _LETTER * len(number) / 2
        middle = frame.across(value)
        if middle - half >= end and middle + half <= _WIDTH:
            yield value, number
            end = middle + half + _LETTER


def _drawn(frame: _Frame) -> Iterator[str]:
    """The band, the lines and the marks."""
    shown = frame.shown
    if shown.band is not None:
        left, right = map(frame.across, shown.band)
        yield (
            f'<rect class="band" x="{_digits(left)}" y="{_digits(frame.top)}" '
            f'width="{_digits(right - left)}" height="{_digits(_HEIGHT)}"/>'
        )
    for line in shown.lines:
        points = [frame.place(*point) for point in zip(line.xs, line.ys, strict=True)]
        yield _stroke(line, f"M{_polyline(points)}")
    for mark in shown.marks:
        place = _digits(frame.across(mark.x))
        ends = f"M{place} {_digits(frame.top)}V{_digits(frame.bottom)}"
        yield f'<path class="{_mark_class(is_dashed=mark.is_dashed)}" d="{ends}"/>'


def _stroke(line: Line, path: str) -> str:
    """A path in the style of a line; one that is there to compare with is thin and dashed."""
    kind = _CLASSES.get(line.style.colour, "dash")
    dashes = " ".join(map(str, line.style.dash))
    dashed = f' stroke-dasharray="{dashes}"' if line.style.dash[1] and kind != "dash" else ""
    return f'<path class="{kind}"{dashed} d="{path}"/>'


def _mark_class(*, is_dashed: bool) -> str:
    return "dash" if is_dashed else "line"


def _text(words: str, x: float, y: float, *, anchor: str = "start", kind: str = "") -> str:
    where = f'x="{_digits(x)}" y="{_digits(y)}"'
    turned = "" if anchor == "start" else f' text-anchor="{anchor}"'
    called = f' class="{kind}"' if kind else ""
    return f"<text{called} {where}{turned}>{escape(words)}</text>"


def _polyline(points: Sequence[str]) -> str:
    return "L".join(points)


def _digits(number: float) -> str:
    """A coordinate with no more digits than anybody sees."""
    return f"{number:.1f}".removesuffix(".0")
