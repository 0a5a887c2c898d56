"""Spends a second over loopback, and the time until a service answers."""

import signal
import sys
import time
from fractions import Fraction
from functools import partial
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median, quantiles
from subprocess import run

import pytest
from tests.helpers.ledger_crowd import crowd
from tests.helpers.service_process import Service
from tests.helpers.spenders import raced

from benchmarks.comparison import Comparison, Show, seconds, sized

ANALYSTS = sized(50, 4)
SECONDS = sized(20, 1)
SPENDS = {1: 300, 2: 500}  # a second by workers, on a quiet machine of two cores
SLOWEST = 0.5  # s, for 99 % of the spends
FIRST_ANSWER = 1.5  # s
STARTS = sized(5, 1)
RIVAL = [sys.executable, "-c", "import fastapi, uvicorn, duckdb, sqlalchemy"]


@pytest.mark.parametrize("workers", SPENDS)
def test_a_service_spends_hundreds_of_times_a_second(show: Show, workers: int) -> None:
    """Over HTTP with slots off, on SQLite; beside threads that spend at a ledger of their own.

    The clients share the machine with the server. They are plain sockets that stay open, which take 3 % of the
    processor time; a complete HTTP client takes 10 %. The processor time of a spend is shown for both: on two cores,
    2 s divided by their sum is the largest number of spends a second.
    """
    used: list[float] = []

    def measure(seconds: float) -> None:
        before = service.processor_time()
        time.sleep(seconds)
        used.append(service.processor_time() - before)

    with Service.running("1000", workers=workers) as service:
        service.workers_when(workers if workers > 1 else 0)
        raced(service, ANALYSTS, SECONDS / 10, Fraction(1000))  # what a service loads and reads once
        found = raced(service, ANALYSTS, SECONDS, Fraction(1000), measure, first=1000)
        alone = crowd(f"{service.ledger_url}.alone", 1, SECONDS / 4, threads=ANALYSTS)
    compared = Comparison(
        f"a spend, workers: {workers}", 1 / found.rate, "by a ledger", 1 / alone.rate, 1 / SPENDS[workers]
    )
    show(compared)
    slow = quantiles([spend.seconds for spend in found.spends], n=100)[-1]
    show(Comparison("  99 % of them within", slow, "half a second", SLOWEST, SLOWEST))
    show(
        Comparison("  in processor time", used[0] / len(found.spends), "its client", found.clients / len(found.spends))
    )
    assert (found.overspent, found.lost, found.changed, found.second) == (0, 0, 0, 0)
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
