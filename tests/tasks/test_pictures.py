"""The pictures of a plan, of a forecast and of risks hold the numbers that their commands print."""

from pathlib import Path
from typing import Any

import altair as alt
import pytest

import noisycount as nc
from noisycount.tasks import pictures
from tests.commands import Run, here, run

__all__ = ["here", "run"]

Chart = dict[str, Any]


@pytest.fixture
def charts(monkeypatch: pytest.MonkeyPatch) -> list[Chart]:
    """Give the charts that are written from now on, as Vega-Lite takes them."""
    saved: list[Chart] = []

    def keep(chart: alt.TopLevelMixin, file: Path) -> None:
        saved.append(chart.to_dict(validate=False))
        file.touch()

    monkeypatch.setattr(pictures, "save_file", keep)
    return saved


def marks(chart: Chart, panel: Chart, kind: str) -> list[list[dict[str, Any]]]:
    """Give the data of each layer of a panel that is drawn by one kind of mark."""
    layers = [layer for layer in panel["layer"] if layer["mark"]["type"] == kind]
    return [chart["datasets"][layer["data"]["name"]] for layer in layers]


@pytest.mark.parametrize("words", ["--error 15", "--within 20% --guess 100", "--error 30 --queries 10"])
def test_a_plan_shows_what_it_tells(run: Run, charts: list[Chart], words: str) -> None:
    """The band is ±error around the guess and half a record wider; curves are of half, once and twice its ε."""
    plan = run("plan", *words.split(), "--plot", "plan.svg", "--json").object
    ((chart,), centre) = charts, float(plan["guess"] or 0)
    answers, goals = chart["vconcat"]
    ((band,),) = marks(chart, answers, "rect")
    assert (band["value"], band["end"]) == (centre - plan["error"] - 0.5, centre + plan["error"] + 0.5)
    (dots,) = marks(chart, answers, "circle")
    assert len(dots) == 50
    curves = marks(chart, goals, "line")
    epsilon = float(plan["epsilon"])
    for factor, curve in zip((0.5, 1, 2), curves, strict=True):
        for point in curve[:: len(curve) - 1]:
            error = nc.relative_error(1, point["confidence"], factor * epsilon)
            assert point["error"] == pytest.approx(error, rel=1e-9)
    ((goal,),) = marks(chart, goals, "circle")
    queries = 10 if "10" in words.split() else 1
    assert goal["confidence"] == pytest.approx(0.95 ** (1 / queries), rel=1e-12)
    assert goal["error"] == pytest.approx(float(words.split()[1].rstrip("%")), rel=1e-12)


@pytest.mark.parametrize("delta", [(), ("--delta", "1e-6")], ids=["one noise", "two noises"])
def test_a_forecast_shows_what_it_tells(run: Run, charts: list[Chart], delta: tuple[str, ...]) -> None:
    """A bar a level and noise, as long as its ± and without a line, in the order of the table."""
    words = ("plan", "--cells", "town=16,sex=2", "--margins", "town,total", "--epsilon", "1", *delta)
    told = run(*words, "--plot", "plan.svg", "--json").object
    (chart,) = charts
    (bars,) = marks(chart, chart, "bar")
    errors = [[level["error"] for level in plan["levels"]] for plan in told["plans"]]
    assert [bar["answer"] for bar in bars] == [error for level in zip(*errors, strict=True) for error in level]
    assert all(bar["low"] == bar["answer"] == bar["high"] for bar in bars)
    assert chart["title"]["subtitle"][-1] == "with 95 % confidence"
    axis = chart["layer"][0]["encoding"]["x"]["title"]
    assert axis == "± of one count"


def test_risks_show_what_they_tell(run: Run, charts: list[Chart]) -> None:
    """Each adversary has a curve and a label with the δ of the table, at the ε that is asked for."""
    words = ("risk", "--size", "100", "--rate", "10%", "--noise", "laplace", "--scale", "3", "--epsilon", "0.2")
    told = run(*words, "--plot", "curves.svg", "--json").object
    (chart,) = charts
    texts = [layer["encoding"]["text"]["value"] for layer in chart["layer"] if layer["mark"]["type"] == "text"]
    for adversary in told["adversaries"]:
        assert adversary["adversary"] in texts
        assert any(
            abs(float(text.removeprefix("δ = ")) / adversary["delta"] - 1) < 0.01 for text in texts if "δ" in text
        )
    assert "ε = 0.2" in texts
    dots = marks(chart, chart, "point")
    assert [dot["epsilon"] for (dot,) in dots] == [0.2] * len(told["adversaries"])
    assert [dot["delta"] for (dot,) in dots] == pytest.approx([each["delta"] for each in told["adversaries"]])
