import tempfile
from fractions import Fraction

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from noisycount.errors import BudgetError, LedgerError
from noisycount.release.ledger import Entry, Ledger, Request

BUDGET = Fraction(1)
keys = st.sampled_from(["a", "b", "c", "d"])
requests = st.builds(
    Request,
    dataset=st.sampled_from(["survey", "census"]),
    question=st.sampled_from(["old", "young"]),
    epsilon=st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1, 2)]),
)


class LedgerMachine(RuleBasedStateMachine):
    """A ledger does what a list of entries in memory would do, through any crashes."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.ledger = self.opened()
        self.entries: list[Entry] = []

    def opened(self) -> Ledger:
        """Give the ledger as it is on the disk."""
        return Ledger.open(f"sqlite:///{self.folder.name}/ledger.db")

    def spent(self, dataset: str) -> Fraction:
        """Give what the model's data set has paid."""
        paid = (entry.request for entry in self.entries)
        return sum((each.epsilon for each in paid if each.dataset == dataset), Fraction(0))

    @rule(key=keys, request=requests)
    def reserve(self, key: str, request: Request) -> None:
        """The first matching line of the contract decides: conflict, repeat, overspend, debit."""
        owner = next((entry for entry in self.entries if entry.key == key), None)
        known = next((entry for entry in self.entries if entry.request == request), None)
        total = self.spent(request.dataset) + request.epsilon
        if owner is not None and owner.request != request:
            with pytest.raises(LedgerError, match="another question"):
                self.ledger.reserve(key, request, BUDGET)
        elif known is not None:
            assert self.ledger.reserve(key, request, BUDGET) == (known, 0)
        elif total > BUDGET:
            with pytest.raises(BudgetError):
                self.ledger.reserve(key, request, BUDGET)
        else:
            entry, charged = self.ledger.reserve(key, request, BUDGET)
            assert charged == request.epsilon
            assert entry == Entry(key, request, total, entry.made, answer=None)
            self.entries.append(entry)

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
        self.ledger = self.opened()

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        """Every debit and answer, in order, and both totals."""
        assert self.ledger.entries() == self.entries
        for dataset in ("survey", "census"):
            assert self.ledger.spent(dataset) == self.spent(dataset) <= BUDGET

    def teardown(self) -> None:
        """Leave no file behind."""
        self.ledger.close()
        self.folder.cleanup()


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
