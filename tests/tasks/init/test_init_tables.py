"""Drafts of several tables (`init FOLDER --unit`, `tasks/init_tables.py`): how they are found, joined and written."""

import shutil
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.helpers.commands import Refused, Run
from tests.helpers.hospital import random_hospital, write_hospital
from tests.helpers.postgresql import Server

pytestmark = pytest.mark.thorough  # each table is read


def hospital(here: Path, seed: int = 1) -> Path:
    """Write the tables of a hospital into a folder of its own, and return it."""
    folder = here / "clinic"
    folder.mkdir()
    write_hospital(random_hospital(seed), folder).unlink()
    return folder


def configuration(here: Path, *, with_comments: bool = False) -> dict[str, Any]:
    """Return the data sets of the written configuration; with comments, as if the owner removed their #."""
    text = (here / "noisycount.toml").read_text(encoding="utf-8")
    if with_comments:
        at = text.index("# [datasets.")
        text = text[:at] + "\n".join(line.removeprefix("# ") for line in text[at:].split("\n"))
    datasets: dict[str, Any] = tomllib.loads(text)["datasets"]
    return datasets


def test_a_folder_of_several_tables_becomes_one_data_set(here: Path, run: Run) -> None:
    """Tables have their unit or link, a look-up is a comment, and the block is checked and counted as it is."""
    hospital(here)
    patients = here / "clinic" / "patients.csv"
    lines = patients.read_text().splitlines()
    rows = {line.split(",")[0]: line for line in lines[1:]}
    patients.write_text("\n".join([lines[0], *rows.values()]) + "\n")
    screen = run("init", "clinic", "--unit", "patient").output
    assert "wrote noisycount.toml, with 7 tables of clinic" in screen
    assert "wards" in screen
    clinic = configuration(here)["clinic"]
    joins = {
        name: {key: value for key, value in table.items() if key not in {"kinds", "source"}}
        for name, table in clinic["tables"].items()
    }
    plain: dict[str, object] = {name: {} for name in ("diagnoses", "drugs", "labs", "visits")}
    assert joins == {**plain, "patients": {"one_row_a_unit": True}, "notes": {"through": "visits.visit_id"}}
    assert clinic["unit"] == "patient"
    wards = configuration(here, with_comments=True)["clinic"]["tables"]["wards"]
    assert (wards["public"], wards["on"], wards["source"]) == (True, "visits.ward_id", "clinic/wards.csv")
    assert "Ready" in run("check", "clinic").output


def test_names_of_tables_need_no_ascii(here: Path, run: Run) -> None:
    """A name with other letters stands in quotes, as TOML wants it, and without them in questions."""
    (here / "klinik").mkdir()
    for name in ("Ärzte", "Besuche 2024", "and"):
        (here / "klinik" / f"{name}.csv").write_text("patient,day\np1,2024-01-01\np2,2024-01-02\n", encoding="utf-8")
    assert run("init", "klinik", "--unit", "patient").status == 0
    assert [*configuration(here)["klinik"]["tables"]] == ["Besuche_2024", "table_and", "Ärzte"]
    question = ("--where", "any(Ärzte) and any(Besuche_2024.day = '2024-01-02')")
    assert run("count", "klinik", "--epsilon", "1", *question).status == 0


def test_other_names_of_persons_are_proposed(here: Path, run: Run) -> None:
    """A name in other letters is taken, a similar name is a comment, and a table without a link waits for its owner."""
    folder = here / "clinic"
    folder.mkdir()
    (folder / "patients.csv").write_text("patient,sex\n1,f\n2,m\n")
    (folder / "2024 labs.csv").write_text("Patient,test\n1,x\n1,y\n")
    (folder / "drugs.csv").write_text("patient_id,drug\n1,x\n1,y\n")
    (folder / "beds.csv").write_text("bed,floor\n7,1\n8,1\n")
    (folder / "stays.csv").write_text("patient,stay\n1,5\n2,5\n")
    (folder / "notes.csv").write_text("stay,word\n5,fall\n5,home\n")
    (folder / "README.md").write_text("no table")
    run("init", "clinic", "--unit", "patient")
    tables = configuration(here)["clinic"]["tables"]
    assert {*tables} == {"patients", "stays", "table_2024_labs"}
    assert tables["table_2024_labs"]["unit"] == "Patient"
    text = (here / "noisycount.toml").read_text()
    assert '# unit = "patient_id"' in text
    assert '# patient_id = "text"' in text  # as that of the other tables
    assert "No column joins beds" in text
    assert "notes has no column patient, but shares stay with stays" in text
    assert '# through = "stays.stay"' in text


def test_a_folder_of_one_table_stays_one(here: Path, run: Run) -> None:
    """Parquet files with the same columns are one table; with other columns they are several."""
    folder = here / "clinic"
    folder.mkdir()
    for number in (1, 2):
        duckdb.sql(f"SELECT {number} AS patient, 'a' AS ward").write_parquet(str(folder / f"{number}.parquet"))
    run("init", "clinic", "--unit", "patient")
    assert configuration(here)["clinic"]["source"] == "clinic"
    (here / "noisycount.toml").unlink()
    shutil.rmtree(here / "ledger.db.data", ignore_errors=True)
    (folder / "visits").mkdir()
    (folder / "2.parquet").unlink()
    for number in (1, 2):
        rows = duckdb.sql(f"SELECT {number} AS patient, 'a' AS day")
        rows.write_parquet(str(folder / "visits" / f"{number}.parquet"))
    run("init", "clinic", "--unit", "patient")
    tables = configuration(here)["clinic"]["tables"]
    assert {name: table["source"] for name, table in tables.items()} == {
        "table_1": "clinic/1.parquet",
        "visits": "clinic/visits",
    }


def test_tables_of_a_database_become_one_data_set(here: Path, run: Run) -> None:
    """Each table of a file is named; --add shows the block and keeps the rest of the file."""
    with closing(sqlite3.connect(here / "clinic.sqlite")) as database, database:
        database.execute("CREATE TABLE patients (patient INTEGER, sex TEXT)")
        database.execute("CREATE TABLE visits (patient INTEGER, ward TEXT)")
        database.execute("INSERT INTO patients VALUES (1, 'f'), (2, 'm')")
        database.execute("INSERT INTO visits VALUES (1, 'a'), (1, 'b')")
    (here / "noisycount.toml").write_text('# mine\n[datasets.other]\nsource = "other.csv"\n')
    run("init", "clinic.sqlite", "--unit", "patient", "--add", "--yes")
    datasets = configuration(here)
    assert {name: table["table"] for name, table in datasets["clinic"]["tables"].items()} == {
        "patients": "patients",
        "visits": "visits",
    }
    assert datasets["other"] == {"source": "other.csv"}
    assert "Ready" in run("check", "clinic").output


def test_a_unit_of_no_table_is_refused(here: Path, refused: Refused) -> None:
    """The line names the option."""
    hospital(here)
    assert "--unit 'person': no table has such a column" in refused("init", "clinic", "--unit", "person")


@pytest.mark.thorough
def test_tables_of_a_server_become_one_data_set(here: Path, run: Run, refused: Refused, postgresql: Server) -> None:
    """An address without a table means all tables in the schema of the account, and they are counted there."""
    name = postgresql.database()
    with postgresql.shell(name) as shell:
        shell.execute(
            "CREATE TABLE patients (patient integer PRIMARY KEY, sex text);"
            "INSERT INTO patients VALUES (1, 'F'), (2, 'M');"
            'CREATE TABLE "lab results" (patient integer NOT NULL, test text);'
            "INSERT INTO \"lab results\" VALUES (1, 'CRP'), (1, 'CRP')"
        )
    assert "wrote noisycount.toml, with 2 tables" in run("init", postgresql.url(name), "--unit", "patient").output
    tables = configuration(here)[name]["tables"]
    assert tables["patients"]["one_row_a_unit"] is True
    assert {*tables} == {"patients", "lab_results"}
    where = "patients.sex = 'F' and any(lab_results.test = 'CRP')"
    found = run("count", name, "--where", where, "--epsilon", "1", "--json").object
    assert found["where"] == "any(lab_results.test = 'CRP') and any(patients.sex = 'F')"
    empty = postgresql.database()
    assert "has 0 tables in the schema of this account: name one behind a #" in refused(
        "init", postgresql.url(empty), "--unit", "patient", "--add"
    )
