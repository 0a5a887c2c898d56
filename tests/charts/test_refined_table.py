import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import noisycount as nc
from noisycount.charts.drawing import save_file
from noisycount.charts.refined_table import MOST_DOTS, RefinedDot, RefinedDots, RefinedSums, refined_chart

DOTS = [
    RefinedDot("Bern", 40, 9, 38.5, 31, 46),
    RefinedDot("Überlingen am Bodensee, Landkreis Konstanz", -3, 9, 1.2, 0, 5),
    RefinedDot("Biel", None, 0, 3.5, 0, 11),
]
TABLE = RefinedDots(DOTS, "What are the true counts?", ["towns.csv"])


def layers(table: RefinedDots) -> list[list[dict[str, Any]]]:
    """The values of each layer, once the schema of Vega-Lite accepted the chart."""
    chart = refined_chart(table).to_dict()
    return [chart["datasets"][layer["data"]["name"]] for layer in chart["layer"]]


def test_each_row_has_an_answer_above_its_estimate() -> None:
    """With their intervals; a missing answer has no mark."""
    _, _, spans, marks, labels, _ = layers(TABLE)
    assert spans == marks
    raw, refined = ([one for one in marks if one["kind"].startswith(kind)] for kind in "ar")
    assert [(one["low"], one["count"], one["high"]) for one in raw] == [(31, 40, 49), (-12, -3, 6)]
    assert [(one["low"], one["count"], one["high"]) for one in refined] == [(31, 38.5, 46), (0, 1.2, 5), (0, 3.5, 11)]
    for answer, estimate, label in zip(raw, refined, labels, strict=False):
        assert answer["place"] < estimate["place"]
        assert answer["place"] - 16 < label["place"] < estimate["place"] + 16
    assert "\n" in labels[1]["label"]


def test_all_that_is_drawn_is_inside() -> None:
    """The axis holds every interval and 0, and the rows follow each other."""
    chart = refined_chart(TABLE).to_dict()
    low, high = chart["layer"][3]["encoding"]["x"]["scale"]["domain"]
    assert low < -12
    assert high > 49
    places = [row["place"] for row in layers(TABLE)[0]]
    assert places == sorted(places)
    assert places[-1] < chart["height"]


def test_notes_tell_what_the_lines_are() -> None:
    """Where the table is from, the probability, and that only the largest cells are there."""
    many = [RefinedDot(str(n), n, 2, n, n - 1, n + 1) for n in range(MOST_DOTS + 1)]
    shown = RefinedDots(many, "Towns", ["t.csv"], 0.9, "persons")
    assert refined_chart(shown).to_dict()["layer"][3]["encoding"]["x"]["title"] == "persons"
    title = refined_chart(shown).to_dict()["title"]
    assert title["text"] == "Towns"
    assert title["subtitle"] == [
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
    save_file(refined_chart(RefinedDots(dots, "Towns", [])), tmp_path / "t.png")
    _, height = struct.unpack(">II", (tmp_path / "t.png").read_bytes()[16:24])
    assert height > 60 * 22 * 2


def test_sums_stand_below_the_cells_on_scales_of_their_own() -> None:
    """Each level with its name, its rows and its axis; the legend stands once."""
    counties = RefinedSums("county", [RefinedDot("A", 400, 30, 390, 372, 411)])
    total = RefinedSums("total", [RefinedDot("total", None, 0, 5000, 4990, 5010)])
    table = RefinedDots(DOTS, "What are the true counts?", [], sums=[counties, total])
    chart = refined_chart(table).to_dict()
    panels = chart["vconcat"]
    assert [panel.get("title", {}).get("text") for panel in panels] == [None, "county", "total"]
    marks = [panel["layer"][3] for panel in panels]
    told = [chart["datasets"][mark["data"]["name"]] for mark in marks]
    assert [[one["count"] for one in each] for each in told[1:]] == [[400, 390], [5000]]
    ends = [mark["encoding"]["x"]["scale"]["domain"][1] for mark in marks]
    assert ends[0] < 60
    assert 430 < ends[1] < 450
    assert 5010 < ends[2] < 5200
    assert chart["resolve"]["scale"] == {"x": "independent", "y": "independent"}
    legends = [mark["encoding"]["color"]["legend"] is None for mark in marks]
    assert legends == [False, True, True]
    assert chart["title"]["text"] == "What are the true counts?"


def test_axes_are_named() -> None:
    """The counts by what was counted, the labels by the columns of their keys."""
    *_, name = refined_chart(replace(TABLE, unit="persons", labels="county, town")).to_dict()["layer"]
    assert name["encoding"]["text"]["value"] == "county, town"
    (spans,) = [
        layer
        for layer in refined_chart(replace(TABLE, unit="persons")).to_dict()["layer"]
        if layer["mark"]["type"] == "circle"
    ]
    assert spans["encoding"]["x"]["title"] == "persons"


def test_answers_are_told_from_estimates_in_grey() -> None:
    """The lines of answers are dashed, those of estimates are not."""
    _, _, lines, dots, *_ = refined_chart(TABLE).to_dict()["layer"]
    scale, colours = lines["encoding"]["strokeDash"]["scale"], dots["encoding"]["color"]["scale"]
    assert scale["domain"] == colours["domain"]
    assert scale["range"] == [[5, 1], [1, 0]]
    assert len(set(colours["range"])) == 2


def test_many_levels_of_sums_are_not_all_drawn() -> None:
    """Those with the fewest counts are, in their order, and a note says so."""

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
    chart = nc.chart(told).to_dict()
    _, county = chart["vconcat"]
    marks = chart["datasets"][county["layer"][3]["data"]["name"]]
    assert county["title"]["text"] == "county"
    assert [one["count"] for one in marks if one["kind"].startswith("answer")] == [17]
    assert [one["count"] for one in marks if one["kind"] == "refined"] == told.level(1).mean.tolist()
    labels = chart["datasets"][county["layer"][4]["data"]["name"]]
    assert [one["label"] for one in labels] == ["A", "B"]


def test_the_posterior_of_a_table_is_drawn() -> None:
    """Its cells with their answers; a suppressed one and a missing one have none."""
    noise = nc.DiscreteLaplace(5)
    answers = [52, nc.below(4), float("nan")]
    tree = nc.Tree.flat(["a", "b", "c"])
    told = nc.table_posterior(answers, noise, tree=tree, total=60, prior=nc.Splits(1))
    chart = nc.chart(told).to_dict()
    marks = chart["datasets"][chart["layer"][3]["data"]["name"]]
    assert [one["count"] for one in marks if one["kind"].startswith("answer")] == [52]
    assert [one["count"] for one in marks if one["kind"] == "refined"] == told.mean.tolist()
    assert chart["title"]["subtitle"][0].startswith("stated:")


def test_a_posterior_of_independent_cells_is_drawn() -> None:
    """Where no total is known and the law of a cell was learned."""
    told = nc.table_posterior([52, 3, -2, 8, 1], nc.DiscreteLaplace(5))
    chart = nc.chart(told).to_dict()
    marks = chart["datasets"][chart["layer"][3]["data"]["name"]]
    assert [one["count"] for one in marks if one["kind"] != "refined"] == [52, 3, -2, 8, 1]
    assert "more rows" not in told._repr_html_()
    assert "<th>mean</th><th>median</th><th>95 %</th>" in told._repr_html_()
