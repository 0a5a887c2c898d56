import math
import re
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from noisycount.data import survey_path
from tests.commands import Run, configure

POOR = "health = 'poor'"
KEYS = {
    *("answer", "epsilon", "charged", "remaining", "error", "confidence"),
    *("dataset", "where", "mechanism", "scale"),
}
EXACTLY = "500"  # at this ε the noise is 0 but for a chance of 2e-217


@pytest.fixture(scope="session")
def formats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the survey in every format that can be asked."""
    folder = tmp_path_factory.mktemp("formats")
    with duckdb.connect(str(folder / "survey.duckdb")) as connection:
        connection.execute(f"CREATE TABLE answers AS FROM '{survey_path()}'")
        connection.execute(f"COPY answers TO '{folder}/survey.csv'")
        connection.execute(f"COPY answers TO '{folder}/survey.parquet' (FORMAT parquet)")
    return folder


ROWS = ("--unit", "row")


def bound(epsilon: float) -> int:
    """An error that discrete Laplace noise exceeds once in 1e9 answers at most."""
    return math.ceil(math.log(2e9) / epsilon)


def test_json_says_everything_in_one_object(run: Run) -> None:
    """The object has the promised keys; numbers of the budget are exact texts."""
    words = ("--where", POOR, "--unit", "person", "--epsilon", "1/3", "--confidence", "90%")
    told = run("count", "survey.parquet", *words, "--json").object
    assert told.keys() >= KEYS
    assert type(told["answer"]) is int
    assert (told["epsilon"], told["charged"], told["remaining"]) == ("1/3", "1/3", "5/3")
    assert (told["mechanism"], told["scale"], told["where"]) == ("discrete Laplace", "3", POOR)
    assert told["dataset"] == "survey.parquet"
    assert (told["error"], told["confidence"]) == (7, 0.9)


@pytest.mark.parametrize(
    ("size", "neighbours"), [("", "adding or removing"), ("size = 5912", "replacement")]
)
def test_json_says_what_an_answer_hides(run: Run, here: Path, size: str, neighbours: str) -> None:
    """Where everybody knows how many persons there are, none can be added, at the same price."""
    configure(here, f'unit = "person"\n{size}')
    told = run("count", "survey", "--where", POOR, "--epsilon", "0.5", "--json").object
    assert (told["neighbours"], told["charged"], told["scale"]) == (neighbours, "0.5", "2")


def test_an_answer_is_near_the_truth(run: Run) -> None:
    """At ε = 2 the answer is within 11 of the 92 persons; it fails once in 1e9 runs."""
    words = ("--where", POOR, "--unit", "person", "--epsilon", "2", "--json")
    assert bound(2) == 11
    assert abs(run("count", "survey.parquet", *words).object["answer"] - 92) <= 11


@pytest.mark.parametrize("name", ["survey.csv", "survey.parquet", "survey.duckdb"])
def test_every_format_gives_the_same_count(run: Run, here: Path, formats: Path, name: str) -> None:
    """CSV, Parquet and DuckDB files hold the same 92 persons in poor health."""
    source = f'[datasets.other]\nsource = "{formats / name}"\nunit = "person"\nbudget = "1000"'
    (here / "noisycount.toml").write_text(source)
    told = run("count", "other", "--where", POOR, "--epsilon", EXACTLY, "--json").object
    assert told["answer"] == 92


def test_persons_are_not_rows(run: Run, here: Path) -> None:
    """302 rows of 92 persons say poor; the words say which of the two is protected."""
    words = ("count", "survey", "--where", POOR, "--epsilon", EXACTLY, "--json")
    configure(here, 'budget = "1000"')
    rows = run(*words).object
    configure(here, 'budget = "1000"\nunit = "person"')
    assert "ever since its first answer" in run(*words).errors
    (here / "ledger.db").unlink()
    persons = run(*words).object
    assert (rows["answer"], persons["answer"]) == (302, 92)
    assert "about one row" in rows["odds"]
    assert "about one person" in persons["odds"]


def test_accuracy_sets_the_price(run: Run) -> None:
    """±20 % of about 100 costs ε = 0.15, and the error that is stated keeps the promise."""
    words = ("--where", POOR, "--unit", "person", "--within", "20%", "--guess", "100")
    told = run("count", "survey.parquet", *words, "--json").object
    assert (told["epsilon"], told["scale"]) == ("0.15", "20/3")
    assert (told["error"], told["confidence"]) == (20, 0.95)


@pytest.mark.parametrize("spelling", ["health='poor'", "HEALTH  =  'poor'", "(health = 'poor')"])
def test_the_same_question_is_free(run: Run, spelling: str) -> None:
    """However it is spelt, a question that was paid for gets its answer again, for nothing."""
    first = run(
        "count", "survey.parquet", *ROWS, "--where", POOR, "--epsilon", "0.1", "--json"
    ).object
    again = run("count", "survey.parquet", "--where", spelling, "--epsilon", "0.1", "--json").object
    assert (again["answer"], again["where"]) == (first["answer"], POOR)
    assert (first["charged"], again["charged"]) == ("0.1", "0")
    assert again["remaining"] == first["remaining"] == "1.9"


def test_budgets_add_up_exactly(run: Run) -> None:
    """Thirds, tenths and twentieths are spent to the last digit, and then nothing is left."""
    prices = [Fraction(price) for price in ("1/3", "0.1", "0.15", "2/3", "0.75")]
    for number, price in enumerate(prices, start=1):
        words = (*ROWS, "--where", f"year = {number}", "--epsilon", str(price), "--json")
        told = run("count", "survey.parquet", *words).object
        assert Fraction(told["charged"]) == price
        assert Fraction(told["remaining"]) == 2 - sum(prices[:number])
    assert told["remaining"] == "0"


def test_without_a_configuration_the_ledger_is_the_users(run: Run, tmp_path: Path) -> None:
    """Where no file names a ledger, `ledger show` says where it is; no answer holds a path."""
    told = run("count", "survey.parquet", *ROWS, "--where", POOR, "--epsilon", "0.1")
    assert re.search(r"^ledger +ledger\.db *$", told.output, re.MULTILINE)
    shown = run("ledger", "show").output
    assert re.search(r"^ledger: ~/\.config/noisycount/ledger\.db *$", shown, re.MULTILINE)
    assert (tmp_path / "home" / ".config" / "noisycount" / "ledger.db").is_file()


def test_a_named_data_set_is_its_file(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name and its path share one budget and one ledger, from any folder below."""
    configure(here, 'unit = "person"\nbudget = "1"')
    (here / "below").mkdir()
    monkeypatch.chdir(here / "below")
    for source, left in (("survey", "0.5"), ("../survey.parquet", "0.25")):
        told = run("count", source, "--where", "age > 40", "--epsilon", left, "--json").object
        assert (told["dataset"], told["unit"], told["remaining"]) == ("survey", "person", left)
    assert told["ledger"] == "ledger.db"
    assert run("ledger", "show", "--json").object["ledger"] == str(here / "ledger.db")


def test_a_configuration_can_be_named(run: Run, here: Path) -> None:
    """`--config` finds a data set and its ledger in another folder."""
    configure(here)
    (here / "noisycount.toml").rename(here.parent / "other.toml")
    (here / "survey.parquet").rename(here.parent / "survey.parquet")
    words = ("--where", POOR, "--epsilon", "1", "--config", "../other.toml", "--json")
    assert run("count", "survey", *words).object["ledger"] == "ledger.db"
    assert (here.parent / "ledger.db").is_file()


def test_a_terminal_reads_every_fact(run: Run) -> None:
    """Seven facts in 80 columns, each under its name."""
    words = ("--where", "age >= 65", "--unit", "person", "--epsilon", "0.5")
    told = run("count", "survey.parquet", *words)
    assert (told.status, told.errors) == (0, "")
    names = re.findall(r"^(\w[\w ]*?)  +", told.output, re.MULTILINE)
    assert names == ["question", "data set", "answer", "noise", "privacy", "budget", "ledger"]
    assert "age >= 65.0  (age is at least 65)" in told.output
    assert "survey.parquet, counting distinct values of person" in told.output
    assert "ε = 0.5: a 50:50 guess about one person becomes at most 63:37" in told.output
    assert max(map(len, told.output.splitlines())) <= 80
