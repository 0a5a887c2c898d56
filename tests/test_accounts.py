"""A colleague on the same machine, of another account, who may ask and may not read: as the guide for a team says."""

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from noisycount.data import survey_path
from tests.helpers import accounts
from tests.helpers.accounts import COLLEAGUE, as_colleague
from tests.helpers.commands import Run
from tests.helpers.running_service import started, typed

ASK = ("--where", "age >= 60", "--epsilon", "0.1")


@pytest.fixture
def study() -> Iterator[Path]:
    """An owner's folder that everybody may look into, with records that everybody may read."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        home = folder / "home"
        home.mkdir()
        home.chmod(0o777)  # of both: ledgers there are their makers'
        (folder / "study").mkdir(mode=0o755)
        shutil.copyfile(survey_path(), folder / "study" / "survey.parquet")
        (folder / "study" / "survey.parquet").chmod(0o644)
        yield folder / "study"


def test_an_owner_is_told_who_else_can_read_the_records(run: Run, study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By `init` and by `serve`, until nobody else can; what is made beside them nobody else can read."""
    words = f"every account of this machine can read {study / 'survey.parquet'}, and count without a budget: "
    remedy = f"chmod go= {study / 'survey.parquet'}"
    monkeypatch.chdir(study)
    assert words + remedy in run("init", "survey.parquet", "--unit", "person").words
    subprocess.run(remedy.split(), check=True)  # noqa: S603 - as it is told
    (study / "noisycount.toml").unlink()
    assert "can read" not in run("init", "survey.parquet", "--unit", "person").output
    for command in (("count", "survey", *ASK), ("analysts", "add", "bo", "--data-set", "survey")):
        assert run(*command).status == 0
    made = {path for path in study.rglob("*") if path != study / "noisycount.toml"}
    assert {path.name for path in made} >= {"ledger.db", "ledger.db.data", "access.json", "access.secret"}
    for path in made:
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_a_group_that_can_read_the_records_is_named(run: Run, study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group without a name is shown by its number."""
    accounts.give_to_group(study / "survey.parquet")
    (study / "survey.parquet").chmod(0o640)
    monkeypatch.chdir(study)
    assert f"group {COLLEAGUE} can read {study / 'survey.parquet'}" in run("init", "survey.parquet").words


@pytest.mark.thorough(minutes=1)
def test_a_colleague_asks_and_does_not_read(study: Path) -> None:
    """Every command is one refusal that says how to ask; with a key the service answers, and without it does not."""
    (study / "survey.parquet").chmod(0o600)
    typed(study, "init", "survey.parquet", "--unit", "person")
    with (study / "noisycount.toml").open("a") as configuration:
        configuration.write("[server]\nslot = 0.25\n")
    typed(study, "count", "survey", *ASK)
    (key,) = re.findall(r"nc_\w+", typed(study, "analysts", "add", "bo", "--data-set", "survey"))
    before = {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in study.rglob("*")}
    alone = (
        "ledger.db' may be opened only by the account that owns it: ask its owner for a key to their `noisycount serve`"
    )
    unread = "cannot be read: check its path and permissions, or ask its owner for a key to their `noisycount serve`"
    refusals = {
        ("count", "survey", *ASK): alone,  # which the owner has an answer to
        ("count", "survey", "--where", "age >= 61", "--epsilon", "0.1"): alone,
        ("count", "survey.parquet", "--unit", "person", *ASK): alone,
        ("show", "survey"): alone,
        ("check", "survey"): alone,
        ("ledger", "show"): alone,
        ("serve", "--port", "0"): alone,
        ("analysts", "list"): "access.json cannot be read (Permission denied): only the ledger's owner may read it",
        ("analysts", "add", "me", "--data-set", "survey"): "keys cannot be stored in",
        ("init", "--add", "survey.parquet", "--name", "mine", "--unit", "row", "--yes"): alone,
    }
    outside = ["count", str(study / "survey.parquet"), "--unit", "person", *ASK, "--config", "/dev/null"]
    with started(study) as url:
        headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": "old", "Content-Type": "application/json"}
        release = {"url": f"{url}/v1/datasets/survey/releases", "body": {"where": "age >= 60", "epsilon": "0.1"}}
        requests = [
            {**release, "headers": headers},
            {**release, "headers": {**headers, "Authorization": f"Bearer {key[:-1]}"}},
            {"url": f"{url}/v1/datasets", "headers": headers},
        ]
        told = as_colleague(study, study.parent / "home", [*refusals, outside, *requests])
    for words, found in zip([*refusals, tuple(outside)], told, strict=False):
        assert found["status"], words
        assert not found["output"], words
        assert len(found["errors"].splitlines()) == 1, words
        assert refusals.get(words, unread) in found["errors"], words
    answered, wrong, listed = told[-3:]
    assert answered["status"] == 201
    assert answered["body"]["charged"] == "0"  # the owner had paid for it
    assert wrong["status"] == 401
    assert listed["body"] == {"datasets": [{"dataset": "survey"}]}
    changed = {path for path, state in before.items() if (path.stat().st_mtime_ns, path.stat().st_ino) != state}
    assert {path.name for path in changed} <= {
        "study",
        "ledger.db",
        "ledger.db.data",
        "contents.json",
    }  # by the service


def test_a_test_of_accounts_is_not_skipped_where_it_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in what must pass before anything lands."""
    monkeypatch.setattr(os, "geteuid", lambda: 1)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.delenv(accounts.REQUIRED, raising=False)
    with pytest.raises(pytest.skip.Exception):
        accounts._prefix()  # noqa: SLF001 - its rule
    monkeypatch.setenv(accounts.REQUIRED, "1")
    with pytest.raises(pytest.fail.Exception):
        accounts._prefix()  # noqa: SLF001 - as above
