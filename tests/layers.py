"""Choose the tests of a fast run, of a landing and of a thorough run.

* A fast run (`make test`) takes every test that is not marked `thorough`, with all cases: each may be a branch of its
  own. Only cases that are samples of one rule are thinned: of a test marked `few(n)` a fast run takes n cases, and of
  a test in the rooms of `_FEW` three or four, unless its name says that something is refused. It always takes the same
  cases, so that two fast runs of a commit are equal.
* A landing (`make landing`) takes the fast tests and those that `tests.landing` chooses from the rest.
* A thorough run (`make thorough`) takes all tests, and draws other random examples each time.

Tests that are marked `long`, and those of Spark, begin first: else one process would end long after the others.
Coverage is measured with all cases of the fast tests, those that a fast run leaves out being marked `further`, and the
`first` case of each thorough one.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from types import FunctionType
from typing import TypeVar

import pytest
from hypothesis import settings

from tests.landing import PROJECT, Landing, rank, room
from tests.postgresql import roomy_folder

Sample = TypeVar("Sample")
SEED = "NOISYCOUNT_SEED"
"""Name of the variable with the seed of random tests that vary; without it, the time of the run."""

# Numbers of cases that show that a test works, in rooms whose cases are samples of a formula or of a kind of file.
_FEW = {"model": 3, "analysis": 3, "papers": 3, "engines": 4, "tasks": 4, "cli": 4}

_SPARK = {"spark_url", "spark_cluster", "spark_connect"}  # fixtures

# No deadline: shared machines pause; speed is benchmarked. A fast run and a landing are the same at every run;
# `make thorough` and `make audit` draw new examples each time.
settings.register_profile("fast", deadline=None, max_examples=10, derandomize=True)
settings.register_profile("landing", deadline=None, max_examples=15, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=25)


def seed() -> str:
    """Return the seed of this run, the same in all its processes."""
    return os.environ.setdefault(SEED, str(int(datetime.now(UTC).timestamp())))


def examples(share: int) -> settings:
    """Return settings with this percentage of the usual random examples, for tests with slow examples."""
    return settings(max_examples=max(5, share * settings().max_examples // 100))


def share_of(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Return all samples of one rule in a thorough run, and every fourth of them in others."""
    return samples if settings.get_current_profile_name() == "thorough" else samples[::4]


def case_name(value: object) -> str:
    """Return a name of a case that is the same in every process: no address of a function."""
    return value.__name__ if isinstance(value, FunctionType) else str(value)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that `make landing` sets."""
    parser.addoption("--landing", action="store_true", help="run what must pass before a change lands")


def pytest_configure() -> None:
    """Keep the files of tests in memory: a ledger waits for the disk at every row, and no power is cut here."""
    if folder := roomy_folder():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", folder)


def pytest_report_header(config: pytest.Config) -> str:
    """Show what repeats this run: its seed, or what the landing was chosen from."""
    return Landing.read().text if config.getoption("landing", default=False) else f"{SEED}={seed()}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one process more than cores: in many tests it waits, for a tick, a server or other processes."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that a fast run leaves out, deselect those that a landing leaves out, put long ones first."""
    _mark_thorough_cases(items)
    if config.getoption("landing", default=False):
        waiting = Landing.read().waiting(items)
        config.hook.pytest_deselected(items=waiting)
        items[:] = [item for item in items if item not in set(waiting)]
    items.sort(key=_starts_late)


def _mark_thorough_cases(items: Iterable[pytest.Item]) -> None:
    """Mark as thorough the samples that a fast run leaves out, and the tests of Spark, which takes long to start."""
    cases = defaultdict(list)
    for item in items:
        cases[item.nodeid.split("[")[0]].append(item)
    for all_cases in cases.values():
        ranked = sorted(all_cases, key=lambda item: rank(item.nodeid.partition("[")[2]))
        ranked[0].add_marker(pytest.mark.first)
        number = 0 if _needs_spark(ranked[0]) else _fast_cases(ranked[0])
        for item in [] if number is None else ranked[number:]:
            if item.get_closest_marker("thorough") is None:
                item.add_marker(pytest.mark.further)
            item.add_marker(pytest.mark.thorough)


def _fast_cases(item: pytest.Item) -> int | None:
    """Return the number of cases that a fast run takes of a test, or None for all of them."""
    if mark := item.get_closest_marker("few"):
        return int(mark.args[0])
    is_refusal = "refuse" in item.name.partition("[")[0]
    return None if is_refusal else _FEW.get(room(item.path.relative_to(PROJECT)))


def _starts_late(item: pytest.Item) -> bool:
    """Return False for tests that begin first: long ones, and those of Spark, which one process drives."""
    return item.get_closest_marker("long") is None and not _needs_spark(item)


def _needs_spark(item: pytest.Item) -> bool:
    """Return True if a test starts Spark."""
    return not _SPARK.isdisjoint(getattr(item, "fixturenames", ()))
