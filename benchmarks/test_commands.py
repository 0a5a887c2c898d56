"""Processor time of commands, beside version 0.2."""

import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from io import BytesIO
from itertools import count
from pathlib import Path
from shutil import copyfile
from tarfile import TarFile

import pytest

from benchmarks.comparison import Comparison, Show, medians

PROJECT = Path(__file__).parents[1]
VERSION_0_2 = "1e03dd4"
ROUNDS = 15
MAINS = {"0.2": "noisycount.app.cli", "now": "noisycount.cli.main"}
COMMANDS = {
    "count": (
        "count survey.parquet --unit person --epsilon 0.01 --where 'age >= 18 and year < {}'",
        0.65,
    ),
    "plan": ("plan --guess {} --within 20% --confidence 95%", 0.7),
    "refine": ("refine {} --size 5912 --rate 1.7% --epsilon 0.15", 0.7),
    "risk": ("risk --size {} --rate 30% --price 0.5", 0.7),
}
NUMBERS = count(101)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Return the folder of the source of each version."""
    folder = tmp_path_factory.mktemp("0.2")
    made = subprocess.run(  # noqa: S603 - our own command
        ["git", "-C", str(PROJECT), "archive", VERSION_0_2, "src"],  # noqa: S607
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"this checkout has no commit {VERSION_0_2}: fetch the whole history")
    with TarFile(fileobj=BytesIO(made.stdout)) as files:
        files.extractall(folder, filter="data")
    return {"0.2": folder / "src", "now": PROJECT / "src"}


def processor_seconds(source: Path, main: str, words: str, folder: Path) -> float:
    """The processor time of one command, that of its interpreter included."""
    code = f"import shlex, sys; sys.argv = shlex.split(sys.argv[1]); import {main} as cli; cli.main()"
    own = {"PYTHONPATH": str(source), "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", code, f"noisycount {words}"],
        cwd=folder,
        env=os.environ | own,
        check=True,
        capture_output=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_takes_less_than_in_0_2(show: Show, tmp_path: Path, sources: Mapping[str, Path], name: str) -> None:
    """Two thirds of its processor time, without what the first start compiles."""
    words, limit = COMMANDS[name]
    folders = {version: tmp_path / version for version in MAINS}
    for folder in folders.values():
        folder.mkdir()
        copyfile(PROJECT / "src/noisycount/data/rand_hie.parquet", folder / "survey.parquet")

    def run(version: str) -> float:
        asked = words.format(next(NUMBERS))
        return processor_seconds(sources[version], MAINS[version], asked, folders[version])

    for version in MAINS:
        run(version)
    ours, theirs = medians(ROUNDS, lambda: run("now"), lambda: run("0.2"))
    found = Comparison(f"noisycount {name}", ours, "the same in 0.2", theirs, limit * theirs)
    show(found)
    assert found.kept
