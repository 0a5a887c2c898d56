"""Time to open a ledger of a million rows, and waits of spends of two servers at one file."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path

from tests.helpers.ledger_crowd import crowd

from benchmarks.comparison import Comparison, Show, sized
from noisycount.ledger.chain import answer_columns, debit_columns
from noisycount.ledger.entries import Entry, Request
from noisycount.ledger.ledger import Ledger, Selection
from noisycount.ledger.state import NO_LOSS, LedgerState
from noisycount.ledger.storage import COLUMNS

ROWS = int(float(os.environ.get("NOISYCOUNT_BENCH_ROWS", "1e6")))
OPENING = 2.0  # s
CLIENTS, SECONDS = sized(32, 4), sized(5, 1)
WAIT = 1.0  # s
PRICE = Fraction(1, 1000)


def test_a_ledger_opens_from_its_newest_checkpoint(tmp_path: Path, show: Show) -> None:
    """Until it states what was spent, answers a question of its first rows, or shows a page; in processor time.

    Only verifying it reads all rows, and computes their hashes.
    """
    path = tmp_path / "ledger.db"
    write(path)
    opened, asked = processor_time(partial(opening, path)), processor_time(partial(repeat, path))
    rival = processor_time(partial(scan, path))
    compared = Comparison(f"opening {ROWS:,} rows", opened, "reading all", rival, OPENING)
    show(compared)
    show(Comparison("  and an old answer", asked, "reading all", rival, OPENING))
    show(Comparison("  and its newest page", processor_time(partial(page, path)), "reading all", rival, OPENING))
    show(Comparison("  verifying all rows", processor_time(partial(verify, path), 1), "reading all", rival))
    assert compared.kept


def test_two_servers_at_one_file_keep_nobody_waiting(tmp_path: Path, show: Show) -> None:
    """The slowest of 100 spends of 32 clients, in two processes and in one."""
    shared, alone = (crowd(f"sqlite:///{tmp_path}/{n}.db", n, SECONDS, threads=CLIENTS // n) for n in (2, 1))
    compared = Comparison("99 % of spends, two processes", shared.quantile(0.99), "one", alone.quantile(0.99), WAIT)
    show(compared)
    assert (shared.overspent, shared.lost, shared.intact) == (0, 0, True)
    assert compared.kept


def write(path: Path) -> None:
    """Write debits with their answers, in the form of a ledger, and without a wait for the disk."""
    Ledger.open(f"sqlite:///{path}").close()
    names = [*COLUMNS, "hash"]
    insert = f"INSERT INTO ledger ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608 - ours
    with closing(sqlite3.connect(path)) as shell:
        shell.execute("PRAGMA synchronous = OFF")
        shell.executemany(insert, ([row[name] for name in names] for row in rows()))
        shell.commit()


def rows() -> Iterator[dict[str, object]]:
    """Yield the rows of a ledger."""
    state, made = LedgerState(), datetime.now(UTC)
    for number in range(ROWS // 2):
        request = Request("survey", f"question {number}", PRICE)
        analyst = f"ana{number % 50}"
        key = f"{analyst}:{number}"
        spent = state.datasets.get("survey", NO_LOSS) + request.price
        own = state.analysts.get(analyst, NO_LOSS) + request.price
        state.append(debit_columns(Entry(key, request, spent, made, None, analyst, own)))
        state.append(answer_columns(key, number, made))
        yield from map(dict, state.unwritten)
        state.unwritten.clear()


def opening(path: Path) -> None:
    """State what was spent."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        assert ledger.spent("survey") == ROWS // 2 * PRICE


def repeat(path: Path) -> None:
    """Ask the first question again."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        entry, charged = ledger.reserve("again", Request("survey", "question 0", PRICE), Fraction(10**6))
        assert (entry.answer, bool(charged)) == (0, False)


def page(path: Path) -> None:
    """Show the newest debits of an analyst, as a page of the service does."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        assert len(ledger.select(Selection(analyst="ana3"), limit=5).entries) == 5


def verify(path: Path) -> None:
    """Verify the chain, as `noisycount ledger verify` does."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        assert ledger.verify().broken is None
        assert not ledger.has_top_up()


def scan(path: Path) -> None:
    """Read all rows by SQLite alone."""
    with closing(sqlite3.connect(path)) as shell:
        assert sum(1 for _ in shell.execute("SELECT * FROM ledger")) >= ROWS


def processor_time(action: partial[None], runs: int = 3) -> float:
    """Return the least processor time of some runs of an action."""
    times = []
    for _ in range(runs):
        begun = time.process_time()
        action()
        times.append(time.process_time() - begun)
    return min(times)
