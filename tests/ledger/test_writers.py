"""Threads that write to a ledger in a shared transaction."""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from sqlalchemy import Connection, event, exc

from noisycount.errors import BudgetError
from noisycount.ledger.budget import ConcentratedBudget, Loss
from noisycount.ledger.entries import Request
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.replies import Reply
from noisycount.ledger.storage import _RETRY
from noisycount.ledger.transactions import BatchQueue, TakeMore, Task
from tests.helpers.ledgers import TENTH, asked, narrow, watch_queries

BUDGET = Fraction(1)
CONCENTRATED = ConcentratedBudget(Fraction(1))
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

    event.listen(ledger.transactions.writing, "commit", hold)
    with ThreadPoolExecutor(len(works) + 1) as pool:
        held = pool.submit(ledger.describe, "another", '{"unit": null}')
        assert is_writing.wait(PATIENCE)
        waiting: list[Future[Any]] = []
        try:
            for number, work in enumerate(works):
                waiting.append(pool.submit(work))
                while len(ledger.transactions.writers.waiting) <= number:
                    assert not waiting[-1].done()
        finally:
            may_commit.set()
        held.result()
    return waiting


def spending(ledger: Ledger, key: str, number: int) -> Asked:
    """Give the spending of a tenth."""
    return lambda: ledger.reserve(key, asked(number), BUDGET)


def test_who_waits_shares_a_transaction_and_has_a_result_or_a_refusal_of_its_own(ledger: Ledger) -> None:
    """Eleven tenths of nine that are left: the first nine are debited, in their order."""
    commits: list[object] = []
    event.listen(ledger.transactions.writing, "commit", commits.append)
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
    assert charges == (Loss.from_epsilon(TENTH), Loss(), Loss())
    assert entries == (entries[0],) * 3
    assert "was used for another question" in str(waited[3].exception())
    assert ledger.paid("survey").epsilon == TENTH + TENTH / 10


def test_many_that_share_a_transaction_need_few_statements(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of all forms, more than a statement holds; the second of a key finds the first's."""
    written: list[str] = []

    def note(_: object, statement: str, __: object) -> None:
        if statement.startswith("INSERT"):
            written.append(statement)

    def spend(number: int) -> Asked:
        request = asked(number + 1, TENTH / 100)
        if number % 3 == 1:
            request = Request("survey", f"question {number + 1}", None, TENTH / 1000)
        purpose = f"for {number}" if number % 3 == 2 else None
        key = f"{number % 44}"
        return lambda: ledger.reserve(key, request, CONCENTRATED, purpose=purpose)

    watch_queries(ledger, monkeypatch, note)
    found = [each.result() for each in sharing(ledger, [spend(n) for n in range(44)] + [spend(0)])]
    assert len(written) == 3, "one before, and two for all others"
    assert found[44] == (found[0][0], Loss())
    assert ledger.entries()[1:] == [entry for entry, _ in found[:44]]
    assert ledger.verify().broken is None


def test_answers_of_one_debit_that_share_a_transaction_are_one(ledger: Ledger) -> None:
    """The first of them."""
    (entry,) = ledger.entries()
    stores = [lambda answer=answer: ledger.store(entry, answer) for answer in range(4)]
    assert {each.result().answer for each in sharing(ledger, stores)} == {0}
    assert ledger.entries()[0].answer == 0


@pytest.mark.parametrize("when", ["statement", "commit"])
@pytest.mark.parametrize("is_older", [False, True])
def test_where_the_database_refuses_a_shared_transaction_each_goes_on_alone(
    ledger_url: str, monkeypatch: pytest.MonkeyPatch, when: str, *, is_older: bool
) -> None:
    """Nobody is refused for another, and nothing of the refused transaction is told or charged."""
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
        spends = [lambda n=n: ledger.reserve(f"{n}", asked(n), BUDGET, purpose=f"for {n}") for n in range(1, 7)]
        if when == "commit":
            event.listen(ledger.transactions.writing, when, fail_once)
        else:
            watch_queries(ledger, monkeypatch, fail_once)
        waited = sharing(ledger, spends)
        assert not failures, "nothing was refused: nothing was tested"
        assert [each.result()[1] for each in waited] == [Loss.from_epsilon(TENTH)] * len(spends)
        entries = sorted(ledger.entries(), key=lambda entry: entry.key)
        assert entries == [each.result()[0] for each in waited]
        assert ledger.verify().head.number == 1 + len(spends)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Ledger]:
    """Give a ledger in a file, of one debit, of a hundredth."""
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.reserve("first", asked(0, TENTH / 10), BUDGET)
        yield ledger


class Commits:
    """Commits of which each waits until it may be made."""

    def __init__(self, ledger: Ledger, failing: Sequence[int] = ()) -> None:
        self.begun, self.failing = [Event(), Event()], failing
        self.allowed, self.number = [Event(), Event()], 0
        event.listen(ledger.transactions.writing, "commit", self.wait)

    def wait(self, _: Connection) -> None:
        """Wait, and then commit or fail."""
        number, self.number = self.number, self.number + 1
        if number < len(self.begun):
            self.begun[number].set()
            assert self.allowed[number].wait(PATIENCE)
        if number in self.failing:
            raise exc.OperationalError("a statement", {}, OSError("no room"))


@pytest.mark.parametrize("failing", [(), (1,)])
def test_who_only_looks_is_told_before_what_others_write_is_committed(file: Ledger, failing: Sequence[int]) -> None:
    """Of the debit that was committed before, and of none that was not; whatever becomes of it."""
    commits = Commits(file, failing)
    look = partial(file.transactions.read, lambda _, state: set(state.debits))
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(spending(file, "1", 1))
        assert commits.begun[0].wait(PATIENCE)
        later = [pool.submit(spending(file, "2", 2)), pool.submit(look)]
        while len(file.transactions.writers.waiting) < len(later):
            assert not any(each.done() for each in later)
        commits.allowed[0].set()
        assert later[1].result(PATIENCE) == {"first", "1"}
        assert commits.begun[1].wait(PATIENCE)
        assert not later[0].done()
        commits.allowed[1].set()
        assert [each.result(PATIENCE)[1] for each in (first, later[0])] == [Loss.from_epsilon(TENTH)] * 2
    assert look() == {"first", "1", "2"}


def test_who_looks_into_the_book_alone_waits_for_no_commit(file: Ledger, tmp_path: Path) -> None:
    """While this process alone can write, its book is all that was committed."""
    commits = Commits(file)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(spending(file, "1", 1))
        assert commits.begun[0].wait(PATIENCE)
        before = file.paid("survey"), file.paid_by("nobody"), file.descriptions()
        commits.allowed[0].set()
        first.result(PATIENCE)
    assert before == (Loss.from_epsilon(TENTH / 10), Loss(), {})
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as other:
        other.reserve("2", asked(2), BUDGET)
    assert file.paid("survey") == Loss.from_epsilon(TENTH / 10) + Loss.from_epsilon(TENTH) + Loss.from_epsilon(TENTH)


def test_work_with_one_reading_reads_no_row_before_it_charges(
    file: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It uses what this process has read before. `reserve` reads the newest rows, and later looks know them."""
    queries: list[str] = []
    watch_queries(file, monkeypatch, lambda _, query, __: queries.append(query))

    def spend() -> Loss:
        before = file.paid("survey"), file.paid_by("nobody"), file.descriptions()
        assert before == (Loss.from_epsilon(TENTH / 10), Loss(), {})
        assert not queries
        charged = file.reserve("2", asked(2), BUDGET)[1]
        assert file.paid("survey") == other.paid("survey")
        return charged

    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as other:
        other.reserve("1", asked(1), BUDGET)
        queries.clear()
        assert file.transactions.with_one_reading(spend) == Loss.from_epsilon(TENTH)
        other.reserve("3", asked(3), BUDGET)
        assert file.paid("survey") == other.paid("survey")


@pytest.mark.parametrize("change", ["reply", "description"])
def test_work_runs_again_if_another_process_changed_what_it_had_read(file: Ledger, tmp_path: Path, change: str) -> None:
    """Nothing is charged before: another process replied to the key, or described the data set."""
    read: list[tuple[Reply | None, dict[str, str]]] = []
    reply = Reply("2", "survey", "digest", b"1")
    file.replies.store(replace(reply, name="0"))

    def spend() -> Loss:
        read.append((file.replies.get("2"), file.descriptions()))
        return file.reserve("2", asked(2), BUDGET)[1]

    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as other:
        if change == "reply":
            other.replies.store(reply)
        else:
            other.describe("survey", '{"unit": null}')
        assert file.transactions.with_one_reading(spend) == Loss.from_epsilon(TENTH)
        other.describe("another", '{"unit": null}')
        assert file.transactions.with_one_reading(partial(file.reserve, "4", asked(4), BUDGET))[1].epsilon == TENTH
        assert len(other.entries()) == 3
    newest = (reply, {}) if change == "reply" else (None, {"survey": '{"unit": null}'})
    assert read == [(None, {}), newest]


def test_work_that_fails_runs_again_only_before_it_charges(file: Ledger) -> None:
    """A failure before `reserve` may come from an old reading. The refusal of a budget is by the newest rows."""
    runs: list[object] = []

    def refuse() -> None:
        runs.append(None)
        raise BudgetError

    def overspend() -> None:
        runs.append(file.descriptions())
        file.reserve("2", asked(2, BUDGET + 1), BUDGET)

    for work, number in ((refuse, 2), (overspend, 1)):
        runs.clear()
        with pytest.raises(BudgetError):
            file.transactions.with_one_reading(work)
        assert len(runs) == number


class Interruption(BaseException):
    """Interruption of a thread, as by Ctrl-C."""


def test_an_interrupted_writer_holds_up_nobody(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows that it wrote for other threads are undone, and these threads continue."""

    def interrupt_first(*words: object) -> None:
        if "question 1" in str(words):
            raise Interruption

    spends = [spending(ledger, f"{number}", number) for number in (1, 2, 3)]
    watch_queries(ledger, monkeypatch, interrupt_first)
    first, *others = sharing(ledger, spends)
    assert isinstance(first.exception(), Interruption)
    assert [each.result()[1] for each in others] == [Loss.from_epsilon(TENTH)] * 2
    assert ledger.reserve("4", asked(4), BUDGET)[1] == Loss.from_epsilon(TENTH)


@pytest.mark.parametrize("is_told", [False, True])
def test_who_is_interrupted_while_it_waits_holds_up_nobody(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, *, is_told: bool
) -> None:
    """An interrupted thread leaves the queue, whether it waited or was about to write for all."""

    def interrupt(_: Task[object, object]) -> None:
        ledger.transactions.writers.waiting[0].leads = is_told
        raise Interruption

    ledger.transactions.writers.led = True
    with monkeypatch.context() as patched:
        patched.setattr(Task, "wait", interrupt)
        with pytest.raises(Interruption):
            ledger.reserve("a", asked(1), BUDGET)
    assert (ledger.transactions.writers.waiting, ledger.transactions.writers.led) == ([], not is_told)


def test_a_process_waits_for_a_file_and_then_leaves_it_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It tries to lock the file again and again, and pauses before it writes once more."""
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            other.rollback()

    def spend(number: int) -> list[float]:
        pauses.clear()
        assert ledger.reserve(f"{number}", asked(number), BUDGET)[1] == Loss.from_epsilon(TENTH)
        return pauses

    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
        monkeypatch.setattr(time, "sleep", pause)
        assert spend(1) == []
        other.execute("BEGIN IMMEDIATE")
        assert spend(2) == [_RETRY] * 3
        monkeypatch.setattr(time, "monotonic", lambda: ledger.transactions.yields_until - 1)
        assert spend(3) == [1]
        monkeypatch.setattr(time, "monotonic", lambda: ledger.transactions.yields_until)
        assert spend(4) == []
        other.close()


def test_threads_that_arrive_while_a_process_waits_for_the_file_share_its_transaction(
    file: Ledger, tmp_path: Path
) -> None:
    """Their debits are in the commit of the thread that waits, which finds what the other process wrote."""
    commits: list[object] = []
    event.listen(file.transactions.writing, "commit", commits.append)
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as other, ThreadPoolExecutor(3) as pool:
        other.execute("BEGIN IMMEDIATE")
        spends = [pool.submit(spending(file, "1", 1))]
        while file.transactions.writers.waiting or not file.transactions.writers.led:
            assert not spends[0].done()
        spends += [pool.submit(spending(file, f"{number}", number)) for number in (2, 3)]
        while len(file.transactions.writers.waiting) < 2:
            assert not any(each.done() for each in spends)
        other.rollback()
        assert [each.result(PATIENCE)[1] for each in spends] == [spends[0].result()[1]] * 3
    assert len(commits) == 1
    assert file.verify().head.number == 4


def test_a_batch_takes_tasks_that_arrive_while_it_runs() -> None:
    """They have a result at its end, and the next batch does not run them again."""
    queue, later, sizes = BatchQueue(), Task[Any, Any](2), list[int]()

    def run(tasks: list[Task[Any, Any]], take_more: TakeMore) -> None:
        queue.waiting += [] if later.is_done else [later]
        assert take_more() == ([] if len(tasks) == 1 else [later])
        sizes.append(len(tasks))
        for task in tasks:
            task.settle(lambda item: -item)

    assert [queue.result(1, run), later.result(), queue.result(3, run)] == [-1, -2, -3]
    assert sizes == [2, 1]
