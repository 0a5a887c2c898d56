"""Tests of `cli/plan.py` and `tasks/plan.py`."""

import math
import os
import re
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisycount as nc
from noisycount.ledger.budget import largest_epsilon_within
from noisycount.model.concentrated import rho_within
from noisycount.tasks.plan import Dots
from tests.helpers.commands import Refused, Run, configure

GOAL = ("plan", "--within", "20%", "--guess", "100")


def test_a_plan_keeps_its_promise(run: Run) -> None:
    """The price of ±20 % of 100 keeps the discrete noise within ±20 with at least 95 %."""
    told = run(*GOAL, "--json").object
    epsilon = float(Fraction(told["epsilon"]))
    outside = 2 * math.exp(-21 * epsilon) / (1 + math.exp(-epsilon))
    assert told["error"] == 20
    assert told["reached"] == pytest.approx(1 - outside, abs=1e-12)
    assert told["reached"] >= told["confidence"] == 0.95
    assert told["formula"] == pytest.approx(-math.log(0.05) / 20)
    assert told["formula"] < epsilon
    assert told["negative"] == pytest.approx(math.exp(-101 * epsilon) / (1 + math.exp(-epsilon)))
    assert (told["budget"], told["affordable"], told["dataset"]) == ("2", 13, None)


def test_a_plan_without_a_guess_is_a_price_for_each_count(run: Run) -> None:
    """On average not much more than for somebody who knows the count; at most a half, unless it is said."""
    told = run("plan", "--within", "20%", "--json").object
    assert (told["at_most"], told["error"], told["affordable"]) == ("0.5", 9, 4)
    assert [price["count"] for price in told["prices"]] == [100, 1000, 10_000]
    for price in told["prices"]:
        assert price["known"] < price["mean"] < 1.1 * price["known"]
    assert run("plan", "--within", "20%", "--at-most", "1/2", "--json").object == told
    words = run("plan", "--within", "20%", "--at-most", "2").output
    assert "within ±20 % of the count with 95 % confidence, for ε = 2 at most" in words
    assert "on average 0.16 for a count of 100 (0.15 if the count were known)" in words
    assert "2 pays for at least 1 such answer\n" in words


def test_a_plan_says_all_that_it_found(run: Run) -> None:
    """Goal, ε, scale, errors at four confidences, answers below 0, odds, budget, fifty dots."""
    told = run(*GOAL).output
    for part in (
        "goal      within ±20 % of about 100, that is ±20, with 95 % confidence",
        "ε         0.15  (continuous noise: 0.1498)",
        "noise     discrete Laplace, scale 20/3 ≈ 6.67",
        "error     ±5 (50 %), ±15 (90 %), ±20 (95 %), ±31 (99 %)",
        "reached   ±20 with 95.3 % confidence",
        "negative  an answer below 0 has a probability of 1.42e-7 if the count is 100",
        "privacy   a 50:50 guess about one person becomes at most 54:46",
        "budget    2 pays for 13 such answers",
        "Fifty possible answers if the count is 100, each as likely as the others",
    ):
        assert part in told
    assert told.count("●") == 50
    assert max(map(len, told.splitlines())) <= 80


def test_several_answers_keep_their_promise_together(run: Run) -> None:
    """Ten answers are all within ±15 with 95 %, and the price is told for one and for all."""
    words = ("plan", "--error", "15", "--confidence", "95%", "--queries", "10")
    told = run(*words, "--json").object
    noise = nc.DiscreteLaplace.for_epsilon(Fraction(told["epsilon"]))
    assert told["reached"] == pytest.approx(1 - nc.failure_probability(noise, 16, 10))
    assert told["reached"] >= 0.95
    assert (told["epsilon"], told["total"], told["affordable"]) == ("0.36", "3.6", 5)
    assert told["guess"] is told["negative"] is told["possible_answers"] is None
    shown = run(*words).output
    assert "all 10 answers within ±15 with 95 % confidence" in shown
    assert "0.36 an answer, 3.6 together" in shown
    assert "2 pays for 5 such answers, not for 10" in shown
    assert "all 10 answers, ε = 3.6: a 50:50 guess about one person becomes at most 98:2" in " ".join(shown.split())
    assert "Fifty possible errors" in shown


def test_an_epsilon_tells_what_it_gives(run: Run) -> None:
    """The smallest error at the confidence, as records and as a share of the guess."""
    words = ("plan", "--epsilon", "0.1", "--guess", "100")
    told = run(*words, "--json").object
    assert told["error"] == nc.accuracy(nc.DiscreteLaplace(10), 1 - 0.95) - 1 == 30
    assert told["formula"] is told["within"] is None
    shown = run(*words).output
    assert "accuracy at ε = 0.1" in shown
    assert "±30, 30 % of about 100, with 95.2 % confidence" in shown


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--epsilon", "3", "--guess", "5"), "±1, 20 % of about 5, with"),  # not the 21 % above the float 0.2
        (("--epsilon", "0.1", "--guess", "70"), "±30, 43 % of about 70, with"),
        (("--error", "15.5"), "within ±15.5, that is ±15, with 95 % confidence"),
        ((*GOAL[1:], "--budget", "0.3"), "0.3 pays for 2"),
        ((*GOAL[1:], "--budget", "1/7"), "1/7 pays for no"),
    ],
)
def test_numbers_are_taken_as_they_are_written(run: Run, words: tuple[str, ...], part: str) -> None:
    """A share is rounded up, an error to whole records; 0.3 pays twice for 0.15."""
    assert part in run("plan", *words).output


@pytest.mark.parametrize("epsilon", ["14.6", "500", "1e6"])
def test_no_guess_is_ever_certain(run: Run, epsilon: str) -> None:
    """At a large ε the odds are more than what can be read, and not 100 to 0."""
    told = run("plan", "--epsilon", epsilon, "--queries", "2").words
    assert "becomes more than 99.9999:0.0001; all 2 answers, ε = " in told
    assert "100:0" not in told


def test_an_absolute_goal_is_a_relative_one(run: Run) -> None:
    """±20 and ±20 % of 100 have one price; with a guess the rest is told too."""
    relative, absolute = run(*GOAL, "--json"), run("plan", "--error", "±20", "--json")
    assert relative.object["epsilon"] == absolute.object["epsilon"]
    guessed = run("plan", "--error", "20", "--guess", "100", "--json").object
    assert guessed["negative"] == relative.object["negative"]
    assert guessed["possible_answers"] == relative.object["possible_answers"]


@pytest.mark.parametrize(("guess", "told"), [("100.5", "100"), ("101.5", "102"), ("0.4", "0")])
def test_a_guess_is_rounded_in_one_way(run: Run, guess: str, told: str) -> None:
    """A share is of the guess itself; what is about a count is about one whole number."""
    shown = run("plan", "--epsilon", "0.1", "--guess", guess).words
    assert f"% of about {guess}, with" in shown
    assert f"if the count is {told} privacy" in shown
    assert f"answers if the count is {told}," in shown


@pytest.mark.parametrize("within", ["20%", "0.2", "±20 %", "+.2", "20.0%"])
def test_a_share_is_written_in_many_ways(run: Run, within: str) -> None:
    """Per cent and fractions of one are the same goal."""
    goal = ("--guess", "100", "--confidence", "0.95", "--json")
    assert run("plan", "--within", within, *goal).object["epsilon"] == "0.15"


def test_possible_answers_are_quantiles_of_the_noise(run: Run) -> None:
    """The k-th of fifty is the smallest value with P[Y <= y] >= (2k − 1)/100."""
    told = run(*GOAL, "--json").object
    noise = nc.DiscreteLaplace.for_epsilon(Fraction(told["epsilon"]))
    assert [answer - 100 for answer in told["possible_answers"]] == told["possible_errors"]
    for rank, error in enumerate(told["possible_errors"]):
        level = (2 * rank + 1) / 100
        above, before = (math.exp(noise.log_exceedance(error + step)) for step in (1, 0))
        assert 1 - above >= level - 1e-12 or error < 0
        assert 1 - before <= level + 1e-12 or error > 0
    assert told["possible_errors"] == [-error for error in reversed(told["possible_errors"])]


def test_a_plan_reads_no_data_and_makes_no_file(run: Run, here: Path) -> None:
    """A plan in an empty folder leaves it empty."""
    (here / "survey.parquet").unlink()
    assert run(*GOAL).status == 0
    assert list(here.parent.rglob("*.*")) == []


def test_an_old_answer_is_a_guess(run: Run, here: Path) -> None:
    """By its key or the beginning of it; the plan says where the guess comes from."""
    configure(here)
    words = ("count", "survey", "--where", "age > 40", "--epsilon", "1", "--json")
    paid = run(*words).object
    for key in (paid["key"], paid["key"][:8]):
        told = run("plan", "--within", "10%", "--guess-from", key, "--json").object
        assert told["guess"] == paid["answer"]
    shown = run("plan", "--within", "10%", "--guess-from", paid["key"]).words
    assert f"within ±10 % of about {paid['answer']:,}" in shown
    assert re.search(r"was answered on \d{4}-\d\d-\d\d and is paid for: age > 40.0 in survey", shown)


def test_what_is_left_of_a_budget_pays(run: Run, here: Path) -> None:
    """Before the first question the whole budget, then what is left of it; to nothing."""
    configure(here, 'budget = "1"')
    words = (*GOAL, "--dataset", "survey")
    assert "1 is left of survey: it pays for 6 such answers" in run(*words).output
    assert not (here / "ledger.db").exists()
    run("count", "survey", "--where", "age > 40", "--epsilon", "0.8")
    assert run(*words, "--json").object["affordable"] == 1
    run("count", "survey", "--where", "age > 50", "--epsilon", "0.2")
    assert "0 is left of survey: it pays for no such answer" in run(*words).output


APPROXIMATE = 'unit = "person"\nbudget = { epsilon = "2", delta = "1e-6" }'
GAUSSIAN = ("--by", "health", "--keys", "health=good,poor", "--groups-per-unit", "1", "--rho", "0.01")


@pytest.mark.thorough
def test_a_budget_at_a_delta_pays_by_the_sums_of_the_ledger(run: Run, here: Path) -> None:
    """In ε until Gaussian noise is among the answers, and then in ρ: as many as are answered."""
    configure(here, APPROXIMATE)
    words = ("plan", "--epsilon", "0.1", "--dataset", "survey")
    cheap = run("plan", "--epsilon", "0.01", "--dataset", "survey", "--json").object
    most = rho_within(Fraction(2), Fraction(5, 10**7))
    assert cheap["affordable"] == most // Fraction(1, 20_000) > 200
    run("count", "survey", "--where", "age > 40", "--epsilon", "0.2")
    told = run(*words, "--json").object
    assert (told["budget"], told["affordable"], told["dataset"]) == ("1.8", 18, "survey")
    left = largest_epsilon_within(most - Fraction(2, 100))
    assert Fraction(told["left_in_rho"]) == left < Fraction(9, 5)
    shown = run(*words).words
    assert "the next may cost up to 1.8 of survey (budget ε = 2 at δ = 1e-06, 5e-07 of" in shown
    assert "it pays for 18 such answers hint an answer with Gaussian noise, however cheap" in shown
    assert f"the next may cost up to {float(left):.9g} at most" in shown
    assert run("count", "survey", *GAUSSIAN).status == 0
    told = run(*words, "--json").object
    answers = (most - Fraction(3, 100)) // Fraction(1, 200)
    assert (told["affordable"], told["left_in_rho"]) == (answers, None)
    assert "hint" not in run(*words).output
    for bound in range(answers + 1):
        asked = ("count", "survey", "--where", f"age > {bound}", "--epsilon", "0.1")
        assert (run(*asked).status == 0) == (bound < answers)


def test_budgets_without_gaussian_noise_have_no_hint(run: Run, here: Path) -> None:
    """Budgets in ε, in ρ, or without a δ for noise have no hint about ρ."""
    for budget in ('"2"', '{ rho = "0.1" }', '{ epsilon = "2", delta = "1e-6", for_keys = "1e-6" }'):
        configure(here, f"budget = {budget}")
        told = run("plan", "--epsilon", "0.1", "--dataset", "survey", "--json").object
        assert told["left_in_rho"] is None
    assert told["affordable"] == 20


def test_a_table_tells_what_each_noise_leaves(run: Run, here: Path) -> None:
    """Of a budget that was named: after Laplace noise the ε, after Gaussian noise the ρ."""
    configure(here, APPROXIMATE)
    cells = ("plan", "--cells", "health=5", "--delta", "1e-7", "--dataset", "survey")
    told = run(*cells, "--epsilon", "0.5", "--json").object
    by_noise = dict(zip([one["mechanism"] for one in told["plans"]], told["left_after"], strict=True))
    most = rho_within(Fraction(2), Fraction(5, 10**7))
    spent = rho_within(Fraction(1, 2), Fraction(1, 10**7))
    after = largest_epsilon_within(most - spent)
    assert (told["dataset"], told["left"], by_noise["discrete Laplace"]) == ("survey", "2", "1.5")
    assert Fraction(by_noise["discrete Gaussian"]) == after
    shown = run(*cells, "--epsilon", "0.5").words
    assert "the next may cost up to 2 of survey (budget ε = 2 at δ = 1e-06" in shown
    assert f"after this table with discrete Gaussian noise: up to {float(after):.9g}" in shown
    assert run(*cells, "--epsilon", "3", "--json").object["left_after"] == [None, None]
    assert "not possible, as the price exceeds the remaining budget" in " ".join(
        run(*cells, "--epsilon", "3").output.split()
    )
    configure(here, 'budget = "2"')
    refused = run(*cells, "--epsilon", "0.5").words
    assert "not possible, as a budget in ε alone pays for no Gaussian noise" in refused
    bare = run("plan", "--cells", "health=5", "--epsilon", "1", "--json").object
    assert (bare["dataset"], bare["left"], bare["left_after"]) == (None, None, None)


@pytest.mark.few(0)
@pytest.mark.parametrize(
    ("words", "title"),
    [
        (GOAL, "answer if the count is 100, records"),
        (("plan", "--error", "15", "--queries", "10"), "error, records"),
        (("plan", "--epsilon", "20", "--guess", "7"), "answer if the count is 7, records"),
    ],
)
def test_a_plan_is_drawn(run: Run, here: Path, words: tuple[str, ...], title: str) -> None:
    """Fifty dots and three lines of equal ε, in an SVG; and a PNG by its ending."""
    shown = run(*words, "--plot", "plan.svg").output
    assert ["file", "plan.svg"] in [line.split() for line in shown.splitlines()]
    root = ET.parse(here / "plan.svg").getroot()  # noqa: S314 - the file is our own
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {title, "confidence", "error ±, records", "What other goals cost"} <= texts
    assert {"50 %", "99 %"} <= texts
    assert sum(text is not None and text.startswith("ε = ") for text in texts) == 3
    run(*words, "--plot", "plan.png")
    assert (here / "plan.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ((), "give one goal: --within 20%, or --error 15, or --epsilon 0.1"),
        (("--within", "20%", "--at-most", "1", "--guess", "100"), "--at-most goes with --within below 100%"),
        (("--error", "15", "--at-most", "1"), "--at-most goes with --within below 100%"),
        (("--within", "20%", "--queries", "3"), "--at-most goes with --within below 100%"),
        (("--within", "20%", "--at-most", "1/2", "--plot", "a.svg"), "--plot needs a guess of the count: give --guess"),
        (("--within", "20%", "--plot", "a.svg"), "--plot needs a guess of the count: give --guess"),
        ((*GOAL[1:], "--error", "15"), "give one goal"),
        ((*GOAL[1:], "--epsilon", "1"), "give one goal"),
        ((*GOAL[1:], "--guess-from", "abc"), "give either --guess or --guess-from, not both"),
        ((*GOAL[1:], "--budget", "1", "--dataset", "x"), "give either --budget or --dataset"),
    ],
)
def test_a_plan_has_one_goal(refused: Refused, words: tuple[str, ...], remedy: str) -> None:
    """None, half of one, two at once, or two guesses: the message leads to the help."""
    message = refused("plan", *words)
    assert remedy in message
    assert message.endswith("; see `noisycount plan --help`\n")


@pytest.mark.parametrize(
    ("option", "value", "remedy"),
    [
        *(("--error", value, "such as 15") for value in ("0", "-3", "nan", "inf", "", "1e3", "many")),
        ("--error", "15%", "for a share use --within"),
        *(("--queries", value, "such as 10") for value in ("0", "-1", "1.5", "ten", "", "1e3")),
        *(("--budget", value, "between 1e-9 and 1e6") for value in ("0", "-1", "nan", "")),
        ("--epsilon", "0", "between 1e-9 and 1e6"),
        ("--plot", "plan.pdf", ".svg or .png"),
    ],
)
def test_values_that_cannot_be_are_refused(refused: Refused, option: str, value: str, remedy: str) -> None:
    """The option, its value and the remedy, in one line."""
    goal = () if option in {"--error", "--epsilon"} else ("--error", "15")
    message = refused("plan", *goal, option, value)
    assert f"'{option}'" in message
    assert repr(value) in message
    assert remedy in message


@pytest.mark.parametrize("error", ["0.0000001", "9007199254740992"])
def test_an_error_beyond_every_price_is_refused(refused: Refused, error: str) -> None:
    """The message names the goal and the range of prices."""
    message = refused("plan", "--error", error)
    assert re.search(r"--error \S+ needs ε = \S+, outside 1e-9 to 1e6: choose another", message)


def test_keys_that_are_no_guess_are_refused(run: Run, refused: Refused, here: Path) -> None:
    """An unknown key, one too short to tell, and an answer that is not above 0."""
    configure(here, 'budget = "1000"')
    unknown = refused("plan", "--error", "9", "--guess-from", "abcdef")
    assert "the ledger has no such key" in unknown
    paid = run("count", "survey", "--where", "age > 400", "--epsilon", "900", "--json").object
    assert paid["answer"] == 0
    words = ("plan", "--error", "9", "--guess-from")
    assert "0 is no guess, as a guess is above 0" in refused(*words, paid["key"])
    assert "an abbreviated key needs at least 6 characters" in refused(*words, paid["key"][:3])
    assert "neither a file nor a data set" in refused("plan", "--error", "9", "--dataset", "sruvey")


@pytest.mark.parametrize(
    "words",
    [
        ("--epsilon", "1e-9", "--guess", "9007199254740992", "--queries", "9007199254740992"),
        ("--epsilon", "1e6", "--guess", "1e-300"),
        ("--error", "1", "--confidence", "99.9999999999999%"),
        ("--within", "100%", "--guess", "1", "--confidence", "0.0001%"),
        ("--epsilon", "1", "--confidence", "0.00000000000000000000000001"),
    ],
)
def test_extreme_plans_are_told(run: Run, words: tuple[str, ...]) -> None:
    """Legal values give numbers, within the terminal, and fifty dots."""
    told = run("plan", *words)
    assert (told.status, told.errors) == (0, "")
    assert "nan" not in told.output
    assert told.output.count("●") == 50
    assert max(map(len, told.output.splitlines())) <= 80
    assert "NaN" not in run("plan", *words, "--json").output


@pytest.mark.parametrize("columns", ["30", "60", "80", "100", "300"])
def test_a_plan_fits_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    """Dots and facts are as wide as the terminal at most, and as 100 columns."""
    monkeypatch.setenv("COLUMNS", columns)
    shown = run("plan", "--epsilon", "0.001", "--guess", "1000000").output
    dots = shown.partition("others\n")[2]
    assert max(map(len, dots.splitlines())) <= min(100, int(columns))


def test_threads_of_numpy_are_not_started(run: Run) -> None:
    """They take longer to start than a plan; who sets their number keeps it."""
    run(*GOAL)
    assert os.environ["OPENBLAS_NUM_THREADS"]


HALVES = st.lists(st.integers(0, 10**12), min_size=25, max_size=25)
COLUMNS = st.integers(5, 50)


def symmetric(half: list[int]) -> list[int]:
    """Errors and their mirror images, rising."""
    return sorted([*half, *(-error for error in half)])


@given(half=HALVES, most=COLUMNS, centre=st.integers(-(10**12), 10**12))
def test_every_error_is_one_dot_in_its_column(half: list[int], most: int, centre: int) -> None:
    """No dot is lost, none is farther than half a column from its error, and there is room."""
    errors = symmetric(half)
    dots = Dots.from_errors(errors, centre, most)
    assert sum(dots.heights) == 50
    assert len(dots.heights) <= most
    assert dots.heights == dots.heights[::-1]
    middles = [(column - dots.reach) * dots.step for column, height in enumerate(dots.heights) for _ in range(height)]
    assert all(abs(error - middle) <= dots.step / 2 for error, middle in zip(errors, middles, strict=True))


@given(half=HALVES, most=COLUMNS, is_offset=st.booleans())
def test_the_text_shows_every_dot(half: list[int], most: int, *, is_offset: bool) -> None:
    """Fifty dots above an axis that has at least one label, all equally long below ten rows."""
    *rows, axis, labels = Dots.from_errors(symmetric(half), 7, most).lines(is_offset=is_offset)
    assert "".join(rows).count("●") == 50
    assert len(rows) <= 10
    assert set(axis) <= {"─", "┬"}
    assert max(map(len, rows)) <= len(axis)
    assert labels.strip()
    assert len(labels) <= max(len(axis) + 2, 20)


@given(half=HALVES, most=COLUMNS)
def test_dots_of_the_picture_do_not_overlap(half: list[int], most: int) -> None:
    """Places are distinct, a gap apart in each row, and centred on their columns."""
    dots = Dots.from_errors(symmetric(half), 0, most)
    assert len(set(dots.places)) == len(dots.places) == 50
    rows: dict[int, list[float]] = {}
    for value, level in dots.places:
        rows.setdefault(level, []).append(value)
    for values in rows.values():
        gaps = [after - before for before, after in pairwise(values)]
        assert all(gap >= dots.gap * (1 - 1e-9) for gap in gaps)
        assert sum(values) == pytest.approx(0, abs=1e-3 * dots.step)


def test_labels_stand_below_their_marks() -> None:
    """The middle of a label is under its mark, or half a character to its left."""
    errors = symmetric([0] * 10 + [3] * 8 + [6] * 5 + [9, 12])
    *_, axis, labels = Dots.from_errors(errors, 100, 30).lines(is_offset=False)
    marks = [place for place, mark in enumerate(axis) if mark == "┬"]
    found = [labels.index(label) + (len(label) - 1) // 2 for label in labels.split()]
    assert "100" in labels.split()
    assert set(found) <= set(marks)


def test_errors_have_signs() -> None:
    """Below no error a minus, above a plus."""
    *_, labels = Dots.from_errors(symmetric([0] * 20 + [5] * 5), 0, 30).lines(is_offset=True)
    assert labels.split()[0] == "−5"
    assert "0" in labels.split()
    assert labels.split()[-1] == "+5"


def test_many_dots_of_one_value_stand_abreast() -> None:
    """Fifty equal answers make five columns of ten."""
    *rows, axis, labels = Dots.from_errors([0] * 50, 7, 30).lines(is_offset=False)
    assert rows == ["●●●●●"] * 10
    assert (axis, labels.strip()) == ("──┬──", "7")


def test_columns_hold_equally_many_whole_numbers() -> None:
    """With each error from −24 to 24 once, and 0 twice, only the middle column stands out."""
    dots = Dots.from_errors(sorted([*range(-24, 25), 0]), 0, 20)
    assert dots.step == 3
    assert set(dots.heights[1:-1]) == {3, 4}
    assert dots.heights[dots.reach] == 4
