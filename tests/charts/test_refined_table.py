"""Tests of `charts/rows.py`."""

import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import noisycount as nc
from noisycount.charts.picture import DotMarks, Frame, SegmentMark, SpanMarks, TextMark
from noisycount.charts.picture_svg import save_picture
from noisycount.charts.refined_table import (
    MOST_DOTS,
    RefinedDot,
    RefinedDots,
    RefinedSums,
    posterior_dots,
    refined_picture,
)
from tests.helpers.picture_marks import marks_of, svg_texts

DOTS = [
    RefinedDot("Bern", 40, 9, 38.5, 31, 46),
    RefinedDot("Überlingen am Bodensee, Landkreis Konstanz", -3, 9, 1.2, 0, 5),
    RefinedDot("Biel", None, 0, 3.5, 0, 11),
]
TABLE = RefinedDots(DOTS, "What are the true counts?", ["towns.csv"])


def frames(table: RefinedDots) -> Sequence[Frame]:
    """Return the frames of the cells and of each level of sums."""
    return refined_picture(table).frames


def counts_of(frame: Frame) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
    """Return the low end, the count and the high end of each answer, and of each estimate."""
    answers, estimates = (
        [(low, count, high) for (count, _), (low, high, _) in zip(dots.points, spans.rows, strict=True)]
        for dots, spans in zip(marks_of(frame, DotMarks), marks_of(frame, SpanMarks), strict=True)
    )
    return answers, estimates


def test_each_row_has_an_answer_above_its_estimate() -> None:
    """With their intervals; a missing answer has no mark."""
    (frame,) = frames(TABLE)
    assert counts_of(frame) == (
        [(31, 40, 49), (-12, -3, 6)],
        [(31, 38.5, 46), (0, 1.2, 5), (0, 3.5, 11)],
    )
    answers, estimates = marks_of(frame, DotMarks)
    *labels, _ = marks_of(frame, TextMark)
    for (_, answer), (_, estimate), label in zip(answers.points, estimates.points, labels, strict=False):
        assert answer < estimate
        assert answer - 16 < label.place[1] < estimate + 16
    assert "\n" in labels[1].text


def test_all_that_is_drawn_is_inside() -> None:
    """The axis holds every interval and 0, and the rows follow each other."""
    (frame,) = frames(TABLE)
    assert frame.x.low < -12
    assert frame.x.high > 49
    places = [segment.start[1] for segment in marks_of(frame, SegmentMark)]
    assert places == sorted(places)
    assert places[-1] < frame.size[1]


def test_notes_tell_what_the_lines_are() -> None:
    """Notes name the source, the probability of the lines, and the number of cells left out."""
    many = [RefinedDot(str(n), n, 2, n, n - 1, n + 1) for n in range(MOST_DOTS + 1)]
    shown = RefinedDots(many, "Towns", ["t.csv"], 0.9, "persons")
    picture = refined_picture(shown)
    assert picture.frames[0].x.axis.label == "persons"
    assert picture.title == "Towns"
    assert picture.notes == [
        "t.csv",
        "the 60 largest of 61 cells",
        "lines: where the count lies with 90 % probability",
    ]
    assert [dot.label for dot in shown.dots][::59] == ["60", "1"]
    assert RefinedDots(many[1:], "Towns").dots == many[1:]


def test_a_table_without_cells_is_refused() -> None:
    """There is nothing to draw."""
    with pytest.raises(ValueError, match="dots must be at least one, got"):
        RefinedDots([], "Towns")


@pytest.mark.thorough
def test_a_file_of_sixty_rows_is_drawn(tmp_path: Path) -> None:
    """As high as its rows need."""
    dots = [RefinedDot(f"town {n}", n, 5, n, max(0, n - 3), n + 3) for n in range(60)]
    save_picture(refined_picture(RefinedDots(dots, "Towns", [])), tmp_path / "t.png")
    _, height = struct.unpack(">II", (tmp_path / "t.png").read_bytes()[16:24])
    assert height > 60 * 22 * 2


def test_sums_stand_below_the_cells_on_scales_of_their_own() -> None:
    """Each level with its name, its rows and its axis; the legend stands once."""
    counties = RefinedSums("county", [RefinedDot("A", 400, 30, 390, 372, 411)])
    total = RefinedSums("total", [RefinedDot("total", None, 0, 5000, 4990, 5010)])
    table = RefinedDots(DOTS, "What are the true counts?", [], sums=[counties, total])
    cells, *sums = frames(table)
    assert [frame.title for frame in (cells, *sums)] == ["", "county", "total"]
    assert [counts_of(frame) for frame in sums] == [
        ([(370, 400, 430)], [(372, 390, 411)]),
        ([], [(4990, 5000, 5010)]),
    ]
    assert cells.x.high < 60
    assert 430 < sums[0].x.high < 450
    assert 5010 < sums[1].x.high < 5200
    assert [len(frame.legend) for frame in (cells, *sums)] == [2, 0, 0]
    assert svg_texts(refined_picture(table)).count("refined") == 1


def test_axes_are_named() -> None:
    """The counts by what was counted, the labels by the columns of their keys."""
    (frame,) = frames(replace(TABLE, unit="persons", labels="county, town"))
    assert marks_of(frame, TextMark)[-1].text == "county, town"
    assert frame.x.axis.label == "persons"


def test_answers_differ_from_estimates_in_grey() -> None:
    """The lines of answers are dashed, those of estimates are not."""
    (frame,) = frames(TABLE)
    assert [spans.style.dash for spans in marks_of(frame, SpanMarks)] == [(5, 1), (1, 0)]
    assert [(dots.kind, dots.colour) for dots in marks_of(frame, DotMarks)] == list(frame.legend)
    assert len({colour for _, colour in frame.legend}) == 2


def test_many_levels_of_sums_are_not_all_drawn() -> None:
    """The levels with the fewest counts are drawn, in their order, and a note states the number."""

    def sums(number: int) -> RefinedSums:
        dots = [RefinedDot(str(n), n, 2, n, n - 1, n + 1) for n in range(number)]
        return RefinedSums(f"{number} ranges", dots)

    levels = [sums(2**power) for power in (7, 6, 5, 4, 3, 2, 1, 0)]
    shown = RefinedDots(DOTS, "Ages", ["a.csv"], sums=levels)
    assert [one.name for one in shown.sums] == [f"{2**n} ranges" for n in (5, 4, 3, 2, 1, 0)]
    assert shown.notes == ["a.csv", "6 of 8 levels of sums: those with the fewest"]
    assert RefinedDots(DOTS, "Ages", sums=levels[:1]).sums[0].name == ("128 ranges: the 60 largest of 128")


def test_the_sums_of_a_posterior_are_drawn() -> None:
    """Of each level about which something was answered, with what was."""
    keys = {"county": ["A", "A", "B"], "town": ["a", "b", "c"]}
    noise = nc.DiscreteLaplace(2)
    answers = {2: [12, 3, 40], ("A",): 17}
    told = nc.table_posterior(answers, noise, tree=nc.Tree.of_keys(keys), prior=nc.Splits(1))
    _, county = frames(posterior_dots(told))
    answered, estimated = counts_of(county)
    assert county.title == "county"
    assert [count for _, count, _ in answered] == [17]
    assert [count for _, count, _ in estimated] == told.level(1).mean.tolist()
    assert [text.text for text in marks_of(county, TextMark)[:-1]] == ["A", "B"]


def test_the_posterior_of_a_table_is_drawn() -> None:
    """Its cells with their answers; a suppressed one and a missing one have none."""
    noise = nc.DiscreteLaplace(5)
    answers = [52, nc.below(4), float("nan")]
    tree = nc.Tree.flat(["a", "b", "c"])
    told = nc.table_posterior(answers, noise, tree=tree, total=60, prior=nc.Splits(1))
    picture = refined_picture(posterior_dots(told))
    answered, estimated = counts_of(picture.frames[0])
    assert [count for _, count, _ in answered] == [52]
    assert [count for _, count, _ in estimated] == told.mean.tolist()
    assert picture.notes[0].startswith("stated:")


def test_a_posterior_of_independent_cells_is_drawn() -> None:
    """A posterior without a total, whose cell law was learned, is drawn in full."""
    told = nc.table_posterior([52, 3, -2, 8, 1], nc.DiscreteLaplace(5))
    answered, _ = counts_of(frames(posterior_dots(told))[0])
    assert [count for _, count, _ in answered] == [52, 3, -2, 8, 1]
    assert "more rows" not in told._repr_html_()
    assert "<th>mean</th><th>median</th><th>95 %</th>" in told._repr_html_()
