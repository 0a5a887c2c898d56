"""Collects what the audits of a run found and prints it at its end."""

from collections.abc import Callable

import pytest
from tests.layers import pytest_report_header

__all__ = ["pytest_report_header"]

_FINDINGS = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Start with no findings."""
    config.stash[_FINDINGS] = []


@pytest.fixture
def tell(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Put a line into what is printed at the end."""
    return pytestconfig.stash[_FINDINGS].append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the findings."""
    if findings := config.stash[_FINDINGS]:
        terminalreporter.section("what was found")
        for line in findings:
            terminalreporter.line(line)
