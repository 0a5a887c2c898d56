"""What answers have cost together.

How much answers may cost together: budgets in ε and in ρ, and what every budget can say.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from math import isqrt
from typing import Self

from noisycount.display.numbers import exact_text
from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.ledger.exact import (
    exact_epsilon,
    exact_value,
    largest_epsilon,
    optional_value,
    rational,
)
from noisycount.validation import Exactly

__all__ = ["Budget", "ConcentratedBudget", "Loss", "PureBudget", "budget_of", "price_within"]


_NONE = Fraction(0)


@frozen
class Loss(Shown):
    """The privacy loss of all answers so far, added up exactly in three ways.

    An answer that is ε-differentially private is also ε²/2-zCDP; one with Gaussian noise is ρ-zCDP
    and has no ε. Hidden keys fail with a probability of δ, and are so δ-approximately one or the
    other. All three add up over answers, also where each question and each price depends on the
    answers before.

    Args:
        epsilon: The sum of the ε; None: an answer had no ε.
        rho: The sum of the ρ, each ε²/2 where there is an ε.
        delta: The sum of the δ.

    Raises:
        ValueError: A sum is no rational.

    Source:
        M. Bun and T. Steinke, Concentrated Differential Privacy (2016), Proposition 1.4, Lemma 1.7
        and Section 8; for prices that depend on answers R. Rogers, A. Roth, J. Ullman and
        S. Vadhan, Privacy Odometers and Filters (2016), and J. Whitehouse, A. Ramdas, R. Rogers
        and Z. S. Wu, Fully-Adaptive Composition in Differential Privacy (2023).

    Numerical error:
        None: all are rationals.

    Example:
        >>> Loss.of(Fraction(1, 3)) + Loss.of(Fraction(1))
        Loss(epsilon=Fraction(4, 3), rho=Fraction(5, 9), delta=Fraction(0, 1))
        >>> (Loss.of(Fraction(1)) + Loss.concentrated(Fraction(1, 10))).text
        'ρ = 0.6'
    """

    epsilon: Fraction | None = _NONE
    rho: Fraction = _NONE
    delta: Fraction = _NONE

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", rational(self.epsilon, "epsilon"))
        object.__setattr__(self, "rho", rational(self.rho, "rho"))
        object.__setattr__(self, "delta", rational(self.delta, "delta"))

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction = _NONE) -> Self:
        """The loss of one answer that is (ε, δ)-differentially private."""
        exact = rational(epsilon, "epsilon")
        return cls._of_exact(exact, exact * exact / 2, rational(delta, "delta"))

    @classmethod
    def concentrated(cls, rho: Fraction, delta: Fraction = _NONE) -> Self:
        """The loss of one answer that is δ-approximately ρ-zCDP, and has no ε."""
        return cls._of_exact(None, rational(rho, "rho"), rational(delta, "delta"))

    @classmethod
    def read(cls, epsilon: str | None, rho: str, delta: str | None = None) -> Self:
        """The loss whose sums `exact_text` wrote.

        Args:
            epsilon: None: an answer had no ε.
            rho: The sum of the ρ.
            delta: None: no answer had a δ.

        Raises:
            ValueError: A text is something else.
        """
        return cls._of_exact(
            optional_value(epsilon), exact_value(rho), optional_value(delta) or _NONE
        )

    @property
    def text(self) -> str:
        """The loss in a few words, in ε where it has one."""
        sums = f"ρ = {exact_text(self.rho)}"
        if self.epsilon is not None:
            sums = f"ε = {exact_text(self.epsilon)}"
        return f"{sums} at δ = {float(self.delta):.6g}" if self.delta else sums

    def __bool__(self) -> bool:
        return self.epsilon is None or any((self.epsilon, self.rho, self.delta))

    def __add__(self, other: Self) -> Self:
        has_epsilon = self.epsilon is not None and other.epsilon is not None
        return self._of_exact(
            self.epsilon + other.epsilon if has_epsilon else None,  # type: ignore[operator]  # both
            self.rho + other.rho,
            self.delta + other.delta,
        )

    def includes(self, part: "Loss") -> bool:
        """Whether another loss can be a part of this one."""
        if self.epsilon is not None and (part.epsilon is None or part.epsilon > self.epsilon):
            return False
        return part.rho <= self.rho and part.delta <= self.delta

    @classmethod
    def _of_exact(cls, epsilon: Fraction | None, rho: Fraction, delta: Fraction) -> Self:
        """The loss of sums that are known to be rationals of Python's own integers."""
        loss = object.__new__(cls)
        object.__setattr__(loss, "epsilon", epsilon)
        object.__setattr__(loss, "rho", rho)
        object.__setattr__(loss, "delta", delta)
        return loss


_PLACES = 10**9  # prices that are found, not typed, are multiples of the smallest, 1e-9


class Budget(Shown, ABC):
    """The most that answers may cost together, in one of several currencies."""

    __slots__ = ()

    @property
    @abstractmethod
    def text(self) -> str:
        """The budget in a few words."""

    @property
    @abstractmethod
    def written(self) -> str | dict[str, str]:
        """The budget as an owner writes it, in exact texts."""

    @property
    @abstractmethod
    def whole(self) -> Loss:
        """What is lost where all of it is spent."""

    @property
    def is_a_sum(self) -> bool:
        """Whether it is a sum of ε, of which what was spent leaves the rest."""
        return False

    @property
    def rho_delta(self) -> Fraction | None:
        """The δ at which ρ is told in ε; None: the budget names none."""
        return None

    @abstractmethod
    def admits(self, total: Loss) -> bool:
        """Whether answers of this loss together keep to the budget."""

    @abstractmethod
    def obstacle(self, price: Loss, whose: str) -> str | None:
        """Why such an answer can never be paid for, and what can be done; None where it can.

        Args:
            price: What the answer would cost.
            whose: Who has the budget.
        """
        return None

    @abstractmethod
    def left(self, spent: Loss) -> Fraction:
        """The largest ε at which one more answer may be asked; 0 where none may."""


@frozen
class PureBudget(Budget):
    """A budget in ε: the sum of the prices may reach it.

    Args:
        epsilon: From 1e-9 to 1e6; whatever `exact_epsilon` takes is kept as a rational.

    Raises:
        ValueError: It is out of range or inexact.

    Numerical error:
        `admits` is exact; `left` is too where a price may be so written, else it is rounded down
        to a multiple of 1e-18.

    Example:
        >>> PureBudget(Fraction(2)).left(Loss.of(Fraction(1, 2)))
        Fraction(3, 2)
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact_epsilon(self.epsilon, "budget"))

    @property
    def text(self) -> str:
        """The budget in a few words."""
        return exact_text(self.epsilon)

    @property
    def written(self) -> str:
        """The exact text of ε."""
        return exact_text(self.epsilon)

    @property
    def whole(self) -> Loss:
        """Its ε."""
        return Loss.of(self.epsilon)

    @property
    def is_a_sum(self) -> bool:
        """Always: prices are subtracted from it."""
        return True

    def admits(self, total: Loss) -> bool:
        """Whether answers of this loss together keep to the budget."""
        return total.epsilon is not None and total.epsilon <= self.epsilon and not total.delta

    def obstacle(self, price: Loss, whose: str) -> str | None:
        """Why such an answer can never be paid for, and what can be done; None where it can."""
        if price.epsilon is None:
            return (
                "a budget in ε alone pays for no Gaussian noise: give"
                f" {whose} a budget with a rho, or with epsilon and delta"
            )
        return no_hidden_keys("ε alone", whose) if price.delta else None

    def left(self, spent: Loss) -> Fraction:
        """The largest ε at which one more answer may be asked; 0 where none may."""
        if spent.epsilon is None or spent.delta:
            return Fraction(0)
        return largest_epsilon(self.epsilon - spent.epsilon)


@frozen
class ConcentratedBudget(Budget):
    """A budget in ρ of zero-concentrated differential privacy: the sum of the ρ may reach it.

    An answer in ε has ρ = ε²/2, so that many cheap answers fit that do not fit a budget in ε: a
    hundred at ε = 0.1 have ρ = 0.5.

    Args:
        rho: From 1e-9 to 1e6; whatever `exact_epsilon` takes is kept as a rational.

    Raises:
        ValueError: It is out of range or inexact.

    Numerical error:
        `admits` is exact; `left` is rounded down to a multiple of 1e-9.

    Example:
        >>> ConcentratedBudget(Fraction(1, 2)).left(Loss(Fraction(6), Fraction(3, 8)))
        Fraction(1, 2)
    """

    rho: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", exact_epsilon(self.rho, "rho"))

    @property
    def text(self) -> str:
        """The budget in a few words."""
        return f"ρ = {exact_text(self.rho)}"

    @property
    def written(self) -> dict[str, str]:
        """The exact text of ρ."""
        return {"rho": exact_text(self.rho)}

    @property
    def whole(self) -> Loss:
        """Its ρ."""
        return Loss.concentrated(self.rho)

    def admits(self, total: Loss) -> bool:
        """Whether answers of this loss together keep to the budget."""
        return total.rho <= self.rho and not total.delta

    def obstacle(self, price: Loss, whose: str) -> str | None:
        """Why such an answer can never be paid for, and what can be done; None where it can."""
        return no_hidden_keys("ρ", whose) if price.delta else None

    def left(self, spent: Loss) -> Fraction:
        """The largest ε at which one more answer may be asked; 0 where none may."""
        return Fraction(0) if spent.delta else price_within(self.rho - spent.rho)


def budget_of(value: Exactly | Budget) -> Budget:
    """A budget; an exact number or its text is one in ε.

    Raises:
        ValueError: The value is neither, or out of range.

    Example:
        >>> budget_of(Fraction(2))
        PureBudget(epsilon=Fraction(2, 1))
    """
    return value if isinstance(value, Budget) else PureBudget(exact_epsilon(value, "budget"))


def no_hidden_keys(currency: str, whose: str) -> str:
    """The refusal of hidden keys by a budget that has no δ."""
    return (
        f"a budget in {currency} pays for no hidden keys, which fail with a probability: give"
        f" {whose} a budget with epsilon, delta and for_keys, or list the keys"
    )


def price_within(rho: Fraction) -> Fraction:
    """The largest multiple of 1e-9 whose half square is at most ρ; 0 below 0."""
    return Fraction(isqrt(max(0, int(2 * rho * _PLACES**2))), _PLACES)
