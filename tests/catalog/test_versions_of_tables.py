"""Versions of data sets of several tables: changed files, top-ups, copies, and records of other data sets.

Tests of `catalog/tables.py`.
"""

import sqlite3
from pathlib import Path

import duckdb
import pytest

import noisycount as nc
from noisycount.errors import ConfigError, NoisyCountError, SourceError
from noisycount.query.schema import Kind
from tests.helpers.commands import Run
from tests.helpers.postgresql import Server
from tests.helpers.server_tables import table_of
from tests.helpers.workbooks import write_workbook

WHERE = "any(visits.cost >= 10) or any(notes.word = 'fall')"
HEAD = '[datasets.clinic]\nunit = "patient"\nbudget = "1000"\n'
TABLES = """[datasets.clinic.tables]
patients = { source = "patients.csv", one_row_a_unit = true }
visits = { source = "visits.csv" }
notes = { source = "notes.csv", through = "visits.visit_id" }
wards = { source = "wards.csv", public = true, on = "visits.ward" }
"""
FILES = {
    "patients": "patient,sex\na,F\nb,M\nc,F\n",
    "visits": "patient,visit_id,ward,cost\na,1,W1,5\na,2,W2,20\nb,3,W1,7\nc,4,W2,1\n",
    "notes": "visit_id,word\n3,fall\n4,home\n",
    "wards": "ward,name\nW1,ICU\nW2,surgery\n",
}


@pytest.fixture
def clinic(here: Path) -> Path:
    """Write the tables and their configuration into the current folder."""
    for name, text in FILES.items():
        (here / f"{name}.csv").write_text(text, encoding="utf-8")
    (here / "noisycount.toml").write_text(HEAD + TABLES, encoding="utf-8")
    return here


def paid(where: str = WHERE, epsilon: int = 50) -> tuple[int, float]:
    """Ask a question at a high price, and return the answer and the price that was charged."""
    with nc.open_desk("clinic") as desk:
        before = float(desk.remaining)
        release = desk.release(where, epsilon=epsilon)
        return release.answer, before - float(release.remaining)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("table", "row", "answer"),
    [("patients", "d,F\n", 2), ("visits", "c,5,W1,30\n", 3), ("notes", "4,fall\n", 3), ("wards", "W3,labour\n", 2)],
)
def test_a_changed_file_of_any_table_makes_a_new_question(clinic: Path, table: str, row: str, answer: int) -> None:
    """An unchanged question is free, and costs the difference at a higher price; a changed table asks anew."""
    assert paid() == (2, 50)
    assert paid() == (2, 0)
    assert paid(epsilon=60) == (2, 10)
    with (clinic / f"{table}.csv").open("a", encoding="utf-8") as file:
        file.write(row)
    assert paid(epsilon=60) == (answer, 60)
    (clinic / f"{table}.csv").write_text(FILES[table], encoding="utf-8")
    assert paid(epsilon=60) == (2, 0)


@pytest.mark.thorough
def test_other_tables_and_other_persons_ask_anew(clinic: Path) -> None:
    """A further table, another table of persons and another link are other records."""
    assert paid() == (2, 50)
    (clinic / "labs.csv").write_text("patient,value\nd,1\n", encoding="utf-8")
    (clinic / "noisycount.toml").write_text(f'{HEAD}{TABLES}labs = {{ source = "labs.csv" }}\n', encoding="utf-8")
    assert paid() == (2, 50)
    assert paid("none(visits)") == (1, 50)
    text = f'{HEAD}persons = "patients"\n{TABLES}labs = {{ source = "labs.csv" }}\n'
    (clinic / "noisycount.toml").write_text(text, encoding="utf-8")
    assert paid("none(visits)") == (0, 50)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("former", "stated", "answer"),
    [
        ("", ', unit = "sister"', 2),
        (', unit = "sister"', "", 1),
        (', through = "visits.ward", key = "text"', ', unit = "sister"', 2),
        (', through = "visits.ward", key = "text"', "", 1),
        (', public = true, on = "visits.visit_id", key = "number"', "", 1),
        ("", ', through = "visits.visit_id", key = "number"', 3),
    ],
)
def test_another_column_of_persons_of_a_table_is_counted(clinic: Path, former: str, stated: str, answer: int) -> None:
    """An owner who corrects whose rows a table has asks anew, about the persons that the table now states."""
    (clinic / "letters.csv").write_text(
        "patient,sister,text,number\na,b,sad,2\nb,c,glad,1\nb,a,glad,3\nb,a,glad,4\n", encoding="utf-8"
    )
    letters = f'{HEAD}{TABLES}letters = {{ source = "letters.csv"'
    (clinic / "noisycount.toml").write_text(f"{letters}{former} }}\n", encoding="utf-8")
    assert paid("any(letters.text = 'glad')")[1] == 50
    (clinic / "noisycount.toml").write_text(f"{letters}{stated} }}\n", encoding="utf-8")
    assert paid("any(letters.text = 'glad')") == (answer, 50)


@pytest.mark.thorough
def test_a_copy_of_a_table_has_no_budget_of_its_own(clinic: Path, run: Run) -> None:
    """A table of persons, and its earlier content, belongs to the data set of the tables."""
    assert paid()[1] == 50
    (clinic / "copy.csv").write_text(FILES["visits"], encoding="utf-8")
    for name in ("copy.csv", "visits.csv"):
        refusal = run("count", name, "--unit", "patient", "--epsilon", "1")
        assert refusal.status != 0
        assert len(refusal.errors.splitlines()) == 1
        assert "clinic" in refusal.errors
    with (clinic / "visits.csv").open("a", encoding="utf-8") as file:
        file.write("c,5,W1,30\n")
    assert paid()[1] == 50
    earlier = run("count", "copy.csv", "--unit", "patient", "--epsilon", "1")
    assert (earlier.status != 0, "clinic" in earlier.errors) == (True, True)
    assert run("count", "wards.csv", "--unit", "row", "--epsilon", "1").status == 0


@pytest.mark.thorough
def test_a_data_set_of_one_source_keeps_its_content_as_a_table(clinic: Path, run: Run) -> None:
    """The earlier content of a data set that now has tables stays known, so that no copy of it has a budget."""
    one = HEAD + 'source = "visits.csv"\n'
    (clinic / "noisycount.toml").write_text(one, encoding="utf-8")
    assert paid("cost >= 10") == (1, 50)
    (clinic / "copy.csv").write_text(FILES["visits"], encoding="utf-8")
    with (clinic / "visits.csv").open("a", encoding="utf-8") as file:
        file.write("c,5,W1,30\n")
    (clinic / "noisycount.toml").write_text(HEAD + TABLES, encoding="utf-8")
    assert paid() == (3, 50)
    refusal = run("count", "copy.csv", "--unit", "patient", "--epsilon", "1")
    assert (refusal.status != 0, "clinic" in refusal.errors) == (True, True)


@pytest.mark.thorough
def test_private_records_are_no_public_look_up(here: Path, clinic: Path, postgresql: Server) -> None:
    """A look-up of the visits themselves would let the row of one person change the counts of others."""
    (clinic / "earlier.csv").write_text(FILES["visits"], encoding="utf-8")
    for source in ("visits.csv", "earlier.csv"):
        look_up = f'earlier = {{ source = "{source}", public = true, on = "visits.cost", key = "visit_id" }}\n'
        (clinic / "noisycount.toml").write_text(f"{HEAD}{TABLES}{look_up}", encoding="utf-8")
        with pytest.raises(ConfigError, match="look-up 'earlier' has records of 'visits', which are private"):
            paid()
    place = table_of(postgresql, [{"patient": "a", "visit": 1}], {"patient": Kind.TEXT, "visit": Kind.INTEGER})
    with postgresql.shell("postgres") as shell:
        shell.execute(f"CREATE VIEW {place.table}_view AS SELECT visit FROM {place.table}".encode())  # noqa: S608
    stays = f'stays = {{ source = "{place.url}#{place.table}" }}\n'
    look_up = f'view = {{ source = "{place.url}#{place.table}_view", public = true, on = "stays.visit" }}\n'
    text = f"{HEAD}[datasets.clinic.tables]\n{stays}{look_up}"
    (here / "noisycount.toml").write_text(text.replace("clinic", "stays"), encoding="utf-8")
    with pytest.raises(ConfigError, match="look-up 'view' has records of 'stays'"), nc.open_desk("stays") as desk:
        desk.release(epsilon=1)


@pytest.mark.thorough
def test_an_edition_of_a_table_is_never_set_back(here: Path, postgresql: Server) -> None:
    """Under editions a higher price costs the difference; records may have changed since an earlier edition."""
    kinds = {"patient": Kind.TEXT, "cost": Kind.INTEGER}
    places = [table_of(postgresql, [{"patient": "a", "cost": 20}], kinds) for _ in range(2)]

    def configure(*editions: str) -> None:
        tables = (
            f'{name} = {{ source = "{place.url}#{place.table}"{edition} }}\n'
            for name, place, edition in zip(("visits", "stays"), places, editions, strict=True)
        )
        text = f"{HEAD}[datasets.clinic.tables]\n{''.join(tables)}"
        (here / "noisycount.toml").write_text(text, encoding="utf-8")

    where = "any(visits.cost = 20) and any(stays)"
    first, second, none = ', edition = "1"', ', edition = "2"', ""
    configure(first, first)
    assert paid(where) == (1, 50)
    with nc.open_desk("clinic") as earlier:
        configure(first, second)
        assert paid(where, 60) == (1, 60)
        assert paid(where, 70) == (1, 10)
        with pytest.raises(ConfigError, match="edition 'visits 1, stays 1' was followed by another"):
            earlier.release(where, epsilon=70)
    configure(first, none)
    assert [paid(where, price) for price in (50, 60)] == [(1, 50), (1, 60)]
    for editions in ((first, first), (first, second)):
        configure(*editions)
        with pytest.raises(ConfigError, match="was followed by another"):
            paid(where, 80)


@pytest.mark.thorough
@pytest.mark.parametrize("damage", ["short", "page", "removed"])
def test_a_damaged_or_removed_copy_is_made_again(clinic: Path, damage: str) -> None:
    """The next count reads the file again, and has the same answer."""
    assert paid()[0] == 2
    copies = [*(clinic / "ledger.db.data").glob("*.parquet")]
    assert len(copies) == 4
    for copy in copies:
        content = copy.read_bytes()
        match damage:
            case "short":
                copy.write_bytes(content[:40])
            case "page":
                copy.write_bytes(content[:4] + bytes(60) + content[64:])
            case "removed":
                copy.unlink()
    assert paid(epsilon=60) == (2, 10)
    assert len([*(clinic / "ledger.db.data").glob("*.parquet")]) == 4


@pytest.mark.thorough
def test_a_broken_page_of_one_table_is_refused_before_the_charge(clinic: Path) -> None:
    """A table that cannot be read fails before a debit, in one line without values."""
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT 'p' || range AS patient, range AS visit_id, 'W' || range % 2 AS ward, range AS cost "
            "FROM range(20000)) TO 'visits.parquet' (COMPRESSION zstd)"
        )
    text = (HEAD + TABLES).replace("visits.csv", "visits.parquet")
    (clinic / "noisycount.toml").write_text(text, encoding="utf-8")
    whole = (clinic / "visits.parquet").read_bytes()
    middle = len(whole) // 2
    (clinic / "visits.parquet").write_bytes(whole[:middle] + bytes(200) + whole[middle + 200 :])
    with pytest.raises(NoisyCountError) as caught, nc.open_desk("clinic") as desk:
        desk.release(WHERE, epsilon=50)
    assert isinstance(caught.value, SourceError)
    assert "\n" not in str(caught.value)
    (clinic / "visits.parquet").write_bytes(whole)
    with nc.open_desk("clinic") as desk:
        assert desk.remaining == 1000


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "folders", "workbook"])
def test_tables_of_one_file_or_of_folders(clinic: Path, engine: str) -> None:
    """Tables of a DuckDB or SQLite file, sheets of a workbook, and folders of Parquet files are counted alike."""
    keys = {name: f'source = "{name}.csv"' for name in FILES}
    if engine == "sqlite":
        with duckdb.connect() as connection, sqlite3.connect("all.sqlite") as database:
            for name in FILES:
                relation = connection.read_csv(f"{name}.csv")
                database.execute(f"CREATE TABLE {name} ({', '.join(relation.columns)})")
                marks = ", ".join("?" * len(relation.columns))
                database.executemany(f"INSERT INTO {name} VALUES ({marks})", relation.fetchall())  # noqa: S608
        keys = {name: f'source = "all.sqlite", table = "{name}"' for name in FILES}
    elif engine == "workbook":
        sheets = {
            name: [[int(cell) if cell.isdigit() else cell for cell in line.split(",")] for line in text.splitlines()]
            for name, text in FILES.items()
        }
        write_workbook(clinic / "all.xlsx", sheets)
        keys = {name: f'source = "all.xlsx", table = "{name}"' for name in FILES}
    else:
        with duckdb.connect("all.duckdb") as connection:
            for name in FILES:
                (clinic / name).mkdir()
                connection.execute(f"CREATE TABLE {name} AS FROM read_csv('{name}.csv')")
                connection.execute(f"COPY {name} TO '{name}/part.parquet'")
        keys = {
            name: f'source = "{name}/*.parquet"' if engine == "folders" else f'source = "all.duckdb", table = "{name}"'
            for name in FILES
        }
    text = HEAD + TABLES
    for name, key in keys.items():
        text = text.replace(f'source = "{name}.csv"', key)
    (clinic / "noisycount.toml").write_text(text, encoding="utf-8")
    assert paid() == (2, 50)
    assert paid("any(wards.name = 'ICU') and patients.sex = 'M'") == (1, 50)


@pytest.mark.thorough
def test_a_value_that_became_unreadable_is_refused_by_its_column(clinic: Path) -> None:
    """The error names the file and the column, not the copy that could not be made, and holds no value."""
    assert paid() == (2, 50)
    with (clinic / "visits.csv").open("a", encoding="utf-8") as file:
        file.write("a,8,W1,SECRET\n")
    with pytest.raises(NoisyCountError, match=r"visits\.csv.*cost") as caught:
        paid()
    assert "\n" not in str(caught.value)
    assert "SECRET" not in str(caught.value)


@pytest.mark.thorough
def test_two_data_sets_refuse_to_share_a_table(clinic: Path) -> None:
    """A table of persons of two data sets would have two budgets."""
    other = '[datasets.other]\nsource = "copy.csv"\nunit = "patient"\n'
    (clinic / "copy.csv").write_text(FILES["visits"], encoding="utf-8")
    (clinic / "noisycount.toml").write_text(f"{HEAD}{TABLES}{other}", encoding="utf-8")
    assert paid()[0] == 2
    with pytest.raises(ConfigError, match="clinic") as caught:
        nc.open_desk("other")
    assert "\n" not in str(caught.value)


IDS = {"integer": "id::INTEGER", "uuid": "md5(id::VARCHAR)::UUID", "small": "id::HUGEINT", "enum": "id::VARCHAR::ids"}
MIXED_UP = {
    "large": "170141183460469231731687303715884105000 + id",
    "case": "(chr(65 + 32 * (id % 2)::INTEGER) || id // 2) COLLATE NOCASE",
}


def write_database(ids: str) -> None:
    """Write two tables of 20 and 30 persons with ids of a type to a DuckDB file, and a configuration."""
    with duckdb.connect("all.duckdb") as connection:
        connection.execute(f"CREATE TYPE ids AS ENUM {tuple(map(str, range(30)))}")
        for table, persons in (("visits", 20), ("stays", 30)):
            connection.execute(
                f"CREATE TABLE {table} AS SELECT {ids} AS patient, id::SMALLINT AS cost FROM range({persons}) AS r(id)"  # noqa: S608
            )
    tables = "".join(f'{name} = {{ source = "all.duckdb", table = "{name}" }}\n' for name in ("visits", "stays"))
    Path("noisycount.toml").write_text(f"{HEAD}[datasets.clinic.tables]\n{tables}", encoding="utf-8")


@pytest.mark.thorough
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_ids_of_all_types_join_tables_of_a_database(ids: str) -> None:
    """Small integers, UUIDs and enumerations name persons, and columns of small integers are counted."""
    write_database(ids)
    assert [paid("true"), paid("any(visits.cost >= 5) and any(stays)")] == [(30, 50), (15, 50)]


@pytest.mark.thorough
@pytest.mark.usefixtures("here")
def test_some_columns_of_a_database_are_counted() -> None:
    """The owner may name the columns for questions, and name more of them later."""
    write_database("id::VARCHAR")
    with duckdb.connect("all.duckdb") as connection:
        connection.execute("ALTER TABLE visits ADD COLUMN ward VARCHAR DEFAULT 'W1'")
    path = Path("noisycount.toml")
    text = path.read_text(encoding="utf-8")
    for columns in ('["cost"]', '["cost", "ward"]', '["ward"]'):
        path.write_text(text.replace('"visits" }', f'"visits", columns = {columns} }}'), encoding="utf-8")
        named = "visits.ward = 'W1'" if "ward" in columns else "visits.cost >= 0"
        assert paid(f"any({named}) and any(stays.cost < 5)")[0] == 5


@pytest.mark.thorough
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("ids", MIXED_UP.values(), ids=MIXED_UP)
def test_ids_that_a_copy_mixes_up_are_refused(ids: str) -> None:
    """A copy that joined or parted persons would count others than the table has."""
    write_database(ids)
    with pytest.raises(SourceError, match="column 'patient' names persons by values that a copy cannot hold"):
        paid("true")


@pytest.mark.thorough
def test_a_link_by_a_type_that_questions_cannot_use_is_refused(clinic: Path) -> None:
    """The refusal names the column and its type."""
    with duckdb.connect() as connection:
        for name in ("visits", "notes"):
            connection.read_csv(f"{name}.csv").project("* REPLACE (uuid() AS visit_id)").write_parquet(
                f"{name}.parquet"
            )
    text = (clinic / "noisycount.toml").read_text(encoding="utf-8")
    for name in ("visits", "notes"):
        text = text.replace(f"{name}.csv", f"{name}.parquet")
    (clinic / "noisycount.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"visits\.visit_id is of type uuid, by which tables cannot be linked"):
        paid()
