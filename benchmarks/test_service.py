"""How many spends a service answers in a second over loopback, and how soon it is there."""

import signal
import sys
from fractions import Fraction
from functools import partial
from statistics import median
from subprocess import run

from tests.app.server.process import Service
from tests.app.server.spenders import raced
from tests.release.ledger.crowd import crowd

from benchmarks.comparison import Comparison, Show, seconds

ANALYSTS = 50
SECONDS = 20.0
SPENDS = 200  # a second, on a quiet machine of two cores
FIRST_ANSWER = 1.5  # s
STARTS = 5


def test_a_service_spends_200_times_a_second(show: Show) -> None:
    """Over HTTP with slots off, on SQLite; beside threads that spend at a ledger of their own."""
    with Service.running("1000") as service:
        found = raced(service, ANALYSTS, SECONDS, Fraction(1000))
        alone = crowd(f"{service.ledger_url}.alone", 1, SECONDS / 4, threads=ANALYSTS)
    compared = Comparison("a spend", 1 / found.rate, "by a ledger", 1 / alone.rate, 1 / SPENDS)
    show(compared)
    assert compared.kept


def test_a_service_answers_within_a_second_and_a_half(show: Show) -> None:
    """From the start of its process to the first reply, the ledger made already."""

    def started(service: Service) -> float:
        service.end(signal.SIGTERM)
        return service.start()

    with Service.running("2") as service:
        ours = median(started(service) for _ in range(STARTS))
    rival = [sys.executable, "-c", "import fastapi, uvicorn, duckdb, sqlalchemy"]
    theirs = median(seconds(partial(run, rival, check=True)) for _ in range(STARTS))
    compared = Comparison("first answer", ours, "imports alone", theirs, FIRST_ANSWER)
    show(compared)
    assert compared.kept
