"""The tables of claims on the pages of papers; as a command, they are written anew.

A row begins with the key of its figure in code quotes. `python -m tests.study.claim_tables` puts
the claims of each figure in the place of the rows that begin with its key.
"""

import re
from pathlib import Path

from noisycount.study.claim import Claim
from noisycount.study.figure import Figure
from noisycount.study.papers.catalogue import figure

__all__ = ["FOLDER", "PAGES", "row", "rows"]

FOLDER = Path(__file__).parents[2] / "docs/papers"
PAGES = sorted(FOLDER.glob("*.md"))

_ROW = re.compile(r"^\| `(\w+\.\w+)` .*\|$", re.MULTILINE)


def rows(text: str) -> list[tuple[str, str]]:
    """The rows of a page that tell claims, each with the key of its figure."""
    return [(found[1], found[0]) for found in _ROW.finditer(text)]


def row(shown: Figure, claim: Claim) -> str:
    """A claim as a row: the figure, what is said and what was found, and the verdict."""
    told = f"*{claim.says}* ({claim.source}) Found: {claim.found}".replace("|", "\\|")
    return f"| `{shown.key}` {told} | {claim.verdict.value} |"


def _renewed(text: str) -> str:
    """A page with the claims as they are found now."""
    for key in dict.fromkeys(key for key, _ in rows(text)):
        shown = figure(key)
        old = [line for each, line in rows(text) if each == key]
        text = text.replace("\n".join(old), "\n".join(row(shown, each) for each in shown.claims))
    return text


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(_renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
