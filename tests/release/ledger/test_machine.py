import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from noisycount.errors import BudgetError, LedgerError
from noisycount.release.budget.loss import Loss
from noisycount.release.ledger.chain import Head
from noisycount.release.ledger.ledger import Analyst, Entry, Ledger, Request
from tests.layers import examples
from tests.postgresql import Server

BUDGET = Fraction(1)
OWN_BUDGET = Fraction(11, 10)
AT_ONCE = 3
keys = st.sampled_from(["a", "b", "c", "d"])
analysts = st.sampled_from([Analyst("alice", OWN_BUDGET), Analyst("bob", OWN_BUDGET), Analyst()])
requests = st.builds(
    Request,
    dataset=st.sampled_from(["survey", "census"]),
    question=st.sampled_from(["old", "young"]),
    epsilon=st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1, 2)]),
)
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
        """Give what the first matching line of the contract decides.

        Conflict, repeat, overspend of the data set or of the analyst, debit.
        """
        owner = next((entry for entry in self.entries if entry.key == key), None)
        known = next((entry for entry in self.entries if entry.request == request), None)
        if owner is not None and owner.request != request:
            return LedgerError
        if known is not None:
            return known
        price = request.price
        total, own = self.spent(request.dataset) + price, self.spent_by(analyst.name) + price
        if total.epsilon > BUDGET or (analyst.budget and own.epsilon > OWN_BUDGET):
            return BudgetError
        made = self.ledger.clock()
        return Entry(key, request, total, made, None, analyst.name, own)

    def book(self, expected: Entry | type[LedgerError], outcome: Outcome) -> None:
        """Compare one outcome with the contract's, and keep a new debit."""
        if isinstance(expected, type):
            assert type(outcome) is expected
            return
        assert isinstance(outcome, tuple)
        entry, charged = outcome
        if expected in self.entries:
            assert (entry, charged) == (expected, Loss())
            return
        assert charged == entry.request.price
        assert entry == Entry(
            *(expected.key, expected.request, expected.spent, entry.made, None),
            *(expected.analyst, expected.analyst_spent),
        )
        self.entries.append(entry)

    @rule(key=keys, request=requests, analyst=analysts)
    def reserve(self, key: str, request: Request, analyst: Analyst) -> None:
        """Reserve, repeat or conflict."""
        expected = self.expected(key, request, analyst)
        self.book(expected, attempt(self.ledger, key, request, analyst))

    @rule(request=requests, numbers=st.permutations(range(AT_ONCE)))
    def spend_at_once(self, request: Request, numbers: list[int]) -> None:
        """Connections of their own spend at once: as if they had come one after the other."""
        wanted = [
            (f"{request.question} {number}", Request("survey", f"{number}", request.epsilon))
            for number in numbers
        ]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            outcomes = list(pool.map(lambda each: spend_alone(self.url, *each), wanted))
        order = {entry.key: place for place, entry in enumerate(self.ledger.entries())}
        ranked = sorted(zip(wanted, outcomes, strict=True), key=lambda each: rank(order, each[1]))
        for (key, each), outcome in ranked:
            self.book(self.expected(key, each, Analyst()), outcome)

    @precondition(lambda self: self.entries)
    @rule(number=st.integers(0, 11), answer=st.integers())
    def store(self, number: int, answer: int) -> None:
        """An answer once stored is the answer of every later store."""
        index = number % len(self.entries)
        entry = self.entries[index]
        stored = self.ledger.store(entry, answer)
        assert stored.answer == (answer if entry.answer is None else entry.answer)
        self.entries[index] = stored

    @rule()
    def crash(self) -> None:
        """What was not stored is forgotten; what was debited is not."""
        self.ledger.close()
        self.ledger = Ledger.open(self.url, known_head=self.heads[-1])

    @precondition(lambda self: self.entries)
    @rule(number=st.integers(0, 11), answer=st.integers())
    def crash_after_the_debit_and_resume(self, number: int, answer: int) -> None:
        """Whoever asks again after a crash finds the debit, and one answer for ever."""
        index = number % len(self.entries)
        entry = self.entries[index]
        self.crash()
        assert self.ledger.reserve(entry.key, entry.request, Fraction(1, 10**9)) == (entry, Loss())
        self.entries[index] = self.ledger.store(entry, answer)

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        """Every debit and answer, in order, and all totals."""
        assert self.ledger.entries() == self.entries
        for dataset in ("survey", "census"):
            assert self.ledger.paid(dataset) == self.spent(dataset)
            assert self.ledger.spent(dataset) <= BUDGET
        for analyst in ("alice", "bob", "analyst"):
            assert self.ledger.paid_by(analyst) == self.spent_by(analyst)
        assert self.spent_by("alice").epsilon <= OWN_BUDGET

    @invariant()
    def is_an_intact_chain(self) -> None:
        """A row an entry and one an answer; every head that was ever written down is there."""
        for head in self.heads:
            found = self.ledger.verify(head)
            assert found.broken is None
        answers = sum(entry.answer is not None for entry in self.entries)
        assert found.head.number == len(self.entries) + answers
        if found.head != self.heads[-1]:
            self.heads.append(found.head)
            del self.heads[1:-1]

    def teardown(self) -> None:
        """Close what is open."""
        self.ledger.close()


def attempt(ledger: Ledger, key: str, request: Request, analyst: Analyst) -> Outcome:
    """Give what a ledger says to a request."""
    try:
        return ledger.reserve(key, request, BUDGET, analyst)
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


def test_a_ledger_in_a_file_keeps_its_contract() -> None:
    """With SQLite."""

    class FileMachine(LedgerMachine):
        def __init__(self) -> None:
            self.folder = tempfile.mkdtemp()
            self.url = f"sqlite:///{self.folder}/ledger.db"
            super().__init__()

        def teardown(self) -> None:
            super().teardown()
            shutil.rmtree(self.folder)

    run_state_machine_as_test(FileMachine, settings=machine(20))


def test_a_ledger_on_a_server_keeps_its_contract(postgresql: Server) -> None:
    """With PostgreSQL."""

    class ServerMachine(LedgerMachine):
        def __init__(self) -> None:
            self.url = postgresql.new_url()
            super().__init__()

    run_state_machine_as_test(ServerMachine, settings=machine(8))
