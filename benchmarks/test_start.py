"""Waiting time before a user's own work begins."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.comparison import Comparison, Show, medians, seconds

ROUNDS = 20


def output(*command: str) -> str:
    """Return the output of a command."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603, our own commands


def import_seconds(statement: str) -> float:
    """The time of an import in a new interpreter, without that of starting the interpreter."""
    clock = "from time import perf_counter; start = perf_counter()"
    return float(output(sys.executable, "-c", f"{clock}; {statement}; print(perf_counter()-start)"))


def test_help_takes_at_most_100_ms_more_than_an_empty_program(show: Show) -> None:
    """`noisycount --help` starts without what only a command needs."""
    command = str(Path(sys.executable).with_name("noisycount"))
    ours, theirs = medians(
        ROUNDS,
        lambda: seconds(lambda: output(command, "--help")),
        lambda: seconds(lambda: output(sys.executable, "-c", "pass")),
    )
    found = Comparison("noisycount --help", ours, "python -c pass", theirs, theirs + 0.1)
    show(found)
    assert found.kept


@pytest.mark.parametrize("statement", ["import noisycount", "from noisycount import *"])
def test_an_import_takes_at_most_4_times_that_of_numpy(show: Show, statement: str) -> None:
    """It holds even when every public name is used, as a name is loaded on its first use."""
    rival = "import numpy"
    ours, theirs = medians(ROUNDS, lambda: import_seconds(statement), lambda: import_seconds(rival))
    found = Comparison(statement, ours, rival, theirs, 4 * theirs)
    show(found)
    assert found.kept
