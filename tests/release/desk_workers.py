"""What other processes do in the tests of the ledger and of the desk."""

import itertools
import os
import resource
from collections.abc import Iterable
from fractions import Fraction
from multiprocessing.context import ForkServerContext
from pathlib import Path

from noisycount.errors import BudgetError, LedgerError
from noisycount.release.desk import Dataset, Desk
from noisycount.release.ledger import Ledger, Request
from noisycount.release.schema import Kind
from noisycount.release.sources.memory import MemorySource

SURVEY = Dataset("survey", Fraction(10**6))
PRICE = Fraction(1, 10**6)
AGES = [{"age": age} for age in range(100)]


def processes() -> ForkServerContext:
    """Give a way to start processes in a few milliseconds, from a parent without threads."""
    context = ForkServerContext()
    context.set_forkserver_preload([__name__])
    return context


def spend_all(path: Path, worker: int, price: Fraction, budget: Fraction) -> int:
    """Give how many debits of a price one worker gets before the budget refuses one."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        granted = 0
        try:
            while True:
                key = f"worker {worker}, debit {granted}"
                ledger.reserve(key, Request("survey", key, price), budget)
                granted += 1
        except BudgetError:
            return granted


def repeat(path: Path, keys: Iterable[str]) -> tuple[Fraction, list[int | None]]:
    """Give what one worker is charged for the same few questions, and what it is answered."""
    charges, answers = Fraction(0), []
    with Ledger.open(f"sqlite:///{path}") as ledger:
        for number, key in enumerate(keys):
            request = Request("survey", f"question {number}", Fraction(1, 3))
            entry, charged = ledger.reserve(key, request, Fraction(1000))
            answers.append(ledger.store(entry, os.getpid()).answer)
            charges += charged
    return charges, answers


def spend_on_a_small_disk(path: Path, price: Fraction) -> tuple[int, str]:
    """Give how many debits a file that must not grow takes, and the text of its refusal."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        size = path.stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        granted = 0
        try:
            while True:
                key = f"debit {granted}"
                ledger.reserve(key, Request("survey", f"{key} {'?' * 500}", price), Fraction(1))
                granted += 1
        except LedgerError as error:
            return granted, str(error)


def ask(path: Path, log: Path, last: int | None = None) -> None:
    """Ask one question after another; append a line for each answer that came out.

    Args:
        path: The ledger.
        log: The file of the answers.
        last: The last question, from the first on; None: from the newest few on, without end.
    """
    replies = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    source = MemorySource(AGES, {"age": Kind.INTEGER})
    with Ledger.open(f"sqlite:///{path}") as ledger:
        desk = Desk(source, ledger, SURVEY)
        first = max(0, len(ledger.entries()) - 5)
        for number in itertools.count(first) if last is None else range(last + 1):
            release = desk.release(f"age > {number}", PRICE, key=f"{number}")
            os.write(replies, f"{release.key}: {release.answer}\n".encode())
