"""Meaning of a privacy loss as odds of a guess about one person or row, and prices of tables.

`odds_of` and `RunningTotal` state odds in words. `TablePrice` derives the loss and the noise of a table from its price.
"""

from fractions import Fraction

from noisycount.display.numbers import odds_bound, odds_sentence, probability_bound, rounded_up
from noisycount.frozen import frozen
from noisycount.ledger.budget import Budget, Loss
from noisycount.model.concentrated import epsilon_of_rho, rho_within, root_above
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.validation import RationalLike, exact_delta, exact_epsilon

USUAL_DELTA = Fraction(1, 10**6)  # the δ at which ρ is stated as an ε if no other δ is given
_EpsilonDelta = tuple[float | Fraction, Fraction]


def odds_of(loss: Loss, protected: str, replaced: Loss | None = None, delta: Fraction | None = None) -> str:
    """Return a sentence on the odds that a 50:50 guess about one person or row can reach, and on the δ of a failure.

    An (ε, δ)-differentially private answer reveals no more than an answer that reveals everything about the person with
    probability δ, and otherwise obeys the odds of ε.

    Args:
        loss: The loss if one unit is added or removed, or replaced if `replaced` is None.
        protected: The protected unit: "person" or "row".
        replaced: The loss if one unit replaces another, if that differs; None: `loss` is the only one.
        delta: The δ at which a sum of ρ is stated as an ε; None: `USUAL_DELTA`, if there is no sum of ε.

    Source: P. Kairouz, S. Oh and P. Viswanath, The Composition Theorem for Differential Privacy
        (2015), for what δ means; `epsilon_of_rho` for ρ.

    Example:
        >>> odds_of(Loss.from_epsilon(Fraction(1)), "person")
        'a 50:50 guess about one person becomes at most 74:26'
        >>> odds_of(Loss.from_epsilon(Fraction(1), Fraction(1, 10**6)), "row")
        'a 50:50 guess about one row becomes at most 74:26, or the row is given away with probability 1e-06'
    """
    epsilon, chance = approximate_loss(loss, delta)
    sentence = odds_sentence(epsilon, protected)
    if replaced is not None and replaced != loss:
        known, more = approximate_loss(replaced, delta)
        chance = max(chance, more)
        sentence = (
            f"a 50:50 guess whether one {protected} is in the records becomes"
            f" {odds_bound(epsilon)}; a guess about the group of a {protected} known"
            f" to be in them, {odds_bound(known)}"
        )
    if not chance:
        return sentence
    return f"{sentence}, or the {protected} is given away with probability {probability_bound(chance)}"


def unit_noun(unit: str | None) -> str:
    """Return the noun of the privacy unit: "person" if a column identifies persons, else "row"."""
    return "row" if unit is None else "person"


def loss_words(loss: Loss) -> str:
    """Return a loss as text, rounded up: in ε if it has an ε, else in ρ, with δ unless it is 0.

    Example:
        >>> loss_words(Loss.from_epsilon(Fraction(1, 3))), loss_words(Loss.concentrated(Fraction("0.02")))
        ('ε = 0.334', 'ρ = 0.02')
    """
    words = f"ρ = {rounded_up(loss.rho)}" if loss.epsilon is None else f"ε = {rounded_up(loss.epsilon)}"
    return f"{words}, δ = {probability_bound(loss.delta)}" if loss.delta else words


@frozen
class RunningTotal:
    """Loss of all answers about a data set so far, with its meaning for one person or row.

    The texts depend only on the spent budget, which every analyst of the data set knows. They do not reveal whether the
    answers to others were tables. So the second part of `odds` states the worst case, twice the loss.

    Example:
        >>> print(RunningTotal(Loss.from_epsilon(Fraction(2)), "person", is_replacement=True).words)
        all answers so far, ε = 2: a 50:50 guess about one person becomes at most 89:11
    """

    spent: Loss
    protected: str  # the privacy unit: "person" or "row"
    is_replacement: bool  # True if neighbouring data sets differ by a replaced unit, as the number of units is public
    rho_delta: Fraction | None = None  # δ at which the budget states ρ as ε; None: the budget names no such δ
    which: str = "so far"  # words after "all answers": "so far", or others that include a previewed answer

    @property
    def odds(self) -> str:
        """Odds that a guess about one person or row may reach after all answers, as a sentence."""
        replaced = None if self.is_replacement else _doubled_loss(self.spent)
        return odds_of(self.spent, self.protected, replaced, self.rho_delta)

    @property
    def words(self) -> str:
        """Loss and odds in a sentence."""
        return f"all answers {self.which}, {loss_words(self.spent)}: {self.odds}"

    @property
    def bound(self) -> str:
        """Largest of the odds, such as "at most 70:30"."""
        loss = self.spent if self.is_replacement else _doubled_loss(self.spent)
        return odds_bound(approximate_loss(loss, self.rho_delta)[0])


def odds_of_all(budget: Budget, protected: str, *, is_replacement: bool) -> str:
    """Return the odds that a guess about one person or row may reach once the whole budget is spent.

    Example:
        >>> from noisycount.ledger.budget import PureBudget
        >>> odds_of_all(PureBudget(Fraction(3)), "person", is_replacement=True)
        'a 50:50 guess about one person becomes at most 96:4'
    """
    whole = budget.whole
    return odds_of(whole, protected, None if is_replacement else _doubled_loss(whole))


def _doubled_loss(loss: Loss) -> Loss:
    """Return twice the ε and ρ of a loss, at the same δ: the largest loss if one unit replaces another."""
    return Loss(None if loss.epsilon is None else 2 * loss.epsilon, 2 * loss.rho, loss.delta)


def approximate_loss(loss: Loss, delta: Fraction | None = None) -> _EpsilonDelta:
    """Return ε and δ of a loss: the sum of ε, or the ε that the sum of ρ implies if that is smaller.

    Example:
        >>> approximate_loss(Loss.from_epsilon(Fraction(1)))
        (Fraction(1, 1), Fraction(0, 1))
    """
    if loss.epsilon is not None and (delta is None or not loss.rho):
        return loss.epsilon, loss.delta
    chance = USUAL_DELTA if delta is None else delta
    implied = epsilon_of_rho(loss.rho, chance)
    if loss.epsilon is not None and loss.epsilon <= implied:
        return loss.epsilon, loss.delta
    return implied, loss.delta + chance


@frozen
class TablePrice:
    """Price of all counts of a query together, with the class of the noise."""

    noise: type[DiscreteNoise]  # class of the noise
    loss: Loss
    # largest probability that a key held by a single unit is shown; 0: the question lists all keys
    threshold_delta: Fraction = Fraction(0)
    rho_delta: Fraction | None = None  # δ at which ρ implies the ε of the query; None: the query states no such ε

    @classmethod
    def from_amounts(
        cls,
        noise: type[DiscreteNoise],
        epsilon: RationalLike | None,
        rho: RationalLike | None,
        delta: RationalLike | None,
        *,
        is_hidden: bool,
    ) -> "TablePrice":
        """Return the price of a table. `query.query.check_query` must have checked the arguments.

        Laplace noise is priced in ε, or in (ε, δ) if keys are hidden. Gaussian noise is priced in ρ, or in (ε, δ): then
        ρ is the largest that implies (ε, δ), or (ε, δ/2) if keys are hidden, as these take the other half of δ.
        """
        chance = Fraction(0) if delta is None else exact_delta(delta)
        hidden = chance if is_hidden else Fraction(0)
        if rho is not None:
            return cls(DiscreteGaussian, Loss.concentrated(exact_epsilon(rho, "rho"), hidden), hidden)
        price = exact_epsilon(epsilon or 0)
        if noise is DiscreteLaplace:
            return cls(noise, Loss.from_epsilon(price, hidden), hidden)
        hidden /= 2
        loss = Loss.concentrated(rho_within(price, chance - hidden), hidden)
        return cls(DiscreteGaussian, loss, hidden, rho_delta=chance - hidden)

    def mechanism(self, sensitivity: int, share: Fraction) -> DiscreteNoise:
        """Return the noise of counts with sensitivity Δ, for a share of the price.

        Laplace noise has scale Δ/(share·ε). Gaussian noise has σ = √(Δ/(2·share·ρ)), rounded up: Δ counts that change
        by 1 each have a squared L2 sensitivity of Δ.
        """
        if self.noise is DiscreteLaplace:
            assert self.loss.epsilon is not None  # noqa: S101 - `of` gave one
            return DiscreteLaplace(sensitivity / (share * self.loss.epsilon))
        return DiscreteGaussian(root_above(sensitivity / (2 * share * self.loss.rho)))
