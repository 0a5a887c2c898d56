"""What the price of a table means for one person, in words."""

from noisycount.model.concentrated import epsilon_of_rho
from noisycount.release.budget.loss import Loss
from noisycount.shown.numbers import odds_sentence

__all__ = ["odds_of"]

_CHANCE = 1e-6  # with which the odds under Gaussian noise do not hold


def odds_of(loss: Loss, protected: str) -> str:
    """The odds that a guess about one person or row may become, and when they do not hold.

    Args:
        loss: What all answers cost together.
        protected: What is guessed about: "person" or "row".

    Example:
        >>> from fractions import Fraction
        >>> odds_of(Loss.of(Fraction(1)), "person")
        'a 50:50 guess about one person becomes at most 74:26'
    """
    chance = float(loss.delta)
    epsilon: float | None = None if loss.epsilon is None else float(loss.epsilon)
    if epsilon is None:
        chance += _CHANCE
        epsilon = epsilon_of_rho(loss.rho, _CHANCE)
    sentence = odds_sentence(epsilon, protected)
    return f"{sentence}, but with probability {chance:.3g}" if chance else sentence
