"""Tests of `cli/risk.py` and `readers/assumption.py`."""

import math
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import noisycount as nc
from noisycount.analysis.utility import utility_loss
from noisycount.display.numbers import at_least, at_most
from tests.helpers.commands import Refused, Run, configure

RECORDS = ("--size", "1000", "--rate", "10%")
OUTSIDE = nc.Binomial(1000, 0.1)
EPSILON = ("--epsilon", "0.01")
WORST, PARTLY, OUTSIDER = "worst case", "partly informed", "distribution only"


def words_of(run: Run, *words: str) -> str:
    """Run `risk`, and return its output on a single line."""
    told = run("risk", *words)
    assert (told.status, told.errors) == (0, "")
    assert max(map(len, told.output.splitlines())) <= 80
    return told.words


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("noise", "law"),
    [
        (("laplace", "--scale", "3"), nc.Laplace(3.0)),
        (("gaussian", "--scale", "3"), nc.Gaussian(3.0)),
        (("discrete-laplace", "--scale", "20/3"), nc.DiscreteLaplace(Fraction(20, 3))),
        (("discrete-gaussian", "--scale", "3"), nc.DiscreteGaussian(3)),
        (("none",), nc.Exact()),
    ],
)
def test_every_noise_gives_its_curves(run: Run, noise: tuple[str, ...], law: nc.Mechanism) -> None:
    """The figures are those of the library, to the last digit, for each of three adversaries."""
    words = ("risk", *RECORDS, "--noise", *noise, "--known", "400", *EPSILON, "--json")
    told = run(*words).object
    curves = [nc.privacy_curve(law, who) for who in (None, OUTSIDE.given(400, 40), OUTSIDE)]
    assert [each["adversary"] for each in told["adversaries"]] == [WORST, PARTLY, OUTSIDER]
    for each, curve in zip(told["adversaries"], curves, strict=True):
        assert each["delta"] == curve.delta(0.01)
        low, high = curve.bracket(0.01)
        assert each["bracket"] == [low, min(high, 1)]
        assert each["guess"] == (1 + curve.delta(0.0)) / 2
        usual = curve.epsilon(1e-6)
        assert each["usual_epsilon"] == (usual if math.isfinite(usual) else None)
    assert told["utility_loss"] == utility_loss(law, OUTSIDE)
    assert told["standard_error"] == pytest.approx(1000 * math.sqrt(told["utility_loss"]))
    assert told["mechanism"].lower().replace(" ", "-") == noise[0]
    assert told["scale"] == (noise[2] if len(noise) > 1 else None)
    assert (told["known"], told["known_positives"]) == (400, 40)
    assert (told["size"], told["rate"], told["epsilon"]) == (1000, 0.1, "0.01")


@pytest.mark.few(0)
@pytest.mark.parametrize("noise", [("none",), ("gaussian", "--scale", "2")])
def test_a_sample_is_of_all_records(run: Run, noise: tuple[str, ...]) -> None:
    """The worst case then knows the size; noise goes on top; the error is scaled up."""
    law = nc.Subsample(100, nc.Gaussian(2.0) if len(noise) > 1 else None)
    told = run("risk", *RECORDS, "--sample", "100", "--noise", *noise, *EPSILON, "--json").object
    deltas = [nc.privacy_curve(law, who).delta(0.01) for who in (nc.Known(1000), OUTSIDE)]
    assert [each["delta"] for each in told["adversaries"]] == deltas
    assert told["standard_error_share"] == math.sqrt(utility_loss(law, OUTSIDE))
    assert told["sample"] == 100
    assert told["overlapping_delta"] is None
    words = words_of(run, *RECORDS, "--sample", "100", "--noise", *noise, *EPSILON)
    assert "the count among 100 records drawn at random" in words
    assert "scaled up from the sample" in words
    assert "but one" not in words


@pytest.mark.thorough
def test_positives_that_are_known_may_be_told(run: Run) -> None:
    """Without noise on all records they matter; left out they are what the rate leads to expect."""
    words = ("risk", *RECORDS, "--sample", "50", "--noise", "none", "--known", "400", *EPSILON)
    told = [
        run(*words, "--json", *more).object["adversaries"][1]["delta"]
        for more in ((), ("--known-positives", "40"), ("--known-positives", "0"))
    ]
    assert told[0] == told[1] == nc.privacy_curve(nc.Subsample(50), OUTSIDE.given(400, 40)).delta(0.01)
    assert told[2] == nc.privacy_curve(nc.Subsample(50), OUTSIDE.given(400, 0)).delta(0.01)
    assert told[2] != told[0]


@pytest.mark.thorough
def test_groups_have_rates_of_their_own(run: Run, here: Path) -> None:
    """δ is that of the kind of record that is hidden worst."""
    (here / "towns.csv").write_text("size,rate\n300,0.1\n200,0.4\n")
    words = ("--strata", "towns.csv", "--noise", "gaussian", "--scale", "4", "--epsilon", "0.05")
    told = run("risk", *words, "--json").object
    population = nc.Strata([300, 200], [0.1, 0.4])
    assert told["adversaries"][1]["delta"] == nc.privacy_curve(nc.Gaussian(4.0), population).delta(0.05)
    assert (told["size"], told["groups"], told["rate"]) == (500, 2, None)
    assert "only if the rates are right. Treat anybody who may know more as the worst case." in words_of(run, *words)


@pytest.mark.parametrize(
    ("noise", "epsilon"),
    [
        (("laplace", "--scale", "3"), Fraction(1, 3)),
        (("discrete-laplace", "--scale", "6.67"), Fraction(100, 667)),
        (("gaussian", "--scale", "3"), Fraction(1)),
        (("none",), Fraction(1)),
    ],
)
def test_epsilon_is_by_default_that_of_the_noise(run: Run, noise: tuple[str, ...], epsilon: Fraction) -> None:
    """1/scale for Laplace noise, which then hides every record with δ = 0; else 1."""
    told = run("risk", *RECORDS, "--noise", *noise, "--json").object
    assert Fraction(told["epsilon"]) == epsilon
    if "laplace" in noise[0]:
        assert [each["delta"] for each in told["adversaries"]] == [0, 0]
        assert {each["meaning"] for each in told["adversaries"]} == {told["odds"]}


def test_delta_is_told_as_what_is_true(run: Run) -> None:
    """The odds hold, or the person is given away with probability δ, rounded up; never less."""
    words = (*RECORDS, "--noise", "gaussian", "--scale", "3", *EPSILON)
    told = run("risk", *words, "--json").object
    for each in told["adversaries"]:
        shown = at_most(each["delta"])
        assert each["delta"] <= float(shown) <= each["delta"] * 1.01
        assert each["meaning"] == (
            "a 50:50 guess about one person becomes at most 51:49, or the person is given away "
            f"with probability {shown}"
        )
    said = words_of(run, *words)
    assert "given away with probability δ (above) guess how often" in said
    assert said.count("given away") == 1
    assert [at_most(each["delta"]) for each in told["adversaries"]] == ["0.129", "0.0356"]


@pytest.mark.thorough
def test_noise_with_an_epsilon_keeps_to_it_in_every_case(run: Run) -> None:
    """Nobody is ever given away at a price of 0.15: 54:46 bounds each guess; said once for all."""
    words = (*RECORDS, "--price", "0.15", "--known", "400", "--epsilon", "0.05")
    told = run("risk", *words, "--json").object
    in_no_case = ", and in no case does the guess become more than 54:46"
    for each in told["adversaries"]:
        assert each["delta"] > 0
        assert each["meaning"].endswith(in_no_case)
    said = words_of(run, *words)
    assert said.count("more than 54:46") == said.count("given away") == 1
    assert "right after the answer, 50:50 before; it is rounded up, as δ and ε are" in said
    gaussian = words_of(run, *RECORDS, "--noise", "gaussian", "--scale", "3", *EPSILON)
    assert "in no case" not in gaussian
    enormous = words_of(run, *RECORDS, "--price", "15", "--epsilon", "1")
    assert "in no case" not in enormous


@pytest.mark.thorough
def test_dependent_records_have_no_bound_but_that_of_the_worst_case(run: Run) -> None:
    """At an uncertain rate an outsider can have more than the ε of the noise."""
    words = ("--size", "1000", "--rate", "1.7%±0.6%", "--price", "0.1", "--known", "300")
    told = run("risk", *words, "--epsilon", "0.05", "--json").object
    bounded = ["in no case" in each["meaning"] for each in told["adversaries"]]
    assert bounded == [True, False, False]
    said = words_of(run, *words, "--epsilon", "0.05")
    assert "both others a 50:50 guess about one person becomes at most 52:48, or the pe" in said


@pytest.mark.thorough
@pytest.mark.parametrize(("price", "guess"), [("0.15", "53.75 %"), ("0.1", "52.50 %")])
def test_a_guess_is_rounded_up(run: Run, price: str, guess: str) -> None:
    """1/(1 + e^−ε), 0.537430 and 0.524979, is never told to be less."""
    words = ("--size", "5912", "--rate", "1.7%", "--price", price)
    exact = run("risk", *words, "--json").object["adversaries"][0]["guess"]
    assert exact == pytest.approx(1 / (1 + math.exp(-float(price))), rel=1e-9)
    assert f"│ {guess} │" in words_of(run, *words)
    assert exact * 100 <= float(guess.removesuffix(" %"))


def test_without_noise_the_worst_case_learns_everything(run: Run) -> None:
    """δ = 1 at every ε, and the table says what that means."""
    words = (*RECORDS, "--noise", "none", *EPSILON)
    worst = run("risk", *words, "--json").object["adversaries"][0]
    assert (worst["delta"], worst["guess"]) == (pytest.approx(1, abs=1e-12),) * 2
    assert worst["usual_epsilon"] is None
    told = words_of(run, *words)
    assert "learns everything: without noise, the known records leave this one" in told
    assert "│ worst case │ all other records │ 1 │ 100.00 % │ none │" in told


def test_what_holds_only_for_those_who_know_little_is_said(run: Run) -> None:
    """Each line below the worst case names who it is about."""
    words = (*RECORDS, "--noise", "gaussian", "--scale", "3", *EPSILON)
    outside = words_of(run, *words)
    assert "“distribution only” only against an adversary who knows no single record;" in outside
    assert "only if the rate is right. Treat anybody who may know more as the worst case." in outside
    assert "“partly informed”" not in outside
    partly = words_of(run, *words, "--known", "400")
    assert "“partly informed” only against one who knows those 400 records and no other" in partly
    one = words_of(run, *words, "--known", "1")
    assert "only against one who knows that record and no other" in one
    assert "│ 1 record │" in one


def test_two_answers_are_never_added_up(run: Run) -> None:
    """The difference of two overlapping answers has the δ of two noises, for every adversary."""
    words = (*RECORDS, "--noise", "gaussian", "--scale", "3", *EPSILON)
    told = run("risk", *words, "--json").object
    twice = nc.privacy_curve(nc.NoiseSum([nc.Gaussian(3.0)] * 2)).bracket(0.01)[0]
    assert told["overlapping_delta"] == twice
    assert twice > told["adversaries"][1]["bracket"][1]
    said = words_of(run, *words)
    assert "δ of “distribution only” must not be added up over them" in said
    assert f"against every adversary, δ is at least {at_least(twice)}." in said
    bare = words_of(run, *RECORDS, "--noise", "none", *EPSILON)
    assert "their difference is that person alone: against every adversary, δ is at least" in bare


def test_two_overlapping_answers_betray_an_outsider(run: Run) -> None:
    """Enumerated for 100 records of rate 1/2: answers with and without the first record."""
    told = run(
        *("risk", "--size", "100", "--rate", "50%", "--noise", "discrete-laplace", "--scale", "2"),
        *("--epsilon", "0.1", "--json"),
    ).object
    counts, answers = np.arange(100), np.arange(-60, 161)
    others = np.exp([math.log(math.comb(99, k)) - 99 * math.log(2) for k in counts])
    noise = np.exp(-np.abs(answers[:, None] - counts) / 2) * math.tanh(1 / 4)
    moved = np.exp(-np.abs(answers[:, None] - counts - 1) / 2) * math.tanh(1 / 4)
    without, counted = (first @ (others[:, None] * noise.T) for first in (noise, moved))
    both = np.maximum(0, counted - math.exp(0.1) * without).sum()
    assert told["adversaries"][1]["delta"] < told["overlapping_delta"] < both


def test_a_bound_that_tells_nothing_is_left_out(run: Run) -> None:
    """Three records hide each other less than the two noises do."""
    words = ("--size", "3", "--rate", "50%", "--noise", "laplace", "--scale", "2", *EPSILON)
    assert "is that person and the noise alone." in words_of(run, *words)


@pytest.mark.thorough
@pytest.mark.parametrize("deviation", ["3%", "0.1%"])
def test_an_outsider_may_learn_more_than_the_worst_case(run: Run, deviation: str) -> None:
    """At an uncertain rate records depend: δ is never clamped, and a line says so."""
    words = ("--size", "1000", "--rate", f"10%±{deviation}", "--noise", "gaussian", "--scale", "10")
    told = run("risk", *words, "--epsilon", "0.1", "--json").object
    worst, outsider = (each["delta"] for each in told["adversaries"])
    population = nc.BetaBinomial.from_rate(1000, 0.1, float(deviation.strip("%")) / 100)
    assert outsider == nc.privacy_curve(nc.Gaussian(10.0), population).delta(0.1)
    assert (outsider > worst) == (deviation == "3%")
    assert told["beyond_worst"] == ([OUTSIDER] if deviation == "3%" else [])
    said = words_of(run, *words, "--epsilon", "0.1")
    assert ("δ of “distribution only” exceeds that of the worst case" in said) == (outsider > worst)
    assert "Whoever may know more" not in said


def test_what_is_told_fits(run: Run) -> None:
    """In 80 columns each adversary has one line of the table."""
    told = run("risk", *RECORDS, "--noise", "laplace", "--scale", "3", "--known", "400", *EPSILON)
    assert (told.status, told.errors) == (0, "")
    assert max(map(len, told.output.splitlines())) <= 80
    rows = [line.split("│")[1:-1] for line in told.output.splitlines() if line.startswith("│")]
    assert [[cell.strip() for cell in row[:2]] for row in rows] == [
        [WORST, "all other records"],
        [PARTLY, "400 records"],
        [OUTSIDER, "no record"],
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["svg", "PNG"])
def test_the_plot_is_one_file(run: Run, here: Path, ending: str) -> None:
    """The picture is written where it is asked for, names its lines, and the table is told too."""
    before = set(here.iterdir())
    words = (*RECORDS, "--noise", "laplace", "--scale", "3", "--known", "400", *EPSILON)
    told = run("risk", *words, "--plot", f"curves.{ending}")
    assert told.output.splitlines()[:-1] == run("risk", *words).output.splitlines()
    assert told.output.splitlines()[-1].split() == ["file", f"curves.{ending}"]
    (plot,) = set(here.iterdir()) - before
    assert plot.name == f"curves.{ending}"
    if ending == "PNG":
        assert plot.read_bytes().startswith(b"\x89PNG")
    else:
        texts = {element.text for element in ET.parse(plot).iter()}  # noqa: S314  (our own file)
        assert {WORST, PARTLY, OUTSIDER, "ε = 0.01", "δ = 0.150"} <= texts
        assert "1,000 records; the count, with Laplace noise of scale 3" in texts


@pytest.mark.thorough
@pytest.mark.parametrize(
    "words",
    [
        ("--size", "2", "--rate", "50%", "--noise", "none"),
        ("--size", "2", "--rate", "0.0000001%", "--noise", "laplace", "--scale", "2"),
        ("--size", "1000000", "--rate", "30%", "--noise", "discrete-laplace", "--scale", "1"),
        ("--size", "1000", "--rate", "10%±5%", "--noise", "laplace", "--scale", "1000"),
        ("--size", "50", "--rate", "10%", "--sample", "50", "--noise", "none"),
        ("--size", "1000", "--rate", "10%", "--noise", "gaussian", "--scale", "0.1"),
        ("--size", "1000", "--rate", "10%", "--noise", "gaussian", "--scale", "1e6"),
    ],
)
def test_every_curve_can_be_drawn(run: Run, here: Path, words: tuple[str, ...]) -> None:
    """Lines that never fall, that are far below, or far longer than the others."""
    for epsilon in ("1e-6", "30"):
        assert run("risk", *words, "--epsilon", epsilon, "--plot", "plot.svg", "--json").object["adversaries"]
        assert (here / "plot.svg").read_text(encoding="utf-8").startswith("<svg")


def test_a_price_is_the_noise_of_a_count(run: Run) -> None:
    """A price has the risk of the noise that it buys, at its own ε."""
    priced = run("risk", *RECORDS, "--price", "0.15", "--json").object
    noise = ("--noise", "discrete-laplace", "--scale", "20/3")
    assert priced == run("risk", *RECORDS, *noise, "--json").object
    assert (priced["epsilon"], priced["scale"]) == ("0.15", "20/3")


@pytest.mark.thorough
def test_an_old_answer_is_the_start(run: Run, here: Path) -> None:
    """By its key: its price, what was asked, and the public size of its data set."""
    configure(here, 'unit = "person"\nsize = 5912')
    words = ("count", "survey", "--where", "health = 'poor'", "--epsilon", "0.15", "--json")
    paid = run(*words).object
    told = run("risk", "--key", paid["key"], "--rate", "1.7%", "--json").object
    assert (told["key"], told["size"], told["scale"]) == (paid["key"], 5912, "20/3")
    shown = words_of(run, "--key", paid["key"][:8], "--rate", "1.7%")
    assert f"key {paid['answer']:,} was answered on" in shown
    assert "is paid for: health = 'poor' in survey assumed each of 5,912" in shown
    other = run("risk", "--key", paid["key"], "--size", "900", "--rate", "10%", "--json").object
    assert other["size"] == 900


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (
            ("--noise", "gaussian", "--scale", "3", *EPSILON),
            "δ at ε = 0.01: 0.129 worst case, 0.0356 distribution only",
        ),
        (("--price", "0.5"), "ε at δ = 1e-6: 0.500 worst case, "),
    ],
)
def test_the_number_that_differs_comes_first(run: Run, words: tuple[str, ...], first: str) -> None:
    """δ, or where it is the same for everybody the ε of a usual δ."""
    assert words_of(run, *RECORDS, *words).startswith(f"reveals {first}")


NOISE = ("--noise", "laplace", "--scale", "3")


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ((*RECORDS,), "give one of --price 0.15, --key KEY, --noise none"),
        ((*RECORDS, "--noise", "laplace"), "a kind of --noise with its --scale, such as --noise"),
        ((*RECORDS, "--noise", "none", "--scale", "3"), "--noise none, or a kind of"),
        ((*RECORDS, *NOISE, "--price", "1"), "give one of --price 0.15, --key KEY"),
        ((*RECORDS, "--price", "1", "--key", "a"), "give either --price or --key, not both"),
        ((*RECORDS, "--key", "a"), "--key 'a': an abbreviated key needs at least 6 characters"),
        ((*RECORDS, "--key", "abcdef"), "--key 'abcdef': the ledger has no such key"),
        ((*RECORDS, "--noise", "cauchy", "--scale", "3"), "is not one of 'laplace', 'gaussian'"),
        ((*RECORDS, "--noise", "laplace", "--scale", "0"), "such as 10 or 20/3, got '0'"),
        ((*NOISE, "--size", "9"), "give --rate too, the chance that each person or row is counted"),
        ((*NOISE, *RECORDS, "--strata", "s.csv"), "give either --size and --rate, such as"),
        ((*RECORDS, *NOISE, "--epsilon", "0"), "between 1e-9 and 1e6, got '0'"),
        ((*RECORDS, *NOISE, "--epsilon", "-1"), "between 1e-9 and 1e6, got '-1'"),
        ((*RECORDS, *NOISE, "--sample", "1001"), "--sample 1001 exceeds the number of records, 1000"),
        ((*RECORDS, *NOISE, "--sample", "0"), "'--sample': must be a whole number of records from"),
        ((*RECORDS, *NOISE, "--known", "1000"), "--known 1000 covers all of the 1000 records: g"),
        ((*RECORDS, *NOISE, "--known", "0"), "'--known': must be a whole number of records from 1"),
        ((*RECORDS, *NOISE, "--known-positives", "3"), "--known-positives needs --known: give the number"),
        (
            (*RECORDS, *NOISE, "--known", "9", "--known-positives", "10"),
            "--known-positives 10 exceeds --known 9: give at most that many",
        ),
        ((*RECORDS, *NOISE, "--known", "9", "--known-positives", "-1"), "records from 0 to 2**53"),
        ((*RECORDS, *NOISE, "--plot", "p.pdf"), "must end in .svg or .png, got 'p.pdf'"),
        ((*RECORDS, *NOISE, "--plot", "no/p.svg"), "'no/p.svg' cannot be written (No such"),
        *(
            (
                ("--size", "1000", "--rate", rate, *NOISE),
                f"--rate {typed} makes the property certain, and nothing about it can",
            )
            for rate, typed in (("0", "0%"), ("100%", "100%"), ("1", "100%"))
        ),
        (("--strata", "certain.csv", *NOISE), "no record can differ in a property that is certain"),
        (
            ("--strata", "towns.csv", *NOISE, "--known", "10"),
            "--known needs --size and --rate: --strata does not say in which stratum",
        ),
    ],
)
def test_a_risk_is_asked_for_in_one_way(refused: Refused, here: Path, words: tuple[str, ...], remedy: str) -> None:
    """A refusal is a single line with the remedy; a certain record cannot be hidden."""
    (here / "certain.csv").write_text("size,rate\n60,0\n40,1\n")
    (here / "towns.csv").write_text("size,rate\n60,0.2\n40,0.5\n")
    assert remedy in refused("risk", *words)
