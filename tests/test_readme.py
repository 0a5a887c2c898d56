"""What is promised of the README alone; that it is executed is in `tests/test_docs.py`."""

import re

import pytest

from tests.transcripts import PROJECT, README, blocks_of, transcripts

LONGEST = 150
MAIN = {"demo", "plan", "count", "refine", "ledger", "serve"}

pytestmark = pytest.mark.skipif(
    not README.is_file(), reason="the tests run outside the project's folder"
)


def test_it_is_short() -> None:
    """It can be read in one sitting."""
    assert len(README.read_text(encoding="utf-8").splitlines()) <= LONGEST


def test_the_main_commands_are_shown() -> None:
    """One example each, which is run."""
    found = blocks_of(README, "console")
    commands = [command for block in found for command, _ in transcripts(block.text)]
    assert {command.split()[1] for command in commands} >= MAIN


def test_every_target_is_in_the_makefile() -> None:
    """`make demo` and `make test` stand in it, and make knows both."""
    shown = "".join(block.text for block in blocks_of(README, "sh"))
    targets = re.findall(r"^make (\w+)", shown, re.MULTILINE)
    assert targets == ["demo", "test"]
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
