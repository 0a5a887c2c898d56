"""The pictures of a plan, of a forecast and of risks hold the numbers that their commands print."""

from pathlib import Path

import pytest

import noisycount as nc
from noisycount.charts.picture import BandMark, BarMarks, CurveMark, DotMarks, Picture, SpanMarks, TextMark
from noisycount.tasks import pictures
from tests.helpers.commands import Run, here, run
from tests.helpers.picture_marks import marks_of

__all__ = ["here", "run"]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Picture]:
    """Collect the pictures that are saved from now on."""
    saved: list[Picture] = []

    def keep(picture: Picture, file: Path) -> None:
        saved.append(picture)
        file.touch()

    monkeypatch.setattr(pictures, "save_picture", keep)
    return saved


@pytest.mark.parametrize("words", ["--error 15", "--within 20% --guess 100", "--error 30 --queries 10"])
def test_a_plan_shows_what_it_tells(run: Run, drawn: list[Picture], words: str) -> None:
    """The band is ±error around the guess and half a record wider; curves are of half, once and twice its ε."""
    plan = run("plan", *words.split(), "--plot", "plan.svg", "--json").object
    ((picture,), centre) = drawn, float(plan["guess"] or 0)
    answers, goals = picture.frames
    (band,), (dots,) = marks_of(answers, BandMark), marks_of(answers, DotMarks)
    assert (band.low, band.high) == (centre - plan["error"] - 0.5, centre + plan["error"] + 0.5)
    assert len(dots.points) == 50
    epsilon = float(plan["epsilon"])
    for factor, curve in zip((0.5, 1, 2), marks_of(goals, CurveMark), strict=True):
        for confidence, error in (curve.points[0], curve.points[-1]):
            assert error == pytest.approx(nc.relative_error(1, confidence, factor * epsilon), rel=1e-9)
    (goal,) = marks_of(goals, DotMarks)
    queries = 10 if "10" in words.split() else 1
    expected = 0.95 ** (1 / queries), float(words.split()[1].rstrip("%"))
    assert list(goal.points) == [pytest.approx(expected, rel=1e-12)]


@pytest.mark.parametrize("delta", [(), ("--delta", "1e-6")], ids=["one noise", "two noises"])
def test_a_forecast_shows_what_it_tells(run: Run, drawn: list[Picture], delta: tuple[str, ...]) -> None:
    """A bar a level and noise, as long as its ± and without a line, in the order of the table."""
    words = ("plan", "--cells", "town=16,sex=2", "--margins", "town,total", "--epsilon", "1", *delta)
    told = run(*words, "--plot", "plan.svg", "--json").object
    (picture,) = drawn
    (frame,) = picture.frames
    errors = [level["error"] for plan in told["plans"] for level in plan["levels"]]
    assert sorted(value for bars in marks_of(frame, BarMarks) for value, _ in bars.rows) == sorted(errors)
    for plan, bars in zip(told["plans"], marks_of(frame, BarMarks), strict=True):
        assert [value for value, _ in bars.rows] == [level["error"] for level in plan["levels"]]
    assert all(low == high for spans in marks_of(frame, SpanMarks) for low, high, _ in spans.rows)
    assert picture.notes[-1] == "with 95 % confidence"
    assert frame.x.axis.label == "± of one count"


def test_risks_show_what_they_tell(run: Run, drawn: list[Picture]) -> None:
    """Each adversary has a curve and a label with the δ of the table, at the ε that is asked for."""
    words = ("risk", "--size", "100", "--rate", "10%", "--noise", "laplace", "--scale", "3", "--epsilon", "0.2")
    told = run(*words, "--plot", "curves.svg", "--json").object
    (picture,) = drawn
    (frame,) = picture.frames
    texts = [text.text for text in marks_of(frame, TextMark)]
    for adversary in told["adversaries"]:
        assert adversary["adversary"] in texts
        assert any(
            abs(float(text.removeprefix("δ = ")) / adversary["delta"] - 1) < 0.01 for text in texts if "δ" in text
        )
    assert "ε = 0.2" in texts
    points = [point for dots in marks_of(frame, DotMarks) for point in dots.points]
    assert [epsilon for epsilon, _ in points] == [0.2] * len(told["adversaries"])
    assert [delta for _, delta in points] == pytest.approx([each["delta"] for each in told["adversaries"]])
