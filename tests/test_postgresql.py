import shutil
import subprocess
from pathlib import Path

import pytest

from tests.helpers import postgresql


@pytest.mark.parametrize(("required", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_a_missing_server_fails_the_tests_where_one_is_required(
    monkeypatch: pytest.MonkeyPatch, required: str, outcome: type[BaseException]
) -> None:
    """Elsewhere they are skipped with a reason."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(Path, "glob", lambda *_: iter(()))
    monkeypatch.setattr(postgresql, "find_spec", lambda _: None)
    monkeypatch.setenv(postgresql.REQUIRED, required)
    with pytest.raises(outcome, match="PostgreSQL is not installed, so no test of a server"):
        postgresql.programs()


def test_a_package_of_python_stands_in_for_a_server_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """No right but to install packages of one's own is needed."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(Path, "glob", lambda *_: iter(()))
    found = postgresql.programs()
    assert "pgserver" in found.parts
    told = subprocess.run([found / "postgres", "--version"], check=True, capture_output=True)  # noqa: S603 - the package's own program
    assert told.stdout.startswith(b"postgres (PostgreSQL) ")


def test_the_newest_server_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers are compared as numbers; programs on the path come first."""
    found = [Path(f"/usr/lib/postgresql/{version}/bin/initdb") for version in (9.6, 15, 17)]
    monkeypatch.setattr(Path, "glob", lambda *_: iter(found))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert postgresql.programs() == Path("/usr/lib/postgresql/17/bin")
    monkeypatch.setattr(shutil, "which", lambda _: "/opt/nowhere/bin/initdb")
    assert postgresql.programs() == Path("/opt/nowhere/bin")
