"""Threads that count the same records at the same time share scans."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from noisycount.catalog.catalog import DatasetSettings
from noisycount.catalog.sources import LazySource
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.errors import SourceError
from noisycount.ledger.transactions import Task
from noisycount.query.language import parse
from noisycount.query.predicate import Predicate
from noisycount.release.records import Records

PATIENCE = 20  # seconds
AGES = range(40)
Scan = Callable[[DuckDBSource, Sequence[Predicate]], list[int]]


@pytest.fixture
def source(tmp_path: Path) -> Iterator[LazySource]:
    """Give the records of one person of each age below forty."""
    path = tmp_path / "survey.csv"
    path.write_text("person,age\n" + "".join(f"{age},{age}\n" for age in AGES))
    with Records.open(path, DatasetSettings("survey", unit="person")) as records:
        yield records._source  # noqa: SLF001 - what a desk counts by


class Scans:
    """The scans of an engine; the first waits until others may have come, and one may fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fails: type[BaseException] | None) -> None:
        self.sizes: list[int] = []
        self.fails = fails
        self.is_scanning, self.goes_on = Event(), Event()
        scan: Scan = DuckDBSource.count

        def watched(engine: DuckDBSource, predicates: Sequence[Predicate]) -> list[int]:
            self.sizes.append(len(predicates))
            if len(self.sizes) == 1:
                self.is_scanning.set()
                assert self.goes_on.wait(PATIENCE)
            elif self.fails is not None:
                fails, self.fails = self.fails, None
                raise fails("a scan")
            return scan(engine, predicates)

        monkeypatch.setattr(DuckDBSource, "count", watched)


def asked(source: LazySource, scans: Scans, *sizes: int) -> list[Future[Any]]:
    """Give what threads find that ask so many questions each, while another scans."""
    questions = [[parse(f"age < {size * 3 + number}", source.schema) for number in range(size)] for size in sizes]
    with ThreadPoolExecutor(len(sizes) + 1) as pool:
        first = pool.submit(source.count, [parse("true", source.schema)])
        assert scans.is_scanning.wait(PATIENCE)
        try:
            found = []
            for each in questions:
                waiting = len(source.scans.waiting)
                found.append(pool.submit(source.count, each))
                while len(source.scans.waiting) == waiting and len(each) <= 8:
                    assert not found[-1].done()
        finally:
            scans.goes_on.set()
        assert first.result() == [len(AGES)]
    return found


def counts(*sizes: int) -> list[list[int]]:
    """Give what each thread must find."""
    return [[size * 3 + number for number in range(size)] for size in sizes]


def test_who_waits_shares_a_scan(source: LazySource, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each finds its own counts, in its order; who asks for many has a scan of its own."""
    scans = Scans(monkeypatch, None)
    found = asked(source, scans, 1, 3, 9, 2)
    assert [each.result() for each in found] == counts(1, 3, 9, 2)
    assert sorted(scans.sizes) == [1, 1 + 3 + 2, 9]


@pytest.mark.parametrize("failure", [SourceError, ZeroDivisionError, KeyboardInterrupt])
def test_where_a_shared_scan_fails_each_goes_alone(
    source: LazySource, monkeypatch: pytest.MonkeyPatch, failure: type[BaseException]
) -> None:
    """Nobody is refused for another, but whom an interruption was for."""
    scans = Scans(monkeypatch, failure)
    found = asked(source, scans, 1, 3, 2)
    failed = [each.exception() for each in found]
    hit = [None, None, None] if issubclass(failure, Exception) else [failure, None, None]
    assert [None if each is None else type(each) for each in failed] == hit
    assert [each.result() for each in found if each.exception() is None] == [
        each for each, why in zip(counts(1, 3, 2), failed, strict=True) if why is None
    ]
    assert scans.sizes[:2] == [1, 6]


def test_who_fails_alone_is_told(source: LazySource, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that scans alone receives the engine's own error."""
    scans = Scans(monkeypatch, SourceError)
    (found,) = asked(source, scans, 1)
    with pytest.raises(SourceError, match="a scan"):
        found.result()


@pytest.mark.parametrize("newest_size", [0, 1, 2])
def test_a_scan_waits_for_more_threads_only_after_one_of_several(
    source: LazySource, monkeypatch: pytest.MonkeyPatch, newest_size: int
) -> None:
    """A thread that is alone never waits."""
    later = Task[Sequence[Predicate], list[int]]([parse("age < 3", source.schema)])
    source.scans.newest_size = newest_size
    monkeypatch.setattr(time, "sleep", lambda _: source.scans.waiting.append(later))
    assert source.count([parse("age < 2", source.schema)]) == [2]
    assert later.results == ([[3]] if newest_size > 1 else [])
