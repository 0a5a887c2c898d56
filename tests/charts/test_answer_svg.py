import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from noisycount.charts.answer_svg import NARROW, WIDE, CountPicture, Estimated, LinesPicture, Point, bar_svg

SVG = "{http://www.w3.org/2000/svg}"


def drawn(text: str) -> ET.Element:
    """Give the picture as XML, which it must be."""
    return ET.fromstring(text)  # noqa: S314 - our own text


def bands(picture: ET.Element) -> list[tuple[float, float]]:
    """Give where each range begins and ends, but for the sample of the key."""
    found = [rect for rect in picture.iter(f"{SVG}rect") if rect.get("class") == "bar" and rect.get("width") != "26"]
    return [(float(rect.attrib["x"]), float(rect.attrib["x"]) + float(rect.attrib["width"])) for rect in found]


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize(
    "told",
    [Estimated(82, 62, 102), Estimated(-30, -60, 0), Estimated(10**9, 10**9 - 1, 10**9 + 1), Estimated(0, 0, 0)],
)
def test_a_count_lies_in_its_range_on_a_line_from_0(told: Estimated, width: float) -> None:
    """Whatever it is: inside the picture, wide enough to be seen, in its place between the numbers."""
    picture = drawn(CountPicture(told).svg(width))
    ((left, right),) = bands(picture)
    assert 0 <= left < right <= width
    assert right - left >= 3
    numbers = {text.text: float(text.attrib["x"]) for text in picture.iter(f"{SVG}text")}
    assert {"0", "persons"} <= set(numbers)
    if told.low == 62:
        step = (numbers["100"] - numbers["0"]) / 100
        assert left == pytest.approx(numbers["0"] + 62 * step, abs=0.2)
        assert right == pytest.approx(numbers["0"] + 102 * step, abs=0.2)
    assert not list(picture.iter(f"{SVG}text"))[len(numbers) :]  # no key, as there is one thing


def test_a_refined_count_is_a_curve_with_a_key() -> None:
    """Both are named, and the curve stays inside the picture where it reaches beyond the axis."""
    curve = [(float(count), 1 / (1 + count)) for count in range(500)]
    shown = CountPicture(Estimated(-5, -35, 25), Estimated(4, 0, 22), curve)
    picture = drawn(shown.svg(NARROW))
    assert [text.text for text in picture.iter(f"{SVG}text")][:2] == [
        "the answer: −5, from −35 to 25",
        "refined: 4, from 0 to 22",
    ]
    paths = [path.attrib["d"] for path in picture.iter(f"{SVG}path") if path.get("class") == "refined-line"]
    places = [float(x) for x in re.findall(r"[ML]([\d.]+) ", paths[-1])]
    assert places == sorted(places)
    assert max(places) <= NARROW


@pytest.mark.parametrize(
    ("refined", "differs"),
    [((91, 71, 111), False), ((91, 73, 111), False), ((91, 80, 111), True), ((99, 71, 111), True)],
)
def test_what_says_no_more_is_left_out(refined: tuple[int, int, int], *, differs: bool) -> None:
    """A refined count that moves by less than a quarter of the ± is none."""
    assert Estimated(*refined).differs(Estimated(91, 71, 111)) is differs


MONTHS = [f"{year}-{month:02d}" for year in (2025, 2026) for month in range(1, 13)]
AXES = ("admitted, by month", "persons")


def line(
    labels: list[str], name: str = "", low: float = -5, middle: float = 90, steps: list[int] | None = None
) -> list[Point]:
    """Give the counts of periods, which rise by one from each to the next unless their steps are given."""
    places = steps or list(range(len(labels)))
    return [
        Point(name, place, label, Estimated(middle + place, middle + place + low, middle + place + 5))
        for place, label in zip(places, labels, strict=True)
    ]


def lines(*points: list[Point]) -> LinesPicture:
    """Give the picture of lines, which there must be."""
    found = LinesPicture.from_points("persons by month", [point for each in points for point in each], AXES)
    assert found is not None
    return found


def words(picture: ET.Element) -> list[str]:
    """Give the texts of a picture."""
    return [text.text or "" for text in picture.iter(f"{SVG}text")]


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("months", [3, 12, 24])
def test_labels_of_months_stand_evenly(width: float, months: int) -> None:
    """Every month has a tick; on wide pictures each has its label, on a narrow one every second of many."""
    picture = drawn(lines(line(MONTHS[:months], "a"), line(MONTHS[:months], "b")).svg(width))
    assert len([path for path in picture.iter(f"{SVG}path") if "ribbon" in path.get("class", "")]) == 2
    assert len(list(picture.iter(f"{SVG}circle"))) == 2 * months
    ticks = [path for path in picture.iter(f"{SVG}path") if path.attrib["d"].endswith("v5")]
    assert len(ticks) == months
    labels = [text for text in picture.iter(f"{SVG}text") if re.fullmatch(r"\d\d", text.text or "")]
    counts = [text for text in labels if text.get("text-anchor") == "end"]
    labels = [text for text in labels if text not in counts]
    step = 2 if (width, months) == (NARROW, 24) else 1
    assert [text.text for text in labels] == [month[5:] for month in MONTHS[:months:step]]
    assert [text for text in words(picture) if re.fullmatch("20..", text)] == ["2025", "2026"][: -(-months // 12)]
    places = [float(text.attrib["x"]) for text in labels]
    assert {round(after - before) for before, after in pairwise(places)} <= {
        round(places[1] - places[0]) + move for move in (-1, 0, 1)
    }
    assert min(after - before for before, after in pairwise(places)) > 2 * 8.4
    assert set(AXES) <= set(words(picture))


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
    picture = drawn(lines(points[::-1]).svg(NARROW))
    assert [text for text in words(picture) if text.startswith("20")] == ["2020", "2022", "2024"]
    (course,) = [path.attrib["d"] for path in picture.iter(f"{SVG}path") if path.get("class") == "line-1"]
    places = [float(x) for x in re.findall(r"[ML]([\d.]+) ", course)]
    assert places == sorted(places)


def test_names_keep_their_order() -> None:
    """Lines stand in the order of the rows, whatever the order of time."""
    later = [point._replace(period=point.period - 1) for point in line(MONTHS[:4], "a")]
    assert list(lines(line(MONTHS[:4], "z"), later).lines) == ["z", "a"]


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("middle", [0.0, -400.0, 3.0])
def test_a_band_below_0_stays_in_the_picture(width: float, middle: float) -> None:
    """It ends where the numbers of its axis say, however far below 0 a noisy count lies."""
    picture = drawn(lines(line(MONTHS[:3], low=-300, middle=middle, steps=[0, 1, 2])).svg(width))
    (band,) = [path.attrib["d"] for path in picture.iter(f"{SVG}path") if "ribbon" in path.get("class", "")]
    heights = [float(y) for y in re.findall(r" (-?[\d.]+)", band)]
    numbers = {
        float((text.text or "").replace(",", "").replace("−", "-")): float(text.attrib["y"]) - 4.5
        for text in picture.iter(f"{SVG}text")
        if text.get("text-anchor") == "end" and re.fullmatch(r"−?[\d,]+", text.text or "")
    }
    (low, bottom), *_, (high, top) = sorted(numbers.items())
    pixel = (bottom - top) / (high - low)
    assert 0 in numbers
    assert heights[0] == pytest.approx(numbers[0] - (middle - 300) * pixel, abs=0.2)
    assert heights[-1] == pytest.approx(numbers[0] - (middle + 5) * pixel, abs=0.2)
    assert 0 < min(heights) < max(heights) < float(picture.attrib["height"]) - 46

    answer = Estimated(middle, middle - 300, middle + 5)
    ((left, right),) = bands(picture := drawn(CountPicture(answer).svg(width)))
    places = {
        float((text.text or "").replace(",", "").replace("−", "-")): float(text.attrib["x"])
        for text in picture.iter(f"{SVG}text")
        if re.fullmatch(r"−?[\d,]+", text.text or "")
    }
    inner = sorted(places.items())[1:-1]
    unit = (inner[-1][1] - inner[0][1]) / (inner[-1][0] - inner[0][0])
    assert 0 <= left < right <= width
    assert left == pytest.approx(places[inner[0][0]] + (middle - 300 - inner[0][0]) * unit, abs=0.5)
    assert right - left == pytest.approx(305 * unit, abs=0.5)


@pytest.mark.parametrize("low", [-2_000_000.0, 0.0])
def test_no_number_of_an_axis_vanishes(low: float) -> None:
    """Axis numbers at the ends move inwards if they would leave the picture."""
    picture = drawn(CountPicture(Estimated(10**6, low, 3 * 10**6)).svg(NARROW))
    numbers = [text for text in picture.iter(f"{SVG}text") if text.get("text-anchor") == "middle"]
    assert len(numbers) >= 3
    for text in numbers:
        half = 8.4 * len(text.text or "") / 2
        assert half - 0.1 <= float(text.attrib["x"]) <= NARROW - half + 0.1
    assert "persons" in words(picture)


def test_names_are_escaped() -> None:
    """No key of a table becomes markup."""
    shown = lines(line(MONTHS[:3], "<i>"), line(["<u>-1", "<u>-2", "<u>-3"], "x"))
    text = LinesPicture("<b>", shown.lines, ("<b>", "<i>")).svg(WIDE)
    assert not re.search("<[biu]>", text)


def test_bars_stay_inside() -> None:
    """A bar below 0 begins at its end, and nothing leaves the picture."""
    text = bar_svg(Estimated(-5, -8, -2), (-10, 100), Estimated(1.0, 0, 200))
    assert 'x="45.5" y="3" width="45.5"' in text
    assert "M90.9 25H1000" in text
