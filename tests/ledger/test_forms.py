"""Analysts, budgets of other kinds, heads, clocks and older forms of a ledger."""
# ruff: noqa: S608, as all SQL here is our own

import json
import shutil
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from noisycount.errors import BudgetError, LedgerError, SourceError
from noisycount.ledger.budget import ApproximateBudget, ConcentratedBudget, Loss, PureBudget
from noisycount.ledger.chain import row_hash
from noisycount.ledger.entries import Analyst, Head, Request
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.series import FormerRequests
from noisycount.ledger.verification import verification
from tests.helpers.ledgers import TENTH, asked, change, refusal

ALICE, BOB = Analyst("alice", Fraction(3, 10)), Analyst("bob", Fraction(1))
RICH = Fraction(10)
OLDER = """
    CREATE TABLE debits (number INTEGER NOT NULL PRIMARY KEY, key TEXT NOT NULL UNIQUE,
        digest TEXT NOT NULL UNIQUE, dataset TEXT NOT NULL, question TEXT NOT NULL,
        epsilon TEXT NOT NULL, spent TEXT NOT NULL, made TEXT NOT NULL);
    CREATE INDEX debits_of_a_dataset ON debits (dataset, number);
    CREATE TABLE answers (key TEXT NOT NULL PRIMARY KEY REFERENCES debits (key),
        answer TEXT NOT NULL);
    CREATE TRIGGER debits_refuse_delete BEFORE DELETE ON debits
        BEGIN SELECT RAISE(ABORT, 'debits are append-only'); END;
    CREATE TRIGGER answers_refuse_delete BEFORE DELETE ON answers
        BEGIN SELECT RAISE(ABORT, 'answers are append-only'); END;
"""


def test_a_spend_must_fit_the_analyst_as_well(ledger: Ledger) -> None:
    """Over all data sets together; another analyst is not affected."""
    for number in range(3):
        request = asked(number, dataset=f"data {number}")
        entry, charged = ledger.reserve(f"{number}", request, RICH, ALICE)
        assert (charged.epsilon, entry.analyst) == (TENTH, "alice")
        assert entry.analyst_spent.epsilon == (number + 1) * TENTH
    message = refusal(lambda: ledger.reserve("3", asked(3), RICH, ALICE))
    assert message.startswith("epsilon 0.1 exceeds the 0 that is left of the budget 0.3 of analyst 'alice'; ask at")
    assert ledger.reserve("3", asked(3), RICH, BOB)[1].epsilon == TENTH
    assert (ledger.paid_by("alice").epsilon, ledger.paid_by("bob").epsilon) == (3 * TENTH, TENTH)
    assert ledger.paid_by("carol") == Loss()


def test_a_spend_must_fit_the_data_set_as_well(ledger: Ledger) -> None:
    """The budget that one analyst spent is spent for all."""
    ledger.reserve("1", asked(1), TENTH, ALICE)
    message = refusal(lambda: ledger.reserve("2", asked(2), TENTH, BOB))
    assert message.startswith("epsilon 0.1 exceeds the 0 that is left of the budget 0.1 of 'survey'")
    assert ledger.paid_by("bob") == Loss()


def test_of_forms_that_were_all_asked_the_first_counts(ledger: Ledger) -> None:
    """A request is before its former forms, unless it has its place among them."""
    entries = [ledger.reserve(f"{number}", asked(number), RICH)[0] for number in (1, 2)]
    for formers, entry in (
        ([asked(2)], entries[0]),
        ([asked(2), asked(1)], entries[1]),
        ([asked(3), asked(2)], entries[0]),
    ):
        assert ledger.reserve("again", asked(1), RICH, formers=formers) == (entry, Loss())


def request_of(version: str, **parts: object) -> Request:
    """Return a request about a version of the records."""
    question = {"where": "age > 40", "mechanism": "discrete Laplace", "scale": "10", "version": version, **parts}
    return Request("survey", json.dumps(question, sort_keys=True), TENTH)


FORMER = {
    "version": request_of("1700000000 20"),
    "edition": request_of("a" * 64, edition=None),
    "list of one": request_of("a" * 64, where=None, table={"questions": ["age > 40"]}),
}


@pytest.mark.parametrize("form", FORMER)
def test_former_forms_are_built_only_if_the_ledger_has_rows_of_another_shape(
    ledger: Ledger, ledger_url: str, form: str
) -> None:
    """A debit in a former form is found again; a ledger without one builds no former request."""
    request, built = request_of("a" * 64), []

    def build() -> list[Request]:
        built.append(form)
        return [request, FORMER[form]]

    ledger.reserve("other", request_of("a" * 64, where="age > 41"), RICH)
    assert ledger.entries_asking(request, FormerRequests(build)) == []
    assert not built
    entry, _ = ledger.reserve("former", FORMER[form], RICH)
    assert ledger.reserve("again", request, RICH, formers=FormerRequests(build)) == (entry, Loss())
    assert built
    with Ledger.open(ledger_url) as other:
        assert other.entries_asking(request, FormerRequests(build)) == [entry]


def test_records_are_prepared_before_a_charge_and_not_for_a_repeat(ledger: Ledger) -> None:
    """If they cannot be prepared, nothing is charged."""

    def fail() -> None:
        raise SourceError("a cell is unreadable")

    with pytest.raises(SourceError):
        ledger.reserve("1", asked(1), RICH, prepare=fail)
    assert ledger.paid("survey") == Loss()
    entry, _ = ledger.reserve("1", asked(1), RICH)
    with pytest.raises(SourceError):  # a debit without an answer needs the records
        ledger.reserve("1", asked(1), RICH, prepare=fail)
    stored = ledger.store(entry, 5)
    assert ledger.reserve("2", asked(1), RICH, prepare=fail) == (stored, Loss())


def test_that_somebody_else_asks_is_written_down_once(ledger: Ledger) -> None:
    """Repeats are free, however many; the analyst who paid is not listed as a repeat."""
    ledger.reserve("1", asked(1), RICH, ALICE)
    for key, analyst, askers in (
        ("2", ALICE, ("alice",)),
        ("3", BOB, ("alice", "bob")),
        ("4", BOB, ("alice", "bob")),
        ("1", ALICE, ("alice", "bob")),
    ):
        assert ledger.reserve(key, asked(1), RICH, analyst)[1] == Loss()
        assert ledger.entries()[0].askers == askers


def test_what_another_analyst_bought_is_free_for_who_could_pay(ledger: Ledger) -> None:
    """An analyst who could not pay is refused as if nobody had asked; either way nothing is charged."""
    entry, _ = ledger.reserve("1", asked(1), RICH, ALICE)
    stored = ledger.store(entry, 7)
    for price, number in ((TENTH, 1), (TENTH, 2)):
        with pytest.raises(BudgetError, match=r"epsilon 0\.1 exceeds the 0\.000000001 that is left of the budget"):
            ledger.reserve("2", asked(number, price), RICH, Analyst("bob", Fraction(1, 10**9)))
    assert ledger.entries()[0].askers == (ALICE.name,)
    assert ledger.reserve("2", asked(1), RICH, Analyst("bob", TENTH)) == (stored, Loss())
    assert ledger.paid_by("bob") == Loss()
    assert ledger.entries()[0].askers == (ALICE.name, "bob")


def test_a_budget_in_rho_pays_for_squares(ledger: Ledger) -> None:
    """A hundred answers at a tenth are 0.5 in ρ, exactly, and no hundred and first fits."""
    budget = ConcentratedBudget(Fraction(1, 2))
    for number in range(100):
        assert ledger.reserve(f"{number}", asked(number), budget)[1].epsilon == TENTH
    assert ledger.paid("survey") == Loss(Fraction(10), Fraction(1, 2))
    with pytest.raises(BudgetError, match=r"exceeds the 0 that is left of the budget ρ = 0\.5 of"):
        ledger.reserve("100", asked(100, Fraction(1, 10**9)), budget)


def test_a_budget_with_a_delta_pays_for_more_than_the_sum(ledger: Ledger) -> None:
    """More answers at 0.1 than the ten that ε = 1 pays for; what is left pays for one more."""
    budget = ApproximateBudget(Fraction(1), Fraction(1, 1000))
    fitting = int(budget.rho / Loss.from_epsilon(TENTH).rho)
    assert fitting > 10
    for number in range(fitting):
        ledger.reserve(f"{number}", asked(number), budget)
    with pytest.raises(BudgetError, match=r"left of the budget ε = 1 at δ = 0\.001 of 'survey'"):
        ledger.reserve("more", asked(fitting), budget)
    left = budget.left(ledger.paid("survey"))
    assert 0 < left < TENTH
    assert ledger.reserve("less", asked(fitting, left), budget)[1].epsilon == left


def test_a_head_that_was_written_down_is_held(ledger: Ledger, ledger_url: str) -> None:
    """A ledger opens under every head that it ever had, and under no other."""
    ledger.store(ledger.reserve("1", asked(1), RICH)[0], 5)
    heads = [Head(row["number"], row["hash"]) for row in ledger.rows()]
    for head in (Head(), *heads, Head(1, heads[0].hash[:32])):
        Ledger.open(ledger_url, known_head=head).close()
    for head in (Head(3, "0" * 64), Head(2, heads[0].hash), Head(1, "f" * 32)):
        message = refusal(lambda: Ledger.open(ledger_url, known_head=head))  # noqa: B023
        assert f"does not hold the row of the stated head, row {head.number}: it is an older" in message


def test_a_restored_copy_is_told_by_the_head(tmp_path: Path) -> None:
    """Before and after it is used again; nothing is spent from it under the head."""
    path, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    url = f"sqlite:///{path}"
    with Ledger.open(url) as ledger:
        ledger.reserve("1", asked(1), RICH)
        shutil.copy(path, copy)
        ledger.reserve("2", asked(2), RICH)
        written = ledger.verify().head
    copy.replace(path)
    with Ledger.open(url) as ledger:
        found = ledger.verify(written)
        assert (found.broken, found.head.number) == (2, 1)
        assert "older copy" in found.why
        assert ledger.verify().broken is None
        ledger.reserve("3", asked(3), RICH)
        assert (ledger.verify(written).broken, ledger.verify().broken) == (2, None)
    assert "older copy" in refusal(lambda: Ledger.open(url, known_head=written))


@pytest.mark.parametrize(
    ("statement", "broken"),
    [
        ("UPDATE ledger SET spent = '0.01' WHERE number = 3", 3),
        ("UPDATE ledger SET answer = '6' WHERE number = 2", 2),
        ("UPDATE ledger SET dataset = 'census' WHERE number = 1", 1),
        ("DELETE FROM ledger WHERE number = 2", 2),
        ("DELETE FROM ledger WHERE number <= 3", 1),
        ("UPDATE ledger SET number = 9 WHERE number = 5", 5),
    ],
)
def test_a_change_behind_the_ledgers_back_is_named(ledger: Ledger, statement: str, broken: int) -> None:
    """The first broken row, in each database."""
    for number in range(3):
        ledger.store(ledger.reserve(f"{number}", asked(number), RICH)[0], 5)
    change(ledger, statement)
    assert ledger.verify().broken == broken


def test_an_ends_row_that_was_changed_stops_all_spending(ledger: Ledger) -> None:
    """No debit is chained_row to a row that the ledger did not write."""
    ledger.reserve("1", asked(1), RICH)
    change(ledger, "UPDATE ledger SET made = '2020-01-01T00:00:00+00:00'")
    message = refusal(lambda: ledger.reserve("2", asked(2, dataset="census"), RICH))
    assert message.startswith("row 1 of the ledger is damaged; restore it from a copy")
    assert len(ledger.rows()) == 1


@pytest.mark.parametrize(
    "damage",
    [
        *(f"epsilon = '{value}'" for value in ("", "x", "1/0", "0.2", "1e-1", "1e999999999")),
        *(f"spent = '{value}'" for value in ("", "0", "1e999999999")),
        *("spent_rho = '0'", "analyst_spent = '0'", "analyst_rho = ''", "analyst = 'bob'"),
        *(f"made = '{value}'" for value in ("today", "2026-01-01")),
        *(f"question = '{value}'" for value in ("", "another")),
        *("answer = '5'", f"epsilon = '{'1' * 5000}'", "previous = 'x'", "hash = 'x'"),
        "dataset = 'census'",
    ],
)
def test_a_damaged_row_is_refused(ledger: Ledger, damage: str) -> None:
    """A row that the ledger did not write is neither believed nor shown."""
    ledger.reserve("mine", asked(1), RICH)
    change(ledger, f"UPDATE ledger SET {damage}")
    for action in (ledger.entries, lambda: ledger.reserve("mine", asked(1), RICH)):
        message = refusal(action)
        assert message.startswith("row 1 of the ledger is damaged; restore it from a copy")


@pytest.mark.parametrize("damage", ["many", "", "6"])
def test_a_damaged_answer_is_refused(ledger: Ledger, damage: str) -> None:
    """Nobody is given an answer that was not stored."""
    ledger.store(ledger.reserve("mine", asked(1), RICH)[0], 5)
    change(ledger, f"UPDATE ledger SET answer = '{damage}' WHERE number = 2")
    for action in (ledger.entries, lambda: ledger.reserve("mine", asked(1), RICH)):
        assert refusal(action).startswith("row 2 of the ledger is damaged; restore it from")


def test_a_row_that_makes_no_sense_is_refused_though_its_hash_is_right(ledger: Ledger) -> None:
    """A forged row with a right hash is refused if the ledger would not write it."""
    ledger.reserve("mine", asked(1), RICH)
    (row,) = ledger.rows()
    forged = row_hash({**row, "epsilon": "0.01"})
    change(ledger, f"UPDATE ledger SET epsilon = '0.01', hash = '{forged}'")
    for action in (ledger.entries, lambda: ledger.reserve("mine", asked(1), RICH)):
        assert refusal(action).startswith("row 1 of the ledger is damaged; restore it from")


@pytest.mark.parametrize("made", ["today", "2020-01-01", "2020-01-01T00:00:00+01:00"])
@pytest.mark.parametrize("answered", [False, True])
def test_a_time_that_makes_no_sense_is_refused_though_its_hash_is_right(
    ledger: Ledger, made: str, *, answered: bool
) -> None:
    """Nothing follows a newest row that the ledger would not write, whomever it is about."""
    entry, _ = ledger.reserve("mine", asked(1), RICH)
    if answered:
        ledger.store(entry, 5)
    newest = ledger.rows()[-1]
    number, forged = newest["number"], row_hash({**newest, "made": made})
    change(ledger, f"UPDATE ledger SET made = '{made}', hash = '{forged}' WHERE number = {number}")
    message = refusal(lambda: ledger.reserve("2", asked(2, dataset="census"), RICH, BOB))
    assert message.startswith(f"row {number} of the ledger is damaged; restore it from a copy")


def test_an_answer_is_not_stored_for_another_request(ledger: Ledger) -> None:
    """An entry of another ledger is not taken for the one under its key."""
    entry, _ = ledger.reserve("mine", asked(1), RICH)
    stray = replace(entry, request=asked(2))
    assert refusal(lambda: ledger.store(stray, 5)).startswith("key 'mine' has no debit here")
    assert ledger.entries() == [entry]


def test_a_clock_that_jumps_back_is_refused(ledger: Ledger) -> None:
    """Nothing is charged, nothing is lost; with the clock set right, everything goes on."""
    entry, _ = ledger.reserve("1", asked(1), RICH)
    slow = replace(ledger, clock=lambda: entry.made - timedelta(minutes=2))
    message = refusal(lambda: slow.reserve("2", asked(2), RICH))
    assert message.startswith(f"the clock says {entry.made - timedelta(minutes=2):%Y-%m-%d %H:%M}")
    assert message.endswith(" UTC; set the clock right and ask again")
    assert slow.reserve("1", asked(1), RICH) == (entry, Loss())
    assert ledger.entries() == [entry]
    stored = slow.store(entry, 5)
    assert [row["made"] for row in ledger.rows()] == [entry.made.isoformat()] * 2
    assert ledger.reserve("2", asked(2), RICH)[1].epsilon == TENTH
    assert ledger.entries()[0] == stored


def test_clocks_of_several_machines_may_differ_by_seconds(ledger: Ledger) -> None:
    """Times in the ledger never decrease."""
    entry, _ = ledger.reserve("1", asked(1), RICH)
    slow = replace(ledger, clock=lambda: entry.made - timedelta(seconds=50))
    assert slow.reserve("2", asked(2), RICH)[0].made == entry.made
    assert ledger.verify().broken is None


def older(path: Path) -> list[tuple[object, ...]]:
    """Write a ledger of the form without hashes, and give its debits with their answers."""
    shell = sqlite3.connect(path)
    shell.executescript(OLDER)
    spent = {"survey": Fraction(0), "census": Fraction(0)}
    kept = []
    for number in range(1, 6):
        request = Request(["survey", "census"][number % 2], f"question {number}", Fraction(1, 4))
        spent[request.dataset] += request.epsilon
        total = str(float(spent[request.dataset])).removesuffix(".0")
        made = datetime(2026, 1, 10 - number, tzinfo=UTC)  # a clock that jumped back in its time
        row = (f"key {number}", request.digest, request.dataset, request.question, "0.25", total)
        shell.execute("INSERT INTO debits VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (number, *row, made.isoformat()))
        answer = None if number == 3 else number * 100
        if answer is not None:
            shell.execute("INSERT INTO answers VALUES (?, ?)", (row[0], str(answer)))
        kept.append((row[0], request, made, spent[request.dataset], answer))
    shell.commit()
    shell.close()
    return kept


@pytest.mark.parametrize("create", [True, False])
def test_an_older_ledger_is_brought_into_this_form(tmp_path: Path, *, create: bool) -> None:
    """With every key, request, time, total and answer; it goes on where it was."""
    path = tmp_path / "ledger.db"
    kept = older(path)
    with Ledger.open(f"sqlite:///{path}", create=create) as ledger:
        found = [(each.key, each.request, each.made, each.spent.epsilon, each.answer) for each in ledger.entries()]
        assert found == kept
        assert {each.analyst for each in ledger.entries()} == {"analyst"}
        assert ledger.paid_by("analyst") == Loss(Fraction(5, 4), Fraction(5, 32))
        assert verification(ledger.rows()).head.number == 9
        assert ledger.reserve("key 3", kept[2][1], RICH)[1] == Loss()
        assert ledger.reserve("new", asked(9), RICH)[0].spent.epsilon == Fraction(1, 2) + TENTH
        assert ledger.verify().broken is None
    with Ledger.open(f"sqlite:///{path}") as ledger:
        assert len(ledger.entries()) == 6


@pytest.mark.parametrize("damage", ["epsilon = '0.3'", "spent = '9'", "made = 'today'", "question = 'another'"])
def test_a_damaged_older_ledger_is_left_as_it_is(tmp_path: Path, damage: str) -> None:
    """Its damage is not sealed into a new chain."""
    path = tmp_path / "ledger.db"
    older(path)
    shell = sqlite3.connect(path)
    shell.execute(f"UPDATE debits SET {damage} WHERE number = 2")
    shell.commit()
    shell.close()
    before = path.read_bytes()
    message = refusal(lambda: Ledger.open(f"sqlite:///{path}"))
    assert message.startswith("row 2 of the ledger is damaged; restore it from a copy")
    assert path.read_bytes() == before


def test_an_older_ledger_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    """Its form cannot be changed, and it is not read in two forms."""
    path = tmp_path / "ledger.db"
    older(path)
    message = refusal(lambda: Ledger.open(f"sqlite:///file:{path}?mode=ro&uri=true", create=False))
    assert message.endswith("is read-only; make the file and its folder writable")


def test_an_analyst_is_checked() -> None:
    """The name can be printed, the budget can be spent."""
    with pytest.raises(ValueError, match=r"\Aanalyst must be 1 to 200 printable characters"):
        Analyst("a\nb")
    with pytest.raises(ValueError, match=r"\Abudget must be a decimal"):
        Analyst("alice", Fraction(0))
    for budget in (True, object(), float("nan")):
        with pytest.raises(ValueError, match=r"\Abudget must be [^\n]+\Z"):
            Analyst("alice", budget)  # type: ignore[arg-type]
    assert Analyst("alice", "1/2").budget == PureBudget(Fraction(1, 2))  # type: ignore[arg-type]
    assert Analyst("alice", 0.1).budget == PureBudget(Fraction(1, 10))  # type: ignore[arg-type]
    with pytest.raises(LedgerError):
        raise BudgetError
