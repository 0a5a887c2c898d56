"""Breutigam and Reischuk, section 7: Fig. 7, a sample and the count of as many records."""

import math

from noisycount.analysis.privacy.amplification import amplified_delta
from noisycount.analysis.privacy.privacy_curve import privacy_curve
from noisycount.charts.plot.plot import Line, Panel
from noisycount.charts.theme import STYLES
from noisycount.model.exact import Exact
from noisycount.model.populations.binomial import Binomial
from noisycount.model.subsampling import Subsample
from noisycount.study.claim import Claim, Verdict
from noisycount.study.figure import Figure
from noisycount.study.papers.breutigam.noise import SIZE
from noisycount.study.papers.breutigam.samples import DELTA, DRAWN, SHARES
from noisycount.study.papers.paper import number

__all__ = ["sampled"]

RATE, EPSILON = 0.5, 0.1
SAMPLES = (1, *DRAWN, SIZE)
PARTS = tuple(m / SIZE for m in SAMPLES)
ROUNDING = 1 + 1e-9  # of a privacy curve


def sampled() -> Figure:
    """Fig. 7: δ of a sample, and λ times δ of the count of a database of its size."""
    shrunk = [math.log1p(part * math.expm1(EPSILON)) for part in PARTS]
    exact, pure, proved = [], [], []
    for m, part, epsilon in zip(SAMPLES, PARTS, shrunk, strict=True):
        exact.append(privacy_curve(Subsample(m), Binomial(SIZE, RATE)).delta(epsilon))
        pure.append(part * privacy_curve(Exact(), Binomial(m, RATE)).delta(EPSILON))
        proved.append(amplified_delta(SIZE, m, RATE, epsilon))
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
        caption=f"n = {SIZE:,}, π = {RATE}, ε = {EPSILON}. Sample: δ at ε' = ln(1 + λ(e^ε − "
        "1)) of a sample of m = λn records. Conjecture: λ times δ(ε) of the count of m records. "
        "Added: the smaller bound that docs/amplification.md proves. The axis of λ is logarithmic "
        "here.",
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
        Verdict.of(
            all(found <= bound * ROUNDING <= said * ROUNDING**2 for found, bound, said in every)
        ),
    )


def _turns(exact: list[float]) -> Claim:
    best = exact.index(max(exact))
    return Claim(
        "caption of Fig. 7",
        "δ increases when decreasing λ up to a certain point, because ε' gets smaller.",
        f"from {number(exact[-1])} at λ = 1 to {number(exact[best])} at λ = "
        f"{number(PARTS[best])}, the largest at the {len(PARTS)} λ that are drawn, and down to "
        f"{number(exact[0])} at λ = {number(PARTS[0])}.",
        Verdict.of(exact[-1] < exact[best] > exact[0]),
    )
