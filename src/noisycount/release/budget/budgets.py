"""What answers have cost together, and budgets that say how much that may be."""

from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal, localcontext
from fractions import Fraction
from functools import cache
from importlib import import_module
from math import isqrt
from typing import Self

from noisycount.errors import BudgetError
from noisycount.release.budget.exact import (
    exact_delta,
    exact_epsilon,
    exact_text,
    largest_epsilon,
    rational,
)

__all__ = [
    "ApproximateBudget",
    "Budget",
    "ConcentratedBudget",
    "Loss",
    "PureBudget",
    "budget_of",
]

_PLACES = 10**9
_DIGITS = 6
_TOLERANCE = 1e-7
_ORDERS = [1 + 1.02**step / 50 for step in range(1, 1000)]  # from 1.02 to 8e6
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Loss:
    """The privacy loss of all answers so far, added up exactly in two ways.

    An answer that is ε-differentially private is also ε²/2-zCDP. Both add up over answers, also
    where each question and each price depends on the answers before.

    Args:
        epsilon: The sum of the ε.
        rho: The sum of the ε²/2.

    Raises:
        ValueError: A sum is no rational.

    Source:
        M. Bun and T. Steinke, Concentrated Differential Privacy (2016), Proposition 1.4 and
        Lemma 1.7; for prices that depend on answers R. Rogers, A. Roth, J. Ullman and S. Vadhan,
        Privacy Odometers and Filters (2016), and V. Feldman and T. Zrnic, Individual Privacy
        Accounting via a Rényi Filter (2021).

    Numerical error:
        None: both are rationals.

    Example:
        >>> Loss.of(Fraction(1, 3)) + Loss.of(Fraction(1))
        Loss(epsilon=Fraction(4, 3), rho=Fraction(5, 9))
    """

    epsilon: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", rational(self.epsilon, "epsilon"))
        object.__setattr__(self, "rho", rational(self.rho, "rho"))

    @classmethod
    def of(cls, epsilon: Fraction) -> Self:
        """Give the loss of one answer."""
        exact = rational(epsilon, "epsilon")
        return cls(exact, exact * exact / 2)

    def __add__(self, other: Self) -> Self:
        return type(self)(self.epsilon + other.epsilon, self.rho + other.rho)


@dataclass(frozen=True, slots=True)
class PureBudget:
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

    def admits(self, total: Loss) -> bool:
        """Tell whether answers of this loss together keep to the budget."""
        return total.epsilon <= self.epsilon

    def left(self, spent: Loss) -> Fraction:
        """Give the largest ε at which one more answer may be asked; 0 where none may."""
        return largest_epsilon(self.epsilon - spent.epsilon)


@dataclass(frozen=True, slots=True)
class ConcentratedBudget:
    """A budget in ρ of zero-concentrated differential privacy: the sum of ε²/2 may reach it.

    Many cheap answers fit that do not fit a budget in ε: a hundred at ε = 0.1 have ρ = 0.5.

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

    def admits(self, total: Loss) -> bool:
        """Tell whether answers of this loss together keep to the budget."""
        return total.rho <= self.rho

    def left(self, spent: Loss) -> Fraction:
        """Give the largest ε at which one more answer may be asked; 0 where none may."""
        return _price_within(self.rho - spent.rho)


@dataclass(frozen=True, slots=True)
class ApproximateBudget:
    """A budget in (ε, δ): answers keep to it if the ε add up to ε, or the ρ to what implies it.

    Whichever of the two sums is kept when the last answer is given, all answers together are
    (ε, δ)-differentially private, also where prices depend on answers: where the ε add up to at
    most ε no outcome has a larger loss, and the other outcomes are those of a zCDP filter.

    Args:
        epsilon: From 1e-9 to 1e6; whatever `exact_epsilon` takes is kept as a rational.
        delta: From 1e-18 to below 1; whatever `exact_delta` takes is kept as a rational.

    Raises:
        ValueError: One of them is out of range or inexact.

    Source:
        The largest ρ is found with dp-accounting: C. Canonne, G. Kamath and T. Steinke, The
        Discrete Gaussian for Differential Privacy (2020), Proposition 12 and Corollary 13.

    Numerical error:
        That ρ is never above the largest, and for ε from 0.1 to 100 at most 1e-4 (relative) below
        it; outside that range it is smaller than need be. Sums are exact.

    Example:
        >>> budget = ApproximateBudget(Fraction(2), Fraction(1, 10**6))
        >>> budget.admits(Loss(Fraction(8), Fraction(8, 200))), budget.admits(Loss.of(Fraction(2)))
        (True, True)
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact_epsilon(self.epsilon, "budget"))
        object.__setattr__(self, "delta", exact_delta(self.delta))

    @property
    def text(self) -> str:
        """The budget in a few words."""
        return f"ε = {exact_text(self.epsilon)} at δ = {float(self.delta):.6g}"

    @property
    def rho(self) -> Fraction:
        """The ρ that implies this budget.

        Raises:
            BudgetError: The package dp-accounting is not installed.
        """
        return _rho_of(self.epsilon, self.delta)

    def admits(self, total: Loss) -> bool:
        """Tell whether answers of this loss together keep to the budget."""
        rho = self.rho  # first, so that nothing is charged where it cannot be found
        return total.epsilon <= self.epsilon or total.rho <= rho

    def left(self, spent: Loss) -> Fraction:
        """Give the largest ε at which one more answer may be asked; 0 where none may."""
        pure = largest_epsilon(self.epsilon - spent.epsilon)
        return max(pure, _price_within(self.rho - spent.rho))


Budget = PureBudget | ConcentratedBudget | ApproximateBudget


def budget_of(value: str | int | Decimal | Fraction | Budget) -> Budget:
    """Give a budget; an exact number or its text is one in ε.

    Raises:
        ValueError: The value is neither, or out of range.

    Example:
        >>> budget_of(Fraction(2))
        PureBudget(epsilon=Fraction(2, 1))
    """
    return value if isinstance(value, Budget) else PureBudget(exact_epsilon(value, "budget"))


def _price_within(rho: Fraction) -> Fraction:
    """Give the largest multiple of 1e-9 whose half square is at most ρ; 0 below 0."""
    return Fraction(isqrt(max(0, int(2 * rho * _PLACES**2))), _PLACES)


@cache
def _rho_of(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Give a ρ such that ρ-zCDP implies (ε, δ), by bisection, rounded down to six digits."""
    goal, chance = float(epsilon) * (1 - _ROUNDING), float(delta)
    low, high = 0.0, 1.0
    while _epsilon_of(high, chance) <= goal:
        low, high = high, 2 * high
    while high - low > low * _TOLERANCE:
        middle = (low + high) / 2
        if _epsilon_of(middle, chance) <= goal:
            low = middle
        else:
            high = middle
    with localcontext(prec=_DIGITS, rounding=ROUND_DOWN):
        return Fraction(+Decimal(low))


def _epsilon_of(rho: float, delta: float) -> float:
    """Give the ε that ρ-zCDP implies at δ, by dp-accounting."""
    try:
        accounting = import_module("dp_accounting")
        rdp = import_module("dp_accounting.rdp")
    except ImportError:
        raise BudgetError(
            "a budget with a delta needs the package dp-accounting; install noisycount[accounting]"
        ) from None
    accountant = rdp.RdpAccountant(_ORDERS)
    return float(accountant.compose(accounting.ZCDpEvent(rho)).get_epsilon(delta))
