import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from noisycount.charts.drawing import save_file
from noisycount.charts.plan import PossibleAnswers, plan_chart
from noisycount.charts.plot import Line
from noisycount.charts.theme import LEVELS

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


def drawn(answers: PossibleAnswers = DOTS) -> list[list[tuple[dict[str, Any], list[Any]]]]:
    """Each layer of both panels as Vega-Lite, with its values."""
    chart = plan_chart(answers, LINES, (0.95, 30), "A plan", "±20 %").to_dict()
    return [
        [(layer, chart["datasets"][(layer.get("data") or panel["data"])["name"]]) for layer in panel["layer"]]
        for panel in chart["vconcat"]
    ]


def test_every_dot_is_drawn_where_it_stands() -> None:
    """At its value, and half a row above the axis, on top of the band and the line."""
    (band, rule, dots), _ = drawn()
    assert [(point["value"], point["level"]) for point in dots[1]] == [(97, 0.5), (100, 0.5), (100, 1.5), (103, 0.5)]
    assert band[1] == [{"value": 79.5, "end": 120.5}]
    assert rule[1] == [{"value": 100}]


def test_lines_of_equal_epsilon_have_their_names_beside_them() -> None:
    """Each line, then its name at its last point; they differ without colour; the goal is a dot."""
    _, layers = drawn()
    curves = [(layer, values) for layer, values in layers if layer["mark"]["type"] == "line"]
    names = [(layer, values) for layer, values in layers if layer["mark"]["type"] == "text"]
    assert [[point["error"] for point in values] for _, values in curves] == [list(line.ys) for line in LINES]
    assert [layer["encoding"]["text"]["value"] for layer, _ in names] == [line.name for line in LINES]
    assert [values[0]["error"] for _, values in names] == [60, 30, 15]
    assert len({str(layer["mark"]["strokeDash"]) for layer, _ in curves}) == 3
    assert layers[-1][1] == [{"confidence": 0.95, "error": 30}]


@pytest.mark.parametrize("far", [101, 130, 10**6])
def test_dots_and_band_lie_within_the_axis(far: int) -> None:
    """The axis is symmetric about the centre, and holds whichever reaches farther."""
    (_, _, (dots, _)), _ = drawn(replace(DOTS, places=[(200 - far, 1), (far, 1)]))
    low, high = dots["encoding"]["x"]["scale"]["domain"]
    assert low + high == 200
    assert high >= max(far, 120)


def test_errors_have_signs_on_the_axis() -> None:
    """A plus above 0, nothing at 0."""
    (_, _, (dots, _)), _ = drawn(replace(DOTS, is_offset=True))
    assert "+,d" in dots["encoding"]["x"]["axis"]["labelExpr"]


@pytest.mark.thorough
def test_the_picture_is_written(tmp_path: Path) -> None:
    """A PNG of double resolution."""
    file = tmp_path / "plan.png"
    save_file(plan_chart(DOTS, LINES, (0.95, 30), "A plan", "±20 %"), file)
    width, height = struct.unpack(">II", file.read_bytes()[16:24])
    assert width > 1000
    assert height > 1000


def test_what_cannot_be_drawn_is_refused() -> None:
    """No dots, an interval upside down."""
    with pytest.raises(ValueError, match=r"^places must hold at least one dot, got \[\]"):
        replace(DOTS, places=[])
    with pytest.raises(ValueError, match=r"^low must not exceed high, got 121 and 120"):
        replace(DOTS, low=121)
