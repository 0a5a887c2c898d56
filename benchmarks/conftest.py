"""Collects the comparisons of a run, prints them at its end, and keeps their ratios."""

import os

import pytest

from benchmarks.comparison import SMALL, Comparison, Show, table
from benchmarks.results import latest_result, machine_facts, slower_lines, write_result

_COMPARISONS = pytest.StashKey[list[Comparison]]()
_SMALL_RECORDS = {"NOISYCOUNT_BENCH_RECORDS": "10000", "NOISYCOUNT_BENCH_ROWS": "1000"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of `make landing` and of `make bench`."""
    parser.addoption("--small", action="store_true", help="run every benchmark with small sizes, and judge no time")
    parser.addoption("--keep", action="store_true", help="write the ratios to a file in benchmarks/results")


def pytest_configure(config: pytest.Config) -> None:
    """Start with no comparisons, and set the sizes before the benchmarks are imported."""
    config.stash[_COMPARISONS] = []
    if config.getoption("small"):
        os.environ.update({SMALL: "1", **_SMALL_RECORDS})


@pytest.fixture
def show(pytestconfig: pytest.Config) -> Show:
    """Put a comparison into the table at the end."""
    return pytestconfig.stash[_COMPARISONS].append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the table, and what is slower than in the last result; write the new result."""
    comparisons = config.stash[_COMPARISONS]
    if not comparisons or config.getoption("small"):
        return
    terminalreporter.section("medians, run in turn with the rival")
    for line in table(comparisons):
        terminalreporter.line(line)
    last = latest_result()
    if last:
        terminalreporter.section(f"over 1.3 times the ratio of {last['date']} ({last['commit']})")
        for line in slower_lines(comparisons, last) or ["none"]:
            terminalreporter.line(line)
    if config.getoption("keep"):
        terminalreporter.line(f"wrote {write_result(comparisons, machine_facts())}")
