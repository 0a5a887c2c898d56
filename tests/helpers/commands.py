import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from noisycount.data import survey_path


@dataclass(frozen=True, slots=True)
class Told:
    """Output of a command, its errors, and the status with which it ended."""

    status: int
    output: str
    errors: str

    @property
    def object(self) -> dict[str, Any]:
        """The one JSON object of a command that succeeded."""
        assert (self.status, self.errors) == (0, ""), f"status {self.status}: {self.errors}"
        return dict(json.loads(self.output))

    @property
    def words(self) -> str:
        """The output on a single line."""
        return " ".join(self.output.split())

    @property
    def prose(self) -> str:
        """The words without the lines of tables, so that a sentence in a cell is whole."""
        return " ".join(self.output.replace("│", " ").split())


Run = Callable[..., Told]
Refused = Callable[..., str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder that holds the survey alone; the user's own folder is empty."""
    folder, home = tmp_path / "here", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    shutil.copy(survey_path(), folder / "survey.parquet")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("COLUMNS", "80")
    return folder


@pytest.fixture
def run(
    here: Path,  # noqa: ARG001  (every command runs there)
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """A command line, run in this process."""
    from noisycount.cli.main import main

    def told(*words: str) -> Told:
        monkeypatch.setattr(sys, "argv", ["noisycount", *words])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return Told(int(end.value.code or 0), captured.out, captured.err)

    return told


@pytest.fixture
def refused(run: Run, tmp_path: Path) -> Refused:
    """The line with which a command line is refused that must change no file."""
    from noisycount.cli.main import STATUSES

    def message(*words: str) -> str:
        before = contents(tmp_path)
        told = run(*words)
        assert told.status in {2, *STATUSES.values()}
        assert told.output == ""
        assert told.errors.startswith("error: ")
        assert told.errors.endswith("\n")
        assert len(told.errors.splitlines()) == 1
        assert contents(tmp_path) == before
        return told.errors

    return message


def contents(folder: Path) -> dict[Path, bytes]:
    """Every file below a folder, and what it holds, but what is remembered of old files."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "contents.json")
    return {path: path.read_bytes() for path in files}


def configure(folder: Path, dataset: str = "", ledger: str = "sqlite:///ledger.db") -> None:
    """A configuration file whose data set `survey` has more lines as given."""
    text = f'[ledger]\nurl = "{ledger}"\n[datasets.survey]\nsource = "survey.parquet"\n{dataset}\n'
    (folder / "noisycount.toml").write_text(text, encoding="utf-8")
