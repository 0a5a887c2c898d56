"""Breutigam and Reischuk, section 6: Fig. 5 and 8, samples beside noise of equal utility loss.

Breutigam and Reischuk, section 7: Fig. 7, a sample and the count of as many records.
"""

import math
from functools import cache
from itertools import pairwise

import numpy as np

from noisycount.analysis.privacy.privacy_curve import privacy_curve
from noisycount.analysis.privacy.smallest_scale import amplified_delta
from noisycount.analysis.utility import scale_for_utility_loss, utility_loss
from noisycount.charts.plot import Axis, Line, Panel
from noisycount.charts.theme import STYLES
from noisycount.model.exact import Exact
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.laplace import Laplace
from noisycount.model.populations.binomial import Binomial
from noisycount.model.subsampling import Subsample
from noisycount.papers.breutigam_noise import EPSILON, RATE, SIZE
from noisycount.papers.figure import ALIKE, Claim, Figure, Verdict, number, percent

SHARE = 0.1  # λ of Fig. 5
RATES = (0.5, 0.1)  # π₁ and π₂ of Fig. 8
PRINTED_EXTRA = 0.2  # how much worse Laplace noise is said to be
USUAL_RATE = 0.1  # from here on a sample of 100 has many possible answers
LEAST = 1e-5  # a δ to draw on a logarithmic axis
PLACES = tuple(float(rate) for rate in np.geomspace(1e-3, 0.5, 60))
DRAWN = tuple(int(m) for m in np.unique(np.geomspace(2, 990, 60).round()))
DELTA = Axis("δ", "probability", low=0.0)
SHARES = Axis("share λ = m/n that is drawn", is_log=True, ticks=(0.002, 0.01, 0.05, 0.2, 1), high=1)
Deltas = dict[str, float]  # δ of a mechanism, by its name


@cache
def equal_losses(rate: float, drawn: int) -> Deltas:
    """δ(0.01) of a sample, and of Gaussian and Laplace noise of the same utility loss."""
    outside, sample = Binomial(SIZE, rate), Subsample(drawn)
    loss = utility_loss(sample, outside)
    noises = [noise(scale_for_utility_loss(noise, loss, size=SIZE)) for noise in (Laplace, Gaussian)]
    found = [privacy_curve(each, outside).delta(EPSILON) for each in (*noises, sample)]
    return dict(zip(("Laplace", "Gaussian", "sample"), found, strict=True))


def against_rate() -> Figure:
    """Fig. 5: three mechanisms of equal utility loss, against π."""
    drawn = round(SHARE * SIZE)
    found = {rate: equal_losses(rate, drawn) for rate in PLACES}
    return Figure(
        key="breutigam.5",
        source="Breutigam and Reischuk",
        number="Fig. 5",
        title="Three mechanisms of equal utility loss",
        caption=f"n = {SIZE:,}, ε = {EPSILON}, an adversary who knows only the rate π. Samples of λ = {SHARE:g}, that "
        f"is {drawn} records, and noise of the same utility loss. The axis of π is logarithmic here.",
        x=RATE,
        y=DELTA,
        panels=(
            Panel(
                "",
                tuple(
                    Line(name, STYLES[name], PLACES, tuple(found[rate][name] for rate in PLACES))
                    for name in ("Laplace", "Gaussian", "sample")
                ),
            ),
        ),
        claims=(_alike(found), _worse(drawn)),
    )


def _alike(found: dict[float, Deltas]) -> Claim:
    apart = {rate: abs(each["sample"] / each["Gaussian"] - 1) for rate, each in found.items()}
    usual = max(gap for rate, gap in apart.items() if rate >= USUAL_RATE)
    worst = max(apart, key=lambda rate: apart[rate])
    return Claim(
        "section 6",
        "Gaussian noise and subsampling practically achieve the same δ.",
        f"their δ differ by at most {percent(usual)} for π from {USUAL_RATE:g} to 0.5, and by {percent(apart[worst])} "
        f"at π = {number(worst)}, where few records of a sample are positive.",
        Verdict.of(usual < ALIKE, apart[worst] < ALIKE),
    )


def _worse(drawn: int) -> Claim:
    found = {rate: equal_losses(rate, drawn) for rate in (0.5, 0.1, 0.01)}
    extra = {rate: each["Laplace"] / each["Gaussian"] - 1 for rate, each in found.items()}
    shown = ", ".join(f"{percent(each)} (π = {rate:g})" for rate, each in extra.items())
    return Claim(
        "section 6",
        "Laplace noise is about 20 % worse.",
        f"its δ is {shown} above that of Gaussian noise.",
        Verdict.of(*(abs(each - PRINTED_EXTRA) < PRINTED_EXTRA / 4 for each in extra.values())),
    )


def against_share() -> Figure:
    """Fig. 8: three mechanisms of equal utility loss, against λ."""
    panels = []
    for rate in RATES:
        found = {m: equal_losses(rate, m) for m in DRAWN}
        lines = []
        for name in ("Laplace", "Gaussian", "sample"):
            points = [(m / SIZE, each[name]) for m, each in found.items() if each[name] > LEAST]
            lines.append(Line.through(name, STYLES[name], points))
        panels.append(Panel(f"π = {rate:g}", tuple(lines)))
    return Figure(
        key="breutigam.8",
        source="Breutigam and Reischuk",
        number="Fig. 8",
        title="Equal utility loss, against the sampling rate",
        caption=f"n = {SIZE:,}, ε = {EPSILON}, an adversary who knows only the rate π. Both axes "
        "are logarithmic here; a line ends where its δ falls below 1e-5.",
        x=SHARES,
        y=Axis("δ", "probability", is_log=True, low=LEAST, high=0.1, ticks=(1e-5, 1e-4, 1e-3, 0.01, 0.1)),
        panels=tuple(panels),
        claims=_share_claims(),
    )


def _share_claims() -> tuple[Claim, ...]:
    every = {(rate, m): equal_losses(rate, m) for rate in RATES for m in DRAWN}
    ratios = {rate: [every[rate, m]["Laplace"] / every[rate, m]["Gaussian"] for m in DRAWN] for rate in RATES}
    return _together(every), _always_worse(ratios), _deteriorates(ratios)


def _together(every: dict[tuple[float, int], Deltas]) -> Claim:
    apart = {at: abs(each["sample"] / each["Gaussian"] - 1) for at, each in every.items()}
    large = max(gap for (_, m), gap in apart.items() if m >= SHARE * SIZE)
    small = max(apart, key=lambda at: apart[at])
    return Claim(
        "section 6",
        "The curves of subsampling and Gaussian noise fall together.",
        f"they differ by at most {percent(large)} for λ from {SHARE:g} on; at worst the one is "
        f"{number(1 + apart[small])} times the other, at π = {small[0]:g} and λ = {small[1] / SIZE:g}.",
        Verdict.of(large < ALIKE, apart[small] < ALIKE),
    )


def _always_worse(ratios: dict[float, list[float]]) -> Claim:
    free = " and ".join(f"{number(_free_share(rate))} (π = {rate:g})" for rate in ratios)
    worse = " and ".join(number(_first_above(each, 1.0) / SIZE) for each in ratios.values())
    equal = max(abs(each[-1] - 1) for each in ratios.values())
    return Claim(
        "section 6",
        "Laplace noise is always worse.",
        "not for small λ: noise of the same loss is then so strong that it is differentially "
        f"private at this ε, so that its δ is 0. That is so up to λ = {free}. It is worse from λ = "
        f"{worse} on; at λ = {DRAWN[-1] / SIZE:g} the two agree to {percent(equal)}.",
        Verdict.of(*(ratio > 1 for each in ratios.values() for ratio in each)),
    )


def _deteriorates(ratios: dict[float, list[float]]) -> Claim:
    peaks = " and ".join(
        f"{number(max(each))} at λ = {number(DRAWN[each.index(max(each))] / SIZE)} (π = {rate:g})"
        for rate, each in ratios.items()
    )
    return Claim(
        "section 6",
        "The relative performance of Laplace noise deteriorates with smaller λ.",
        f"its δ over that of Gaussian noise rises to {peaks}, and falls to 0 below.",
        Verdict.of(*(a >= b for each in ratios.values() for a, b in pairwise(each))),
    )


def _free_share(rate: float) -> float:
    """The λ up to which Laplace noise of the sample's loss is ε-differentially private.

    ε = √(2λ/(π(1 − π)(n − m))) in section 4.4, solved for λ.
    """
    odds = EPSILON**2 * rate * (1 - rate) * SIZE / 2
    return odds / (1 + odds)


def _first_above(ratios: list[float], bound: float) -> int:
    """The smallest sample of the figure from which on a ratio is above a bound."""
    return next(m for m, ratio in zip(DRAWN, ratios, strict=True) if ratio > bound)


# What computes each figure, by its key.
FIGURES = {
    "breutigam.5": against_rate,
    "breutigam.8": against_share,
}

SAMPLED_RATE, SAMPLED_EPSILON = 0.5, 0.1
SAMPLES = (1, *DRAWN, SIZE)
PARTS = tuple(m / SIZE for m in SAMPLES)
ROUNDING = 1 + 1e-9  # of a privacy curve


def sampled() -> Figure:
    """Fig. 7: δ of a sample, and λ times δ of the count of a database of its size."""
    shrunk = [math.log1p(part * math.expm1(SAMPLED_EPSILON)) for part in PARTS]
    exact, pure, proved = [], [], []
    for m, part, epsilon in zip(SAMPLES, PARTS, shrunk, strict=True):
        exact.append(privacy_curve(Subsample(m), Binomial(SIZE, SAMPLED_RATE)).delta(epsilon))
        pure.append(part * privacy_curve(Exact(), Binomial(m, SAMPLED_RATE)).delta(SAMPLED_EPSILON))
        proved.append(amplified_delta(SIZE, m, SAMPLED_RATE, epsilon))
    lines = (
        Line("conjecture", STYLES["printed"], PARTS, tuple(pure)),
        Line("proved", STYLES["proved"], PARTS, tuple(proved)),
        Line("sample", STYLES["sample"], PARTS, tuple(exact)),
    )
    return Figure(
        key="breutigam.7",
        source="Breutigam and Reischuk",
        number="Fig. 7",
        title="Amplification by subsampling",
        caption=f"n = {SIZE:,}, π = {SAMPLED_RATE}, ε = {SAMPLED_EPSILON}. Sample: δ at ε' = ln(1 + λ(e^ε − 1)) of a "
        "sample of m = λn records. Conjecture: λ times δ(ε) of the count of m records. Added: the smaller bound that "
        "docs/amplification.md proves. The axis of λ is logarithmic here.",
        x=SHARES,
        y=DELTA,
        panels=(Panel("", lines),),
        claims=(_better(exact, pure), _conjecture(exact, proved, pure), _turns(exact)),
    )


def _better(exact: list[float], pure: list[float]) -> Claim:
    parts = [found / bound for found, bound in zip(exact[:-1], pure[:-1], strict=True)]
    return Claim(
        "section 7",
        "Subsampling gives even better results than λ times δ of the smaller database.",
        f"for λ < 1 its δ is {number(min(parts))} to {number(max(parts))} of that.",
        Verdict.of(max(parts) < 1),
    )


def _conjecture(exact: list[float], proved: list[float], pure: list[float]) -> Claim:
    shares = [bound / said for bound, said in zip(proved, pure, strict=True)]
    every = zip(exact, proved, pure, strict=True)
    return Claim(
        "section 7",
        "We conjecture that for property queries subsampling never leads to larger δ.",
        "proved since, for every symmetric query of independent records. For counts the bound that "
        f"is proved is {number(min(shares))} to {number(max(shares))} of the conjectured one in "
        "this figure. In print the rate is λ = n/m; m/n is meant.",
        Verdict.of(all(found <= bound * ROUNDING <= said * ROUNDING**2 for found, bound, said in every)),
    )


def _turns(exact: list[float]) -> Claim:
    best = exact.index(max(exact))
    return Claim(
        "caption of Fig. 7",
        "δ increases when decreasing λ up to a certain point, because ε' gets smaller.",
        f"from {number(exact[-1])} at λ = 1 to {number(exact[best])} at λ = {number(PARTS[best])}, the largest at the "
        f"{len(PARTS)} λ that are drawn, and down to {number(exact[0])} at λ = {number(PARTS[0])}.",
        Verdict.of(exact[-1] < exact[best] > exact[0]),
    )
