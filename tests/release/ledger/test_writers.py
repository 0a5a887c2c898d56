"""What threads find that write to a ledger in one transaction."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from threading import Event
from typing import Any

import pytest
from sqlalchemy import Connection, event, exc

from noisycount.errors import BudgetError
from noisycount.release.budget.loss import Loss
from noisycount.release.ledger.ledger import Ledger
from tests.release.ledger.ledgers import TENTH, asked, narrow

BUDGET = Fraction(1)
PATIENCE = 20  # seconds
Asked = Callable[[], Any]


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    """Give a ledger of one debit, of a hundredth."""
    with Ledger.open(ledger_url) as ledger:
        ledger.reserve("first", asked(0, TENTH / 10), BUDGET)
        yield ledger


def sharing(ledger: Ledger, works: Sequence[Asked]) -> list[Future[Any]]:
    """Give what becomes of works that wait while another writes, and so share the next turn."""
    is_writing, may_commit = Event(), Event()

    def hold(_: Connection) -> None:
        if not is_writing.is_set():
            is_writing.set()
            assert may_commit.wait(PATIENCE)

    event.listen(ledger.writing, "commit", hold)
    with ThreadPoolExecutor(len(works) + 1) as pool:
        held = pool.submit(ledger.describe, "another", '{"unit": null}')
        assert is_writing.wait(PATIENCE)
        waiting: list[Future[Any]] = []
        try:
            for number, work in enumerate(works):
                waiting.append(pool.submit(work))
                while len(ledger.turns.writers.waiting) <= number:
                    assert not waiting[-1].done()
        finally:
            may_commit.set()
        held.result()
    return waiting


def spending(ledger: Ledger, key: str, number: int) -> Asked:
    """Give the spending of a tenth."""
    return lambda: ledger.reserve(key, asked(number), BUDGET)


def test_who_waits_shares_a_transaction_and_has_a_result_or_a_refusal_of_its_own(
    ledger: Ledger,
) -> None:
    """Eleven tenths of nine that are left: the first nine are debited, in their order."""
    commits: list[object] = []
    event.listen(ledger.writing, "commit", commits.append)
    spends = [spending(ledger, f"{number}", number) for number in range(1, 12)]
    waited = sharing(ledger, spends)
    refusals = [type(each.exception()) for each in waited]
    assert refusals == [type(None)] * 9 + [BudgetError] * 2
    assert len(commits) == 2
    assert ledger.entries()[1:] == [each.result()[0] for each in waited[:9]]
    assert [entry.key for entry in ledger.entries()[1:]] == [f"{n}" for n in range(1, 10)]
    assert ledger.verify().broken is None


def test_the_same_question_in_one_transaction_is_charged_once(ledger: Ledger) -> None:
    """Under one key or several; under the key of another question it is refused."""
    wanted = [("a", 1), ("a", 1), ("b", 1), ("a", 2)]
    waited = sharing(ledger, [spending(ledger, *each) for each in wanted])
    entries, charges = zip(*(each.result() for each in waited[:3]), strict=True)
    assert charges == (Loss.of(TENTH), Loss(), Loss())
    assert entries == (entries[0],) * 3
    assert "was used for another question" in str(waited[3].exception())
    assert ledger.paid("survey").epsilon == TENTH + TENTH / 10


def test_answers_of_one_debit_that_share_a_transaction_are_one(ledger: Ledger) -> None:
    """The first of them."""
    (entry,) = ledger.entries()
    stores = [lambda answer=answer: ledger.store(entry, answer) for answer in range(4)]
    assert {each.result().answer for each in sharing(ledger, stores)} == {0}
    assert ledger.entries()[0].answer == 0


@pytest.mark.parametrize("when", ["before_cursor_execute", "commit"])
@pytest.mark.parametrize("is_older", [False, True])
def test_where_the_database_refuses_a_shared_transaction_each_goes_on_alone(
    ledger_url: str, when: str, *, is_older: bool
) -> None:
    """Nobody is refused for another, and nothing of the refused transaction is told or charged.

    Not the columns either that it gave to an older ledger.
    """
    if is_older:
        narrow(ledger_url)
    failures = [exc.OperationalError("a statement", {}, OSError("no room"))]
    held = [when] if when == "commit" else []  # that of who writes while they wait

    def fail_once(*words: object) -> None:
        if when == "commit" or "question 4" in str(words):
            if held:
                held.pop()
            elif failures:
                raise failures.pop()

    with Ledger.open(ledger_url) as ledger:
        spends = [
            lambda n=n: ledger.reserve(f"{n}", asked(n), BUDGET, purpose=f"for {n}")
            for n in range(1, 7)
        ]
        event.listen(ledger.writing, when, fail_once)
        waited = sharing(ledger, spends)
        assert not failures, "nothing was refused: nothing was tested"
        assert [each.result()[1] for each in waited] == [Loss.of(TENTH)] * len(spends)
        entries = sorted(ledger.entries(), key=lambda entry: entry.key)
        assert entries == [each.result()[0] for each in waited]
        assert ledger.verify().head.number == 1 + len(spends)


class Interruption(BaseException):
    """What Ctrl-C does to a thread."""


def test_an_interrupted_writer_holds_up_nobody(ledger: Ledger) -> None:
    """What it wrote for others is undone, and they go on alone."""

    def interrupt_first(*words: object) -> None:
        if "question 1" in str(words):
            raise Interruption

    spends = [spending(ledger, f"{number}", number) for number in (1, 2, 3)]
    event.listen(ledger.writing, "before_cursor_execute", interrupt_first)
    first, *others = sharing(ledger, spends)
    assert isinstance(first.exception(), Interruption)
    assert [each.result()[1] for each in others] == [Loss.of(TENTH)] * 2
    assert ledger.reserve("4", asked(4), BUDGET)[1] == Loss.of(TENTH)


@pytest.mark.parametrize("is_told", [False, True])
def test_who_is_interrupted_while_it_waits_holds_up_nobody(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, *, is_told: bool
) -> None:
    """Whether it would have waited on, or was just told to write for all."""

    def interrupt(_: Event) -> None:
        ledger.turns.writers.waiting[0].leads = is_told
        raise Interruption

    ledger.turns.writers.led = True
    with monkeypatch.context() as patched:
        patched.setattr("noisycount.release.convoy.Event.wait", interrupt)
        with pytest.raises(Interruption):
            ledger.reserve("a", asked(1), BUDGET)
    assert (ledger.turns.writers.waiting, ledger.turns.writers.led) == ([], not is_told)
