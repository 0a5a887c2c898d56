"""The figures that were chosen, by paper."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from noisycount.app.terminal.progress import Done
from noisycount.study.claim import Claim
from noisycount.study.figure import Figure
from noisycount.study.papers.catalogue import PAPERS
from noisycount.study.papers.paper import Paper

__all__ = ["Section", "computed"]


@dataclass(frozen=True, slots=True)
class Section:
    """A paper, as far as it is shown.

    Attributes:
        paper: Where the figures appeared.
        figures: Those that are shown.
        claims: What the paper states outside its figures; none where some of them are left out.
    """

    paper: Paper
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...] = ()

    @property
    def all_claims(self) -> Iterator[Claim]:
        """The claims of the figures, then those outside them."""
        for figure in self.figures:
            yield from figure.claims
        yield from self.claims


def computed(keys: Sequence[str], done: Done) -> list[Section]:
    """A section for each paper of which a figure was chosen.

    Args:
        keys: The figures that were chosen.
        done: Told from time to time which share of the work is done.
    """
    sections: list[Section] = []
    finished = 0
    for paper in PAPERS:
        figures = []
        for key in (key for key in paper.figures if key in keys):
            figures.append(paper.figures[key]())
            finished += 1
            done(finished / len(keys))
        if figures:
            is_whole = len(figures) == len(paper.figures)
            sections.append(Section(paper, tuple(figures), paper.claims() if is_whole else ()))
    return sections
