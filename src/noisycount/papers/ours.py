"""Our figure of sums of noises: the bound that a blog post prints beside the exact tail.

Our figure of wrong assumptions: the error of an estimate against the rate it assumes.

Figures of our own: sums of noises, samples, prices, knowledge, wrong rates, tables, lists, accuracy first.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from noisycount.analysis.accuracy import chan_bound, failure_probability
from noisycount.analysis.evaluation.evaluation import Estimated, break_even_rates, mean_absolute_error
from noisycount.analysis.relative_error import epsilon_of_group
from noisycount.charts.plot import Axis, Line, Panel
from noisycount.charts.theme import DOTS, GUIDE, LONG, MIXED, SOLID, STYLES, Style
from noisycount.model.noises.laplace import Laplace
from noisycount.model.noises.noise_sum import NoiseSum
from noisycount.model.populations.binomial import BetaBinomial, Binomial
from noisycount.model.searches import Bracket, root
from noisycount.papers.figure import Claim, Figure, Paper, Verdict, number, percent
from noisycount.papers.our_first import first
from noisycount.papers.our_lists import overlap, repeated, rule
from noisycount.papers.our_privacy import knowledge, price, samples
from noisycount.papers.our_tables import coverage, ranges, tables

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
            f"printed, {noises}", STYLES["printed"].dashed(dash), BETAS, tuple(failures(noises, beta) for beta in BETAS)
        )
        for noises, dash in zip(NOISES, (SOLID, LONG), strict=True)
    ]
    constants = [
        Line(
            f"Chan et al., {noises}",
            STYLES["proved"].dashed(dash),
            BETAS,
            tuple(failure_probability(_total(noises), chan_bound([1] * noises, beta)) / beta for beta in BETAS),
        )
        for noises, dash in zip(NOISES, (MIXED, DOTS), strict=True)
    ]
    return Figure(
        key="ours.sums",
        source="noisycount",
        number="after Analyzing Utility of Private Mechanisms (blog post)",
        title="Bounds of the error of a sum of noises",
        caption="The probability that the sum of 2 or 20 equal Laplace noises exceeds a bound, over the β that the "
        "bound promises; more than 1 (dashed) breaks the promise. Printed: √(Σb²)·ln(1/β). Chan et al.: with the "
        "constants of Chan, Shi and Song (2011). Both axes are logarithmic.",
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
            "P[Y ≥ √(Σb²)·ln(1/β)] ≤ β, where Y is “interchangeable with” the size of the error, |M(D) − f(D)|.",
            f"for two equal noises only up to β = {number(breaks)}; at β = 0.3 the probability is "
            f"{number(two, 4)}, and for twenty at β = 0.5 it is {number(twenty, 4)}. Of Y with its sign they are half "
            "as large, and these cases hold.",
            Verdict.of(*kept),
        ),
        Claim(
            "example",
            "Two disjoint parts counted at ε each cost ε together, by parallel composition.",
            f"at ε = 0.1 together {float(added):g} if neighbours differ by a record more or less; {float(replaced):g} "
            "if the size is public and a record is replaced, as it can leave one part for the other.",
            Verdict.of(float(added) == 0.1, float(replaced) == 0.1),  # noqa: PLR2004  (ε itself)
        ),
    )


def _total(noises: int) -> NoiseSum:
    return NoiseSum([Laplace(1.0)] * noises)


SIZES = (100, 1000)
RATE, EPSILON = 0.3, 0.1
DEVIATION = 0.03  # of an uncertain rate
COARSE = tuple(each / 50 for each in range(5, 26))
FINE = tuple(sorted({*COARSE, *(each / 400 for each in range(108, 133))}))  # near the true rate
ENDS = (COARSE[0], COARSE[-1])
MOST = 16.0  # errors that are drawn, in records
UNSURE = f"mean ±{percent(DEVIATION)}"

# What somebody believes who assumes a rate, from a size and that rate.
Believed = Callable[[int, float], Binomial | BetaBinomial]


def uncertain(size: int, rate: float) -> BetaBinomial:
    """The belief of somebody who takes a rate for uncertain."""
    return BetaBinomial.from_rate(size, rate, DEVIATION)


def error(size: int, by: Estimated, believed: Believed, rate: float) -> float:
    """The average error of an estimate that assumes a rate."""
    noise, truth = Laplace.for_epsilon(EPSILON), Binomial(size, RATE)
    return mean_absolute_error(truth, noise, by, believed(size, rate))


def wrong_rate() -> Figure:
    """The error of mean and median against the assumed rate, taken for certain or uncertain."""
    return Figure(
        key="ours.assumed",
        source="noisycount",
        number="after Naldi and D'Acquisto (2014), section 3.2",
        title="What does a wrong rate cost?",
        caption=f"The true rate is {percent(RATE)} (dashed line), ε = {EPSILON}. Mean and "
        "median: the posterior mean and median of somebody who takes the assumed rate for certain; "
        f"{UNSURE}: of somebody who takes it for uncertain, with that standard deviation.",
        x=Axis("assumed rate", low=ENDS[0], high=ENDS[1], is_share=True),
        y=Axis("average error", "records", low=0.0, high=MOST),
        panels=tuple(_panel(size) for size in SIZES),
        claims=_claims_wrong_rate(),
    )


def _panel(size: int) -> Panel:
    lines = (
        Line("answer", STYLES["answer"], ENDS, (1 / EPSILON,) * 2),
        _line("mean", STYLES["mean"], FINE, lambda rate: error(size, "mean", Binomial, rate)),
        _line("median", STYLES["median"], FINE, lambda rate: error(size, "median", Binomial, rate)),
        _line(UNSURE, STYLES["mean"].dashed(DOTS), COARSE, lambda rate: error(size, "mean", uncertain, rate)),
        Line("", GUIDE, (RATE, RATE), (0.0, MOST)),
    )
    return Panel(f"n = {size:,}", lines)


def _line(name: str, style: Style, rates: Sequence[float], found: Callable[[float], float]) -> Line:
    """A line as far as it lies on the axis."""
    points = [(rate, found(rate)) for rate in rates]
    return Line.through(name, style, [point for point in points if point[1] <= MOST])


def _claims_wrong_rate() -> tuple[Claim, ...]:
    shown = "; ".join(
        f"n = {size:,}: from {_span(size, 0.0)} taken for certain, from {_span(size, DEVIATION)} "
        f"taken for uncertain by ±{percent(DEVIATION)}"
        for size in SIZES
    )
    better = [error(size, "mean", Binomial, rate) < 1 / EPSILON for size in SIZES for rate in COARSE]
    return (
        Claim(
            "section 5",
            "The Bayesian approach provides a better estimate in all cases.",
            f"with a wrong rate the mean is better than the answer only near the true {percent(RATE)}. {shown}.",
            Verdict.of(*better),
        ),
    )


def _span(size: int, deviation: float) -> str:
    """Between which assumed rates the mean beats the answer."""
    truth, noise = Binomial(size, RATE), Laplace.for_epsilon(EPSILON)
    low, high = break_even_rates(truth, noise, "mean", deviation)
    return f"{number(100 * low)} % to {number(100 * high)} %"


# Our figures, as if of a paper.
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
        "ours.first": first,
    },
)
