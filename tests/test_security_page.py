"""Statements of `docs/promises.md` and of `audits/README.md` about tests."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PROMISES = PROJECT / "docs/promises.md"
ATTACKS = PROJECT / "audits/README.md"
PAGES = [PROMISES, ATTACKS]
NAMED = re.compile(r"`((?:tests|audits)/[\w/]+\.py)::(\w+)`")
TESTED = re.compile(r"`(?:tests|audits)/")
LONGEST_SHEET = 820  # words of the page above the threats
WITHOUT_A_TEST = {"notice that others ask at the same time"}

pytestmark = pytest.mark.skipif(not PROMISES.exists(), reason="the tests run outside the project's folder")


@cache
def functions_of(path: Path) -> set[str]:
    """The names of the tests of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def sheet() -> str:
    """Return the part of the page of promises that an officer prints: all that stands above the threats."""
    return PROMISES.read_text(encoding="utf-8").partition("## Threats")[0]


def text_of(page: Path) -> str:
    """Return the text of a page."""
    return page.read_text(encoding="utf-8")


def rows(text: str) -> list[list[str]]:
    """Return the cells of each row of the tables of a page, without their heads."""
    lines = text.splitlines()
    heads = {place - 1 for place, line in enumerate(lines) if line.startswith("| ---")}
    return [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for place, line in enumerate(lines)
        if line.startswith("| ") and not line.startswith("| ---") and place not in heads
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_test_that_is_named_is_there(page: Path) -> None:
    """The file has a test of that name."""
    for file, name in NAMED.findall(text_of(page)):
        assert name in functions_of(PROJECT / file), f"{file}::{name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_promise_and_attack_has_a_test(page: Path) -> None:
    """The last cell of each row names a test, except for the one attack that noisycount does not prevent."""
    bare = [row[0] for row in rows(text_of(page)) if not TESTED.search(row[-1])]
    assert set(bare) <= WITHOUT_A_TEST


def test_the_tests_look_at_something() -> None:
    """Many rows, many names."""
    found = NAMED.findall("".join(map(text_of, PAGES)))
    assert len(found) >= 30
    assert len(rows(text_of(ATTACKS))) >= 55
    assert sum(len(rows(text_of(page))) for page in PAGES) >= 100
    assert len(rows(sheet())) >= 10


def test_every_promise_states_its_limit() -> None:
    """A promise has four parts: subject, promised, not promised, and test."""
    assert {len([cell for cell in row if cell]) for row in rows(sheet())} == {4}


def test_the_table_of_promises_is_short() -> None:
    """An officer files the table of promises."""
    assert len(sheet().split()) <= LONGEST_SHEET
