"""Tests of `charts/chart.py` and `charts/vega.py`."""

import math
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import noisycount as nc
from noisycount.charts.chart import build_picture
from noisycount.charts.picture import BarMarks, CurveMark, DotMarks, TextMark
from noisycount.charts.refinement import RefinementCurves
from noisycount.ledger.budget import Loss
from noisycount.release.results import Release
from tests.papers.test_papers import figure

LAW = nc.Binomial(5912, 0.017)


def shown(result: object) -> dict[str, Any]:
    """The chart of a result as Vega-Lite, which its schema accepts."""
    return dict(nc.chart(result).to_dict(validate=True))


def values(chart: dict[str, Any]) -> list[Any]:
    """The data of each layer of a chart of one panel."""
    return [layer["data"]["values"] for layer in chart["layer"]]


def test_a_posterior_is_shown_with_its_prior_and_its_answer() -> None:
    """Three panels; the first and the last curve are the laws at each count that is shown."""
    told = nc.posterior(107, LAW, nc.DiscreteLaplace(7))
    chart = shown(told)
    assert chart["title"] == {
        "fontSize": 19,
        "offset": 18,
        "subtitle": ["5,912 records"],
        "text": "What is the true count?",
    }
    prior, noisy, posterior = (
        next(layer["data"]["values"] for layer in panel["layer"] if layer["mark"]["type"] == "area")
        for panel in chart["vconcat"]
    )
    counts = [point["count"] for point in posterior]
    assert {107, told.median, *told.interval()} <= set(counts)
    assert [point["probability"] for point in posterior] == told.pmf(counts).tolist()
    assert [point["probability"] for point in prior] == LAW.law().pmf(counts).tolist()
    assert sum(point["probability"] for point in noisy) == pytest.approx(1, abs=1e-9)
    assert max(noisy, key=lambda point: point["probability"])["count"] == 107


@pytest.mark.parametrize(("law", "scale"), [(LAW, 7), (nc.Binomial(10**6, 0.3), 2000)])
def test_the_answer_alone_is_shown_by_its_likelihood(law: nc.Binomial, scale: int) -> None:
    """The curve of each count is the probability of that error, also where not all are shown."""
    answer = round(law.law().mean)
    curves = RefinementCurves.from_posterior(nc.posterior(answer, law, nc.DiscreteLaplace(scale)))
    errors = abs(np.array(curves.counts) - answer)
    chances = math.tanh(1 / (2 * scale)) * np.exp(-errors / scale)
    assert curves.noisy == pytest.approx(chances.tolist(), rel=0.01)


def test_several_answers_are_shown_by_their_average() -> None:
    """The heading says so."""
    told = nc.posterior([107, 90], LAW, [nc.DiscreteLaplace(7), nc.Gaussian(20)])
    chart = shown(told)
    assert chart["title"]["subtitle"] == ["5,912 records; the answer is the average of 2"]
    assert "the answer, 98.5 records" in str(chart["vconcat"][1]["title"])


@pytest.mark.thorough
@pytest.mark.parametrize("population", [None, nc.Binomial(1000, 0.1)])
def test_a_privacy_curve_is_shown_down_to_a_millionth(population: nc.Binomial | None) -> None:
    """Each point of the line is on the curve, from ε = 0 to where δ is 1e-6."""
    curve = nc.privacy_curve(nc.Gaussian(3), population)
    chart = shown(curve)
    line = max(values(chart), key=len)
    assert [point["delta"] for point in line[:-1]] == pytest.approx(
        [curve.delta(point["epsilon"]) for point in line[:-1]], rel=1e-9
    )
    assert (line[0]["epsilon"], line[-1]["delta"]) == (0, pytest.approx(1e-6, rel=1e-3))
    knows = "all other records" if population is None else "Binomial(size=1000, rate=0.1)"
    assert chart["title"]["subtitle"] == [f"Gaussian(scale=3.0), against an adversary who knows {knows}"]
    assert [layer for layer in chart["layer"] if layer["mark"]["type"] == "circle"] == []


def test_a_count_without_noise_is_a_flat_line() -> None:
    """No ε hides anything from whoever knows all other records."""
    line = max(values(shown(nc.privacy_curve(nc.Exact()))), key=len)
    assert {point["delta"] for point in line} == {1.0}


@pytest.mark.thorough
def test_a_figure_is_shown_as_on_its_page() -> None:
    """A figure has all its lines, and a notebook shows its picture with its claims."""
    drawn = figure("naldi2015.1")
    chart = shown(drawn)
    assert chart["title"]["text"] == drawn.title
    assert len(drawn.panels) == 1
    assert len([layer for layer in chart["layer"] if layer["mark"]["type"] == "line"]) == len(drawn.panels[0].lines)
    page = drawn._repr_html_()
    assert page.startswith("<svg")
    assert page.count("<li>") == len(drawn.claims) == 2
    assert "Holds in part." in page


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (3, r"^result must be a Posterior, .* got 3: give one of th"),
        (
            nc.posterior(3, nc.Binomial(10, 0.5), nc.Exact()),
            r"^mechanism must be noise that is added .* got Exact\(\)$",
        ),
        (SimpleNamespace(answer=3, mechanism=nc.Exact()), r"^mechanism must be noise that is added to the count"),
    ],
)
def test_what_has_no_chart_is_refused(result: object, why: str) -> None:
    """An object that is no result, and an exact answer, have no chart."""
    with pytest.raises(ValueError, match=why):
        nc.chart(result)


def release(answer: int, where: str = "age >= 65") -> Release:
    """An answer at ε = 0.15 that persons were counted for."""
    price = Fraction(3, 20)
    noise = nc.DiscreteLaplace.for_epsilon(price)
    return Release(answer, price, Loss.from_epsilon(price), Fraction(1), "survey", where, noise, "a key", "person")


def test_a_release_is_shown_by_its_likelihood() -> None:
    """The curve is the probability of the answer at each count; the band is ±error."""
    chart = shown(release(1012))
    assert chart["title"]["subtitle"] == [
        "age >= 65",
        "dashed line: the answer, 1,012 persons",
        "shaded: 992 to 1,032 persons, 95 % sure",
    ]
    band, curve, rule = values(chart)
    assert band == [{"count": 991.5, "end": 1032.5}]
    assert rule == [{"count": 1012}]
    counts = np.array([point["count"] for point in curve])
    exact = math.tanh(0.075) * np.exp(-0.15 * abs(counts - 1012))
    assert [point["chance"] for point in curve] == pytest.approx(exact.tolist())


@pytest.mark.parametrize(("answer", "interval"), [(-5, "0 to 15"), (-500, "0 to 0")])
def test_no_count_below_0_is_shown(answer: int, interval: str) -> None:
    """Though the answer may lie there."""
    chart = shown(release(answer))
    assert f"shaded: {interval} persons, 95 % sure" in chart["title"]["subtitle"]
    assert min(point["count"] for point in values(chart)[1]) == 0


def test_a_long_question_is_no_wider_than_the_chart() -> None:
    """It goes on in a second line."""
    where = "age >= 65 and health in ('poor', 'fair') and site = 4 and year between 1974 and 1980"
    first, second, *_ = shown(release(3, where))["title"]["subtitle"]
    assert f"{first} {second}" == where
    assert max(len(first), len(second)) <= 60


def table(*answers: int) -> Any:  # noqa: ANN401 - as charts see one
    """A published table of two groups of columns."""
    rows = [
        SimpleNamespace(labels=(site, sex), answer=answer, level="cells", error=9, error_of_all=14)
        for (site, sex), answer in zip(product((1, 2), "fm"), answers, strict=True)
    ]
    names = SimpleNamespace(names=("site", "sex"))
    return SimpleNamespace(answers=(answers,), labels=names, rows=rows, where=None, unit=None, confidence=0.95)


@pytest.mark.parametrize(
    "result",
    [
        nc.posterior(107, LAW, nc.DiscreteLaplace(3)),
        nc.privacy_curve(nc.DiscreteLaplace(3), LAW),
        nc.table_posterior([52, 3, -2, 8, 1], nc.DiscreteLaplace(5)),
        figure("naldi2015.2"),
        table(40, -3, 20, 7),
        release(1012),
    ],
    ids=["posterior", "privacy curve", "table posterior", "figure", "table", "answer"],
)
def test_an_altair_chart_shows_what_the_picture_shows(result: object) -> None:
    """Each mark of each frame is a layer with the same texts and numbers, and the schema accepts all."""
    chart, picture = shown(result), build_picture(result)
    assert (chart["title"]["text"], chart["title"]["subtitle"]) == (picture.title, list(picture.notes))
    for panel, frame in zip(chart.get("vconcat", [chart]), picture.frames, strict=True):
        assert len(panel["layer"]) == len(frame.marks)
        assert (panel["width"], panel["height"]) == frame.size
        layers = panel["layer"]
        texts = [layer["encoding"]["text"]["value"] for layer in layers if layer["mark"]["type"] == "text"]
        assert texts == [mark.text for mark in frame.marks if isinstance(mark, TextMark)]
        for layer, mark in zip(layers, frame.marks, strict=True):
            if isinstance(mark, CurveMark | DotMarks):
                assert [tuple(row.values())[:2] for row in layer["data"]["values"]] == list(mark.points)
            if isinstance(mark, BarMarks):
                assert [tuple(row.values())[:2] for row in layer["data"]["values"]] == list(mark.rows)
                assert {row.get("kind", "") for row in layer["data"]["values"]} == {mark.kind}


def test_the_kinds_of_bars_are_in_a_legend() -> None:
    """The column of the last key is its title."""
    bars = [layer for layer in shown(table(40, -3, 20, 7))["layer"] if layer["mark"]["type"] == "bar"]
    assert [bar["data"]["values"][0]["kind"] for bar in bars] == ["f", "m"]
    assert bars[0]["encoding"]["color"]["legend"]["title"] == "sex"
    assert bars[0]["encoding"]["color"]["scale"]["domain"] == ["f", "m"]
