import re
from fractions import Fraction
from pathlib import Path

from noisycount.config.file import TEMPLATE, load
from noisycount.ledger.budget import PureBudget
from tests.commands import Refused, Run, configure

REFINE = ("refine", "95", "--size", "5912", "--rate", "1.7%", "--epsilon", "0.15")


def test_refining_lies_between_the_answer_and_the_rate(run: Run) -> None:
    """With 100.5 expected and an answer of 95, mean, median and mode lie between."""
    told = run(*REFINE, "--json").object
    for name in ("mean", "median", "mode"):
        assert 95 <= told[name] <= 100.504
    low, high = told["interval"]
    assert low < told["mean"] < high
    assert (told["level"], told["scale"]) == (0.95, "20/3")


def test_refining_takes_negative_answers(run: Run) -> None:
    """Noise can make an answer negative; the estimate is not."""
    words = ("refine", "-5", "--size", "10", "--rate", "0.1", "--epsilon", "1")
    told = run(*words, "--json").object
    assert told["answer"] == -5
    assert 0 <= told["interval"][0] <= told["mean"]
    assert "−5, with noise" in run(*words).output


def test_the_ledger_shows_every_debit(run: Run, here: Path) -> None:
    """Debits, answers and what is left, for people and for machines; budgets add up exactly."""
    configure(here, 'budget = "1"')
    prices = ["1/3", "0.1", "0.25"]
    answers = [
        run("count", "survey", "--where", f"year = {year}", "--epsilon", price, "--json").object
        for year, price in enumerate(prices, start=1)
    ]
    told = run("ledger", "show", "--json").object
    assert [entry["epsilon"] for entry in told["entries"]] == prices
    assert [entry["answer"] for entry in told["entries"]] == [each["answer"] for each in answers]
    (survey,) = told["datasets"]
    assert Fraction(survey["spent"]) == sum(map(Fraction, prices))
    assert Fraction(survey["spent"]) + Fraction(survey["remaining"]) == Fraction(survey["budget"])
    shown = run("ledger", "show").output
    for part in ("ledger: ledger.db", "survey", "41/60", "19/60", "year = 3", "1/3"):
        assert part in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_an_unused_ledger_is_not_made(run: Run, here: Path) -> None:
    """To show what was never asked says so, and makes no file."""
    configure(here)
    assert "nothing was asked yet" in run("ledger", "show").output
    told = run("ledger", "show", "--json").object
    assert told["entries"] == []
    assert told["datasets"] == [{"dataset": "survey", "budget": "2", "spent": "0", "spent_rho": "0", "remaining": "2"}]
    assert not (here / "ledger.db").exists()


def test_a_file_that_is_no_ledger_is_refused(refused: Refused, here: Path) -> None:
    """The ledger is neither overwritten nor trusted."""
    configure(here)
    (here / "ledger.db").write_bytes(b"a letter to a friend " * 99)
    assert "is not a ledger; name another file" in refused("ledger", "show")


def test_a_configuration_to_start_from(run: Run, here: Path) -> None:
    """`init` writes the commented template, which loads as it stands."""
    told = run("init")
    assert (told.status, told.errors) == (0, "")
    assert told.output.startswith("wrote noisycount.toml\n")
    assert (here / "noisycount.toml").read_text(encoding="utf-8") == TEMPLATE
    assert load(here / "noisycount.toml").datasets["survey"].budget == PureBudget(Fraction(2))


def test_init_takes_a_folder(run: Run, here: Path) -> None:
    """The folder is named, and must exist."""
    (here / "project").mkdir()
    assert "wrote project/noisycount.toml" in run("init", "project").output
    assert (here / "project" / "noisycount.toml").is_file()


def test_init_overwrites_nothing(run: Run, refused: Refused) -> None:
    """A second `init` is refused and the first file stays."""
    assert run("init").status == 0
    assert "noisycount.toml exists already: edit it, or remove it first" in refused("init")
    message = refused("init", "nowhere")
    assert re.search(r"nowhere/noisycount\.toml cannot be written \(No such file", message)
