"""Figures of our own: sums of noises, samples, prices, knowledge, wrong rates, tables, lists."""

from noisycount.study.papers.ours.lists import overlap, repeated, rule
from noisycount.study.papers.ours.privacy import knowledge, price, samples
from noisycount.study.papers.ours.sums import sums
from noisycount.study.papers.ours.tables import coverage, ranges, tables
from noisycount.study.papers.ours.wrong_rate import wrong_rate
from noisycount.study.papers.paper import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    key="ours",
    name="noisycount",
    reference="figures that the texts leave out",
    figures={
        "ours.sums": sums,
        "ours.samples": samples,
        "ours.price": price,
        "ours.knowledge": knowledge,
        "ours.assumed": wrong_rate,
        "ours.tables": tables,
        "ours.ranges": ranges,
        "ours.coverage": coverage,
        "ours.repeated": repeated,
        "ours.overlap": overlap,
        "ours.rule": rule,
    },
)
"""Our figures, as if of a paper."""
