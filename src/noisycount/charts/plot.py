"""Line plots as plain data: axes, lines and panels. `plot_picture` turns a plot into a picture.

Begin with `Plot`; the figures of papers are plots.
"""

import csv
import io
import math
from collections.abc import Iterator, Sequence
from typing import Any

from noisycount.charts.theme import Style
from noisycount.frozen import frozen


@frozen
class Axis:
    """Quantity, unit, range and ticks of an axis."""

    title: str  # name of the quantity
    unit: str = ""  # unit; empty for a plain number
    low: float | None = None  # first value of the axis; None: the smallest value of the data
    high: float | None = None  # last value of the axis; None: a little above the largest value of the data
    is_log: bool = False  # True if the axis is logarithmic
    is_reversed: bool = False  # True if values decrease along the axis
    is_share: bool = False  # True if numbers are shown in percent
    ticks: tuple[float, ...] = ()  # values with a number; empty: round values are chosen
    names: tuple[str, ...] = ()  # text of each of `ticks`, of one or more lines; empty: its number
    is_whole: bool = False  # True if only whole numbers get a tick
    is_signed: bool = False  # True if positive numbers are shown with a plus sign, as errors are
    field: str = ""  # name of the quantity in the data of an Altair chart; empty: x or y

    @property
    def label(self) -> str:
        """The quantity and its unit as the title of an axis, such as "error, records"."""
        return f"{self.title}, {self.unit}" if self.unit else self.title

    @property
    def header(self) -> str:
        """The quantity and its unit as the header of a column, such as "error (records)"."""
        return f"{self.title} ({self.unit or ('share' if self.is_share else 'no unit')})"

    def to_dict(self) -> dict[str, Any]:
        """Return the title, the unit and the scale as JSON members."""
        return {"title": self.title, "unit": self.unit, "log": self.is_log}

    def holds(self, value: float) -> bool:
        """Return True if a value lies within the ends of the axis; on a logarithmic axis it must also be positive."""
        above = self.low is None or value >= self.low
        below = self.high is None or value <= self.high
        return above and below and (value > 0 or not self.is_log)


@frozen
class Line:
    """A named line through points (x, y); a single point is drawn as a dot."""

    name: str  # name shown beside the line
    style: Style  # colour and dashes
    xs: tuple[float, ...]  # x of each point, in ascending order, at least one
    ys: tuple[float, ...]  # y of each point, finite

    def __post_init__(self) -> None:
        """Raise ValueError if xs and ys differ in length or are empty, or if a value is not finite."""
        if not len(self.xs) == len(self.ys) > 0:
            raise ValueError(
                f"xs and ys must have the same length, got {len(self.xs)} and {len(self.ys)}: give a y for each x"
            )
        wrong = [value for value in (*self.xs, *self.ys) if not math.isfinite(value)]
        if wrong:
            raise ValueError(f"values of a line must be finite, got {wrong[0]!r}: leave it out")

    @classmethod
    def through(cls, name: str, style: Style, points: Sequence[tuple[float, float]]) -> "Line":
        """Return the line through points (x, y)."""
        xs, ys = zip(*points, strict=True)
        return cls(name, style, tuple(map(float, xs)), tuple(map(float, ys)))

    @property
    def points(self) -> list[tuple[float, float]]:
        """The points (x, y) of the line."""
        return list(zip(self.xs, self.ys, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return the name and the points as JSON members."""
        return {"name": self.name, "x": list(self.xs), "y": list(self.ys)}

    def at(self, x: float) -> float:
        """Return y at the point with this x.

        Raises:
            ValueError: The line has no point with this x.
        """
        if x not in self.xs:
            raise ValueError(f"x must be that of a point of the line {self.name!r}, got {x!r}")
        return self.ys[self.xs.index(x)]


@frozen
class Panel:
    """Lines on one pair of axes. The panels of a plot are drawn below each other."""

    title: str  # heading of the panel; empty if it is the only one
    lines: tuple[Line, ...]  # at least one

    def to_dict(self) -> dict[str, Any]:
        """Return the title and the lines as JSON members."""
        return {"title": self.title, "lines": [line.to_dict() for line in self.lines]}

    def line(self, name: str) -> Line:
        """Return the line of this name.

        Raises:
            ValueError: No line of the panel has this name.
        """
        for line in self.lines:
            if line.name == name:
                return line
        names = [line.name for line in self.lines]
        raise ValueError(f"name must be one of {names}, got {name!r}")


@frozen
class Plot:
    """Lines on axes, with title, caption and source."""

    key: str  # identifier of the figure, such as `naldi2014.1`
    source: str  # authors and year
    number: str  # number of the figure in the source, such as `Fig. 1`
    title: str  # title, one line
    caption: str  # settings, and additions to the printed figure
    x: Axis  # horizontal axis
    y: Axis  # vertical axis
    panels: tuple[Panel, ...]  # at least one

    def __post_init__(self) -> None:
        """Raise ValueError if a point lies outside the axes."""
        for _, name, x, y in self.rows():
            for axis, value in ((self.x, x), (self.y, y)):
                if not axis.holds(value):
                    raise ValueError(
                        f"{axis.title} of {name!r} in {self.key} must lie on its axis, got "
                        f"{value!r}: widen the axis or leave the point out"
                    )

    @property
    def description(self) -> str:
        """Description of the plot in words, for readers who cannot see it.

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
            lines = "; ".join(map(_describe_line, panel.lines))
            parts.append(f"{panel.title}: {lines}." if panel.title else f"{lines}.")
        return " ".join(parts)

    def rows(self) -> Iterator[tuple[str, str, float, float]]:
        """Yield every point as (title of the panel, name of the line, x, y)."""
        for panel in self.panels:
            for line in panel.lines:
                yield from ((panel.title, line.name, x, y) for x, y in line.points)

    def csv(self) -> str:
        """Return all points as comma-separated values; the first row has the names and units."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["panel", "line", self.x.header, self.y.header])
        writer.writerows(self.rows())
        return text.getvalue()


def _describe_line(line: Line) -> str:
    """Return a description of a line: its first and last point, and its maximum and minimum if they lie in between."""
    ends = f"{line.ys[0]:.3g} at {line.xs[0]:.3g}"
    if len(line.xs) == 1:
        return f"{line.name}: {ends}"
    text = f"{line.name}: from {ends} to {line.ys[-1]:.3g} at {line.xs[-1]:.3g}"
    for name, extreme in (("highest", max(line.ys)), ("lowest", min(line.ys))):
        if extreme not in {line.ys[0], line.ys[-1]}:
            x = line.xs[line.ys.index(extreme)]
            text += f", {name} {extreme:.3g} at {x:.3g}"
    return text
