import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from noisycount.charts.privacy import PrivacyAxes, PrivacyLine, privacy_chart

AXES = PrivacyAxes(epsilon=2.0, floor=1e-6, top=1.0, asked=0.5, words="ε = 1/2")


def line(name: str, start: float, end: float, mark: float | None = None) -> PrivacyLine:
    """A line that falls evenly on a logarithmic axis, from `start` to 1e-6 at `end`."""
    shares = [number / 20 for number in range(21)]
    deltas = [start * (1e-6 / start) ** share for share in shares]
    return PrivacyLine(name, f"δ of {name}", [end * share for share in shares], deltas, mark)


def three() -> list[PrivacyLine]:
    """Lines as of three adversaries, from the outermost inwards."""
    return [line("outer", 0.5, 2.0, 0.02), line("middle", 0.1, 1.4, 0.002), line("inner", 0.1, 1.0)]


def drawn(lines: list[PrivacyLine], axes: PrivacyAxes = AXES) -> dict[str, Any]:
    """The chart as Vega-Lite, each layer with its data inside."""
    chart: dict[str, Any] = privacy_chart(lines, axes, "What changes?", "100 records").to_dict()
    for layer in chart["layer"]:
        layer["values"] = chart["datasets"][layer["data"]["name"]]
    return chart


def texts(chart: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The layers of text by what they say."""
    return {layer["encoding"]["text"]["value"]: layer for layer in chart["layer"] if layer["mark"]["type"] == "text"}


def test_every_point_of_every_line_is_drawn() -> None:
    """The curves are those that were given, unchanged."""
    layers = [layer["values"] for layer in drawn(three())["layer"]]
    for each in three():
        points = zip(each.epsilons, each.deltas, strict=True)
        assert [{"epsilon": epsilon, "delta": delta} for epsilon, delta in points] in layers


def test_lines_are_named_where_they_are() -> None:
    """There is no legend: a leader goes from the line's mark, or the line, to its name."""
    chart = drawn(three())
    colours = {
        layer["mark"]["color"]: layer["values"]
        for layer in chart["layer"]
        if layer["mark"]["type"] == "line" and layer["mark"]["strokeWidth"] > 2
    }
    assert "legend" not in str(chart)
    for each in three():
        label = texts(chart)[each.name]
        assert colours[label["mark"]["color"]][0]["delta"] == each.deltas[0]
        assert colours[label["mark"]["color"]][-1]["epsilon"] == each.epsilons[-1]
        (place,) = label["values"]
        leaders = [layer["values"] for layer in chart["layer"] if place in layer["values"][1:2]]
        assert len(leaders) == 1
        start = leaders[0][0]
        if each.mark is None:
            assert each.place(start["delta"])[0] == pytest.approx(start["epsilon"])
        else:
            assert start == {"epsilon": 0.5, "delta": each.mark}
        assert texts(chart)[each.note]["values"] == [place]


@pytest.mark.thorough
def test_no_name_lies_on_a_line() -> None:
    """Names stand right of every line that passes at their height, or left of every line."""
    for lines in (three(), three()[:2], three()[1:], three()[:1]):
        for each in lines:
            label = texts(drawn(lines))[each.name]
            ((epsilon, delta),) = [(v["epsilon"], v["delta"]) for v in label["values"]]
            at_height = [other.place(delta)[0] for other in lines if other.deltas[0] >= delta]
            if label["mark"]["align"] == "left":
                assert epsilon > max(at_height)
            else:
                assert epsilon < min(at_height)


def test_names_that_stand_outside_have_room() -> None:
    """Two lines of text are 40 pixels high, also where the lines never come down."""
    flat = [PrivacyLine(name, "δ = 1", [0.0, 2.0], [1.0, 1.0]) for name in "ab"]
    places = [texts(drawn(flat))[name]["values"][0]["delta"] for name in "ab"]
    heights = sorted(AXES.share(delta) * 340 for delta in places)
    assert all(below - above >= 40 - 1e-9 for above, below in pairwise(heights))


def test_lines_differ_without_colour() -> None:
    """In grey, dashes tell the lines apart."""
    curves = [
        layer["mark"]
        for layer in drawn(three())["layer"]
        if layer["mark"]["type"] == "line" and layer["mark"]["strokeWidth"] > 2
    ]
    assert len({str(mark["strokeDash"]) for mark in curves}) == 3
    assert len({mark["color"] for mark in curves}) == 3


def test_the_asked_epsilon_is_marked() -> None:
    """A rule with its name over the whole height, and a dot on each line that has one."""
    chart = drawn(three())
    dots = [layer["values"] for layer in chart["layer"] if layer["mark"]["type"] == "point"]
    assert dots == [[{"epsilon": 0.5, "delta": 0.02}], [{"epsilon": 0.5, "delta": 0.002}]]
    rule = [{"epsilon": 0.5, "delta": 1e-6}, {"epsilon": 0.5, "delta": 1.0}]
    assert rule in [layer["values"] for layer in chart["layer"]]
    assert texts(chart)["ε = 1/2"]["values"] == [rule[1]]


def test_an_epsilon_beyond_the_axis_is_not_marked() -> None:
    """The chart does not grow for it."""
    axes = PrivacyAxes(epsilon=2.0, floor=1e-6, top=1.0, asked=9.0, words="ε = 9")
    assert "ε = 9" not in texts(drawn(three(), axes))


@pytest.mark.thorough
@pytest.mark.parametrize("marks", [(2e-6, 2e-6, 1.5e-6), (0.4, 0.09, 0.08), (0.3, 3e-6, 2e-6)])
def test_names_of_marks_that_are_near_each_other_have_room(marks: tuple[float, ...]) -> None:
    """At the top, at the bottom and in between, 40 pixels apart and inside the axes."""
    lines = [replace(each, mark=mark) for each, mark in zip(three(), marks, strict=True)]
    labels = [texts(drawn(lines))[each.name] for each in lines]
    right = [each for each in labels if each["mark"]["align"] == "left"]
    heights = sorted(AXES.share(each["values"][0]["delta"]) * 340 for each in right)
    assert all(below - above >= 40 - 1e-9 for above, below in pairwise(heights))
    assert all(height <= 320 + 1e-9 for height in heights)


def test_axes_have_names() -> None:
    """Each symbol is followed by what it means."""
    encoding = drawn(three())["layer"][0]["encoding"]
    assert encoding["x"]["title"].startswith("ε: the odds about one person")
    assert encoding["y"]["title"] == "δ: the probability that the person is given away instead"


def test_delta_stands_on_a_logarithmic_axis_of_powers() -> None:
    """At most nine powers of ten, from the top down, within the axis."""
    y = drawn(three())["layer"][0]["encoding"]["y"]
    assert (y["scale"]["type"], y["scale"]["domain"]) == ("log", [1e-6, 1.0])
    assert y["axis"]["values"] == [1.0, 0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6]
    deep = PrivacyAxes(epsilon=1.0, floor=1e-12, top=1.0, asked=1.0, words="")
    assert deep.powers == [1.0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12]


def test_heights_and_deltas_are_inverse() -> None:
    """A share of the height is a δ, and back."""
    for share in (0.0, 0.3, 1.0):
        assert AXES.share(AXES.delta(share)) == pytest.approx(share, abs=1e-12)
    assert AXES.delta(0.5) == pytest.approx(1e-3)


def test_a_place_lies_on_the_line() -> None:
    """Between two points it is where the straight line of the picture is; beyond, at an end."""
    each = PrivacyLine("a", "", [0.0, 1.0, 2.0], [0.1, 0.1, 0.001])
    assert each.place(0.01) == (pytest.approx(1.5), 0.01)
    assert each.place(0.5) == (0.0, 0.1)
    assert each.place(1e-5) == (2.0, 0.001)
    assert math.isfinite(each.place(0.1)[0])


def test_lines_that_cannot_be_drawn_are_refused() -> None:
    """A δ of 0 has no place on a logarithmic axis, and each ε has one δ."""
    with pytest.raises(ValueError, match=r"deltas must be positive, got 0\.0: leave it out"):
        PrivacyLine("a", "", [0.0, 1.0], [0.1, 0.0])
    with pytest.raises(ValueError, match=r"equally many, got \(2, 1\)"):
        PrivacyLine("a", "", [0.0, 1.0], [0.1])
    with pytest.raises(ValueError, match=r"equally many, got \(0, 0\)"):
        PrivacyLine("a", "", [], [])
