from itertools import count
from pathlib import Path

import pytest

from noisycount.ledger.ledger import Ledger
from tests.helpers.postgresql import Server
from tests.helpers.process_kills import toll
from tests.helpers.workers import HastyLedger, RedrawingLedger

KILLS = {"sqlite": 200, "postgresql": 40}
SHARES = [0.1, pytest.param(0.5, marks=pytest.mark.thorough)]  # of them
SHARES_OF_SERIES = [0.1, pytest.param(0.2, marks=pytest.mark.thorough)]  # as each goes on for many more answers
MOST_KILLS_OF_A_MUTANT = 400


@pytest.mark.thorough
@pytest.mark.parametrize("share", SHARES)
def test_no_kill_loses_a_debit_or_gives_a_second_answer(share: float, ledger_url: str, tmp_path: Path) -> None:
    """Three processes ask the same questions; at random moments one is killed. The audit kills two thousand."""
    kills = round(share * KILLS[ledger_url.partition(":")[0].partition("+")[0]])
    found = toll(ledger_url, tmp_path / "replies.log", kills, fewest_answers=kills / 25)
    assert (found.lost, found.second, found.intact) == (0, 0, True)
    assert found.replies >= found.debits > kills / 25


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize("topics", ["rising", "in rho"])
@pytest.mark.parametrize("share", SHARES_OF_SERIES)
def test_no_kill_breaks_a_series_of_rising_prices(share: float, topics: str, ledger_url: str, tmp_path: Path) -> None:
    """Topped up, and reserved, drawn and settled: each question has paid its finest answer, or its reserve."""
    kills = round(share * KILLS[ledger_url.partition(":")[0].partition("+")[0]])
    found = toll(ledger_url, tmp_path / "replies.log", kills, fewest_answers=kills / 4, topics=topics)
    assert (found.lost, found.second, found.intact) == (0, 0, True)
    assert found.replies >= found.debits > kills / 4


@pytest.mark.thorough
@pytest.mark.parametrize("topics", ["once", "rising", "in rho"])
@pytest.mark.parametrize("mutant", [RedrawingLedger, HastyLedger])
def test_the_same_kills_find_a_mutant(mutant: type[Ledger], topics: str, tmp_path: Path) -> None:
    """With a single process only a crash reveals noise that is drawn twice or leaves too early."""
    for attempt in count(1):
        url, log = f"sqlite:///{tmp_path}/{attempt}.db", tmp_path / f"{attempt}.log"
        if toll(url, log, kills=20, at_once=1, kind=mutant, topics=topics).second:
            return
        assert attempt * 20 < MOST_KILLS_OF_A_MUTANT


@pytest.mark.thorough
def test_no_crash_of_the_server_loses_a_debit_or_gives_a_second_answer(postgresql: Server, tmp_path: Path) -> None:
    """The server drops everything and starts again while three processes ask."""

    def crash() -> None:
        postgresql.stop("immediate")
        postgresql.start()

    found = toll(postgresql.new_url(), tmp_path / "replies.log", kills=9, meanwhile=crash)
    assert (found.lost, found.second, found.intact) == (0, 0, True)
    assert found.debits > 0
