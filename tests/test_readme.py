import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisycount.app.cli import COMMANDS
from noisycount.data import survey_path

PROJECT = Path(__file__).parents[1]
README = PROJECT / "README.md"
TEXT = README.read_text(encoding="utf-8") if README.is_file() else ""
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
NOISY = re.compile(r"answer |│ \d{4}-|3 The answer|4 A better estimate")
NUMBER = re.compile(r"−?\d+(?:[.,]\d+)*")

pytestmark = pytest.mark.skipif(not TEXT, reason="the tests run outside the project's folder")


def blocks(language: str) -> list[str]:
    """The blocks of a language, in order; there is at least one."""
    found = [block for name, block in BLOCKS if name == language]
    assert found
    return found


def transcripts(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a block, and what the README says that it prints."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, printed = re.split(r"(?<!\\)\n", part, maxsplit=1)
        yield command.replace("\\\n", " "), printed


def pieces(command: str, printed: str) -> list[str]:
    """The lines of an output, or the paragraphs of the demonstration, without noisy numbers."""
    between = "\n\n" if command == "noisycount demo" else "\n"
    found = [" ".join(piece.split()) for piece in printed.strip().split(between)]
    return [NUMBER.sub("#", piece) if NOISY.match(piece) else piece for piece in found]


def output(command: str, folder: Path) -> str:
    """What a command prints in a terminal of 80 columns, run in a folder below the home."""
    home = folder.parent
    environment = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "COLUMNS": "80"}
    name, *words = shlex.split(command)
    told = subprocess.run(  # noqa: S603  (the commands of our own README)
        [Path(sys.executable).with_name(name), *words],
        cwd=folder,
        env=os.environ | environment,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return told.stdout


def test_every_transcript_is_real(tmp_path: Path) -> None:
    """Run in order in a fresh clone, every command prints what stands below it, but for noise."""
    clone = tmp_path / "clone"
    survey = clone / "src/noisycount/data/rand_hie.parquet"
    survey.parent.mkdir(parents=True)
    shutil.copy(survey_path(), survey)
    for language, block in BLOCKS:
        if language == "toml":
            (clone / "noisycount.toml").write_text(block, encoding="utf-8")
        if language == "console":
            for command, printed in transcripts(block):
                assert pieces(command, output(command, clone)) == pieces(command, printed)


def test_every_example_is_real() -> None:
    """The Python blocks are sessions that give what they show."""
    session = doctest.DocTestParser().get_doctest("".join(blocks("python")), {}, "README", None, 0)
    assert session.examples
    assert doctest.DocTestRunner().run(session).failed == 0


def test_every_command_is_mentioned() -> None:
    """Who reads the README has seen each command at work, and no other."""
    commands = [command for block in blocks("console") for command, _ in transcripts(block)]
    assert {command.split()[1] for command in commands} == set(COMMANDS)


def test_every_target_is_in_the_makefile() -> None:
    """`make demo` and `make test` stand in the README, and make knows both."""
    targets = re.findall(r"^make (\w+)", "".join(blocks("sh")), re.MULTILINE)
    assert targets == ["demo", "test"]
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_every_room_is_shown() -> None:
    """The tree of the README has the folders of the source, and no other."""
    (tree,) = blocks("text")
    rooms = {path.parent.name for path in (PROJECT / "src/noisycount").glob("*/__init__.py")}
    assert set(re.findall(r"^  (\w+)/", tree, re.MULTILINE)) == rooms


def test_every_file_that_is_named_exists() -> None:
    """Links, pictures and paths in the text lead somewhere."""
    named = re.findall(r"\]\(([^)]+)\)|`([\w/]+\.(?:py|md)|LICENSE)`", TEXT)
    places = [PROJECT, *(PROJECT / "src/noisycount" / room for room in ("", "release"))]
    assert named
    for link, path in named:
        assert any((place / (link or path)).is_file() for place in places), link or path
