"""A goal in words, and the noise that meets it."""

import math
from dataclasses import dataclass
from fractions import Fraction

from noisycount.analysis.accuracy.accuracy import failure_probability
from noisycount.analysis.accuracy.out_of_range import negative_probability
from noisycount.app.plan.paying import Paying
from noisycount.errors import NoisyCountError
from noisycount.model.drawing.scales import as_written
from noisycount.model.half_width import (
    epsilon_within,
    error_within,
    readable_epsilon_within,
)
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.release.budget.exact import is_in_range

__all__ = ["POSSIBLE", "Plan", "planned", "planned_epsilon", "planned_error"]

POSSIBLE = 50
_CONFIDENCES = (0.5, 0.9, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Plan:
    """An ε for a goal, or the goal that an ε reaches.

    Attributes:
        epsilon: ε of each answer with the discrete noise that is drawn, readable.
        width: All answers lie within ±width with the confidence, in records.
        confidence: The confidence that was asked for.
        queries: For how many answers together it was asked for.
        formula: ε of continuous noise for the goal; None where ε was given.
        error: The half-width that was asked for, in records; None where ε was given.
        within: The same as a share of the guess, if it was given so.
        guess: The public guess of the count, in records; None where there is none.
        guessed_from: Where the guess comes from, in words; None where it was given.
        paying: What pays for such answers.
    """

    epsilon: Fraction
    width: int
    confidence: float
    queries: int = 1
    formula: float | None = None
    error: Fraction | None = None
    within: float | None = None
    guess: float | None = None
    guessed_from: str | None = None
    paying: Paying = Paying()  # noqa: RUF009 - a frozen value

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise of an answer at that ε."""
        return DiscreteLaplace.for_epsilon(self.epsilon)

    @property
    def total(self) -> Fraction:
        """What all answers cost together."""
        return self.queries * self.epsilon

    @property
    def reached(self) -> float:
        """The confidence that all answers lie within ±width."""
        return 1 - failure_probability(self.noise, self.width + 1, self.queries)

    @property
    def errors(self) -> tuple[tuple[float, int], ...]:
        """Pairs of a confidence and the error of one answer at it, in records."""
        noise = self.noise
        return tuple((level, error_within(noise, level)) for level in _CONFIDENCES)

    @property
    def negative(self) -> float | None:
        """The probability that an answer is below 0, if the guess is right."""
        return None if self.guess is None else negative_probability(self.centre, self.noise)

    @property
    def affordable(self) -> int:
        """How many such answers the budget pays for."""
        return self.paying.affordable(self.epsilon)

    @property
    def centre(self) -> int:
        """The count that possible answers are about: the guess, rounded, or 0 for errors alone."""
        return 0 if self.guess is None else round(self.guess)

    @property
    def possible_errors(self) -> tuple[int, ...]:
        """Fifty errors, each as likely as the others, rising: quantiles at 1 %, 3 %, ..., 99 %."""
        noise = self.noise
        tails = ((2 * rank + 1) / POSSIBLE for rank in range(POSSIBLE // 2))
        farthest_first = [int(noise.smallest_error(tail)) - 1 for tail in tails]
        return (*(-error for error in farthest_first), *reversed(farthest_first))


def planned(guess: float, within: float, confidence: float, queries: int = 1) -> Plan:
    """The plan for answers within ±within·guess with that confidence; no data is read for it.

    Raises:
        NoisyCountError: The goal needs an ε that no ledger keeps.
    """
    error = as_written(within, "within") * as_written(guess, "guess")
    goal = f"--within {within:g} of --guess {guess:g}"
    return _plan(error, confidence, queries, goal, within, guess)


def planned_error(
    error: Fraction, confidence: float, queries: int = 1, guess: float | None = None
) -> Plan:
    """The plan for answers within ±error records with that confidence.

    Raises:
        NoisyCountError: The goal needs an ε that no ledger keeps.
    """
    return _plan(error, confidence, queries, f"--error {float(error):g}", None, guess)


def planned_epsilon(
    epsilon: Fraction, confidence: float, queries: int = 1, guess: float | None = None
) -> Plan:
    """What answers at that ε reach."""
    width = error_within(DiscreteLaplace.for_epsilon(epsilon), confidence, queries)
    return Plan(epsilon, width, confidence, queries, guess=guess)


def _plan(  # noqa: PLR0913, PLR0917  (a goal and its words)
    error: Fraction,
    confidence: float,
    queries: int,
    goal: str,
    within: float | None,
    guess: float | None,
) -> Plan:
    """The plan for answers within ±error records, if a ledger keeps its price."""
    formula = epsilon_within(error, confidence, queries)
    if not is_in_range(formula):
        raise NoisyCountError(
            f"{goal} needs ε = {formula:.2g}, outside 1e-9 to 1e6: choose another goal"
        )
    return Plan(
        epsilon=readable_epsilon_within(error, confidence, queries),
        width=math.floor(error),
        confidence=confidence,
        queries=queries,
        formula=formula,
        error=error,
        within=within,
        guess=guess,
    )
