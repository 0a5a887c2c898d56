"""Lookup of figures and claims by key: the public functions `figures`, `figure` and `claims`.

`PAPERS` lists the papers; each has a module of its own, such as `naldi2014`.
"""

from collections.abc import Sequence

from noisycount.papers.breutigam import PAPER as BREUTIGAM
from noisycount.papers.figure import Claim, Figure, Paper
from noisycount.papers.naldi2014 import PAPER as NALDI2014
from noisycount.papers.naldi2015 import PAPER as NALDI2015
from noisycount.papers.ours import PAPER as OURS

PAPERS: tuple[Paper, ...] = (NALDI2014, NALDI2015, BREUTIGAM, OURS)  # in the order of the page


def figures() -> list[str]:
    """Return the keys of all figures that `figure` computes, in order.

    Example:
        >>> import noisycount as nc
        >>> nc.figures()[:2]
        ['naldi2014.1', 'naldi2014.2']
    """
    return select_keys([])


def figure(key: str) -> Figure:
    """Return a figure of a paper, or one of ours, computed exactly, with the claims about it.

    Args:
        key: One of `figures()`.

    Raises:
        ValueError: No figure has this key.

    Example:
        >>> import noisycount as nc
        >>> iso_curves = nc.figure("naldi2015.1")
        >>> iso_curves.title, [claim.verdict.value for claim in iso_curves.claims]
        ('Iso-λ curves', ['holds in part', 'holds'])
    """
    for paper in PAPERS:
        if key in paper.figures:
            return paper.figures[key]()
    raise ValueError(f"key must name a figure, got {key!r}: use one of {', '.join(figures())}")


def claims(paper: str | None = None) -> tuple[Claim, ...]:
    """Return the claims of papers outside their figures, each with our numbers and a verdict.

    The claims about a figure are in `figure(key).claims`.

    Args:
        paper: The first part of the keys of its figures: naldi2014, naldi2015, breutigam, or ours,
            which claims nothing outside its figures. None: all papers.

    Raises:
        ValueError: No paper has this key.

    Example:
        >>> import noisycount as nc
        >>> (claim,) = nc.claims("naldi2015")
        >>> claim.source, claim.found, claim.verdict.value
        ('eq. (3)', 'from 0.99005 to 1.0101.', 'holds')
    """
    selected = [candidate for candidate in PAPERS if paper in {None, candidate.key}]
    if selected:
        return tuple(claim for candidate in selected for claim in candidate.claims())
    keys = ", ".join(candidate.key for candidate in PAPERS)
    raise ValueError(f"paper must be one of {keys}, got {paper!r}: for claims about a figure use figure(key).claims")


def select_keys(names: Sequence[str]) -> list[str]:
    """Return the keys of the named figures, in order. A name is the key of a figure or of a paper; no name selects all.

    Example:
        >>> select_keys(["naldi2015", "naldi2014.1"])
        ['naldi2014.1', 'naldi2015.1', 'naldi2015.2']
    """
    papers = {paper.key: list(paper.figures) for paper in PAPERS}
    keys = [key for paper_keys in papers.values() for key in paper_keys]
    for name in names:
        if name not in papers and name not in keys:
            raise ValueError(f"only must name figures or papers, got {name!r}: use {_describe_keys(papers)}")
    return [key for key in keys if not names or key in names or key.rpartition(".")[0] in names]


def _describe_keys(papers: dict[str, list[str]]) -> str:
    """Return the accepted names of papers and figures on one line."""
    spans = [f"{key} ({keys[0]} to {keys[-1]})" for key, keys in papers.items() if key != "ours"]
    return ", ".join([*spans, *papers["ours"]])
