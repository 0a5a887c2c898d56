import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from noisycount.charts.answer_picture import (
    NARROW,
    WIDE,
    CountInterval,
    CountPicture,
    LinesPicture,
    Point,
    bar_svg,
)
from noisycount.charts.picture import BandMark, CurveMark, DotMarks, Frame, Picture, RibbonMark, RuleMark
from noisycount.charts.picture_svg import labels_that_fit, page_svg
from tests.helpers.picture_marks import marks_of, svg_texts


def frame_of(picture: Picture, width: float) -> Frame:
    """Return the only frame of a picture that is `width` pixels wide on a page."""
    (frame,) = picture.frames
    drawn = ET.fromstring(page_svg(picture, "a", "b"))  # noqa: S314 - our own
    assert float(drawn.attrib["width"]) == pytest.approx(width, abs=3)
    return frame


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize(
    "answer",
    [
        CountInterval(82, 62, 102),
        CountInterval(-30, -60, 0),
        CountInterval(10**9, 10**9 - 1, 10**9 + 1),
        CountInterval(0, 0, 0),
    ],
)
def test_a_count_lies_in_its_interval_on_an_axis_from_0(answer: CountInterval, width: float) -> None:
    """The axis holds 0, the interval and the answer, and has numbers at whole counts; no legend, as there is one."""
    frame = frame_of(CountPicture(answer).picture(width), width)
    (band,), (rule,) = marks_of(frame, BandMark), marks_of(frame, RuleMark)
    assert (band.low, rule.x, band.high) == (answer.low, answer.value, answer.high)
    assert frame.x.low <= min(0, answer.low)
    assert max(1, answer.high) < frame.x.high
    assert frame.x.axis.label == "persons"
    assert "0" in [text for _, text in frame.x.ticks]
    assert all(value == int(value) for value, _ in frame.x.ticks)
    assert not frame.legend


def test_a_refined_count_is_a_curve_with_a_legend() -> None:
    """Both are named, and the curve ends with the axis."""
    curve = [(float(count), 1 / (1 + count)) for count in range(500)]
    shown = CountPicture(CountInterval(-5, -35, 25), CountInterval(4, 0, 22), curve)
    frame = frame_of(shown.picture(NARROW), NARROW)
    assert [name for name, _ in frame.legend] == ["the answer: −5, from −35 to 25", "refined: 4, from 0 to 22"]
    assert shown.description == "the answer: −5, from −35 to 25; refined: 4, from 0 to 22"
    (line,) = marks_of(frame, CurveMark)
    places = [x for x, _ in line.points]
    assert places == sorted(places)
    assert 25 <= places[-1] <= frame.x.high


@pytest.mark.parametrize(
    ("refined", "differs"),
    [((91, 71, 111), False), ((91, 73, 111), False), ((91, 80, 111), True), ((99, 71, 111), True)],
)
def test_what_says_no_more_is_left_out(refined: tuple[int, int, int], *, differs: bool) -> None:
    """A refined count that moves by less than a quarter of the ± is none."""
    assert CountInterval(*refined).differs(CountInterval(91, 71, 111)) is differs


MONTHS = [f"{year}-{month:02d}" for year in (2025, 2026) for month in range(1, 13)]
AXES = ("admitted, by month", "persons")


def line(
    labels: list[str], name: str = "", low: float = -5, middle: float = 90, steps: list[int] | None = None
) -> list[Point]:
    """Give the counts of periods, which rise by one from each to the next unless their steps are given."""
    places = steps or list(range(len(labels)))
    return [
        Point(name, place, label, CountInterval(middle + place, middle + place + low, middle + place + 5))
        for place, label in zip(places, labels, strict=True)
    ]


def lines(*points: list[Point]) -> LinesPicture:
    """Give the picture of lines, which there must be."""
    found = LinesPicture.from_points("persons by month", [point for each in points for point in each], AXES)
    assert found is not None
    return found


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("months", [3, 12, 24])
def test_labels_of_months_stand_evenly(width: float, months: int) -> None:
    """Every month has a tick; on wide pictures each has its label, on a narrow one every second of many."""
    picture = lines(line(MONTHS[:months], "a"), line(MONTHS[:months], "b")).picture(width)
    frame = frame_of(picture, width)
    assert len(marks_of(frame, RibbonMark)) == len(marks_of(frame, CurveMark)) == 2
    assert [len(dots.points) for dots in marks_of(frame, DotMarks)] == [months, months]
    assert [text for _, text in frame.x.ticks][:2] == ["01\n2025", "02"]
    assert len(frame.x.ticks) == months
    step = 2 if (width, months) == (NARROW, 24) else 1
    texts = svg_texts(picture)
    assert [text for text in texts if re.fullmatch(r"0\d|1[0-2]", text)] == [m[5:] for m in MONTHS[:months:step]]
    assert [text for text in texts if re.fullmatch("20..", text)] == ["2025", "2026"][: -(-months // 12)]
    assert set(AXES) <= set(texts)


def test_labels_that_would_overlap_are_left_out_evenly() -> None:
    """Every second or third remains; those at the ends move into the picture."""
    labels = [(20.0 * place, f"{place:04}") for place in range(12)]
    shown = labels_that_fit(labels, 230)
    assert [text for _, text in shown] == ["0000", "0003", "0006", "0009"]
    assert shown[0][0] == 8.4 * 4 / 2


@pytest.mark.parametrize(
    "points",
    [
        line(MONTHS[:4], steps=[0, 1, 2, 5]),
        line(MONTHS[:2]),
        [*line(MONTHS[:3], "a"), *line(MONTHS[:3], "b", steps=[0, 2, 4])],
        [point for name in "abcde" for point in line(MONTHS[:3], name)],
        [],
    ],
    ids=["a gap", "two points", "other steps", "five lines", "no rows"],
)
def test_unequal_steps_are_no_line(points: list[Point]) -> None:
    """A line would show a course that nobody counted, or no eye could tell the lines apart."""
    assert LinesPicture.from_points("persons by month", points, AXES) is None


def test_years_have_one_row_of_labels() -> None:
    """Every second year is an equal step of time too; rows in any order are drawn in that of time."""
    points = line(["2020", "2022", "2024"], steps=[2020, 2022, 2024])
    frame = frame_of(lines(points[::-1]).picture(NARROW), NARROW)
    assert [text for _, text in frame.x.ticks] == ["2020", "2022", "2024"]
    assert [x for x, _ in marks_of(frame, CurveMark)[0].points] == [2020, 2022, 2024]


def test_names_keep_their_order() -> None:
    """Lines stand in the order of the rows, whatever the order of time."""
    later = [point._replace(period=point.period - 1) for point in line(MONTHS[:4], "a")]
    shown = lines(line(MONTHS[:4], "z"), later)
    assert list(shown.lines) == ["z", "a"]
    assert [name for name, _ in shown.picture(WIDE).frames[0].legend] == ["z", "a"]


@pytest.mark.parametrize("middle", [0.0, -400.0, 3.0])
def test_a_ribbon_below_0_stays_on_the_axes(middle: float) -> None:
    """It ends where the numbers of its axis say, however far below 0 a noisy count lies."""
    frame = frame_of(lines(line(MONTHS[:3], low=-300, middle=middle, steps=[0, 1, 2])).picture(NARROW), NARROW)
    (ribbon,) = marks_of(frame, RibbonMark)
    assert [(low, high) for _, low, high in ribbon.rows] == [(middle + n - 300, middle + n + 5) for n in range(3)]
    assert frame.y is not None
    assert frame.y.low <= middle - 300
    assert max(1, middle + 7) < frame.y.high
    assert "0" in [text for _, text in frame.y.ticks]


@pytest.mark.parametrize("low", [-2_000_000.0, 0.0])
def test_no_number_of_an_axis_vanishes(low: float) -> None:
    """The picture has room for the numbers at both ends of the axis."""
    picture = CountPicture(CountInterval(10**6, low, 3 * 10**6)).picture(NARROW)
    drawn = ET.fromstring(page_svg(picture, "a", "b"))  # noqa: S314 - our own
    (axes,) = drawn.iter("g")
    left = float(re.findall(r"[\d.]+", axes.attrib["transform"])[0])
    numbers = [text for text in axes.iter("text") if text.text != "persons"]
    assert len(numbers) >= 3
    for text in numbers:
        half = 0.56 * 13 * len(text.text or "") / 2
        assert half - 0.1 <= left + float(text.attrib["x"]) <= float(drawn.attrib["width"]) - half + 0.1


def test_names_are_escaped() -> None:
    """No key of a table becomes markup."""
    shown = lines(line(MONTHS[:3], "<i>"), line(["<u>-1", "<u>-2", "<u>-3"], "x"))
    shown = replace(shown, title="<b>", axes=("<b>", "<i>"))
    assert not re.search("<[biu]>", page_svg(shown.picture(WIDE), "a", shown.description))


def test_bars_stay_inside() -> None:
    """A bar below 0 begins at its end, and nothing leaves the picture."""
    text = bar_svg(CountInterval(-5, -8, -2), (-10, 100), CountInterval(1.0, 0, 200))
    assert 'x="45.5" y="3" width="45.5"' in text
    assert "M90.9 25H1000" in text
