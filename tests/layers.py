"""Choose the tests of a fast run, of a landing and of a thorough run.

* A fast run (`make test`) takes every test that is not marked `thorough`, with all cases: each may be a branch of its
  own. Only cases that are samples of one rule are thinned: of a test marked `few(n)` a fast run takes n cases, and of
  a test in the rooms of `_FEW` two, unless its name says that something is refused. It always takes the same
  cases, so that two fast runs of a commit are equal.
* A landing (`make landing`) takes the fast tests and those that `tests.landing` chooses from the rest.
* A thorough run (`make thorough`) takes all tests, and draws other random examples each time.

Tests that are marked `thorough(minutes=1)`, and those of Spark, begin first: else one process would end long after the
others. `make coverage` takes all cases of the fast tests and the first case of each thorough test.
"""

import os
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module

import pytest
from hypothesis import settings

from tests.helpers.cases import SEED, seed
from tests.helpers.postgresql import roomy_folder
from tests.landing import PROJECT, Landing, rank, room

# Numbers of cases that show that a test works, in rooms whose cases are samples of a formula or of a kind of file.
_FEW = dict.fromkeys(("model", "analysis", "papers", "engines", "tasks", "cli", "service", "catalog", "charts"), 2)

_SPARK = {"spark_url", "spark_cluster", "spark_connect"}  # fixtures

# No deadline: shared machines pause; speed is benchmarked. A fast run and a landing are the same at every run;
# `make thorough` and `make audit` draw new examples each time.
settings.register_profile("fast", deadline=None, max_examples=10, derandomize=True)
settings.register_profile("landing", deadline=None, max_examples=15, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=25)

# In the stash of a test: True for a further case of a fast test, which a fast run leaves out.
FURTHER_CASE = pytest.StashKey[bool]()
_FIRST_CASE = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that `make landing` and `make coverage` set."""
    parser.addoption("--landing", action="store_true", help="run what must pass before a change lands")
    parser.addoption(
        "--covering", action="store_true", help="run all cases of fast tests and the first case of thorough ones"
    )


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
def pytest_collection(session: pytest.Session) -> None:
    """Import the files of a run in another order in each process of pytest-xdist.

    All processes collect the same files in the same order. pytest rewrites the assertions of a file at its first
    import, and stores the result: in a fresh clone each process would rewrite every file. Here each of n processes
    begins at another n-th of the files, and finds the others rewritten when it comes to them.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    paths = [PROJECT / name for name in session.config.args]
    files = sorted(file for path in paths for file in path.rglob("test_*.py"))
    start = len(files) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for file in files[start:] + files[:start]:
        name = ".".join(file.relative_to(PROJECT).with_suffix("").parts)
        with suppress(Exception):  # which pytest reports when it collects this file
            import_module(name)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that a fast run leaves out, deselect those that the chosen run leaves out, put long ones first."""
    _mark_thorough_cases(items)
    excluded: list[pytest.Item] = []
    if config.getoption("landing", default=False):
        excluded = Landing.read().waiting(items)
    elif config.getoption("covering", default=False):
        excluded = [item for item in items if not _is_covering(item)]
    if excluded:
        config.hook.pytest_deselected(items=excluded)
        items[:] = [item for item in items if item not in set(excluded)]
    items.sort(key=_starts_late)


def _mark_thorough_cases(items: Iterable[pytest.Item]) -> None:
    """Mark as thorough the samples that a fast run leaves out, and the tests of Spark, which takes long to start."""
    cases = defaultdict(list)
    for item in items:
        cases[item.nodeid.split("[")[0]].append(item)
    for all_cases in cases.values():
        ranked = sorted(all_cases, key=lambda item: rank(item.nodeid.partition("[")[2]))
        ranked[0].stash[_FIRST_CASE] = True
        number = 0 if _needs_spark(ranked[0]) else _fast_cases(ranked[0])
        for item in [] if number is None else ranked[number:]:
            if item.get_closest_marker("thorough") is None:
                item.stash[FURTHER_CASE] = True
            item.add_marker(pytest.mark.thorough)


def _fast_cases(item: pytest.Item) -> int | None:
    """Return the number of cases that a fast run takes of a test, or None for all of them."""
    if mark := item.get_closest_marker("few"):
        return int(mark.args[0])
    is_refusal = "refuse" in item.name.partition("[")[0]
    return None if is_refusal else _FEW.get(room(item.path.relative_to(PROJECT)))


def _starts_late(item: pytest.Item) -> bool:
    """Return False for tests that begin first: long ones, and those of Spark, which one process drives."""
    return not (_takes_minutes(item) or _needs_spark(item))


def _is_covering(item: pytest.Item) -> bool:
    """Return True if `make coverage` takes a test: all cases of a fast test, one case of a thorough test."""
    if item.get_closest_marker("thorough") is None:
        return True
    return not _takes_minutes(item) and (FURTHER_CASE in item.stash or _FIRST_CASE in item.stash)


def _takes_minutes(item: pytest.Item) -> bool:
    """Return True if a test is marked `thorough(minutes=...)`."""
    return any("minutes" in mark.kwargs for mark in item.iter_markers("thorough"))


def _needs_spark(item: pytest.Item) -> bool:
    """Return True if a test starts Spark."""
    return not _SPARK.isdisjoint(getattr(item, "fixturenames", ()))
