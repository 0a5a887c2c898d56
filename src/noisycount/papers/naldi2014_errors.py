"""Naldi and D'Acquisto (2014), section 4: the average error, Fig. 1 to 5."""

import math
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from noisycount.analysis.evaluation.evaluation import Estimated, mean_absolute_error
from noisycount.charts.plot import Axis, Line, Panel
from noisycount.charts.theme import GUIDE, STYLES
from noisycount.model.noises.laplace import Laplace
from noisycount.model.populations.binomial import Binomial
from noisycount.papers.figure import CLOSE, NEARLY, Claim, Figure, Verdict, number, percent

SIZES = (100, 1000)
RATE, EPSILON = 0.3, 0.1
EPSILONS = tuple(float(epsilon) for epsilon in np.geomspace(2, 0.05, 25))
RATES = (0.005, 0.01, 0.02, *(each / 20 for each in range(1, 20)), 0.98, 0.99, 0.995)
ESTIMATES: tuple[Estimated, ...] = ("mean", "median", "rounded")
EVERY: tuple[Estimated, ...] = ("answer", *ESTIMATES)
NOISE = Axis("noise standard deviation", "records", low=0.0)
PRIVACY = Axis("ε", is_log=True, is_reversed=True, ticks=(2, 1, 0.5, 0.2, 0.1, 0.05))
ERROR = Axis("average error", "records", low=0.0)


@cache
def error(by: Estimated, size: int, rate: float, epsilon: float) -> float:
    """The average error of an estimate, eq. (12) and (14), exactly."""
    return mean_absolute_error(Binomial(size, rate), Laplace.for_epsilon(epsilon), by)


@cache
def guess_error(size: int, rate: float) -> float:
    """The average error of the best guess without any answer, the median of the count."""
    law = Binomial(size, rate).law()
    counts = np.arange(size + 1)
    return float(np.abs(counts - law.quantile(0.5)) @ law.pmf(counts))


def against_noise(size: int, key: str, name: str) -> Figure:
    """Fig. 1 and 2: the error against the noise."""
    deviations = tuple(math.sqrt(2) / epsilon for epsilon in EPSILONS)
    return Figure(
        key=key,
        source="Naldi and D'Acquisto (2014)",
        number=name,
        title=f"Noise and average error, n = {size:,}",
        caption=_caption(size),
        x=NOISE,
        y=ERROR,
        panels=(Panel("", _lines(size, deviations)),),
        claims=_noise_claims(size),
    )


def against_privacy(size: int, key: str, name: str) -> Figure:
    """Fig. 3 and 4: the error against ε."""
    return Figure(
        key=key,
        source="Naldi and D'Acquisto (2014)",
        number=name,
        title=f"Privacy level and average error, n = {size:,}",
        caption=f"{_caption(size)} The axis of ε runs from much to little; it is logarithmic here.",
        x=PRIVACY,
        y=ERROR,
        panels=(Panel("", _lines(size, EPSILONS)),),
        claims=_privacy_claims(size),
    )


def against_rate() -> Figure:
    """Fig. 5: the error against the rate."""
    panels = []
    for size in SIZES:
        lines = [Line(by, STYLES[by], RATES, tuple(error(by, size, rate, EPSILON) for rate in RATES)) for by in EVERY]
        panels.append(Panel(f"n = {size:,}", tuple(lines)))
    return Figure(
        key="naldi2014.5",
        source="Naldi and D'Acquisto (2014)",
        number="Fig. 5",
        title="Predicate probability and average error",
        caption=f"ε = {EPSILON}. Added: the posterior median, and the answer rounded to the nearest count.",
        x=Axis("predicate probability p", low=0.0, high=1.0),
        y=ERROR,
        panels=tuple(panels),
        claims=_rate_claims(),
    )


def _lines(size: int, places: tuple[float, ...]) -> tuple[Line, ...]:
    """The error of each estimate at each ε, over what the axis shows."""
    lines = [Line(by, STYLES[by], places, tuple(error(by, size, RATE, each) for each in EPSILONS)) for by in EVERY]
    ends = (places[0], places[-1])
    return (*lines, Line("", GUIDE, ends, (guess_error(size, RATE),) * 2))


def _caption(size: int) -> str:
    return (
        f"n = {size:,}, p = {RATE}, ε from {EPSILONS[0]:g} to {EPSILONS[-1]:g}: the text prints no "
        "range but that it holds 0.1 and 1. Added: the posterior median, the answer rounded to the "
        "nearest count, and (thin dashes) the error of the best guess without any answer."
    )


def _noise_claims(size: int) -> tuple[Claim, ...]:
    raw = {epsilon: error("answer", size, RATE, epsilon) for epsilon in EPSILONS}
    mean = {epsilon: error("mean", size, RATE, epsilon) for epsilon in EPSILONS}
    least, most = EPSILONS[0], EPSILONS[-1]
    gap = 1 - mean[least] / raw[least]
    limit = guess_error(size, RATE)
    shares = [found / raw[epsilon] for epsilon, found in mean.items()]
    better: tuple[Estimated, ...] = ("median", "rounded")
    beaten = {by: sum(error(by, size, RATE, epsilon) <= found for epsilon, found in mean.items()) for by in better}
    return (
        Claim(
            "section 4.2",
            "When the amount of noise is small, the performances of the two estimators are very close.",
            f"at ε = {least:g} the error of the mean is {number(mean[least])}, {percent(gap)} below the "
            f"{number(raw[least])} of the answer; rounding the answer gives "
            f"{number(error('rounded', size, RATE, least))}, the median {number(error('median', size, RATE, least))}.",
            Verdict.of(abs(gap) < CLOSE),
        ),
        Claim(
            "section 4.2",
            "The error of the Bayes estimator levels off, though continuing a very slow growth; "
            "for all practical purposes it is bounded.",
            f"it stays below the {number(limit, 4)} of the best guess without an answer, and at ε = {most:g} reaches "
            f"{percent(mean[most] / limit)} of it, where the answer is off by {number(raw[most])}.",
            Verdict.of(max(mean.values()) <= limit * (1 + 1e-9), mean[most] > NEARLY * limit),
        ),
        Claim(
            "section 4.2",
            "It is always lower than that of the naive estimator.",
            f"over these ε it is {number(min(shares))} to {number(max(shares), 4)} times that of the answer. The "
            f"median is at least as good as the mean at {beaten['median']} of {len(EPSILONS)} ε, the rounded answer at "
            f"{beaten['rounded']}.",
            Verdict.of(*(share < 1 for share in shares)),
        ),
    )


def _privacy_claims(size: int) -> tuple[Claim, ...]:
    gains = [1 - error("mean", size, RATE, epsilon) / error("answer", size, RATE, epsilon) for epsilon in EPSILONS]
    shown = {epsilon: error("mean", size, RATE, epsilon) for epsilon in (1.0, EPSILON)}
    medians = {epsilon: error("median", size, RATE, epsilon) for epsilon in shown}
    words = "; ".join(
        f"ε = {epsilon:g}: answer {number(1 / epsilon)}, mean {number(found, 5)}, median {number(medians[epsilon], 5)}"
        for epsilon, found in shown.items()
    )
    return (
        Claim(
            "section 4.2",
            "The better performance of the Bayes estimator stands up in particular as a higher "
            "level of privacy is desired.",
            f"{words}. The gain of the mean grows from {percent(gains[0])} at ε = {EPSILONS[0]:g} "
            f"to {percent(gains[-1])} at ε = {EPSILONS[-1]:g}.",
            Verdict.of(gains[-1] == max(gains), gains[0] < gains[-1]),
        ),
    )


def _rate_claims() -> tuple[Claim, ...]:
    flat = [error("answer", size, rate, EPSILON) for size in SIZES for rate in RATES]
    curves = {size: [error("mean", size, rate, EPSILON) for rate in RATES] for size in SIZES}
    peaks = {size: RATES[curve.index(max(curve))] for size, curve in curves.items()}
    return (
        Claim(
            "section 4.2",
            "The error of the naive estimator is 1/ε = 10, whatever p and n.",
            f"from {number(min(flat), 6)} to {number(max(flat), 6)}.",
            Verdict.of(all(math.isclose(each, 1 / EPSILON, rel_tol=1e-9) for each in flat)),
        ),
        Claim(
            "section 4.2",
            "The average error is minimum when p is very close to either 0 or 1, as the variance "
            "np(1 − p) is; that has its maximum at p = 0.5.",
            "; ".join(
                f"n = {size:,}: {number(curve[0])} at p = {RATES[0]:g}, largest "
                f"{number(max(curve))} at p = {peaks[size]:g}"
                for size, curve in curves.items()
            )
            + ".",
            Verdict.of(
                *(peak == 0.5 for peak in peaks.values()),  # noqa: PLR2004  (as claimed)
                *(min(curve) in {curve[0], curve[-1]} for curve in curves.values()),
            ),
        ),
    )


# What computes each figure, by its key.
FIGURES: dict[str, Callable[[], Figure]] = {
    "naldi2014.1": partial(against_noise, 100, "naldi2014.1", "Fig. 1"),
    "naldi2014.2": partial(against_noise, 1000, "naldi2014.2", "Fig. 2"),
    "naldi2014.3": partial(against_privacy, 100, "naldi2014.3", "Fig. 3"),
    "naldi2014.4": partial(against_privacy, 1000, "naldi2014.4", "Fig. 4"),
    "naldi2014.5": against_rate,
}
