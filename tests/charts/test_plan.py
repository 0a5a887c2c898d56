import struct
from dataclasses import replace
from pathlib import Path

import pytest

from noisycount.charts.picture import BandMark, CurveMark, DotMarks, Picture, RuleMark, TextMark
from noisycount.charts.picture_svg import save_picture
from noisycount.charts.plan import PossibleAnswers, plan_picture
from noisycount.charts.plot import Line
from noisycount.charts.theme import LEVELS
from tests.helpers.picture_marks import marks_of

DOTS = PossibleAnswers(
    places=[(97, 1), (100, 1), (100, 2), (103, 1)],
    gap=3,
    low=80,
    high=120,
    centre=100,
    heading="Four possible answers",
    notes=["dashed line: the guess, 100"],
    title="answer",
)
LINES = [
    Line("ε = 0.05", LEVELS[0], (0.5, 0.95), (14, 60)),
    Line("ε = 0.1", LEVELS[1], (0.5, 0.95), (7, 30)),
    Line("ε = 0.2", LEVELS[2], (0.5, 0.95), (3.5, 15)),
]


def picture(answers: PossibleAnswers = DOTS) -> Picture:
    """Return the picture of a plan with three curves of equal ε."""
    return plan_picture(answers, LINES, (0.95, 30), "A plan", "±20 %")


def test_every_dot_is_drawn_where_it_stands() -> None:
    """At its value, and half a row above the axis, on top of the band and the line."""
    frame, _ = picture().frames
    band, rule, dots = frame.marks
    assert isinstance(dots, DotMarks)
    diameter = dots.diameter / 0.9
    rows = [(value, round((220 - height) / diameter, 9)) for value, height in dots.points]
    assert rows == [(97, 0.5), (100, 0.5), (100, 1.5), (103, 0.5)]
    assert isinstance(band, BandMark)
    assert (band.low, band.high) == (79.5, 120.5)
    assert isinstance(rule, RuleMark)
    assert rule.x == 100


def test_lines_of_equal_epsilon_have_their_names_beside_them() -> None:
    """Each line, then its name at its last point; they differ without colour; the goal is a dot."""
    _, frame = picture().frames
    curves, names = marks_of(frame, CurveMark), marks_of(frame, TextMark)
    assert [curve.points for curve in curves] == [line.points for line in LINES]
    assert [name.text for name in names] == [line.name for line in LINES]
    ends = [frame.place(*line.points[-1]) for line in LINES]
    assert [name.place for name in names] == [(x + 8, y) for x, y in ends]
    assert len({curve.style.dash for curve in curves}) == 3
    (goal,) = marks_of(frame, DotMarks)
    assert goal.points == [(0.95, 30)]


@pytest.mark.parametrize("far", [101, 130, 10**6])
def test_dots_and_band_lie_within_the_axis(far: int) -> None:
    """The axis is symmetric about the centre, and holds whichever reaches farther."""
    x = picture(replace(DOTS, places=[(200 - far, 1), (far, 1)])).frames[0].x
    assert x.low + x.high == 200
    assert x.high >= max(far, 120)


def test_errors_have_signs_on_the_axis() -> None:
    """A plus above 0, nothing at 0."""
    x = picture(replace(DOTS, centre=0, places=[(-3, 1), (3, 1)], low=-20, high=20, is_offset=True)).frames[0].x
    assert [text for _, text in x.ticks] == ["−20", "−10", "0", "+10", "+20"]


@pytest.mark.thorough
def test_the_picture_is_written(tmp_path: Path) -> None:
    """A PNG of double resolution."""
    file = tmp_path / "plan.png"
    save_picture(picture(), file)
    width, height = struct.unpack(">II", file.read_bytes()[16:24])
    assert width > 1000
    assert height > 1000
