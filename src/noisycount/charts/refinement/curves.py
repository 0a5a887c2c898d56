"""What a chart shows of a count before and after its noisy answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from noisycount.analysis.posterior.curves import likelihood_curve, shown_counts
from noisycount.analysis.posterior.posterior import Posterior
from noisycount.model.below import Below

__all__ = ["RefinementCurves"]

MOST_COUNTS = 5000  # what Altair takes inside a chart


@dataclass(frozen=True, slots=True)
class RefinementCurves:
    """What is known about a count before and after its noisy answer.

    Args:
        counts: The run of counts to show, increasing, at most 5,000; in records.
        prior: The probability of each count before the answer.
        noisy: The likelihood of the answer at each count, normalised over the counts.
        posterior: The probability of each count given the answer.
        answer: The noisy answer, in records; it may lie outside the counts.
        estimate: The estimate made from both, in records.
        low: The smallest count of the interval.
        high: The largest count of the interval.
        level: The probability of the interval.

    Raises:
        ValueError: The curves differ in length, are empty or too long, or low exceeds high.
    """

    counts: Sequence[int]
    prior: Sequence[float]
    noisy: Sequence[float]
    posterior: Sequence[float]
    answer: float
    estimate: float
    low: int
    high: int
    level: float = 0.95

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
        """The curves of a posterior over the counts that hold nearly all the probability.

        Args:
            told: The law of the count given its answers.
            level: The probability of the interval, in (0, 1).
            answer: Where the answer is marked, in records; None: at the average of all.

        Raises:
            ValueError: An answer is not that of noise which is added to the count, or no number.
        """
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
