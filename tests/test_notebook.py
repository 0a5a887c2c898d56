from pathlib import Path

import pytest

from tests.notebooks import code_cells, executed, read

DOCS = Path(__file__).parents[1] / "docs"
NOTEBOOK, TABLE = DOCS / "first-count.ipynb", DOCS / "published-table.ipynb"


@pytest.mark.skipif(not NOTEBOOK.is_file(), reason="the tests run outside the project's folder")
def test_the_notebook_runs_and_shows_what_it_stores(tmp_path: Path) -> None:
    """Each cell gives results of the same forms; the noise is another one."""
    notebook = read(NOTEBOOK)
    stored = [{*output["data"]} for cell in code_cells(notebook) for output in cell["outputs"]]
    shown = [set() if bundle is None else {*bundle} for bundle in executed(notebook, tmp_path)]
    assert shown == stored
    assert len(shown) == 5
    assert shown[-1] == {"image/svg+xml"}
    assert (tmp_path / ".config" / "noisycount" / "ledger.db").is_file()


def test_a_second_run_gives_the_same_answer_and_costs_nothing(tmp_path: Path) -> None:
    """As the notebook says."""
    notebook = read(NOTEBOOK)
    first, second = (list(executed(notebook, tmp_path))[2] for _ in range(2))
    assert first is not None
    assert second is not None
    assert second["text/plain"] == first["text/plain"]
    assert "charged 0.15" in first["text/html"]
    assert "asked before: free" in second["text/html"]


@pytest.mark.skipif(not TABLE.is_file(), reason="the tests run outside the project's folder")
def test_the_notebook_of_a_table_runs_and_shows_what_it_stores(tmp_path: Path) -> None:
    """Each cell gives results of the same forms, in whatever noise; the last is what is stored."""
    notebook = read(TABLE)
    stored = [{*output["data"]} for cell in code_cells(notebook) for output in cell["outputs"]]
    bundles = list(executed(notebook, tmp_path))
    assert [set() if bundle is None else {*bundle} for bundle in bundles] == stored
    assert len(bundles) == 6
    assert bundles[2] is not None
    assert "answer, with noise" in bundles[2]["image/svg+xml"]
