"""Functions that other processes run in the tests of the ledger and of the desk."""

import itertools
import os
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from multiprocessing.context import ForkServerContext
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path
from typing import Any

from noisycount.engines.memory import MemorySource
from noisycount.engines.truth import Record
from noisycount.errors import BudgetError, LedgerError
from noisycount.ledger.budget import Budget, ConcentratedBudget, Loss, budget_of
from noisycount.ledger.entries import Analyst, Counts, Entry, Request, TableAnswer
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.series import covers
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.query.grouping import CellQuestion
from noisycount.query.predicate import Predicate
from noisycount.query.schema import Kind
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.stored_question import StoredQuestion

SURVEY = Dataset("survey", ConcentratedBudget(Fraction(10**6)))
PRICE = Fraction(1, 10**6)
RHO = Fraction(1, 10**9)
HALF = Fraction(1, 2)
AGES = [{"age": age} for age in range(100)]
NOBODY = 65_534
RESUMED = " (resumed)"  # ends the line of an answer to a debit that another process had made
OVERLAP = 2  # how many of the newest questions a new process asks again

_start: Barrier | None = None
_reply: Callable[..., None] | None = None


class RedrawingLedger(Ledger):
    """A mutant: whoever asks again gets new noise, as if nothing had been stored."""

    __slots__ = ()

    def reserve(self, *words: Any, **named: Any) -> tuple[Entry, Loss]:  # noqa: ANN401 - as a ledger's
        """Give the debit without its answer; that of a settled reserve stays, as its price is settled, too."""
        entry, charged = super().reserve(*words, **named)
        return (entry if "within" in entry.request.asked else replace(entry, answer=None)), charged

    def store(self, entry: Entry, answer: int | TableAnswer, *others: object) -> Entry:
        """Store, and give what was drawn, not what is stored."""
        return replace(super().store(entry, answer, *others), answer=answer)


class HastyLedger(Ledger):
    """A mutant: the answer leaves before it is stored."""

    __slots__ = ()

    def store(self, entry: Entry, answer: int | TableAnswer, *others: object) -> Entry:
        """Reply, then store."""
        if _reply is not None:
            _reply(entry.key, told(answer))
        return super().store(entry, answer, *others)


class LateLedger(Ledger):
    """A mutant: what may cost up to a price is charged when it is stored, with what it came to; nothing is held."""

    __slots__ = ()

    def reserve(  # noqa: PLR0913 - as a ledger's
        self,
        key: str,
        request: Request,
        budget: Fraction | Budget,
        analyst: Analyst = Analyst(),  # noqa: B008 - frozen
        formers: Sequence[Request] = (),
        *,
        purpose: str | None = None,
        asked: Request | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> tuple[Entry, Loss]:
        """Admit by what is paid now, and write nothing down."""
        debits = self.entries_asking(request, formers)
        if "within" not in request.asked or any(covers(entry, request) for entry in debits):
            return super().reserve(
                key, request, budget, analyst, formers, purpose=purpose, asked=asked, prepare=prepare
            )
        paid = self.paid(request.dataset)
        if not budget_of(budget).admits(paid + request.price):
            raise BudgetError("nothing is left")
        made = datetime.now(UTC)
        return Entry(
            key, request, paid + request.price, made, None, analyst.name, request.price, purpose
        ), request.price

    def store(self, entry: Entry, answer: int | TableAnswer, *others: object) -> Entry:
        """Charge whatever it came to, then store."""
        if self.entry(entry.key) is None:
            super().reserve(entry.key, entry.request, Fraction(10**6), purpose=entry.purpose)
        return super().store(entry, answer, *others)


class CountedSource(MemorySource):
    """A source that remembers how often it was counted."""

    __slots__ = ("counted",)

    def __init__(self, records: Sequence[Record], schema: Mapping[str, Kind], unit: str | None = None) -> None:
        super().__init__(records, schema, unit)
        self.counted = 0

    def count(self, predicates: Sequence[Predicate]) -> list[int]:
        """Give the true counts."""
        self.counted += 1
        return super().count(predicates)

    def count_cells(self, question: CellQuestion) -> list[Counts]:
        """Give the true counts by level."""
        self.counted += 1
        return super().count_cells(question)


class SlowSource(MemorySource):
    """Records whose count takes so long that others come meanwhile."""

    __slots__ = ()

    def count(self, predicates: Sequence[Predicate]) -> list[int]:
        """Give the true counts."""
        time.sleep(0.5)
        return super().count(predicates)


def processes() -> ForkServerContext:
    """Give a way to start processes in a few milliseconds, from a parent without threads."""
    context = ForkServerContext()
    context.set_forkserver_preload([__name__, "psycopg", "sqlalchemy.dialects.postgresql.psycopg"])
    return context


def start_together(barrier: Barrier) -> None:
    """Let this process wait for all others before it spends."""
    global _start  # noqa: PLW0603 - what a pool's process knows
    _start = barrier


def wait_for_all() -> None:
    """Wait until every process that starts together is here."""
    if _start is not None:
        _start.wait()


def spend_all(url: str, worker: int, prices: Sequence[Fraction], budget: Fraction) -> int:
    """Give how many debits of its price one worker gets before the budget refuses one."""
    price = prices[worker % len(prices)]
    with Ledger.open(url) as ledger:
        wait_for_all()
        granted = 0
        try:
            while True:
                key = f"worker {worker}, debit {granted}"
                ledger.reserve(key, Request("survey", key, price), budget)
                granted += 1
        except BudgetError:
            return granted


def repeat(url: str, keys: Iterable[str]) -> tuple[Fraction, list[int | None]]:
    """Give what one worker is charged for the same few questions, and what it is answered."""
    charges, answers = Fraction(0), []
    with Ledger.open(url) as ledger:
        for number, key in enumerate(keys):
            request = Request("survey", f"question {number}", Fraction(1, 3))
            entry, charged = ledger.reserve(key, request, Fraction(1000))
            answers.append(ledger.store(entry, os.getpid()).answer)
            charges += charged.epsilon or 0
    return charges, answers


def buy_tables(url: str, tables: Sequence[int]) -> tuple[Loss, list[str]]:
    """Give what one worker is charged for tables that others ask for at once, and the answers."""
    charged, answers = Loss(), []
    with Ledger.open(url) as ledger:
        desk = Desk(MemorySource(AGES, {"age": Kind.INTEGER}), ledger, SURVEY)
        wait_for_all()
        for number in tables:
            where = f"age > {number}"
            bought = desk.release_table("age:0,50", where=where, epsilon=PRICE, margins="total")
            charged += bought.charged
            answers.append(told(TableAnswer.from_levels(bought.answers)))
    return charged, answers


def top_up_last(url: str, worker: int, prices: Sequence[Fraction], budget: Fraction) -> tuple[Fraction, Fraction]:
    """Give what one worker is charged for one question at rising prices, and the highest price it was granted."""
    charged = highest = Fraction(0)
    with Ledger.open(url) as ledger:
        desk = Desk(MemorySource(AGES, {"age": Kind.INTEGER}), ledger, Dataset("last", budget))
        wait_for_all()
        for price in prices[worker % 3 :: 3]:
            try:
                told_now = desk.release("age >= 30", price)
            except BudgetError:
                break
            charged += told_now.charged
            highest = max(highest, told_now.epsilon)
    return charged, highest


def ask_within_last(url: str, worker: int, budget: Fraction, kind: type[Ledger] = Ledger) -> tuple[Fraction, Fraction]:
    """Give what one worker is charged for a count of nobody, which costs the most, and its ε; 0 where it is refused."""
    with kind.open(url) as ledger:
        desk = Desk(SlowSource(AGES, {"age": Kind.INTEGER}), ledger, Dataset("last", budget))
        wait_for_all()
        try:
            answer = desk.release(f"age > {1000 + worker}", within="20%", at_most=HALF)
        except BudgetError:
            return Fraction(0), Fraction(0)
        return answer.charged, answer.epsilon


def spend_rho(url: str, worker: int) -> Loss:
    """Give what one worker is charged for Gaussian noise, at the same time as the others."""
    with Ledger.open(url) as ledger:
        ledger.paid("survey")
        wait_for_all()
        request = Request("survey", f"question of {worker}", None, rho=RHO)
        return ledger.reserve(f"{worker}", request, SURVEY.budget)[1]


def spend_on_a_small_disk(path: Path, price: Fraction) -> tuple[int, str]:
    """Give how many debits a file that must not grow takes, and the text of its refusal."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        size = path.stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return spend_large(ledger, price)


def spend_large(ledger: Ledger, price: Fraction) -> tuple[int, str]:
    """Give how many debits with long questions a ledger takes, and the text of its refusal."""
    granted = 0
    try:
        while True:
            key = f"debit {granted}"
            question = f"{key} {os.urandom(20_000).hex()}"
            ledger.reserve(key, Request("survey", question, price), Fraction(1))
            granted += 1
    except LedgerError as error:
        return granted, str(error)


def spend_without_permission(path: Path) -> tuple[Fraction, str]:
    """Give what a read-only ledger has spent, and the text of its refusal to spend more."""
    os.chdir(path.parent)
    path.chmod(0o444)
    path.parent.chmod(0o555)
    Ledger.open("sqlite:///ledger.db").close()  # nobody may not read what this imports
    if os.geteuid() == 0:
        os.setresuid(NOBODY, NOBODY, NOBODY)
    with Ledger.open("sqlite:///ledger.db") as ledger:
        return ledger.spent("survey"), spend_large(ledger, Fraction(1, 100))[1]


def ask(  # noqa: PLR0913, PLR0917 - what a process needs
    url: str, log: Path, asking: Event, last: int | None = None, kind: type[Ledger] = Ledger, topics: str = "once"
) -> None:
    """Ask one question after another; append a line for each answer that came out, with the key of its debit."""
    global _reply  # noqa: PLW0603 - what a worker's ledger knows
    replies = os.open(log, os.O_RDWR | os.O_APPEND | os.O_CREAT)

    def reply(key: str, answer: str, how: str = "") -> None:
        os.write(replies, f"{key}: {answer}{how}\n".encode())

    _reply = reply
    source = CountedSource(AGES, {"age": Kind.INTEGER})
    with kind.open(url) as ledger:
        asks = TOPICS[topics]
        desk = Desk(source, ledger, asks.dataset)
        asking.set()
        first = max(0, newest(replies) - OVERLAP) if last is None else 0
        for number in itertools.count(first) if last is None else range(last + 1):
            counted = source.counted
            key, answer, repeated = asks.answered(desk, number)
            resumed = repeated and source.counted > counted
            reply(key, answer, RESUMED if resumed else "")


@dataclass(frozen=True)
class Topics:
    """Questions that processes ask about a data set, and the check of their debits."""

    dataset: Dataset
    answered: Callable[[Desk, int], tuple[str, str, bool]]  # the key and the answer of a number, whether it was free
    wrong: Callable[[Ledger, Sequence[Entry]], int]  # how many debits or totals are not what they must be


def asked_once(desk: Desk, number: int) -> tuple[str, str, bool]:
    """Give the answer to the question of a number, a count or a table."""
    where = f"age > {number}"
    asked = {"key": f"{number}", "purpose": purpose_of(number)}
    if number % 3 == 0:
        count = desk.release(where, PRICE, **asked)
        return count.key, f"{count.answer}", count.repeated
    if number % 3 == 1:
        table = desk.release_table("age:0,50", where=where, epsilon=PRICE, margins="total", **asked)
    else:
        wheres = [f"age < {number}", where]
        table = desk.release_many(wheres, rho=RHO, noise=DiscreteGaussian, **asked)
    return table.key, told(TableAnswer.from_levels(table.answers)), table.repeated


def wrong_once(ledger: Ledger, entries: Sequence[Entry]) -> int:
    """Tell whether a data set has paid anything but the prices of its questions."""
    return ledger.paid(SURVEY.name) != sum((price_of(int(entry.key)) for entry in entries), Loss())


COUNT, TABLE = "count", "table"
RISES: tuple[tuple[tuple[str, dict[str, object]], ...], ...] = (  # each question in turn at rising prices
    (
        (COUNT, {"within": "50%", "at_most": HALF, "confidence": 0.9}),
        (TABLE, {"epsilon": Fraction(1, 10)}),
        (TABLE, {"epsilon": Fraction(1, 3)}),
        (COUNT, {"epsilon": Fraction(1)}),
    ),
    (
        (COUNT, {"epsilon": Fraction(1, 100)}),
        (COUNT, {"within": "50%", "at_most": HALF}),
        (COUNT, {"within": "25%", "at_most": Fraction(1)}),
        (COUNT, {"epsilon": Fraction(2)}),
    ),
)
STEPS = 4


def asked_for_more(desk: Desk, number: int) -> tuple[str, str, bool]:
    """Give the answer to a question at one of its prices, which rise, or within a share of itself, and its ε."""
    question = number // STEPS
    where = f"age >= 30 and age <> {1000 + question}"
    what, goal = RISES[question % 2][number % STEPS]
    asked = {**goal, "key": f"{number}", "purpose": purpose_of(number)}
    if what == COUNT:
        count = desk.release(where, **asked)
        return count.key, f"{count.answer} at {count.epsilon}", count.repeated
    table = desk.release_table("age:0,50", where=where, margins="total", **asked)
    return table.key, f"{told(TableAnswer.from_levels(table.answers))} at {table.price.epsilon}", table.repeated


def wrong_rises(ledger: Ledger, entries: Sequence[Entry]) -> int:
    """Count debits of another price than was asked, and whether all is paid but the finest answer of each question.

    Of a reserve without an answer that is the most that it may cost.
    """
    finest, wrong = defaultdict(Fraction), 0
    for entry in entries:
        question, step = divmod(int(entry.key), STEPS)
        what, goal = RISES[question % 2][step]
        price = entry.loss.epsilon or Fraction(0)
        most = goal.get("epsilon", goal.get("at_most"))
        wrong += not (0 < price < most if "within" in goal and entry.answer is not None else price == most)
        finest[question, what] = max(finest[question, what], price)
    return wrong + (ledger.spent(RISING.name) != sum(finest.values()))


RHOS = [Fraction(number, 10) for number in (1, 2, 4)]


def asked_for_more_rho(desk: Desk, number: int) -> tuple[str, str, bool]:
    """Give the answer to a question at one of its prices in ρ, which rise, and its ρ."""
    question, step = divmod(number, len(RHOS))
    asked = {"where": f"age <> {1000 + question}", "key": f"{number}", "purpose": purpose_of(number)}
    table = desk.release_table("age:0,50", rho=RHOS[step], noise=DiscreteGaussian, **asked)
    return table.key, f"{told(TableAnswer.from_levels(table.answers))} at {table.price.rho}", table.repeated


def wrong_rhos(ledger: Ledger, entries: Sequence[Entry]) -> int:
    """Count debits of another price than was asked, and whether all is paid but the highest price of each question."""
    finest, wrong = defaultdict(Fraction), 0
    for entry in entries:
        question, step = divmod(int(entry.key), len(RHOS))
        wrong += entry.loss.rho != RHOS[step]
        finest[question] = max(finest[question], entry.loss.rho)
    return wrong + (ledger.paid(IN_RHO.name).rho != sum(finest.values()))


RISING, IN_RHO = Dataset("rising", Fraction(10**6)), Dataset("in rho", ConcentratedBudget(Fraction(10**6)))
TOPICS = {
    "once": Topics(SURVEY, asked_once, wrong_once),
    "rising": Topics(RISING, asked_for_more, wrong_rises),
    "in rho": Topics(IN_RHO, asked_for_more_rho, wrong_rhos),
}


def told_entry(entry: Entry) -> str:
    """Give what processes tell of an entry."""
    if entry.request.dataset == IN_RHO.name and entry.answer is not None:
        return f"{told(StoredQuestion(entry).answer)} at {entry.loss.rho}"
    of_rise = f" at {entry.loss.epsilon}" if entry.request.dataset == RISING.name else ""
    return told(entry.answer) + of_rise


def purpose_of(number: int) -> str | None:
    """Give what the question of a number is for."""
    return f"report {number}" if number % 2 else None


def price_of(number: int) -> Loss:
    """Give what the question of a number costs."""
    return Loss.concentrated(RHO) if number % 3 == 2 else Loss.from_epsilon(PRICE)


def told(answer: int | TableAnswer | None) -> str:
    """Give an answer on one line."""
    return answer.text if isinstance(answer, TableAnswer) else f"{answer}"


def newest(replies: int) -> int:
    """Give the number of the newest question that was answered."""
    size = os.fstat(replies).st_size
    lines = os.pread(replies, 500, max(0, size - 500)).decode().splitlines()
    return int(lines[-1].partition(":")[0]) if lines else 0
