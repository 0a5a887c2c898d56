"""Our figure of sums of noises: the bound that a blog post prints beside the exact tail."""

import math

import numpy as np

from noisycount.analysis.accuracy.accuracy import chan_bound, failure_probability
from noisycount.analysis.accuracy.prices import epsilon_of_group
from noisycount.charts.plot.plot import Axis, Line, Panel
from noisycount.charts.theme import DOTS, GUIDE, LONG, MIXED, SOLID, STYLES
from noisycount.model.noises.laplace import Laplace
from noisycount.model.noises.noise_sum import NoiseSum
from noisycount.model.search import Bracket, root
from noisycount.study.claim import Claim, Verdict
from noisycount.study.figure import Figure
from noisycount.study.papers.paper import number

__all__ = ["printed_bound", "sums"]

BETAS = tuple(float(beta) for beta in np.geomspace(1e-3, 0.9, 45))
NOISES = (2, 20)


def printed_bound(noises: int, beta: float) -> float:
    """√(Σb²)·ln(1/β) for so many noises of scale 1, the bound without its constants."""
    return math.sqrt(noises) * math.log(1 / beta)


def failures(noises: int, beta: float) -> float:
    """How often the error of a sum reaches the printed bound, over the promised β."""
    return failure_probability(_total(noises), printed_bound(noises, beta)) / beta


def sums() -> Figure:
    """How often bounds of a sum of Laplace noises fail, over what they promise."""
    lines = [
        Line(
            f"printed, {noises}",
            STYLES["printed"].dashed(dash),
            BETAS,
            tuple(failures(noises, beta) for beta in BETAS),
        )
        for noises, dash in zip(NOISES, (SOLID, LONG), strict=True)
    ]
    constants = [
        Line(
            f"Chan et al., {noises}",
            STYLES["proved"].dashed(dash),
            BETAS,
            tuple(
                failure_probability(_total(noises), chan_bound([1] * noises, beta)) / beta
                for beta in BETAS
            ),
        )
        for noises, dash in zip(NOISES, (MIXED, DOTS), strict=True)
    ]
    return Figure(
        key="ours.sums",
        source="noisycount",
        number="after Analyzing Utility of Private Mechanisms (blog post)",
        title="Bounds of the error of a sum of noises",
        caption="The probability that the sum of 2 or 20 equal Laplace noises exceeds a bound, "
        "over the β that the bound promises; more than 1 (dashed) breaks the promise. Printed: "
        "√(Σb²)·ln(1/β). Chan et al.: with the constants of Chan, Shi and Song (2011). Both axes "
        "are logarithmic.",
        x=Axis("promised probability of failure β", is_log=True, ticks=(0.001, 0.01, 0.1, 0.9)),
        y=Axis("true probability/β", is_log=True, low=1e-6, high=3.0, ticks=(1e-6, 1e-4, 0.01, 1)),
        panels=(Panel("", (*lines, *constants, Line("", GUIDE, (BETAS[0], BETAS[-1]), (1, 1)))),),
        claims=_claims(),
    )


def _claims() -> tuple[Claim, ...]:
    breaks = root(lambda beta: failures(2, beta) - 1, Bracket(0.01, 0.3)).high
    two, twenty = failures(2, 0.3) * 0.3, failures(20, 0.5) * 0.5
    kept = [failures(noises, beta) <= 1 for noises in NOISES for beta in BETAS]
    added = epsilon_of_group(0.1, 2, disjoint=True)
    replaced = epsilon_of_group(0.1, 2, disjoint=True, replaced=True)
    return (
        Claim(
            "numeric queries, additive bound",
            "P[Y ≥ √(Σb²)·ln(1/β)] ≤ β.",
            f"for two equal noises only up to β = {number(breaks)}; at β = 0.3 the probability is "
            f"{number(two, 4)}, and for twenty at β = 0.5 it is {number(twenty, 4)}.",
            Verdict.of(*kept),
        ),
        Claim(
            "example",
            "Two disjoint parts counted at ε each cost ε together, by parallel composition.",
            f"at ε = 0.1 together {float(added):g} if neighbours differ by a record more or less; "
            f"{float(replaced):g} if the size is public and a record is replaced, as it can leave "
            "one part for the other.",
            Verdict.of(float(added) == 0.1, float(replaced) == 0.1),  # noqa: PLR2004  (ε itself)
        ),
    )


def _total(noises: int) -> NoiseSum:
    return NoiseSum([Laplace(1.0)] * noises)
