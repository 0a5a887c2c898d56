"""A person's records, told from the time of replies: at once, and through the slot."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest

from audits.timing import guessed_right, interleaved_times
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.ledger.ledger import Ledger
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.reply_tick import ReplyTick

PAIRS = 2000
PRICE = Fraction(1, 10**6)
SLOT, TABLE_SLOT = ReplyTick(0.05), ReplyTick(0.1)  # the first is that of the demonstration
RECORDS = """
    SELECT CASE WHEN i < 1000 THEN ? ELSE i END AS owner,
           CASE WHEN i < 1000 THEN repeat('ab', 1000) || i ELSE 'x' END AS note
    FROM range(20000) t(i)
"""

Desks = tuple[Desk, Desk]


@pytest.fixture
def desks(tmp_path: Path) -> Iterator[Callable[[ReplyTick | None], Desks]]:
    """Give the desks of two files of 20,000 records: in one a person has 1,000 long notes.

    In the other these notes are another person's, so that the files are of one size. A question
    about the first person has the engine look into the notes in one file, and not in the other.
    """
    with ExitStack() as stack:

        def opened(slot: ReplyTick | None) -> Desks:
            found = []
            for name, owner in (("with", 7), ("without", 8)):
                path = tmp_path / f"{name}.parquet"
                with duckdb.connect() as connection:
                    connection.sql(RECORDS, params=[owner]).write_parquet(str(path))
                source = stack.enter_context(DuckDBSource.open(path))
                url = f"sqlite:///{tmp_path}/{name}-{slot}.db".replace("(", "").replace(")", "")
                ledger = stack.enter_context(Ledger.open(url))
                found.append(Desk(source, ledger, Dataset("survey", Fraction(1)), slot))
            return found[0], found[1]

        yield opened


def asked_for_a_count(desk: Desk, where: str) -> None:
    """Ask for a count."""
    desk.release(where, PRICE)


def asked_for_a_table(desk: Desk, where: str) -> None:
    """Ask for a table by ranges of owners."""
    desk.release_table("owner:0,8,1000", where=where, epsilon=PRICE)


def reply_time(ask: Callable[[Desk, str], None], desk: Desk, slot: ReplyTick | None) -> Callable[[int], float]:
    """Give the time from question to reply; through a slot, from the tick at which it may leave."""

    def seconds(number: int) -> float:
        where = f"owner = 7 and note like '%_b%_c%{number}'"
        arrival = time.monotonic()
        ask(desk, where)
        elapsed = time.monotonic() - arrival
        return elapsed if slot is None else arrival + elapsed - slot.reply_time(arrival)

    return seconds


def told(
    ask: Callable[[Desk, str], None], found: Desks, slot: ReplyTick | None, pairs: int = PAIRS
) -> tuple[float, str]:
    """Give how often a guess from the time is right, and a line that tells it."""
    times = interleaved_times(*(reply_time(ask, desk, slot) for desk in found), pairs)
    right = guessed_right(*times)
    how = "at once" if slot is None else f"through a slot of {slot.seconds} s"
    late = 0 if slot is None else int((np.ravel(times) > slot.seconds).sum())
    return right, f"{pairs:,} pairs {how}: guessed right {right:.1%}, {late} at a later tick"


@pytest.mark.parametrize("slot", [None, SLOT], ids=["at once", "slot"])
def test_the_time_of_replies_tells_no_person_through_the_slot(
    slot: ReplyTick | None, desks: Callable[[ReplyTick | None], Desks], tell: Callable[[str], None]
) -> None:
    """A guess from the time is right in at most 53 % of cases; what it is at once is told."""
    right, line = told(asked_for_a_count, desks(slot), slot)
    tell(f"replies with a count, {line}")
    assert slot is None or right <= 0.53


@pytest.mark.parametrize("slot", [None, TABLE_SLOT], ids=["at once", "slot"])
def test_the_time_of_tables_tells_no_person_through_the_slot(
    slot: ReplyTick | None, desks: Callable[[ReplyTick | None], Desks], tell: Callable[[str], None]
) -> None:
    """Through the slot the time is guessed right no more often than by chance."""
    right, line = told(asked_for_a_table, desks(slot), slot)
    tell(f"replies with a table, {line}")
    assert slot is None or right <= 0.53
