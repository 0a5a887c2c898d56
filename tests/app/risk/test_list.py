"""`risk --ledger`: what all answers about a data set show together."""

from pathlib import Path

import pytest

import noisycount as nc
from tests.app.conftest import Refused, Run, configure

POOR, OLD = "health = 'poor'", "health = 'poor' and age >= 40"
ATOMS = "rate,1,2\n0.1,1,1\n0.1,1,0\n0.8,0,0\n"
OUTSIDE = [0.1, 0.1, 0.8]


@pytest.fixture
def asked(here: Path, run: Run) -> Path:
    """A ledger with two questions, one of them asked at two prices."""
    configure(here, 'unit = "person"\nsize = 60')
    for where, price in ((POOR, "0.5"), (OLD, "0.5"), (POOR, "1")):
        told = run("count", "survey", "--where", where, "--epsilon", price)
        assert told.status == 0
    (here / "atoms.csv").write_text(ATOMS, encoding="utf-8")
    return here


def test_the_outsider_stands_beside_the_worst_case(asked: Path, run: Run) -> None:
    """The figures are those of `list_risk`, to the last digit."""
    words = ("risk", "--ledger", "survey", "--atoms", "atoms.csv", "--least", "2", "--json")
    told = run(*words).object
    noises = [nc.DiscreteLaplace.for_epsilon(price) for price in ("0.5", "0.5", "1")]
    atoms = nc.Atoms(60, OUTSIDE)
    risk = nc.list_risk(noises, atoms, [{0, 1}, {0}, {0, 1}], least=2)
    assert asked.name == "here"
    assert told["epsilon"] == "1"
    assert [one["question"] for one in told["answers"]] == [1, 2, 1]
    assert [one["price"] for one in told["answers"]] == ["0.5", "0.5", "1"]
    assert told["worst_case"] == pytest.approx(risk.worst(1.0), rel=1e-9)
    assert told["outsider"] == told["outsider_of_large_groups"]
    assert told["outsider"] == pytest.approx(risk.delta(1.0), rel=1e-9)
    assert told["outsider_led_by_answers"] == pytest.approx(risk.adaptive(1.0), rel=1e-9)
    assert told["outsider"] < told["outsider_led_by_answers"] < told["worst_case"]
    assert (told["given"], told["why"], told["tables"]) == (0, None, 0)


@pytest.mark.usefixtures("asked")
def test_it_is_told_to_people(run: Run) -> None:
    """In lines of 80 characters, with the questions by their numbers."""
    told = run(
        "risk", "--ledger", "survey", "--atoms", "atoms.csv", "--least", "7", "--epsilon", "0.1"
    )
    assert (told.status, told.errors) == (0, "")
    assert max(map(len, told.output.splitlines())) <= 80
    words = " ".join(told.output.split())
    assert (
        "list 3 answers to 2 different questions, survey 1 health = 'poor' 2 age >= 40.0" in words
    )
    assert "the ledger charges the worst case" in words
    assert "if the atoms were fixed before the first" in words


@pytest.mark.usefixtures("asked")
def test_small_groups_have_the_worst_case(run: Run) -> None:
    """A group below `--least` is given to the outsider, and the list refused: its worst case."""
    words = ("risk", "--ledger", "survey", "--atoms", "atoms.csv", "--least", "7")
    told = run(*words, "--json").object
    assert told["outsider"] == told["worst_case"] == told["outsider_led_by_answers"]
    assert told["given"] == pytest.approx(0.2)
    assert "fewer than 7 records" in told["cautions"]["small groups"]
    assert "the 20 % in small" in " ".join(run(*words).output.split())


@pytest.mark.usefixtures("asked")
def test_without_atoms_the_outsider_is_not_told(run: Run) -> None:
    """Questions that may overlap in any way have the worst case alone."""
    told = run("risk", "--ledger", "survey", "--rate", "20%", "--json").object
    assert told["outsider"] is None
    assert told["why"] == "2 questions may overlap in any way unless --atoms FILE tells how"
    assert 0 < told["worst_case"] < 1
    assert "not told" in run("risk", "--ledger", "survey").output


def test_one_question_needs_its_rate_alone(here: Path, run: Run) -> None:
    """Asked twice, at two prices; --size stands in for one that is not public."""
    configure(here)
    for price in ("0.1", "0.2"):
        run("count", "survey", "--where", POOR, "--epsilon", price)
    words = ("risk", "--ledger", "survey", "--rate", "20%", "--size", "300", "--json")
    told = run(*words).object
    noises = [nc.DiscreteLaplace.for_epsilon(price) for price in ("0.1", "0.2")]
    risk = nc.list_risk(noises, nc.Atoms.nested(300, [0.2]), [{0}, {0}])
    assert told["outsider"] == pytest.approx(risk.delta(0.2), rel=1e-9)
    assert told["worst_case"] == pytest.approx(risk.worst(0.2), rel=1e-9)


def test_tables_among_the_answers_leave_what_was_paid(here: Path, run: Run) -> None:
    """Of a table only its price is told: at the sum of all prices the worst case has δ = 0."""
    configure(here, 'unit = "person"')
    run("count", "survey", "--where", POOR, "--epsilon", "0.1")
    keys = ("--keys", "health=excellent,good,fair,poor,null", "--groups-per-unit", "1")
    assert run("count", "survey", "--by", "health", *keys, "--epsilon", "0.2").status == 0
    words = ("risk", "--ledger", "survey", "--rate", "20%", "--epsilon", "0.01", "--json")
    told = run(*words).object
    assert 0.1 < told["worst_case"] < 0.2
    assert (told["outsider"], told["tables"]) == (None, 1)


@pytest.mark.usefixtures("asked")
def test_what_cannot_be_told_is_refused(refused: Refused, here: Path) -> None:
    """One line names the option and the remedy."""
    words = ("risk", "--ledger", "survey")
    assert "goes with --size, --rate" in refused(*words, "--price", "0.1")
    assert "need --ledger NAME" in refused("risk", "--size", "9", "--rate", "5%", "--least", "3")
    assert "known: survey" in refused("risk", "--ledger", "nothing")
    (here / "bad.csv").write_text(ATOMS.replace("0.8", "0.7"), encoding="utf-8")
    assert "rates of atoms must add up to 1" in refused(*words, "--atoms", "bad.csv")
    (here / "bad.csv").write_text(ATOMS.replace("1,0", "1,2"), encoding="utf-8")
    assert "1 or 0" in refused(*words, "--atoms", "bad.csv")
    (here / "bad.csv").write_text("rate,1\n1,1\n", encoding="utf-8")
    assert "has no column '2'" in refused(*words, "--atoms", "bad.csv")


def test_nothing_asked_is_nothing_shown(here: Path, refused: Refused) -> None:
    """A ledger without an answer is refused, and none is made."""
    configure(here)
    assert "nothing was asked of it yet" in refused("risk", "--ledger", "survey")


def test_an_uncertain_rate_is_refused_with_the_reason(here: Path, run: Run) -> None:
    """Records of an uncertain rate depend on each other."""
    configure(here, "size = 300")
    run("count", "survey", "--where", POOR, "--epsilon", "0.1")
    told = run("risk", "--ledger", "survey", "--rate", "20%±2%")
    assert told.status == 2
    assert "depend on each other" in told.errors
    assert len(told.errors.splitlines()) == 1
    configure(here)
    assert "its size is not public" in run("risk", "--ledger", "survey", "--rate", "2%").errors
