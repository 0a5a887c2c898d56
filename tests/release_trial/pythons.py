"""The Pythons of this machine on which a release is tried."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

__all__ = ["VERSIONS", "found"]

VERSIONS = ["3.11", "3.12", "3.13", "3.14"]
"""Those that noisycount is for; nothing is downloaded for the ones that are not here."""


def found(version: str) -> Path | None:
    """An interpreter of a version, if the machine has one."""
    return next(filter(lambda place: _answers(place, version), _places(version)), None)


def _places(version: str) -> Iterator[Path]:
    """Yield places of interpreters: on the path, and in the folders of pyenv and uv."""
    if place := shutil.which(f"python{version}"):
        yield Path(place)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    uv = Path.home() / ".local/share/uv/python"
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python"))
    yield from sorted(uv.glob(f"cpython-{version}.*/bin/python"))


def _answers(place: Path, version: str) -> bool:
    """Return True if an interpreter runs, which a shim of pyenv may not."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    words = [str(place), "-c", code]
    told = subprocess.run(words, check=False, capture_output=True, text=True)  # noqa: S603 - ours
    return told.stdout.strip() == version
