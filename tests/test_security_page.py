"""The statements about tests for an auditor are true."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
SECURITY = PROJECT / "docs/security.md"
PROMISES = PROJECT / "docs/security/promises.md"
PAGES = [SECURITY, *sorted((PROJECT / "docs/security").glob("*.md"))]
NAMED = re.compile(r"`((?:tests|audits)/[\w/]+\.py)::(\w+)`")
TESTED = re.compile(r"`(?:tests|audits)/")
WORDS_OF_A_SHEET = 700  # 660 leave some lines of A4 free, as Chromium prints the site
WITHOUT_A_TEST = {"find out that others ask at the same time"}

pytestmark = pytest.mark.skipif(not SECURITY.exists(), reason="the tests run outside the project's folder")


@cache
def functions_of(path: Path) -> set[str]:
    """The names of the tests of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def rows(page: Path) -> list[list[str]]:
    """The rows of the tables of a page, without their heads."""
    lines = page.read_text(encoding="utf-8").splitlines()
    heads = {place - 1 for place, line in enumerate(lines) if line.startswith("| ---")}
    return [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for place, line in enumerate(lines)
        if line.startswith("| ") and not line.startswith("| ---") and place not in heads
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_test_that_is_named_is_there(page: Path) -> None:
    """Its file and its function."""
    for file, name in NAMED.findall(page.read_text(encoding="utf-8")):
        assert name in functions_of(PROJECT / file), f"{file}::{name}"


@pytest.mark.parametrize("page", [SECURITY, PROJECT / "docs/security/threats.md"], ids=lambda page: page.stem)
def test_every_attack_has_a_test(page: Path) -> None:
    """A row of an attack names what can fail; a fault of the audit itself is a test by itself."""
    bare = [row[0] for row in rows(page) if not TESTED.search(" ".join(row))]
    assert {attack for attack in bare if attack != "the audit is blind"} <= WITHOUT_A_TEST


def test_the_tests_look_at_something() -> None:
    """Many rows, many names."""
    found = NAMED.findall("".join(page.read_text(encoding="utf-8") for page in PAGES))
    assert len(found) >= 30
    assert len(rows(SECURITY)) >= 40
    assert len(rows(PROMISES)) >= 10


def test_every_promise_says_what_it_is_not() -> None:
    """A promise has three parts: what about, what is promised, what is not."""
    assert {len([cell for cell in row if cell]) for row in rows(PROMISES)} == {3}


def test_the_promises_fit_on_a_sheet() -> None:
    """An officer files one page."""
    assert len(PROMISES.read_text(encoding="utf-8").split()) <= WORDS_OF_A_SHEET
