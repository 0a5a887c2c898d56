"""Tests of `cli/refine.py`, `tasks/refine/estimate.py` and `tasks/refine/pictures.py`."""

import math
import re
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import noisycount as nc
from noisycount.charts.chart import build_picture
from noisycount.charts.picture_svg import picture_svg
from tests.helpers.commands import Run

SURVEY = ("--size", "5912", "--rate", "1.7%")
NOISE = ("--epsilon", "0.15")


@pytest.mark.parametrize(
    ("kind", "answer", "law"),
    [
        ("laplace", 101.25, nc.Laplace(6.5)),
        ("gaussian", 101.25, nc.Gaussian(6.5)),
        ("discrete-laplace", 101, nc.DiscreteLaplace(6.5)),
        ("discrete-gaussian", 101, nc.DiscreteGaussian(6.5)),
    ],
)
def test_every_noise_gives_its_posterior(run: Run, kind: str, answer: float, law: nc.Mechanism) -> None:
    """The numbers are those of the library, to the last digit, and name the noise."""
    words = ("refine", str(answer), *SURVEY, "--noise", kind, "--scale", "6.5", "--json")
    told, expected = run(*words).object, nc.posterior(answer, nc.Binomial(5912, 0.017), law)
    assert told["mean"] == expected.mean
    assert told["median"] == expected.median
    assert told["interval"] == list(expected.interval())
    assert told["standard_deviation"] == math.sqrt(expected.variance)
    assert told["surprise"] == expected.surprise
    assert told["mechanism"].lower().replace(" ", "-") == kind
    assert told["scale"] == "6.5"
    assert told["epsilon"] == (None if "gaussian" in kind else "2/13")


def test_epsilon_is_noise_of_its_scale(run: Run) -> None:
    """ε is what `noisycount count` releases: discrete Laplace of scale 1/ε, exactly."""
    scaled = ("--noise", "discrete-laplace", "--scale", "20/3")
    told = run("refine", "107", *SURVEY, *NOISE, "--json").object
    assert told == run("refine", "107", *SURVEY, *scaled, "--json").object
    assert (told["scale"], told["epsilon"]) == ("20/3", "0.15")


def test_answers_at_two_prices_are_refined_together(run: Run, here: Path) -> None:
    """Each with its own noise; their average is weighted by one over the variance."""
    words = ("refine", "88", "90", *SURVEY, "--epsilon", "0.1", "--epsilon", "0.05")
    told = run(*words, "--json").object
    noises = [nc.DiscreteLaplace.for_epsilon("0.1"), nc.DiscreteLaplace.for_epsilon("0.05")]
    law = nc.posterior([88, 90], nc.Binomial(5912, 0.017), noises)
    assert (told["mean"], told["interval"]) == (law.mean, list(law.interval()))
    shares = [1 / noise.variance for noise in noises]
    assert told["answer"] == pytest.approx((88 * shares[0] + 90 * shares[1]) / sum(shares))
    assert told["answer_deviation"] == pytest.approx(sum(shares) ** -0.5)
    assert (told["epsilon"], told["mechanism"], told["scale"]) == (None, None, None)
    assert [noise["epsilon"] for noise in told["noises"]] == ["0.1", "0.05"]
    shown = run(*words, "--plot", "p.svg").words
    assert "88 with noise of ε = 0.1; 90 with noise of ε = 0.05" in shown
    assert "of the weighted average of the answers" in shown
    assert "the answer is the weighted average of 2" in (here / "p.svg").read_text()


@pytest.mark.parametrize("rate", ["0.3±0.02", "30%±2%", "30% ± 2 %", "0.3+-0.02", "0.3+/-0.02", ".3 ± 2%"])
def test_an_uncertain_rate_is_written_in_many_ways(run: Run, rate: str) -> None:
    """After ± stands the standard deviation of the rate, which has a beta law."""
    told = run("refine", "310", "--size", "1000", "--rate", rate, *NOISE, "--json").object
    population = nc.BetaBinomial.from_rate(1000, 0.3, 0.02)
    noise = nc.DiscreteLaplace.for_epsilon(0.15)
    assert told["mean"] == nc.posterior(310, population, noise).mean
    assert (told["rate"], told["rate_deviation"]) == (0.3, 0.02)
    assert told["expected_deviation"] == math.sqrt(population.law().variance)


def test_a_rate_without_deviation_is_certain(run: Run) -> None:
    """±0 is the same as nothing."""
    told = [
        run("refine", "310", "--size", "1000", "--rate", rate, *NOISE, "--json").object for rate in ("30%", "30%±0%")
    ]
    assert told[0] == told[1]


@pytest.mark.parametrize("size", [(), ("--size", "5000")])
def test_groups_have_rates_of_their_own(run: Run, here: Path, size: tuple[str, ...]) -> None:
    """A file of sizes and rates is a population; a size that agrees is no contradiction."""
    (here / "towns.csv").write_text("town,rate,size\nA,0.1,2000\nB,2e-1,3000\n")
    told = run("refine", "780", "--strata", "towns.csv", *size, *NOISE, "--json").object
    noise = nc.DiscreteLaplace.for_epsilon(0.15)
    assert told["mean"] == nc.posterior(780, nc.Strata([2000, 3000], [0.1, 0.2]), noise).mean
    assert (told["size"], told["groups"], told["rate"]) == (5000, 2, None)
    words = run("refine", "780", "--strata", "towns.csv", *NOISE).output
    assert "5,000 records, each with the rate of its group (of 2): 800.0" in words


def test_several_answers_give_one_estimate(run: Run) -> None:
    """Each answer has noise of its own; the raw answer to compare with is their average."""
    law = ("--noise", "gaussian", "--scale", "8")
    told = run("refine", "101.5", "96", "-3.25", *SURVEY, *law, "--json").object
    expected = nc.posterior([101.5, 96, -3.25], nc.Binomial(5912, 0.017), [nc.Gaussian(8)] * 3)
    assert told["mean"] == expected.mean
    assert told["answers"] == [101.5, 96, -3.25]
    assert told["answer"] == pytest.approx(64.75)
    assert told["answer_deviation"] == pytest.approx(8 / math.sqrt(3))
    words = run("refine", "101.5", "96", "-3.25", *SURVEY, *law).output
    assert "answers    101.5, 96, −3.25, with Gaussian noise of scale 8" in words
    assert "of the average of the answers" in words


@pytest.mark.thorough
@pytest.mark.parametrize("answer", ["-5", "−5", "-5.0", "-0.5e1"])
def test_a_minus_is_no_option(run: Run, answer: str) -> None:
    """Negative answers stand before, between and behind options, also as they are printed."""
    expected = run("refine", "--json", *SURVEY, *NOISE, "--", "-5").object
    assert run("refine", answer, *SURVEY, *NOISE, "--json").object == expected
    assert run("refine", *SURVEY, answer, *NOISE, "--json").object == expected
    assert run("refine", *SURVEY, *NOISE, "--json", answer).object == expected
    assert "answer     −5" in run("refine", answer, *SURVEY, *NOISE).output
    assert expected["interval"][0] >= 0


def test_the_level_is_that_of_the_interval(run: Run) -> None:
    """A lower level gives the narrower interval of that probability."""
    told = run("refine", "107", *SURVEY, *NOISE, "--level", "50%", "--json").object
    expected = nc.posterior(107, nc.Binomial(5912, 0.017), nc.DiscreteLaplace.for_epsilon(0.15))
    assert (told["level"], told["interval"]) == (0.5, list(expected.interval(0.5)))
    words = run("refine", "107", *SURVEY, *NOISE, "--level", "50%").output
    assert "with 50 % probability" in words


def test_what_is_told_fits_and_compares(run: Run) -> None:
    """In 80 columns: what was assumed, the answer, three estimates, and what the rate gained."""
    told = run("refine", "107", *SURVEY, *NOISE)
    assert (told.status, told.errors) == (0, "")
    assert max(map(len, told.output.splitlines())) <= 80
    lines = [" ".join(line.split()) for line in told.output.splitlines()]
    assert lines == [
        "assumed each of 5,912 counts with a chance of 1.7 %: 100.5 expected, standard",
        "deviation 9.9",
        "answer 107, with noise of ε = 0.15",
        "mean 104.6 (least squared error)",
        "median 105 (least absolute error)",
        "interval 91 to 116 with 95 % probability",
        "deviation 6.1, against 9.4 of the answer alone",
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["svg", "SVG", "png"])
def test_the_plot_is_one_file(run: Run, here: Path, ending: str) -> None:
    """The picture is written where it is asked for, and nothing else; the estimate is told."""
    before = set(here.iterdir())
    told = run("refine", "107", "99", *SURVEY, *NOISE, "--plot", f"three.{ending}")
    assert "mean" in told.output
    assert told.output.splitlines()[-1].split() == ["file", f"three.{ending}"]
    (plot,) = set(here.iterdir()) - before
    assert plot.name == f"three.{ending}"
    if ending == "png":
        assert plot.read_bytes().startswith(b"\x89PNG")
    else:
        texts = {element.text for element in ET.parse(plot).iter()}  # noqa: S314  (our own file)
        assert "dashed line: the answer, 103 records" in texts
        assert "5,912 records; the answer is the average of 2" in texts


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("answer", "population"),
    [
        ("0", ("--size", "1", "--rate", "0")),
        ("-1e9", ("--size", "3", "--rate", "50%")),
        ("300000000123", ("--size", "1000000000000", "--rate", "30%±1%")),
    ],
)
def test_every_count_can_be_drawn(run: Run, here: Path, answer: str, population: tuple[str, ...]) -> None:
    """Far answers and narrow posteriors are drawn too."""
    told = run("refine", answer, *population, *NOISE, "--plot", "plot.svg", "--json")
    assert told.object["interval"]
    assert (here / "plot.svg").read_text(encoding="utf-8").startswith("<svg")


def test_a_plot_is_the_chart_of_the_posterior(run: Run, here: Path) -> None:
    """The command line and a notebook share one definition, to the last character."""
    words = ("refine", "107", "--size", "5912", "--rate", "1.7%", "--epsilon", "0.15")
    assert run(*words, "--plot", "told.svg").status == 0
    told = nc.posterior(107, nc.Binomial(5912, 0.017), nc.DiscreteLaplace.for_epsilon(Fraction("0.15")))
    assert (here / "told.svg").read_text(encoding="utf-8") == picture_svg(build_picture(told))


def warning(run: Run, *words: str) -> str:
    """The warning about an answer; it stands in the words as in the object."""
    told = run("refine", *words, *NOISE, "--json").object
    assert told["surprise"] < 1e-3
    assert f"warning {told['warning']}" in run("refine", *words, *NOISE).words
    return str(told["warning"])


@pytest.mark.parametrize("answer", ["101", "60", "145"])
def test_an_answer_that_was_to_be_expected_is_no_warning(run: Run, answer: str) -> None:
    """Around the 100.5 expected nothing is said."""
    told = run("refine", answer, *SURVEY, *NOISE, "--json").object
    assert told["surprise"] >= 1e-3
    assert told["warning"] is None
    assert "warning" not in run("refine", answer, *SURVEY, *NOISE).output


@pytest.mark.few(1)
@pytest.mark.parametrize("answer", ["180", "35", "250", "700"])
def test_the_suggested_rate_makes_the_answer_unsurprising(run: Run, answer: str) -> None:
    """Asked again as suggested there is no warning; a digit less would not do."""
    told = warning(run, answer, *SURVEY)
    found = re.search(r"such as (1\.7%±([\d.]+)%)", told)
    assert found is not None
    again = run("refine", answer, "--size", "5912", "--rate", found[1], *NOISE, "--json").object
    assert again["surprise"] >= 0.05
    deviation = float(found[2]) / 100
    smaller = deviation - float(f"1e{f'{deviation:e}'.partition('e')[2]}")
    if smaller > 0:
        population = nc.BetaBinomial.from_rate(5912, 0.017, smaller)
        told_then = nc.posterior(int(answer), population, nc.DiscreteLaplace.for_epsilon(0.15))
        assert told_then.surprise < 0.05


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("250", "--size", "5912", "--rate", "1.7%±0.3%"),
            "if the rate is 1.7 % ± 0.3 %: check the rate, or say how much more .* such as 1.7%±2%",
        ),
        *(
            ((answer, "--size", "5912", "--rate", rate), "check the rate, the size and the noise$")
            for answer, rate in (("5000", "0%"), ("9000", "100%"), ("-1e9", "30%"), ("1e300", "1.7%"))
        ),
        (("101", "300", *SURVEY), "^one of several answers this far from the 101 expected has a prob"),
        (("300", "--strata", "towns.csv"), "if the rates hold: check the sizes and rates of the groups$"),
        (("1000000", *SURVEY), "has a probability of less than 1e-300 if"),
    ],
)
def test_a_warning_suggests_what_may_help(run: Run, here: Path, words: tuple[str, ...], told: str) -> None:
    """A wider rate, the file of the groups, or nothing but a check; of several answers for the farthest."""
    (here / "towns.csv").write_text("size,rate\n1000,0.01\n2000,0.02\n")
    assert re.search(told, warning(run, *words))


def test_the_warning_has_numbers(run: Run) -> None:
    """The warning has the expected count, the probability, the rate, and a rate that fits."""
    assert warning(run, "180", *SURVEY) == (
        "an answer this far from the 101 expected has a probability of 0.00002 if the rate is "
        "1.7 %: check the rate, or say how uncertain it is, such as 1.7%±0.6%"
    )
