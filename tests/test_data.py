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


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("SELECT count(*), count(DISTINCT person) FROM survey", [(20190, 5912)]),
        ("SELECT count(*), count(DISTINCT person) FROM survey WHERE health = 'poor'", [(302, 92)]),
        ("SELECT count(*) FROM survey WHERE education_years IS NULL", [(4,)]),
        ("SELECT count(*) FROM (UNPIVOT survey ON COLUMNS(*)::VARCHAR)", [(20190 * 17 - 4,)]),
        ("SELECT person, year, age FROM survey LIMIT 3", [(125024, year, 41.88 + year) for year in (1, 2, 3)]),
    ],
    ids=["rows and persons", "rows and persons in poor health", "missing years", "nothing else missing", "order"],
)
def test_survey_is_what_is_said_of_it(question: str, rows: list[tuple[float, ...]]) -> None:
    """Its counts of rows and of persons differ; four cells are missing; persons come year by year."""
    assert survey(question) == rows


def test_survey_has_the_types_that_its_readme_states() -> None:
    """Each row of the README's table names a column and its type, in the order of the file."""
    lines = (survey_path().parent / "README.md").read_text(encoding="utf-8").splitlines()
    stated = [tuple(line.split("|")[1:3]) for line in lines if line.startswith("| `")]
    actual = [row[:2] for row in survey("DESCRIBE survey")]
    assert [(name.strip(" `"), kind.strip()) for name, kind in stated] == actual


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
