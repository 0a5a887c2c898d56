"""Collects the comparisons of a run and prints them at its end."""

import pytest

from benchmarks.comparison import Comparison, Show, table

_COMPARISONS = pytest.StashKey[list[Comparison]]()


def pytest_configure(config: pytest.Config) -> None:
    """Start with no comparisons."""
    config.stash[_COMPARISONS] = []


@pytest.fixture
def show(pytestconfig: pytest.Config) -> Show:
    """Put a comparison into the table at the end."""
    return pytestconfig.stash[_COMPARISONS].append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the table."""
    if comparisons := config.stash[_COMPARISONS]:
        terminalreporter.section("medians, run in turn with the rival")
        for line in table(comparisons):
            terminalreporter.line(line)
