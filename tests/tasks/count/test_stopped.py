"""Ctrl-C ends a count with status 130 and says, as the ledger does, whether anything was charged."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisycount.catalog.sources import LazySource
from tests.helpers.commands import Run

COUNT = ("count", "survey.parquet", "--unit", "person", "--epsilon", "0.5", "--where", "age >= 40")
NOTHING = "stopped: nothing was charged"
CHARGED = "stopped: its price was charged, and {}: ask the same again, which costs nothing more"
WAIT = 30  # seconds
# Says where a command has come to, and waits there for the signal.
PAUSED = """
import sys, time
from noisycount.cli.main import main
from noisycount.{module} import {name} as holder
def paused(*given, **named):
    {before}
    sys.stdout.write("here\\n")
    sys.stdout.flush()
    while True:
        time.sleep(0.01)
inner = holder.{method}
holder.{method} = paused
main()
"""
STAGES = {
    "before records are read": ("tasks.opening", "Records", "open", "pass", NOTHING, 0),
    "before the reserve": ("ledger.ledger", "Ledger", "reserve", "pass", NOTHING, 0),
    "after the reserve": (
        "ledger.ledger",
        "Ledger",
        "reserve",
        "inner(*given, **named)",
        CHARGED.format("nothing is answered yet"),
        1,
    ),
    "before it is stored": (
        "ledger.ledger",
        "Ledger",
        "store",
        "pass",
        CHARGED.format("nothing is answered yet"),
        1,
    ),
    "after it is stored": (
        "ledger.ledger",
        "Ledger",
        "store",
        "inner(*given, **named)",
        CHARGED.format("its answer is kept"),
        1,
    ),
}


@pytest.fixture
def started(here: Path) -> Iterator[list["subprocess.Popen[str]"]]:  # noqa: ARG001 - they run there
    """Processes that a test started, which end with it."""
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def stopped(code: str, words: tuple[str, ...], started: list["subprocess.Popen[str]"]) -> tuple[int, str, str]:
    """Send SIGINT to a command at the point where it prints "here"; return its status and output."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(  # noqa: S603 - of this test
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    started.append(process)
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=WAIT)
    return process.returncode, output, errors


@pytest.mark.thorough
@pytest.mark.parametrize("stage", STAGES)
def test_a_stopped_count_says_what_was_charged(stage: str, run: Run, started: list["subprocess.Popen[str]"]) -> None:
    """The ledger agrees; asked again it is charged once in all."""
    module, name, method, before, told, debits = STAGES[stage]
    code = PAUSED.format(module=module, name=name, method=method, before=before)
    found = stopped(code, (*COUNT, "--json"), started)
    assert found == (130, "", f"\n{told}\n")
    assert len(run("ledger", "show", "--json").object["entries"]) == debits
    again = run(*COUNT, "--json").object
    assert (again["remaining"], again["charged"]) == ("1.5", "0" if debits else "0.5")


def test_what_is_stopped_while_it_is_imported_says_so_too(started: list["subprocess.Popen[str]"]) -> None:
    """In one line, as nothing was charged by then."""
    code = (
        "import sys, time\n"
        "class Slow:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'click': print('here', flush=True); time.sleep(60)\n"
        "sys.meta_path.insert(0, Slow())\n"
        "from noisycount.cli import run\n"
        "run()\n"
    )
    assert stopped(code, ("--help",), started) == (130, "", f"\n{NOTHING}\n")


def test_a_stopped_plan_says_that_nothing_was_charged(started: list["subprocess.Popen[str]"]) -> None:
    """Of commands that charge nothing everybody knows it."""
    code = PAUSED.format(module="tasks", name="plan", method="plan_for_guess", before="pass").replace(
        "main()\n", "import noisycount.cli.plan as c; c.task.plan_for_guess = paused\nmain()\n"
    )
    found = stopped(code, ("plan", "--within", "20%", "--guess", "100"), started)
    assert found == (130, "", f"\n{NOTHING}\n")


@pytest.mark.parametrize(
    ("method", "told"), [("prepare", NOTHING), ("count", CHARGED.format("nothing is answered yet"))]
)
def test_a_statement_that_is_stopped_stops_the_count(
    run: Run, monkeypatch: pytest.MonkeyPatch, method: str, told: str
) -> None:
    """DuckDB ends a statement at Ctrl-C by an error of its own, which is no failure of the records."""

    def interrupted(*_: object) -> None:
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr(LazySource, method, interrupted)
    found = run(*COUNT)
    assert (found.status, found.output, found.errors) == (130, "", f"\n{told}\n")
