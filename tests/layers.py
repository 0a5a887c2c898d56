"""Which tests a fast run takes: `thorough` ones wait, and of many cases a few go first.

A fast run is `-m "not thorough"`. Of the cases of a test it takes three, or n where it is marked
`few(n)`, always the same, and one more that changes from day to day, or with `NOISYCOUNT_SEED`. Tests
of the same cases take the same ones, so that they share what is computed once. What lands has passed
these and a third of all others, each of which has its turn on one day of three; those of the other days
are marked `another_day`. Tests that are marked `long`, and those of Spark, begin first: else one
process would end long after the others. Coverage is measured with all cases of the fast tests, those
that a fast run leaves out being marked `further`, and the `first` case of each thorough one.
"""

import hashlib
import os
from collections import defaultdict
from datetime import UTC, datetime
from types import FunctionType

import pytest
from hypothesis import settings

from tests.postgresql import roomy_folder

SEED = "NOISYCOUNT_SEED"
"""What a run draws at random follows from this number; without it, from the day."""

_FEW = 3
"""So many cases show that a test works."""

_DAYS = 3
"""On one of so many days what lands passes a case that a fast run leaves out."""

_SPARK = {"spark_url", "spark_cluster", "spark_connect"}  # fixtures

# No deadline: shared machines pause; speed is benchmarked. What decides whether a change lands is
# the same for all changes of a day; `make test` and `make audit` look at random.
settings.register_profile("fast", deadline=None, max_examples=10)
settings.register_profile("thorough", deadline=None, max_examples=25, derandomize=True)


def seed() -> str:
    """The seed of this run, the same in all its processes."""
    return os.environ.setdefault(SEED, str(datetime.now(UTC).toordinal()))


def order(name: str, salt: str = "") -> bytes:
    """A place among others that has nothing to do with their order."""
    return hashlib.sha256(f"{salt} {name}".encode()).digest()


def is_drawn(name: str, one_in: int) -> bool:
    """Whether this run's seed picks a name, one in so many."""
    return int.from_bytes(order(name, seed())) % one_in == 0


def examples(share: int) -> settings:
    """So many percent of the random examples of other properties, as each of these takes longer."""
    return settings(max_examples=max(5, share * settings().max_examples // 100))


def case_name(value: object) -> str:
    """The name of a case that is the same in every process: no address of a function."""
    return value.__name__ if isinstance(value, FunctionType) else str(value)


def pytest_configure() -> None:
    """Keep the files of tests in memory: a ledger waits for the disk at every row, and no power is cut here."""
    if folder := roomy_folder():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", folder)


def pytest_report_header() -> str:
    """Tell the seed, so that a run can be repeated."""
    return f"{SEED}={seed()}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than cores: in many tests it waits, for a tick, a server or other processes."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as thorough what a fast run leaves out of the tests with many cases, and begin with long tests."""
    cases = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("few")
        cases[item.nodeid.split("[")[0], mark.args[0] if mark else _FEW].append(item)
    for (_, count), all_of_them in cases.items():
        first = sorted(all_of_them, key=lambda item: order(_case(item)))
        first[0].add_marker(pytest.mark.first)
        rest = sorted(first[count:], key=lambda item: order(_case(item), seed()))
        for item in rest[1:]:
            if item.get_closest_marker("thorough") is None:
                item.add_marker(pytest.mark.further)
            item.add_marker(pytest.mark.thorough)
    for item in items:
        is_costly = item.get_closest_marker("further") is None
        if item.get_closest_marker("thorough") and not _has_its_day(item.nodeid if is_costly else _case(item)):
            item.add_marker(pytest.mark.another_day)
    items.sort(key=_begins_late)


def _has_its_day(name: str) -> bool:
    """Whether this is the one day of three on which what lands passes a case."""
    day = int(seed()) if seed().isdecimal() else int.from_bytes(order(seed()))
    return (int.from_bytes(order(name)) + day) % _DAYS == 0


def _begins_late(item: pytest.Item) -> bool:
    """Whether it is not long; one process drives all of Spark, which takes longest to start."""
    return item.get_closest_marker("long") is None and _SPARK.isdisjoint(getattr(item, "fixturenames", ()))


def _case(item: pytest.Item) -> str:
    """Which case of its test an item is."""
    return item.nodeid.partition("[")[2]
