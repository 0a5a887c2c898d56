"""Our own figures: `PAPER` lists them all; here are the bound on sums of noises and the cost of a wrong rate.

The others are in `our_privacy`, `our_tables`, `our_lists` and `our_first`.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from noisycount.analysis.accuracy import chan_bound, failure_probability
from noisycount.analysis.evaluation.evaluation import Estimated, break_even_rates, mean_absolute_error
from noisycount.analysis.relative_error import epsilon_of_group
from noisycount.charts.plot import Line, Panel
from noisycount.charts.theme import DOTS, GUIDE, LONG, MIXED, SOLID, STYLES, Style
from noisycount.model.noises.laplace import Laplace
from noisycount.model.noises.noise_sum import NoiseSum
from noisycount.model.populations.binomial import BetaBinomial, Binomial
from noisycount.model.searches import Bracket, root
from noisycount.papers.figure import Claim, Drawing, Verdict, number, paper_of_key, percent
from noisycount.papers.our_first import first
from noisycount.papers.our_lists import overlap, repeated, rule
from noisycount.papers.our_privacy import knowledge, price, samples
from noisycount.papers.our_tables import coverage, ranges, tables

BETAS = tuple(float(beta) for beta in np.geomspace(1e-3, 0.9, 45))
NOISES = (2, 20)


def printed_bound(noises: int, beta: float) -> float:
    """Return √(Σb²)·ln(1/β) for `noises` noises of scale 1: the bound without its constants."""
    return math.sqrt(noises) * math.log(1 / beta)


def failures(noises: int, beta: float) -> float:
    """Return the probability that the error of a sum reaches the printed bound, divided by the promised β."""
    return failure_probability(_noise_sum(noises), printed_bound(noises, beta)) / beta


def sums() -> Drawing:
    """Return the figure of the failure probability of bounds on a sum of Laplace noises, over the promised one."""
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
            tuple(failure_probability(_noise_sum(noises), chan_bound([1] * noises, beta)) / beta for beta in BETAS),
        )
        for noises, dash in zip(NOISES, (MIXED, DOTS), strict=True)
    ]
    return Drawing(
        (Panel("", (*lines, *constants, Line("", GUIDE, (BETAS[0], BETAS[-1]), (1, 1)))),),
        _claims_about_sums(),
    )


def _claims_about_sums() -> tuple[Claim, ...]:
    breaks = root(lambda beta: failures(2, beta) - 1, Bracket(0.01, 0.3)).high
    two, twenty = failures(2, 0.3) * 0.3, failures(20, 0.5) * 0.5
    are_kept = [failures(noises, beta) <= 1 for noises in NOISES for beta in BETAS]
    added = epsilon_of_group(0.1, 2, disjoint=True)
    replaced = epsilon_of_group(0.1, 2, disjoint=True, replaced=True)
    return (
        Claim(
            "numeric queries, additive bound",
            "P[Y ≥ √(Σb²)·ln(1/β)] ≤ β, where Y is “interchangeable with” the size of the error, |M(D) − f(D)|.",
            f"for two equal noises only up to β = {number(breaks)}; at β = 0.3 the probability is "
            f"{number(two, 4)}, and for twenty at β = 0.5 it is {number(twenty, 4)}. Of Y with its sign they are half "
            "as large, and these cases hold.",
            Verdict.of(*are_kept),
        ),
        Claim(
            "example",
            "Two disjoint parts counted at ε each cost ε together, by parallel composition.",
            f"at ε = 0.1 together {float(added):g} if neighbours differ by a record more or less; {float(replaced):g} "
            "if the size is public and a record is replaced, as it can leave one part for the other.",
            Verdict.of(float(added) == 0.1, float(replaced) == 0.1),  # noqa: PLR2004  (ε itself)
        ),
    )


def _noise_sum(noises: int) -> NoiseSum:
    return NoiseSum([Laplace(1.0)] * noises)


SIZES = (100, 1000)
RATE, EPSILON = 0.3, 0.1
DEVIATION = 0.03  # standard deviation of an uncertain rate
COARSE = tuple(step / 50 for step in range(5, 26))
FINE = tuple(sorted({*COARSE, *(step / 400 for step in range(108, 133))}))  # near the true rate
ENDS = (COARSE[0], COARSE[-1])
MOST = 16.0  # largest error in the figure, in records
UNSURE = f"mean ±{percent(DEVIATION)}"

# Function that returns the assumed distribution of the count for a size and a rate.
AssumedDistribution = Callable[[int, float], Binomial | BetaBinomial]


def uncertain(size: int, rate: float) -> BetaBinomial:
    """Return the distribution of the count if the rate is uncertain, with a standard deviation of 0.03."""
    return BetaBinomial.from_rate(size, rate, DEVIATION)


def error(size: int, estimate: Estimated, assumed: AssumedDistribution, rate: float) -> float:
    """Return the average error of an estimate that assumes a rate; the true rate is 0.3."""
    noise, truth = Laplace.for_epsilon(EPSILON), Binomial(size, RATE)
    return mean_absolute_error(truth, noise, estimate, assumed(size, rate))


def wrong_rate() -> Drawing:
    """Return the figure of the errors of posterior mean and median against the assumed rate."""
    return Drawing(
        tuple(_size_panel(size) for size in SIZES),
        _claims_wrong_rate(),
    )


def _size_panel(size: int) -> Panel:
    lines = (
        Line("answer", STYLES["answer"], ENDS, (1 / EPSILON,) * 2),
        _error_line("mean", STYLES["mean"], FINE, lambda rate: error(size, "mean", Binomial, rate)),
        _error_line("median", STYLES["median"], FINE, lambda rate: error(size, "median", Binomial, rate)),
        _error_line(UNSURE, STYLES["mean"].dashed(DOTS), COARSE, lambda rate: error(size, "mean", uncertain, rate)),
        Line("", GUIDE, (RATE, RATE), (0.0, MOST)),
    )
    return Panel(f"n = {size:,}", lines)


def _error_line(name: str, style: Style, rates: Sequence[float], error_at: Callable[[float], float]) -> Line:
    """Return the line of an error against the assumed rate, without the points above the largest drawn error."""
    points = [(rate, error_at(rate)) for rate in rates]
    return Line.through(name, style, [point for point in points if point[1] <= MOST])


def _claims_wrong_rate() -> tuple[Claim, ...]:
    spans_text = "; ".join(
        f"n = {size:,}: from {_better_rates(size, 0.0)} taken for certain, from {_better_rates(size, DEVIATION)} "
        f"taken for uncertain by ±{percent(DEVIATION)}"
        for size in SIZES
    )
    better = [error(size, "mean", Binomial, rate) < 1 / EPSILON for size in SIZES for rate in COARSE]
    return (
        Claim(
            "section 5",
            "The Bayesian approach provides a better estimate in all cases.",
            f"with a wrong rate the mean is better than the answer only near the true {percent(RATE)}. {spans_text}.",
            Verdict.of(*better),
        ),
    )


def _better_rates(size: int, deviation: float) -> str:
    """Return the range of assumed rates in which the posterior mean has a smaller error than the answer, as text."""
    truth, noise = Binomial(size, RATE), Laplace.for_epsilon(EPSILON)
    low, high = break_even_rates(truth, noise, "mean", deviation)
    return f"{number(100 * low)} % to {number(100 * high)} %"


# All of our figures, in the form of a paper.
PAPER = paper_of_key(
    "ours",
    {
        "sums": sums,
        "samples": samples,
        "price": price,
        "knowledge": knowledge,
        "assumed": wrong_rate,
        "tables": tables,
        "ranges": ranges,
        "coverage": coverage,
        "repeated": repeated,
        "overlap": overlap,
        "rule": rule,
        "first": first,
    },
)
