"""Files as other programs export them: `init --accept` writes a configuration that answers, or reports what is lost."""

from datetime import date
from pathlib import Path

import pytest

from tests.helpers.commands import Run
from tests.helpers.workbooks import write_workbook

EPSILON = "500"


def answers(run: Run, here: Path, file: str, *conditions: str, unit: str = "id") -> list[int]:
    """Return the counts of a file as it is configured by `init --accept`; with this ε no noise is left."""
    assert run("init", file, "--unit", unit, "--accept").status == 0
    written = here / "noisycount.toml"
    written.write_text(written.read_text().replace('budget = "2"', 'budget = "1000000"'))
    name = Path(file).stem
    return [run("count", name, "--where", each, "--epsilon", EPSILON, "--json").object["answer"] for each in conditions]


@pytest.mark.thorough
def test_a_table_right_of_empty_columns_is_configured_once(run: Run, here: Path) -> None:
    """The names of the empty columns stand in one line of the configuration."""
    write_workbook(
        here / "a.xlsx", {"Sheet1": [[], [None, None, "id", "age"], *([None, None, n, n] for n in range(5))]}
    )
    assert answers(run, here, "a.xlsx", "age >= 3") == [2]


@pytest.mark.thorough
def test_names_that_are_years_stay_names_if_one_is_the_unit(run: Run, here: Path) -> None:
    """A unit that is stated by its name says that the line has names; the owner is told all the same."""
    write_workbook(here / "a.xlsx", {"Sheet1": [["id", 2024, date(2024, 1, 1)], *([f"P{n}", n, n] for n in range(5))]})
    told = run("check", "a.xlsx", "--unit", "id", "--json").object
    assert "names that look like values" in [finding["title"] for finding in told["findings"]]
    assert answers(run, here, "a.xlsx", '"2024" >= 3', '"2024-01-01" = 4') == [2, 1]


@pytest.mark.thorough
def test_names_with_line_breaks_are_replaced(run: Run, here: Path) -> None:
    """As a cell of a header has where somebody typed Alt and Enter."""
    rows = [["id", "note\n(free)", "", "note (free)"], *([f"P{n}", n, n, n] for n in range(5))]
    write_workbook(here / "a.xlsx", {"Sheet1": rows})
    write_workbook(here / "b.xlsx", {"Sheet1": [["id", "date of\nbirth"], *([f"P{n}", n] for n in range(5))]})
    assert answers(run, here, "a.xlsx", '"note (free)_2" >= 3', "column3 = 4", '"note (free)" = 0') == [2, 1, 1]
    (here / "noisycount.toml").unlink()
    assert answers(run, here, "b.xlsx", '"date of birth" >= 3') == [2]
