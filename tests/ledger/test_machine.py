import math
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from noisycount.errors import BudgetError, LedgerError, ReuseError
from noisycount.ledger import checkpoints
from noisycount.ledger.budget import ApproximateBudget, ConcentratedBudget, Loss, budget_of
from noisycount.ledger.chain import CHECKPOINT
from noisycount.ledger.entries import Analyst, Entry, Head, Request, TableAnswer
from noisycount.ledger.ledger import Ledger
from tests.helpers.cases import examples
from tests.helpers.ledgers import narrow
from tests.helpers.postgresql import Server

TENTH, SHARE = Fraction(1, 10), Fraction(1, 10_000)
BUDGETS = {
    "survey": budget_of(1),
    "census": ApproximateBudget(Fraction(1), Fraction(1, 1000), 5 * SHARE),
    "panel": ConcentratedBudget(TENTH),
}
CENSUS_RHO = Fraction("0.0522736")  # what implies ε = 1 at δ = 0.0005, as dp-accounting has it
ALICE = Analyst("alice", budget_of("1.1"))
BOB = Analyst("bob", ConcentratedBudget(TENTH))
AT_ONCE = 3
keys = st.sampled_from(["a", "b", "c", "d"])
analysts = st.sampled_from([ALICE, BOB, Analyst()])
prices = st.sampled_from(
    [
        *((price, None, Fraction(0)) for price in (TENTH, Fraction(1, 3), Fraction(1, 2))),
        *((None, price, Fraction(0)) for price in (TENTH / 5, TENTH / 10)),
        *((TENTH, None, SHARE), (TENTH, None, 3 * SHARE), (None, TENTH / 10, SHARE)),
    ]
)
requests = st.builds(
    lambda dataset, question, price: Request(dataset, question, *price),
    dataset=st.sampled_from(["survey", "census", "panel"]),
    question=st.sampled_from(["old", "young"]),
    price=prices,
)
tables = st.builds(
    TableAnswer.from_levels, st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3), min_size=1, max_size=2)
)
answers = st.integers() | tables
Outcome = tuple[Entry, Loss] | LedgerError


class LedgerMachine(RuleBasedStateMachine):
    """A ledger does what a list of entries in memory would do, through any crashes."""

    url = ""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger.open(self.url)
        self.entries: list[Entry] = []
        self.heads = [Head()]

    def spent(self, dataset: str) -> Loss:
        """Give what the model's data set has paid."""
        paid = [each.request for each in self.entries if each.request.dataset == dataset]
        return sum((request.price for request in paid), Loss())

    def spent_by(self, analyst: str) -> Loss:
        """Give what the model's analyst has paid."""
        paid = [each.request for each in self.entries if each.analyst == analyst]
        return sum((request.price for request in paid), Loss())

    def expected(self, key: str, request: Request, analyst: Analyst) -> Entry | type[LedgerError]:
        """Give what the first matching line of the contract decides."""
        owner = next((entry for entry in self.entries if entry.key == key), None)
        known = next((entry for entry in self.entries if entry.request == request), None)
        if owner is not None and owner.request != request:
            return ReuseError
        if known is not None:
            return known
        price = request.price
        total, own = self.spent(request.dataset) + price, self.spent_by(analyst.name) + price
        if not (fits(request.dataset, total) and fits(analyst.name, own)):
            return BudgetError
        made = self.ledger.clock()
        return Entry(key, request, total, made, None, analyst.name, own, purpose_of(key))

    def repeat(self, entry: Entry, analyst: Analyst, purpose: str | None) -> None:
        """Keep that somebody else asked, at the time that the ledger has."""
        if analyst.name in entry.askers:
            return
        place = self.entries.index(entry)
        written = self.ledger.entries()[place].repeats[len(entry.repeats)]
        assert (written.analyst, written.purpose) == (analyst.name, purpose)
        assert entry.made <= written.made <= self.ledger.clock()
        self.entries[place] = replace(entry, repeats=(*entry.repeats, written))

    def book(self, expected: Entry | type[LedgerError], outcome: Outcome, key: str, analyst: Analyst) -> None:
        """Compare one outcome with the contract's, and keep a new debit or repeat."""
        if isinstance(expected, type):
            assert type(outcome) is expected
            return
        assert isinstance(outcome, tuple)
        entry, charged = outcome
        if expected in self.entries:
            assert (entry, charged) == (expected, Loss())
            self.repeat(expected, analyst, purpose_of(key))
            return
        assert charged == entry.request.price
        assert entry == Entry(
            *(expected.key, expected.request, expected.spent, entry.made, None),
            *(expected.analyst, expected.analyst_spent, expected.purpose),
        )
        self.entries.append(entry)

    @initialize(is_older=st.booleans())
    def begin(self, *, is_older: bool) -> None:
        """The ledger may be one of the form before prices in ρ."""
        if is_older:
            self.ledger.close()
            narrow(self.url)
            self.ledger = Ledger.open(self.url)

    @rule(key=keys, request=requests, analyst=analysts)
    def reserve(self, key: str, request: Request, analyst: Analyst) -> None:
        """Reserve, repeat or conflict."""
        expected = self.expected(key, request, analyst)
        self.book(expected, attempt(self.ledger, key, request, analyst), key, analyst)

    @rule(request=requests, numbers=st.permutations(range(AT_ONCE)))
    def spend_at_once(self, request: Request, numbers: list[int]) -> None:
        """Connections of their own spend at once: as if they had come one after the other."""
        wanted = [(f"{request.question} {number}", replace(request, question=f"{number}")) for number in numbers]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            outcomes = list(pool.map(lambda each: spend_alone(self.url, *each), wanted))
        order = {entry.key: place for place, entry in enumerate(self.ledger.entries())}
        ranked = sorted(zip(wanted, outcomes, strict=True), key=lambda each: rank(order, each[1]))
        for (key, each), outcome in ranked:
            self.book(self.expected(key, each, Analyst()), outcome, key, Analyst())

    @precondition(lambda self: self.entries)
    @rule(number=st.integers(0, 11), answer=answers)
    def store(self, number: int, answer: int | TableAnswer) -> None:
        """An answer once stored is the answer of every later store."""
        index = number % len(self.entries)
        entry = self.entries[index]
        stored = self.ledger.store(entry, answer)
        assert stored.answer == (answer if entry.answer is None else entry.answer)
        self.entries[index] = stored

    @rule()
    def crash(self) -> None:
        """A reservation stays debited after a crash, and an answer that was not stored is lost."""
        self.ledger.close()
        self.ledger = Ledger.open(self.url, known_head=self.heads[-1])

    @precondition(lambda self: self.entries)
    @rule(number=st.integers(0, 11), answer=answers)
    def crash_after_the_debit_and_resume(self, number: int, answer: int | TableAnswer) -> None:
        """A request that is repeated after a crash finds its debit, and a single answer for ever."""
        index = number % len(self.entries)
        entry = self.entries[index]
        self.crash()
        again = self.ledger.reserve(entry.key, entry.request, Fraction(1, 10**9), purpose="something else")
        assert again == (entry, Loss())
        self.repeat(entry, Analyst(), "something else")
        self.entries[index] = self.ledger.store(entry, answer)

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        """Every debit and answer, in order, and all totals."""
        assert self.ledger.entries() == self.entries
        for dataset in BUDGETS:
            assert self.ledger.paid(dataset) == self.spent(dataset)
            assert fits(dataset, self.spent(dataset))
        for analyst in ("alice", "bob", "analyst"):
            assert self.ledger.paid_by(analyst) == self.spent_by(analyst)
            assert fits(analyst, self.spent_by(analyst))

    @invariant()
    def is_an_intact_chain(self) -> None:
        """A row an entry, an answer, a repeat, a checkpoint; every head that was ever written down is there."""
        for head in self.heads:
            found = self.ledger.verify(head)
            assert found.broken is None
        answers = sum(entry.answer is not None for entry in self.entries)
        repeats = sum(len(entry.repeats) for entry in self.entries)
        sealed = sum(row["kind"] == CHECKPOINT for row in self.ledger.rows())
        assert found.head.number == len(self.entries) + answers + repeats + sealed
        if found.head != self.heads[-1]:
            self.heads.append(found.head)
            del self.heads[1:-1]

    def teardown(self) -> None:
        """Close what is open."""
        self.ledger.close()


def fits(owner: str, loss: Loss) -> bool:
    """Return True if the budget of a data set or an analyst pays for a loss, by its definition."""
    epsilon = math.inf if loss.epsilon is None else loss.epsilon
    match owner:
        case "survey":
            return epsilon <= 1 and loss.delta == 0
        case "alice":
            return epsilon <= Fraction(11, 10) and loss.delta == 0
        case "panel" | "bob":
            return loss.rho <= TENTH and loss.delta == 0
        case "census":
            return (epsilon <= 1 or loss.rho <= CENSUS_RHO) and loss.delta <= 5 * SHARE
    return True


def purpose_of(key: str) -> str | None:
    """Give what is asked for under a key; half of the keys say nothing of it."""
    return f"report of {key}" if key < "c" else None


def attempt(ledger: Ledger, key: str, request: Request, analyst: Analyst) -> Outcome:
    """Give what a ledger says to a request."""
    try:
        budget = BUDGETS[request.dataset]
        return ledger.reserve(key, request, budget, analyst, purpose=purpose_of(key))
    except LedgerError as error:
        return error


def spend_alone(url: str, key: str, request: Request) -> Outcome:
    """Give what a ledger says to a request that comes by a connection of its own."""
    with Ledger.open(url) as ledger:
        return attempt(ledger, key, request, Analyst())


def rank(order: dict[str, int], outcome: Outcome) -> tuple[bool, int]:
    """Put granted requests into the order of the ledger, and refusals last."""
    refused = not isinstance(outcome, tuple)
    return refused, 0 if refused else order[outcome[0].key]


def machine(runs: int) -> settings:
    """So many runs of 20 steps."""
    return settings(examples(runs), stateful_step_count=20)


@pytest.mark.thorough
@pytest.mark.hypothesis
@pytest.mark.parametrize("interval", [checkpoints.INTERVAL, 3])
def test_a_ledger_in_a_file_keeps_its_contract(monkeypatch: pytest.MonkeyPatch, interval: int) -> None:
    """With SQLite; every third row may be a checkpoint, from which each opening goes on."""
    monkeypatch.setattr(checkpoints, "INTERVAL", interval)

    class FileMachine(LedgerMachine):
        def __init__(self) -> None:
            self.folder = tempfile.mkdtemp()
            self.url = f"sqlite:///{self.folder}/ledger.db"
            super().__init__()

        def teardown(self) -> None:
            super().teardown()
            shutil.rmtree(self.folder)

    run_state_machine_as_test(FileMachine, settings=machine(20))


@pytest.mark.thorough(minutes=1)
@pytest.mark.parametrize("interval", [checkpoints.INTERVAL, 3])
def test_a_ledger_on_a_server_keeps_its_contract(
    postgresql: Server, monkeypatch: pytest.MonkeyPatch, interval: int
) -> None:
    """With PostgreSQL; every third row may be a checkpoint, from which each opening goes on."""
    monkeypatch.setattr(checkpoints, "INTERVAL", interval)

    class ServerMachine(LedgerMachine):
        def __init__(self) -> None:
            self.url = postgresql.new_url()
            super().__init__()

    run_state_machine_as_test(ServerMachine, settings=machine(5))
