"""Our own figures: `PAPER` lists them all. Those on privacy, lists and tables are in `our_privacy` and so on.

This module has the figures on the bound on sums of noises, the cost of a wrong rate, and the price of an accuracy goal
without a guess of the count. The stopping rule of such a goal is in `analysis.within`.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from noisycount.analysis.accuracy import chan_bound, failure_probability
from noisycount.analysis.evaluation.evaluation import EstimateKind, break_even_rates, mean_absolute_error
from noisycount.analysis.relative_error import epsilon_for_relative_error, epsilon_of_group, relative_confidence
from noisycount.analysis.within import coverage as goal_coverage
from noisycount.analysis.within import knowing_price, mean_price, stopping_rule
from noisycount.charts.plot import Line, Panel
from noisycount.charts.theme import DENSE, DOTS, GUIDE, LEVELS, LONG, MIXED, PAIRS, SOLID, STYLES, Style
from noisycount.model.noises.laplace import Laplace
from noisycount.model.noises.noise_sum import NoiseSum
from noisycount.model.populations.binomial import BetaBinomial, Binomial
from noisycount.model.searches import Bracket, root
from noisycount.papers.figure import ClaimCheck, Drawing, extremes, paper_of_key, percent
from noisycount.papers.our_lists import overlapping_queries, repeated_query, rule_for_lists
from noisycount.papers.our_privacy import background_knowledge, bounds_of_samples, delta_against_error
from noisycount.papers.our_tables import coverage, errors_of_cells, errors_of_ranges

BETAS = tuple(float(beta) for beta in np.geomspace(1e-3, 0.9, 45))
NOISES = (2, 20)


def printed_bound(noises: int, beta: float) -> float:
    """Return √(Σb²)·ln(1/β) for `noises` noises of scale 1: the bound without its constants."""
    return math.sqrt(noises) * math.log(1 / beta)


def failure_ratio(noises: int, beta: float) -> float:
    """Return the probability that the error of a sum reaches the printed bound, divided by the promised β."""
    return failure_probability(_noise_sum(noises), printed_bound(noises, beta)) / beta


def bounds_on_sums() -> Drawing:
    """Return the figure of bounds on a sum of Laplace noises: their failure probability divided by the promised β."""
    lines = [
        Line(
            f"printed, {noises}",
            STYLES["printed"].dashed(dash),
            BETAS,
            tuple(failure_ratio(noises, beta) for beta in BETAS),
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
    promised = Line("promised", GUIDE, (BETAS[0], BETAS[-1]), (1, 1))
    return Drawing.from_lines([*lines, *constants, promised], *_check_about_sums())


def _check_about_sums() -> tuple[ClaimCheck, ...]:
    breaks = root(lambda beta: failure_ratio(2, beta) - 1, Bracket(0.01, 0.3)).high
    two, twenty = failure_ratio(2, 0.3) * 0.3, failure_ratio(20, 0.5) * 0.5
    are_kept = [failure_ratio(noises, beta) <= 1 for noises in NOISES for beta in BETAS]
    added = epsilon_of_group(0.1, 2, disjoint=True)
    replaced = epsilon_of_group(0.1, 2, disjoint=True, replaced=True)
    return (
        ClaimCheck({"breaks": breaks, "two": two, "twenty": twenty}, are_kept),
        ClaimCheck(
            {"added": float(added), "replaced": float(replaced)},
            [float(added) == 0.1, float(replaced) == 0.1],  # noqa: PLR2004  (ε itself)
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


def uncertain_rate_population(size: int, rate: float) -> BetaBinomial:
    """Return the distribution of the count if the rate is uncertain, with a standard deviation of 0.03."""
    return BetaBinomial.from_rate(size, rate, DEVIATION)


def estimate_error(size: int, estimate: EstimateKind, assumed: AssumedDistribution, rate: float) -> float:
    """Return the average error of an estimate that assumes a rate; the true rate is 0.3."""
    noise, truth = Laplace.for_epsilon(EPSILON), Binomial(size, RATE)
    return mean_absolute_error(truth, noise, estimate, assumed(size, rate))


def wrong_rate() -> Drawing:
    """Return the figure of the errors of posterior mean and median against the assumed rate."""
    return Drawing(tuple(map(_size_panel, SIZES)), (_check_estimate_always_better(),))


def _size_panel(size: int) -> Panel:
    lines = (
        Line("answer", STYLES["answer"], ENDS, (1 / EPSILON,) * 2),
        _error_line("mean", STYLES["mean"], FINE, lambda rate: estimate_error(size, "mean", Binomial, rate)),
        _error_line("median", STYLES["median"], FINE, lambda rate: estimate_error(size, "median", Binomial, rate)),
        _error_line(
            UNSURE,
            STYLES["mean"].dashed(DOTS),
            COARSE,
            lambda rate: estimate_error(size, "mean", uncertain_rate_population, rate),
        ),
        Line("true rate", GUIDE, (RATE, RATE), (0.0, MOST)),
    )
    return Panel(f"n = {size:,}", lines)


def _error_line(name: str, style: Style, rates: Sequence[float], error_at: Callable[[float], float]) -> Line:
    """Return the line of an error against the assumed rate, without the points above the largest drawn error."""
    points = [(rate, error_at(rate)) for rate in rates]
    return Line.through(name, style, [point for point in points if point[1] <= MOST])


def _check_estimate_always_better() -> ClaimCheck:
    certain, uncertain = ([_better_rates(size, deviation) for size in SIZES] for deviation in (0.0, DEVIATION))
    is_better = [estimate_error(size, "mean", Binomial, rate) < 1 / EPSILON for size in SIZES for rate in COARSE]
    return ClaimCheck({"certain": certain, "uncertain": uncertain}, is_better)


def _better_rates(size: int, deviation: float) -> tuple[float, float]:
    """Return the range of assumed rates, in percent, in which the mean has a smaller error than the answer."""
    low, high = break_even_rates(Binomial(size, RATE), Laplace.for_epsilon(EPSILON), "mean", deviation)
    return 100 * low, 100 * high


WITHIN, CONFIDENCE = Fraction(1, 5), Fraction(19, 20)
AT_MOST = Fraction(1, 2)
GOALS = {
    "±20 % at 95 %": (WITHIN, CONFIDENCE),
    "±10 % at 95 %": (Fraction(1, 10), CONFIDENCE),
    "±50 % at 90 %": (Fraction(1, 2), Fraction(9, 10)),
}
WRONG = (2, 5, 10)
COUNTS = tuple(int(count) for count in np.unique(np.geomspace(200, 10_000, 35).round()))
NOTABLE = 1.1  # "hardly more": less than 10 %


def price_of_accuracy_goal() -> Drawing:
    """Return the figure of a ratio: the mean price of an accuracy goal to the price if the count is known."""
    lines = [
        Line(goal_text, style, COUNTS, tuple(_rule_price_ratio(*goal, count) for count in COUNTS))
        for (goal_text, goal), style in zip(GOALS.items(), LEVELS, strict=False)
    ]
    wrong_guesses = [
        Line(f"guess of 1/{times}", style, COUNTS, tuple(_guess_price_ratio(times, count) for count in COUNTS))
        for times, style in zip(WRONG, map(STYLES["printed"].dashed, (DOTS, DENSE, PAIRS)), strict=True)
    ]
    known = Line("count known", GUIDE, (COUNTS[0], COUNTS[-1]), (1, 1))
    checks = (_check_small_surcharge(lines), _check_coverage(), _check_wrong_guess())
    return Drawing.from_lines([*lines, *wrong_guesses, known], *checks)


def _rule_price_ratio(within: Fraction, confidence: Fraction, count: int) -> float:
    rule = stopping_rule(within, confidence, AT_MOST)
    return mean_price(rule, count) / knowing_price(within, confidence, count)


def _guess_price_ratio(times: int, count: int) -> float:
    price = epsilon_for_relative_error(count / times, float(WITHIN), float(CONFIDENCE))
    return price / knowing_price(WITHIN, CONFIDENCE, count)


def _check_small_surcharge(lines: list[Line]) -> ClaimCheck:
    narrow = [*lines[0].ys, *lines[1].ys]
    return ClaimCheck({"narrow": extremes(narrow), "wide": extremes(lines[2].ys)}, [max(narrow) < NOTABLE])


def _check_coverage() -> ClaimCheck:
    shares = [min(goal_coverage(stopping_rule(*goal, AT_MOST), count) for count in COUNTS) for goal in GOALS.values()]
    return ClaimCheck(
        {"percents": [100 * share for share in shares]},
        [share >= confidence for share, (_, confidence) in zip(shares, GOALS.values(), strict=True)],
    )


def _check_wrong_guess() -> ClaimCheck:
    price = epsilon_for_relative_error(1000, float(WITHIN), float(CONFIDENCE))
    confidences = [float(relative_confidence(1000 / times, float(WITHIN), price)) for times in WRONG]
    prices = [_guess_price_ratio(times, COUNTS[-1]) for times in WRONG]
    return ClaimCheck(
        {"prices": prices, "confidences": confidences},
        [
            *(value < CONFIDENCE for value in confidences),
            *(ratio >= times for ratio, times in zip(prices, WRONG, strict=True)),
        ],
    )


# All of our figures, in the form of a paper.
PAPER = paper_of_key(
    "ours",
    {
        "sums": bounds_on_sums,
        "samples": bounds_of_samples,
        "price": delta_against_error,
        "knowledge": background_knowledge,
        "assumed": wrong_rate,
        "tables": errors_of_cells,
        "ranges": errors_of_ranges,
        "coverage": coverage,
        "repeated": repeated_query,
        "overlap": overlapping_queries,
        "rule": rule_for_lists,
        "first": price_of_accuracy_goal,
    },
)
