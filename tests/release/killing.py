"""Processes that ask, and are killed at random moments."""

import random
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from noisycount.release.ledger import Ledger
from tests.release import desk_workers
from tests.release.desk_workers import PRICE, SURVEY


@dataclass(frozen=True, slots=True)
class Toll:
    """What kills left behind.

    Attributes:
        debits: How many debits the ledger holds.
        interrupted: How many of them had no answer yet when the last process was dead.
        replies: How many answers came out of processes.
        lost: How many keys were answered without a debit, or paid another price.
        second: How many keys were answered in two ways, or otherwise than the ledger holds.
        intact: Whether the chain is intact.
    """

    debits: int
    interrupted: int
    replies: int
    lost: int
    second: int
    intact: bool


def toll(  # noqa: PLR0913, PLR0917 - what to do to whom
    url: str,
    log: Path,
    kills: int,
    at_once: int = 3,
    kind: type[Ledger] = Ledger,
    meanwhile: Callable[[], None] = lambda: None,
) -> Toll:
    """Let processes ask the same questions, kill one after another, and count what is wrong.

    The noise has a scale of a million, so two draws for one question almost never agree.

    Args:
        url: The ledger, not made yet.
        log: A new file for the answers.
        kills: How many processes to kill.
        at_once: How many ask at a time.
        kind: The ledger's class; a mutant shall be found.
        meanwhile: What else happens before each kill.
    """
    context = desk_workers.processes()
    moments = random.Random()  # noqa: S311 - when to kill is no secret

    def started(last: int | None = None) -> BaseProcess:
        worker = context.Process(target=desk_workers.ask, args=(url, log, last, kind))
        worker.start()
        return worker

    workers = [started() for _ in range(at_once)]
    for kill in range(kills):
        time.sleep(moments.uniform(0.04, 0.12) / at_once)
        meanwhile()
        victim = workers[kill % at_once]
        victim.kill()
        victim.join()
        workers[kill % at_once] = started()
    time.sleep(0.2)
    for worker in workers:
        worker.kill()
        worker.join()

    before = answers_by_key(log)
    with Ledger.open(url, create=False) as ledger:
        entries = ledger.entries()
        debited = {entry.key for entry in entries}
        interrupted = sum(entry.answer is None for entry in entries)
        survivor = started(last=len(debited) - 1)
        survivor.join()
        assert survivor.exitcode == 0
        answers, stored = answers_by_key(log), ledger.entries()
        owed = len(debited) * PRICE
        lost = before.keys() - debited
        return Toll(
            debits=len(stored),
            interrupted=interrupted,
            replies=len(log.read_text().splitlines()),
            lost=len(lost) + (ledger.spent(SURVEY.name) != owed) + (len(stored) != len(debited)),
            second=sum(answers.get(entry.key) != {entry.answer} for entry in stored),
            intact=ledger.verify().broken is None,
        )


def answers_by_key(log: Path) -> dict[str, set[int]]:
    """Give all answers that ever came out, for each key."""
    answers = defaultdict(set)
    for line in log.read_text().splitlines():
        key, answer = line.split(": ")
        answers[key].add(int(answer))
    return dict(answers)
