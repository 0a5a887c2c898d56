"""Counts on a PostgreSQL server and on Spark, beside the same engine alone.

`NOISYCOUNT_BENCH_RECORDS` says how many records are made, 1e7 if it is not set. Both sides keep
their sessions open, and the records are in memory: what is compared is counting.
"""
# ruff: noqa: S608, as all SQL here is our own

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from benchmarks.comparison import Comparison, Show, medians, seconds
from benchmarks.server_engines import ENGINES, RECORDS, Engine
from noisycount.ledger.ledger import Ledger
from noisycount.model.tables.levels import Level
from noisycount.query.grouping import CellQuestion, EachValue, KeySet
from noisycount.query.language import parse
from noisycount.query.predicate import Column
from noisycount.query.schema import Kind
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk

ROUNDS = 9
RICH = Dataset("records", Fraction(10**6))
TOWNS = tuple(f"town {number}" for number in range(500))
BY_TOWN = CellQuestion(
    KeySet((EachValue(Column("town", Kind.TEXT)),), (TOWNS,), np.arange(500, dtype=np.int32).reshape(-1, 1)),
    None,
    (Level("cells", np.arange(500, dtype=np.int32), 500),),
)
TWENTY = [f"age >= {5 * number + 2}" for number in range(20)]


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Each engine, with its records."""
    folder: Path = tmp_path_factory.mktemp("records")
    with ENGINES[request.param](folder) as engine:
        yield engine


def timed(action: Callable[[str], object], texts: Iterator[str]) -> Callable[[], float]:
    """Give what times an action on one text after another."""
    return lambda: seconds(lambda: action(next(texts)))


def questions() -> Iterator[str]:
    """Endless questions that match alike and that nobody asked before."""
    return (f"age >= 30 and income < {8000 + number}" for number in count())


def test_privacy_adds_at_most_10_percent_and_50_ms_to_a_count(show: Show, engine: Engine, tmp_path: Path) -> None:
    """Through the desk and its ledger, beside a count of cases that looks at all records alike."""

    def alike(where: str) -> None:
        engine.ask(f"SELECT count(CASE WHEN {where} THEN 1 END) FROM records")

    def plain(where: str) -> object:
        return engine.ask(f"SELECT count(*) FROM records WHERE {where}")[0][0]

    with engine.source() as source, Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        desk = Desk(source, ledger, RICH)
        where = next(questions())
        assert source.count([parse(where, source.schema)]) == [plain(where)]
        ours, same, theirs = medians(
            ROUNDS,
            timed(lambda where: desk.release(where, Fraction(1)), questions()),
            timed(alike, questions()),
            timed(plain, questions()),
        )
    name = f"{engine.name}: records, {RECORDS:.0e} records"
    found = Comparison(name, ours, "count(CASE …)", same, 1.1 * same + 0.05)
    show(found)
    show(Comparison(name, ours, "count(*)", theirs))
    assert found.kept


def test_persons_beside_the_exact_distinct(show: Show, engine: Engine) -> None:
    """Show the ratio to the engine's own distinct count, without a limit; `docs/how-to/performance.md` has both.

    That statement sorts only the matching persons. Ours sorts all, so that its duration does not depend on them.
    """
    query = "SELECT count(DISTINCT person) FROM records WHERE {}"
    with engine.source("person") as source:

        def ours_of(where: str) -> list[int]:
            return source.count([parse(where, source.schema)])

        where = next(questions())
        assert ours_of(where) == [engine.ask(query.format(where))[0][0]]
        ours, theirs, everybody = medians(
            ROUNDS,
            timed(ours_of, questions()),
            timed(lambda where: engine.ask(query.format(where)), questions()),
            lambda: seconds(lambda: engine.ask(query.format("true"))),
        )
    name = f"{engine.name}: persons, {RECORDS:.0e} records"
    show(Comparison(name, ours, "count(DISTINCT person)", theirs, 1.15 * theirs))
    show(Comparison(name, ours, "… of all records", everybody))


def test_twenty_predicates_in_one_scan_take_less_than_half_of_twenty_scans(show: Show, engine: Engine) -> None:
    """A statement of ours beats twenty of the engine's."""
    with engine.source() as source:
        asked = [parse(text, source.schema) for text in TWENTY]

        def scans() -> list[object]:
            queries = (f"SELECT count(*) FROM records WHERE {text}" for text in TWENTY)
            return [engine.ask(query)[0][0] for query in queries]

        assert source.count(asked) == scans()
        ours, theirs = medians(3, lambda: seconds(lambda: source.count(asked)), lambda: seconds(scans))
    name = f"{engine.name}: 20 predicates, {RECORDS:.0e} records"
    found = Comparison(name, ours, "20 scans", theirs, 0.5 * theirs)
    show(found)
    assert found.kept


@pytest.mark.parametrize("unit", [None, "person"], ids=["records", "persons"])
def test_500_keys_beside_a_plain_group_by(show: Show, engine: Engine, unit: str | None) -> None:
    """Shown only: wanted are 1.1 times and 50 ms for records, 1.15 times for distinct persons."""
    counted = "*" if unit is None else f"DISTINCT {unit}"
    query = f"SELECT town, count({counted}) FROM records GROUP BY town"
    with engine.source(unit) as source:
        (counts,) = source.count_cells(BY_TOWN)
        assert dict(zip(TOWNS, counts.tolist(), strict=True)) == dict(engine.ask(query))
        ours, theirs = medians(
            ROUNDS, lambda: seconds(lambda: source.count_cells(BY_TOWN)), lambda: seconds(lambda: engine.ask(query))
        )
    most = 1.1 * theirs + 0.05 if unit is None else 1.15 * theirs
    name = f"{engine.name}: {unit or 'record'}s by 500 keys, {RECORDS:.0e} records"
    show(Comparison(name, ours, f"count({counted}) GROUP BY", theirs, most))
