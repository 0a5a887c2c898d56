import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import duckdb
import pytest

from noisycount.data import survey_path

PROJECT = Path(__file__).parents[1]


def survey(question: str) -> list[tuple[object, ...]]:
    """Return the rows that DuckDB answers about the table `survey`."""
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW survey AS FROM '{survey_path()}'")
        return connection.execute(question).fetchall()


def test_survey_has_its_rows_and_persons() -> None:
    """The survey has 20,190 rows about 5,912 persons."""
    assert survey("SELECT count(*), count(DISTINCT person) FROM survey") == [(20190, 5912)]


def test_survey_tells_rows_from_persons() -> None:
    """302 rows say poor health, of 92 persons: the two counts of the demonstration differ."""
    question = "SELECT count(*), count(DISTINCT person) FROM survey WHERE health = 'poor'"
    assert survey(question) == [(302, 92)]


def test_survey_has_the_types_that_its_readme_states() -> None:
    """Each row of the README's table names a column and its type, in the order of the file."""
    lines = (survey_path().parent / "README.md").read_text(encoding="utf-8").splitlines()
    stated = [tuple(line.split("|")[1:3]) for line in lines if line.startswith("| `")]
    actual = [row[:2] for row in survey("DESCRIBE survey")]
    assert [(name.strip(" `"), kind.strip()) for name, kind in stated] == actual


def test_survey_keeps_missing_values_missing() -> None:
    """Four rows lack years of education; nothing else is missing."""
    missing = survey("SELECT COLUMNS(*) IS NULL FROM survey")
    assert sum(map(sum, missing)) == 4
    assert survey("SELECT count(*) FROM survey WHERE education_years IS NULL") == [(4,)]


def test_survey_keeps_its_order() -> None:
    """The first rows are the first person's, year by year."""
    first = survey("SELECT person, year, age FROM survey LIMIT 3")
    assert first == [(125024, 1, 42.88), (125024, 2, 43.88), (125024, 3, 44.88)]


def test_survey_is_small() -> None:
    """The whole survey takes less than 400 kB of the package."""
    assert survey_path().stat().st_size < 400_000


def test_wheel_ships_survey_and_template(tmp_path: Path) -> None:
    """A wheel holds the survey and the template of the configuration, byte for byte."""
    if not (PROJECT / "pyproject.toml").is_file():
        pytest.skip("the tests run outside the project's folder, so there is nothing to build")
    build = [sys.executable, "-m", "hatchling", "build", "--target=wheel", "--directory"]
    subprocess.run([*build, tmp_path], cwd=PROJECT, check=True, capture_output=True)  # noqa: S603 - our own command
    (wheel,) = tmp_path.glob("*.whl")
    with ZipFile(wheel) as archive:
        for file in (survey_path(), PROJECT / "src/noisycount/config/template.toml"):
            name = file.relative_to(PROJECT / "src").as_posix()
            assert archive.read(name) == file.read_bytes()
