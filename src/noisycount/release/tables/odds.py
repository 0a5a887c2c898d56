"""What the price of counts means for one person, in words."""

from fractions import Fraction

from noisycount.model.concentrated import epsilon_of_rho
from noisycount.release.budget.budgets import Budget
from noisycount.release.budget.loss import Loss
from noisycount.shown.numbers import odds_bound, odds_sentence

__all__ = ["USUAL_DELTA", "approximate_loss", "odds_of", "odds_of_all"]

USUAL_DELTA = Fraction(1, 10**6)
"""The δ at which ρ is told in ε where nobody named one."""

_Told = tuple[float | Fraction, Fraction]


def odds_of(
    loss: Loss, protected: str, replaced: Loss | None = None, delta: Fraction | None = None
) -> str:
    """The odds that a guess about one person or row may become, and with which probability more.

    An (ε, δ)-differentially private answer tells no more than one that gives the person away with
    probability δ, and keeps to the odds of ε otherwise.

    Args:
        loss: What all answers cost together.
        protected: What is guessed about: "person" or "row".
        replaced: What they cost where another person takes the place of one, and so what they tell
            of somebody who is known to be in the records; None: the same.
        delta: The δ at which ρ implies an ε; None: `USUAL_DELTA`, where there is no ε.

    Source: P. Kairouz, S. Oh and P. Viswanath, The Composition Theorem for Differential Privacy
        (2015), for what δ means; `epsilon_of_rho` for ρ.

    Example:
        >>> odds_of(Loss.of(Fraction(1)), "person")
        'a 50:50 guess about one person becomes at most 74:26'
        >>> odds_of(Loss.of(Fraction(1), Fraction(1, 10**6)), "row")
        'a 50:50 guess about one row becomes at most 74:26, or the row is given away with probability 1e-06'
    """  # noqa: E501 - a sentence in one piece
    epsilon, chance = approximate_loss(loss, delta)
    sentence = odds_sentence(epsilon, protected)
    if replaced is not None and replaced != loss:
        known, more = approximate_loss(replaced, delta)
        chance = max(chance, more)
        sentence = (
            f"a 50:50 guess whether one {protected} is in the records becomes"
            f" {odds_bound(epsilon)}; about the group of one known to be in them,"
            f" {odds_bound(known)}"
        )
    if not chance:
        return sentence
    return f"{sentence}, or the {protected} is given away with probability {float(chance):.3g}"


def odds_of_all(budget: Budget, protected: str, *, is_replacement: bool) -> str:
    """The odds that a guess about one person or row may become where all of a budget is spent.

    Args:
        budget: What answers may cost together.
        protected: What is guessed about: "person" or "row".
        is_replacement: Whether prices are of one unit in the place of another; else somebody who
            is known to be in the records may lose twice as much by tables.

    Example:
        >>> from noisycount.release.budget.budgets import PureBudget
        >>> odds_of_all(PureBudget(Fraction(3)), "person", is_replacement=True)
        'a 50:50 guess about one person becomes at most 96:4'
    """
    whole = budget.whole
    return odds_of(whole, protected, None if is_replacement else _twice(whole))


def _twice(loss: Loss) -> Loss:
    """Twice what is lost, at the same δ."""
    if loss.epsilon is None:
        return Loss.concentrated(2 * loss.rho, loss.delta)
    return Loss.of(2 * loss.epsilon, loss.delta)


def approximate_loss(loss: Loss, delta: Fraction | None = None) -> _Told:
    """The ε and the δ of a loss: the smaller of the sum of the ε and what the sum of the ρ implies.

    Args:
        loss: What all answers cost together.
        delta: The δ at which ρ implies an ε; None: `USUAL_DELTA`, and only where there is no ε.

    Example:
        >>> approximate_loss(Loss.of(Fraction(1)))
        (Fraction(1, 1), Fraction(0, 1))
    """
    if loss.epsilon is not None and (delta is None or not loss.rho):
        return loss.epsilon, loss.delta
    chance = USUAL_DELTA if delta is None else delta
    implied = epsilon_of_rho(loss.rho, chance)
    if loss.epsilon is not None and loss.epsilon <= implied:
        return loss.epsilon, loss.delta
    return implied, loss.delta + chance
