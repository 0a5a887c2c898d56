"""`count --slot` about records that take longer than it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.release.sources.duckdb.test_source import SLOW, write_notes

SCRIPT = Path(sys.executable).with_name("noisycount")


@pytest.mark.few(0)
@pytest.mark.parametrize(
    "name", ["notes.parquet", pytest.param("notes.csv", marks=pytest.mark.thorough)]
)
def test_a_count_that_overruns_is_given_up_in_one_line(here: Path, name: str) -> None:
    """The scan goes on while the command ends: neither prints anything, nor is waited for."""
    write_notes(here / name, 1_000_000)
    count = ("count", name, "--unit", "row", "--where", SLOW, "--epsilon", "0.5")
    words = [SCRIPT, *count, "--slot", "0.1"]
    told = subprocess.run(words, cwd=here, check=False, capture_output=True, text=True)  # noqa: S603  (our own command)
    assert (told.returncode, told.stdout) == (2, "")
    assert re.fullmatch(r"error: the answer was not ready when replies left; [^\n]+\n", told.stderr)
    show = subprocess.run(  # noqa: S603  (our own command)
        [SCRIPT, "ledger", "show"], cwd=here, check=True, capture_output=True, text=True
    )
    assert "not given" in show.stdout
