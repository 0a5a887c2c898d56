"""What the commands say of tables in a ledger."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

import noisycount as nc
from noisycount.display.numbers import signed
from noisycount.ledger.entries import Request, TableAnswer
from noisycount.ledger.ledger import Ledger
from noisycount.tasks.ledger import entry_table, number_of
from tests.commands import Refused, Run, configure

BUDGET = 'budget = { epsilon = "2", delta = "1e-6", for_keys = "5e-7" }\nunit = "person"'
KEYS = {"year": [1, 2, 3], "site": [1, 2]}
QUESTIONS = ["site = 1", "year = 1", "year = 2", "year = 3"]
CELLS, HIDDEN, MANY, COUNT = range(4)


@pytest.fixture
def keys(here: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A ledger of three tables and a count, on a wide terminal; their keys."""
    monkeypatch.setenv("COLUMNS", "200")
    configure(here, BUDGET)
    with nc.open_desk("survey", unit=None) as desk:
        tables = [
            desk.release_table("year,site", KEYS, "year > 1", "0.2", margins="total"),
            desk.release_table("year", epsilon="0.1", delta="1e-7", groups_per_unit=1),
            desk.release_many(QUESTIONS, rho="0.001", noise=nc.DiscreteGaussian),
        ]
        return [*(table.key for table in tables), desk.release("year > 1", "0.1").key]


def test_a_ledger_names_each_table_once(run: Run, here: Path, keys: list[str]) -> None:
    """What it is grouped by, its size, its price, and how much was answered."""
    assert len(keys) == COUNT + 1
    with Ledger.open(f"sqlite:///{here}/ledger.db") as ledger:
        entries = ledger.entries()
    hidden, count = entries[HIDDEN].answer, entries[COUNT].answer
    assert isinstance(hidden, TableAnswer)
    assert hidden.keys is not None
    assert isinstance(count, int)
    found = number_of("key", len(hidden.keys))
    assert [row[-3:] for row in entry_table(entries)[1]] == [
        ("persons by year × site (6 cells) where year > 1", "0.2", "7 counts"),
        ("persons by year (hidden keys)", "ε = 0.1 at δ = 1e-07", f"{found} shown"),
        ("4 questions: site = 1; …", "ρ = 0.001", "4 counts"),
        ("year > 1", "0.1", signed(count)),
    ]
    shown = run("ledger", "show").output
    for words in ("7 counts", f"{found} shown", "ρ = 0.001"):
        assert shown.count(words) == 1
    assert "ρ = 0.031, δ = 1e-07" in shown


def test_a_ledger_gives_tables_to_machines(run: Run, keys: list[str]) -> None:
    """Counts of each level, keys that were found, and prices in whatever was charged."""
    told = run("ledger", "show", "--json").object
    entries = told["entries"]
    assert [entry["key"] for entry in entries] == keys
    assert [list(map(len, entries[number]["answer"])) for number in (CELLS, MANY)] == [[6, 1], [4]]
    assert len(entries[HIDDEN]["keys"]) == len(entries[HIDDEN]["answer"][0])
    prices = [(each["epsilon"], each.get("rho"), each.get("delta")) for each in entries]
    assert prices == [("0.2", None, None), ("0.1", None, "0.0000001"), (None, "0.001", None), ("0.1", None, None)]
    assert isinstance(entries[COUNT]["answer"], int)
    (survey,) = told["datasets"]
    assert (survey["spent"], survey["spent_rho"]) == (None, "0.031")
    assert survey["spent_delta"] == "0.0000001"


def test_a_data_set_shows_its_tables(run: Run, keys: list[str]) -> None:
    """Beside its counts; what they cost as a usual price is that of the newest in ε."""
    shown = run("show", "survey").output
    assert "persons by year" in shown
    assert "price" in shown
    assert "(budget ε = 2 at δ = 1e-06" in " ".join(shown.split())
    assert "7 counts" in shown
    asked = run("show", "survey", "--json").object["asked"]
    assert [entry["key"] for entry in asked] == keys
    assert asked[CELLS]["where"] == "year > 1"
    assert asked[CELLS]["table"]["by"] == ["year", "site"]
    assert asked[MANY]["table"]["questions"] == QUESTIONS
    assert "table" not in asked[COUNT]


def test_a_table_is_no_guess_and_no_better_count(run: Run, refused: Refused, keys: list[str]) -> None:
    """Options that take the key of one count refuse it in one line, and hints leave it out."""
    for key in keys[:COUNT]:
        asked = ("plan", "--within", "20%", "--guess-from", key)
        message = refused(*asked)
        assert message.endswith("is a table, and a guess is one count: give --guess instead\n")
        assert "that is a table, and the risk is that of one count" in refused("risk", "--key", key)
    counted = ("count", "survey", "--where", "year > 1", "--epsilon", "0.05")
    assert run(*counted, "--json").object["better"]["key"] == keys[COUNT]
    assert run("plan", "--within", "20%", "--guess-from", keys[COUNT]).status == 0


def test_tables_are_verified_and_exported(run: Run, keys: list[str]) -> None:
    """As every row is."""
    assert run("ledger", "verify").status == 0
    rows = [json.loads(line) for line in run("ledger", "export").output.splitlines()]
    answers = {row["key"]: row["answer"] for row in rows if row["kind"] == "answer"}
    assert [TableAnswer(answers[key]).levels[0].size for key in (keys[CELLS], keys[MANY])] == [6, 4]
    (gaussian,) = (row for row in rows if row["kind"] == "debit" and row["key"] == keys[MANY])
    assert (gaussian["epsilon"], gaussian["rho"], gaussian["spent"]) == (None, "0.001", None)


FORGED = [
    {"table": 5},
    {"table": {}},
    {"table": {"by": 5}},
    {"table": {"by": [5]}},
    {"table": {"questions": []}},
    {"table": {"questions": ["a", None]}},
    {"table": {"by": ["year"]}, "where": 5},
]


@pytest.mark.few(8)
@pytest.mark.parametrize("question", FORGED, ids=str)
@pytest.mark.parametrize("answer", [5, TableAnswer.of([[1]]), None], ids=["one", "table", "none"])
def test_a_forged_table_is_one_line(
    refused: Refused, run: Run, here: Path, question: dict[str, object], answer: int | TableAnswer | None
) -> None:
    """Whoever can compute hashes cannot make a command end in a traceback."""
    configure(here)
    request = Request("survey", json.dumps(question), Fraction(1, 10))
    with Ledger.open(f"sqlite:///{here}/ledger.db") as ledger:
        entry, _ = ledger.reserve("forged", request, Fraction(1))
        if answer is not None:
            ledger.store(entry, answer)
    assert "key 'forged' of the ledger has a question that no noisycount" in refused("ledger", "show")
    assert run("ledger", "show", "--json").status == 0
    refused("plan", "--epsilon", "0.1", "--guess-from", "forged")
    refused("risk", "--key", "forged")
