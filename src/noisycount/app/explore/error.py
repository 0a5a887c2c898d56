"""How far off answers are, at every ε."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from noisycount.analysis.evaluation.averages import Estimated
from noisycount.analysis.evaluation.evaluation import mean_absolute_error
from noisycount.analysis.privacy.privacy_curve import privacy_curve
from noisycount.analysis.privacy.smallest_scale import smallest_scale
from noisycount.app.explore.sliders import Sliders
from noisycount.app.options.population import NOISE_OPTIONS
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.model.populations.binomial import Binomial

__all__ = ["DELTA", "Errors"]

DELTA = 1e-6
"""The δ of noise that has no ε without one."""

_EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
# Up to which standard deviation of the count refined errors take a tenth of a second at most.
_MOST_SPREAD = {"discrete-laplace": 100.0, "laplace": 10.0, "discrete-gaussian": 6.0}
_NOTHING = DiscreteLaplace(2**40)  # an answer that says nothing at all
_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class Errors:
    """Mean absolute errors about the count of the records that are drawn, in records.

    Attributes:
        sliders: Where all sliders stand.
        epsilon: ε of the noise, at δ = 10⁻⁶ where it has none without.
        epsilons: Where errors are known, increasing.
        answer: The error of the answer itself, at each ε.
        refined: That of the posterior mean; None where it takes longer than a page may.
        guess: That of the mean of the public rate, without any answer.
    """

    sliders: Sliders
    epsilon: float
    epsilons: tuple[float, ...]
    answer: tuple[float, ...]
    refined: tuple[float, ...] | None
    guess: float

    @classmethod
    def of(cls, sliders: Sliders) -> Self:
        """The errors at some ε, that of the noise among them."""
        own, counted = _epsilon(sliders), sliders.counted
        noises = {epsilon: _noise(sliders.noise, epsilon) for epsilon in _EPSILONS}
        noises[own] = sliders.made_noise
        epsilons = tuple(sorted(noises))
        affords = counted.law().deviation <= _MOST_SPREAD.get(sliders.noise, 0.0)
        return cls(
            sliders,
            own,
            epsilons,
            answer=tuple(_error(counted, noises[one], "answer") for one in epsilons),
            refined=tuple(_error(counted, noises[one], "mean") for one in epsilons)
            if affords
            else None,
            guess=_error(counted, _NOTHING, "mean"),
        )

    @property
    def own(self) -> tuple[float, float | None]:
        """The error of the answer and of the refined one, at the ε of the noise."""
        place = self.epsilons.index(self.epsilon)
        return self.answer[place], None if self.refined is None else self.refined[place]


def _epsilon(sliders: Sliders) -> float:
    """ε of the noise."""
    own = sliders.epsilon
    return _epsilon_at_delta(sliders.made_noise) if own is None else float(own)


@lru_cache(_REMEMBERED)
def _epsilon_at_delta(noise: AdditiveNoise) -> float:
    return privacy_curve(noise).epsilon(DELTA)


@lru_cache(_REMEMBERED)
def _noise(kind: str, epsilon: float) -> AdditiveNoise:
    """The noise of that kind that has an ε."""
    made = NOISE_OPTIONS[kind]
    if made(1).epsilon is not None:
        return made(1 / epsilon)
    return made(smallest_scale(made, epsilon, DELTA))


@lru_cache(_REMEMBERED)
def _error(counted: Binomial, noise: Mechanism, by: Estimated) -> float:
    return mean_absolute_error(counted, noise, by)
