"""The tables of claims on the pages of papers; as a command, they are written anew.

A row begins with the key of its figure in code quotes, or with that of its paper for what is said outside figures.
`python -m tests.papers.claim_tables` puts the claims of each in the place of the rows that begin with its key.
"""

import re
from pathlib import Path

from noisycount.papers.catalogue import claims, figure
from noisycount.papers.figure import Claim

__all__ = ["FOLDER", "PAGES", "claims_of", "row", "rows"]

FOLDER = Path(__file__).parents[2] / "docs/papers"
PAGES = sorted(FOLDER.glob("*.md"))

_ROW = re.compile(r"^\| `(\w+(?:\.\w+)?)` .*\|$", re.MULTILINE)


def rows(text: str) -> list[tuple[str, str]]:
    """The rows of a page that tell claims, each with the key of its figure or paper."""
    return [(found[1], found[0]) for found in _ROW.finditer(text)]


def claims_of(key: str) -> tuple[Claim, ...]:
    """The claims of a figure, or those of a paper outside its figures."""
    return figure(key).claims if "." in key else claims(key)


def row(key: str, claim: Claim) -> str:
    """A claim as a row: of what it is, what is said and what was found, and the verdict."""
    told = f"*{claim.says}* ({claim.source}) Found: {claim.found}".replace("|", "\\|")
    return f"| `{key}` {told} | {claim.verdict.value} |"


def _renewed(text: str) -> str:
    """A page with the claims as they are found now."""
    for key in dict.fromkeys(key for key, _ in rows(text)):
        old = [line for each, line in rows(text) if each == key]
        text = text.replace("\n".join(old), "\n".join(row(key, each) for each in claims_of(key)))
    return text


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(_renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
