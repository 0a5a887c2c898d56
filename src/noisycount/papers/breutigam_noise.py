"""Breutigam and Reischuk, section 5: Fig. 1 to 4 and 6, a known database beside an unknown one."""

from functools import partial

import numpy as np

from noisycount.analysis.privacy.privacy_curve import privacy_curve
from noisycount.charts.plot import Axis, Line, Panel
from noisycount.charts.theme import DOTS, GUIDE, LEVELS, LONG, MIXED, SOLID, STYLES
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.laplace import Laplace
from noisycount.model.populations.binomial import Binomial
from noisycount.model.populations.population import Population
from noisycount.papers.figure import CLEARLY, MUCH, NEARLY, SIMILAR, Claim, Figure, Verdict, number, percent

SIZE, SMALL = 1000, 100
EPSILON = 0.01
SCALES = (1.0, 3.0)  # ν₁ and ν₂, in records
RATES = (0.5, 0.1, 0.01)  # π₁ to π₃
STRENGTHS = tuple(float(scale) for scale in np.linspace(1, 10, 28))
PLACES = tuple(float(rate) for rate in np.geomspace(1e-4, 0.5, 38))
PRINTED = (0.38, 0.128)  # δ of the worst case at ν₁ and ν₂
Noise = type[Gaussian] | type[Laplace]
RATE = Axis("rate π of the property", is_log=True, ticks=(1e-4, 1e-3, 0.01, 0.1, 0.5))


def delta(noise: Gaussian | Laplace, population: Population | None = None) -> float:
    """δ(0.01) of noise on the count; without a population in the worst case."""
    return privacy_curve(noise, population).delta(EPSILON)


def ratio(noise: Noise, size: int, rate: float, scale: float) -> float:
    """δ of the worst case over δ of an adversary who knows the rate only."""
    return delta(noise(scale)) / delta(noise(scale), Binomial(size, rate))


def against_rate(noise: Noise, key: str, number_: str) -> Figure:
    """δ against π at two strengths of noise: Fig. 1 of Gaussian noise, Fig. 3 of Laplace noise."""
    lines = []
    for scale, known, unknown in zip(SCALES, (SOLID, LONG), (MIXED, DOTS), strict=True):
        worst = delta(noise(scale))
        lines += [
            Line(f"DP, ν = {scale:g}", STYLES["worst case"].dashed(known), PLACES, (worst,) * len(PLACES)),
            Line(
                f"SP, ν = {scale:g}",
                STYLES["distribution only"].dashed(unknown),
                PLACES,
                tuple(delta(noise(scale), Binomial(SIZE, rate)) for rate in PLACES),
            ),
        ]
    return Figure(
        key=key,
        source="Breutigam and Reischuk",
        number=number_,
        title=f"δ against the rate, {noise.__name__} noise",
        caption=f"n = {SIZE:,}, ε = {EPSILON}; {noise.__name__} noise of ν records. DP: the "
        "adversary knows all other records; SP: only the rate. Both axes are logarithmic here.",
        x=RATE,
        y=Axis("δ", "probability", low=0.01, high=1.0, is_log=True, ticks=(0.01, 0.03, 0.1, 0.3, 1)),
        panels=(Panel("", tuple(lines)),),
        claims=_gaussian_claims() if noise is Gaussian else _laplace_claims(),
    )


def against_strength(size: int, noises: tuple[Noise, ...], key: str, number_: str) -> Figure:
    """The ratio of both δ against ν: Fig. 2 and 4 with 1,000 records, Fig. 6 with 100."""
    named = len(noises) > 1
    panels = []
    for noise in noises:
        lines = [
            Line(f"π = {rate:g}", style, STRENGTHS, tuple(ratio(noise, size, rate, scale) for scale in STRENGTHS))
            for rate, style in zip(RATES, LEVELS, strict=False)
        ]
        guide = Line("", GUIDE, (1.0, 10.0), (1.0, 1.0))
        panels.append(Panel(f"{noise.__name__} noise" if named else "", (*lines, guide)))
    names = " and ".join(noise.__name__ for noise in noises)
    added = " The text does not say which noise it is, so that both are shown." if named else ""
    return Figure(
        key=key,
        source="Breutigam and Reischuk",
        number=number_,
        title=f"DP over SP, {names} noise, n = {size:,}",
        caption=f"δ where the adversary knows all other records, over δ where he knows only the rate π; n = {size:,}, "
        f"ε = {EPSILON}. Dashed: a ratio of 1. The axis upwards is logarithmic here.{added}",
        x=Axis("scale ν of the noise", "records", low=1.0, high=10.0),
        y=Axis("ratio of δ, DP/SP", is_log=True, low=0.9, ticks=(1, 2, 5, 10, 20)),
        panels=tuple(panels),
        claims=_small_claims() if size == SMALL else _strong_claims(noises[0]),
    )


def _gaussian_claims() -> tuple[Claim, ...]:
    worst = [delta(Gaussian(scale)) for scale in SCALES]
    outside = {rate: [delta(Gaussian(scale), Binomial(SIZE, rate)) for scale in SCALES] for rate in RATES}
    rare = delta(Gaussian(1.0), Binomial(SIZE, PLACES[0]))
    shown = "; ".join(f"π = {rate:g}: {number(known)} and {number(more)}" for rate, (known, more) in outside.items())
    return (
        Claim(
            "section 5",
            "With ν = 1 differential privacy achieves δ = 0.38, and 0.128 with ν = 3.",
            f"{number(worst[0], 5)} and {number(worst[1], 5)}.",
            Verdict.of(*(round(found, 3) == said for found, said in zip(worst, PRINTED, strict=True))),
        ),
        Claim(
            "section 5",
            "In the statistical setting δ is much lower, and mainly determined by the internal "
            "noise if the external noise is moderate.",
            f"δ at ν = 1 and at ν = 3: {shown}. Tripling the noise changes δ by "
            f"{percent(1 - outside[0.5][1] / outside[0.5][0])} at π = 0.5, but by "
            f"{percent(1 - outside[0.01][1] / outside[0.01][0])} at π = 0.01, where at ν = 3 it "
            f"is {number(outside[0.01][1] / worst[1], 2)} of that of the worst case.",
            Verdict.of(*(MUCH * pair[1] < worst[1] and pair[1] > NEARLY * pair[0] for pair in outside.values())),
        ),
        Claim(
            "section 5",
            "If π is very close to 0, the situation is similar to the worst case.",
            f"at π = {PLACES[0]:g} and ν = 1, δ = {number(rare)} against {number(worst[0])}.",
            Verdict.of(rare > NEARLY * worst[0]),
        ),
    )


def _laplace_claims() -> tuple[Claim, ...]:
    same = [(scale, rate) for scale in SCALES for rate in RATES]
    ratios = [(ratio(Laplace, SIZE, r, s), ratio(Gaussian, SIZE, r, s)) for s, r in same]
    outside = [
        (delta(Laplace(s), law), delta(Gaussian(s), law), delta(Gaussian(s * 2**0.5), law))
        for s, law in ((s, Binomial(SIZE, r)) for s, r in same)
    ]
    return (
        Claim(
            "section 5",
            "The results are quite similar to those of Gaussian noise.",
            f"over both ν and the three π, DP/SP is {number(min(a / b for a, b in ratios))} to "
            f"{number(max(a / b for a, b in ratios))} times that of Gaussian noise.",
            Verdict.of(*(1 / SIMILAR < a / b < SIMILAR for a, b in ratios)),
        ),
        Claim(
            "section 5",
            "Laplace noise seems to be slightly better suited in the statistical setting.",
            f"at the same ν its SP δ is {number(min(a / b for a, b, _ in outside))} to "
            f"{number(max(a / b for a, b, _ in outside))} times that of Gaussian noise. But its variance is then twice "
            f"as large; beside Gaussian noise of the same variance it is {number(min(a / c for a, _, c in outside))} "
            f"to {number(max(a / c for a, _, c in outside), 4)} times.",
            Verdict.of(all(a < b for a, b, _ in outside), all(a < c for a, _, c in outside)),
        ),
    )


def _strong_claims(noise: Noise) -> tuple[Claim, ...]:
    strongest = {rate: ratio(noise, SIZE, rate, 10.0) for rate in RATES}
    shown = ", ".join(f"{number(each)} at π = {rate:g}" for rate, each in strongest.items())
    error = noise(10.0).variance ** 0.5
    relative = {rate: error / (SIZE * rate) for rate in RATES}
    parts = ", ".join(f"{percent(part)} at π = {rate:g}" for rate, part in relative.items())
    return (
        Claim(
            "section 5",
            "Even for the maximum ν = 10 the ratio is significantly larger than 1.",
            f"{shown}.",
            Verdict.of(*(each > CLEARLY for each in strongest.values())),
        ),
        Claim(
            "section 5",
            "External noise with ν much larger than 1 degrades the utility of the answer to almost useless.",
            f"at ν = 10 the standard error is {number(error)} records of {SIZE:,}: as a share of "
            f"the count that is expected, {parts}.",
            Verdict.of(*(MUCH * part > 1 for part in relative.values())),
        ),
    )


def _small_claims() -> tuple[Claim, ...]:
    pairs = {
        (rate, scale): tuple(delta(Gaussian(scale), Binomial(size, rate)) for size in (SMALL, SIZE))
        for rate in RATES
        for scale in (1.0, 10.0)
    }
    grown = {setting: small / large for setting, (small, large) in pairs.items()}
    shown = ", ".join(f"{number(grown[rate, 1.0])} (π = {rate:g})" for rate in RATES)
    strong = ", ".join(number(grown[rate, 10.0]) for rate in RATES)
    helped = {rate: ratio(Gaussian, SMALL, rate, 1.0) for rate in RATES}
    return (
        Claim(
            "section 5",
            "Even for quite small databases of size n = 100 the internal noise is quite helpful.",
            "at ν = 1, Gaussian, DP over SP is "
            + ", ".join(f"{number(each)} (π = {rate:g})" for rate, each in helped.items())
            + ".",
            Verdict.of(*(each > MUCH for each in helped.values())),
        ),
        Claim(
            "section 5",
            "The loss of privacy compared to n = 1000 is quite small.",
            f"δ with 100 records over δ with 1,000, Gaussian noise, ν = 1: {shown}; ν = 10: {strong}.",
            Verdict.of(*(each < SIMILAR for each in grown.values())),
        ),
    )


# What computes each figure, by its key.
FIGURES = {
    "breutigam.1": partial(against_rate, Gaussian, "breutigam.1", "Fig. 1"),
    "breutigam.2": partial(against_strength, SIZE, (Gaussian,), "breutigam.2", "Fig. 2"),
    "breutigam.3": partial(against_rate, Laplace, "breutigam.3", "Fig. 3"),
    "breutigam.4": partial(against_strength, SIZE, (Laplace,), "breutigam.4", "Fig. 4"),
    "breutigam.6": partial(against_strength, SMALL, (Gaussian, Laplace), "breutigam.6", "Fig. 6"),
}
