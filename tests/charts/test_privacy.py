import math
from dataclasses import replace
from itertools import pairwise

import pytest

from noisycount.charts.picture import CurveMark, DotMarks, Frame, RuleMark, SegmentMark, TextMark, text_width
from noisycount.charts.privacy import PrivacyAxes, PrivacyLine, privacy_picture
from tests.helpers.picture_marks import marks_of

AXES = PrivacyAxes(epsilon=2.0, floor=1e-6, top=1.0, requested_epsilon=0.5, epsilon_text="ε = 1/2")


def line(name: str, start: float, end: float, mark: float | None = None) -> PrivacyLine:
    """A line that falls evenly on a logarithmic axis, from `start` to 1e-6 at `end`."""
    shares = [number / 20 for number in range(21)]
    deltas = [start * (1e-6 / start) ** share for share in shares]
    return PrivacyLine(name, f"δ of {name}", [end * share for share in shares], deltas, mark)


def three() -> list[PrivacyLine]:
    """Lines as of three adversaries, from the outermost inwards."""
    return [line("outer", 0.5, 2.0, 0.02), line("middle", 0.1, 1.4, 0.002), line("inner", 0.1, 1.0)]


def drawn(lines: list[PrivacyLine], axes: PrivacyAxes = AXES) -> Frame:
    """Return the frame of the picture."""
    (frame,) = privacy_picture(lines, axes, "What changes?", "100 records").frames
    return frame


def texts(frame: Frame) -> dict[str, TextMark]:
    """Return the texts by their content."""
    return {text.text: text for text in marks_of(frame, TextMark)}


def test_every_point_of_every_line_is_drawn() -> None:
    """The curves are those that were given, unchanged."""
    curves = [curve.points for curve in marks_of(drawn(three()), CurveMark)]
    assert curves == [list(zip(line.epsilons, line.deltas, strict=True)) for line in three()]


def test_lines_are_named_where_they_are() -> None:
    """There is no legend: a leader goes from the line's mark, or the line, to its name."""
    frame = drawn(three())
    colours = {curve.style.colour: curve.points for curve in marks_of(frame, CurveMark)}
    assert not frame.legend
    for line in three():
        name, note = texts(frame)[line.name], texts(frame)[line.note]
        assert colours[name.colour][0][1] == line.deltas[0]
        assert colours[name.colour][-1][0] == line.epsilons[-1]
        (x, above), (_, below) = name.place, note.place
        towards = -5 if name.anchor == "end" else 5
        (leader,) = [
            leader
            for leader in marks_of(frame, SegmentMark)
            if leader.end == pytest.approx((x - towards, (above + below) / 2))
        ]
        if line.mark is not None:
            assert leader.start == frame.place(0.5, line.mark)
        else:
            delta = AXES.delta(leader.start[1] / frame.size[1])
            assert leader.start[0] == pytest.approx(frame.place(*line.point_at(delta))[0])


def test_no_name_lies_on_a_line() -> None:
    """Names stand right of every line that passes at their height, or left of every line."""
    for lines in (three(), three()[:2], three()[1:], three()[:1]):
        frame = drawn(lines)
        for line in lines:
            name, note = texts(frame)[line.name], texts(frame)[line.note]
            for text in (name, note):
                delta = AXES.delta(text.place[1] / frame.size[1])
                at_height = [frame.place(*other.point_at(delta))[0] for other in lines if other.deltas[0] >= delta]
                width = text_width(text.text, text.size, is_bold=text.is_bold)
                if text.anchor == "start":
                    assert text.place[0] > max(at_height, default=0)
                else:
                    assert text.place[0] - width >= 0
                    assert text.place[0] < min(at_height)


def test_names_that_stand_outside_have_room() -> None:
    """Two lines of text are 40 pixels high, also where the lines never come down."""
    flat = [PrivacyLine(name, "δ = 1", [0.0, 2.0], [1.0, 1.0]) for name in "ab"]
    heights = sorted(texts(drawn(flat))[name].place[1] for name in "ab")
    assert all(below - above >= 40 - 1e-9 for above, below in pairwise(heights))


def test_lines_differ_without_colour() -> None:
    """In grey, the lines differ in their dashes."""
    curves = marks_of(drawn(three()), CurveMark)
    assert len({curve.style.dash for curve in curves}) == 3
    assert len({curve.style.colour for curve in curves}) == 3


def test_the_requested_epsilon_is_marked() -> None:
    """A rule with its text above it, and a dot on each line that has one."""
    frame = drawn(three())
    assert [dots.points for dots in marks_of(frame, DotMarks)] == [[(0.5, 0.02)], [(0.5, 0.002)]]
    (rule,) = marks_of(frame, RuleMark)
    assert rule.x == 0.5
    x, y = texts(frame)["ε = 1/2"].place
    assert x == frame.place(0.5, 1.0)[0]
    assert y < 0


def test_an_epsilon_beyond_the_axis_is_not_marked() -> None:
    """The chart does not grow for it."""
    axes = PrivacyAxes(epsilon=2.0, floor=1e-6, top=1.0, requested_epsilon=9.0, epsilon_text="ε = 9")
    frame = drawn(three(), axes)
    assert "ε = 9" not in texts(frame)
    assert marks_of(frame, RuleMark) == []


@pytest.mark.parametrize("marks", [(2e-6, 2e-6, 1.5e-6), (0.4, 0.09, 0.08), (0.3, 3e-6, 2e-6)])
def test_names_of_marks_that_are_near_each_other_have_room(marks: tuple[float, ...]) -> None:
    """At the top, at the bottom and in between, 40 pixels apart and inside the axes."""
    lines = [replace(line, mark=mark) for line, mark in zip(three(), marks, strict=True)]
    names = [texts(drawn(lines))[line.name] for line in lines]
    heights = sorted(name.place[1] for name in names if name.anchor == "start")
    assert all(below - above >= 40 - 1e-9 for above, below in pairwise(heights))
    assert all(height <= 310 + 1e-9 for height in heights)


def test_axes_have_names() -> None:
    """Each symbol is followed by its meaning."""
    frame = drawn(three())
    assert frame.y is not None
    assert frame.x.axis.label.startswith("ε: the odds about one person")
    assert frame.y.axis.label == "δ: the probability that the person is given away instead"


def test_delta_stands_on_a_logarithmic_axis_of_powers() -> None:
    """At most nine powers of ten, from the top down, within the axis."""
    y = drawn(three()).y
    assert y is not None
    assert (y.axis.is_log, y.low, y.high) == (True, 1e-6, 1.0)
    assert [value for value, _ in y.ticks] == [1.0, 0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6]
    deep = PrivacyAxes(epsilon=1.0, floor=1e-12, top=1.0, requested_epsilon=1.0, epsilon_text="")
    assert deep.tick_powers == [1.0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12]


def test_heights_and_deltas_are_inverse() -> None:
    """A share of the height is a δ, and back."""
    for share in (0.0, 0.3, 1.0):
        assert AXES.height_share(AXES.delta(share)) == pytest.approx(share, abs=1e-12)
    assert AXES.delta(0.5) == pytest.approx(1e-3)


def test_a_place_lies_on_the_line() -> None:
    """Between two points it is where the straight line of the picture is; beyond, at an end."""
    each = PrivacyLine("a", "", [0.0, 1.0, 2.0], [0.1, 0.1, 0.001])
    assert each.point_at(0.01) == (pytest.approx(1.5), 0.01)
    assert each.point_at(0.5) == (0.0, 0.1)
    assert each.point_at(1e-5) == (2.0, 0.001)
    assert math.isfinite(each.point_at(0.1)[0])
