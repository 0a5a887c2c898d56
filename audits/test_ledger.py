"""The promises of the ledger under many races, many kills and every damage of one byte."""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from fractions import Fraction
from itertools import count
from pathlib import Path

import pytest
from tests.helpers.ledger_crowd import crowd
from tests.helpers.ledger_damage import FORBIDDEN, REFUSED, SMALL_PAGES, Change, sample, served_sample
from tests.helpers.ledger_races import check_race, race
from tests.helpers.postgresql import Server, postgresql
from tests.helpers.process_kills import Toll, toll
from tests.helpers.workers import HastyLedger, RedrawingLedger

from noisycount.ledger.ledger import Ledger

__all__ = ["postgresql"]

Tell = Callable[[str], None]

ROUNDS = 20
THIRD = Fraction(1, 3)
MIXED = [THIRD, Fraction(1, 7), Fraction(1, 11), Fraction("0.1"), Fraction(2, 3)]
CLIENTS, CROWDED = 64, 60.0  # seconds
KILLS = 2_000
KILLS_OF_A_LEDGER = 500  # then a new one, so that reading all of it stays quick
KILLS_OF_A_MUTANT = 100
PAGES = {"as they are made": (None, 3), "small": (SMALL_PAGES, 1)}  # bytes a page; of how many one is changed


@pytest.fixture(params=["sqlite", "postgresql"])
def urls(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Give addresses of ledgers that are not made yet, in each database."""
    if request.param == "sqlite":
        return (f"sqlite:///{tmp_path}/{number}.db" for number in count())
    server: Server = request.getfixturevalue("postgresql")
    return (server.new_url() for _ in count())


def test_no_race_spends_one_debit_too_many(urls: Iterator[str], tell: Tell) -> None:
    """Twenty times 64 processes and 70 thirds; prices are mixed in every other round."""
    granted = 0
    for number in range(ROUNDS):
        url, prices = next(urls), MIXED if number % 2 else [THIRD]
        debits = race(url, prices, 70 * THIRD, workers=64)
        check_race(url, debits, prices, 70 * THIRD)
        assert len(prices) > 1 or sum(debits) == 70
        granted += sum(debits)
    tell(f"{database(url)}: {ROUNDS} races of 64 processes, {granted} debits, 0 too many")


@pytest.mark.parametrize("stops", [0, 3], ids=["server runs", "server killed three times"])
@pytest.mark.parametrize("threads", [1, CLIENTS], ids=["processes", "threads"])
def test_a_crowd_at_a_server_overspends_and_loses_nothing(
    postgresql: Server, threads: int, stops: int, tell: Tell
) -> None:
    """64 clients for a minute: each a process that reads what all write, or threads of one."""

    def kill_and_start() -> None:
        for _ in range(stops):
            time.sleep(CROWDED / (stops + 1))
            postgresql.stop("immediate")
            postgresql.start()

    url = postgresql.url(postgresql.database())
    found = crowd(url, CLIENTS // threads, CROWDED, threads=threads, meanwhile=kill_and_start)
    tell(f"postgresql: {CLIENTS} clients, {threads} a process, {stops} kills: {found.told}")
    assert (found.overspent, found.lost, found.unfilled, found.intact) == (0, 0, 0, True)
    assert stops == 0 or any(spend.refusals for spend in found.spends)


def test_no_kill_loses_a_debit_or_gives_a_second_answer(urls: Iterator[str], tmp_path: Path, tell: Tell) -> None:
    """Two thousand kills at random moments."""
    total = dict.fromkeys((field.name for field in fields(Toll)), 0)
    for number in range(KILLS // KILLS_OF_A_LEDGER):
        url = next(urls)
        found = toll(url, tmp_path / f"{number}.log", KILLS_OF_A_LEDGER)
        assert (found.lost, found.second, found.intact) == (0, 0, True)
        for name in total:
            total[name] += getattr(found, name)
    tell(
        f"{database(url)}: {KILLS} kills, {total['debits']} debits, {total['replies']} replies,"
        f" {total['cut']} debits cut off before their answer, {total['lost']} lost,"
        f" {total['second']} second answers"
    )


@pytest.mark.parametrize("mutant", [RedrawingLedger, HastyLedger])
def test_the_same_kills_find_a_mutant(mutant: type[Ledger], urls: Iterator[str], tmp_path: Path, tell: Tell) -> None:
    """With a single process only a crash reveals the mutant."""
    url = next(urls)
    found = toll(url, tmp_path / "log", KILLS_OF_A_MUTANT, at_once=1, kind=mutant)
    assert found.second > 0
    tell(f"{database(url)}: {mutant.__name__}: {found.second} second answers in {KILLS_OF_A_MUTANT} kills")


@pytest.mark.parametrize("pages", PAGES)
@pytest.mark.parametrize("is_open", [False, True], ids=["opened after", "open before"])
def test_no_byte_overspends_or_answers_twice(tmp_path: Path, pages: str, tell: Tell, *, is_open: bool) -> None:
    """Every byte of a ledger of a few entries, or every third where pages are mostly empty, changed by `changes_of`."""
    size, every = PAGES[pages]
    small = sample(tmp_path / "ledger.db", size)
    changes = changes_of(small.content)[:: 3 * every if is_open else every]
    found = small.outcomes(changes, is_open=is_open)
    assert not any(found[wrong] for wrong in FORBIDDEN)
    tell(
        f"{len(small.content)} bytes, pages {pages}: {len(changes)} changes of one byte, "
        f"{found[REFUSED]} refused, 0 overspent, 0 second answers"
        f"{', by a ledger that was open' if is_open else ''}"
    )


@pytest.mark.parametrize("pages", PAGES)
def test_no_byte_changes_in_silence_what_a_ledger_tells(tmp_path: Path, pages: str, tell: Tell) -> None:
    """A changed byte of a served ledger is refused, or changes nothing that is shown."""
    size, every = PAGES[pages]
    served = served_sample(tmp_path / "ledger.db", size)
    changes = changes_of(served.content)[::every]
    found = served.tellings(changes)
    assert found.keys() == {REFUSED}
    tell(
        f"{len(served.content)} bytes of a served ledger, pages {pages}: {len(changes)} changes of"
        f" one byte, {found[REFUSED]} refused by verify, 0 silent, 0 tracebacks"
    )


def changes_of(content: bytes) -> list[Change]:
    """Give a change of each byte: zeroed, all ones, or one random bit flipped, by chance."""
    drawn = random.Random(0)  # noqa: S311
    return [
        {place: drawn.choice(sorted({0, 255, byte ^ 1 << drawn.randrange(8)} - {byte}))}
        for place, byte in enumerate(content)
    ]


def database(url: str) -> str:
    """Give the name of the database of an address."""
    return url.partition(":")[0].partition("+")[0]
