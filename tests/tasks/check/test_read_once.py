"""A check reads records once, and the ledger holds what a count would have written."""

import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pytest

from noisycount.config.config import load_config
from noisycount.engines.check import Check
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.ledger.ledger import Ledger
from noisycount.release.records import findings_about_records
from tests.helpers.commands import Run
from tests.helpers.hospital import random_hospital, write_hospital
from tests.helpers.workbooks import write_workbook

EPSILON = ("--epsilon", "400", "--json")


def _write(place: Path, answer: int) -> None:
    """Write some records, of which `answer` have `age` 41 and a unit of their own."""
    rows = [(f"p{n}", 41 if n < answer else 17, f"{n}.5", "Köln") for n in range(20)]
    texts = ["person,age,cost,town", *(",".join(map(str, row)) for row in rows)]
    values = ", ".join(f"({person!r}, {age}, {cost}, {town!r})" for person, age, cost, town in rows)
    table = f"SELECT *, 'x'::BLOB AS raw FROM (VALUES {values}) AS t(person, age, cost, town)"  # noqa: S608
    place.unlink(missing_ok=True)
    match place.suffix:
        case ".csv":
            place.write_text("\n".join([*texts, ""]), encoding="utf-8")
        case ".jsonl":
            lines = (f'{{"person": "{p}", "age": {a}, "cost": {c}, "town": "{t}"}}\n' for p, a, c, t in rows)
            place.write_text("".join(lines), encoding="utf-8")
        case ".parquet":
            duckdb.sql(table).write_parquet(str(place))
        case ".duckdb":
            with duckdb.connect(place) as connection:
                connection.execute(f"CREATE TABLE visits AS {table}")
        case ".xlsx":
            write_workbook(place, {"v": [texts[0].split(","), *rows]})
        case _:
            with sqlite3.connect(place) as connection:
                connection.execute("CREATE TABLE visits (person TEXT, age INTEGER, cost REAL, town TEXT)")
                connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", rows)


def _configure(here: Path, place: Path, more: str = "") -> None:
    (here / "noisycount.toml").write_text(
        f'[datasets.v]\nsource = "{place.name}"\nunit = "person"\nbudget = "4000"\n{more}', encoding="utf-8"
    )


def _descriptions(here: Path) -> dict[str, str]:
    """Return what the ledger holds of the records, and remove the ledger."""
    with Ledger.open(load_config(here / "noisycount.toml").ledger_url, create=False) as ledger:
        descriptions = dict(ledger.descriptions())
    (here / "ledger.db").unlink()
    return descriptions


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are read from now on."""
    places: list[str] = []
    for name in ("open_unprepared", "of_copy"):
        opened = getattr(DuckDBSource, name).__func__

        def noted(cls: type, path: Path, *others: object, _opened: Any = opened, **said: object) -> Any:  # noqa: ANN401
            places.append(Path(path).name)
            return _opened(cls, path, *others, **said)

        monkeypatch.setattr(DuckDBSource, name, classmethod(noted))
    return places


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["v.csv", "v.jsonl", "v.parquet", "v.duckdb", "v.xlsx", "v.sqlite"])
def test_a_check_describes_records_as_a_count_does(run: Run, here: Path, reads: list[str], name: str) -> None:
    """It reads them once, and the count after it reads only the copy of texts."""
    place = here / name
    _write(place, 7)
    _configure(here, place)
    asked = ("count", "v", "--where", "age = 41", *EPSILON)
    assert run(*asked).object["answer"] == 7
    counted = _descriptions(here)
    reads.clear()
    assert run("check", "v").status == 0
    assert reads == [name]
    reads.clear()
    assert run(*asked).object["answer"] == 7
    is_copied = name not in {"v.parquet", "v.duckdb"}
    assert len(reads) == 1
    assert (reads[0] != name) is is_copied
    assert _descriptions(here) == counted


@pytest.mark.thorough
def test_each_of_several_tables_is_read_once(run: Run, here: Path, reads: list[str]) -> None:
    """A check reads each file of texts once, and then the copies; the ledger describes the tables as a count does."""
    configuration = write_hospital(random_hospital(3), here)
    configuration.write_text(configuration.read_text(encoding="utf-8").replace("1000000", "4000"), encoding="utf-8")
    asked = ("count", "clinic", "--where", "any(visits.cost > 50) and any(notes.word = 'fall')", *EPSILON)
    answer = run(*asked).object["answer"]
    counted = _descriptions(here)
    for copy in (here / "ledger.db.data").glob("*.parquet"):
        copy.unlink()
    reads.clear()
    assert run("check", "clinic").status == 0
    assert sorted(name for name in reads if name.endswith(".csv")) == sorted(path.name for path in here.glob("*.csv"))
    reads.clear()
    assert run(*asked).object["answer"] == answer
    assert not [name for name in reads if name.endswith(".csv")]
    assert _descriptions(here) == counted


@pytest.mark.thorough
def test_cells_that_are_accepted_are_described_as_a_count_does(run: Run, here: Path) -> None:
    """With their forms, as the owner stated them."""
    place = here / "v.csv"
    _write(place, 7)
    place.write_text(place.read_text(encoding="utf-8") + "p20,old,2.5,Bonn\n", encoding="utf-8")
    _configure(here, place, '[datasets.v.kinds]\nage = { kind = "integer", unreadable = "missing" }\n')
    assert run("count", "v", "--where", "age = 41", *EPSILON).object["answer"] == 7
    counted = _descriptions(here)
    assert run("check", "v").status == 0
    assert _descriptions(here) == counted


@pytest.mark.parametrize("name", ["v.csv", "v.parquet"])
def test_a_file_that_changes_behind_a_check_is_read_again(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The description and the copy are of the records that lie there, not of those that the check read."""
    place = here / name
    _write(place, 7)
    _configure(here, place)

    def changing(place: Path, **said: Any) -> Check:  # noqa: ANN401
        check = findings_about_records(place, **said)
        _write(place, 12)
        return check

    monkeypatch.setattr("noisycount.tasks.check.findings_about_records", changing)
    assert run("check", "v").status == 0
    assert run("count", "v", "--where", "age = 41", *EPSILON).object["answer"] == 12


def test_one_table_that_does_not_fit_leaves_no_copy_of_another(run: Run, here: Path) -> None:
    """A check removes the drafts of all copies if it does not store the description."""
    configuration = write_hospital(random_hospital(3), here)
    with (here / "labs.csv").open("a", encoding="utf-8") as labs:
        labs.write("p1,CRP,much,2025-01-01\n")
    assert configuration.is_file()
    assert run("check", "clinic").status == 4
    assert not (here / "ledger.db.data").exists()


def test_what_does_not_fit_leaves_nothing_behind(run: Run, here: Path) -> None:
    """Neither a copy nor its folder."""
    place = here / "v.csv"
    place.write_text("person,age\n" + "1,7\n" * 9 + ",old\n")
    _configure(here, place)
    assert run("check", "v").status == 4
    assert not (here / "ledger.db.data").exists()
