"""Naldi and D'Acquisto (2015), *Choosing Epsilon*: ε from a relative half-width and a confidence, Fig. 1 and 2.

The formulas are in `analysis.relative_error`; `PAPER` lists the figures.
"""

import math
from itertools import pairwise

import numpy as np

from noisycount.analysis import relative_error
from noisycount.charts.plot import Line
from noisycount.charts.theme import LEVELS
from noisycount.papers.figure import ClaimCheck, Drawing, paper_of_key

COUNT = 100  # c in Fig. 1
EPSILONS = (0.02, 0.05, 0.1, 0.2)
CONFIDENCES = tuple(float(p) for p in np.linspace(0.5, 0.99, 50))
GOALS = ((0.1, 0.95), (0.2, 0.95), (0.2, 0.8))  # (w, p) in Fig. 2
COUNTS = tuple(float(count) for count in np.geomspace(10, 1000, 41))
PRINTED = 0.08  # λ of the example in section 3
RATIOS = (0.99, 1.01)  # the interval of eq. (3), at ε = 0.01


def iso_epsilons() -> Drawing:
    """Return Fig. 1: the relative half-width against the confidence, a line for each ε."""
    curves = relative_error.iso_epsilon_curves(COUNT, list(EPSILONS), list(CONFIDENCES))
    lines = [
        Line(f"λ = {epsilon:g}", style, CONFIDENCES, tuple(map(float, curve)))
        for epsilon, curve, style in zip(EPSILONS, curves, LEVELS, strict=True)
    ]
    return Drawing.from_lines(lines, _check_example(), _check_wider_interval())


def _check_example() -> ClaimCheck:
    exact = relative_error.epsilon_for_relative_error(COUNT, 0.2, 0.8)
    printed = math.log(1 - 0.8) / (0.2 * COUNT)
    return ClaimCheck({"printed": printed, "exact": exact}, [round(exact, 2) == PRINTED, round(printed, 2) == PRINTED])


def _check_wider_interval() -> ClaimCheck:
    widths = [100 * relative_error.relative_error(COUNT, 0.8, epsilon) for epsilon in EPSILONS]
    return ClaimCheck({"widths": widths}, [wide > narrow for wide, narrow in pairwise(widths)])


def epsilon_against_count() -> Drawing:
    """Return Fig. 2: ε against the true count, for three pairs of half-width and confidence."""
    lines = [
        Line(
            f"±{100 * within:g} %, {100 * confidence:g} %",
            style,
            COUNTS,
            tuple(relative_error.epsilon_for_relative_error(count, within, confidence) for count in COUNTS),
        )
        for (within, confidence), style in zip(GOALS, LEVELS, strict=False)
    ]
    check = ClaimCheck(
        {"ends": [(line.ys[0], line.ys[-1]) for line in lines]}, [a > b for line in lines for a, b in pairwise(line.ys)]
    )
    return Drawing.from_lines(lines, check, _check_interval_reveals_count())


def _check_interval_reveals_count() -> ClaimCheck:
    epsilons = [relative_error.epsilon_for_relative_error(COUNT + step, 0.2, 0.8) for step in (-1, 0, 1)]
    counts = [relative_error.count_for_relative_error(0.2, 0.8, epsilon) for epsilon in epsilons]
    confidences = [
        relative_error.relative_confidence(c, 0.2, epsilon) for c, epsilon in zip(counts, epsilons, strict=True)
    ]
    return ClaimCheck(
        {"counts": counts, "epsilons": epsilons},
        [all(math.isclose(confidence, 0.8) for confidence in confidences), math.isclose(epsilons[0], epsilons[-1])],
    )


def claim_checks() -> tuple[ClaimCheck, ...]:
    """Return the claim about the interval of eq. (3)."""
    ends = math.exp(-0.01), math.exp(0.01)
    return (ClaimCheck({"ends": ends}, [(round(ends[0], 2), round(ends[1], 2)) == RATIOS]),)


PAPER = paper_of_key("naldi2015", {"1": iso_epsilons, "2": epsilon_against_count}, claim_checks)
