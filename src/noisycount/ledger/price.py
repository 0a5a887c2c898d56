"""Which data sets an outsider must not tell apart, and what the answers of a table cost then."""

from fractions import Fraction

from noisycount.display.numbers import odds_bound, odds_sentence, probability_bound, rounded_up
from noisycount.frozen import frozen
from noisycount.ledger.budget import Budget, Loss
from noisycount.model.concentrated import epsilon_of_rho, rho_within, root_above
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.validation import RationalLike, exact_delta, exact_epsilon

USUAL_DELTA = Fraction(1, 10**6)  # the δ at which ρ is told in ε where nobody named one
_Told = tuple[float | Fraction, Fraction]


def odds_of(loss: Loss, protected: str, replaced: Loss | None = None, delta: Fraction | None = None) -> str:
    """Return the odds that a guess about one person or row may become, with the probability of more.

    An (ε, δ)-differentially private answer tells no more than one that gives the person away with
    probability δ, and keeps to the odds of ε otherwise.

    Source: P. Kairouz, S. Oh and P. Viswanath, The Composition Theorem for Differential Privacy
        (2015), for what δ means; `epsilon_of_rho` for ρ.

    Example:
        >>> odds_of(Loss.of(Fraction(1)), "person")
        'a 50:50 guess about one person becomes at most 74:26'
        >>> odds_of(Loss.of(Fraction(1), Fraction(1, 10**6)), "row")
        'a 50:50 guess about one row becomes at most 74:26, or the row is given away with probability 1e-06'
    """
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
    return f"{sentence}, or the {protected} is given away with probability {probability_bound(chance)}"


def unit_noun(unit: str | None) -> str:
    """Return whom answers protect: a person if a column identifies persons, else a row."""
    return "row" if unit is None else "person"


def loss_words(loss: Loss) -> str:
    """Return what was charged, rounded up, in ε if it has one.

    Example:
        >>> loss_words(Loss.of(Fraction(1, 3))), loss_words(Loss.concentrated(Fraction("0.02")))
        ('ε = 0.334', 'ρ = 0.02')
    """
    words = f"ρ = {rounded_up(loss.rho)}" if loss.epsilon is None else f"ε = {rounded_up(loss.epsilon)}"
    return f"{words}, δ = {probability_bound(loss.delta)}" if loss.delta else words


@frozen
class RunningTotal:
    """Loss of all answers about a data set so far, with its meaning for one person or row.

    It is a function of what was spent, which every analyst of the data set knows, and of nothing else: whether the
    answers of others were tables is not shown. So the second sentence of `odds` is for the worst case, twice the loss.

    Example:
        >>> print(RunningTotal(Loss.of(Fraction(2)), "person", is_replacement=True).words)
        all answers so far, ε = 2: a 50:50 guess about one person becomes at most 89:11
    """

    spent: Loss
    protected: str  # whom the answers protect: "person" or "row"
    is_replacement: bool  # True if neighbours differ by a replaced unit, as the number of all is public
    rho_delta: Fraction | None = None  # the δ at which the budget states ρ as ε; None: it names none
    which: str = "so far"  # which answers: so far, or with the one that is previewed

    @property
    def odds(self) -> str:
        """Odds that a guess about one person or row may become after all answers."""
        replaced = None if self.is_replacement else _twice(self.spent)
        return odds_of(self.spent, self.protected, replaced, self.rho_delta)

    @property
    def words(self) -> str:
        """Loss and odds in a sentence."""
        return f"all answers {self.which}, {loss_words(self.spent)}: {self.odds}"

    @property
    def bound(self) -> str:
        """Largest of the odds, such as "at most 70:30"."""
        loss = self.spent if self.is_replacement else _twice(self.spent)
        return odds_bound(approximate_loss(loss, self.rho_delta)[0])


def odds_of_all(budget: Budget, protected: str, *, is_replacement: bool) -> str:
    """Return the odds that a guess about one person or row may become once all of a budget is spent.

    Example:
        >>> from noisycount.ledger.budget import PureBudget
        >>> odds_of_all(PureBudget(Fraction(3)), "person", is_replacement=True)
        'a 50:50 guess about one person becomes at most 96:4'
    """
    whole = budget.whole
    return odds_of(whole, protected, None if is_replacement else _twice(whole))


def _twice(loss: Loss) -> Loss:
    """Return twice a loss, at the same δ: what its answers lose at most if one unit replaces another."""
    return Loss(None if loss.epsilon is None else 2 * loss.epsilon, 2 * loss.rho, loss.delta)


def approximate_loss(loss: Loss, delta: Fraction | None = None) -> _Told:
    """Return ε and δ of a loss: the sum of ε, or the ε that the sum of ρ implies if that is smaller.

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


@frozen
class TablePrice:
    """Price of all counts of a query together, with the class of its noise."""

    noise: type[DiscreteNoise]  # the class of the noise
    loss: Loss
    # the probability that a key of one unit alone may appear with; 0: all keys are known
    threshold_delta: Fraction = Fraction(0)
    rho_delta: Fraction | None = None  # the δ at which ρ implies the ε that was asked for; None: no such ε was

    @classmethod
    def of(
        cls,
        noise: type[DiscreteNoise],
        epsilon: RationalLike | None,
        rho: RationalLike | None,
        delta: RationalLike | None,
        *,
        is_hidden: bool,
    ) -> "TablePrice":
        """Return the price of a table whose parts `query.rules` has checked.

        Under Laplace noise it is ε, and (ε, δ) with hidden keys. Under Gaussian noise it is ρ; or (ε, δ), which the
        largest such ρ implies, and of which hidden keys take half of δ.
        """
        chance = Fraction(0) if delta is None else exact_delta(delta)
        hidden = chance if is_hidden else Fraction(0)
        if rho is not None:
            return cls(DiscreteGaussian, Loss.concentrated(exact_epsilon(rho, "rho"), hidden), hidden)
        price = exact_epsilon(epsilon or 0)
        if noise is DiscreteLaplace:
            return cls(noise, Loss.of(price, hidden), hidden)
        hidden /= 2
        loss = Loss.concentrated(rho_within(price, chance - hidden), hidden)
        return cls(DiscreteGaussian, loss, hidden, rho_delta=chance - hidden)

    def mechanism(self, sensitivity: int, share: Fraction) -> DiscreteNoise:
        """Return the noise of counts with a sensitivity, for a share of the price.

        Laplace noise of scale Δ/(share·ε); Gaussian noise of σ = √(Δ/(2·share·ρ)), rounded up, as
        the squares of moves by 1 add up to Δ as well.
        """
        if self.noise is DiscreteLaplace:
            assert self.loss.epsilon is not None  # noqa: S101 - `of` gave one
            return DiscreteLaplace(sensitivity / (share * self.loss.epsilon))
        return DiscreteGaussian(root_above(sensitivity / (2 * share * self.loss.rho)))
