import math
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from noisycount.charts.curves import RefinementCurves
from noisycount.charts.drawing import save
from noisycount.charts.refinement import refinement_chart

SIZE, RATE, SCALE = 5912, 0.017, 20 / 3


def realistic(answer: float, counts: range, **changes: float) -> RefinementCurves:
    """A binomial prior, Laplace noise and their product, over a run of counts."""

    def prior(count: int) -> float:
        ways = math.lgamma(SIZE + 1) - math.lgamma(count + 1) - math.lgamma(SIZE - count + 1)
        return math.exp(ways + count * math.log(RATE) + (SIZE - count) * math.log1p(-RATE))

    noisy = [math.exp(-abs(answer - count) / SCALE) for count in counts]
    both = [prior(count) * chance for count, chance in zip(counts, noisy, strict=True)]
    curves = RefinementCurves(
        counts,
        [prior(count) for count in counts],
        [chance / sum(noisy) for chance in noisy],
        [chance / sum(both) for chance in both],
        answer=answer,
        estimate=98.1,
        low=87,
        high=111,
    )
    return replace(curves, **changes)


def drawn(curves: RefinementCurves, unit: str = "persons") -> list[dict[str, Any]]:
    """The three panels of the chart as Vega-Lite, each layer with its data inside."""
    chart = refinement_chart(curves, "Poor health", "A survey", unit).to_dict()
    for panel in chart["vconcat"]:
        for layer in panel["layer"]:
            data = layer.get("data") or panel["data"]
            layer["values"] = chart["datasets"][data["name"]]
    return list(chart["vconcat"])


def layers(panel: dict[str, Any], kind: str) -> list[Any]:
    """What the layers of one kind of mark show."""
    return [layer["values"] for layer in panel["layer"] if layer["mark"]["type"] == kind]


def test_each_panel_shows_its_curve() -> None:
    """Every probability of the three curves is in the chart, at its count, unchanged."""
    curves = realistic(97, range(50, 151))
    panels = drawn(curves)
    for panel, curve in zip(panels, (curves.prior, curves.noisy, curves.posterior), strict=True):
        ((*points,),) = layers(panel, "area")
        assert [point["count"] for point in points] == list(range(50, 151))
        assert [point["probability"] for point in points] == list(curve)


def test_panels_name_their_curves_and_marks() -> None:
    """Labels stand in the headings, with the numbers that the marks show."""
    titles = [panel["title"] for panel in drawn(realistic(97, range(50, 151)))]
    assert [(title["text"], title["subtitle"]) for title in titles] == [
        ("What was assumed before", ["without any answer"]),
        ("What the noisy answer alone says", ["dashed line: the answer, 97 persons"]),
        ("What both say together", ["solid line: the estimate, 98.1 persons", "shaded: 87 to 111 persons, 95 % sure"]),
    ]


@pytest.mark.thorough
@pytest.mark.few(1)
@pytest.mark.parametrize("answer", [97, 98.1, 60, 140, -5])
@pytest.mark.parametrize("counts", [range(90, 110), range(2000)])
def test_marks_stand_where_the_numbers_are(answer: float, counts: range) -> None:
    """The answer, the estimate and the interval are drawn, also outside the shown counts."""
    before, alone, both = drawn(realistic(answer, counts))
    at_answer, at_estimate = [{"count": answer}], [{"count": 98.1}]
    assert layers(before, "rule") == []
    assert layers(alone, "rule") == [at_answer]
    assert layers(both, "rule") == [at_estimate, at_answer]
    assert layers(both, "rect") == [[{"count": 86.5, "end": 111.5}]]


def test_answer_and_estimate_differ_without_colour() -> None:
    """In grey, the dashed answer is told from the solid estimate."""
    both = drawn(realistic(97, range(50, 151)))[2]
    marks = [layer["mark"] for layer in both["layer"] if layer["mark"]["type"] == "rule"]
    assert [mark["strokeDash"] for mark in marks] == [[1, 0], [6, 4]]


def test_numbers_are_written_for_readers() -> None:
    """Thousands are grouped, a minus is a minus, and a whole estimate has no decimals."""
    panels = drawn(realistic(-5, range(10), estimate=12345.0, low=12000, high=13000))
    assert panels[1]["title"]["subtitle"] == ["dashed line: the answer, \N{MINUS SIGN}5 persons"]
    assert panels[2]["title"]["subtitle"] == [
        "solid line: the estimate, 12,345 persons",
        "shaded: 12,000 to 13,000 persons, 95 % sure",
    ]


def test_axes_are_shared_and_have_units() -> None:
    """Heights and counts compare between panels; the count's axis says what is counted."""
    curves = realistic(97, range(50, 151))
    chart = refinement_chart(curves, "Poor health", "A survey").to_dict()
    assert chart["resolve"] == {"scale": {"x": "shared", "y": "shared"}}
    axes = [layer["encoding"]["x"] for panel in drawn(curves) for layer in panel["layer"]]
    assert {axis.get("title") for axis in axes[-4:]} == {"true count, persons"}
    assert chart["vconcat"][2]["layer"][0]["encoding"]["x"]["title"] == "true count, records"


def test_chart_carries_its_heading_and_white_background() -> None:
    """Title and subtitle are the caller's; the picture is readable on a dark page."""
    chart = refinement_chart(realistic(97, range(50, 151)), "Poor health", "A survey").to_dict()
    assert (chart["title"]["text"], chart["title"]["subtitle"]) == ("Poor health", "A survey")
    assert chart["config"]["background"] == "white"


def test_svg_and_png_are_written(tmp_path: Path) -> None:
    """Both files appear in a folder that is made, the PNG at double the SVG's size."""
    chart = refinement_chart(realistic(97, range(50, 151)), "Poor health", "A survey", "persons")
    svg, png = save(chart, tmp_path / "new" / "folder", "refined")
    assert (svg, png) == tuple(tmp_path / "new" / "folder" / f"refined.{end}" for end in ("svg", "png"))
    root = ET.parse(svg).getroot()  # noqa: S314 - the file is our own
    words = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"Poor health", "A survey", "true count, persons"} <= words
    header = png.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", header[16:]) == tuple(2 * int(root.attrib[side]) for side in ("width", "height"))


def test_curves_of_different_lengths_are_refused() -> None:
    """Each curve has one value for each count."""
    with pytest.raises(ValueError, match=r"equally long, got \[2, 1, 2, 2\]"):
        RefinementCurves([0, 1], [1.0], [0.5, 0.5], [0.5, 0.5], 1, 1, 0, 1)


@pytest.mark.parametrize("length", [0, 5001])
def test_runs_that_cannot_be_drawn_are_refused(length: int) -> None:
    """No count, or more than the chart can hold, is refused before anything is drawn."""
    values = [0.0] * length
    with pytest.raises(ValueError, match=f"1 to 5000 numbers, got {length}"):
        RefinementCurves(range(length), values, values, values, 1, 1, 0, 1)


@pytest.mark.thorough
def test_longest_run_is_drawn() -> None:
    """5,000 counts still fit into one chart."""
    assert len(layers(drawn(realistic(97, range(5000)))[0], "area")[0]) == 5000


def test_interval_upside_down_is_refused() -> None:
    """The interval's ends come in order."""
    with pytest.raises(ValueError, match="low must not exceed high, got 112 and 111"):
        realistic(97, range(50, 151), low=112)
