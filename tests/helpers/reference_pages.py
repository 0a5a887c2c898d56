"""Pages of the reference: their tables and blocks."""

import re
from collections.abc import Iterator
from pathlib import Path

__all__ = ["FOLDER", "blocks", "rows", "section", "tables", "text"]

FOLDER = Path(__file__).parents[2] / "docs/reference"
_CELL = re.compile(r"(?<!\\)\|")


def text(page: str) -> str:
    """The text of a page."""
    return (FOLDER / page).read_text(encoding="utf-8")


def section(page: str, heading: str) -> str:
    """Return the text under a heading, up to the next heading of its level or above."""
    whole = text(page)
    match = re.search(rf"^(#+) {re.escape(heading)}$", whole, re.MULTILINE)
    assert match is not None, heading
    following = re.search(rf"^#{{1,{len(match[1])}}} ", whole[match.end() :], re.MULTILINE)
    return whole[match.end() :][: following.start() if following else None]


def tables(part: str) -> Iterator[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    """The tables of a text, each as its heading and its rows, cells without their back quotes."""
    for table in re.findall(r"(?:^\|.*\|$\n?)+", part, re.MULTILINE):
        heading, _, *found = (tuple(_cells(line)) for line in table.splitlines())
        assert all(len(row) == len(heading) for row in found), heading
        yield heading, found


def rows(part: str, *heading: str) -> list[tuple[str, ...]]:
    """The rows of all tables of a text that have this heading; there is at least one."""
    found = [row for head, listed in tables(part) if head == heading for row in listed]
    assert found, heading
    return found


def blocks(part: str, language: str) -> list[str]:
    """The blocks of a language, in order; there is at least one."""
    found = re.findall(rf"^```{re.escape(language)}\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)
    assert found, language
    return found


def _cells(line: str) -> Iterator[str]:
    """The cells of a row; one that is all code without what marks it as such."""
    for cell in _CELL.split(line.strip()[1:-1]):
        bare = cell.strip().replace("\\|", "|")
        code = re.fullmatch(r"`([^`]*)`", bare)
        yield code[1] if code else bare
