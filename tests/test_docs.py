import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(page.name for page in DOCS.glob("*.md") if ">>> " in page.read_text("utf-8"))


@pytest.mark.skipif(not DOCS.is_dir(), reason="the tests run outside the project's folder")
def test_there_are_pages_with_sessions() -> None:
    """So that the next test cannot be empty."""
    assert "privacy-curves.md" in PAGES


@pytest.mark.parametrize("page", PAGES)
def test_sessions_of_the_pages_give_what_they_show(page: str) -> None:
    """Every page is executed."""
    failed, tried = doctest.testfile(str(DOCS / page), module_relative=False, encoding="utf-8")
    assert (failed, tried > 0) == (0, True)
