"""Breutigam and Reischuk, *Statistical Privacy*: Fig. 1 to 8 and what is stated beside them.

Section 5 (Fig. 1 to 4 and 6): a known database beside an unknown one. Section 6 (Fig. 5 and 8): samples beside noise of
equal utility loss. Section 7 (Fig. 7): a sample, and the count of as many records.
"""

import math
from functools import partial
from itertools import pairwise

import numpy as np

from noisycount.analysis.privacy.privacy_curve import privacy_curve
from noisycount.analysis.privacy.smallest_scale import amplified_delta
from noisycount.analysis.utility import scale_for_utility_loss, utility_loss
from noisycount.charts.plot import Axis, Line, Panel
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
    Claim,
    Figure,
    Paper,
    Verdict,
    number,
    percent,
)

_NAME = "Breutigam and Reischuk"
SIZE, SMALL = 1000, 100
EPSILON = 0.01
SCALES = (1.0, 3.0)  # ν₁ and ν₂, in records
RATES = (0.5, 0.1, 0.01)  # π₁ to π₃
STRENGTHS = tuple(float(scale) for scale in np.linspace(1, 10, 28))
PLACES = tuple(float(rate) for rate in np.geomspace(1e-4, 0.5, 38))
PRINTED = (0.38, 0.128)  # δ of the worst case at ν₁ and ν₂
RATE = Axis("rate π of the property", is_log=True, ticks=(1e-4, 1e-3, 0.01, 0.1, 0.5))
DELTA = Axis("δ", "probability", low=0.0)
SHARES = Axis("share λ = m/n that is drawn", is_log=True, ticks=(0.002, 0.01, 0.05, 0.2, 1), high=1)
Noise = type[Gaussian] | type[Laplace]
Deltas = dict[str, float]  # δ of a mechanism, by its name


def delta(noise: Gaussian | Laplace, population: Population | None = None) -> float:
    """δ(0.01) of noise on the count; without a population in the worst case."""
    return privacy_curve(noise, population).delta(EPSILON)


def ratio(noise: Noise, size: int, rate: float, scale: float) -> float:
    """δ of the worst case over δ of an adversary who knows the rate only."""
    return delta(noise(scale)) / delta(noise(scale), Binomial(size, rate))


def against_rate(noise: Noise, place: int) -> Figure:
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
        *(f"breutigam.{place}", _NAME, f"Fig. {place}"),
        title=f"δ against the rate, {noise.__name__} noise",
        caption=f"n = {SIZE:,}, ε = {EPSILON}; {noise.__name__} noise of ν records. DP: the "
        "adversary knows all other records; SP: only the rate. Both axes are logarithmic here.",
        x=RATE,
        y=Axis("δ", "probability", low=0.01, high=1.0, is_log=True, ticks=(0.01, 0.03, 0.1, 0.3, 1)),
        panels=(Panel("", tuple(lines)),),
        claims=_gaussian_claims() if noise is Gaussian else _laplace_claims(),
    )


def against_strength(size: int, noises: tuple[Noise, ...], place: int) -> Figure:
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
        *(f"breutigam.{place}", _NAME, f"Fig. {place}"),
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


SHARE = 0.1  # λ of Fig. 5
SAMPLE_RATES = RATES[:2]  # π₁ and π₂ of Fig. 8
PRINTED_EXTRA = 0.2  # how much worse Laplace noise is said to be
USUAL_RATE = 0.1  # from here on a sample of 100 has many possible answers
LEAST = 1e-5  # a δ to draw on a logarithmic axis
SAMPLE_PLACES = tuple(float(rate) for rate in np.geomspace(1e-3, 0.5, 60))
DRAWN = tuple(int(m) for m in np.unique(np.geomspace(2, 990, 60).round()))


def equal_losses(rate: float, drawn: int) -> Deltas:
    """δ(0.01) of a sample, and of Gaussian and Laplace noise of the same utility loss."""
    outside, sample = Binomial(SIZE, rate), Subsample(drawn)
    loss = utility_loss(sample, outside)
    noises = [noise(scale_for_utility_loss(noise, loss, size=SIZE)) for noise in (Laplace, Gaussian)]
    found = [privacy_curve(each, outside).delta(EPSILON) for each in (*noises, sample)]
    return dict(zip(("Laplace", "Gaussian", "sample"), found, strict=True))


def equal_losses_against_rate() -> Figure:
    """Fig. 5: three mechanisms of equal utility loss, against π."""
    drawn = round(SHARE * SIZE)
    found = {rate: equal_losses(rate, drawn) for rate in SAMPLE_PLACES}
    return Figure(
        *("breutigam.5", _NAME, "Fig. 5"),
        title="Three mechanisms of equal utility loss",
        caption=f"n = {SIZE:,}, ε = {EPSILON}, an adversary who knows only the rate π. Samples of λ = {SHARE:g}, that "
        f"is {drawn} records, and noise of the same utility loss. The axis of π is logarithmic here.",
        x=RATE,
        y=DELTA,
        panels=(
            Panel(
                "",
                tuple(
                    Line(name, STYLES[name], SAMPLE_PLACES, tuple(found[rate][name] for rate in SAMPLE_PLACES))
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


def equal_losses_against_share() -> Figure:
    """Fig. 8: three mechanisms of equal utility loss, against λ."""
    every = {(rate, m): equal_losses(rate, m) for rate in SAMPLE_RATES for m in DRAWN}
    ratios = {rate: [every[rate, m]["Laplace"] / every[rate, m]["Gaussian"] for m in DRAWN] for rate in SAMPLE_RATES}
    panels = []
    for rate in SAMPLE_RATES:
        lines = []
        for name in ("Laplace", "Gaussian", "sample"):
            points = [(m / SIZE, every[rate, m][name]) for m in DRAWN if every[rate, m][name] > LEAST]
            lines.append(Line.through(name, STYLES[name], points))
        panels.append(Panel(f"π = {rate:g}", tuple(lines)))
    return Figure(
        *("breutigam.8", _NAME, "Fig. 8"),
        title="Equal utility loss, against the sampling rate",
        caption=f"n = {SIZE:,}, ε = {EPSILON}, an adversary who knows only the rate π. Both axes "
        "are logarithmic here; a line ends where its δ falls below 1e-5.",
        x=SHARES,
        y=Axis("δ", "probability", is_log=True, low=LEAST, high=0.1, ticks=(1e-5, 1e-4, 1e-3, 0.01, 0.1)),
        panels=tuple(panels),
        claims=(_together(every), _always_worse(ratios), _deteriorates(ratios)),
    )


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
    worse = " and ".join(
        number(next(m for m, ratio in zip(DRAWN, each, strict=True) if ratio > 1) / SIZE) for each in ratios.values()
    )
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
        *("breutigam.7", _NAME, "Fig. 7"),
        title="Amplification by subsampling",
        caption=f"n = {SIZE:,}, π = {SAMPLED_RATE}, ε = {SAMPLED_EPSILON}. Sample: δ at ε' = ln(1 + λ(e^ε − 1)) of a "
        "sample of m = λn records. Conjecture: λ times δ(ε) of the count of m records. Added: the smaller bound that "
        "the page “Amplification by subsampling” proves. The axis of λ is logarithmic here.",
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


def numbers() -> tuple[Claim, ...]:
    """Lemma 5, and the conclusion on rare properties."""
    scale, few = 10.0, (1, 10, 100)  # of the noise; and positive records that are expected
    curve = privacy_curve(Laplace(scale), Binomial(SIZE, 0.1))
    bound = 1 / scale
    just_below = curve.delta(bound * (1 - 1e-3))
    rare = {each: privacy_curve(Exact(), Binomial(SIZE, each / SIZE)).delta(EPSILON) for each in few}
    return (
        Claim(
            "Lemma 5",
            "Laplace noise of scale ψ is (1/ψn, 0)-statistically private; for δ = 0 about the same "
            "noise is needed as for differential privacy.",
            f"noise of {scale:g} records: δ({bound:g}) = {number(curve.delta(bound))}, and "
            f"δ({bound * (1 - 1e-3):g}) = {number(just_below)}: exactly the same noise.",
            Verdict.of(curve.delta(bound) == 0, just_below > 0),
        ),
        Claim(
            "section 7",
            "Good privacy bounds can already be achieved without noise, unless the expected number "
            "of positive entries gets close to 1.",
            f"without noise, n = {SIZE:,} and ε = {EPSILON}, δ is "
            + ", ".join(f"{number(found)} ({each} expected)" for each, found in rare.items())
            + f". What is usually asked for, a δ below 1/n = {number(1 / SIZE)}, is never reached.",
            Verdict.of(rare[1] > MUCH * rare[10], min(rare.values()) < 1 / SIZE),
        ),
    )


PAPER = Paper(
    "breutigam",
    _NAME,
    "Statistical Privacy",
    {
        "breutigam.1": partial(against_rate, Gaussian, 1),
        "breutigam.2": partial(against_strength, SIZE, (Gaussian,), 2),
        "breutigam.3": partial(against_rate, Laplace, 3),
        "breutigam.4": partial(against_strength, SIZE, (Laplace,), 4),
        "breutigam.5": equal_losses_against_rate,
        "breutigam.6": partial(against_strength, SMALL, (Gaussian, Laplace), 6),
        "breutigam.7": sampled,
        "breutigam.8": equal_losses_against_share,
    },
    numbers,
)
