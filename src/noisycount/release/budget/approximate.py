"""A budget in (ε, δ), which pays for many cheap answers."""

from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal, localcontext
from fractions import Fraction
from functools import cache
from importlib import import_module

from noisycount.errors import BudgetError
from noisycount.release.budget.budgets import Budget, price_within
from noisycount.release.budget.exact import exact_delta, exact_epsilon, exact_text, largest_epsilon
from noisycount.release.budget.loss import Loss

__all__ = ["ApproximateBudget"]

_DIGITS = 6  # of the largest ρ, rounded down
_TOLERANCE = 1e-7  # relative, of its bisection: below what the digits show
_ORDERS = [1 + 1.02**step / 50 for step in range(1, 1000)]  # of Rényi's divergence, 1.02 to 8e6
_ROUNDING = 1e-9  # relative: above what the sums of dp-accounting round


@dataclass(frozen=True, slots=True)
class ApproximateBudget(Budget):
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
    def written(self) -> dict[str, str]:
        """The exact texts of ε and δ."""
        return {"epsilon": exact_text(self.epsilon), "delta": exact_text(self.delta)}

    @property
    def rho(self) -> Fraction:
        """The ρ that implies this budget.

        Raises:
            BudgetError: The package dp-accounting is not installed.
        """
        return _rho_of(self.epsilon, self.delta)

    def admits(self, total: Loss) -> bool:
        """Whether answers of this loss together keep to the budget."""
        rho = self.rho  # first, so that nothing is charged where it cannot be found
        return total.epsilon <= self.epsilon or total.rho <= rho

    def left(self, spent: Loss) -> Fraction:
        """The largest ε at which one more answer may be asked; 0 where none may."""
        pure = largest_epsilon(self.epsilon - spent.epsilon)
        return max(pure, price_within(self.rho - spent.rho))


@cache
def _rho_of(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A ρ such that ρ-zCDP implies (ε, δ), by bisection, rounded down to six digits."""
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
    """The ε that ρ-zCDP implies at δ, by dp-accounting."""
    try:
        accounting = import_module("dp_accounting")
        rdp = import_module("dp_accounting.rdp")
    except ImportError:
        raise BudgetError(
            "a budget with a delta needs the package dp-accounting; install noisycount[accounting]"
        ) from None
    accountant = rdp.RdpAccountant(_ORDERS)
    return float(accountant.compose(accounting.ZCDpEvent(rho)).get_epsilon(delta))
