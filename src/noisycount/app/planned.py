"""A goal in words, and the noise that meets it."""

import math
from dataclasses import dataclass
from fractions import Fraction

from noisycount.analysis.accuracy import failure_probability
from noisycount.analysis.planning import readable_epsilon
from noisycount.analysis.relative_error import epsilon_for_relative_error
from noisycount.app.asking import error_within
from noisycount.errors import NoisyCountError
from noisycount.model.noise import DiscreteLaplace

__all__ = ["Plan", "planned"]

_LEAST, _MOST = 1e-9, 1e6  # the prices that a ledger keeps
_CONFIDENCES = (0.5, 0.9, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Plan:
    """The ε for an accuracy that was asked for.

    Attributes:
        guess: The public guess of the count, in records.
        within: The relative half-width that was asked for.
        confidence: The confidence that was asked for.
        formula: ε for continuous noise, by eq. (10).
        epsilon: ε for the discrete noise that is drawn, readable.
        width: The largest whole error inside the half-width, in records.
        reached: The confidence that an answer is within ±width.
        errors: Pairs of a confidence and the error at it, in records.
    """

    guess: float
    within: float
    confidence: float
    formula: float
    epsilon: Fraction
    width: int
    reached: float
    errors: tuple[tuple[float, int], ...]

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise of an answer at that ε."""
        return DiscreteLaplace.for_epsilon(self.epsilon)


def planned(guess: float, within: float, confidence: float) -> Plan:
    """The plan for answers within ±within·guess with that confidence; no data is read for it.

    Raises:
        NoisyCountError: The goal needs an ε that no ledger keeps.
    """
    formula = epsilon_for_relative_error(guess, within, confidence)
    if not _LEAST <= formula <= _MOST:
        raise NoisyCountError(
            f"--within {within:g} of --guess {guess:g} needs ε = {formula:.2g}, outside 1e-9 to "
            "1e6: choose another goal"
        )
    epsilon = readable_epsilon(guess, within, confidence)
    noise = DiscreteLaplace.for_epsilon(epsilon)
    width = math.floor(Fraction(str(within)) * Fraction(str(guess)))
    return Plan(
        guess=guess,
        within=within,
        confidence=confidence,
        formula=formula,
        epsilon=epsilon,
        width=width,
        reached=1 - failure_probability(noise, width + 1),
        errors=tuple((level, error_within(noise, level)) for level in _CONFIDENCES),
    )
