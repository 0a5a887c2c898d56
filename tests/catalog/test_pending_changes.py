"""Changes of a database that are in the log beside its file: no count leaves them out."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from noisycount.catalog.catalog import ROW
from noisycount.config.config import DatasetConfig
from noisycount.engines.places import files_of
from noisycount.errors import SourceError
from noisycount.ledger.budget import budget_of
from tests.catalog.conftest import EXACTLY, Asked
from tests.helpers.commands import Run
from tests.helpers.service_callers import calling, configured, problem, serving

PENDING = r"has changes that are still in 'visits.db-wal': close the program that writes the file"
CHANGED = "'visits.db' changed while it was open: open it again"


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """Give a SQLite file of 3 rows, whose changes go into a log first."""
    path = tmp_path / "visits.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode=wal")
        writer.execute("CREATE TABLE visits (age INTEGER)")
        writer.executemany("INSERT INTO visits VALUES (?)", [(age,) for age in (31, 32, 70)])
        writer.commit()
    return path


@pytest.fixture
def writer(visits: Path) -> Iterator[sqlite3.Connection]:
    """Give a program that has the file open."""
    with closing(sqlite3.connect(visits)) as writer:
        yield writer


def write(writer: sqlite3.Connection) -> None:
    """Add 97 rows, which no checkpoint brings into the file."""
    writer.executemany("INSERT INTO visits VALUES (?)", [(80,)] * 97)
    writer.commit()


def test_a_desk_counts_no_sqlite_file_with_pending_changes(
    visits: Path, writer: sqlite3.Connection, asked: Asked
) -> None:
    """An open desk and a new one are refused although a copy of the earlier content exists."""
    desk = asked(visits, unit="row")
    assert desk.release("age >= 65", EXACTLY).answer == 1
    write(writer)
    with pytest.raises(SourceError, match=CHANGED):
        desk.release("age >= 66", EXACTLY)
    with pytest.raises(SourceError, match=PENDING):
        asked(visits).release("age >= 67", EXACTLY)
    writer.close()  # a checkpoint
    assert asked(visits).release("age >= 65", EXACTLY).answer == 98


def test_a_link_to_a_sqlite_file_has_the_changes_of_the_file(
    visits: Path, writer: sqlite3.Connection, asked: Asked
) -> None:
    """SQLite and DuckDB write the log beside the file, never beside the link."""
    link = visits.with_name("link.db")
    link.symlink_to(visits)
    assert asked(link, unit="row").release("age >= 65", EXACTLY).answer == 1
    write(writer)
    assert files_of(link) == (link, visits.with_name("visits.db-wal"))
    with pytest.raises(SourceError, match=PENDING):
        asked(link).release("age >= 66", EXACTLY)


def test_a_link_that_leads_to_another_file_is_another_content(visits: Path, tmp_path: Path, asked: Asked) -> None:
    """An open desk notices it too."""
    other, link = tmp_path / "other.db", tmp_path / "link.db"
    shutil.copy2(visits, other)
    with closing(sqlite3.connect(other)) as writer:
        writer.execute("INSERT INTO visits VALUES (90)")
        writer.commit()
    link.symlink_to(visits)
    desk = asked(link, unit="row")
    assert desk.release("age >= 65", EXACTLY).answer == 1
    link.unlink()
    link.symlink_to(other)
    with pytest.raises(SourceError, match=r"'link\.db' changed while it was open"):
        desk.release("age >= 66", EXACTLY)
    assert asked(link).release("age >= 65", EXACTLY).answer == 2


def test_a_desk_counts_no_sqlite_file_in_the_middle_of_a_transaction(tmp_path: Path, asked: Asked) -> None:
    """Pages of a transaction that is not committed may be in the file, and its journal would undo them."""
    path = tmp_path / "visits.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("CREATE TABLE visits (age INTEGER)")
        writer.execute("INSERT INTO visits VALUES (70)")
        writer.commit()
        desk = asked(path, unit="row")
        assert desk.release("age >= 65", EXACTLY).answer == 1
        writer.execute("UPDATE visits SET age = 20")
        with pytest.raises(SourceError, match=CHANGED):
            desk.release("age >= 66", EXACTLY)
        with pytest.raises(SourceError, match=PENDING.replace("wal", "journal")):
            asked(path).release("age >= 66", EXACTLY)
        writer.rollback()
        assert asked(path).release("age >= 66", EXACTLY).answer == 1


def test_a_log_without_changes_is_no_hindrance(visits: Path, writer: sqlite3.Connection, asked: Asked) -> None:
    """A program that only has the file open leaves an empty log beside it."""
    writer.execute("SELECT * FROM visits").fetchall()
    assert visits.with_name("visits.db-wal").stat().st_size == 0
    assert asked(visits, unit="row").release("age >= 65", EXACTLY).answer == 1


def test_the_log_of_a_duckdb_file_is_counted(tmp_path: Path, asked: Asked) -> None:
    """DuckDB reads its log with the file; so the log is a part of the content, also behind a link."""
    path, link = tmp_path / "visits.duckdb", tmp_path / "link.duckdb"
    with duckdb.connect(str(path)) as writer:
        writer.execute("CREATE TABLE visits AS SELECT 70 AS age FROM range(3)")
    link.symlink_to(path)
    desk = asked(link, unit="row")
    assert desk.release("age >= 65", EXACTLY).answer == 3
    desk.source.close()
    with duckdb.connect(str(path)) as writer:
        writer.execute("PRAGMA disable_checkpoint_on_shutdown")
        writer.execute("INSERT INTO visits SELECT 80 FROM range(97)")
    assert files_of(link) == (link, path.with_name("visits.duckdb.wal"))
    assert asked(link).release("age >= 65", EXACTLY).answer == 100


def test_a_command_counts_no_sqlite_file_with_pending_changes(
    visits: Path, writer: sqlite3.Connection, run: Run
) -> None:
    """The refusal is one line, and nothing is charged."""
    question = ["count", str(visits), "--unit", "row", "--epsilon", "1/2", "--where"]
    for age in (63, 64):  # the second count reads the copy
        assert run(*question, f"age >= {age}").status == 0
    write(writer)
    told = run(*question, "age >= 65")
    assert (told.status, told.output, len(told.errors.splitlines())) == (4, "", 1)
    assert "has changes that are still in 'visits.db-wal'" in told.errors


def test_a_service_counts_no_sqlite_file_with_pending_changes(
    visits: Path, writer: sqlite3.Connection, tmp_path: Path
) -> None:
    """A service that is open for long notices the log at the next count, and charges nothing for it."""
    plain = configured(tmp_path)
    stay = DatasetConfig("stay", visits, unit=ROW, budget=budget_of("2"))
    with serving(replace(plain, datasets={"stay": stay})) as state:
        caller = calling(state)
        assert caller.ask({"where": "age >= 65", "epsilon": "1/2"}, "one").status_code == 201
        write(writer)
        reply = caller.ask({"where": "age >= 66", "epsilon": "3/2"}, "two")
        assert problem(reply) == (503, "records")
        writer.close()
        assert caller.ask({"where": "age >= 66", "epsilon": "3/2"}, "three").status_code == 201
