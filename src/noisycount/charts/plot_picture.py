"""Picture of a line plot (`plot.Plot`), with the names of the lines placed at their ends without overlap.

Begin with `plot_picture`; `spread` separates the names.
"""

from collections.abc import Sequence
from dataclasses import replace

from noisycount.charts.picture import AxisRange, CurveMark, DotMarks, Frame, Picture, PictureMark, SegmentMark, TextMark
from noisycount.charts.plot import Line, Panel, Plot
from noisycount.charts.theme import MUTED, Style

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
    heights = spread([y for _, y in places], _LINE_HEIGHT, frame.size[1])
    marks: list[PictureMark] = []
    for line, (x, y), height in zip(lines, places, heights, strict=True):
        left = _WIDTH + _BESIDE
        marks.append(SegmentMark((x + 1, y), (left - 2, height), Style(MUTED, width=0.8)))
        if len(line.xs) > 1:
            marks.append(SegmentMark((left, height), (left + _SAMPLE, height), line.style))
            left += _SAMPLE + 5
        marks.append(TextMark((left, height), line.name, line.style.colour, is_bold=True))
    return marks


def spread(places: Sequence[float], gap: float, length: float) -> list[float]:
    """Return positions at least `gap` apart, within 0 and `length` if they fit, moved as little as possible.

    Neighbours that would be closer form a group, which is centred on the mean position of its members.

    Example:
        >>> spread([10, 12, 60], gap=8, length=100)
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
