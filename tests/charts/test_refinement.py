import math
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from noisycount.charts.picture import BandMark, CurveMark, Frame, RuleMark
from noisycount.charts.picture_svg import save_picture
from noisycount.charts.refinement import RefinementCurves, refinement_picture
from tests.helpers.picture_marks import marks_of, svg_texts

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


def drawn(curves: RefinementCurves, unit: str = "persons") -> Sequence[Frame]:
    """Return the three frames of the picture."""
    return refinement_picture(curves, "Poor health", "A survey", unit).frames


def test_each_frame_shows_its_curve() -> None:
    """Every probability of the three curves is in the picture, at its count, unchanged."""
    curves = realistic(97, range(50, 151))
    for frame, curve in zip(drawn(curves), (curves.prior, curves.noisy, curves.posterior), strict=True):
        (area,) = marks_of(frame, CurveMark)
        assert area.is_area
        assert list(area.points) == list(zip(range(50, 151), curve, strict=True))


def test_frames_name_their_curves_and_marks() -> None:
    """Labels stand in the headings, with the numbers that the marks show."""
    assert [(frame.title, *frame.notes) for frame in drawn(realistic(97, range(50, 151)))] == [
        ("What was assumed before", "without any answer"),
        ("What the noisy answer alone says", "dashed line: the answer, 97 persons"),
        ("What both say together", "solid line: the estimate, 98.1 persons", "shaded: 87 to 111 persons, 95 % sure"),
    ]


@pytest.mark.parametrize("answer", [97, 98.1, 60, 140, -5])
@pytest.mark.parametrize("counts", [range(90, 110), range(2000)])
def test_marks_stand_where_the_numbers_are(answer: float, counts: range) -> None:
    """The answer, the estimate and the interval are drawn, also outside the shown counts."""
    before, alone, both = drawn(realistic(answer, counts))
    assert [[rule.x for rule in marks_of(frame, RuleMark)] for frame in (before, alone, both)] == [
        [],
        [answer],
        [98.1, answer],
    ]
    assert [(band.low, band.high) for band in marks_of(both, BandMark)] == [(86.5, 111.5)]
    for frame in (before, alone, both):
        assert frame.x.low <= min(answer, 86.5)
        assert frame.x.high >= max(answer, 111.5)


def test_answer_and_estimate_differ_without_colour() -> None:
    """In grey, the dashed answer differs from the solid estimate."""
    both = drawn(realistic(97, range(50, 151)))[2]
    assert [rule.style.dash for rule in marks_of(both, RuleMark)] == [(1, 0), (6, 4)]


def test_numbers_are_written_for_readers() -> None:
    """Thousands are grouped, a minus is a minus, and a whole estimate has no decimals."""
    _, alone, both = drawn(realistic(-5, range(10), estimate=12345.0, low=12000, high=13000))
    assert alone.notes == ("dashed line: the answer, \N{MINUS SIGN}5 persons",)
    assert both.notes == ("solid line: the estimate, 12,345 persons", "shaded: 12,000 to 13,000 persons, 95 % sure")


@pytest.mark.thorough
def test_axes_are_shared_and_have_units() -> None:
    """Heights and counts compare between frames; the count's axis states what is counted."""
    frames = drawn(realistic(97, range(50, 151)))
    assert len({(frame.x.low, frame.x.high) for frame in frames}) == 1
    assert len({frame.y for frame in frames}) == 1
    assert [frame.x.has_numbers for frame in frames] == [False, False, True]
    assert frames[2].x.axis.label == "true count, persons"


@pytest.mark.parametrize("largest", [0.04, 0.0999, 0.1, 1e-5])
def test_the_axis_of_probabilities_ends_at_a_number(largest: float) -> None:
    """No curve ends above the last number."""
    curves = RefinementCurves([0, 1], [largest, 0], [largest, 0], [largest, 0], 0, 0, 0, 1)
    y = drawn(curves)[0].y
    assert y is not None
    last, _ = y.ticks[-1]
    assert last == pytest.approx(y.high, rel=1e-9)
    assert y.high >= largest * (1 - 1e-9)


@pytest.mark.thorough
def test_svg_and_png_are_written(tmp_path: Path) -> None:
    """Both files show the heading, the PNG at double the size of the SVG."""
    picture = refinement_picture(realistic(97, range(50, 151)), "Poor health", "A survey", "persons")
    svg, png = tmp_path / "refined.svg", tmp_path / "refined.png"
    save_picture(picture, svg)
    save_picture(picture, png)
    root = ET.parse(svg).getroot()  # noqa: S314 - our own
    assert {"Poor health", "A survey", "true count, persons"} <= set(svg_texts(picture))
    header = png.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    sizes = zip(struct.unpack(">II", header[16:]), ("width", "height"), strict=True)
    assert all(abs(pixels - 2 * float(root.attrib[side])) <= 1 for pixels, side in sizes)


@pytest.mark.thorough
def test_longest_run_is_drawn() -> None:
    """5,000 counts still fit into one picture."""
    (area,) = marks_of(drawn(realistic(97, range(5000)))[0], CurveMark)
    assert len(area.points) == 5000
