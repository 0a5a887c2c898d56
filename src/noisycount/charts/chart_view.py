"""Line charts of the page Explore: lines with marks, a shaded band, and the table of their numbers.

`ChartView` is the data of a chart, and `view_picture` its picture.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from noisycount.charts.picture import AxisRange, BandMark, CurveMark, Frame, Picture, PictureMark, RuleMark
from noisycount.charts.plot import Line, Plot
from noisycount.charts.theme import DASHED, GREEN, INK, SOLID, Style
from noisycount.frozen import frozen

_SIZE = (284, 190)  # width and height of the axes, in pixels; the picture fits a telephone


@frozen
class Mark:
    """A vertical line at a value of the x axis."""

    x: float  # value on the x axis
    words: str  # meaning of the line
    is_dashed: bool = False  # True if the line is dashed


@frozen
class ChartView:
    """A line chart of a page with its marks, its shaded band and the table of its numbers."""

    plot: Plot  # axes with units, and lines, in one panel
    sentence: str  # meaning of the chart, one sentence
    marks: tuple[Mark, ...] = ()  # vertical lines
    band: tuple[float, float] | None = None  # ends of the shaded band on the x axis; None if there is none
    band_words: str = ""  # meaning of the band
    note: str = ""  # values that are not shown, with the reason; empty if all are shown

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines of the chart, each with a name."""
        return self.plot.panels[0].lines

    @property
    def header(self) -> tuple[str, ...]:
        """The headers of the columns of the table, with units."""
        plot = self.plot
        if self._shares_places:
            return (plot.x.label, *(f"{plot.y.label}: {line.name}" for line in self.lines))
        return "line", plot.x.label, plot.y.label

    def rows(self) -> Iterator[tuple[str | float, ...]]:
        """Yield the rows of the table of all numbers that are drawn."""
        if self._shares_places:
            yield from zip(self.lines[0].xs, *(line.ys for line in self.lines), strict=True)
        else:
            yield from (row[1:] for row in self.plot.rows())

    @property
    def _shares_places(self) -> bool:
        return len({line.xs for line in self.lines}) == 1


def view_picture(view: ChartView, notes: Sequence[str] = ()) -> Picture:
    """Return the picture of a chart, with the given lines below its heading."""
    x = AxisRange.from_values(view.plot.x, [value for line in view.lines for value in line.xs])
    y = AxisRange.from_values(view.plot.y, [value for line in view.lines for value in line.ys])
    marks: list[PictureMark] = [] if view.band is None else [BandMark(*view.band, GREEN)]
    marks += [CurveMark(line.points, line.style) for line in view.lines]
    marks += [RuleMark(mark.x, Style(INK, DASHED if mark.is_dashed else SOLID, 1.5)) for mark in view.marks]
    meanings = [f"{'dashed' if mark.is_dashed else 'solid'} line: {mark.words}" for mark in view.marks]
    meanings += [f"shaded: {view.band_words}"] if view.band is not None else []
    legend = [(line.name, line.style) for line in view.lines]
    frame = Frame(x, replace(y, has_grid=True), _SIZE, marks, notes=meanings, legend=legend)
    return Picture(view.plot.title, notes, [frame], title_size=16)
