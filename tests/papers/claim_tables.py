"""The lists of claims on the page of papers; as a command, they are written anew.

Each section states how many claims of its papers and figures hold. Its list has the others: an item begins with the key
of the figure in code quotes, or with that of the paper for a claim outside the figures.
"""

import re
from pathlib import Path

from noisycount.papers.catalogue import claims, figure, figures
from noisycount.papers.figure import Claim, Verdict

__all__ = ["PAGE", "SECTIONS", "others", "row", "rows", "table"]

PAGE = Path(__file__).parents[2] / "docs/papers.md"

SECTIONS = {
    "The count given its answer": ("naldi2014", "ours.assumed"),
    "ε from an accuracy": ("naldi2015", "ours.first"),
    "Statistical privacy": ("breutigam", "ours.samples", "ours.price", "ours.knowledge"),
    "Sums of noises": ("ours.sums",),
    "Our own claims": ("ours.tables", "ours.ranges", "ours.coverage", "ours.repeated", "ours.overlap", "ours.rule"),
}

_ROW = re.compile(r"^\* `(\w+(?:\.\w+)?)` \*.*$", re.MULTILINE)
_TABLE = r"(^## {}\n.*?\n)Of \d+ claims, [^\n]*\n\n(?:\* `[^\n]*\n)+"


def rows(text: str) -> list[tuple[str, str]]:
    """Return the items of claims of a page, each with the key of its figure or paper."""
    return [(match[1], match[0]) for match in _ROW.finditer(text)]


def others(key: str) -> list[Claim]:
    """Return the claims of a figure, or of a paper outside its figures, that do not hold, or only in part."""
    return [claim for claim in _claims_of(key) if claim.verdict is not Verdict.HOLDS]


def row(key: str, claim: Claim) -> str:
    """Format a claim as an item: the claim with its source, our result, and the verdict if it does not hold at all."""
    verdict = " **Does not hold.**" if claim.verdict is Verdict.FAILS else ""
    return f"* `{key}` *{claim.says}* ({claim.source}): {claim.found}{verdict}"


def table(section: str) -> str:
    """Return the list of a section: the number of claims that hold, and an item for each of the others."""
    keys = [key for name in SECTIONS[section] for key in [*_figures_of(name), name]]
    number = sum(len(_claims_of(key)) for key in keys)
    lines = [row(key, claim) for key in keys for claim in others(key)]
    in_full = f"{number - len(lines)} hold" if number > len(lines) else "none holds"
    rest = "The others" if number > len(lines) else "They"
    head = f"Of {number} claims, {in_full} in full. {rest} hold in part, unless their line says otherwise:"
    return "\n".join([head, "", *lines]) + "\n"


def _figures_of(name: str) -> list[str]:
    """Return the keys of the figures of a paper; none for the name of a figure."""
    return [key for key in figures() if key.startswith(f"{name}.")]


def _claims_of(key: str) -> tuple[Claim, ...]:
    """Return the claims of a figure, or those of a paper outside its figures."""
    return figure(key).claims if "." in key else claims(key)


def _renewed(text: str) -> str:
    """Return a page with its tables of claims computed anew."""
    for section in SECTIONS:
        match = re.search(_TABLE.format(section), text, re.MULTILINE | re.DOTALL)
        if match is None:
            raise ValueError(f"the page of papers has no table of claims under {section!r}")
        text = text[: match.end(1)] + table(section) + text[match.end() :]
    return text


if __name__ == "__main__":
    PAGE.write_text(_renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
