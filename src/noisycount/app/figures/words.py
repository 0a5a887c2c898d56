"""Figures in words: what each shows, and how many of its claims hold."""

from collections import Counter
from collections.abc import Sequence

from noisycount.app.figures.sections import Section
from noisycount.study.claim import Verdict
from noisycount.study.figure import Figure

__all__ = ["figure_header", "figure_rows"]

_HEADS = {Verdict.HOLDS: "holds", Verdict.PARTLY: "in part", Verdict.FAILS: "not"}


def figure_header() -> tuple[str, ...]:
    """The names of the columns."""
    return "figure", "shows", *_HEADS.values()


def figure_rows(sections: Sequence[Section]) -> list[tuple[str, ...]]:
    """One line a figure, with cells as `figure_header` names them."""
    return [
        (figure.key, figure.title, *_counts(figure))
        for section in sections
        for figure in section.figures
    ]


def _counts(figure: Figure) -> list[str]:
    """How many claims have each verdict."""
    counts = Counter(claim.verdict for claim in figure.claims)
    return [str(counts[verdict] or "") for verdict in _HEADS]
