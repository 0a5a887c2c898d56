"""The price of a table: given, or that at which each row is near enough."""

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from noisycount.errors import NoisyCountError
from noisycount.model.drawing.scales import as_written
from noisycount.model.half_width import error_within
from noisycount.model.noises.discrete import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.release.tables.plan import TablePlan
from noisycount.release.tables.price import TablePrice

__all__ = ["RowGoal", "TablePayment"]


@dataclass(frozen=True, slots=True)
class RowGoal:
    """How far off each row may be.

    Attributes:
        within: The half-width as a share of the guess.
        guess: A public guess of the count of a row, in units.
        confidence: The probability with which one row lies so near.
    """

    within: float
    guess: float
    confidence: float

    @property
    def width(self) -> int:
        """The half-width in whole units."""
        return math.floor(as_written(self.within, "within") * as_written(self.guess, "guess"))

    def price(self, plan: TablePlan) -> Fraction:
        """The smallest price in two digits at which every row of a plan lies so near.

        Args:
            plan: The table at any price, whose noise is of the same class.

        Raises:
            NoisyCountError: No ledger keeps such a price.
        """
        prices = list(_readable())
        place = bisect_left(prices, True, key=lambda price: self._is_kept(plan, price))  # noqa: FBT003
        if place == len(prices):
            raise NoisyCountError(
                f"--within {self.within:g} of --guess {self.guess:g} for each row needs a price "
                "above 1e6: choose another goal"
            )
        return prices[place]

    def _is_kept(self, plan: TablePlan, price: Fraction) -> bool:
        """Whether a price keeps every row within the half-width."""
        paid = TablePayment(price).table_price(plan.price.noise)
        return all(
            error_within(paid.mechanism(level.sensitivity, level.share), self.confidence)
            <= self.width
            for level in plan.levels
        )


@dataclass(frozen=True, slots=True)
class TablePayment:
    """A price in ε of Laplace noise, or in ρ of Gaussian noise."""

    amount: Fraction

    def table_price(self, noise: type[DiscreteNoise]) -> TablePrice:
        """The price of a table with listed keys."""
        is_laplace = noise is DiscreteLaplace
        epsilon, rho = (self.amount, None) if is_laplace else (None, self.amount)
        return TablePrice.of(noise, epsilon, rho, None, is_hidden=False)


def noise_of(*, is_gaussian: bool) -> type[DiscreteNoise]:
    """The class of noise that was chosen."""
    return DiscreteGaussian if is_gaussian else DiscreteLaplace


def _readable() -> Iterator[Fraction]:
    """Every price of two digits that a ledger keeps, rising."""
    for exponent in range(-10, 5):
        for digits in range(10, 100):
            price = Fraction(Decimal(digits).scaleb(exponent))
            if Fraction(1, 10**9) <= price <= 10**6:
                yield price
    yield Fraction(10**6)
