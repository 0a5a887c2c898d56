"""Collects what the audits of a run found and prints it at its end, whichever process found it."""

from collections.abc import Callable
from functools import partial

import pytest
from tests.layers import pytest_configure, pytest_report_header, pytest_xdist_auto_num_workers

__all__ = ["pytest_configure", "pytest_report_header", "pytest_xdist_auto_num_workers"]

_FOUND = "found"


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Put a line into what is printed at the end."""
    return partial(record_property, _FOUND)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the findings."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    lines = [line for report in reports for name, line in report.user_properties if name == _FOUND]
    if lines:
        terminalreporter.section("what was found")
        for line in lines:
            terminalreporter.line(str(line))
