import json
import os
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import noisycount as nc
from noisycount.display.numbers import counted_noun, signed
from noisycount.ledger.entries import Head, Request, TableAnswer
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.verification import verification
from noisycount.tasks.ledger import entry_table
from tests.helpers.commands import Refused, Run, configure
from tests.helpers.ledgers import change
from tests.helpers.postgresql import Server

ANALYSTS = '[analysts.alice]\nbudget = "0.3"\n[analysts.bob]\n'
RHO = 'budget = { rho = "0.02" }'
DELTA = 'budget = { epsilon = "1", delta = "1e-6" }'


def ask(run: Run, year: int, price: str = "0.1", *words: str) -> dict[str, object]:
    """A question that costs a price."""
    asked = ("count", "survey", "--where", f"year = {year}", "--epsilon", price)
    return run(*asked, *words, "--json").object


def test_an_intact_ledger_is_verified(run: Run, here: Path) -> None:
    """The head is printed, for people and for machines, with the remedy against copies."""
    configure(here)
    for year in (1, 2):
        ask(run, year)
    told = run("ledger", "verify", "--json").object
    assert (told["intact"], told["broken"], told["why"]) == (True, None, None)
    head = Head.read(told["head"])
    assert head.number == 5
    shown = run("ledger", "verify").output
    assert "5 rows, consistent in themselves; not compared with a saved head" in shown
    assert f"head: {head}\n" in shown
    assert "Write the head down" in shown
    again = run("ledger", "verify", "--head", f"4:{head.hash[:32]}").output
    assert "Write the head down" not in again
    rows = run("ledger", "export", "--json").object["rows"]
    earlier = run("ledger", "verify", "--head", f"4:{rows[3]['hash']}").output
    assert "5 rows, each as it was written up to row 4, which has the saved head" in earlier
    whole = run("ledger", "verify", "--head", str(head)).words
    assert "5 rows, each as it was written: the last has the saved head" in whole
    compared = run("ledger", "verify", "--head", str(head), "--json").object["compared"]
    assert (told["compared"], compared) == (None, str(head))


def test_a_broken_row_is_named(run: Run, refused: Refused, here: Path) -> None:
    """In one line, or in one object; the status is that of a ledger that refuses."""
    configure(here)
    for year in (1, 2):
        ask(run, year)
    with Ledger.open(f"sqlite:///{here}/ledger.db") as ledger:
        change(ledger, "UPDATE ledger SET epsilon = '0.01' WHERE number = 3")
    message = refused("ledger", "verify")
    assert message == (
        "error: row 3 of the ledger was changed: its hash does not match its columns; restore it from"
        " a copy that holds every debit (Back up, restore, monitor: noisycount docs how-to/backup)\n"
    )
    told = run("ledger", "verify", "--json")
    assert told.status == 5
    found = json.loads(told.output)
    assert (found["intact"], found["broken"]) == (False, 3)
    assert found["head"].startswith("2:")


def test_a_restored_copy_is_told_by_the_head(run: Run, refused: Refused, here: Path) -> None:
    """Given as an option, or kept in the configuration, where it also stops all spending."""
    configure(here)
    ask(run, 1)
    shutil.copy(here / "ledger.db", here / "copy.db")
    ask(run, 2)
    head = run("ledger", "verify", "--json").object["head"]
    shutil.copy(here / "copy.db", here / "ledger.db")
    assert run("ledger", "verify").status == 0
    message = refused("ledger", "verify", "--head", head)
    assert "row 4 of the ledger is missing, though the stated head is row 5" in message
    text = (here / "noisycount.toml").read_text().replace("[ledger]", f'[ledger]\nhead = "{head}"')
    (here / "noisycount.toml").write_text(text)
    assert "row 4 of the ledger is missing" in refused("ledger", "verify")
    for words in (
        ("count", "survey", "--where", "age > 40", "--epsilon", "0.1"),
        ("ledger", "show"),
        ("ledger", "export"),
    ):
        assert "does not hold the row of the stated head, row 5" in refused(*words)
    (here / "ledger.db").unlink()
    assert "there is no ledger, though the stated head is row 5" in refused("ledger", "verify")
    words = ("count", "survey", "--where", "age > 40", "--epsilon", "0.1")
    assert "there is no ledger, though the stated head is row 5; restore it" in refused(*words)


def test_a_ledger_that_was_never_made_is_none_that_was_verified(run: Run, here: Path) -> None:
    """A missing ledger is reported without an error, and is not made."""
    configure(here)
    told = run("ledger", "verify")
    assert told.status == 0
    assert "There is no ledger at ledger.db yet: nothing was asked, and nothing was verified" in (told.words)
    assert "head" not in told.output
    found = run("ledger", "verify", "--json").object
    assert (found["intact"], found["head"]) == (None, None)
    assert run("ledger", "export").output == ""
    assert run("ledger", "export", "--json").object == {"head": str(Head()), "rows": []}
    assert not (here / "ledger.db").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("count", "survey", "--where", "age > 40", "--epsilon", "0.1"),
        *(("ledger", name) for name in ("show", "verify", "export")),
        ("plan", "--epsilon", "0.1", "--guess", "100", "--dataset", "survey"),
        ("plan", "--epsilon", "0.1", "--guess-from", "abcdef"),
    ],
)
@pytest.mark.parametrize("options", ["timeout=5x", "journal=off"])
def test_an_address_that_no_ledger_has_is_refused_by_every_command(
    refused: Refused, here: Path, words: tuple[str, ...], options: str
) -> None:
    """Also where there is no ledger yet: it is not said that nothing was asked."""
    configure(here, ledger=f"sqlite:///ledger.db?{options}")
    assert "ledger must be a file, such as sqlite:///ledger.db" in refused(*words)


@pytest.mark.parametrize("target", ["ledger.db", "disk/ledger.db"])
def test_a_link_that_leads_nowhere_is_no_new_ledger(refused: Refused, here: Path, target: str) -> None:
    """A disk may not be mounted: it is not said that nothing was asked."""
    configure(here)
    (here / "ledger.db").symlink_to(target)
    for name in ("show", "verify", "export"):
        assert "ledger.db' does not exist" in refused("ledger", name)


@pytest.mark.parametrize("head", ["12", "x:y", "1:abc"])
def test_a_head_that_is_none_is_refused(refused: Refused, head: str) -> None:
    """With what it should look like."""
    message = refused("ledger", "verify", "--head", head)
    assert "head must be a number, a colon and 32 to 64 hexadecimal digits" in message


def test_an_export_of_a_broken_ledger_says_so(run: Run, here: Path) -> None:
    """Every row is exported, the first broken one is named, and the status is 5."""
    configure(here)
    for year in (1, 2):
        ask(run, year)
    with Ledger.open(f"sqlite:///{here / 'ledger.db'}") as ledger:
        change(ledger, "UPDATE ledger SET epsilon = '0.01' WHERE number = 4")
    for words in ((), ("--json",), ("--out", "out.jsonl")):
        told = run("ledger", "export", *words)
        assert told.status == 5
        assert "row 4 of the ledger was changed" in told.errors
    assert len((here / "out.jsonl").read_text(encoding="utf-8").splitlines()) == 5


def test_an_export_can_be_verified_by_anybody(run: Run, refused: Refused, here: Path) -> None:
    """Every row with its hash, as lines or as one object; no file is written over."""
    configure(here)
    for year in (1, 2):
        ask(run, year)
    assert "wrote 5 rows to out.jsonl" in run("ledger", "export", "--out", "out.jsonl").output
    lines = (here / "out.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    whole = run("ledger", "export", "--json").object
    assert whole["rows"] == rows
    found = verification(rows)
    assert (found.broken, str(found.head)) == (None, whole["head"])
    assert run("ledger", "export").output.splitlines() == lines
    assert "exists already: name another" in refused("ledger", "export", "--out", "out.jsonl")
    assert "cannot be written" in refused("ledger", "export", "--out", "nowhere/out.jsonl")


def test_analysts_have_budgets_of_their_own(run: Run, refused: Refused, here: Path) -> None:
    """A spend must fit both; who asks is told, and must be told where several may."""
    configure(here, f'budget = "2"\n{ANALYSTS}')
    first = ask(run, 1, "0.2", "--analyst", "alice")
    assert (first["analyst"], first["remaining"]) == ("alice", "0.1")
    asked = ("count", "survey", "--where", "year = 2", "--epsilon", "0.2")
    assert "epsilon 0.2 exceeds the 0.1 that is left of the budget 0.3 of analyst 'alice'" in refused(
        *asked, "--analyst", "alice"
    )
    assert ask(run, 2, "0.2", "--analyst", "bob")["remaining"] == "1.6"
    assert "--analyst is missing: name the analyst who asks, one of alice, bob" in refused(*asked)
    message = refused(*asked, "--analyst", "alcie")
    assert "--analyst 'alcie' is not configured: did you mean alice?" in message
    told = run("ledger", "show", "--json").object
    assert [each["analyst"] for each in told["analysts"]] == ["alice", "bob"]
    assert [each["remaining"] for each in told["analysts"]] == ["0.1", None]
    shown = run("ledger", "show").output
    for part in ("alice", "bob", "none", "0.3"):
        assert part in shown
    words = run("count", "survey", "--where", "year = 3", "--epsilon", "0.1", "--analyst", "alice")
    line = words.words
    assert "charged 0.1 to alice; the next may cost up to 0 (budget 2, and alice's own 0.3)" in line


def test_an_only_analyst_pays_for_nobody_else(run: Run, refused: Refused, here: Path) -> None:
    """If an analyst is configured, every command needs a name; without analysts none is accepted."""
    configure(here, '[analysts.alice]\nbudget = "0.3"')
    message = refused("count", "survey", "--where", "year = 1", "--epsilon", "0.1")
    assert (
        "--analyst is missing: name the analyst who asks, alice; to add an analyst, also an owner who asks" in message
    )
    assert not run("ledger", "show", "--json").object["entries"]
    configure(here)
    assert ask(run, 2)["analyst"] == "analyst"
    message = refused("count", "survey", "--where", "year = 3", "--epsilon", "1", "--analyst", "eve")
    assert "leave --analyst out, as the configuration names no analysts" in message


def test_a_budget_in_rho_is_kept(run: Run, refused: Refused, here: Path) -> None:
    """Four answers at 0.1 are ρ = 0.02, exactly."""
    configure(here, RHO)
    for year in range(1, 5):
        told = ask(run, year)
    assert (told["budget"], told["remaining"]) == ({"rho": "0.02"}, "0")
    asked = ("count", "survey", "--where", "year = 5", "--epsilon", "0.001")
    assert "exceeds the 0 that is left of the budget ρ = 0.02 of 'survey'" in refused(*asked)
    shown = run("ledger", "show")
    assert "ρ = 0.02" in shown.output
    (survey,) = run("ledger", "show", "--json").object["datasets"]
    assert (survey["spent"], survey["spent_rho"]) == ("0.4", "0.02")
    told = run("plan", "--within", "20%", "--guess", "100", "--dataset", "survey", "--json").object
    assert told["affordable"] == 0


def test_a_budget_with_a_delta_is_kept(run: Run, here: Path) -> None:
    """The remaining budget is the largest price of another answer."""
    configure(here, DELTA)
    told = ask(run, 1)
    half = "0.0000005"
    assert told["budget"] == {"epsilon": "1", "delta": "0.000001", "for_keys": half}
    assert told["remaining"] == "0.9"
    again = " ".join(run("count", "survey", "--where", "year = 1", "--epsilon", "0.1").output.split())
    assert "the next may cost up to 0.9 (budget ε = 1 at δ = 1e-06, 5e-07 of it for keys)" in again
    assert "ε = 1 at δ" in run("ledger", "show").output


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ("budget = { rho = 0.1 }", "[datasets.survey.budget] rho = 0.1: is not exact: write it in"),
        ('budget = { epsilon = "1" }', 'must be "2", or { epsilon = "2", delta = "1e-6" }'),
        ('budget = { epsilon = "1", delta = "1" }', "delta must be a decimal or a fraction in"),
        ('budget = { epsilon = "1", dleta = "0" }', "unknown key; did you mean delta?"),
        ('budget = { rho = "0" }', "rho must be a decimal"),
        ('[analysts.alice]\nbudgte = "1"', "unknown key; did you mean budget?"),
        ('[analysts."a b"]', "[analysts.'a b']: a name consists of letters, digits, - and _: rename it"),
        ("[analysts.alice]\nbudget = 0.1", 'is not exact: write it in quotes, budget = "0.1"'),
    ],
)
def test_a_budget_that_cannot_be_kept_is_refused(refused: Refused, here: Path, dataset: str, message: str) -> None:
    """In one line that names file, table, key and remedy."""
    configure(here, dataset)
    assert message in refused("ledger", "show")


def test_a_head_in_the_configuration_is_checked(refused: Refused, here: Path) -> None:
    """Before anything else."""
    (here / "noisycount.toml").write_text('[ledger]\nhead = "12"\n')
    assert "[ledger] head must be a number, a colon and 32 to 64" in refused("ledger", "show")


def test_a_ledger_on_a_server_serves_the_command_line(
    run: Run, refused: Refused, here: Path, postgresql: Server
) -> None:
    """From the first count to the last, with no file beside the configuration."""
    configure(here, 'budget = "1/3"', ledger=postgresql.new_url())
    assert "nothing was asked yet" in run("ledger", "show").output
    assert run("ledger", "verify", "--json").object["head"] is None
    assert "There is no ledger on the server yet" in run("ledger", "verify").output
    first = ask(run, 1, "0.3")
    assert (first["ledger"], first["remaining"]) == (None, "1/30")
    assert ask(run, 1, "0.3")["answer"] == first["answer"]
    message = refused("count", "survey", "--where", "year = 2", "--epsilon", "0.1")
    assert "exceeds the 1/30 that is left" in message
    assert f"ledger: '{postgresql.folder}/" in run("ledger", "show").words
    assert "3 rows, consistent in themselves" in run("ledger", "verify").output
    (survey,) = run("ledger", "show", "--json").object["datasets"]
    assert Fraction(survey["spent"]) == Fraction(3, 10)
    names = ["noisycount.data", "noisycount.toml", "survey.parquet"]
    assert sorted(path.name for path in here.iterdir()) == names


FORGED = ["{}", "[]", "5", '{"where": 5}', "year", '"where"', "[" * 90_000]


@pytest.mark.parametrize("question", FORGED, ids=lambda text: text[:9])
def test_a_forged_question_is_one_line(run: Run, refused: Refused, here: Path, question: str) -> None:
    """A forged row with a right hash does not make a command end in a traceback."""
    configure(here)
    request = Request("survey", question, Fraction(1, 10))
    with Ledger.open(f"sqlite:///{here}/ledger.db") as ledger:
        ledger.store(ledger.reserve("forged", request, Fraction(1))[0], 5)
    for words in (("ledger", "show"), ("plan", "--epsilon", "0.1", "--guess-from", "forged")):
        assert "key 'forged' of the ledger has a question that no version of noisycount wrote" in refused(*words)
    assert run("ledger", "show", "--json").object["entries"][0]["question"] == question
    assert run("ledger", "verify").status == 0


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.symlink_to("nowhere")])
def test_no_other_ledger_is_begun_where_the_configuration_is_missing(
    refused: Refused, here: Path, make: Callable[[Path], None]
) -> None:
    """A folder or a dangling link of its name is refused, by each command that would read it."""
    make(here / "noisycount.toml")
    for words in (("count", "survey.parquet", "--where", "year = 1", "--epsilon", "0.1"), ("ledger", "show")):
        assert "noisycount.toml is a folder, a pipe or a broken link, not a file" in refused(*words)


def test_a_ledger_is_for_its_owners_eyes(run: Run, here: Path) -> None:
    """Whatever the account lets others read: the rows hold more than answers."""
    before = os.umask(0)
    try:
        configure(here)
        ask(run, 1)
    finally:
        os.umask(before)
    assert (here / "ledger.db").stat().st_mode & 0o777 == 0o600


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
    """A table has a single row with its grouping, size, price and number of counts."""
    assert len(keys) == COUNT + 1
    with Ledger.open(f"sqlite:///{here}/ledger.db") as ledger:
        entries = ledger.entries()
    hidden, count = entries[HIDDEN].answer, entries[COUNT].answer
    assert isinstance(hidden, TableAnswer)
    assert hidden.keys is not None
    assert isinstance(count, int)
    found = counted_noun("key", len(hidden.keys))
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


def test_a_table_is_no_guess(run: Run, refused: Refused, keys: list[str]) -> None:
    """Options that take the key of one count refuse it in one line."""
    for key in keys[:COUNT]:
        asked = ("plan", "--within", "20%", "--guess-from", key)
        message = refused(*asked)
        assert message.endswith("is a table, and a guess is one count: give --guess instead\n")
        assert "that is a table, but the risk is computed for a single count" in refused("risk", "--key", key)
    assert run("plan", "--within", "20%", "--guess-from", keys[COUNT]).status == 0


def test_tables_are_verified_and_exported(run: Run, keys: list[str]) -> None:
    """As every row is."""
    assert run("ledger", "verify").status == 0
    rows = [json.loads(line) for line in run("ledger", "export").output.splitlines()]
    answers = {row["key"]: row["answer"] for row in rows if row["kind"] == "answer"}
    assert [TableAnswer(answers[key]).levels[0].size for key in (keys[CELLS], keys[MANY])] == [6, 4]
    (gaussian,) = (row for row in rows if row["kind"] == "debit" and row["key"] == keys[MANY])
    assert (gaussian["epsilon"], gaussian["rho"], gaussian["spent"]) == (None, "0.001", None)


FORGED_TABLES = [
    {"table": 5},
    {"table": {}},
    {"table": {"by": 5}},
    {"table": {"by": [5]}},
    {"table": {"questions": []}},
    {"table": {"questions": ["a", None]}},
    {"table": {"by": ["year"]}, "where": 5},
]


@pytest.mark.parametrize("question", FORGED_TABLES, ids=str)
@pytest.mark.parametrize("answer", [5, TableAnswer.from_levels([[1]]), None], ids=["one", "table", "none"])
def test_a_forged_table_is_one_line(
    refused: Refused, run: Run, here: Path, question: dict[str, object], answer: int | TableAnswer | None
) -> None:
    """A forged row with a right hash does not make a command end in a traceback."""
    configure(here)
    request = Request("survey", json.dumps(question), Fraction(1, 10))
    with Ledger.open(f"sqlite:///{here}/ledger.db") as ledger:
        entry, _ = ledger.reserve("forged", request, Fraction(1))
        if answer is not None:
            ledger.store(entry, answer)
    assert "key 'forged' of the ledger has a question that no version of noisycount wrote" in refused("ledger", "show")
    assert run("ledger", "show", "--json").status == 0
    refused("plan", "--epsilon", "0.1", "--guess-from", "forged")
    refused("risk", "--key", "forged")
