"""The refined estimate of one count from its noisy answers and a prior, as facts and as JSON."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from operator import mul
from typing import Any

from noisycount.analysis.posterior.law import shortest_interval
from noisycount.analysis.posterior.posterior import Posterior, posterior_of
from noisycount.analysis.posterior.predictive import contradiction_warning
from noisycount.display.numbers import percent, signed
from noisycount.display.output import Facts
from noisycount.display.values import members
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.sampling.scalar import fraction_as_written
from noisycount.readers.assumption import Assumed, Rate
from noisycount.validation import exact_text, optional_text

LEVEL = 0.95
_DISCRETE = "discrete "


@frozen
class Refinement:
    """A Bayesian estimate of a count."""

    answers: tuple[float, ...]  # noisy answers about the count, in records
    assumed: Assumed  # prior assumption
    noises: tuple[AdditiveNoise, ...]  # noise of each answer, independent
    posterior: Posterior  # posterior distribution of the count
    level: float = LEVEL  # probability of `interval`

    @classmethod
    def from_answers(
        cls,
        answers: Sequence[float],
        assumed: Assumed,
        noise: AdditiveNoise | Sequence[AdditiveNoise],
        level: float = LEVEL,
    ) -> "Refinement":
        """Return the estimate of one count from answers that share one noise, or each have their own."""
        noises = noise if isinstance(noise, Sequence) else [noise] * len(answers)
        result = posterior_of(answers, assumed.population, noises)
        return cls(tuple(answers), assumed, tuple(noises), result, level)

    @property
    def answer(self) -> float:
        """Average of the answers, weighted by the inverse of their variances, in records."""
        if len(self.answers) == 1:
            return self.answers[0]
        if self.noise is not None:
            return sum(self.answers) / len(self.answers)
        weights = [1 / noise.variance for noise in self.noises]
        return math.fsum(map(mul, self.answers, weights)) / math.fsum(weights)

    @property
    def answer_deviation(self) -> float:
        """Standard deviation of the average around the count, in records."""
        if self.noise is not None:
            return math.sqrt(self.noise.variance / len(self.answers))
        return 1 / math.sqrt(math.fsum(1 / noise.variance for noise in self.noises))

    @property
    def noise(self) -> AdditiveNoise | None:
        """Noise of all answers, or None if the answers have different noises."""
        return self.noises[0] if len(set(self.noises)) == 1 else None

    @property
    def deviation(self) -> float:
        """Posterior standard deviation of the count, in records."""
        return math.sqrt(self.posterior.variance)

    @property
    def interval(self) -> tuple[int, int]:
        """Equal-tailed interval of the count, in records."""
        return self.posterior.interval(self.level)

    @property
    def shortest_interval(self) -> tuple[int, int]:
        """Shortest interval of the count, in records. It contains the most probable count."""
        return shortest_interval(self.posterior.law, self.level)


def hint_at_continuous_noise(noise: AdditiveNoise) -> str:
    """Return the end of an error that suggests continuous noise of the same scale; empty if the noise is continuous.

    Example:
        >>> hint_at_continuous_noise(DiscreteLaplace(5))
        ', or, if the noise was continuous, give --noise laplace --scale 5'
    """
    kind = noise.name.lower()
    if not kind.startswith(_DISCRETE):
        return ""
    continuous = kind.removeprefix(_DISCRETE).replace(" ", "-")
    scale = exact_text(scale_of(noise))
    return f", or, if the noise was continuous, give --noise {continuous} --scale {scale}"


def check_whole(answer: float, noise: AdditiveNoise) -> None:
    """Raise NoisyCountError if an answer under discrete noise is no whole number."""
    if noise.is_discrete and not float(answer).is_integer():
        raise NoisyCountError(
            f"the answer must be a whole number under {noise.name} noise, got {answer!r}: correct it"
            f"{hint_at_continuous_noise(noise)}"
        )


def scale_of(noise: AdditiveNoise) -> Fraction:
    """Return the scale of a noise as it is written, in records."""
    return fraction_as_written(noise.scale, "scale")


_UNSURPRISING = 0.05


def warning(refinement: Refinement) -> str | None:
    """Return a warning that the answers contradict the assumption, with a remedy, or None if they do not.

    Example:
        >>> from noisycount.model.noises.laplace import DiscreteLaplace
        >>> assumed = Assumed.from_rate(5912, Rate(0.017))
        >>> warning(Refinement.from_answers([107], assumed, DiscreteLaplace(7))) is None
        True
        >>> text = warning(Refinement.from_answers([200], assumed, DiscreteLaplace(7)))
        >>> text.partition(": ")[2]
        'check the rate, or say how uncertain it is, such as 1.7%±0.7%'
    """
    surprise, assumed = refinement.posterior.surprise, refinement.assumed
    rate, mean = assumed.rate, assumed.population.law().mean
    condition = "if the rates hold" if rate is None else f"if the rate is {rate}"
    if assumed.is_flat:
        condition = "if all counts are as likely"
    text = contradiction_warning(surprise, mean, len(refinement.answers), condition)
    return None if text is None else f"{text}: {_warning_remedy(refinement)}"


def _warning_remedy(refinement: Refinement) -> str:
    """Return the advice for a warning: the inputs to check, with a sufficiently uncertain rate if there is one."""
    rate = refinement.assumed.rate
    if refinement.assumed.is_flat:
        return "check the size and the noise"
    if rate is None:
        return "check the sizes and rates of the groups"
    wider = _wider_rate(refinement, rate)
    if wider is None:
        return "check the rate, the size and the noise"
    uncertainty = "how much more uncertain it is" if rate.deviation else "how uncertain it is"
    return f"check the rate, or say {uncertainty}, such as {wider.typed}"


def _wider_rate(refinement: Refinement, rate: Rate) -> Rate | None:
    """Return the rate with the smallest one-digit deviation under which the answers do not contradict it."""
    size = refinement.assumed.population.records
    difference = max(abs(answer / size - rate.mean) for answer in refinement.answers)
    for deviation in _wider_deviations(rate, difference / 4):
        assumed = Assumed.from_rate(size, Rate(rate.mean, deviation))
        if Refinement.from_answers(refinement.answers, assumed, refinement.noises).posterior.surprise >= _UNSURPRISING:
            return assumed.rate
    return None


def _wider_deviations(rate: Rate, smallest: float) -> Iterator[float]:
    """Yield larger deviations than that of the rate, each of one digit, from the power of ten below `smallest` on."""
    largest = math.sqrt(rate.mean * (1 - rate.mean))
    for exponent in range(math.floor(math.log10(smallest)), 0):
        for digit in range(1, 10):
            deviation = float(f"{digit}e{exponent}")
            if rate.deviation < deviation < largest:
                yield deviation


def refinement_facts(refinement: Refinement) -> Facts:
    """Return a refined estimate as facts."""
    result, several = refinement.posterior, len(refinement.answers) > 1
    low, high = refinement.interval
    weighted = "" if refinement.noise is not None else "weighted "
    raw = f"the {weighted}average of the answers" if several else "the answer alone"
    facts = [
        ("assumed", refinement.assumed.words),
        ("answers" if several else "answer", _answers_text(refinement)),
        ("mean", f"{signed(result.mean, 1)}  (least squared error)"),
        ("median", f"{signed(result.median)}  (least absolute error)"),
        ("interval", f"{signed(low)} to {signed(high)} with {percent(refinement.level)} probability"),
        (
            "deviation",
            (f"{signed(refinement.deviation, 1)}, against {signed(refinement.answer_deviation, 1)} of {raw}"),
        ),
    ]
    text = warning(refinement)
    return facts if text is None else [*facts, ("warning", text)]


def _answers_text(refinement: Refinement) -> str:
    """Return the answers and their noise in words."""
    if refinement.noise is None:
        pairs = zip(refinement.answers, refinement.noises, strict=True)
        return "; ".join(f"{_number_text(answer)} with {_noise_text(noise)}" for answer, noise in pairs)
    answers = ", ".join(_number_text(answer) for answer in refinement.answers)
    return f"{answers}, with {_noise_text(refinement.noise)}"


def _noise_text(noise: AdditiveNoise) -> str:
    """Return the noise of an answer in words: by its ε for discrete Laplace noise, else by its scale."""
    if isinstance(noise, DiscreteLaplace):
        return f"noise of ε = {exact_text(noise.epsilon)}"
    return f"{noise.name} noise of scale {exact_text(scale_of(noise))}"


def _number_text(answer: float) -> str:
    """Return an answer as text, with all of its digits."""
    return f"{answer:,}".replace("-", "−")


_NOISE = ("epsilon", "mechanism", "scale")


def refinement_json(refinement: Refinement) -> dict[str, Any]:
    """Return a refined estimate as JSON, with the raw answers and their average, in records."""
    result, noise = refinement.posterior, refinement.noise
    return {
        **members(refinement, "answer", "answers", "answer_deviation"),
        **assumed_members(refinement.assumed),
        **(dict.fromkeys(_NOISE) if noise is None else _noise_as_json(noise)),
        "noises": [_noise_as_json(noise) for noise in refinement.noises],
        **members(result, "mean", "median", "mode"),
        "standard_deviation": refinement.deviation,
        **members(refinement, "interval", "level"),
        "surprise": result.surprise,
        "warning": warning(refinement),
    }


def _noise_as_json(noise: AdditiveNoise) -> dict[str, str | None]:
    """Return the noise of an answer as JSON; ε is null if the noise has none."""
    scale = scale_of(noise)
    values = optional_text(None if noise.epsilon is None else 1 / scale), noise.name, exact_text(scale)
    return dict(zip(_NOISE, values, strict=True))


def assumed_members(assumed: Assumed) -> dict[str, Any]:
    """Return the prior assumption as JSON."""
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
