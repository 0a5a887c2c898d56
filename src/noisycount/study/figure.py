"""A figure of a paper: a plot, and what is claimed of it."""

from dataclasses import dataclass

from noisycount.charts.plot import Plot
from noisycount.study.claim import Claim

__all__ = ["Figure"]


@dataclass(frozen=True, slots=True)
class Figure(Plot):
    """A plot, with what is claimed of it.

    Args:
        claims: What the text says of it, with our verdicts.
    """

    claims: tuple[Claim, ...] = ()
