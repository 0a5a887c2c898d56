from pathlib import Path

import duckdb
import pytest

from tests.commands import Refused, Run


@pytest.fixture
def clinic(here: Path) -> Path:
    """A DuckDB file with two tables and a view."""
    path = here / "clinic.db"
    with duckdb.connect(path) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT range AS person, range % 90 AS age FROM range(500);"
            "CREATE TABLE towns AS SELECT range AS town, 1000 AS size FROM range(30);"
            "CREATE VIEW old AS SELECT * FROM visits WHERE age >= 65"
        )
    return path


@pytest.mark.usefixtures("clinic")
def test_each_table_of_a_file_is_a_data_set(run: Run) -> None:
    """With its own columns, its own unit and its own budget; views too."""
    words = ("--where", "age >= 65", "--epsilon", "1", "--json")
    visits = run("count", "clinic.db", "--table", "visits", "--unit", "person", *words).object
    old = run("count", "clinic.db", "--table", "old", "--unit", "person", *words).object
    assert visits["dataset"].endswith("clinic.db#visits")
    assert (visits["remaining"], old["remaining"]) == ("1", "1")
    for told in (visits, old):
        assert abs(told["answer"] - 125) < 40
    towns = ("count", "clinic.db", "--table", "towns", "--unit", "town")
    assert run(*towns, "--where", "size > 5", "--epsilon", "1", "--json").object["unit"] == "town"
    shown = run("show", "clinic.db", "--table", "visits", "--json").object
    assert (shown["columns"], len(shown["asked"])) == ({"age": "integer"}, 1)
    checked = run("check", "clinic.db", "--table", "old", "--json").object
    assert (checked["rows"], checked["dataset"]) == (125, f"{checked['source']}#old")
    assert "data set clinic.db#old source clinic.db" in " ".join(
        run("check", "clinic.db", "--table", "old").output.split()
    )


def test_a_table_must_be_named_and_be_there(refused: Refused, clinic: Path) -> None:
    """One line with the tables that there are; an owner's choice stays."""
    words = ("--where", "age >= 65", "--epsilon", "1", "--unit", "person")
    for table in ((), ("--table", "visit")):
        message = refused("count", "clinic.db", *words, *table)
        assert "table must name a table of the file, got" in message
        assert "'visits'" in message
    text = '[datasets.clinic]\nsource = "clinic.db"\ntable = "visits"\nunit = "person"\n'
    (clinic.parent / "noisycount.toml").write_text(text)
    assert "--table 'old': data set 'clinic' is of the table 'visits', as its owner" in refused(
        "count", "clinic", *words, "--table", "old"
    )
