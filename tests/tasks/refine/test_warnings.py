import re
from pathlib import Path

import pytest

import noisycount as nc
from tests.commands import Run

NOISE = ("--epsilon", "0.15")
SURVEY = ("--size", "5912", "--rate", "1.7%")


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
    found = re.search(r"such as --rate (1\.7%±([\d.]+)%)", told)
    assert found is not None
    again = run("refine", answer, "--size", "5912", "--rate", found[1], *NOISE, "--json").object
    assert again["surprise"] >= 0.05
    deviation = float(found[2]) / 100
    smaller = deviation - float(f"1e{f'{deviation:e}'.partition('e')[2]}")
    if smaller > 0:
        population = nc.BetaBinomial.from_rate(5912, 0.017, smaller)
        told_then = nc.posterior(int(answer), population, nc.DiscreteLaplace.for_epsilon(0.15))
        assert told_then.surprise < 0.05


def test_the_warning_has_numbers(run: Run) -> None:
    """What was expected, how likely the answer was, under which rate, and what to type."""
    assert warning(run, "180", *SURVEY) == (
        "an answer this far from the 101 expected has a probability of 0.00002 if the rate is "
        "1.7 %: check the rate, or say how uncertain it is, such as --rate 1.7%±0.6%"
    )


def test_an_uncertain_rate_may_be_too_sure(run: Run) -> None:
    """Where the rate has a deviation already, a wider one is suggested."""
    told = warning(run, "250", "--size", "5912", "--rate", "1.7%±0.3%")
    assert "if the rate is 1.7 % ± 0.3 %: check the rate, or say how much more" in told
    assert "such as --rate 1.7%±2%" in told


@pytest.mark.parametrize(("answer", "rate"), [("5000", "0%"), ("9000", "100%"), ("-1e9", "30%"), ("1e300", "1.7%")])
def test_no_rate_explains_what_cannot_be(run: Run, answer: str, rate: str) -> None:
    """For a certain rate, or an answer far outside, nothing is suggested that would not help."""
    told = warning(run, answer, "--size", "5912", "--rate", rate)
    assert told.endswith("check the rate, the size and the noise")


def test_one_of_several_answers_may_contradict(run: Run) -> None:
    """The answer that is farthest out is warned of."""
    told = warning(run, "101", "300", *SURVEY)
    assert told.startswith("one of several answers this far from the 101 expected has a prob")


def test_groups_are_warned_of_without_a_rate(run: Run, here: Path) -> None:
    """There is no one rate to widen, so the file is to be checked."""
    (here / "towns.csv").write_text("size,rate\n1000,0.01\n2000,0.02\n")
    told = warning(run, "300", "--strata", "towns.csv")
    assert told.endswith("if the rates hold: check the sizes and rates of the groups")


def test_the_smallest_probability_is_a_number(run: Run) -> None:
    """A probability below every float is said to be that."""
    told = warning(run, "1000000", *SURVEY)
    assert "has a probability of less than 1e-300 if" in told
