"""Statements of `docs/security/advisories.md` about old ledgers and versions."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest
from packaging.version import Version

import noisycount as nc
from tests.helpers.commands import configure
from tests.helpers.transcripts import PROJECT, blocks

PAGE = PROJECT / "docs/security/advisories.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""

pytestmark = pytest.mark.skipif(not TEXT, reason="the tests run outside the project's folder")


def test_every_advisory_stands_in_the_table() -> None:
    """Each row leads to its section, and each section says who is affected and what to do."""
    rows = re.findall(r"^\| (\d+) \| \[([^\]]+)\]\(#([^)]+)\)", TEXT, re.MULTILINE)
    sections = re.findall(r"^## (\d+) ([^\n]+)\n\n(.*?)(?=^## )", TEXT, re.MULTILINE | re.DOTALL)
    assert [(number, title) for number, title, _ in rows] == [(number, title) for number, title, _ in sections]
    for _, _, text in sections:
        assert text.startswith("**Affected:**")
        assert "**What to do.**" in text
        assert "**What could be revealed.**" in text or re.search(r"\*\*What (happened|could happen)\.\*\*", text)


def test_the_version_that_has_the_fixes_is_the_next_release() -> None:
    """The page sends readers of 0.2.0 to the release that this tree becomes."""
    described = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    base = Version(described["project"]["version"]).base_version
    assert f"Version {base.removesuffix('.0')} reads the ledgers of 0.1 and 0.2." in TEXT
    assert f"| {base.removesuffix('.0')}, in development" in (PROJECT / "SECURITY.md").read_text(encoding="utf-8")


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
    found = re.findall(r"^advisory (\d): \S+, (.+), analyst, key [0-9a-f]{32}$", done.stdout, re.MULTILINE)
    assert sorted(found) == [(number, "frame 2d8e56c377122a09") for number in ("1", "2", "2")]
    assert len(done.stdout.splitlines()) == 3
