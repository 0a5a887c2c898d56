"""Noisy answers about one count beside what was known before: the estimate, in words and JSON."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from operator import mul
from typing import Any

from noisycount.analysis.posterior.law import shortest_interval
from noisycount.analysis.posterior.posterior import Posterior, posterior_of
from noisycount.analysis.posterior.predictive import contradiction
from noisycount.display.numbers import percent, signed
from noisycount.display.output import Facts
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.sampling.scalar import as_written
from noisycount.readers.assumption import Assumed, Rate
from noisycount.validation import exact_text, optional_text

LEVEL = 0.95
_DISCRETE = "discrete "


@frozen
class Refinement:
    """A Bayes estimate of a count."""

    answers: tuple[float, ...]  # the noisy answers about it, in records
    assumed: Assumed  # what was assumed before them
    noises: tuple[AdditiveNoise, ...]  # the noise of each answer, drawn independently
    told: Posterior  # the law of the count given the answers
    level: float = LEVEL  # the level of `interval`

    @classmethod
    def of(
        cls,
        answers: Sequence[float],
        assumed: Assumed,
        noise: AdditiveNoise | Sequence[AdditiveNoise],
        level: float = LEVEL,
    ) -> "Refinement":
        """The estimate of one count from answers, each with its noise."""
        noises = noise if isinstance(noise, Sequence) else [noise] * len(answers)
        told = posterior_of(answers, assumed.population, noises)
        return cls(tuple(answers), assumed, tuple(noises), told, level)

    @property
    def answer(self) -> float:
        """The average of the answers, each weighted by one over its variance; in records."""
        if len(self.answers) == 1:
            return self.answers[0]
        if self.noise is not None:
            return sum(self.answers) / len(self.answers)
        weights = [1 / noise.variance for noise in self.noises]
        return math.fsum(map(mul, self.answers, weights)) / math.fsum(weights)

    @property
    def answer_deviation(self) -> float:
        """The standard deviation of that average about the count, in records."""
        if self.noise is not None:
            return math.sqrt(self.noise.variance / len(self.answers))
        return 1 / math.sqrt(math.fsum(1 / noise.variance for noise in self.noises))

    @property
    def noise(self) -> AdditiveNoise | None:
        """The one noise of all answers; None where they differ."""
        return self.noises[0] if len(set(self.noises)) == 1 else None

    @property
    def deviation(self) -> float:
        """The standard deviation of the count given the answers, in records."""
        return math.sqrt(self.told.variance)

    @property
    def interval(self) -> tuple[int, int]:
        """The equal-tailed interval of the count, in records."""
        return self.told.interval(self.level)

    @property
    def shortest_interval(self) -> tuple[int, int]:
        """The shortest interval of the count, in records, which has its most probable value."""
        return shortest_interval(self.told.law, self.level)


def continuous_words(noise: AdditiveNoise) -> str:
    """What to type if the noise was the continuous one of that scale; nothing if it is.

    Example:
        >>> continuous_words(DiscreteLaplace(5))
        ', or, if the noise was continuous, give --noise laplace --scale 5'
    """
    kind = noise.name.lower()
    if not kind.startswith(_DISCRETE):
        return ""
    continuous = kind.removeprefix(_DISCRETE).replace(" ", "-")
    scale = exact_text(scale_of(noise))
    return f", or, if the noise was continuous, give --noise {continuous} --scale {scale}"


def check_whole(answer: float, noise: AdditiveNoise) -> None:
    """The refusal of a fraction that was typed for an answer under noise of whole numbers."""
    if noise.is_discrete and not float(answer).is_integer():
        raise NoisyCountError(
            f"the answer must be a whole number under {noise.name} noise, got {answer!r}: mend it"
            f"{continuous_words(noise)}"
        )


def scale_of(noise: AdditiveNoise) -> Fraction:
    """The scale of a noise as it is written, in records."""
    return as_written(noise.scale, "scale")


_UNSURPRISING = 0.05


def warning(refinement: Refinement) -> str | None:
    """What is odd about the answers, with numbers and a remedy; None where nothing is.

    Example:
        >>> from noisycount.model.noises.laplace import DiscreteLaplace
        >>> assumed = Assumed.of_rate(5912, Rate(0.017))
        >>> warning(Refinement.of([107], assumed, DiscreteLaplace(7))) is None
        True
        >>> odd = warning(Refinement.of([200], assumed, DiscreteLaplace(7)))
        >>> odd.partition(": ")[2]
        'check the rate, or say how uncertain it is, such as --rate 1.7%±0.7%'
    """
    surprise, assumed = refinement.told.surprise, refinement.assumed
    rate, mean = assumed.rate, assumed.population.law().mean
    known = "if the rates hold" if rate is None else f"if the rate is {rate}"
    if assumed.is_flat:
        known = "if all counts are as likely"
    odd = contradiction(surprise, mean, len(refinement.answers), known)
    return None if odd is None else f"{odd}: {_remedy(refinement)}"


def _remedy(refinement: Refinement) -> str:
    """What to check, and a rate that is uncertain enough if there is one."""
    rate = refinement.assumed.rate
    if refinement.assumed.is_flat:
        return "check the size and the noise"
    if rate is None:
        return "check the sizes and rates of the groups"
    wider = _wider(refinement, rate)
    if wider is None:
        return "check the rate, the size and the noise"
    how = "how much more uncertain it is" if rate.deviation else "how uncertain it is"
    return f"check the rate, or say {how}, such as --rate {wider.typed}"


def _wider(refinement: Refinement, rate: Rate) -> Rate | None:
    """The rate with the smallest one-digit deviation under which the answers do not surprise."""
    size = refinement.assumed.population.records
    miss = max(abs(answer / size - rate.mean) for answer in refinement.answers)
    for deviation in _deviations(rate, miss / 4):
        assumed = Assumed.of_rate(size, Rate(rate.mean, deviation))
        told = Refinement.of(refinement.answers, assumed, refinement.noises).told
        if told.surprise >= _UNSURPRISING:
            return assumed.rate
    return None


def _deviations(rate: Rate, least: float) -> Iterator[float]:
    """The deviations of one digit, from a power of ten below `least`, wider than the rate's."""
    largest = math.sqrt(rate.mean * (1 - rate.mean))
    for exponent in range(math.floor(math.log10(least)), 0):
        for digit in range(1, 10):
            deviation = float(f"{digit}e{exponent}")
            if rate.deviation < deviation < largest:
                yield deviation


def refinement_facts(refinement: Refinement) -> Facts:
    """A Bayes estimate in words."""
    told, several = refinement.told, len(refinement.answers) > 1
    low, high = refinement.interval
    weighted = "" if refinement.noise is not None else "weighted "
    raw = f"the {weighted}average of the answers" if several else "the answer alone"
    facts = [
        ("assumed", refinement.assumed.words),
        ("answers" if several else "answer", _answers(refinement)),
        ("mean", f"{signed(told.mean, 1)}  (least squared error)"),
        ("median", f"{signed(told.median)}  (least absolute error)"),
        ("interval", f"{signed(low)} to {signed(high)} with {percent(refinement.level)} probability"),
        (
            "deviation",
            (f"{signed(refinement.deviation, 1)}, against {signed(refinement.answer_deviation, 1)} of {raw}"),
        ),
    ]
    odd = warning(refinement)
    return facts if odd is None else [*facts, ("warning", odd)]


def _answers(refinement: Refinement) -> str:
    """The answers and their noise."""
    if refinement.noise is None:
        pairs = zip(refinement.answers, refinement.noises, strict=True)
        return "; ".join(f"{_exact(answer)} with {_noise(noise)}" for answer, noise in pairs)
    told = ", ".join(_exact(answer) for answer in refinement.answers)
    return f"{told}, with {_noise(refinement.noise)}"


def _noise(noise: AdditiveNoise) -> str:
    """The noise of an answer, by its ε where `count` gives such."""
    if isinstance(noise, DiscreteLaplace):
        return f"noise of ε = {exact_text(noise.epsilon)}"
    return f"{noise.name} noise of scale {exact_text(scale_of(noise))}"


def _exact(answer: float) -> str:
    """An answer with the digits that it was given in."""
    return f"{answer:,}".replace("-", "−")


_NOISE = ("epsilon", "mechanism", "scale")


def refinement_json(refinement: Refinement) -> dict[str, Any]:
    """A Bayes estimate beside the raw answers and their average, in records."""
    told, noise = refinement.told, refinement.noise
    return {
        "answer": refinement.answer,
        "answers": list(refinement.answers),
        "answer_deviation": refinement.answer_deviation,
        **assumed_members(refinement.assumed),
        **(dict.fromkeys(_NOISE) if noise is None else _noise_members(noise)),
        "noises": [_noise_members(noise) for noise in refinement.noises],
        "mean": told.mean,
        "median": told.median,
        "mode": told.mode,
        "standard_deviation": refinement.deviation,
        "interval": list(refinement.interval),
        "level": refinement.level,
        "surprise": told.surprise,
        "warning": warning(refinement),
    }


def _noise_members(noise: AdditiveNoise) -> dict[str, str | None]:
    """The noise of an answer; ε is null for noise that has none."""
    scale = scale_of(noise)
    told = optional_text(None if noise.epsilon is None else 1 / scale), noise.name, exact_text(scale)
    return dict(zip(_NOISE, told, strict=True))


def assumed_members(assumed: Assumed) -> dict[str, Any]:
    """What was assumed before an answer."""
    prior, rate = assumed.population.law(), assumed.rate
    return {
        "size": assumed.population.records,
        "rate": None if rate is None else rate.mean,
        "rate_deviation": None if rate is None else rate.deviation,
        "groups": assumed.groups,
        "flat": assumed.is_flat,
        "expected": prior.mean,
        "expected_deviation": prior.variance**0.5,
    }
