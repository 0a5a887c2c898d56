"""Properties of files only: formats, types, paths, locks, and messages without values.

Tests of `engines/duckdb/relation.py`.
"""

import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest

from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.errors import SourceError
from noisycount.query.language import parse
from noisycount.query.schema import Kind
from tests.helpers.sources import database, write_parquet, writing

CANARY = "canary-7c1"
SLOW = " or ".join(f"note like '%_{letter}%_b%'" for letter in "cdefghijklmnopqrst")
PATHS = 'it\'s|say "x"|a b|a*b|*|a?b|[!a]|a[x]b|c]|d[|year=1|%20|~x|{a,b}|a;b|s3:|é'


def counts(path: Path, *texts: str, **options: object) -> list[int]:
    """The counts of some predicates in a file."""
    with DuckDBSource.open(path, **options) as source:
        return source.count([parse(text, source.schema) for text in texts])


def write_notes(path: Path, size: int) -> Path:
    """A file of so many notes, about which `SLOW` takes long."""
    with writing().cursor() as connection:
        notes = f"SELECT repeat('ab', 50) || i AS note, i % 7 AS k FROM range({size}) t(i)"  # noqa: S608 - our own number
        connection.execute(f"COPY ({notes}) TO '{path}'")
    return path


def write_csv(folder: Path, text: str | bytes, name: str = "records.csv") -> Path:
    """A CSV file with that content."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def write_database(folder: Path, *statements: str) -> Path:
    """A DuckDB file made by those statements."""
    path = folder / "records.duckdb"
    with database(path) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


@pytest.fixture(params=["csv", "pq", "PARQUET", "duckdb", "db", "ddb"])
def any_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The ages 31, 29 and 31 in a file of each known extension."""
    path = tmp_path / f"records.{request.param}"
    if request.param == "csv":
        path.write_text("person,age\n1,31\n2,29\n2,31\n")
    elif request.param in ("pq", "PARQUET"):
        records = [{"person": 1, "age": 31}, {"person": 2, "age": 29}, {"person": 2, "age": 31}]
        write_parquet(path, records, {"person": Kind.INTEGER, "age": Kind.INTEGER})
    else:
        with database(path) as connection:
            connection.execute("CREATE TABLE t AS FROM (VALUES (1, 31), (2, 29), (2, 31)) t(person, age)")
    return path


def test_every_known_extension_counts(any_file: Path) -> None:
    """CSV, Parquet and DuckDB files give the same counts."""
    assert counts(any_file, "age = 31", "age < 30", "true") == [2, 1, 3]
    assert counts(any_file, "age = 31", "age < 30", unit="person") == [2, 1]


def test_file_with_no_column_for_questions_still_counts_everybody(tmp_path: Path) -> None:
    """A file of persons alone can be asked how many they are."""
    path = write_csv(tmp_path, "person\n1\n1\n2\n")
    assert counts(path, "true", "false", unit="person") == [2, 0]
    assert counts(path, "true", columns=[]) == [3]


@pytest.mark.thorough
def test_table_of_a_duckdb_file_must_be_named_among_several(tmp_path: Path) -> None:
    """A single table needs no name; among several tables and views the name decides."""
    path = write_database(tmp_path, "CREATE TABLE ages AS SELECT 31 AS age")
    assert counts(path, "age = 31") == [1]
    assert counts(path, "age = 31", table="ages") == [1]
    with database(path) as connection:
        connection.execute("CREATE VIEW seen AS SELECT age + 1 AS next FROM ages")
        connection.execute("CREATE SCHEMA s")
        connection.execute('CREATE TABLE s."a ""b" AS SELECT 32 AS age')
    with pytest.raises(
        SourceError, match=r"has 3 tables \('ages', .*: state the one with the records, by --table .*, or by table"
    ):
        DuckDBSource.open(path)
    with pytest.raises(SourceError, match="got 'age': use 'ages'"):
        DuckDBSource.open(path, table="age")
    assert counts(path, "age = 32", table='s.a "b') == [1]
    assert counts(path, "next = 32", table="seen") == [1]


def test_a_view_of_a_duckdb_file_is_computed_once(tmp_path: Path) -> None:
    """At its opening: later no question can meet a cell that is another, or none at all."""
    raw = "CREATE TABLE raw AS SELECT range AS who, range::VARCHAR AS w FROM range(999)"
    view = "CREATE VIEW v AS SELECT who, w::INT AS weight, who % 2 = 0 AS chance FROM raw"
    path = write_database(tmp_path, raw, view)
    with DuckDBSource.open(path, table="v", unit="who") as source:
        chance = parse("chance", source.schema)
        assert source.count([chance]) == source.count([chance])
        assert source.check().rows == 999
    with database(path) as connection:
        connection.execute("INSERT INTO raw VALUES (7, 'canary')")
    for columns in (None, ["weight"]):
        with pytest.raises(SourceError, match="table names a view whose cells cannot all") as told:
            DuckDBSource.open(path, table="v", columns=columns)
        assert told.value.__context__ is None
    assert counts(path, "chance is null", table="v", columns=["chance"]) == [0]


def test_generated_column_counts_as_any_other(tmp_path: Path) -> None:
    """DuckDB checks a column's formula when a record comes in, so it cannot fail at a count."""
    table = "CREATE TABLE t (name VARCHAR, number AS (CAST(name AS INTEGER)))"
    path = write_database(tmp_path, table, "INSERT INTO t VALUES ('31')")
    assert counts(path, "number = 31") == [1]
    with duckdb.connect(str(path)) as connection, pytest.raises(duckdb.Error):
        connection.execute("INSERT INTO t VALUES ('thirty')")


def test_two_sources_of_one_duckdb_file_count_side_by_side(tmp_path: Path) -> None:
    """Reading does not lock other readers out."""
    path = write_database(tmp_path, "CREATE TABLE t AS SELECT 31 AS age")
    with DuckDBSource.open(path) as first, DuckDBSource.open(path) as second:
        question = parse("age = 31", first.schema)
        assert first.count([question]) == second.count([question]) == [1]


@pytest.mark.few(12)
@pytest.mark.parametrize("name", PATHS.split("|"))
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".duckdb"])
def test_path_is_taken_literally(tmp_path: Path, name: str, suffix: str) -> None:
    """Quotes, spaces and patterns in a path are characters, though other files would match them."""
    folder = tmp_path / name
    folder.mkdir()
    for other in ("axb", "a", "xyz"):
        (folder / f"{other}{suffix}").write_text("age\n1\n2\n")
    path = folder / f"{name}{suffix}"
    if suffix == ".csv":
        path.write_text("age\n31\n")
    elif suffix == ".parquet":
        write_parquet(path, [{"age": 31}], {"age": Kind.INTEGER})
    else:
        write_database(tmp_path, "CREATE TABLE t AS SELECT 31 AS age").rename(path)
    with DuckDBSource.open(path) as source:
        assert set(source.schema) == {"age"}
        assert source.count([parse("age = 31", source.schema), parse("true", source.schema)]) == [1, 1]


def test_relative_path_and_link_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path counts from the working directory, and a link stands for its target."""
    write_parquet(tmp_path / "blob", [{"age": 31}], {"age": Kind.INTEGER})
    (tmp_path / "link.parquet").symlink_to(tmp_path / "blob")
    monkeypatch.chdir(tmp_path)
    assert counts(Path("link.parquet"), "age = 31") == [1]


def broken(tmp_path: Path, name: str, content: bytes = CANARY.encode()) -> Path:
    """A file of a known extension with unknown content."""
    path = tmp_path / name
    path.write_bytes(content)
    return path


def reals(tmp_path: Path) -> Path:
    """A Parquet file of one number."""
    path = tmp_path / "x.parquet"
    write_parquet(path, [{"a": 1.5}], {"a": Kind.REAL})
    return path


def empty_folder(tmp_path: Path) -> Path:
    """A folder with a known extension, which is no file."""
    path = tmp_path / "x.parquet"
    path.mkdir()
    return path


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (lambda folder: folder / "none.csv", {}, "does not exist"),
        (lambda folder: folder / "none" / "x.csv", {}, "does not exist"),
        (lambda folder: folder / "nul\0.csv", {}, "cannot be read"),
        (lambda folder: folder / "\udcff.csv", {}, "does not exist"),
        (lambda folder: broken(folder, "x.txt"), {}, "unknown extension '.txt': use .csv"),
        (lambda folder: broken(folder, "x"), {}, "unknown extension ''"),
        (lambda folder: broken(folder, "x.parquet"), {}, "cannot be read as Parquet"),
        (lambda folder: broken(folder, "x.duckdb"), {}, "no database of DuckDB or SQLite"),
        (lambda folder: broken(folder, "x.duckdb", b""), {}, "no database of DuckDB or SQLite, but empty"),
        (lambda folder: broken(folder, "x.parquet", b""), {}, "cannot be read as Parquet"),
        (lambda folder: broken(folder, "x.csv", b""), {}, "is empty: check that it was exported"),
        (lambda folder: write_csv(folder, f"{CANARY}\0{CANARY}"), {}, "a NUL character"),
        (lambda folder: write_csv(folder, "\n1\n"), {}, "no names of columns: write them"),
        (lambda folder: write_csv(folder, "a\n1\n"), {"table": "a"}, "only databases and workbooks have several"),
        (lambda folder: write_csv(folder, "a\n1\n"), {"unit": "b"}, "use 'a'"),
        (lambda folder: write_csv(folder, "a\n1\n"), {"columns": ["b"]}, "use 'a'"),
        (lambda folder: write_csv(folder, "a,b\n1,2\n,3\n"), {"unit": "a"}, "has missing values"),
        (lambda folder: broken(folder, "a\\b.csv", b"a\n1\n"), {}, "rename it"),
        (
            lambda folder: write_csv(folder, "a\n1\n"),
            {"kinds": {"b": Kind.INTEGER}},
            "kinds names 'b', which is no column",
        ),
        (reals, {"kinds": {"a": Kind.INTEGER}}, "leave 'a' out of kinds"),
        (reals, {"kinds": {"a": ColumnFormat(Kind.REAL, decimal=",")}}, "leave 'a' out of kinds"),
        (reals, {"kinds": {"b": Kind.REAL}}, "kinds names 'b', which is no column: use 'a'"),
        (reals, {"kinds": {"a": ColumnFormat(Kind.REAL, nan="missing")}, "unit": "a"}, "that is not the unit"),
        (write_database, {}, "has no table"),
        (empty_folder, {}, "contains no Parquet file: check its path"),
    ],
)
def test_file_that_cannot_be_counted_is_refused_at_opening(
    tmp_path: Path, make: Callable[[Path], Path], options: dict[str, str], words: str
) -> None:
    """Each refusal is one line of our own with its remedy, and shows no content."""
    with pytest.raises(SourceError) as caught:
        DuckDBSource.open(make(tmp_path), **options)
    assert words in str(caught.value)
    assert str(caught.value).isprintable()
    assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_missing_unit_in_the_last_of_many_row_groups_is_found(tmp_path: Path) -> None:
    """A single record without a person refuses the file, whatever its row group."""
    path = tmp_path / "x.parquet"
    with writing().cursor() as connection:
        connection.sql("SELECT CASE WHEN i < 9999 THEN i END AS person FROM range(10000) t(i)").write_parquet(
            str(path), row_group_size=2048
        )
    with pytest.raises(SourceError, match="has missing values"):
        DuckDBSource.open(path, unit="person")


def test_file_that_changes_while_open_is_not_counted(tmp_path: Path) -> None:
    """A count belongs to the version of the records that the source states."""
    path = tmp_path / "x.parquet"
    write_parquet(path, [{"age": 31}], {"age": Kind.INTEGER})
    with DuckDBSource.open(path) as source:
        question = parse("age = 31", source.schema)
        assert source.count([question]) == [1]
        write_parquet(path, [{"age": 31}, {"age": 32}], {"age": Kind.INTEGER})
        with pytest.raises(SourceError, match="changed while it was open"):
            source.count([question])
        path.unlink()
        with pytest.raises(SourceError, match="cannot be counted"):
            source.count([question])
    with pytest.raises(SourceError, match="does not exist"):
        DuckDBSource.open(path)


def test_a_cell_that_cannot_be_read_is_found_at_opening(tmp_path: Path) -> None:
    """A question that fails later would tell that the record is there."""
    path = tmp_path / "x.parquet"
    with writing().cursor() as connection:
        notes = connection.sql("SELECT i AS age, 'ZQZQZQZQ' || i AS note FROM range(100) t(i)")
        notes.write_parquet(str(path), compression="uncompressed")
    whole = path.read_bytes()
    assert whole.count(b"ZQZQZQZQ57") == 1
    path.write_bytes(whole.replace(b"ZQZQZQZQ57", b"ZQ\xff\xfeZQZQ57"))
    with pytest.raises(SourceError, match="cannot be read as Parquet: check that the file"):
        DuckDBSource.open(path)
    assert counts(path, "age = 57", columns=["age"]) == [1]


@pytest.mark.thorough
def test_a_source_is_closed_while_it_is_counted(tmp_path: Path) -> None:
    """Nothing waits for the count, which is given up in our own words."""
    source = DuckDBSource.open(write_notes(tmp_path / "x.parquet", 2_000_000))
    question = parse(SLOW, source.schema)
    with ThreadPoolExecutor(1) as pool:
        counting = pool.submit(source.count, [question])
        while not source.cursors.is_busy:
            time.sleep(0.001)
        begun = time.process_time() + 0.1  # what has not begun cannot be interrupted
        while time.process_time() < begun and not counting.done():
            time.sleep(0.01)
        source.close()
        with pytest.raises(SourceError, match=r"not closed meanwhile|the records are closed"):
            counting.result(timeout=60)
    for action in (lambda: source.count([question]), source.require_unchanged):
        with pytest.raises(SourceError, match="the records are closed: open the source again"):
            action()


def test_engine_errors_while_counting_show_no_cell(tmp_path: Path) -> None:
    """A column whose content no longer fits its type fails in our own words."""
    path = tmp_path / "x.parquet"
    write_parquet(path, [{"age": 31}], {"age": Kind.INTEGER})
    with DuckDBSource.open(path) as source:
        write_parquet(path, [{"age": CANARY}], {"age": Kind.TEXT})
        with pytest.raises(SourceError, match="cannot be counted") as caught:
            source.count([parse("age = 31", source.schema)])
    assert caught.value.__context__ is None
    assert CANARY not in "".join(traceback.format_exception(caught.value))


ATTACKS = [
    *("SELECT * FROM read_text('{secret}')", "SELECT * FROM read_blob('{secret}')"),
    *("SELECT * FROM read_csv('{secret}')", "SELECT * FROM sniff_csv('{secret}')", "SELECT * FROM '{secret}'"),
    *("SELECT * FROM glob('{folder}/*')", "SELECT * FROM read_parquet('{folder}/*.parquet')"),
    *("SELECT * FROM read_parquet('{folder}/other.parquet')", "ATTACH '{folder}/new.duckdb'"),
    *("COPY (SELECT 1) TO '{folder}/stolen.csv'", "EXPORT DATABASE '{folder}/stolen'", "IMPORT DATABASE '{folder}'"),
    *("INSTALL httpfs", "LOAD httpfs", "SELECT * FROM duckdb_secrets()", "SELECT * FROM secret_of_python"),
    *("SET enable_external_access = true", "SET lock_configuration = false", "RESET lock_configuration"),
    *("SET allowed_paths = ['{secret}']", "SET temp_directory = '{folder}'", "SET threads = 1"),
    *("SET disabled_optimizers = ''", "PRAGMA enable_profiling = 'json'"),
]


def test_locked_connection_reads_and_writes_nothing_else(any_file: Path) -> None:
    """Even SQL that no predicate can give finds the second wall, and leaves no file."""
    folder = any_file.parent
    (folder / "secret.csv").write_text(f"secret\n{CANARY}\n")
    write_parquet(folder / "other.parquet", [{"age": 1}], {"age": Kind.INTEGER})
    secret_of_python = duckdb.sql("SELECT 1 AS x")
    before = sorted(folder.iterdir())
    with DuckDBSource.open(any_file) as source:
        for attack in ATTACKS:
            with pytest.raises(duckdb.Error):
                source.cursors.connection.execute(attack.format(folder=folder, secret=folder / "secret.csv"))
            assert sorted(folder.iterdir()) == before, attack
    assert secret_of_python.columns == ["x"]


def test_each_lock_is_set(any_file: Path) -> None:
    """Locks that stand behind another lock are set as well; nothing private spills to a disk."""
    locks = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "python_enable_replacements": False,
        "temp_directory": "",
        "enable_external_access": False,
        "lock_configuration": True,
    }
    with DuckDBSource.open(any_file) as source:
        for setting, value in locks.items():
            assert source.cursors.connection.execute(f"SELECT current_setting('{setting}')").fetchall() == [(value,)], (
                setting
            )


def test_plan_does_not_depend_on_the_values(tmp_path: Path) -> None:
    """The engine reads as much whether or not a record could match, so time tells nothing."""
    plans = []
    for name, offset in (("low.parquet", 0), ("top.parquet", 500)):
        records = [{"age": offset + n, "person": n} for n in range(100)]
        path = tmp_path / name
        write_parquet(path, records, {"age": Kind.INTEGER, "person": Kind.INTEGER})
        with DuckDBSource.open(path) as source:
            plan = source.cursors.connection.execute(
                "EXPLAIN SELECT count(CASE WHEN age > 300 THEN 1 END) FROM records"
            ).fetchall()
            plans.append(plan[0][1].replace(name, ""))
    assert plans[0] == plans[1]
    assert "300" in plans[0]


@pytest.mark.parametrize("unit", [None, "person"])
def test_files_without_records_count_none(tmp_path: Path, unit: str | None) -> None:
    """A refusal would tell an empty table from one with a single record."""
    kinds = {"person": Kind.INTEGER, "age": Kind.INTEGER}
    table = write_database(tmp_path, "CREATE TABLE t (person INTEGER, age INTEGER)")
    assert counts(table, "true", "age = 1", unit=unit) == [0, 0]
    header = write_csv(tmp_path, "person,age\n")
    assert counts(header, "true", "age = 1", unit=unit, kinds=kinds) == [0, 0]
    assert counts(header, "true", "age = 'x'", unit=unit) == [0, 0]


def first_answer(source: DuckDBSource, text: str) -> int:
    """The count of a predicate, asked until it is not given up: a machine may be busy."""
    while True:
        with suppress(SourceError):
            (count,) = source.count([parse(text, source.schema)])
            return count


@pytest.mark.thorough
def test_a_count_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    """The engine stops, says nothing of its own, and counts again."""
    path = write_notes(tmp_path / "x.parquet", 1_000_000)
    with DuckDBSource.open(path, seconds=0.05) as source:
        with pytest.raises(SourceError, match="cannot be counted"):
            source.count([parse(SLOW, source.schema)])
        assert first_answer(source, "false") == 0


def test_a_file_that_is_read_in_another_way_has_another_version(tmp_path: Path) -> None:
    """An old answer about one table, or about texts, is none about another, or about numbers."""
    database = write_database(tmp_path, "CREATE TABLE a (x INT)", "CREATE TABLE b (x INT)")
    text = write_csv(tmp_path, "x\n1\n")
    ways = [
        (database, {"table": "a"}),
        (database, {"table": "b"}),
        (text, {"kinds": {"x": Kind.TEXT}}),
        (text, {"kinds": {"x": Kind.INTEGER}}),
        (text, {"kinds": {"x": Kind.REAL}}),
        (text, {"form": FileFormat(encoding="cp1252")}),
        (text, {"form": FileFormat(encoding="cp437")}),
        (text, {"form": FileFormat(delimiter="|")}),
    ]
    versions = []
    for path, options in ways:
        with DuckDBSource.open(path, **options) as source:
            versions.append(source.version)
    assert len(set(versions)) == len(versions)
