"""All papers, and their figures by key."""

from collections.abc import Sequence

from noisycount.papers.breutigam import PAPER as BREUTIGAM
from noisycount.papers.figure import Claim, Figure, Paper
from noisycount.papers.naldi2014 import PAPER as NALDI2014
from noisycount.papers.naldi2015 import PAPER as NALDI2015
from noisycount.papers.ours import PAPER as OURS

PAPERS: tuple[Paper, ...] = (NALDI2014, NALDI2015, BREUTIGAM, OURS)  # in the order of a page


def figures() -> list[str]:
    """The keys of all figures that `figure` computes, in order.

    Example:
        >>> import noisycount as nc
        >>> nc.figures()[:2]
        ['naldi2014.1', 'naldi2014.2']
    """
    return chosen([])


def figure(key: str) -> Figure:
    """A figure of a paper or of our own, computed exactly, with what is claimed of it.

    Args:
        key: One of `figures()`.

    Raises:
        ValueError: There is no such figure.

    Example:
        >>> import noisycount as nc
        >>> shown = nc.figure("naldi2015.1")
        >>> shown.title, [claim.verdict.value for claim in shown.claims]
        ('Iso-λ curves', ['holds in part', 'holds'])
    """
    for paper in PAPERS:
        if key in paper.figures:
            return paper.figures[key]()
    raise ValueError(f"key must name a figure, got {key!r}: use one of {', '.join(figures())}")


def claims(paper: str | None = None) -> tuple[Claim, ...]:
    """What papers state outside their figures, each claim with what was found and a verdict.

    What they state of a figure is in `figure(key).claims`.

    Args:
        paper: The first part of the keys of its figures: naldi2014, naldi2015, breutigam, or ours,
            which claims nothing outside its figures. None: all papers.

    Raises:
        ValueError: There is no such paper.

    Example:
        >>> import noisycount as nc
        >>> (told,) = nc.claims("naldi2015")
        >>> told.source, told.found, told.verdict.value
        ('eq. (3)', 'from 0.99005 to 1.0101.', 'holds')
    """
    chosen = [each for each in PAPERS if paper in {None, each.key}]
    if chosen:
        return tuple(claim for each in chosen for claim in each.claims())
    keys = ", ".join(each.key for each in PAPERS)
    raise ValueError(f"paper must name a paper, got {paper!r}: use one of {keys}")


def chosen(names: Sequence[str]) -> list[str]:
    """The keys of figures that are named one by one or by their paper, in order; all for no name.

    Example:
        >>> chosen(["naldi2015", "naldi2014.1"])
        ['naldi2014.1', 'naldi2015.1', 'naldi2015.2']
    """
    papers = {paper.key: list(paper.figures) for paper in PAPERS}
    keys = [key for each in papers.values() for key in each]
    for name in names:
        if name not in papers and name not in keys:
            raise ValueError(f"only must name figures or papers, got {name!r}: use {_list(papers)}")
    return [key for key in keys if not names or key in names or key.rpartition(".")[0] in names]


def _list(papers: dict[str, list[str]]) -> str:
    """What may be named, on one line."""
    spans = [f"{key} ({keys[0]} to {keys[-1]})" for key, keys in papers.items() if key != "ours"]
    return ", ".join([*spans, *papers["ours"]])
