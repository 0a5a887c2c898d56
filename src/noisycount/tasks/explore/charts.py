"""The charts of Explore: how far off answers are, what they tell of the count and of one record."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Self

import numpy as np

from noisycount.analysis.evaluation.evaluation import Estimated, mean_absolute_error
from noisycount.analysis.posterior.posterior import Posterior, posterior_of
from noisycount.analysis.privacy.privacy_curve import privacy_curve
from noisycount.analysis.privacy.smallest_scale import smallest_scale
from noisycount.analysis.utility import utility_loss
from noisycount.charts.curves import RefinementCurves
from noisycount.frozen import frozen
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.populations.binomial import Binomial
from noisycount.model.subsampling import Subsample
from noisycount.readers.values import NOISE_KINDS
from noisycount.tasks.explore.sliders import QUANTITIES, Sliders, deltas, is_affordable
from noisycount.tasks.risk import Adversary, float_above

DELTA = 1e-6  # the δ of noise that has no ε without one
_EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)

# Up to which standard deviation of the count refined errors take a tenth of a second at most.
_MOST_SPREAD = {"discrete-laplace": 100.0, "laplace": 10.0, "discrete-gaussian": 6.0}
_NOTHING = DiscreteLaplace(2**40)  # an answer that says nothing at all
_REMEMBERED = 4096


@frozen
class ErrorCurves:
    """Mean absolute errors about the count of the records that are drawn, in records."""

    sliders: Sliders  # where all sliders stand
    epsilon: float  # ε of the noise, at δ = 10⁻⁶ where it has none without
    epsilons: tuple[float, ...]  # where errors are known, increasing
    answer: tuple[float, ...]  # the error of the answer itself, at each ε
    refined: tuple[float, ...] | None  # that of the posterior mean; None where it takes longer than a page may
    guess: float  # that of the mean of the public rate, without any answer

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
            refined=tuple(_error(counted, noises[one], "mean") for one in epsilons) if affords else None,
            guess=_error(counted, _NOTHING, "mean"),
        )

    @property
    def own(self) -> tuple[float, float | None]:
        """The error of the answer and of the refined one, at the ε of the noise."""
        place = self.epsilons.index(self.epsilon)
        return self.answer[place], None if self.refined is None else self.refined[place]


def _epsilon(sliders: Sliders) -> float:
    own = sliders.epsilon
    return _epsilon_at_delta(sliders.made_noise) if own is None else float(own)


@lru_cache(_REMEMBERED)
def _epsilon_at_delta(noise: AdditiveNoise) -> float:
    return privacy_curve(noise).epsilon(DELTA)


@lru_cache(_REMEMBERED)
def _noise(kind: str, epsilon: float) -> AdditiveNoise:
    made = NOISE_KINDS[kind]
    if made(1).epsilon is not None:
        return made(1 / epsilon)
    return made(smallest_scale(made, epsilon, DELTA))


@lru_cache(_REMEMBERED)
def _error(counted: Binomial, noise: Mechanism, by: Estimated) -> float:
    return mean_absolute_error(counted, noise, by)


_POINTS = 61  # of the whole range, and as many again where the count probably lies


@frozen
class PosteriorView:
    """The count of the records that are drawn, before and after an answer."""

    sliders: Sliders  # where all sliders stand
    posterior: Posterior  # the law of that count given the answer
    curves: RefinementCurves  # what is drawn of it

    @classmethod
    def of(cls, sliders: Sliders) -> Self:
        """What the answer tells."""
        told = posterior_of(sliders.answer, sliders.counted, sliders.made_noise)
        return cls(sliders, told, RefinementCurves.of(told))

    @property
    def shown(self) -> list[int]:
        """Which points of the curves are drawn: enough of all, and enough where it matters."""
        counts = np.asarray(self.curves.counts)
        low, high = self.curves.low, self.curves.high
        width = high - low + 1
        inside = np.flatnonzero((counts >= low - width) & (counts <= high + width)).tolist()
        return sorted({*_spread(range(counts.size)), *_spread(inside)})

    @property
    def alone(self) -> float:
        """The standard deviation of the answer without anything else that is known."""
        return float(self.sliders.made_noise.variance**0.5)


def _spread(places: Sequence[int]) -> list[int]:
    chosen = np.linspace(0, len(places) - 1, min(_POINTS, len(places))).round().astype(int)
    return [places[place] for place in chosen.tolist()]


FLOOR = 1e-9  # the smallest δ that is drawn
_HALVINGS = 5  # of the axis, until a curve is narrow enough to be drawn by itself
_BISECTIONS = 2
_SHARES = (0.0, 0.35, 0.7, 0.85, 0.95, 0.99)  # of the ε at which a curve leaves
_ASKED = 0.6  # of the axis, at most, is the ε for which δ is told
_MOST_VARIANCE = 100.0  # of a sampled count, in records²: a tenth of a second
_BEYOND = 1.1  # how far the axis goes beyond the longest curve
_GAUSSIAN_TAIL = 6.0  # standard deviations beyond which a normal tail is below the smallest δ


@frozen
class AdversaryDelta:
    """δ(ε) against one adversary."""

    adversary: Adversary  # who sees the answer
    epsilons: tuple[float, ...]  # increasing, from 0 to where δ leaves the picture
    deltas: tuple[float, ...]  # δ at each; 0 is possible at the last
    asked: float  # δ at the ε for which it is told


@frozen
class PrivacyCurves:
    """δ(ε) against all adversaries."""

    sliders: Sliders  # where all sliders stand
    epsilon: float  # a round ε for which δ is told, below that of the noise
    end: float  # the largest ε that is drawn
    leaks: tuple[AdversaryDelta, ...]  # one for each adversary, the worst case first

    @classmethod
    def of(cls, sliders: Sliders) -> Self:
        """What each adversary can learn."""
        setting, reach = sliders.setting, _reach(sliders)
        shown = [each for each in setting.adversaries() if is_affordable(sliders, each, _MOST_VARIANCE)]
        curves = [_curve(setting.mechanism, each, reach) for each in shown]
        end = max(epsilons[-1] for epsilons, _ in curves)
        asked = _round_below(_ASKED * end)
        told = [deltas(setting.mechanism, each.population, (asked,))[0] for each in shown]
        return cls(sliders, asked, _BEYOND * end, tuple(map(AdversaryDelta, shown, *zip(*curves, strict=True), told)))

    @property
    def is_whole(self) -> bool:
        """Whether no adversary was left out, whose curve takes longer than a page may."""
        return len(self.leaks) == len(list(self.sliders.setting.adversaries()))


def _curve(mechanism: Mechanism, adversary: Adversary, end: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """A curve from 0 on: first where it leaves the picture, then points that are denser there."""
    known = adversary.population

    def at(*epsilons: float) -> dict[float, float]:
        return dict(zip(epsilons, deltas(mechanism, known, epsilons), strict=True))

    found = at(*(end / 2**power for power in reversed(range(_HALVINGS))))
    last = next((epsilon for epsilon in found if found[epsilon] < FLOOR), end)
    before = max((epsilon for epsilon in found if epsilon < last), default=0.0)
    for _ in range(_BISECTIONS):
        middle = (before + last) / 2
        found |= at(middle)
        before, last = (before, middle) if found[middle] < FLOOR else (middle, last)
    found |= at(*(last * share for share in _SHARES))
    shown = sorted(epsilon for epsilon in found if epsilon <= last)
    return tuple(shown), tuple(found[epsilon] for epsilon in shown)


def _reach(sliders: Sliders) -> float:
    """An ε beyond which who knows all other records learns hardly more."""
    scale = float(sliders.scale)
    if sliders.epsilon is not None:
        return float_above(sliders.epsilon)
    return _GAUSSIAN_TAIL / scale + 1 / (2 * scale**2)


def _round_below(number: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not above a number."""
    power = math.floor(math.log10(number))
    rounds = (float(f"{leading}e{power}") for leading in (5, 2, 1))
    return next(found for found in rounds if found <= number)


_FACTORS = tuple(map(Fraction, ("1/8", "3/16", "1/4", "1/2", "1", "3", "8")))  # of the scale
_MOST_VARIANCE_WORTH = 10.0  # of a sampled count, in records²: a tenth of a second


@frozen
class Guesses:
    """How often the best guess about one person is right, 50:50 before."""

    adversary: Adversary  # who sees the answer
    shares: tuple[float, ...]  # (1 + δ(0))/2 for each scale of the noise


@frozen
class WorthCurves:
    """ErrorCurves and guesses for scales around that of the noise."""

    sliders: Sliders  # where all sliders stand
    scales: tuple[Fraction, ...]  # in records, increasing, the scale of the noise among them
    errors: tuple[float, ...]  # the standard error of the answer about all records for each scale, in records
    noise: float  # the part of the privacy noise at the scale of the noise, in records
    sampling: float  # the part of the sample, in records; 0 where all records are counted
    guesses: tuple[Guesses, ...]  # for each adversary, the worst case first

    @classmethod
    def of(cls, sliders: Sliders) -> Self:
        """What noise of other scales would cost and hide."""
        others = [replace(sliders, scale=scale) for scale in _scales(sliders.scale)]
        size, drawn = sliders.size, sliders.drawn
        sampled = utility_loss(Subsample(drawn), sliders.population) if drawn < size else 0.0
        return cls(
            sliders,
            tuple(other.scale for other in others),
            tuple(_error_worth(other) for other in others),
            noise=float(sliders.made_noise.variance**0.5) * size / drawn,
            sampling=math.sqrt(sampled) * size,
            guesses=tuple(_guesses(others)),
        )

    @property
    def is_whole(self) -> bool:
        """Whether no adversary was left out, whose guesses take longer than a page may."""
        return len(self.guesses) == len(list(self.sliders.setting.adversaries()))

    @property
    def own(self) -> int:
        """The place of the scale of the noise."""
        return self.scales.index(self.sliders.scale)


def _scales(own: Fraction) -> list[Fraction]:
    quantity = QUANTITIES["scale"]
    return [own * factor for factor in _FACTORS if quantity.low <= own * factor <= quantity.high]


def _error_worth(sliders: Sliders) -> float:
    mechanism = sliders.setting.mechanism
    return math.sqrt(utility_loss(mechanism, sliders.population)) * sliders.size


def _guesses(others: list[Sliders]) -> Iterator[Guesses]:
    mechanisms = [other.setting.mechanism for other in others]
    for each in others[0].setting.adversaries():
        if is_affordable(others[0], each, _MOST_VARIANCE_WORTH):
            gaps = [deltas(mechanism, each.population, (0.0,))[0] for mechanism in mechanisms]
            yield Guesses(each, tuple((1 + gap) / 2 for gap in gaps))
