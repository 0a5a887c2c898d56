"""Processor time of a count, by engine and size: `python -m benchmarks.processor_time`.

Processor time, unlike time, hardly depends on what else a machine does. `NOISYCOUNT_BENCH_RECORDS`
says how many records are made. What is told as `desk` is everything that is done in our own
process, and does not grow.
"""
# ruff: noqa: S608, T201, as all SQL here is our own, and the figures are printed

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import count
from pathlib import Path
from statistics import median

import duckdb

from benchmarks.server_engines import ENGINES, RECORDS
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.interface import CheckedSource
from noisycount.ledger.ledger import Ledger
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk

ROUNDS = 5
RICH = Dataset("records", Fraction(10**6))
TICKS = os.sysconf("SC_CLK_TCK")
PROGRAMS = {"PostgreSQL": "postgres", "Spark": "java"}

Open = Callable[[str | None], CheckedSource]


@contextmanager
def duckdb_records(folder: Path) -> Iterator[Open]:
    """The records in a Parquet file."""
    path = folder / "records.parquet"
    with duckdb.connect() as connection:
        connection.sql(
            "SELECT (hash(i, 'age') % 100)::INTEGER AS age, hash(i, 'income') / 1e15 AS income, "
            f"(hash(i, 'person') % {max(1, 3 * RECORDS // 10)})::BIGINT AS person "
            f"FROM range({RECORDS}) AS t(i)"
        ).write_parquet(str(path))
    yield lambda unit: DuckDBSource.open(path, unit=unit)


@contextmanager
def server_records(name: str, folder: Path) -> Iterator[Open]:
    """The records of a server."""
    with ENGINES[name](folder) as engine:
        yield engine.source


def engine_seconds(name: str) -> float:
    """The processor time of an engine's programs that this process began, with their children."""
    if name not in PROGRAMS:
        return time.process_time()
    found = 0.0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            text, owner = status.read_text(), status.with_name("environ").read_bytes()
        except OSError:
            continue
        program, _, rest = text.partition("(")[2].rpartition(") ")
        if program.startswith(PROGRAMS[name]) and MARK in owner:
            found += sum(map(int, rest.split()[11:15])) / TICKS
    return found


MARK = f"NOISYCOUNT_MEASURED={os.getpid()}".encode()


def told(name: str, opened: Open, unit: str | None, folder: str) -> str:
    """Return a line with the processor time of the engine and of the desk."""
    numbers, times, own = count(), [], []
    ledger = f"sqlite:///{folder}/{name} {unit}.db"
    with opened(unit) as source, Ledger.open(ledger) as budget:
        desk = Desk(source, budget, RICH)
        for _ in range(ROUNDS):
            where = f"age >= 30 and income < {8000 + next(numbers)}"
            engine, process, start = engine_seconds(name), time.process_time(), time.perf_counter()
            desk.release(where, Fraction(1))
            times.append(time.perf_counter() - start)
            own.append((engine_seconds(name) - engine, time.process_time() - process))
    used, desks = (median(each) for each in zip(*own, strict=True))
    rate = f"{RECORDS / used / 1e6:.2f} million records a second and core" if used else "no ticks"
    return (
        f"{name}, {unit or 'record'}s of {RECORDS:.0e}: {median(times):.3f} s, engine {used:.2f} s"
        f" of processor time, {rate}, desk {1e3 * desks:.1f} ms"
    )


def main() -> None:
    """Print the figures of the engines that are named, or of all."""
    os.environ["NOISYCOUNT_MEASURED"] = f"{os.getpid()}"
    for name in sys.argv[1:] or ["DuckDB", *ENGINES]:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            made = duckdb_records(place) if name == "DuckDB" else server_records(name, place)
            with made as opened:
                for unit in (None, "person"):
                    print(told(name, opened, unit, folder), flush=True)


if __name__ == "__main__":
    main()
