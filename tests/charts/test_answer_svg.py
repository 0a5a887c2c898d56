import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from noisycount.charts.answer_svg import NARROW, WIDE, CountPicture, Estimated, LinesPicture, bar_svg, place_of

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
    assert "0" in numbers
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


def test_lines_have_their_bands() -> None:
    """Each point of a line lies between the ends of its band, and no number across touches another."""
    line = [
        (float(place), f"2026-{place:02d}", Estimated(place * 9, place * 9 - 5, place * 9 + 5))
        for place in range(1, 13)
    ]
    for width in (NARROW, WIDE):
        picture = drawn(LinesPicture("persons by month", {"a": line, "b": line}).svg(width))
        assert len([path for path in picture.iter(f"{SVG}path") if "ribbon" in path.get("class", "")]) == 2
        assert len(list(picture.iter(f"{SVG}circle"))) == 24
        labels = [
            float(text.attrib["x"]) for text in picture.iter(f"{SVG}text") if (text.text or "").startswith("2026")
        ]
        gaps = {round(after - before, 0) for before, after in pairwise(labels)}
        assert max(gaps) - min(gaps) <= 1  # even, but for a pixel
        assert min(gaps) > 7 * 7


def test_names_are_escaped() -> None:
    """No key of a table becomes markup."""
    text = LinesPicture("<b>", {"<i>": [(1.0, "<u>", Estimated(1, 0, 2))] * 3, "x": [(2.0, "y", Estimated(1, 0, 2))]})
    assert not re.search("<[biu]>", text.svg(WIDE))


@pytest.mark.parametrize("label", [None, True, "Bern", "2026-02-31", "1 town", "5 tonnes", "18-64"])
def test_other_keys_have_no_order(label: object) -> None:
    """A name is none of time or number."""
    assert place_of(label) is None


def test_places_are_in_order() -> None:
    """Days, months, quarters, years, numbers and ranges."""
    for labels in (
        ["2025-12-31", "2026-01-01"],
        ["2025-12", "2026-01"],
        ["2025-Q4", "2026-Q1"],
        ["2025", 2026],
        ["-5 to 4", "5", "6 to under 7.5", "7.5 or more"],
    ):
        places = [place_of(label) for label in labels]
        assert None not in places
        assert places == sorted(places, key=lambda place: place or 0.0)


def test_bars_stay_inside() -> None:
    """A bar below 0 begins at its end, and nothing leaves the picture."""
    text = bar_svg(Estimated(-5, -8, -2), (-10, 100), Estimated(1.0, 0, 200))
    assert 'x="45.5" y="3" width="45.5"' in text
    assert "M90.9 25H1000" in text
