"""The steps of `docs/how-to/upgrade.md`, taken with ledgers of older versions, and its statements about them."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest
from packaging.version import Version

import noisycount as nc
from tests.helpers.commands import Run, configure
from tests.helpers.transcripts import PROJECT, Reader, blocks, blocks_of, transcripts

PAGE = PROJECT / "docs/how-to/upgrade.md"
KEPT = PROJECT / "tests/ledger/kept"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""

pytestmark = pytest.mark.skipif(not TEXT, reason="the tests run outside the project's folder")


@pytest.mark.thorough
def test_the_steps_upgrade_a_ledger_of_the_last_version(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command prints what the page shows, and the question of an older version still has its answer."""
    shutil.copytree(KEPT / "0.2", here, dirs_exist_ok=True)
    reader = Reader(here, capsys, {}, {}, [])
    for block in blocks(TEXT):
        if block.language == "console":
            reader.copy(block)


@pytest.mark.thorough
@pytest.mark.parametrize("version", ["0.1", "0.2"])
def test_the_steps_keep_budgets_and_rows(here: Path, run: Run, version: str) -> None:
    """The commands of the page succeed, and change no budget and no row; the backup is the ledger."""
    shutil.copytree(KEPT / version, here, dirs_exist_ok=True)
    head = run("ledger", "verify", "--json").object["head"]
    before = run("ledger", "show", "--json").object
    for command, _ in (each for block in blocks_of(PAGE, "console") for each in transcripts(block.text)):
        if command.split()[1] != "docs":
            assert run(*command.split()[1:]).status == 0, command
    after = run("ledger", "show", "--json").object
    assert (after["datasets"], after["analysts"]) == (before["datasets"], before["analysts"])
    assert len(after["entries"]) == len(before["entries"]) > 0
    assert run("ledger", "verify", "--head", head).status == 0
    assert run("ledger", "verify", "--head", head, "--ledger", "ledger-0.3/ledger.sqlite").status == 0


def test_every_fault_has_a_number_a_loss_and_a_remedy() -> None:
    """The table has nine rows without an empty cell."""
    rows = re.findall(r"^\| (\d) \| (.+) \| (.+) \| (.+) \|$", TEXT, re.MULTILINE)
    assert [int(row[0]) for row in rows] == list(range(1, 10))
    assert all(cell.strip().endswith(".") for row in rows for cell in row[1:])


def test_the_version_that_has_the_fixes_is_the_next_release() -> None:
    """The page sends readers of 0.2.0 to the release that this tree becomes."""
    described = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    base = Version(described["project"]["version"]).base_version
    assert f"from noisycount 0.1 or 0.2 to {base.removesuffix('.0')} and keep" in TEXT
    assert f"| {base.removesuffix('.0')}" in (PROJECT / "SECURITY.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_the_program_lists_the_affected_entries(here: Path) -> None:
    """Frames that were named by a hash: tables with a bound on groups, and all others; no other data set."""
    (program,) = [block for block in blocks(TEXT) if block.name == "affected.py"]
    (here / program.name).write_text(program.text, encoding="utf-8")
    configure(here)
    frame = pl.DataFrame({"person": [n // 2 for n in range(600)], "town": ["a", "b", "c"] * 200})
    for name in ("frame 2d8e56c377122a09", "frame 1"):
        with nc.open_desk(frame, unit="person", ledger=here / "ledger.db", name=name) as desk:
            desk.release("town = 'a'", "0.1")
            desk.release_table("town", {"town": ["a", "b"]}, epsilon="0.2", groups_per_unit=1)
            desk.release_table("town", {"town": ["a", "b"]}, epsilon="0.2")
        frame = frame.head(598)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S603 - the program of our page
        [sys.executable, program.name],
        cwd=here,
        env={**os.environ, "PATH": path},
        check=True,
        capture_output=True,
        text=True,
    )
    found = re.findall(r"^fault (\d): \S+, (.+), analyst, key [0-9a-f]{32}$", done.stdout, re.MULTILINE)
    assert sorted(found) == [(number, "frame 2d8e56c377122a09") for number in ("1", "2", "2")]
    assert len(done.stdout.splitlines()) == 3
