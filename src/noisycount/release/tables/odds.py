"""What the price of a table means for one person, in words."""

from math import log, sqrt

from noisycount.release.budget.loss import Loss
from noisycount.shown.numbers import odds_sentence

__all__ = ["odds_of"]

_CHANCE = 1e-6  # with which the odds under Gaussian noise do not hold


def odds_of(loss: Loss, protected: str) -> str:
    """The odds that a guess about one person or row may become, and when they do not hold.

    Under ρ-zCDP the loss of an answer exceeds ρ + 2·√(ρ·ln(1/p)) with probability p at most. (The
    ε that ρ implies at δ is smaller, but losses may exceed it with a probability above δ.)

    Args:
        loss: What all answers cost together.
        protected: What is guessed about: "person" or "row".

    Source: M. Bun and T. Steinke, Concentrated Differential Privacy (2016), Lemma 3.5.

    Example:
        >>> from fractions import Fraction
        >>> odds_of(Loss.of(Fraction(1)), "person")
        'a 50:50 guess about one person becomes at most 74:26'
    """
    chance = float(loss.delta)
    epsilon: float | None = None if loss.epsilon is None else float(loss.epsilon)
    if epsilon is None:
        chance += _CHANCE
        rho = float(loss.rho)
        epsilon = rho + 2 * sqrt(-rho * log(_CHANCE))
    sentence = odds_sentence(epsilon, protected)
    return f"{sentence}, but with probability {chance:.3g}" if chance else sentence
