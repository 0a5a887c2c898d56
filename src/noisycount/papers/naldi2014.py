"""Naldi and D'Acquisto (2014), *Differential privacy for counting queries*: Fig. 1 to 8 and the numerical claims.

Fig. 1 to 5 show the average error of the Bayes estimate, Fig. 6 to 8 how often it beats the answer. `PAPER` lists them.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise

import numpy as np

from noisycount.analysis.accuracy import out_of_range_bounds
from noisycount.analysis.evaluation.evaluation import EstimateKind, improvement_probability, mean_absolute_error
from noisycount.charts.plot import Line, Panel
from noisycount.charts.theme import GUIDE, STYLES
from noisycount.model.noises.laplace import Laplace
from noisycount.model.populations.binomial import Binomial
from noisycount.papers.figure import ALIKE, CLOSE, NEARLY, ClaimCheck, Drawing, extremes, paper_of_key

SIZES = (100, 1000)
RATE, EPSILON = 0.3, 0.1
EPSILONS = tuple(float(epsilon) for epsilon in np.geomspace(2, 0.05, 25))
DEVIATIONS = tuple(math.sqrt(2) / epsilon for epsilon in EPSILONS)
RATES = (0.005, 0.01, 0.02, *(step / 20 for step in range(1, 20)), 0.98, 0.99, 0.995)
ESTIMATES: tuple[EstimateKind, ...] = ("mean", "median", "rounded")
EVERY: tuple[EstimateKind, ...] = ("answer", *ESTIMATES)
EVEN = 0.5  # probability of an estimate that is as often better as worse
PRINTED_WIDTHS = (91.6, 28.2)
Measure = Callable[[EstimateKind, int, float, float], float]  # arguments: the estimate, n, p and ε


@cache
def error(by: EstimateKind, size: int, rate: float, epsilon: float) -> float:
    """Return the average error E|estimate − count| of an estimate, eq. (12) and (14), exactly."""
    return mean_absolute_error(Binomial(size, rate), Laplace.for_epsilon(epsilon), by)


@cache
def improvement(by: EstimateKind, size: int, rate: float, epsilon: float) -> float:
    """Return the probability that an estimate is closer to the count than the answer, eq. (13), exactly."""
    return improvement_probability(Binomial(size, rate), Laplace.for_epsilon(epsilon), by)


@cache
def guess_error(size: int, rate: float) -> float:
    """Return the average error of the best guess without an answer, which is the median of the count."""
    distribution = Binomial(size, rate).law()
    counts = np.arange(size + 1)
    return float(np.abs(counts - distribution.quantile(0.5)) @ distribution.pmf(counts))


def _lines_over_epsilons(
    measure: Measure, names: Sequence[EstimateKind], size: int, xs: tuple[float, ...]
) -> list[Line]:
    """Return a line for each estimate over all ε, at the given x values."""
    return [
        Line(estimate, STYLES[estimate], xs, tuple(measure(estimate, size, RATE, epsilon) for epsilon in EPSILONS))
        for estimate in names
    ]


def _half_line(xs: tuple[float, ...]) -> Line:
    """Return the reference line at 1/2: the estimate and the answer are closer to the count equally often."""
    return Line("as often as not", GUIDE, (xs[0], xs[-1]), (EVEN, EVEN))


def _panels_against_rates(
    measure: Measure, names: Sequence[EstimateKind], guides: Sequence[Line] = ()
) -> tuple[Panel, ...]:
    """Return a panel for each size, with a line for each estimate over all rates."""
    panels = []
    for size in SIZES:
        lines = [
            Line(estimate, STYLES[estimate], RATES, tuple(measure(estimate, size, rate, EPSILON) for rate in RATES))
            for estimate in names
        ]
        panels.append(Panel(f"n = {size:,}", (*lines, *guides)))
    return tuple(panels)


def average_error(size: int, *, is_against_privacy: bool) -> Drawing:
    """Return the average error against the noise (Fig. 1 and 2) or against ε (Fig. 3 and 4)."""
    xs = EPSILONS if is_against_privacy else DEVIATIONS
    guess = Line("best guess", GUIDE, (xs[0], xs[-1]), (guess_error(size, RATE),) * 2)
    checks = _error_privacy_checks(size) if is_against_privacy else _error_checks(size)
    return Drawing.from_lines([*_lines_over_epsilons(error, EVERY, size, xs), guess], *checks)


def error_against_rate() -> Drawing:
    """Return Fig. 5: the average error against the rate."""
    return Drawing(_panels_against_rates(error, EVERY), _error_rate_checks())


def _error_checks(size: int) -> tuple[ClaimCheck, ...]:
    errors = {by: [error(by, size, RATE, epsilon) for epsilon in EPSILONS] for by in EVERY}
    answer, mean, limit = errors["answer"], errors["mean"], guess_error(size, RATE)
    gap = 1 - mean[0] / answer[0]
    shares = [bayes_error / raw_error for bayes_error, raw_error in zip(mean, answer, strict=True)]
    wins = {
        by: sum(value <= bayes_error for value, bayes_error in zip(errors[by], mean, strict=True))
        for by in ("median", "rounded")
    }
    return (
        ClaimCheck({"gap": gap, **{by: values[0] for by, values in errors.items()}}, [abs(gap) < CLOSE]),
        ClaimCheck(
            {"limit": limit, "share": mean[-1] / limit, "answer": answer[-1]},
            [max(mean) <= limit * (1 + 1e-9), mean[-1] > NEARLY * limit],
        ),
        ClaimCheck({"shares": extremes(shares), **wins}, [share < 1 for share in shares]),
    )


def _error_privacy_checks(size: int) -> tuple[ClaimCheck, ...]:
    gains = [1 - error("mean", size, RATE, epsilon) / error("answer", size, RATE, epsilon) for epsilon in EPSILONS]
    means, medians = ([error(by, size, RATE, epsilon) for epsilon in (1.0, EPSILON)] for by in ("mean", "median"))
    numbers = {"means": means, "medians": medians, "gains": (gains[0], gains[-1])}
    return (ClaimCheck(numbers, [gains[-1] == max(gains), gains[0] < gains[-1]]),)


def _error_rate_checks() -> tuple[ClaimCheck, ...]:
    answers = [error("answer", size, rate, EPSILON) for size in SIZES for rate in RATES]
    curves = [[error("mean", size, rate, EPSILON) for rate in RATES] for size in SIZES]
    peaks = [RATES[curve.index(max(curve))] for curve in curves]
    return (
        ClaimCheck(
            {"answers": extremes(answers)}, [math.isclose(value, 1 / EPSILON, rel_tol=1e-9) for value in answers]
        ),
        ClaimCheck(
            {"first": [curve[0] for curve in curves], "largest": list(map(max, curves)), "peaks": peaks},
            [
                *(peak == 0.5 for peak in peaks),  # noqa: PLR2004  (as claimed)
                *(min(curve) in {curve[0], curve[-1]} for curve in curves),
            ],
        ),
    )


def improvements(*, is_against_privacy: bool) -> Drawing:
    """Return the probability of improvement against the noise (Fig. 6) or against ε (Fig. 7)."""
    xs = EPSILONS if is_against_privacy else DEVIATIONS
    lines = {size: (*_lines_over_epsilons(improvement, ESTIMATES, size, xs), _half_line(xs)) for size in SIZES}
    return Drawing(
        tuple(Panel(f"n = {size:,}", lines_of_size) for size, lines_of_size in lines.items()),
        _improvement_privacy_checks() if is_against_privacy else _improvement_checks(),
    )


def improvement_against_rate() -> Drawing:
    """Return Fig. 8: the probability of improvement against the rate."""
    return Drawing(_panels_against_rates(improvement, ESTIMATES, [_half_line((0.0, 1.0))]), _improvement_rate_checks())


def _improvement_checks() -> tuple[ClaimCheck, ...]:
    curves = [[improvement("mean", size, RATE, epsilon) for epsilon in EPSILONS] for size in SIZES]
    least = list(map(min, curves))
    return (
        ClaimCheck(
            {
                "least": least,
                "epsilons": [EPSILONS[curve.index(min(curve))] for curve in curves],
                "most": list(map(max, curves)),
                **{by: improvement(by, SIZES[0], RATE, 1.0) for by in ("median", "mean")},
            },
            [probability > EVEN for curve in curves for probability in curve],
        ),
        ClaimCheck(
            {"first": [curve[0] for curve in curves], "least": least, "last": [curve[-1] for curve in curves]},
            [b >= a for curve in curves for a, b in pairwise(curve)],
        ),
    )


def _improvement_privacy_checks() -> tuple[ClaimCheck, ...]:
    weak = [epsilon for epsilon in EPSILONS if epsilon > 1]
    cases = [(size, epsilon) for size in SIZES for epsilon in weak]
    means, answers = ([error(by, size, RATE, epsilon) for size, epsilon in cases] for by in ("mean", "answer"))
    difference = max(1 - mean / answer for mean, answer in zip(means, answers, strict=True))
    probability = max(improvement("mean", size, RATE, epsilon) for size, epsilon in cases)
    return (
        ClaimCheck(
            {"epsilons": extremes(weak), "means": extremes(means), "answers": extremes(answers)},
            [mean < answer < 1 for mean, answer in zip(means, answers, strict=True)],
        ),
        ClaimCheck(
            {"difference": difference, "probability": probability}, [difference < CLOSE, probability - EVEN < CLOSE]
        ),
    )


def _improvement_rate_checks() -> tuple[ClaimCheck, ...]:
    curves = [[improvement("mean", size, rate, EPSILON) for rate in RATES] for size in SIZES]
    rates = [RATES[curve.index(min(curve))] for curve in curves]
    numbers = {"least": list(map(min, curves)), "rates": rates, "first": [curve[0] for curve in curves]}
    return (ClaimCheck(numbers, [rate == EVEN for rate in rates]),)


def claim_checks() -> tuple[ClaimCheck, ...]:
    """Return the claims of Theorem 1, eq. (6), the two widths of section 3.2, and eq. (14)."""
    smallest, largest = out_of_range_bounds(100, Laplace.for_epsilon(EPSILON))
    bounds = {
        size: (
            (math.exp(-EPSILON * (size - 1) / 2) + math.exp(-EPSILON * (size + 1) / 2)) / 2,
            out_of_range_bounds(size, Laplace.for_epsilon(EPSILON))[0],
        )
        for size in (99, 100)
    }
    count, noise = 2 * math.sqrt(10000 * RATE * (1 - RATE)), 2 * math.sqrt(2) / EPSILON
    raw = {epsilon: error("answer", 100, RATE, epsilon) for epsilon in (1.0, EPSILON)}
    return (
        ClaimCheck({"largest": largest}, [math.isclose(largest, (1 + math.exp(-EPSILON * 100)) / 2), largest > EVEN]),
        ClaimCheck(
            {"bound": bounds[100][0], "smallest": smallest},
            [math.isclose(*bounds[size], rel_tol=tolerance) for size, tolerance in ((99, 1e-9), (100, ALIKE))],
        ),
        ClaimCheck(
            {"count": count, "noise": noise},
            [
                math.floor(10 * exact) / 10 == printed
                for exact, printed in zip((count, noise), PRINTED_WIDTHS, strict=True)
            ],
        ),
        ClaimCheck(
            {"errors": list(raw.values())}, [math.isclose(value * epsilon, 1) for epsilon, value in raw.items()]
        ),
    )


PAPER = paper_of_key(
    "naldi2014",
    {
        "1": partial(average_error, 100, is_against_privacy=False),
        "2": partial(average_error, 1000, is_against_privacy=False),
        "3": partial(average_error, 100, is_against_privacy=True),
        "4": partial(average_error, 1000, is_against_privacy=True),
        "5": error_against_rate,
        "6": partial(improvements, is_against_privacy=False),
        "7": partial(improvements, is_against_privacy=True),
        "8": improvement_against_rate,
    },
    claim_checks,
)
