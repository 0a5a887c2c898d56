"""`count --slot` about records that take longer than it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines.duckdb.test_source import SLOW, write_notes

SCRIPT = Path(sys.executable).with_name("noisycount")
OVERRUN = r"error: the answer was not ready when replies left; [^\n]+\n"
TRIES = 20  # a busy machine may not come to the debit within a slot


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["notes.parquet", pytest.param("notes.csv", marks=pytest.mark.thorough)]
)
def test_a_count_that_overruns_is_given_up_in_one_line(here: Path, name: str) -> None:
    """The scan goes on while the command ends: neither prints anything, nor is waited for."""
    write_notes(here / name, 1_000_000)
    count = ("count", name, "--unit", "row", "--where", SLOW, "--epsilon", "0.5")
    words = [SCRIPT, *count, "--slot", "0.1"]
    shown = ""
    for _ in range(TRIES):
        told = subprocess.run(words, cwd=here, check=False, capture_output=True, text=True)  # noqa: S603  (our own command)
        assert (told.returncode, told.stdout) == (2, "")
        assert re.fullmatch(OVERRUN, told.stderr)
        shown = subprocess.run(  # noqa: S603  (our own command)
            [SCRIPT, "ledger", "show"], cwd=here, check=True, capture_output=True, text=True
        ).stdout
        if "nothing was asked yet" not in shown:
            break
    assert "not given" in shown
