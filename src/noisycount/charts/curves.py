"""Curves of a single count: its distribution before and after the noisy answer, and the likelihood of the answer.

`refinement` draws them.
"""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np

from noisycount.analysis.posterior.observed import Published
from noisycount.analysis.posterior.posterior import Posterior, likelihood_curve, shown_counts
from noisycount.frozen import frozen
from noisycount.model.exact import Below
from noisycount.model.noises.additive import SymmetricNoise

MOST_COUNTS = 5000  # limit of Altair for data inside a chart


@frozen
class RefinementCurves:
    """The distribution of a count before and after its noisy answer."""

    counts: Sequence[int]  # the counts to show, increasing, at most 5,000; in records
    prior: Sequence[float]  # the probability of each count before the answer
    noisy: Sequence[float]  # the likelihood of the answer at each count, normalised over the counts
    posterior: Sequence[float]  # the probability of each count given the answer
    answer: float  # the noisy answer, in records; it may lie outside the counts
    estimate: float  # the estimate made from both, in records
    low: int  # the smallest count of the interval
    high: int  # the largest count of the interval
    level: float = 0.95  # the probability of the interval

    def __post_init__(self) -> None:
        """Raise ValueError if the curves differ in length, are empty or too long, or if low > high."""
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
    def from_posterior(cls, posterior: Posterior, level: float = 0.95, answer: float | None = None) -> Self:
        """Return the curves of a posterior over the counts that hold nearly all the probability.

        Args:
            posterior: The distribution of the count given its noisy answers.
            level: The probability of the interval.
            answer: The answer to mark; by default the mean of the observed answers, except those below a threshold.
        """
        counts = shown_counts(posterior)
        answers = [answer for answer, _ in posterior.observed if not isinstance(answer, Below)]
        if answer is None:
            answer = answers[0] if len(answers) == 1 else sum(answers) / len(answers)
        low, high = posterior.interval(level)
        return cls(
            counts=counts.astype(int).tolist(),
            prior=posterior.population.law().pmf(counts).tolist(),
            noisy=likelihood_curve(posterior, counts).tolist(),
            posterior=posterior.pmf(counts).tolist(),
            answer=answer,
            estimate=posterior.mean,
            low=low,
            high=high,
            level=level,
        )


_POINTS = 1000  # largest number of counts of a curve, enough to look smooth
_LEFT_OUT = 1e-3  # probability of the noise beyond the ends of the curve
_CONFIDENCE = 0.95  # confidence of an answer that states none


@frozen
class AnswerCurve:
    """The likelihood of each count given one noisy answer, and the interval of the true count."""

    answer: float  # the noisy answer, in records
    counts: tuple[int, ...]  # the counts that are shown, none below 0
    chances: tuple[float, ...]  # probability or density of the answer, given each count
    low: int  # the smallest count of the interval
    high: int  # the largest
    confidence: float  # probability that the interval contains the true count

    @classmethod
    def from_answer(cls, published: Published) -> Self:
        """Return the curve of a published answer.

        Raises:
            ValueError: The mechanism does not add symmetric noise to the count.
        """
        noise, answer = published.mechanism, published.answer
        if not isinstance(noise, SymmetricNoise):
            raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere)
                f"mechanism must be noise that is added to the count, got {noise!r}"
            )
        confidence = float(getattr(published, "confidence", _CONFIDENCE))
        error = noise.smallest_error(1 - confidence) - noise.is_discrete  # discrete noise: ±error includes error itself
        reach = noise.smallest_error(_LEFT_OUT)
        first, last = max(0, math.floor(answer - reach)), max(0, math.ceil(answer + reach))
        grid = np.append(np.linspace(first, last, _POINTS), max(answer, 0))
        counts = np.unique(grid.round())
        return cls(
            answer=answer,
            counts=tuple(counts.astype(int).tolist()),
            chances=tuple(np.exp(noise.logpmf(answer, counts)).tolist()),
            low=max(0, math.ceil(answer - error)),
            high=max(0, math.floor(answer + error)),
            confidence=confidence,
        )
