"""Which data sets an outsider must not tell apart, and what the answers of a table cost then."""

from collections.abc import Sequence
from fractions import Fraction

from noisycount.display.numbers import odds_bound, odds_sentence, probability_bound, rounded_up
from noisycount.frozen import frozen
from noisycount.ledger.budget import Budget, Loss, NeighbourRelation
from noisycount.model.concentrated import epsilon_of_rho, l1_sensitivity, rho_within, root_above
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.validation import RationalLike, exact_delta, exact_epsilon

USUAL_DELTA = Fraction(1, 10**6)  # the δ at which ρ is told in ε where nobody named one
_Told = tuple[float | Fraction, Fraction]


def odds_of(loss: Loss, protected: str, replaced: Loss | None = None, delta: Fraction | None = None) -> str:
    """The odds that a guess about one person or row may become, and with which probability more.

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
    """The loss of all answers about a data set so far, and what it means for one person or row.

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
        """The odds that a guess about one person or row may become after all answers."""
        replaced = None if self.is_replacement else _twice(self.spent)
        return odds_of(self.spent, self.protected, replaced, self.rho_delta)

    @property
    def words(self) -> str:
        """The loss and its odds in a sentence."""
        return f"all answers {self.which}, {loss_words(self.spent)}: {self.odds}"

    @property
    def bound(self) -> str:
        """The largest of the odds, such as "at most 70:30"."""
        loss = self.spent if self.is_replacement else _twice(self.spent)
        return odds_bound(approximate_loss(loss, self.rho_delta)[0])


def odds_of_all(budget: Budget, protected: str, *, is_replacement: bool) -> str:
    """The odds that a guess about one person or row may become where all of a budget is spent.

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
    """The ε and the δ of a loss: the smaller of the sum of the ε and what the sum of the ρ implies.

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
    """What all counts of a table cost together."""

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
        """The noise of counts that move by so much together, for a share of the price.

        Laplace noise of scale Δ/(share·ε); Gaussian noise of σ = √(Δ/(2·share·ρ)), rounded up, as
        the squares of moves by 1 add up to Δ as well.
        """
        if self.noise is DiscreteLaplace:
            assert self.loss.epsilon is not None  # noqa: S101 - `of` gave one
            return DiscreteLaplace(sensitivity / (share * self.loss.epsilon))
        return DiscreteGaussian(root_above(sensitivity / (2 * share * self.loss.rho)))


@frozen
class NoisyLevels:
    """The counts of a table and their noise: enough to price it under either relation."""

    price: Loss  # what was charged
    sizes: Sequence[int | None]  # how many counts each level has; None: only the records know
    scales: Sequence[Fraction]  # of the noise of each level: Laplace where the price is in ε, else Gaussian
    groups: int | None  # in how many counts of a level one unit can be; None: in all

    @property
    def replaced(self) -> Loss:
        """What is lost where one unit takes the place of another.

        Each count moves by 1 at most. Under Laplace noise a level whose counts move by Δ together
        loses Δ/scale; under Gaussian noise, as the squares of the moves add up to Δ too, its ρ is
        Δ/(2σ²). Hidden keys fail with the same δ under either relation (`threshold`).
        """
        moves = self._moves(replaced=True)
        pairs = list(zip(moves, self.scales, strict=True))
        if self.price.epsilon is not None:
            lost = sum((move / scale for move, scale in pairs), Fraction(0))
            return Loss.of(max(lost, self.price.epsilon), self.price.delta)
        rho = sum((move / (2 * scale**2) for move, scale in pairs), Fraction(0))
        return Loss.concentrated(max(rho, self.price.rho), self.price.delta)

    @property
    def relation(self) -> NeighbourRelation | None:
        """For which neighbours the price was made; None: it is the same for both."""
        if self._moves(replaced=True) == self._moves(replaced=False):
            return None
        is_covered = self.replaced == self.price
        return NeighbourRelation.REPLACEMENT if is_covered else NeighbourRelation.ADD_REMOVE

    def _moves(self, *, replaced: bool) -> list[int]:
        """By how much one unit moves the counts of each level together."""
        return [self._move(size, replaced=replaced) for size in self.sizes]

    def _move(self, size: int | None, *, replaced: bool) -> int:
        if size is None:
            assert self.groups is not None  # noqa: S101 - hidden keys have a limit
            return (2 if replaced else 1) * self.groups
        return l1_sensitivity(size, size if self.groups is None else self.groups, replaced=replaced)
