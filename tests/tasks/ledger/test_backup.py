"""Tests of `tasks/backup.py`."""

import shutil
import sqlite3
import subprocess
from pathlib import Path

from noisycount.ledger.ledger import Ledger
from tests.helpers.commands import Refused, Run, configure
from tests.helpers.ledgers import change
from tests.tasks.ledger.test_ledger import ask


def modes(folder: Path) -> dict[str, str]:
    """The mode of a folder and of all that is in it."""
    places = [folder, *folder.rglob("*")]
    return {str(each.relative_to(folder)): f"{each.stat().st_mode & 0o777:o}" for each in places}


def test_a_ledger_is_copied_and_restored(run: Run, here: Path) -> None:
    """With what lies beside it, for its owner alone; the lines that are printed put it back."""
    configure(here, 'unit = "person"')
    ask(run, 1)
    data = here / "ledger.db.data"
    data.mkdir(exist_ok=True)
    (data / "access.json").write_text("{}")
    (data / "access.lock").touch()
    (data / f"{'0' * 16}-{'0' * 64}.parquet").touch()
    (data / f".{'0' * 16}-{'0' * 64}.parquet.x.part").touch()
    told = run("ledger", "backup", "kept", "--json").object
    assert (told["rows"], told["ledger"]) == (3, str(here / "ledger.db"))
    assert told["files"] == ["access.json"]
    assert set(modes(here / "kept").values()) == {"700", "600"}
    assert modes(here / "kept")["ledger.db"] == "600"
    assert modes(here / "kept")["ledger.db.data"] == "700"
    head = run("ledger", "verify", "--json").object["head"]
    assert told["head"] == head
    assert run("ledger", "verify", "--ledger", "kept/ledger.db", "--json").object["head"] == head
    (here / "ledger.db").unlink()
    shutil.rmtree(data)
    for line in told["restore"]:
        subprocess.run(["/bin/sh", "-c", line], cwd=here, check=True)  # noqa: S603 - as printed
    assert run("ledger", "verify", "--head", head, "--json").object["head"] == head
    assert modes(here)["ledger.db"] == "600"
    assert modes(data)["."] == "700"
    assert (data / "access.json").read_text() == "{}"
    for line in told["restore"]:  # nothing is nested where the folder is there
        subprocess.run(["/bin/sh", "-c", line], cwd=here, check=True)  # noqa: S603 - as printed
    assert not [each for each in data.iterdir() if each.is_dir()]


def test_a_backup_says_how_to_restore_it(run: Run, here: Path) -> None:
    """And its head; the copies of texts come along where that is asked."""
    configure(here)
    ask(run, 1)
    data = here / "ledger.db.data"
    data.mkdir(exist_ok=True)
    name = f"{'0' * 16}-{'0' * 64}.parquet"
    (data / name).touch()
    lines = run("ledger", "backup", "a copy", "--copies").output.splitlines()
    assert lines[0] == "copied ledger.db, with 1 file of ledger.db.data, to a copy"
    assert "3 rows, consistent in themselves; not compared with a saved head" in lines[1]
    assert [line for line in lines if line.startswith("head: 3:")]
    assert lines[-2:] == ["cp -p 'a copy/ledger.db' ledger.db", "cp -pR 'a copy/ledger.db.data'/. ledger.db.data"]
    assert (here / "a copy/ledger.db.data" / name).exists()


def test_a_backup_is_whole_or_not_at_all(run: Run, refused: Refused, here: Path) -> None:
    """A folder that is there is not touched, and a broken ledger leaves none."""
    configure(here)
    assert "there is no ledger at" in refused("ledger", "backup", "kept")
    ask(run, 1)
    (here / "there").mkdir()
    assert "DIR 'there' exists already: name a new folder" in refused("ledger", "backup", "there")
    assert "cannot be written (No such file" in refused("ledger", "backup", "no/such/folder")
    before = sorted(each.name for each in here.iterdir())
    with Ledger.open(f"sqlite:///{here}/ledger.db") as ledger:
        change(ledger, "UPDATE ledger SET epsilon = '0.01' WHERE number = 2")
    message = refused("ledger", "backup", "kept")
    assert "row 2 of the ledger was changed" in message
    assert "nothing was copied" in message
    assert sorted(each.name for each in here.iterdir()) == before
    (here / "ledger.db").write_bytes(b"no ledger" * 1000)
    assert refused("ledger", "backup", "kept").startswith("error: ledger")
    assert sorted(each.name for each in here.iterdir()) == before


def test_a_backup_holds_the_head_that_was_written_down(run: Run, refused: Refused, here: Path) -> None:
    """An older copy in place of the ledger is not backed up in its name."""
    configure(here)
    ask(run, 1)
    run("ledger", "backup", "older")
    ask(run, 2)
    head = run("ledger", "backup", "newer", "--json").object["head"]
    message = refused("ledger", "verify", "--ledger", "older/ledger.db", "--head", head)
    assert "row 4 of the ledger is missing, though the stated head is row 5" in message
    assert run("ledger", "verify", "--ledger", "newer/ledger.db", "--head", head).status == 0
    url = f"sqlite:///{here}/newer/ledger.db"
    assert run("ledger", "verify", "--ledger", url, "--head", head).status == 0
    text = (here / "noisycount.toml").read_text().replace("[ledger]", f'[ledger]\nhead = "{head}"')
    (here / "noisycount.toml").write_text(text)
    shutil.copy(here / "older/ledger.db", here / "ledger.db")
    assert "row 4 of the ledger is missing" in refused("ledger", "backup", "again")
    assert not (here / "again").exists()


def test_a_copy_is_verified_where_it_lies(run: Run, refused: Refused, here: Path) -> None:
    """It is only read, and one that is not there is no ledger without rows."""
    configure(here)
    ask(run, 1)
    run("ledger", "backup", "kept")
    (here / "kept/ledger.db").chmod(0o400)
    before = (here / "kept/ledger.db").read_bytes()
    assert "3 rows" in run("ledger", "verify", "--ledger", "kept/ledger.db").output
    assert (here / "kept/ledger.db").read_bytes() == before
    for place in ("kept", "kept/other.db", "sqlite:///kept/other.db"):
        assert "is no file: name a ledger's copy" in refused("ledger", "verify", "--ledger", place)
    assert "ledger must be a file" in refused("ledger", "verify", "--ledger", "mysql://a/b")


def test_a_backup_waits_for_whoever_writes(run: Run, here: Path) -> None:
    """A backup during a write is a valid ledger, with or without the new row."""
    configure(here)
    ask(run, 1)
    writer = sqlite3.connect(here / "ledger.db", isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    try:
        assert run("ledger", "backup", "kept", "--json").object["rows"] == 3
    finally:
        writer.close()


def test_a_server_is_backed_up_by_its_own_means(refused: Refused, here: Path) -> None:
    """The refusal names `pg_dump`, without the password of the address."""
    (here / "noisycount.toml").write_text('[ledger]\nurl = "postgresql+psycopg://me:secret@db.example/ledger"\n')
    message = refused("ledger", "backup", "kept")
    assert "is on a server" in message
    assert "`pg_dump --format=custom" in message
    assert "secret" not in message
    assert not (here / "kept").exists()
