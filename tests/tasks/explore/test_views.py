"""Each number of a chart is what the library's own function gives."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given

from noisycount.analysis.evaluation.evaluation import mean_absolute_error
from noisycount.analysis.posterior.posterior import posterior
from noisycount.analysis.privacy.privacy_curve import privacy_curve
from noisycount.analysis.utility import utility_loss
from noisycount.charts.plot_picture import ChartView
from noisycount.errors import NoisyCountError
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.populations.binomial import Binomial
from noisycount.model.populations.known import Known
from noisycount.model.subsampling import Subsample
from noisycount.tasks.explore.sliders import Sliders
from noisycount.tasks.explore.views import FLOOR, VIEWS, chart_json, view
from tests.helpers.cases import examples
from tests.helpers.random_sliders import sliders

START = Sliders()
SAMPLED = Sliders(size=500, sample=Fraction(1, 5), scale=Fraction(3))
GAUSSIAN = Sliders(noise="gaussian", size=100, scale=Fraction(2))
PLACES = pytest.mark.parametrize("placed", [START, SAMPLED, GAUSSIAN], ids=["start", "sampled", "gaussian"])


def points(shown: ChartView, name: str) -> list[tuple[float, float]]:
    """Give the points of a line."""
    line = shown.plot.panels[0].line(name)
    return list(zip(line.xs, line.ys, strict=True))


@PLACES
def test_posterior_is_the_librarys(placed: Sliders) -> None:
    """Each point is P[K = k] before and after the answer."""
    shown, told = (view("posterior", placed), posterior(placed.answer, placed.sample_count, placed.added_noise))
    before = placed.sample_count.law()
    for count, chance in points(shown, "after, from both together"):
        assert chance == told.pmf(count)
    for count, chance in points(shown, "before, from the rate alone"):
        assert chance == before.pmf(count)
    low, high = told.interval(0.95)
    assert shown.band == (low - 0.5, high + 0.5)
    assert f"from {low} to {high} with 95 % probability" in shown.sentence


def test_answer_alone_adds_up_to_one() -> None:
    """The likelihood is a distribution over the range, with its maximum at the answer."""
    shown = view("posterior", START)
    alone = dict(points(shown, "what the answer alone says"))
    assert max(alone, key=alone.__getitem__) == START.answer
    assert alone[START.answer] == pytest.approx(1 / 20, rel=0.05)  # 1/(2·scale)


@PLACES
def test_errors_are_the_librarys(placed: Sliders) -> None:
    """The error at the mark is the mean absolute error of the noise of the sliders."""
    shown = view("error", placed)
    own = dict(points(shown, "the answer itself"))[shown.marks[0].x]
    assert own == mean_absolute_error(placed.sample_count, placed.added_noise, "answer")


def test_refined_errors_are_the_librarys() -> None:
    """Each error is the mean absolute error at the noise of that ε, refined or not."""
    shown = view("error", START)
    answer = dict(points(shown, "the answer itself"))
    guess = dict(points(shown, "no answer, the rate alone"))
    for epsilon, error in answer.items():
        noise = DiscreteLaplace(1 / epsilon)
        assert error == pytest.approx(mean_absolute_error(START.sample_count, noise, "answer"), rel=1e-9)
    for epsilon, error in points(shown, "refined by the public rate (mean)"):
        noise = DiscreteLaplace(1 / epsilon)
        assert error == pytest.approx(mean_absolute_error(START.sample_count, noise, "mean"), rel=1e-9)
        assert error < guess[epsilon]
        assert error < 1.1 * answer[epsilon]  # the mean is not the least absolute error


def test_guess_is_the_deviation_of_the_count() -> None:
    """Without any answer the error is the mean absolute deviation of the count."""
    (_, error), *_ = points(view("error", START), "no answer, the rate alone")
    law = Binomial(1000, 0.1).law()
    assert error == pytest.approx(sum(law.pmf(k) * abs(k - 100) for k in range(1001)), rel=1e-6)


def test_gaussian_noise_has_an_epsilon_at_a_delta() -> None:
    """Each error of Gaussian noise belongs to an ε at δ = 1e-6."""
    shown = view("error", GAUSSIAN)
    assert shown.marks[0].x == pytest.approx(privacy_curve(Gaussian(2)).epsilon(1e-6), rel=1e-9)
    for epsilon, error in points(shown, "the answer itself")[:2]:
        scale = error / (2 / 3.141592653589793) ** 0.5
        assert privacy_curve(Gaussian(scale)).delta(epsilon) == pytest.approx(1e-6, rel=1e-3)


@PLACES
def test_deltas_are_the_librarys(placed: Sliders) -> None:
    """Each point is δ(ε) against that adversary, cut at the smallest that is drawn."""
    shown, size = view("delta", placed), placed.size
    sample = placed.is_sampled
    mechanism = Subsample(placed.sample_size, placed.added_noise) if sample else placed.added_noise
    population = Binomial(size, 0.1)
    held = population.given(size // 2, size // 20)
    known = {
        "knows all other records": Known(size) if sample else None,
        f"knows {size // 2} records": held,
        "knows no record": population,
    }
    assert [line.name for line in shown.lines] == list(known)
    for name, outsider in known.items():
        curve = privacy_curve(mechanism, outsider)
        for epsilon, delta in points(shown, name)[::4]:
            assert delta == pytest.approx(max(FLOOR, curve.delta(epsilon)), rel=1e-9)
        assert points(shown, name)[0][0] == 0


@PLACES
def test_utility_is_the_librarys(placed: Sliders) -> None:
    """Errors are roots of the utility loss, guesses (1 + δ(0))/2, scale by scale."""
    shown = view("utility", placed)
    population = Binomial(placed.size, 0.1)
    (own,) = shown.marks
    assert own.x == utility_loss(placed.scenario.mechanism, population) ** 0.5 * placed.size
    everything = Known(placed.size) if placed.is_sampled else None
    for scale in (placed.scale / 4, placed.scale * 8):
        moved = replace(placed, scale=scale)
        error = utility_loss(moved.scenario.mechanism, population) ** 0.5 * placed.size
        guess = dict(points(shown, "knows all other records"))[error]
        delta = privacy_curve(moved.scenario.mechanism, everything).delta(0.0)
        assert guess == pytest.approx((1 + delta) / 2, rel=1e-9)


def test_parts_of_the_error_are_kept_apart() -> None:
    """Privacy noise and sampling error are told each by itself, and add up as squares."""
    words = view("utility", SAMPLED).sentence
    assert "21.1 records of privacy noise and 13.4 records of sampling error" in words
    assert "sampling error" not in view("utility", START).sentence


@examples(40)
@given(sliders())
def test_every_place_has_a_posterior_and_a_sentence(placed: Sliders) -> None:
    """No place of the sliders is without the chart that needs the least time."""
    shown = view("posterior", placed)
    assert shown.sentence.endswith(".")
    assert all(row[0] >= 0 for row in shown.rows())


def test_what_takes_too_long_is_left_out_and_said() -> None:
    """A line that no page may wait for is named, with what computes it instead."""
    wide = Sliders(size=10**6, noise="gaussian", sample=Fraction(1, 5))
    assert "noisycount.mean_absolute_error of the library computes it" in view("error", wide).note
    for name in ("delta", "utility"):
        shown = view(name, wide)
        assert len(shown.lines) == 2
        assert "noisycount risk --size 1000000 --rate 0.1 --noise gaussian" in shown.note
    assert all(not view(name, START).note for name in VIEWS)


@pytest.mark.parametrize("name", VIEWS)
def test_table_and_wire_hold_every_number(name: str) -> None:
    """Every drawn number is also in the table and in the JSON, with units."""
    shown = view(name, START)
    drawn = {point for line in shown.lines for point in zip(line.xs, line.ys, strict=True)}
    said = chart_json(name, START, shown)
    assert drawn == {point for line in said["lines"] for point in zip(line["x"], line["y"], strict=True)}
    numbers = {cell for row in shown.rows() for cell in row if not isinstance(cell, str)}
    assert {number for point in drawn for number in point} == numbers
    assert len(shown.header) == len(next(iter(shown.rows())))
    assert said["sliders"] == START.texts


def test_unknown_chart_is_refused() -> None:
    """A name of no chart is told which there are."""
    with pytest.raises(NoisyCountError, match=r"^chart must be posterior, error, delta or utility"):
        view("histogram", START)
