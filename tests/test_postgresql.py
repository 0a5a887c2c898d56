import shutil
from pathlib import Path

import pytest

from tests import postgresql


@pytest.mark.parametrize(
    ("required", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)]
)
def test_a_missing_server_fails_the_tests_where_one_is_required(
    monkeypatch: pytest.MonkeyPatch, required: str, outcome: type[BaseException]
) -> None:
    """Elsewhere they are skipped, and the reason is told."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(Path, "glob", lambda *_: iter(()))
    monkeypatch.setenv(postgresql.REQUIRED, required)
    with pytest.raises(outcome, match="PostgreSQL is not installed, so no test of a ledger on a"):
        postgresql.programs()


def test_the_newest_server_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers are compared as numbers; programs on the path come first."""
    found = [Path(f"/usr/lib/postgresql/{version}/bin/initdb") for version in (9.6, 15, 17)]
    monkeypatch.setattr(Path, "glob", lambda *_: iter(found))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert postgresql.programs() == Path("/usr/lib/postgresql/17/bin")
    monkeypatch.setattr(shutil, "which", lambda _: "/opt/nowhere/bin/initdb")
    assert postgresql.programs() == Path("/opt/nowhere/bin")
