"""Nothing is charged to a ledger whose chain is broken.

Tests of `tasks/answer_json.py`.
"""

import math
import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from noisycount import open_desk
from noisycount.config.config import load_config
from noisycount.data import survey_path
from noisycount.errors import ConfigError, PurposeError
from noisycount.ledger.ledger import Ledger
from tests.helpers.commands import Refused, Run, configure
from tests.helpers.ledgers import change

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


@pytest.mark.parametrize(("size", "neighbours"), [("", "adding or removing"), ("size = 5912", "replacement")])
def test_json_says_what_an_answer_hides(run: Run, here: Path, size: str, neighbours: str) -> None:
    """A public number of persons gives replace neighbours, at the same price."""
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
    first = run("count", "survey.parquet", *ROWS, "--where", POOR, "--epsilon", "0.1", "--json").object
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
    """`ledger show` states the place of the user's own ledger; an answer has no path."""
    told = run("count", "survey.parquet", *ROWS, "--where", POOR, "--epsilon", "0.1")
    assert re.search(r"^ledger +ledger\.db *$", told.output, re.MULTILINE)
    shown = run("ledger", "show").output
    assert re.search(r"^ledger: ~/\.config/noisycount/ledger\.db *$", shown, re.MULTILINE)
    assert (tmp_path / "home" / ".config" / "noisycount" / "ledger.db").is_file()


def test_a_named_data_set_is_its_file(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name and its path share one budget and one ledger, from any folder below."""
    configure(here, 'unit = "person"\nbudget = "1"')
    (here / "below").mkdir()
    monkeypatch.chdir(here / "below")
    for source, where, left in (("survey", "age > 40", "0.5"), ("../survey.parquet", "age > 41", "0.25")):
        told = run("count", source, "--where", where, "--epsilon", left, "--json").object
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


REQUIRED = 'purpose = "required"'
QUESTION = ("count", "survey", "--where", "age >= 65", "--epsilon", "0.1")


def entries(run: Run) -> list[dict[str, Any]]:
    """Return the entries that `ledger show` prints."""
    return list(run("ledger", "show", "--json").object["entries"])


@pytest.mark.parametrize(
    "words", [("--where", "age >= 65"), ("--where", "age >= 65", "--where", "age < 18"), ("--by", "age:0,18,65")]
)
def test_a_purpose_is_kept_beside_the_price(run: Run, here: Path, words: tuple[str, ...]) -> None:
    """Of a count, of several and of a table; the same question for another is the same answer."""
    configure(here)
    asked = ("count", "survey", *words, "--epsilon", "0.1", "--json")
    first = run(*asked, "--purpose", "quarterly report").object
    again = run(*asked, "--purpose", "another report").object
    assert (first["repeated"], again["repeated"]) == (False, True)
    assert first.get("answer", first.get("rows")) == again.get("answer", again.get("rows"))
    assert [entry["purpose"] for entry in entries(run)] == ["quarterly report"]
    shown = run("ledger", "show").words
    assert "purpose" in shown
    assert "another" not in shown
    assert '"purpose": "quarterly report"' in run("ledger", "export").output
    assert "consistent in themselves" in run("ledger", "verify").output


def test_a_purpose_may_be_left_out(run: Run, here: Path) -> None:
    """Unless the owner wants one; a ledger without any shows no column for them."""
    configure(here)
    run(*QUESTION)
    assert entries(run)[0]["purpose"] is None
    assert "purpose" not in run("ledger", "show").output


def test_an_owner_can_require_a_purpose(run: Run, here: Path) -> None:
    """Then nothing is charged without one; a question that was answered before is no spend."""
    configure(here, REQUIRED)
    told = run(*QUESTION)
    assert told.status == 2
    assert told.errors.startswith(
        "error: purpose is missing: state what the answer is for, such as 'quarterly report', because the "
        "owner of data set 'survey' requires it; nothing was charged"
    )
    assert entries(run) == []
    answer = run(*QUESTION, "--purpose", "a report", "--json").object["answer"]
    assert run(*QUESTION, "--json").object["answer"] == answer
    with open_desk("survey", unit=None) as desk:
        with pytest.raises(PurposeError, match=r"\Apurpose is missing: "):
            desk.release_many(["age < 18", "age < 30"], "0.1")
        desk.release_many(["age < 18", "age < 30"], "0.1", purpose="another")
    assert [entry["purpose"] for entry in entries(run)] == ["a report", "another"]


@pytest.mark.parametrize("purpose", ["", "  ", "x" * 201, "two\nlines"])
def test_a_purpose_that_says_nothing_is_refused(here: Path, refused: Refused, purpose: str) -> None:
    """Before any file is opened."""
    configure(here)
    assert "purpose must " in refused(*QUESTION, "--purpose", purpose)


@pytest.mark.parametrize("written", ['"yes"', "true", "1", '""'])
def test_a_setting_of_another_form_is_refused(here: Path, written: str) -> None:
    """In one line that says what it may be."""
    configure(here, f"purpose = {written}")
    with pytest.raises(ConfigError, match=r"\[datasets\.survey\] purpose = "):
        load_config(here / "noisycount.toml")


@pytest.fixture
def clinic(here: Path) -> Path:
    """A DuckDB file with two tables and a view."""
    path = here / "clinic.db"
    with duckdb.connect(path) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT range AS person, range % 90 AS age FROM range(500);"
            "CREATE TABLE towns AS SELECT range AS town, 1000 AS size FROM range(30);"
            "CREATE VIEW old AS SELECT * FROM visits WHERE age >= 65"
        )
    return path


@pytest.mark.thorough
@pytest.mark.usefixtures("clinic")
def test_each_table_of_a_file_is_a_data_set(run: Run, refused: Refused) -> None:
    """With its own columns, its own unit and its own budget; a view shares the budget of its table."""
    words = ("--where", "age >= 65", "--epsilon", "1", "--json")
    visits = run("count", "clinic.db", "--table", "visits", "--unit", "person", *words).object
    assert visits["dataset"].endswith("clinic.db#visits")
    assert visits["remaining"] == "1"
    assert abs(visits["answer"] - 125) < 40
    assert "would be a second budget" in refused(
        "count", "clinic.db", "--table", "old", "--unit", "person", *words[:-1]
    )
    towns = ("count", "clinic.db", "--table", "towns", "--unit", "town")
    assert run(*towns, "--where", "size > 5", "--epsilon", "1", "--json").object["unit"] == "town"
    shown = run("show", "clinic.db", "--table", "visits", "--json").object
    assert (shown["columns"], len(shown["asked"])) == ({"age": "integer"}, 1)
    checked = run("check", "clinic.db", "--table", "old", "--json").object
    assert (checked["rows"], checked["dataset"]) == (125, f"{checked['source']}#old")
    assert "data set clinic.db#old source clinic.db" in " ".join(
        run("check", "clinic.db", "--table", "old").output.split()
    )


def test_a_table_must_be_named_and_be_there(refused: Refused, clinic: Path) -> None:
    """A refusal is a single line with the tables; an owner's choice stays."""
    words = ("--where", "age >= 65", "--epsilon", "1", "--unit", "person")
    several = refused("count", "clinic.db", *words)
    assert "has 3 tables ('old', 'towns', 'visits'): state the one with the records, by --table (in " in several
    assert '), or by table = "old" in noisycount.toml' in several
    assert "got 'visit': use 'visits'" in refused("count", "clinic.db", *words, "--table", "visit")
    text = '[datasets.clinic]\nsource = "clinic.db"\ntable = "visits"\nunit = "person"\n'
    (clinic.parent / "noisycount.toml").write_text(text)
    assert "--table 'old': data set 'clinic' is of the table 'visits', as its owner" in refused(
        "count", "clinic", *words, "--table", "old"
    )


CONFIGURATION = """\
[datasets.visits]
source = "visits.csv"
unit = "person"
[datasets.visits.kinds]
cost = { kind = "real", decimal = ",", missing = ["k.A."], unreadable = "missing" }
seen = { kind = "date", date_format = "%d.%m.%Y" }
"""
WORDS = ("--where", "cost > 3 or age > 90", "--epsilon", "1")


@pytest.fixture
def visits(here: Path) -> Path:
    """A file with cells of `cost` that could not be read, and were accepted."""
    path = here / "visits.csv"
    rows = "".join(f"{n};{20 + n};{n},5;03.02.2024\n" for n in range(50))
    path.write_text(f"person;age;cost;seen\n{rows}60;30;unknown;03.02.2024\n61;30;k.A.;\n")
    (here / "noisycount.toml").write_text(CONFIGURATION)
    return path


@pytest.mark.usefixtures("visits")
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_an_answer_says_what_was_taken_for_missing(run: Run, more: tuple[str, ...]) -> None:
    """For each question that reads such a column, in words and for machines, and for no other."""
    told = run("count", "visits", *WORDS, *more)
    said = "cells of cost that could not be read count as missing"
    assert said in told.words
    told = run("count", "visits", *WORDS, *more, "--json")
    assert told.object["unreadable_as_missing"] == ["cost"]
    other = ("count", "visits", "--where", "age > 30", "--epsilon", "1", *more)
    assert said not in run(*other).words
    assert run(*other, "--json").object["unreadable_as_missing"] == []


@pytest.mark.usefixtures("visits")
def test_a_view_says_what_is_taken_for_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what the values are, not how a file writes them."""
    monkeypatch.setenv("COLUMNS", "100")
    shown = run("show", "visits").words
    assert "│ cost │ real, k.A. missing, unreadable missing │ a number such as 0.5 │" in shown
    assert "│ seen │ date │ a date such as '2026-01-31' │" in shown
    told = run("show", "visits", "--json").object
    assert told["columns"] == {"age": "integer", "cost": "real", "seen": "date"}
    assert told["unreadable_as_missing"] == ["cost"]


def test_nothing_is_answered_before_it_is_accepted(refused: Refused, visits: Path) -> None:
    """Whatever the question reads; the remedy is named."""
    text = CONFIGURATION.replace(', unreadable = "missing"', "")
    (visits.parent / "noisycount.toml").write_text(text)
    for where in ("cost > 3", "age > 30", "true"):
        message = refused("count", "visits", "--where", where, "--epsilon", "1")
        assert "answers nothing, as cells of 'cost' do not fit their kind" in message
        assert "`noisycount check`" in message


QUESTION_BROKEN = ("count", "survey", "--epsilon", "0.1", "--where")
REMEDY = "restore it from a copy that holds every debit (Back up, restore, monitor: noisycount docs how-to/backup)"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("statements", "row"),
    [
        (["UPDATE ledger SET epsilon = '0.01' WHERE number = 2"], 2),
        (["UPDATE ledger SET answer = '5' WHERE number = 3"], 3),
        (["DELETE FROM ledger WHERE number = 2"], 2),
        (["UPDATE ledger SET spent = '0' WHERE number = 4"], 4),
    ],
)
def test_a_count_stops_on_a_broken_chain(
    run: Run, here: Path, refused: Refused, statements: list[str], row: int
) -> None:
    """For a new and for a known question the row and the remedy are stated, and nothing is written."""
    configure(here)
    for year in (1, 2):
        assert run(*QUESTION_BROKEN, f"year = {year}").status == 0
    with Ledger.open(f"sqlite:///{here}/ledger.db") as ledger:
        change(ledger, *statements)
        rows = ledger.rows()
    for asked in ("year = 1", "year = 9"):
        assert refused(*QUESTION_BROKEN, asked) == (
            f"error: row {row} of the ledger is damaged; {REMEDY}; `noisycount ledger verify` states"
            " the fault, and nothing is charged until then\n"
        )
    with Ledger.open(f"sqlite:///{here}/ledger.db") as ledger:
        assert ledger.rows() == rows


SCRIPT = Path(sys.executable).with_name("noisycount")
