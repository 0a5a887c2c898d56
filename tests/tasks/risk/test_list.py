"""`risk --ledger`: what all answers about a data set show together."""

import math
import shutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import noisycount as nc
from noisycount.analysis.privacy.bounds import pure_dp_delta
from noisycount.display.numbers import at_most
from noisycount.ledger.budget import Loss
from noisycount.ledger.ledger import Ledger
from noisycount.model.concentrated import delta_of_rho, epsilon_of_rho
from noisycount.tasks.risk_list import TotalLossSoFar
from tests.helpers.commands import Refused, Run, configure
from tests.helpers.ledgers import buy_again

POOR, OLD = "health = 'poor'", "health = 'poor' and age >= 40"
ATOMS = "rate,1,2\n0.1,1,1\n0.1,1,0\n0.8,0,0\n"
OUTSIDE = [0.1, 0.1, 0.8]


def paid(loss: Loss, rho_delta: Fraction | None) -> TotalLossSoFar:
    """Return the amount paid for counts, which is equal for both kinds of neighbours."""
    return TotalLossSoFar(loss, loss, rho_delta)


@pytest.fixture(scope="module", autouse=True)
def computed_once() -> Iterator[None]:
    """The δ of each list, which most tests tell in several forms."""
    found: dict[str, float] = {}

    def once(of: Callable[[nc.ListRisk, float], float]) -> Callable[[nc.ListRisk, float], float]:
        def kept(risk: nc.ListRisk, epsilon: float) -> float:
            key = f"{of.__name__} {risk._key_facts()} {epsilon!r}"  # noqa: SLF001 - what it is of
            if key not in found:
                found[key] = of(risk, epsilon)
            return found[key]

        return kept

    with pytest.MonkeyPatch.context() as patch:
        for name in ("_worst", "_rest", "_adaptive"):
            patch.setattr(nc.ListRisk, name, once(getattr(nc.ListRisk, name)))
        yield


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the files of `asked`."""
    return tmp_path_factory.mktemp("answered")


@pytest.fixture
def asked(here: Path, run: Run, answered: Path) -> Path:
    """A ledger with two questions, one of them answered at two prices by a version that topped up no answer."""
    if not any(answered.iterdir()):
        configure(here, 'unit = "person"\nsize = 60')
        for where in (POOR, OLD):
            assert run("count", "survey", "--where", where, "--epsilon", "0.5").status == 0
        buy_poor_again(1)
        (here / "atoms.csv").write_text(ATOMS, encoding="utf-8")
        shutil.copytree(here, answered, dirs_exist_ok=True)
    shutil.copytree(answered, here, dirs_exist_ok=True)
    return here


def buy_poor_again(*prices: Fraction | int) -> None:
    """Answer the first question at other prices too, as older versions did."""
    with Ledger.open("sqlite:///ledger.db") as ledger:
        for price in prices:
            buy_again(ledger, ledger.entries()[0].key, Fraction(price), 12)


@pytest.mark.thorough
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


def test_answers_that_were_topped_up_count_once(here: Path, run: Run) -> None:
    """The finest tells all that is told, and two questions are two answers."""
    configure(here, 'unit = "person"\nsize = 60')
    for where, price in ((POOR, "0.1"), (OLD, "0.5"), (POOR, "0.5"), (POOR, "1")):
        assert run("count", "survey", "--where", where, "--epsilon", price).status == 0
    (here / "atoms.csv").write_text(ATOMS, encoding="utf-8")
    told = run("risk", "--ledger", "survey", "--atoms", "atoms.csv", "--least", "2", "--json").object
    assert [(one["question"], one["price"]) for one in told["answers"]] == [(1, "0.5"), (2, "1")]
    noises = [nc.DiscreteLaplace.for_epsilon(price) for price in ("0.5", "1")]
    risk = nc.list_risk(noises, nc.Atoms(60, [0.1, 0.1, 0.8]), [{0}, {0, 1}], least=2)
    assert told["worst_case"] == pytest.approx(risk.worst(1.0), rel=1e-9)


def test_answers_at_many_prices_have_a_worst_case(here: Path, run: Run) -> None:
    """Four prices are as usual for a desk: no more than their sum leaves, and the outsider's δ."""
    configure(here, 'unit = "person"\nsize = 60')
    assert run("count", "survey", "--where", POOR, "--epsilon", "0.1").status == 0
    buy_poor_again(Fraction(1, 5), Fraction(3, 10), Fraction(2, 5))
    (here / "atoms.csv").write_text(ATOMS, encoding="utf-8")
    words = ("risk", "--ledger", "survey", "--least", "2", "--epsilon", "0.1", "--json")
    alone = run(*words).object
    assert 0.1 < alone["worst_case"] <= pure_dp_delta(1.0, 0.1) * (1 + 1e-9)
    told = run(*words, "--atoms", "atoms.csv").object
    assert told["worst_case"] == alone["worst_case"]
    assert 0 < told["outsider"] < told["worst_case"]


@pytest.mark.usefixtures("asked")
def test_it_is_told_to_people(run: Run) -> None:
    """In lines of 80 characters, with the questions by their numbers."""
    told = run("risk", "--ledger", "survey", "--atoms", "atoms.csv", "--least", "7", "--epsilon", "0.1")
    assert (told.status, told.errors) == (0, "")
    assert max(map(len, told.output.splitlines())) <= 80
    words = told.words
    assert "list 3 answers to 2 different questions, survey 1 health = 'poor' 2 age >= 40.0" in words
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
    assert "the 20 % in small" in run(*words).words


def learned(size: int, known: tuple[int, ...], epsilon: float) -> float:
    """The largest D_ε over pairs of atoms of one record, summed over every database and answer.

    Two answers about two questions, for somebody who knows the atoms of some records.
    """
    signs, far = np.array([[1, 1], [1, 0], [0, 0]]), 40
    grid = np.arange(-far, far + size + 1)
    base = math.exp(-0.5)
    laws = []
    for own in range(3):
        law = np.zeros((grid.size, grid.size))
        for others in product(range(3), repeat=size - 1 - len(known)):
            chance = math.prod(OUTSIDE[atom] for atom in others)
            first, second = signs[[own, *known, *others]].sum(axis=0)
            answers = [base ** abs(grid - count) for count in (first, second)]
            law += chance * ((1 - base) / (1 + base)) ** 2 * np.outer(*answers)
        laws.append(law)
    pairs = product(laws, repeat=2)
    return max(np.maximum(one - math.exp(epsilon) * two, 0).sum() for one, two in pairs)


@pytest.mark.parametrize("known", [(0,), (2,), (0, 1)])
def test_who_knows_records_sees_a_list_about_the_others(known: tuple[int, ...]) -> None:
    """Whichever they are: as the sum over all databases of four records says."""
    others = nc.Atoms(4 - len(known), OUTSIDE, [{0, 1}, {0}])
    noises = [nc.DiscreteLaplace.for_epsilon("0.5")] * 2
    for epsilon in (0.0, 0.1, 0.4):
        told = nc.list_risk(noises, others, least=1e-9).delta(epsilon)
        assert told == pytest.approx(learned(4, known, epsilon), rel=1e-6)


@pytest.mark.thorough
@pytest.mark.usefixtures("asked")
def test_known_records_stand_between(run: Run) -> None:
    """Whoever knows 20 of 60 records learns more than the outsider, less than the worst case."""
    words = ("risk", "--ledger", "survey", "--atoms", "atoms.csv", "--least", "2", "--known", "20")
    told = run(*words, "--json").object
    noises = [nc.DiscreteLaplace.for_epsilon(price) for price in ("0.5", "0.5", "1")]
    risk = nc.list_risk(noises, nc.Atoms(40, OUTSIDE), [{0, 1}, {0}, {0, 1}], least=2)
    assert told["known"] == 20
    assert told["partly_informed"] == pytest.approx(risk.delta(1.0), rel=1e-9)
    assert told["partly_informed_led_by_answers"] == pytest.approx(risk.adaptive(1.0), rel=1e-9)
    assert told["outsider"] < told["partly_informed"] < told["worst_case"]
    shown = run(*words)
    assert max(map(len, shown.output.splitlines())) <= 80
    flat = shown.words
    assert "│ partly informed │ 20 records │" in flat
    assert "partly informed knows 20 records, whichever: the answers are about the others" in flat


@pytest.mark.thorough
@pytest.mark.usefixtures("asked")
def test_known_records_part_off_smaller_groups(run: Run) -> None:
    """Of 40 others a group of rate .1 is below 5, of 60 it is not: then it has the worst case."""
    words = ("risk", "--ledger", "survey", "--atoms", "atoms.csv", "--least", "5", "--known", "20")
    told = run(*words, "--json").object
    assert told["outsider"] < told["worst_case"] == told["partly_informed"]
    assert "20 records and the 20 % in small" in run(*words).words


def test_known_records_without_an_outsider_are_refused(here: Path, run: Run, refused: Refused) -> None:
    """Nothing is stated for an adversary who knows fewer than all other records."""
    configure(here, 'unit = "person"\nsize = 60')
    words = ("risk", "--ledger", "survey", "--known")
    run("count", "survey", "--where", POOR, "--epsilon", "0.1")
    assert "leave --known 9 out: no figure of its own without the rate" in refused(*words, "9")
    rated = (*words, "60", "--rate", "20%")
    assert "--known 60 covers all of the 60 records: give at most 59" in refused(*rated)
    assert "goes with --size, --rate, --known, --atoms" in refused(*rated, "--known-positives", "3")
    keys = ("--keys", "health=excellent,good,fair,poor,null", "--groups-per-unit", "1")
    run("count", "survey", "--by", "health", *keys, "--epsilon", "0.2")
    assert "leave --known 9 out: no figure of its own, as tables are" in refused(*words, "9")


@pytest.mark.usefixtures("asked")
def test_without_atoms_the_outsider_is_not_told(run: Run) -> None:
    """Questions that may overlap in any way have the worst case alone."""
    told = run("risk", "--ledger", "survey", "--rate", "20%", "--json").object
    assert told["outsider"] is None
    assert told["why"] == "2 questions may overlap in any way unless --atoms FILE states how"
    assert 0 < told["worst_case"] < 1
    shown = run("risk", "--ledger", "survey").words
    assert "not told" not in shown
    assert "worst case ε = 2: a 50:50 guess about one person becomes at most 89:11" in shown


def test_one_question_needs_its_rate_alone(here: Path, run: Run) -> None:
    """Answered at two prices; --size stands in for one that is not public."""
    configure(here)
    run("count", "survey", "--where", POOR, "--epsilon", "0.1")
    buy_poor_again(Fraction(1, 5))
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
    assert told["asked_tables"][0]["price"] == {"epsilon": "0.2", "rho": "0.02", "delta": "0"}
    assert (told["promised"]["epsilon"], told["promised"]["delta"]) == (0.3, 0)
    shown = run("risk", "--ledger", "survey").words
    assert "1 answer to 1 question and 1 table, survey 1 health = 'poor' table persons by" in shown
    assert "(5 cells), ε = 0.2" in shown
    assert (
        "worst case ε = 0.3: a 50:50 guess whether one person is in the records becomes at most "
        "58:42; a guess about the group of a person known to be in them, at most 63:37"
    ) in shown
    assert told["replaced"] == {"epsilon": "0.5", "rho": "0.085", "delta": "0"}
    group = min(pure_dp_delta(0.5, 0.01), delta_of_rho(Fraction(85, 1000), Fraction(1, 100)))
    assert told["worst_case_group"] == pytest.approx(group)
    assert group > told["worst_case"]
    assert "│ worst case, group │ also that the person is in │" in shown


@pytest.mark.thorough
def test_gaussian_tables_and_hidden_keys_have_the_worst_case_of_their_sums(here: Path, run: Run) -> None:
    """The ε that the sum of the ρ implies at the budget's own δ, and the δ of the keys beside."""
    configure(here, 'unit = "person"\nbudget = { epsilon = "2", delta = "1e-6" }')
    run("count", "survey", "--where", POOR, "--epsilon", "0.2")
    table = ("count", "survey", "--by", "health", "--groups-per-unit", "1", "--rho", "0.01")
    keys = "health=excellent,good,fair,poor,null"
    assert run(*table, "--keys", keys).status == run(*table, "--delta", "1e-7").status == 0
    told = run("risk", "--ledger", "survey", "--epsilon", "0.1", "--json").object
    assert told["paid"] == {"epsilon": None, "rho": "0.04", "delta": "0.0000001"}
    implied = epsilon_of_rho(Fraction(4, 100), Fraction(5, 10**7))
    assert told["promised"]["epsilon"] == implied
    assert told["promised"]["delta"] == pytest.approx(6e-7)
    within = delta_of_rho(Fraction(4, 100), Fraction(1, 10)) + 1e-7
    assert told["worst_case"] == pytest.approx(within, rel=1e-12)
    shown = run("risk", "--ledger", "survey").words
    assert "table persons by health (5 cells), ρ = 0.01 table persons by health (hidden k" in shown
    assert "paid ρ = 0.04 at δ = 1e-07 together" in shown
    assert f"worst case ε = {at_most(implied)} at δ = 6.00e-7: a 50:50 guess whether" in shown
    assert told["worst_case_group"] > told["worst_case"]
    assert "not told" not in shown


def test_a_table_alone_is_counted(here: Path, run: Run) -> None:
    """No line says that there are no answers; ε is by default that of the table."""
    configure(here, 'unit = "person"\nsize = 5912')
    keys = ("--keys", "health=excellent,good,fair,poor,null", "--groups-per-unit", "1")
    run("count", "survey", "--by", "health", *keys, "--epsilon", "0.3")
    shown = run("risk", "--ledger", "survey").words
    assert "reveals δ at ε = 0.3: 0 worst case list 1 table, survey table persons by" in shown
    assert "answers" not in shown.split("asked")[0]
    assert "known to be in" not in shown
    assert "worst case, group" not in shown


def test_many_cheap_answers_have_the_smaller_of_two_sums() -> None:
    """Of a budget in (ε, δ) the ρ may imply less than the sum of the ε."""
    entry = paid(Loss(Fraction(8), Fraction(8, 200)), Fraction(1, 10**6))
    epsilon, delta = entry.epsilon_and_delta
    assert (epsilon, delta) == (epsilon_of_rho(Fraction(1, 25), 1e-6), Fraction(1, 10**6))
    assert entry.delta(Fraction(1)) == delta_of_rho(Fraction(1, 25), Fraction(1)) < 1e-4
    assert paid(Loss.from_epsilon(Fraction(1, 2)), None).epsilon_and_delta == (Fraction(1, 2), Fraction(0))
    assert paid(Loss.from_epsilon(Fraction(1, 2)), None).delta(Fraction(1, 2)) == 0
    assert paid(Loss.from_epsilon(Fraction(1, 2)), None).delta_replaced(Fraction(1, 2)) is None


@pytest.mark.usefixtures("asked")
def test_what_cannot_be_told_is_refused(refused: Refused, here: Path) -> None:
    """A refusal is a single line with the option and the remedy."""
    words = ("risk", "--ledger", "survey")
    assert "goes with --size, --rate" in refused(*words, "--price", "0.1")
    assert "add --ledger NAME" in refused("risk", "--size", "9", "--rate", "5%", "--least", "3")
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
    assert "no question about it was answered yet" in refused("risk", "--ledger", "survey")


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
