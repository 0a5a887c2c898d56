"""How many spends a service answers in a second over loopback, and how soon it is there."""

import signal
import sys
from fractions import Fraction
from functools import partial
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from subprocess import run

from tests.ledger.crowd import crowd
from tests.service.process import Service
from tests.service.spenders import raced

from benchmarks.comparison import Comparison, Show, seconds

ANALYSTS = 50
SECONDS = 20.0
SPENDS = 200  # a second, on a quiet machine of two cores
FIRST_ANSWER = 1.5  # s
STARTS = 5
RIVAL = [sys.executable, "-c", "import fastapi, uvicorn, duckdb, sqlalchemy"]


def test_a_service_spends_200_times_a_second(show: Show) -> None:
    """Over HTTP with slots off, on SQLite; beside threads that spend at a ledger of their own."""
    with Service.running("1000") as service:
        found = raced(service, ANALYSTS, SECONDS, Fraction(1000))
        alone = crowd(f"{service.ledger_url}.alone", 1, SECONDS / 4, threads=ANALYSTS)
    compared = Comparison("a spend", 1 / found.rate, "by a ledger", 1 / alone.rate, 1 / SPENDS)
    show(compared)
    assert compared.kept


def test_a_service_answers_within_a_second_and_a_half(show: Show) -> None:
    """From the start of its process to the first reply, the ledger made already.

    The processor time until then is shown too: other work on the machine does not stretch it.
    """
    times: dict[str, list[float]] = {"ours": [], "theirs": [], "our own": [], "their own": []}
    with Service.running("2") as service:
        for _ in range(STARTS):
            service.end(signal.SIGTERM)
            times["ours"].append(service.start())
            times["our own"].append(service.processor_time())
            before = _of_children()
            times["theirs"].append(seconds(partial(run, RIVAL, check=True)))
            times["their own"].append(_of_children() - before)
    found = {name: median(each) for name, each in times.items()}
    compared = Comparison("first answer", found["ours"], "imports alone", found["theirs"], FIRST_ANSWER)
    show(compared)
    show(Comparison("  in processor time", found["our own"], "the same", found["their own"]))
    assert compared.kept


def _of_children() -> float:
    """The processor time of all processes that were started here and have ended, in s."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
