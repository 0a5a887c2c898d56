"""Our figure of wrong assumptions: the error of an estimate against the rate it assumes."""

from collections.abc import Callable, Sequence

from noisycount.analysis.evaluation.averages import Estimated
from noisycount.analysis.evaluation.break_even import break_even_rates
from noisycount.analysis.evaluation.evaluation import mean_absolute_error
from noisycount.charts.plot.plot import Axis, Line, Panel
from noisycount.charts.theme import DOTS, GUIDE, STYLES, Style
from noisycount.model.noises.laplace import Laplace
from noisycount.model.populations.beta_binomial import BetaBinomial
from noisycount.model.populations.binomial import Binomial
from noisycount.study.claim import Claim, Verdict
from noisycount.study.figure import Figure
from noisycount.study.papers.paper import number, percent

__all__ = ["wrong_rate"]

SIZES = (100, 1000)
RATE, EPSILON = 0.3, 0.1
DEVIATION = 0.03  # of an uncertain rate
COARSE = tuple(each / 50 for each in range(5, 26))
FINE = tuple(sorted({*COARSE, *(each / 400 for each in range(108, 133))}))  # near the true rate
ENDS = (COARSE[0], COARSE[-1])
MOST = 16.0  # errors that are drawn, in records
UNSURE = f"mean ±{percent(DEVIATION)}"

Believed = Callable[[int, float], Binomial | BetaBinomial]
"""What somebody believes who assumes a rate, from a size and that rate."""


def fixed(size: int, rate: float) -> Binomial:
    """The belief of somebody who takes a rate for certain."""
    return Binomial(size, rate)


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
        claims=_claims(),
    )


def _panel(size: int) -> Panel:
    lines = (
        Line("answer", STYLES["answer"], ENDS, (1 / EPSILON,) * 2),
        _line("mean", STYLES["mean"], FINE, lambda rate: error(size, "mean", fixed, rate)),
        _line("median", STYLES["median"], FINE, lambda rate: error(size, "median", fixed, rate)),
        _line(
            UNSURE,
            STYLES["mean"].dashed(DOTS),
            COARSE,
            lambda rate: error(size, "mean", uncertain, rate),
        ),
        Line("", GUIDE, (RATE, RATE), (0.0, MOST)),
    )
    return Panel(f"n = {size:,}", lines)


def _line(name: str, style: Style, rates: Sequence[float], found: Callable[[float], float]) -> Line:
    """A line as far as it lies on the axis."""
    points = [(rate, found(rate)) for rate in rates]
    return Line.through(name, style, [point for point in points if point[1] <= MOST])


def _claims() -> tuple[Claim, ...]:
    shown = "; ".join(
        f"n = {size:,}: from {_span(size, 0.0)} taken for certain, from {_span(size, DEVIATION)} "
        f"taken for uncertain by ±{percent(DEVIATION)}"
        for size in SIZES
    )
    better = [error(size, "mean", fixed, rate) < 1 / EPSILON for size in SIZES for rate in COARSE]
    return (
        Claim(
            "section 5",
            "The Bayesian approach provides a better estimate in all cases.",
            f"with a wrong rate the mean is better than the answer only near the true "
            f"{percent(RATE)}. {shown}.",
            Verdict.of(*better),
        ),
    )


def _span(size: int, deviation: float) -> str:
    """Between which assumed rates the mean beats the answer."""
    truth, noise = Binomial(size, RATE), Laplace.for_epsilon(EPSILON)
    low, high = break_even_rates(truth, noise, "mean", deviation)
    return f"{number(100 * low)} % to {number(100 * high)} %"
