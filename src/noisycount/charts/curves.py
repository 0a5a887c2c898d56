"""What charts show of one count: before and after its noisy answer, and given that answer alone."""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np

from noisycount.analysis.posterior.observed import Published
from noisycount.analysis.posterior.posterior import Posterior, likelihood_curve, shown_counts
from noisycount.frozen import frozen
from noisycount.model.exact import Below
from noisycount.model.noises.additive import SymmetricNoise

MOST_COUNTS = 5000  # what Altair takes inside a chart


@frozen
class RefinementCurves:
    """What is known about a count before and after its noisy answer."""

    counts: Sequence[int]  # the run of counts to show, increasing, at most 5,000; in records
    prior: Sequence[float]  # the probability of each count before the answer
    noisy: Sequence[float]  # the likelihood of the answer at each count, normalised over the counts
    posterior: Sequence[float]  # the probability of each count given the answer
    answer: float  # the noisy answer, in records; it may lie outside the counts
    estimate: float  # the estimate made from both, in records
    low: int  # the smallest count of the interval
    high: int  # the largest count of the interval
    level: float = 0.95  # the probability of the interval

    def __post_init__(self) -> None:
        """The refusal of curves that cannot be drawn on one axis."""
        lengths = [len(self.counts), len(self.prior), len(self.noisy), len(self.posterior)]
        if len(set(lengths)) > 1:
            raise ValueError(f"curves must be equally long, got {lengths}: give one value a count")
        if not 1 <= lengths[0] <= MOST_COUNTS:
            raise ValueError(
                f"counts must be 1 to {MOST_COUNTS} numbers, got {lengths[0]}: "
                "show the run that holds nearly all the probability"
            )
        if self.low > self.high:
            raise ValueError(f"low must not exceed high, got {self.low} and {self.high}: swap them")

    @classmethod
    def of(cls, told: Posterior, level: float = 0.95, answer: float | None = None) -> Self:
        """The curves of a posterior over the counts that hold nearly all the probability."""
        counts = shown_counts(told)
        answers = [answer for answer, _ in told.observed if not isinstance(answer, Below)]
        if answer is None:
            answer = answers[0] if len(answers) == 1 else sum(answers) / len(answers)
        low, high = told.interval(level)
        return cls(
            counts=counts.astype(int).tolist(),
            prior=told.population.law().pmf(counts).tolist(),
            noisy=likelihood_curve(told, counts).tolist(),
            posterior=told.pmf(counts).tolist(),
            answer=answer,
            estimate=told.mean,
            low=low,
            high=high,
            level=level,
        )


_POINTS = 1000  # at most so many counts: enough for a curve without corners
_LEFT_OUT = 1e-3  # of the noise, beyond the ends of the curve
_CONFIDENCE = 0.95  # of an answer that does not state one


@frozen
class AnswerCurve:
    """How likely the answer is at each count, and between which counts the true one lies."""

    answer: float  # the noisy answer, in records
    counts: tuple[int, ...]  # the counts that are shown, none below 0
    chances: tuple[float, ...]  # the probability of the answer, or its density, at each
    low: int  # the smallest count of the interval
    high: int  # the largest
    confidence: float  # with which the count lies between them

    @classmethod
    def of(cls, told: Published) -> Self:
        """The curve of an answer with noise that was added to the count."""
        noise, answer = told.mechanism, told.answer
        if not isinstance(noise, SymmetricNoise):
            raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere)
                f"mechanism must be noise that is added to the count, got {noise!r}"
            )
        confidence = float(getattr(told, "confidence", _CONFIDENCE))
        error = noise.smallest_error(1 - confidence) - noise.is_discrete  # ±error holds error
        reach = noise.smallest_error(_LEFT_OUT)
        first, last = max(0, math.floor(answer - reach)), max(0, math.ceil(answer + reach))
        shown = np.append(np.linspace(first, last, _POINTS), max(answer, 0))
        counts = np.unique(shown.round())
        return cls(
            answer=answer,
            counts=tuple(counts.astype(int).tolist()),
            chances=tuple(np.exp(noise.logpmf(answer, counts)).tolist()),
            low=max(0, math.ceil(answer - error)),
            high=max(0, math.floor(answer + error)),
            confidence=confidence,
        )
