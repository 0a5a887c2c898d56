"""Naldi and D'Acquisto (2014), *Differential privacy for counting queries*: Fig. 1 to 8 and the numerical claims.

Fig. 1 to 5 show the average error of the Bayes estimate, Fig. 6 to 8 how often it beats the answer. `PAPER` lists them.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise

import numpy as np

from noisycount.analysis.accuracy import out_of_range_bounds
from noisycount.analysis.evaluation.evaluation import Estimated, improvement_probability, mean_absolute_error
from noisycount.charts.plot import Line, Panel
from noisycount.charts.theme import GUIDE, STYLES
from noisycount.model.noises.laplace import Laplace
from noisycount.model.populations.binomial import Binomial
from noisycount.papers.figure import ALIKE, CLOSE, NEARLY, ClaimCheck, Drawing, number, paper_of_key, percent

SIZES = (100, 1000)
RATE, EPSILON = 0.3, 0.1
EPSILONS = tuple(float(epsilon) for epsilon in np.geomspace(2, 0.05, 25))
DEVIATIONS = tuple(math.sqrt(2) / epsilon for epsilon in EPSILONS)
RATES = (0.005, 0.01, 0.02, *(step / 20 for step in range(1, 20)), 0.98, 0.99, 0.995)
ESTIMATES: tuple[Estimated, ...] = ("mean", "median", "rounded")
EVERY: tuple[Estimated, ...] = ("answer", *ESTIMATES)
EVEN = 0.5  # probability of an estimate that is as often better as worse
PRINTED_WIDTHS = (91.6, 28.2)
Measure = Callable[[Estimated, int, float, float], float]  # arguments: the estimate, n, p and ε


@cache
def error(by: Estimated, size: int, rate: float, epsilon: float) -> float:
    """Return the average error E|estimate − count| of an estimate, eq. (12) and (14), exactly."""
    return mean_absolute_error(Binomial(size, rate), Laplace.for_epsilon(epsilon), by)


@cache
def improvement(by: Estimated, size: int, rate: float, epsilon: float) -> float:
    """Return the probability that an estimate is closer to the count than the answer, eq. (13), exactly."""
    return improvement_probability(Binomial(size, rate), Laplace.for_epsilon(epsilon), by)


@cache
def guess_error(size: int, rate: float) -> float:
    """Return the average error of the best guess without an answer, which is the median of the count."""
    distribution = Binomial(size, rate).law()
    counts = np.arange(size + 1)
    return float(np.abs(counts - distribution.quantile(0.5)) @ distribution.pmf(counts))


def _lines_over_epsilons(measure: Measure, names: Sequence[Estimated], size: int, xs: tuple[float, ...]) -> list[Line]:
    """Return a line for each estimate over all ε, at the given x values."""
    return [
        Line(estimate, STYLES[estimate], xs, tuple(measure(estimate, size, RATE, epsilon) for epsilon in EPSILONS))
        for estimate in names
    ]


def _half_line(xs: tuple[float, ...]) -> Line:
    """Return the reference line at 1/2: the estimate and the answer are closer to the count equally often."""
    return Line("as often as not", GUIDE, (xs[0], xs[-1]), (EVEN, EVEN))


def _panels_against_rates(
    measure: Measure, names: Sequence[Estimated], guides: Sequence[Line] = ()
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
    raw = {epsilon: error("answer", size, RATE, epsilon) for epsilon in EPSILONS}
    mean = {epsilon: error("mean", size, RATE, epsilon) for epsilon in EPSILONS}
    high, low = EPSILONS[0], EPSILONS[-1]
    gap = 1 - mean[high] / raw[high]
    limit = guess_error(size, RATE)
    shares = [bayes_error / raw[epsilon] for epsilon, bayes_error in mean.items()]
    better: tuple[Estimated, ...] = ("median", "rounded")
    wins = {
        by: sum(error(by, size, RATE, epsilon) <= bayes_error for epsilon, bayes_error in mean.items()) for by in better
    }
    return (
        ClaimCheck(
            f"at ε = {high:g} the error of the mean is {number(mean[high])}, {percent(gap)} below the "
            f"{number(raw[high])} of the answer; rounding the answer gives "
            f"{number(error('rounded', size, RATE, high))}, the median {number(error('median', size, RATE, high))}.",
            [abs(gap) < CLOSE],
        ),
        ClaimCheck(
            f"its error stays below {number(limit, 4)}, the error of the best guess without an answer. At ε = {low:g} "
            f"it is {percent(mean[low] / limit)} of that; the error of the noisy answer is {number(raw[low])}.",
            [max(mean.values()) <= limit * (1 + 1e-9), mean[low] > NEARLY * limit],
        ),
        ClaimCheck(
            f"over these ε it is {number(min(shares))} to {number(max(shares), 4)} times that of the answer. The "
            f"median is at least as good as the mean at {wins['median']} of {len(EPSILONS)} ε, the rounded answer at "
            f"{wins['rounded']}.",
            [share < 1 for share in shares],
        ),
    )


def _error_privacy_checks(size: int) -> tuple[ClaimCheck, ...]:
    gains = [1 - error("mean", size, RATE, epsilon) / error("answer", size, RATE, epsilon) for epsilon in EPSILONS]
    mean_errors = {epsilon: error("mean", size, RATE, epsilon) for epsilon in (1.0, EPSILON)}
    median = {epsilon: error("median", size, RATE, epsilon) for epsilon in mean_errors}
    errors_text = "; ".join(
        f"ε = {epsilon:g}: answer {number(1 / epsilon)}, mean {number(mean, 5)}, median {number(median[epsilon], 5)}"
        for epsilon, mean in mean_errors.items()
    )
    return (
        ClaimCheck(
            f"{errors_text}. The gain of the mean grows from {percent(gains[0])} at ε = {EPSILONS[0]:g} "
            f"to {percent(gains[-1])} at ε = {EPSILONS[-1]:g}.",
            [gains[-1] == max(gains), gains[0] < gains[-1]],
        ),
    )


def _error_rate_checks() -> tuple[ClaimCheck, ...]:
    answer_errors = [error("answer", size, rate, EPSILON) for size in SIZES for rate in RATES]
    curves = {size: [error("mean", size, rate, EPSILON) for rate in RATES] for size in SIZES}
    peaks = {size: RATES[curve.index(max(curve))] for size, curve in curves.items()}
    return (
        ClaimCheck(
            f"from {number(min(answer_errors), 6)} to {number(max(answer_errors), 6)}.",
            [all(math.isclose(value, 1 / EPSILON, rel_tol=1e-9) for value in answer_errors)],
        ),
        ClaimCheck(
            "; ".join(
                f"n = {size:,}: {number(curve[0])} at p = {RATES[0]:g}, largest "
                f"{number(max(curve))} at p = {peaks[size]:g}"
                for size, curve in curves.items()
            )
            + ".",
            [
                *(peak == 0.5 for peak in peaks.values()),  # noqa: PLR2004  (as claimed)
                *(min(curve) in {curve[0], curve[-1]} for curve in curves.values()),
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
    curves = {size: [improvement("mean", size, RATE, e) for e in EPSILONS] for size in SIZES}
    minima = {size: min(curve) for size, curve in curves.items()}
    epsilons = {size: EPSILONS[curve.index(minima[size])] for size, curve in curves.items()}
    return (
        ClaimCheck(
            "; ".join(
                f"n = {size:,}: from {number(minima[size], 5)} (at ε = {number(epsilons[size])}) to "
                f"{number(max(curve), 5)}"
                for size, curve in curves.items()
            )
            + f". The median at ε = 1: {number(improvement('median', SIZES[0], RATE, 1.0), 5)} against "
            f"{number(improvement('mean', SIZES[0], RATE, 1.0), 5)} of the mean (n = {SIZES[0]}).",
            [probability > EVEN for curve in curves.values() for probability in curve],
        ),
        ClaimCheck(
            "from little noise on it first decreases; "
            + "; ".join(
                f"n = {size:,}: from {number(curve[0])} at ε = {EPSILONS[0]:g} to {number(minima[size], 4)}, and then "
                f"up to {number(curve[-1])} at ε = {EPSILONS[-1]:g}"
                for size, curve in curves.items()
            )
            + ".",
            [b >= a for curve in curves.values() for a, b in pairwise(curve)],
        ),
    )


def _improvement_privacy_checks() -> tuple[ClaimCheck, ...]:
    weak = [epsilon for epsilon in EPSILONS if epsilon > 1]
    pairs = [
        (error("mean", size, RATE, epsilon), error("answer", size, RATE, epsilon)) for size in SIZES for epsilon in weak
    ]
    largest_difference = max(1 - mean / answer for mean, answer in pairs)
    largest_probability = max(improvement("mean", size, RATE, epsilon) for size in SIZES for epsilon in weak)
    return (
        ClaimCheck(
            f"for ε from {number(weak[-1])} to {number(weak[0])} the mean is off by "
            f"{number(min(a for a, _ in pairs))} to {number(max(a for a, _ in pairs))}, the answer "
            f"by {number(min(b for _, b in pairs))} to {number(max(b for _, b in pairs))}.",
            [a < b < 1 for a, b in pairs],
        ),
        ClaimCheck(
            f"for these ε the average errors differ by at most {percent(largest_difference)}, but the mean is "
            f"closer with a probability of up to {number(largest_probability)}.",
            [largest_difference < CLOSE, largest_probability - EVEN < CLOSE],
        ),
    )


def _improvement_rate_checks() -> tuple[ClaimCheck, ...]:
    curves = {size: [improvement("mean", size, r, EPSILON) for r in RATES] for size in SIZES}
    worst_rates = {size: RATES[curve.index(min(curve))] for size, curve in curves.items()}
    return (
        ClaimCheck(
            "; ".join(
                f"n = {size:,}: least {number(min(curve), 4)} at p = {worst_rates[size]:g}, "
                f"{number(curve[0], 4)} at p = {RATES[0]:g}"
                for size, curve in curves.items()
            )
            + ".",
            [worst_rate == EVEN for worst_rate in worst_rates.values()],
        ),
    )


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
        ClaimCheck(
            f"{number(largest, 7)} for n = 100 and ε = {EPSILON}, where the count is 0 or n.",
            [math.isclose(largest, (1 + math.exp(-EPSILON * 100)) / 2), largest > EVEN],
        ),
        ClaimCheck(
            f"for odd n the two sides are equal. For even n the smallest is e^(−εn/2), at n/2, and the right side is "
            f"cosh(ε/2) times as large: for n = 100 and ε = {EPSILON} {number(bounds[100][0], 6)} for "
            f"{number(smallest, 6)}.",
            [math.isclose(*bounds[size], rel_tol=tolerance) for size, tolerance in ((99, 1e-9), (100, ALIKE))],
        ),
        ClaimCheck(
            f"{number(count, 5)} and {number(noise, 5)}, cut off rather than rounded in print.",
            [
                math.floor(10 * exact) / 10 == printed
                for exact, printed in zip((count, noise), PRINTED_WIDTHS, strict=True)
            ],
        ),
        ClaimCheck(
            ", ".join(f"{number(value, 6)} at ε = {epsilon:g}" for epsilon, value in raw.items()) + ".",
            [math.isclose(value * epsilon, 1) for epsilon, value in raw.items()],
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
