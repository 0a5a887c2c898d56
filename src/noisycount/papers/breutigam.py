"""Breutigam and Reischuk, *Statistical Privacy*: Fig. 1 to 8 and the numerical claims about them.

Section 5 (Fig. 1 to 4 and 6) compares differential privacy (DP: the adversary knows all other records) with statistical
privacy (SP: the adversary knows only the rate). Section 6 (Fig. 5 and 8) compares samples with noise of equal utility
loss. Section 7 (Fig. 7) compares a sample with the count of a database of the same size. `PAPER` lists all figures.
"""

import math
from collections.abc import Collection
from functools import partial
from itertools import pairwise

import numpy as np

from noisycount.analysis.privacy.privacy_curve import privacy_curve
from noisycount.analysis.privacy.smallest_scale import amplified_delta
from noisycount.analysis.utility import scale_for_utility_loss, utility_loss
from noisycount.charts.plot import Line, Panel
from noisycount.charts.theme import DOTS, GUIDE, LEVELS, LONG, MIXED, SOLID, STYLES
from noisycount.model.exact import Exact
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.laplace import Laplace
from noisycount.model.populations.binomial import Binomial
from noisycount.model.populations.population import Population
from noisycount.model.subsampling import Subsample
from noisycount.papers.figure import (
    ALIKE,
    CLEARLY,
    MUCH,
    NEARLY,
    SIMILAR,
    ClaimCheck,
    Drawing,
    extremes,
    paper_of_key,
)

SIZE, SMALL = 1000, 100
EPSILON = 0.01
SCALES = (1.0, 3.0)  # ν₁ and ν₂, in records
RATES = (0.5, 0.1, 0.01)  # π₁ to π₃
STRENGTHS = tuple(float(scale) for scale in np.linspace(1, 10, 28))
PLACES = tuple(float(rate) for rate in np.geomspace(1e-4, 0.5, 38))
PRINTED = (0.38, 0.128)  # δ of the worst case at ν₁ and ν₂
Noise = type[Gaussian] | type[Laplace]
Deltas = dict[str, float]  # δ by the name of the mechanism


def delta(noise: Gaussian | Laplace, population: Population | None = None) -> float:
    """Return δ at ε = 0.01 for noise added to a count; without a population, against the worst-case adversary."""
    return privacy_curve(noise, population).delta(EPSILON)


def ratio(noise: Noise, size: int, rate: float, scale: float) -> float:
    """Return δ against the worst-case adversary divided by δ against one who knows only the rate."""
    return delta(noise(scale)) / delta(noise(scale), Binomial(size, rate))


def delta_against_rate(noise: Noise) -> Drawing:
    """Return Fig. 1 (Gaussian noise) or Fig. 3 (Laplace noise): δ against the rate π for two scales of noise."""
    lines = []
    for scale, dp_dash, sp_dash in zip(SCALES, (SOLID, LONG), (MIXED, DOTS), strict=True):
        worst = delta(noise(scale))
        lines += [
            Line(f"DP, ν = {scale:g}", STYLES["worst case"].dashed(dp_dash), PLACES, (worst,) * len(PLACES)),
            Line(
                f"SP, ν = {scale:g}",
                STYLES["distribution only"].dashed(sp_dash),
                PLACES,
                tuple(delta(noise(scale), Binomial(SIZE, rate)) for rate in PLACES),
            ),
        ]
    return Drawing.from_lines(lines, *(_gaussian_checks() if noise is Gaussian else _laplace_checks()))


def ratio_against_scale(size: int, noises: tuple[Noise, ...]) -> Drawing:
    """Return Fig. 2 or 4 (1,000 records) or Fig. 6 (100 records): a ratio of two δ against the scale ν.

    δ of differential privacy (DP), against the worst-case adversary, is divided by δ of statistical privacy (SP),
    against an adversary who knows only the rate.
    """
    has_headings = len(noises) > 1
    panels = []
    for noise in noises:
        lines = [
            Line(f"π = {rate:g}", style, STRENGTHS, tuple(ratio(noise, size, rate, scale) for scale in STRENGTHS))
            for rate, style in zip(RATES, LEVELS, strict=False)
        ]
        guide = Line("equal δ", GUIDE, (1.0, 10.0), (1.0, 1.0))
        panels.append(Panel(f"{noise.__name__} noise" if has_headings else "", (*lines, guide)))
    return Drawing(
        tuple(panels), _checks_of_small_databases() if size == SMALL else _checks_at_strong_privacy(noises[0])
    )


def _gaussian_checks() -> tuple[ClaimCheck, ...]:
    worst = [delta(Gaussian(scale)) for scale in SCALES]
    deltas = [[delta(Gaussian(scale), Binomial(SIZE, rate)) for scale in SCALES] for rate in RATES]
    (weak, strong), rare = deltas[-1], delta(Gaussian(1.0), Binomial(SIZE, PLACES[0]))
    return (
        ClaimCheck(
            {"worst": worst}, [round(delta, 3) == printed for delta, printed in zip(worst, PRINTED, strict=True)]
        ),
        ClaimCheck(
            {"deltas": deltas, "fall": 1 - strong / weak, "ratio": strong / worst[1]},
            [MUCH * pair[1] < worst[1] and pair[1] > NEARLY * pair[0] for pair in deltas],
        ),
        ClaimCheck({"rare": rare, "worst": worst[0]}, [rare > NEARLY * worst[0]]),
    )


def _laplace_checks() -> tuple[ClaimCheck, ...]:
    settings = [(scale, rate) for scale in SCALES for rate in RATES]
    ratios = [ratio(Laplace, SIZE, r, s) / ratio(Gaussian, SIZE, r, s) for s, r in settings]
    deltas = [
        (delta(Laplace(s), population), delta(Gaussian(s), population), delta(Gaussian(s * 2**0.5), population))
        for s, population in ((s, Binomial(SIZE, r)) for s, r in settings)
    ]
    return (
        ClaimCheck({"ratios": extremes(ratios)}, [1 / SIMILAR < value < SIMILAR for value in ratios]),
        ClaimCheck(
            {
                "same_scale": extremes(a / b for a, b, _ in deltas),
                "same_variance": extremes(a / c for a, _, c in deltas),
            },
            [all(a < b for a, b, _ in deltas), all(a < c for a, _, c in deltas)],
        ),
    )


def _checks_at_strong_privacy(noise: Noise) -> tuple[ClaimCheck, ...]:
    ratios = [ratio(noise, SIZE, rate, 10.0) for rate in RATES]
    error = noise(10.0).variance ** 0.5
    shares = [error / (SIZE * rate) for rate in RATES]
    return (
        ClaimCheck({"ratios": ratios}, [ratio_at_rate > CLEARLY for ratio_at_rate in ratios]),
        ClaimCheck({"error": error, "shares": shares}, [MUCH * share > 1 for share in shares]),
    )


def _checks_of_small_databases() -> tuple[ClaimCheck, ...]:
    ratios = [ratio(Gaussian, SMALL, rate, 1.0) for rate in RATES]
    weak, strong = (
        [delta(Gaussian(s), Binomial(SMALL, rate)) / delta(Gaussian(s), Binomial(SIZE, rate)) for rate in RATES]
        for s in (1.0, 10.0)
    )
    return (
        ClaimCheck({"ratios": ratios}, [quotient > MUCH for quotient in ratios]),
        ClaimCheck({"weak": weak, "strong": strong}, [quotient < SIMILAR for quotient in (*weak, *strong)]),
    )


SHARE = 0.1  # λ in Fig. 5
SAMPLE_RATES = RATES[:2]  # π₁ and π₂ in Fig. 8
PRINTED_EXTRA = 0.2  # relative excess of δ of Laplace noise that the paper states
USUAL_RATE = 0.1  # smallest rate at which a sample of 100 has many possible counts
LEAST = 1e-5  # smallest δ on the logarithmic axis
SAMPLE_PLACES = tuple(float(rate) for rate in np.geomspace(1e-3, 0.5, 60))
DRAWN = tuple(int(m) for m in np.unique(np.geomspace(2, 990, 60).round()))


def equal_losses(rate: float, sample_size: int) -> Deltas:
    """Return δ at ε = 0.01 of a sample, and of Gaussian and Laplace noise with the same utility loss.

    Args:
        rate: The rate π of the property.
        sample_size: The number of records in the sample.
    """
    population, sample = Binomial(SIZE, rate), Subsample(sample_size)
    loss = utility_loss(sample, population)
    noises = [noise(scale_for_utility_loss(noise, loss, size=SIZE)) for noise in (Laplace, Gaussian)]
    deltas = [privacy_curve(mechanism, population).delta(EPSILON) for mechanism in (*noises, sample)]
    return dict(zip(("Laplace", "Gaussian", "sample"), deltas, strict=True))


def equal_losses_against_rate() -> Drawing:
    """Return Fig. 5: δ of three mechanisms of equal utility loss, against the rate π."""
    sample_size = round(SHARE * SIZE)
    deltas = {rate: equal_losses(rate, sample_size) for rate in SAMPLE_PLACES}
    lines = [
        Line(name, STYLES[name], SAMPLE_PLACES, tuple(deltas[rate][name] for rate in SAMPLE_PLACES))
        for name in ("Laplace", "Gaussian", "sample")
    ]
    return Drawing.from_lines(lines, _check_equal_delta(deltas), _check_laplace_worse(sample_size))


def _check_equal_delta(deltas: dict[float, Deltas]) -> ClaimCheck:
    gaps = {rate: abs(value["sample"] / value["Gaussian"] - 1) for rate, value in deltas.items()}
    usual = max(gap for rate, gap in gaps.items() if rate >= USUAL_RATE)
    worst = max(gaps, key=lambda rate: gaps[rate])
    return ClaimCheck({"usual": usual, "largest": gaps[worst], "rate": worst}, [usual < ALIKE, gaps[worst] < ALIKE])


def _check_laplace_worse(sample_size: int) -> ClaimCheck:
    deltas = [equal_losses(rate, sample_size) for rate in RATES]
    excess = [value["Laplace"] / value["Gaussian"] - 1 for value in deltas]
    return ClaimCheck({"excess": excess}, [abs(value - PRINTED_EXTRA) < PRINTED_EXTRA / 4 for value in excess])


def equal_losses_against_share() -> Drawing:
    """Return Fig. 8: δ of three mechanisms of equal utility loss, against the sampling rate λ."""
    every = {(rate, m): equal_losses(rate, m) for rate in SAMPLE_RATES for m in DRAWN}
    ratios = {rate: [every[rate, m]["Laplace"] / every[rate, m]["Gaussian"] for m in DRAWN] for rate in SAMPLE_RATES}
    panels = []
    for rate in SAMPLE_RATES:
        lines = []
        for name in ("Laplace", "Gaussian", "sample"):
            points = [(m / SIZE, every[rate, m][name]) for m in DRAWN if every[rate, m][name] > LEAST]
            lines.append(Line.through(name, STYLES[name], points))
        panels.append(Panel(f"π = {rate:g}", tuple(lines)))
    checks = (
        _check_curves_coincide(every),
        _check_laplace_always_worse(ratios),
        _check_laplace_deteriorates(ratios.values()),
    )
    return Drawing(tuple(panels), checks)


def _check_curves_coincide(deltas: dict[tuple[float, int], Deltas]) -> ClaimCheck:
    gaps = {setting: abs(value["sample"] / value["Gaussian"] - 1) for setting, value in deltas.items()}
    large = max(gap for (_, m), gap in gaps.items() if m >= SHARE * SIZE)
    rate, m = small = max(gaps, key=lambda setting: gaps[setting])
    return ClaimCheck(
        {"large": large, "factor": 1 + gaps[small], "rate": rate, "share": m / SIZE},
        [large < ALIKE, gaps[small] < ALIKE],
    )


def _check_laplace_always_worse(ratios: dict[float, list[float]]) -> ClaimCheck:
    worse = [next(m for m, ratio in zip(DRAWN, curve, strict=True) if ratio > 1) / SIZE for curve in ratios.values()]
    return ClaimCheck(
        {"free": list(map(_largest_private_share, ratios)), "worse": worse},
        [ratio > 1 for curve in ratios.values() for ratio in curve],
    )


def _check_laplace_deteriorates(curves: Collection[list[float]]) -> ClaimCheck:
    shares = [DRAWN[curve.index(max(curve))] / SIZE for curve in curves]
    return ClaimCheck(
        {"peaks": list(map(max, curves)), "shares": shares}, [a >= b for curve in curves for a, b in pairwise(curve)]
    )


def _largest_private_share(rate: float) -> float:
    """Return the largest λ at which Laplace noise with the utility loss of the sample is ε-differentially private.

    ε = √(2λ/(π(1 − π)(n − m))) in section 4.4, solved for λ.
    """
    odds = EPSILON**2 * rate * (1 - rate) * SIZE / 2
    return odds / (1 + odds)


SAMPLED_RATE, SAMPLED_EPSILON = 0.5, 0.1
SAMPLES = (1, *DRAWN, SIZE)
PARTS = tuple(m / SIZE for m in SAMPLES)
ROUNDING = 1 + 1e-9  # relative rounding error of a privacy profile


def delta_of_samples() -> Drawing:
    """Return Fig. 7: δ of a sample of m records, and λ times δ of the count of a database of m records."""
    sample_epsilons = [math.log1p(share * math.expm1(SAMPLED_EPSILON)) for share in PARTS]
    exact, conjectured, proved = [], [], []
    for m, share, epsilon in zip(SAMPLES, PARTS, sample_epsilons, strict=True):
        exact.append(privacy_curve(Subsample(m), Binomial(SIZE, SAMPLED_RATE)).delta(epsilon))
        conjectured.append(share * privacy_curve(Exact(), Binomial(m, SAMPLED_RATE)).delta(SAMPLED_EPSILON))
        proved.append(amplified_delta(SIZE, m, SAMPLED_RATE, epsilon))
    lines = (
        Line("conjecture", STYLES["printed"], PARTS, tuple(conjectured)),
        Line("proved", STYLES["proved"], PARTS, tuple(proved)),
        Line("sample", STYLES["sample"], PARTS, tuple(exact)),
    )
    return Drawing.from_lines(lines, *_checks_of_bounds(exact, conjectured, proved))


def _checks_of_bounds(exact: list[float], conjectured: list[float], proved: list[float]) -> tuple[ClaimCheck, ...]:
    shares = [delta / bound for delta, bound in zip(exact[:-1], conjectured[:-1], strict=True)]
    proved_shares = [bound / conjecture for bound, conjecture in zip(proved, conjectured, strict=True)]
    triples = zip(exact, proved, conjectured, strict=True)
    best = exact.index(max(exact))
    return (
        ClaimCheck({"shares": extremes(shares)}, [max(shares) < 1]),
        ClaimCheck(
            {"shares": extremes(proved_shares)},
            [all(delta <= bound * ROUNDING <= conjecture * ROUNDING**2 for delta, bound, conjecture in triples)],
        ),
        ClaimCheck(
            {"deltas": (exact[-1], exact[best], exact[0]), "share": PARTS[best], "places": len(PARTS)},
            [exact[-1] < exact[best] > exact[0]],
        ),
    )


def claim_checks() -> tuple[ClaimCheck, ...]:
    """Return the claims of Lemma 5 and of the conclusion on rare properties."""
    curve = privacy_curve(Laplace(10.0), Binomial(SIZE, 0.1))
    at_bound, just_below = curve.delta(0.1), curve.delta(0.1 * (1 - 1e-3))  # ε = 0.1 is 1/ψ
    deltas = [privacy_curve(Exact(), Binomial(SIZE, few / SIZE)).delta(EPSILON) for few in (1, 10, 100)]
    return (
        ClaimCheck({"at_bound": at_bound, "just_below": just_below}, [at_bound == 0, just_below > 0]),
        ClaimCheck({"deltas": deltas}, [deltas[0] > MUCH * deltas[1], min(deltas) < 1 / SIZE]),
    )


PAPER = paper_of_key(
    "breutigam",
    {
        "1": partial(delta_against_rate, Gaussian),
        "2": partial(ratio_against_scale, SIZE, (Gaussian,)),
        "3": partial(delta_against_rate, Laplace),
        "4": partial(ratio_against_scale, SIZE, (Laplace,)),
        "5": equal_losses_against_rate,
        "6": partial(ratio_against_scale, SMALL, (Gaussian, Laplace)),
        "7": delta_of_samples,
        "8": equal_losses_against_share,
    },
    claim_checks,
)
