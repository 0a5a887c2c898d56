from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.notebooks import Bundle, code_cells, executed, read

FOLDER = Path(__file__).parents[1] / "docs/notebooks"
CELLS = {"cohorts": 7, "one-noisy-count": 8, "published-table": 6, "which-adversary": 8}

Runs = Callable[[str], tuple[list[Bundle], Path]]

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the tests run outside the project's folder")


def shown(name: str, home: Path) -> list[Bundle]:
    """Run a notebook, and return the results of its cells; each cell has one."""
    bundles = list(executed(read(FOLDER / f"{name}.ipynb"), home))
    assert None not in bundles
    return [bundle for bundle in bundles if bundle is not None]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Return a function that runs a notebook once, and gives its results and its home."""

    @cache
    def run(name: str) -> tuple[list[Bundle], Path]:
        home = tmp_path_factory.mktemp(name)
        return shown(name, home), home

    return run


def texts(name: str) -> list[str]:
    """Return the texts of the stored results of a notebook."""
    outputs = [cell["outputs"][0]["data"] for cell in code_cells(read(FOLDER / f"{name}.ipynb"))]
    return ["".join(data.get("text/plain", "")) for data in outputs]


def test_there_are_four_notebooks() -> None:
    """And the next tests know each of them."""
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == sorted(CELLS)


@pytest.mark.thorough
@pytest.mark.parametrize("name", CELLS)
def test_a_notebook_shows_results_of_the_forms_that_it_stores(name: str, first: Runs) -> None:
    """Every cell runs, in whatever noise, and is what was stored but for that noise."""
    stored = [{*output["data"]} for cell in code_cells(read(FOLDER / f"{name}.ipynb")) for output in cell["outputs"]]
    assert [{*bundle} for bundle in first(name)[0]] == stored
    assert len(stored) == CELLS[name]
    assert {"image/svg+xml"} in stored


@pytest.mark.thorough
def test_what_needs_no_noise_is_what_the_first_notebook_stores(first: Runs) -> None:
    """Errors, averages and beliefs; and the ledger is the notebook's, never the reader's own."""
    bundles, home = first("one-noisy-count")
    stored = texts("one-noisy-count")
    for cell in (0, 1, 3, 6, 7):
        assert bundles[cell]["text/plain"] == stored[cell]
    assert "0.05: 21" in stored[3]
    assert [path.name for path in home.iterdir()] == ["notebook-ledger.db"]


def test_a_second_run_gives_the_same_answer_and_costs_nothing(first: Runs) -> None:
    """As the notebook says."""
    bundles, home = first("one-noisy-count")
    again = shown("one-noisy-count", home)[2]
    assert again["text/plain"] == bundles[2]["text/plain"]
    assert "charged 0.15" in bundles[2]["text/html"]
    assert "asked before: free" in again["text/html"]


@pytest.mark.thorough
def test_the_table_is_drawn_with_its_answers(first: Runs) -> None:
    """The chart of a table posterior shows both."""
    assert "answer, with noise" in first("published-table")[0][2]["image/svg+xml"]


@pytest.mark.thorough
def test_a_cohort_in_another_wording_is_free(first: Runs) -> None:
    """The rows of the tables and the budget after two answers are those that the notebook stores."""
    bundles, stored = first("cohorts")[0], texts("cohorts")
    assert [bundles[cell]["text/plain"] for cell in (0, 6)] == [stored[0], stored[6]]
    assert stored[6] == "(True, 2.4)"


@pytest.mark.thorough
def test_no_number_about_adversaries_is_noisy(first: Runs) -> None:
    """The stored numbers follow from public noise, and the text of the notebook rests on them."""
    stored = texts("which-adversary")
    assert [bundle.get("text/plain", "") for bundle in first("which-adversary")[0]] == stored
    assert stored[3].splitlines()[1].split()[-1] == "0.0000"  # the worst case at its ε
    assert float(stored[3].splitlines()[-1].split()[-1]) > 0  # more than that
