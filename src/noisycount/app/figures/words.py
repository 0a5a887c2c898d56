"""Figures in words: what each shows, and how many of its claims hold."""

from collections import Counter
from collections.abc import Iterator, Sequence

from noisycount.app.figures.sections import Section
from noisycount.study.claim import Claim, Verdict

__all__ = ["OUTSIDE", "counted", "figure_header", "figure_rows"]

OUTSIDE = "Numbers outside the figures"

_HEADS = {Verdict.HOLDS: "holds", Verdict.PARTLY: "in part", Verdict.FAILS: "not"}


def counted(verdicts: Sequence[Verdict]) -> str:
    """How many claims hold, in words.

    Example:
        >>> counted([Verdict.HOLDS, Verdict.FAILS, Verdict.HOLDS])
        '2 hold, 1 does not hold'
    """
    words = {
        Verdict.HOLDS: ("holds", "hold"),
        Verdict.PARTLY: ("holds in part", "hold in part"),
        Verdict.FAILS: ("does not hold", "do not hold"),
    }
    counts = Counter(verdicts)
    return ", ".join(
        f"{counts[verdict]} {words[verdict][counts[verdict] != 1]}"
        for verdict in Verdict
        if counts[verdict]
    )


def figure_header() -> tuple[str, ...]:
    """The names of the columns."""
    return "figure", "shows", *_HEADS.values()


def figure_rows(sections: Sequence[Section]) -> list[tuple[str, ...]]:
    """One line a figure, and one for a paper's other claims, with cells as `figure_header` says."""
    return [row for section in sections for row in _section_rows(section)]


def _section_rows(section: Section) -> Iterator[tuple[str, ...]]:
    """The lines of one paper."""
    for figure in section.figures:
        yield figure.key, figure.title, *_counts(figure.claims)
    if section.claims:
        yield section.paper.key, OUTSIDE, *_counts(section.claims)


def _counts(claims: Sequence[Claim]) -> list[str]:
    """How many claims have each verdict."""
    counts = Counter(claim.verdict for claim in claims)
    return [str(counts[verdict] or "") for verdict in _HEADS]
