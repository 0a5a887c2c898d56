"""`init` for folders and patterns, and `init --add`: more data sets in one noisycount.toml."""

import io
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyreadstat
import pytest
from pandas import DataFrame

from noisycount.config.config import load_config
from tests.helpers.commands import Refused, Run


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that types a text at a command's prompt."""
    return lambda text: monkeypatch.setattr(sys, "stdin", io.StringIO(text))


@pytest.fixture
def visits(here: Path) -> Path:
    """A folder of Parquet files by year."""
    made = "SELECT i AS person, i % 90 AS age, 2020 + i % 3 AS year FROM range(300) AS t(i)"
    duckdb.sql(made).write_parquet(str(here / "visits"), partition_by=["year"])
    return here / "visits"


@pytest.mark.parametrize("named", ["visits", "./visits/", "visits/**/*.parquet", "visits/*/*.parquet"])
def test_a_folder_or_pattern_is_described(run: Run, here: Path, visits: Path, named: str) -> None:
    """With the columns that its folders are named by, and asked by its name."""
    told = run("init", named, "--unit", "person")
    assert told.output.startswith(f"wrote noisycount.toml, with 3 columns of {named}\n")
    text = (here / "noisycount.toml").read_text()
    assert "[datasets.visits]\n" in text
    assert '# columns = ["age", "year"]\n' in text
    assert run("check", "visits", "--json").object["columns"][-1]["reason"] == "folders are named by it"
    answer = run("count", "visits", "--where", "year = 2021", "--epsilon", "2", "--json").object["answer"]
    assert abs(answer - 100) < 30  # off by more once in e^60 times
    assert visits.is_dir()


def test_a_folder_of_files_that_would_be_skipped_is_not_described(refused: Refused, visits: Path) -> None:
    """They are named."""
    (visits / "2019.csv").write_text("person,age\n1,2\n")
    for command in ("init", "check"):
        assert "has '2019.csv' beside its Parquet files, which is not read" in refused(
            command, "visits", "--unit", "row"
        )


def test_a_folder_without_parquet_files_gets_the_example(run: Run, here: Path) -> None:
    """As ever, even where it has other files."""
    (here / "new").mkdir()
    (here / "new" / "x.csv").write_text("a\n1\n")
    assert "wrote new/noisycount.toml" in run("init", "new").output
    assert "wrote noisycount.toml" in run("init").output


@pytest.mark.thorough
@pytest.mark.usefixtures("visits")
def test_data_sets_are_added_below_what_there_is(
    run: Run, here: Path, types: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change is shown first, and nothing is written without a yes; the rest of the file stays as it is."""
    run("init", "survey.parquet", "--unit", "person")
    path = here / "noisycount.toml"
    path.write_text(path.read_text() + "\n[analysts.ana]  # no end of a line")
    path.chmod(0o640)
    before = path.read_text()
    for answer in ("n\n", "\n", ""):
        types(answer)
        told = run("init", "--add", "visits", "--unit", "person")
        assert '+source = "visits"' in told.output
        assert told.status != 0
        assert path.read_text() == before
    types("y\n")
    told = run("init", "--add", "visits", "--unit", "person")
    assert "added visits to noisycount.toml, with 3 columns of visits" in told.output
    assert path.read_text().startswith(before)
    shown = {line[1:] for line in told.output.splitlines() if line.startswith("+") and not line.startswith("+++")}
    assert {*path.read_text().removeprefix(before).splitlines()} <= shown
    (here / "below").mkdir()
    pyreadstat.write_sav(
        DataFrame({"sex": [1.0, 2.0]}), here / "below" / "x.sav", variable_value_labels={"sex": {1: "m", 2: "f"}}
    )
    monkeypatch.chdir(here / "below")
    run("init", "--add", "x.sav", "--unit", "row", "--yes")
    config = load_config(path)
    assert [*config.datasets] == ["survey", "visits", "x"]
    assert config.datasets["x"].source == here / "below" / "x.sav"
    assert [*config.analysts] == ["ana"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(each.name for each in here.iterdir() if each.name.startswith(".")) == []


def test_what_cannot_be_added_is_refused(refused: Refused, run: Run, here: Path) -> None:
    """And changes nothing."""
    (here / "a.csv").write_text("person,age\n1,2\n")
    assert "there is no noisycount.toml here or above to add to" in refused("init", "--add", "a.csv", "--unit", "row")
    told = refused("init", "x.db", "visits", "--table", "visits")
    assert "--table 'visits' and TABLE 'visits' both name a table: give one of them" in told
    assert "--add describes a file: name the file as well" in refused("init", "--add")
    run("init", "a.csv", "--unit", "row")
    path = here / "noisycount.toml"
    assert "exists already: edit it, add a data set by --add, or" in refused("init", "a.csv", "--unit", "row")
    assert "has a data set 'a' already: give this one another by --name" in refused("init", "--add", "a.csv", "--yes")
    told = refused("init", "--add", "a.csv", "--name", "b", "--unit", "row", "--yes")
    fault = f"{path}: [datasets.a] and [datasets.b] are the same records"
    assert f"nothing is written, because the new file would be invalid: {fault}" in told
    path.write_text('datasets = { a = { source = "a.csv", unit = "row" } }\n')
    message = refused("init", "--add", "survey.parquet", "--unit", "person", "--yes")
    assert "nothing is written, because the new file would be invalid" in message


def test_a_change_meanwhile_is_not_lost(run: Run, here: Path, types: Callable[[str], None]) -> None:
    """An edit of the file while the change is shown is kept."""
    run("init", "survey.parquet", "--unit", "person")
    (here / "a.csv").write_text("person,age\n1,2\n")
    path = here / "noisycount.toml"

    class Editor(io.StringIO):
        def readline(self, *_: object) -> str:
            path.write_text(path.read_text() + "# mine\n")
            return "y\n"

    types("")
    sys.stdin = Editor()
    told = run("init", "--add", "a.csv", "--unit", "row")
    assert "was changed by another process in the meantime: run the command again" in told.errors
    assert path.read_text().endswith("# mine\n")
    assert "[datasets.a]" not in path.read_text()
