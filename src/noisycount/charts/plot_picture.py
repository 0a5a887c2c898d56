"""Pictures of line plots (`plot.Plot`): of figures and of the page Explore.

`plot_picture` places the names of the lines at their ends without overlap; `view_picture` adds marks, a shaded band
and a legend to a line chart of Explore, whose data is a `ChartView`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from noisycount.charts.picture import (
    AxisRange,
    BandMark,
    CurveMark,
    DotMarks,
    Frame,
    Picture,
    PictureMark,
    RuleMark,
    SegmentMark,
    TextMark,
)
from noisycount.charts.plot import Line, Panel, Plot
from noisycount.charts.theme import DASHED, GREEN, INK, MUTED, SOLID, Style
from noisycount.frozen import frozen

_WIDTH = 270
_HEIGHTS = {1: 230, 2: 190, 3: 160}  # height of a panel in pixels, by the number of panels
_LOW = 120  # height of a panel if there are more than three
_BESIDE, _SAMPLE = 12, 22  # pixels from the axes to the line sample, and its length
_LINE_HEIGHT = 16.0
_MAX_TICKS = 5


def plot_picture(plot: Plot) -> Picture:
    """Return a plot as a picture of the width of a telephone.

    Panels are below each other, and the name of each line is at its end.
    """
    frames = [_panel_frame(plot, panel) for panel in plot.panels]
    return Picture(plot.title, [f"{plot.source}, {plot.number}"], frames, spacing=26, title_size=16)


def _panel_frame(plot: Plot, panel: Panel) -> Frame:
    all_xs = [x for other in plot.panels for line in other.lines for x in line.xs]
    low = min(all_xs) if plot.x.low is None else plot.x.low
    high = max(all_xs) if plot.x.high is None else plot.x.high
    y = AxisRange.from_values(plot.y, [y for line in panel.lines for y in line.ys])
    size = (_WIDTH, _HEIGHTS.get(len(plot.panels), _LOW))
    y = replace(y, max_ticks=_MAX_TICKS, has_grid=True)
    frame = Frame(AxisRange(plot.x, low, high, _MAX_TICKS), y, size, (), panel.title)
    marks: list[PictureMark] = [
        CurveMark(line.points, line.style) if len(line.xs) > 1 else DotMarks(line.points, line.style.colour, 8)
        for line in panel.lines
    ]
    return replace(frame, marks=[*marks, *_name_marks(panel.lines, frame)])


def _name_marks(lines: Sequence[Line], frame: Frame) -> list[PictureMark]:
    """Return the names of lines, right of the axes: a sample of the line, its name, and a thin line to its end."""
    places = [max(frame.place(*point) for point in line.points) for line in lines]
    heights = spread_apart([y for _, y in places], _LINE_HEIGHT, frame.size[1])
    marks: list[PictureMark] = []
    for line, (x, y), height in zip(lines, places, heights, strict=True):
        left = _WIDTH + _BESIDE
        marks.append(SegmentMark((x + 1, y), (left - 2, height), Style(MUTED, width=0.8)))
        if len(line.xs) > 1:
            marks.append(SegmentMark((left, height), (left + _SAMPLE, height), line.style))
            left += _SAMPLE + 5
        marks.append(TextMark((left, height), line.name, line.style.colour, is_bold=True))
    return marks


def spread_apart(places: Sequence[float], gap: float, length: float) -> list[float]:
    """Return positions at least `gap` apart, within 0 and `length` if they fit, moved as little as possible.

    Neighbours that would be closer form a group, which is centred on the mean position of its members.

    Example:
        >>> spread_apart([10, 12, 60], gap=8, length=100)
        [7.0, 15.0, 60.0]
    """
    order = sorted(range(len(places)), key=lambda number: places[number])
    groups: list[list[int]] = []
    middles: list[float] = []
    for number in order:
        groups.append([number])
        middles.append(float(places[number]))
        while len(groups) > 1:
            distance = gap * (len(groups[-2]) + len(groups[-1])) / 2
            if middles[-1] - middles[-2] >= distance:
                break
            last, before = groups.pop(), groups.pop()
            middles[-2:] = []
            groups.append(before + last)
            half = gap * (len(groups[-1]) - 1) / 2
            mean = sum(places[member] for member in groups[-1]) / len(groups[-1])
            middles.append(min(max(mean, half), max(length - half, half)))
    positions = [0.0] * len(places)
    for members, middle in zip(groups, middles, strict=True):
        for rank, member in enumerate(members):
            positions[member] = middle + gap * (rank - (len(members) - 1) / 2)
    return positions


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
