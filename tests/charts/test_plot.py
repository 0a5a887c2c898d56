from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.charts.picture import CurveMark, DotMarks, Frame, SegmentMark, TextMark
from noisycount.charts.picture_svg import picture_svg
from noisycount.charts.plot import Axis, Line, Panel
from noisycount.charts.plot_picture import plot_picture, spread_apart
from noisycount.charts.theme import STYLES
from noisycount.papers.figure import Figure
from tests.helpers.picture_marks import marks_of
from tests.papers.test_papers import CASES, KEYS, figure

WIDEST = 480  # pixels of a picture, of which a phone shows 360


@cache
def drawn(plot: Figure) -> Sequence[Frame]:
    """Return the frames of a figure."""
    return plot_picture(plot).frames


@pytest.mark.thorough
@pytest.mark.parametrize("key", CASES)
def test_every_point_is_drawn_unchanged(key: str) -> None:
    """Each line of each panel has its colour, its dashes and all of its points, in order."""
    for panel, frame in zip(figure(key).panels, drawn(figure(key)), strict=True):
        curves = [(curve.points, curve.style) for curve in marks_of(frame, CurveMark)]
        assert curves == [(line.points, line.style) for line in panel.lines if len(line.xs) > 1]


@pytest.mark.thorough
@pytest.mark.parametrize("key", CASES)
def test_lines_are_named_beside_them(key: str) -> None:
    """No legend: every name stands once, in its colour, behind a sample of its line, with room; no two dashes agree."""
    for panel, frame in zip(figure(key).panels, drawn(figure(key)), strict=True):
        assert not frame.legend
        texts = {text.text: text for text in marks_of(frame, TextMark)}
        named = [line for line in panel.lines if line.name]
        assert set(texts) == {line.name for line in named}
        assert len({line.style.dash for line in named}) == len(named)
        for line in named:
            text = texts[line.name]
            assert text.colour == line.style.colour
            samples = [
                segment.style
                for segment in marks_of(frame, SegmentMark)
                if segment.start[1] == segment.end[1] == text.place[1]
            ]
            assert line.style in samples
        heights = sorted(text.place[1] for text in texts.values())
        assert all(b - a >= 16 - 1e-9 for a, b in pairwise(heights))
        assert heights[0] >= -1e-9
        assert heights[-1] <= frame.size[1] + 1e-9


@pytest.mark.thorough
def test_a_thing_has_one_colour_everywhere() -> None:
    """A line that is named after a known thing has that thing's colour, in every figure."""
    seen = set()
    for key in KEYS:
        for line in (line for panel in figure(key).panels for line in panel.lines):
            thing = line.name.split(" ±")[0].split(",")[0]
            if thing in STYLES:
                assert line.style.colour == STYLES[thing].colour
                seen.add(thing)
    assert seen >= {"answer", "rounded", "mean", "median", "Laplace", "Gaussian", "sample"}


@pytest.mark.thorough
@pytest.mark.few(1)
@pytest.mark.parametrize("key", CASES)
def test_a_picture_fits_a_phone(key: str) -> None:
    """Shown 360 pixels wide, its 13-pixel letters are still at least 9.7 pixels high."""
    picture = picture_svg(plot_picture(figure(key)), is_headed=False)
    root = ET.fromstring(picture)  # noqa: S314  (our own picture)
    assert float(root.attrib["width"]) <= WIDEST
    assert 'id="' not in picture  # several pictures stand in one page
    assert figure(key).title not in picture


@pytest.mark.few(3)
@pytest.mark.parametrize("key", CASES)
def test_axes_name_their_units(key: str) -> None:
    """The titles are those of the figure; a reversed axis runs backwards; numbers stand where the figure wants them."""
    plot = figure(key)
    for frame in drawn(plot):
        assert frame.y is not None
        for axis, span in ((plot.x, frame.x), (plot.y, frame.y)):
            assert span.axis == axis
            assert (span.share(span.low) > span.share(span.high)) is axis.is_reversed
            inside = [
                value for value in axis.ticks if span.low <= value * (1 + 1e-9) and value <= span.high * (1 + 1e-9)
            ]
            assert not axis.ticks or [value for value, _ in span.ticks] == inside


def test_the_end_of_a_line_is_where_its_name_starts() -> None:
    """On linear, logarithmic and reversed axes the leader begins at the rightmost point."""
    line = Line("a", STYLES["answer"], (1.0, 10.0, 100.0), (1.0, 2.0, 4.0))
    places = {}
    for name, axis in {
        "linear": Axis("x", low=0.0, high=100.0),
        "log": Axis("x", is_log=True),
        "reversed": Axis("x", is_log=True, is_reversed=True),
    }.items():
        shown = Figure("a.1", "A", "1", "T", "", axis, Axis("y", low=0.0, high=4.0), (Panel("", (line,)),))
        places[name] = marks_of(drawn(shown)[0], SegmentMark)[0].start
    assert places["linear"] == places["log"] == (271, 0)
    assert places["reversed"] == (271, pytest.approx(230 * 3 / 4))


def test_a_single_point_is_a_dot() -> None:
    """It has a name, but no line to sample."""
    dot = Line("here", STYLES["exact"], (1.0,), (1.0,))
    line = Line("a", STYLES["answer"], (0.0, 2.0), (0.0, 2.0))
    shown = Figure("a.1", "A", "1", "T", "", Axis("x"), Axis("y"), (Panel("", (line, dot)),))
    (frame,) = drawn(shown)
    assert [dots.points for dots in marks_of(frame, DotMarks)] == [[(1.0, 1.0)]]
    assert len(marks_of(frame, SegmentMark)) == 3
    assert "here: 1 at 1" in shown.description


@given(st.lists(st.floats(0, 200), min_size=1, max_size=8))
def test_spread_names_keep_apart_and_in_order(places: list[float]) -> None:
    """At least the gap between two, none outside, the order kept, and nothing moved needlessly."""
    found = spread_apart(places, 16, 200)
    order = sorted(range(len(places)), key=lambda number: places[number])
    assert all(found[b] - found[a] >= 16 - 1e-9 for a, b in pairwise(order))
    assert min(found) >= -1e-9
    assert max(found) <= 200 + 1e-9
    if all(b - a >= 16 for a, b in pairwise(sorted(places))):
        assert found == places
