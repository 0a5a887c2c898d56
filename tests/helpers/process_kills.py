"""Processes that ask, and are killed at random moments."""

import random
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path

from noisycount.ledger.entries import Entry
from noisycount.ledger.ledger import Ledger
from tests.helpers import workers as desk_workers
from tests.helpers.workers import told_entry

MOST = 0.9  # of the processes are killed while they ask, the others wherever they are
LONGEST_LIFE = 0.12  # seconds, unless the first answer takes a quarter of it
LONGER = 1.1  # times as long may a life be after a kill when too few questions are answered
LONGEST_WAR = 4  # times the kills that are asked for
PATIENCE = 60.0  # seconds, for the first answer


@dataclass(frozen=True, slots=True)
class Toll:
    """State of a ledger after kills."""

    debits: int  # how many debits the ledger holds
    cut: int  # how many debits were found without an answer by the next process that asked
    replies: int  # how many answers came out of processes
    lost: int  # how many keys were answered without a debit, or paid another price
    second: int  # how many keys were answered in two ways, or otherwise than the ledger holds
    intact: bool  # whether the chain is intact


def toll(  # noqa: PLR0913, PLR0917 - what to do to whom
    url: str,
    log: Path,
    kills: int,
    at_once: int = 3,
    kind: type[Ledger] = Ledger,
    meanwhile: Callable[[], None] = lambda: None,
    fewest_answers: float = -1,
    topics: str = "once",
) -> Toll:
    """Let processes ask the same questions, kill one after another, and count what is wrong."""
    context = desk_workers.processes()
    moments = random.Random()  # noqa: S311 - when to kill is no secret

    def started(last: int | None = None) -> tuple[BaseProcess, Event]:
        asking = context.Event()
        worker = context.Process(target=desk_workers.ask, args=(url, log, asking, last, kind, topics))
        worker.start()
        return worker, asking

    workers = [started() for _ in range(at_once)]
    longest_life = max(LONGEST_LIFE, 4 * seconds_to_an_answer(workers[0][1], log))
    for kill in range(LONGEST_WAR * kills):
        answered = len(answers_by_key(log))
        if kill >= kills and answered > fewest_answers:
            break
        if answered <= fewest_answers * kill / kills:
            longest_life = min(LONGER * longest_life, PATIENCE)
        victim, asking = workers[kill % at_once]
        if moments.random() < MOST:
            while victim.is_alive() and not asking.wait(timeout=0.05):
                pass
        time.sleep(moments.uniform(0, longest_life) / at_once)
        meanwhile()
        victim.kill()
        victim.join()
        workers[kill % at_once] = started()
    time.sleep(0.2)
    for worker, _ in workers:
        worker.kill()
        worker.join()

    before = answers_by_key(log)
    with Ledger.open(url, create=False) as ledger:
        entries = ledger.entries()
        debited, wrong = {entry.key for entry in entries}, desk_workers.TOPICS[topics].wrong
        wrong_before = wrong(ledger, entries)
        survivor, _ = started(last=max(map(int, debited), default=-1))
        survivor.join()
        assert survivor.exitcode == 0
        answers, stored = answers_by_key(log), ledger.entries()
        lines = log.read_text().splitlines()
        lost = before.keys() - debited
        purposes = {entry.key: desk_workers.purpose_of(int(entry.key)) for entry in stored}
        lost |= {entry.key for entry in stored if entry.purpose != purposes[entry.key]}
        return Toll(
            debits=len(stored),
            cut=sum(line.endswith(desk_workers.RESUMED) for line in lines),
            replies=len(lines),
            lost=len(lost) + wrong_before + wrong(ledger, stored) + (len(stored) != len(debited)),
            second=sum(answers.get(entry.key, set()) != answers_of(entry, stored) for entry in stored),
            intact=ledger.verify().broken is None,
        )


def answers_of(entry: Entry, entries: Sequence[Entry]) -> set[str]:
    """Give the one answer of an entry; without one it was topped up, and is told by the finer answer's key."""
    if entry.answer is not None:
        return {told_entry(entry)}
    assert any(entry.key in other.replaces for other in entries)
    return set()


def seconds_to_an_answer(asking: Event, log: Path) -> float:
    """Measure the time to the first answer on this machine, however busy it is."""
    asking.wait(timeout=PATIENCE)
    start = time.monotonic()
    while not (log.exists() and log.stat().st_size) and time.monotonic() < start + PATIENCE:
        time.sleep(0.001)
    return time.monotonic() - start


def answers_by_key(log: Path) -> dict[str, set[str]]:
    """Give all answers that ever came out, for each key."""
    answers = defaultdict(set)
    for line in log.read_text().splitlines():
        key, answer = line.removesuffix(desk_workers.RESUMED).split(": ")
        answers[key].add(answer)
    return dict(answers)
