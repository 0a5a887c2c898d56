"""Records in two tables of a database: they have one budget."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from noisycount.errors import ConfigError
from tests.catalog.conftest import EXACTLY, Asked, Opened
from tests.helpers.commands import Run
from tests.helpers.workbooks import write_workbook

MADE = (
    "CREATE TABLE visits (person INTEGER, age INTEGER)",
    "INSERT INTO visits VALUES (1, 31), (2, 32), (3, 70)",
    "CREATE TABLE staff (person INTEGER, age INTEGER)",
    "CREATE VIEW old AS SELECT person, age FROM visits WHERE age >= 65",
    "CREATE VIEW oldest AS SELECT person, age FROM old WHERE age >= 70",
    "CREATE VIEW hired AS SELECT person, age FROM staff",
)
SHARED = [("visits", "old"), ("old", "visits"), ("visits", "oldest"), ("oldest", "old")]
SEPARATE = [("visits", "staff"), ("old", "hired"), ("hired", "visits")]


def sqlite(path: Path, statements: Sequence[str] = MADE) -> Path:
    """Write a SQLite file."""
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()
    return path


def duck(path: Path, statements: Sequence[str] = MADE) -> Path:
    """Write a DuckDB file."""
    with duckdb.connect(str(path)) as database:
        for statement in statements:
            database.execute(statement)
    return path


@pytest.fixture(params=[sqlite, duck])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Give a file of each engine, with two tables and views of them."""
    path: Path = request.param(tmp_path / "clinic.db")
    return path


@pytest.mark.parametrize(("first", "second"), SHARED)
def test_a_table_and_a_view_of_it_have_one_budget(
    database: Path, opened: Opened, asked: Asked, first: str, second: str
) -> None:
    """The second of them is refused by the name of the first, whether or not it has a name itself."""
    asked(database, "first", unit="person", table=first)
    for is_path in (False, True):
        with pytest.raises(ConfigError, match=r"the records of 'second' are partly those of 'first' .* account = \"fi"):
            opened(database, "second", unit="person", table=second, is_path=is_path)
    assert asked(database, "first", table=first).release("age >= 70", EXACTLY).answer == 1


@pytest.mark.parametrize(("first", "second"), SEPARATE)
def test_tables_without_common_records_have_budgets_of_their_own(
    database: Path, asked: Asked, first: str, second: str
) -> None:
    """A view of one of them is no view of the other."""
    asked(database, "first", unit="person", table=first)
    asked(database, "second", unit="person", table=second)


EVERYONE = "CREATE VIEW everyone AS SELECT person, age FROM visits UNION ALL SELECT person, age FROM staff"


@pytest.mark.parametrize("make", [sqlite, duck])
def test_records_of_two_data_sets_are_not_charged_to_one_of_them(
    make: Callable[..., Path], tmp_path: Path, asked: Asked, opened: Opened
) -> None:
    """A view of both has no budget, under the name of either of them or of its own."""
    path = make(tmp_path / "clinic.db", (*MADE, EVERYONE))
    asked(path, "first", unit="person", table="visits")
    asked(path, "second", unit="person", table="staff")
    with pytest.raises(ConfigError, match=r"'third' are partly those of 'first' and 'second' .* count each by its own"):
        opened(path, "third", unit="person", table="everyone")
    with pytest.raises(
        ConfigError, match=r"the records of 'first' are partly those of 'second' .* one of their budgets"
    ):
        opened(path, "first", unit="person", table="everyone")
    assert asked(path, "first", table="visits").release("age >= 70", EXACTLY).answer == 1


@pytest.mark.parametrize("make", [sqlite, duck])
def test_a_data_set_keeps_the_tables_that_it_named_before(
    make: Callable[..., Path], tmp_path: Path, asked: Asked, opened: Opened
) -> None:
    """Its budget paid for their records, so no other data set may have them."""
    path = make(tmp_path / "clinic.db")
    asked(path, "first", unit="person", table="visits")
    asked(path, "first", unit="person", table="staff")
    for table, shared in (("visits", "are"), ("old", "are partly"), ("staff", "are"), ("hired", "are partly")):
        with pytest.raises(ConfigError, match=f"the records of 'second' {shared} those of 'first'"):
            opened(path, "second", unit="person", table=table)
    assert opened(path, "first", unit="person", table="visits").name == "first"


@pytest.mark.thorough
def test_the_only_table_of_a_file_is_the_same_by_its_name(tmp_path: Path, asked: Asked, opened: Opened) -> None:
    """A file's only table is the same data set with and without its name, also in a workbook."""
    write_workbook(tmp_path / "x.xlsx", {"visits": [["person", "age"], [1, 31]]})
    for path in (sqlite(tmp_path / "x.sqlite", MADE[:2]), duck(tmp_path / "x.duckdb", MADE[:2]), tmp_path / "x.xlsx"):
        asked(path, path.name, unit="person")
        with pytest.raises(ConfigError, match="a second name would be a second budget"):
            opened(path, "other", unit="person", table="visits")
        assert opened(path, str(path), is_path=True, table="visits").name == path.name


@pytest.mark.thorough
def test_data_sets_of_an_older_ledger_keep_their_budgets(
    database: Path, asked: Asked, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two that were written down before anybody compared them go on, and a third is refused."""
    with monkeypatch.context() as patch:
        patch.setattr("noisycount.engines.duckdb.source.DuckDBSource.shares_records", lambda *_, **__: False)
        asked(database, "first", unit="person", table="visits")
        asked(database, "second", unit="person", table="old")
    for name, table in (("first", "visits"), ("second", "old")):
        assert asked(database, name, table=table).release("age >= 70", EXACTLY).answer == 1
    with pytest.raises(ConfigError, match="the records of 'third' are partly those of 'first'"):
        opened(database, "third", unit="person", table="oldest")


def test_a_view_that_cannot_be_read_may_have_any_records(tmp_path: Path, asked: Asked, opened: Opened) -> None:
    """It is taken for one of the same records."""
    odd = "CREATE VIEW odd AS SELECT value AS person FROM json_each('[1]')"
    path = sqlite(tmp_path / "x.db", (*MADE, odd))
    asked(path, "first", unit="person", table="visits")
    with pytest.raises(ConfigError, match="the records of 'second' are partly those of 'first'"):
        opened(path, "second", unit="person", table="odd")


def test_views_are_followed_within_their_own_schema(run: Run, tmp_path: Path) -> None:
    """Two data sets of one DuckDB file, each schema of which has a table of the same name."""
    tables = ("CREATE SCHEMA s", "CREATE TABLE s.visits AS SELECT person, age + 1 AS age FROM visits")
    duck(tmp_path / "clinic.db", (*MADE[:2], *tables, "CREATE VIEW s.old AS SELECT person, age FROM visits"))

    def counted(first: str, second: str) -> str:
        stated = [
            f'[datasets.{name}]\nsource = "clinic.db"\ntable = "{table}"\nunit = "person"\nbudget = 9'
            for name, table in (("first", first), ("second", second))
        ]
        ledger = f'[ledger]\nurl = "sqlite:///{first}-{second}.db"'
        (tmp_path / "noisycount.toml").write_text("\n".join([ledger, *stated]), encoding="utf-8")
        asked = [run("count", name, "--where", "age > 0", "--epsilon", "1") for name in ("first", "second")]
        assert asked[0].status == 0, asked[0].errors
        return asked[1].errors

    assert "partly those of 'first'" in counted("s.old", "s.visits")
    assert "partly those of 'first'" in counted("s.visits", "s.old")
    assert counted("visits", "s.old") == ""
