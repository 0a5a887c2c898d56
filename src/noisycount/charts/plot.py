"""A plot as a value: its axes and its lines."""

import csv
import io
import math
from collections.abc import Iterator, Sequence
from typing import Any

from noisycount.charts.theme import Style
from noisycount.frozen import frozen


@frozen
class Axis:
    """What an axis shows."""

    title: str  # the quantity
    unit: str = ""  # its unit; empty for a plain number
    low: float | None = None  # where the axis begins; None for the least of the data
    high: float | None = None  # where it ends; None for a little above the largest of the data
    is_log: bool = False  # whether powers of ten are equally far apart
    is_reversed: bool = False  # whether it runs from the largest value to the least
    is_share: bool = False  # whether numbers are shown in percent
    ticks: tuple[float, ...] = ()  # where numbers stand; empty for a choice by the chart

    @property
    def label(self) -> str:
        """The quantity and its unit, as below an axis."""
        return f"{self.title}, {self.unit}" if self.unit else self.title

    @property
    def header(self) -> str:
        """The quantity and its unit, as above a column."""
        return f"{self.title} ({self.unit or ('share' if self.is_share else 'no unit')})"

    def to_dict(self) -> dict[str, Any]:
        """What the numbers on it mean."""
        return {"title": self.title, "unit": self.unit, "log": self.is_log}

    def holds(self, value: float) -> bool:
        """Whether a value lies on the axis."""
        above = self.low is None or value >= self.low
        below = self.high is None or value <= self.high
        return above and below and (value > 0 or not self.is_log)


def share_of(axis: Axis, low: float, high: float, value: float) -> float:
    """How far a value is along an axis that is drawn from `low` to `high`, from 0 to 1 between them."""
    least, most, at = map(math.log, (low, high, value)) if axis.is_log else (low, high, value)
    return (at - least) / (most - least)


@frozen
class Line:
    """Values along an axis; a single one is drawn as a dot."""

    name: str  # what stands beside the line; empty for a line that only guides the eye
    style: Style  # how it is drawn
    xs: tuple[float, ...]  # where values are known, in order, at least one place
    ys: tuple[float, ...]  # the value at each, finite

    def __post_init__(self) -> None:
        """The refusal of what cannot be drawn."""
        if not len(self.xs) == len(self.ys) > 0:
            raise ValueError(
                f"xs and ys must be equally many, got {len(self.xs)} and {len(self.ys)}: give a value for each place"
            )
        wrong = [value for value in (*self.xs, *self.ys) if not math.isfinite(value)]
        if wrong:
            raise ValueError(f"values of a line must be finite, got {wrong[0]!r}: leave it out")

    @classmethod
    def through(cls, name: str, style: Style, points: Sequence[tuple[float, float]]) -> "Line":
        """A line through points (x, y)."""
        xs, ys = zip(*points, strict=True)
        return cls(name, style, tuple(map(float, xs)), tuple(map(float, ys)))

    def to_dict(self) -> dict[str, Any]:
        """Its name, None for a guide, and its points."""
        return {"name": self.name or None, "x": list(self.xs), "y": list(self.ys)}

    def at(self, x: float) -> float:
        """The value at a place where one is known."""
        if x not in self.xs:
            raise ValueError(f"x must be a place of the line {self.name!r}, got {x!r}")
        return self.ys[self.xs.index(x)]


@frozen
class Panel:
    """Lines on one pair of axes; several panels stand below each other."""

    title: str  # what this panel shows; empty where there is one panel
    lines: tuple[Line, ...]  # at least one

    def to_dict(self) -> dict[str, Any]:
        """Its title and its lines."""
        return {"title": self.title, "lines": [line.to_dict() for line in self.lines]}

    def line(self, name: str) -> Line:
        """The line of a name."""
        for line in self.lines:
            if line.name == name:
                return line
        names = [line.name for line in self.lines]
        raise ValueError(f"name must be one of {names}, got {name!r}")


@frozen
class Plot:
    """Lines on axes, with all words that stand about them."""

    key: str  # what it is called by, such as `naldi2014.1`
    source: str  # whose it is
    number: str  # what it is called there, such as `Fig. 1`
    title: str  # what it shows, one line
    caption: str  # its settings, and what was added to the printed figure
    x: Axis  # the axis across
    y: Axis  # the axis upwards
    panels: tuple[Panel, ...]  # at least one

    def __post_init__(self) -> None:
        """The refusal of lines that would run out of the picture."""
        for _, name, x, y in self.rows():
            for axis, value in ((self.x, x), (self.y, y)):
                if not axis.holds(value):
                    raise ValueError(
                        f"{axis.title} of {name!r} in {self.key} must lie on its axis, got "
                        f"{value!r}: widen the axis or leave the point out"
                    )

    @property
    def description(self) -> str:
        """What is seen, in words, for whoever cannot see it.

        Example:
            >>> from noisycount.charts.plot import Axis, Line, Panel, Plot
            >>> from noisycount.charts.theme import Style
            >>> line = Line("answer", Style("black"), (1.0, 2.0), (1.0, 4.0))
            >>> axes = Axis("noise", "records"), Axis("error", "records")
            >>> Plot("a.1", "A", "Fig. 1", "Error", "", *axes, (Panel("", (line,)),)).description
            'Error. error, records against noise, records. answer: from 1 at 1 to 4 at 2.'
        """
        parts = [f"{self.title}. {self.y.label} against {self.x.label}."]
        for panel in self.panels:
            lines = "; ".join(_course(line) for line in panel.lines if line.name)
            parts.append(f"{panel.title}: {lines}." if panel.title else f"{lines}.")
        return " ".join(parts)

    def rows(self) -> Iterator[tuple[str, str, float, float]]:
        """Every point: its panel, its line, x and y."""
        for panel in self.panels:
            for line in panel.lines:
                points = zip(line.xs, line.ys, strict=True)
                yield from ((panel.title, line.name or "guide", x, y) for x, y in points)

    def csv(self) -> str:
        """All points as comma-separated values, with units in the first row."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["panel", "line", self.x.header, self.y.header])
        writer.writerows(self.rows())
        return text.getvalue()


def _course(line: Line) -> str:
    """Where a line begins and ends, and its extremes if they lie between."""
    ends = f"{line.ys[0]:.3g} at {line.xs[0]:.3g}"
    if len(line.xs) == 1:
        return f"{line.name}: {ends}"
    words = f"{line.name}: from {ends} to {line.ys[-1]:.3g} at {line.xs[-1]:.3g}"
    for name, extreme in (("highest", max(line.ys)), ("lowest", min(line.ys))):
        if extreme not in {line.ys[0], line.ys[-1]}:
            place = line.xs[line.ys.index(extreme)]
            words += f", {name} {extreme:.3g} at {place:.3g}"
    return words
