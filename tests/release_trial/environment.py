"""A virtual environment with nothing but a release, and an empty folder to work in."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.release_trial.steps import TrialError, step

__all__ = ["Environment"]

PATIENCE = 300.0  # seconds


@dataclass(frozen=True, slots=True)
class Environment:
    """Programs and home of a person who has just installed a release."""

    name: str  # how its steps are told
    programs: Path  # the folder of its commands
    home: Path  # the folder in which they run, empty at first, which is also the person's home

    @classmethod
    def made(cls, name: str, folder: Path, interpreter: Path, *packages: str) -> Self:
        """Make it in a new folder, and install packages."""
        environment = cls(name, folder / "environment/bin", folder / "home")
        environment.home.mkdir(parents=True)
        with step(name, "installed"):
            _uv("venv", "--python", str(interpreter), str(folder / "environment"))
            python = environment.programs / "python"
            # A file that another environment links anew meanwhile has changed for who counts it.
            _uv("pip", "install", "--link-mode=copy", "--python", str(python), *packages)
        return environment

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables of its commands."""
        known = {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / ".config")}
        path = os.pathsep.join([str(self.programs), os.defpath])
        return {**known, "PATH": path, "COLUMNS": "80", "LANG": "C.UTF-8", "BROWSER": "true"}

    def run(self, *words: str) -> tuple[int, str, str]:
        """Run a command to its end: its exit status, what it printed, and its errors."""
        told = subprocess.run(  # noqa: S603 - our own words
            self.words(*words),
            cwd=self.home,
            env=self.variables,
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return told.returncode, told.stdout, told.stderr

    def done(self, *words: str) -> str:
        """Run a command that must succeed without a word on standard error, and return its output."""
        status, printed, errors = self.run(*words)
        if status or errors:
            raise TrialError(f"{' '.join(words)} ended with {status}: {printed}{errors}")
        return printed

    def words(self, program: str, *rest: str) -> list[str]:
        """A command by the full name of its program."""
        return [str(self.programs / program), *rest]


def _uv(*words: str) -> None:
    command = [sys.executable, "-m", "uv", "--quiet", "--no-python-downloads", *words]
    told = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - ours
    if told.returncode:
        raise TrialError(f"uv {' '.join(words)}: {told.stderr}")
