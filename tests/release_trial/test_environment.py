import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.release_trial.environment import Environment

METADATA = "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def tiny_wheel(folder: Path) -> Path:
    """A package of one file, which needs nothing."""
    wheel = folder / "tiny-1-py3-none-any.whl"
    with ZipFile(wheel, "w") as packed:
        packed.writestr("tiny.py", "")
        packed.writestr("tiny-1.dist-info/METADATA", METADATA)
        packed.writestr("tiny-1.dist-info/WHEEL", WHEEL)
        packed.writestr("tiny-1.dist-info/RECORD", "tiny.py,,\n")
    return wheel


def test_no_environment_has_a_file_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the end of one would touch what another has open, which is then refused as changed."""
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))  # links need the same disk
    made = [
        Environment.made(name, tmp_path / name, Path(sys.executable), str(tiny_wheel(tmp_path)))
        for name in ("one", "other")
    ]
    for each in made:
        (file,) = each.programs.parent.rglob("tiny.py")
        assert file.stat().st_nlink == 1
