import random
import time
from collections import defaultdict
from multiprocessing.process import BaseProcess
from pathlib import Path

from noisycount.release.ledger import Ledger
from tests.release import desk_workers
from tests.release.desk_workers import PRICE, SURVEY

KILLS = 40
AT_ONCE = 3


def test_no_kill_loses_a_debit_or_gives_a_second_answer(tmp_path: Path) -> None:
    """Three processes ask the same questions; at random moments one is killed and replaced.

    The noise has a scale of a million, so two draws for one question almost never agree.
    """
    path, log = tmp_path / "ledger.db", tmp_path / "replies.log"
    context = desk_workers.processes()
    moments = random.Random()  # noqa: S311 - when to kill is no secret

    def started(last: int | None = None) -> BaseProcess:
        worker = context.Process(target=desk_workers.ask, args=(path, log, last))
        worker.start()
        return worker

    workers = [started() for _ in range(AT_ONCE)]
    for kill in range(KILLS):
        time.sleep(moments.uniform(0.03, 0.13))
        victim = workers[kill % AT_ONCE]
        victim.kill()
        victim.join()
        workers[kill % AT_ONCE] = started()
    for worker in workers:
        worker.kill()
        worker.join()

    before = answers_by_key(log)
    assert before
    with Ledger.open(f"sqlite:///{path}", create=False) as ledger:
        debited = {entry.key for entry in ledger.entries()}
        assert before.keys() <= debited
        assert ledger.spent(SURVEY.name) == len(debited) * PRICE
        survivor = started(last=len(debited) - 1)
        survivor.join()
        assert survivor.exitcode == 0
        assert ledger.spent(SURVEY.name) == len(debited) * PRICE
        assert answers_by_key(log) == {entry.key: {entry.answer} for entry in ledger.entries()}


def answers_by_key(log: Path) -> dict[str, set[int]]:
    """Give all answers that ever came out, for each key."""
    answers = defaultdict(set)
    for line in log.read_text().splitlines():
        key, answer = line.split(": ")
        answers[key].add(int(answer))
    return dict(answers)
