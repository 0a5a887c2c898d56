"""Naldi and D'Acquisto (2014), section 4: how often an estimate is better, Fig. 6 to 8."""

import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise

from noisycount.analysis.evaluation.evaluation import Estimated, improvement_probability
from noisycount.charts.plot import Axis, Line, Panel
from noisycount.charts.theme import GUIDE, STYLES
from noisycount.model.noises.laplace import Laplace
from noisycount.model.populations.binomial import Binomial
from noisycount.papers.figure import CLOSE, Claim, Figure, Verdict, number, percent
from noisycount.papers.naldi2014_errors import EPSILON, EPSILONS, ESTIMATES, NOISE, PRIVACY, RATE, RATES, SIZES, error

EVEN = 0.5  # as often better as worse

CHANCE = Axis("closer than the answer", "probability", low=0.45, high=1.0, ticks=(0.5, 0.6, 0.7, 0.8, 0.9, 1))

_ADDED = "Dashed: as often closer as not. Added: the posterior median, and the answer rounded to the nearest count."


@cache
def improvement(by: Estimated, size: int, rate: float, epsilon: float) -> float:
    """How often an estimate is closer to the count than the answer, eq. (13), exactly."""
    return improvement_probability(Binomial(size, rate), Laplace.for_epsilon(epsilon), by)


def against_noise() -> Figure:
    """Fig. 6: the probability of improvement against the noise."""
    deviations = tuple(math.sqrt(2) / epsilon for epsilon in EPSILONS)
    return Figure(
        key="naldi2014.6",
        source="Naldi and D'Acquisto (2014)",
        number="Fig. 6",
        title="How often is an estimate better? Noise",
        caption=f"p = {RATE}, ε from {EPSILONS[0]:g} to {EPSILONS[-1]:g}. {_ADDED}",
        x=NOISE,
        y=CHANCE,
        panels=tuple(_panel(size, deviations) for size in SIZES),
        claims=_noise_claims(),
    )


def against_privacy() -> Figure:
    """Fig. 7: the probability of improvement against ε."""
    return Figure(
        key="naldi2014.7",
        source="Naldi and D'Acquisto (2014)",
        number="Fig. 7",
        title="How often is an estimate better? Privacy",
        caption=f"p = {RATE}. {_ADDED} The axis of ε runs from much to little, and is logarithmic here.",
        x=PRIVACY,
        y=CHANCE,
        panels=tuple(_panel(size, EPSILONS) for size in SIZES),
        claims=_privacy_claims(),
    )


def against_rate() -> Figure:
    """Fig. 8: the probability of improvement against the rate."""
    panels = []
    for size in SIZES:
        lines = [
            Line(by, STYLES[by], RATES, tuple(improvement(by, size, rate, EPSILON) for rate in RATES))
            for by in ESTIMATES
        ]
        guide = Line("", GUIDE, (0.0, 1.0), (EVEN, EVEN))
        panels.append(Panel(f"n = {size:,}", (*lines, guide)))
    return Figure(
        key="naldi2014.8",
        source="Naldi and D'Acquisto (2014)",
        number="Fig. 8",
        title="How often is an estimate better? Rate",
        caption=f"ε = {EPSILON}, as in Fig. 5; the text names none. {_ADDED}",
        x=Axis("predicate probability p", low=0.0, high=1.0),
        y=CHANCE,
        panels=tuple(panels),
        claims=_rate_claims(),
    )


def _panel(size: int, places: tuple[float, ...]) -> Panel:
    lines = [
        Line(by, STYLES[by], places, tuple(improvement(by, size, RATE, each) for each in EPSILONS)) for by in ESTIMATES
    ]
    return Panel(f"n = {size:,}", (*lines, Line("", GUIDE, (places[0], places[-1]), (EVEN, EVEN))))


def _noise_claims() -> tuple[Claim, ...]:
    curves = {size: [improvement("mean", size, RATE, e) for e in EPSILONS] for size in SIZES}
    least = {size: min(curve) for size, curve in curves.items()}
    where = {size: EPSILONS[curve.index(least[size])] for size, curve in curves.items()}
    return (
        Claim(
            "section 4.2",
            "The Bayes estimator is always better than the naive one: closer in more than half of the cases.",
            "; ".join(
                f"n = {size:,}: from {number(least[size], 5)} (at ε = {number(where[size])}) to {number(max(curve), 5)}"
                for size, curve in curves.items()
            )
            + f". The median at ε = 1: {number(improvement('median', SIZES[0], RATE, 1.0), 5)} against "
            f"{number(improvement('mean', SIZES[0], RATE, 1.0), 5)} of the mean (n = {SIZES[0]}).",
            Verdict.of(*(each > EVEN for curve in curves.values() for each in curve)),
        ),
        Claim(
            "section 4.2",
            "The gap between the two estimators increases with the amount of noise.",
            "from little noise on it first decreases; "
            + "; ".join(
                f"n = {size:,}: from {number(curve[0])} at ε = {EPSILONS[0]:g} to {number(least[size], 4)}, and then "
                f"up to {number(curve[-1])} at ε = {EPSILONS[-1]:g}"
                for size, curve in curves.items()
            )
            + ".",
            Verdict.of(*(b >= a for curve in curves.values() for a, b in pairwise(curve))),
        ),
    )


def _privacy_claims() -> tuple[Claim, ...]:
    weak = [epsilon for epsilon in EPSILONS if epsilon > 1]
    pairs = [
        (error("mean", size, RATE, epsilon), error("answer", size, RATE, epsilon)) for size in SIZES for epsilon in weak
    ]
    apart = max(1 - mean / answer for mean, answer in pairs)
    often = max(improvement("mean", size, RATE, epsilon) for size in SIZES for epsilon in weak)
    return (
        Claim(
            "section 4.2",
            "When ε > 1 the average errors follow the inequality Bayes < naive < 1.",
            f"for ε from {number(weak[-1])} to {number(weak[0])} the mean is off by "
            f"{number(min(a for a, _ in pairs))} to {number(max(a for a, _ in pairs))}, the answer "
            f"by {number(min(b for _, b in pairs))} to {number(max(b for _, b in pairs))}.",
            Verdict.of(*(a < b < 1 for a, b in pairs)),
        ),
        Claim(
            "section 4.2",
            "The two estimators have close performances just when ε is so high that the error is very low under both.",
            f"for these ε the average errors differ by at most {percent(apart)}, but the mean is "
            f"closer with a probability of up to {number(often)}.",
            Verdict.of(apart < CLOSE, often - EVEN < CLOSE),
        ),
    )


def _rate_claims() -> tuple[Claim, ...]:
    curves = {size: [improvement("mean", size, r, EPSILON) for r in RATES] for size in SIZES}
    worst = {size: RATES[curve.index(min(curve))] for size, curve in curves.items()}
    return (
        Claim(
            "section 4.2",
            "The performance of the Bayes estimator is the worst at midrange.",
            "; ".join(
                f"n = {size:,}: least {number(min(curve), 4)} at p = {worst[size]:g}, "
                f"{number(curve[0], 4)} at p = {RATES[0]:g}"
                for size, curve in curves.items()
            )
            + ".",
            Verdict.of(*(each == EVEN for each in worst.values())),
        ),
    )


# What computes each figure, by its key.
FIGURES: dict[str, Callable[[], Figure]] = {
    "naldi2014.6": against_noise,
    "naldi2014.7": against_privacy,
    "naldi2014.8": against_rate,
}
