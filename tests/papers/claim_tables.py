"""The tables of claims on the page of papers; as a command, they are written anew.

A row begins with the key of its figure in code quotes, or with that of its paper for a claim outside the figures.
`python -m tests.papers.claim_tables` puts the claims of each key in the place of the rows that begin with this key.
"""

import re
from pathlib import Path

from noisycount.papers.catalogue import claims, figure
from noisycount.papers.figure import Claim, Verdict

__all__ = ["PAGE", "claims_of", "row", "rows"]

PAGE = Path(__file__).parents[2] / "docs/papers.md"

_ROW = re.compile(r"^\| `(\w+(?:\.\w+)?)` .*\|$", re.MULTILINE)


def rows(text: str) -> list[tuple[str, str]]:
    """Return the rows of claims of a page, each with the key of its figure or paper."""
    return [(match[1], match[0]) for match in _ROW.finditer(text)]


def claims_of(key: str) -> tuple[Claim, ...]:
    """Return the claims of a figure, or those of a paper outside its figures."""
    return figure(key).claims if "." in key else claims(key)


def row(key: str, claim: Claim) -> str:
    """Format a claim as a row: the claim with its source, our result unless the claim holds, and the verdict."""
    result = "" if claim.verdict is Verdict.HOLDS else f" Found: {claim.found}"
    text = f"*{claim.says}* ({claim.source}){result}".replace("|", "\\|")
    return f"| `{key}` {text} | {claim.verdict.value} |"


def _renewed(text: str) -> str:
    """Return a page with its rows of claims computed anew."""
    for key in dict.fromkeys(key for key, _ in rows(text)):
        old = [line for each, line in rows(text) if each == key]
        text = text.replace("\n".join(old), "\n".join(row(key, each) for each in claims_of(key)))
    return text


if __name__ == "__main__":
    PAGE.write_text(_renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
