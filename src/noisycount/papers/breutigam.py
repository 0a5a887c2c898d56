"""Breutigam and Reischuk, *Statistical Privacy*: Fig. 1 to 8 and what is stated beside them."""

from noisycount.analysis.privacy.privacy_curve import privacy_curve
from noisycount.model.exact import Exact
from noisycount.model.noises.laplace import Laplace
from noisycount.model.populations.binomial import Binomial
from noisycount.papers import breutigam_noise as noise
from noisycount.papers import breutigam_samples as samples
from noisycount.papers.breutigam_noise import EPSILON, SIZE
from noisycount.papers.breutigam_samples import sampled
from noisycount.papers.figure import MUCH, Claim, Paper, Verdict, number

_SCALE = 10.0
_FEW = (1, 10, 100)  # positive records that are expected


def numbers() -> tuple[Claim, ...]:
    """Lemma 5, and the conclusion on rare properties."""
    curve = privacy_curve(Laplace(_SCALE), Binomial(SIZE, 0.1))
    bound = 1 / _SCALE
    just_below = curve.delta(bound * (1 - 1e-3))
    rare = {few: privacy_curve(Exact(), Binomial(SIZE, few / SIZE)).delta(EPSILON) for few in _FEW}
    return (
        Claim(
            "Lemma 5",
            "Laplace noise of scale ψ is (1/ψn, 0)-statistically private; for δ = 0 about the same "
            "noise is needed as for differential privacy.",
            f"noise of {_SCALE:g} records: δ({bound:g}) = {number(curve.delta(bound))}, and "
            f"δ({bound * (1 - 1e-3):g}) = {number(just_below)}: exactly the same noise.",
            Verdict.of(curve.delta(bound) == 0, just_below > 0),
        ),
        Claim(
            "section 7",
            "Good privacy bounds can already be achieved without noise, unless the expected number "
            "of positive entries gets close to 1.",
            f"without noise, n = {SIZE:,} and ε = {EPSILON}, δ is "
            + ", ".join(f"{number(found)} ({few} expected)" for few, found in rare.items())
            + f". What is usually asked for, a δ below 1/n = {number(1 / SIZE)}, is never reached.",
            Verdict.of(rare[1] > MUCH * rare[10], min(rare.values()) < 1 / SIZE),
        ),
    )


# The paper with its figures.
PAPER = Paper(
    key="breutigam",
    name="Breutigam and Reischuk",
    reference="Statistical Privacy",
    figures=dict(sorted((noise.FIGURES | samples.FIGURES | {"breutigam.7": sampled}).items())),
    claims=numbers,
)
