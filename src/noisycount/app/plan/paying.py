"""What pays for answers that are planned: a budget, and what was spent of it."""

from dataclasses import dataclass
from fractions import Fraction

from noisycount.app.config.config import DEFAULT_BUDGET
from noisycount.release.budget.budgets import Budget
from noisycount.release.budget.loss import Loss
from noisycount.release.remains import affordable

__all__ = ["Paying"]


@dataclass(frozen=True, slots=True)
class Paying:
    """A budget, and what was spent of it, as the ledger adds it up.

    Attributes:
        budget: The whole budget.
        spent: What all answers have cost together.
        dataset: Whose budget it is; None where it was given.
    """

    budget: Budget = DEFAULT_BUDGET
    spent: Loss = Loss()  # noqa: RUF009 - a frozen value
    dataset: str | None = None

    @property
    def left(self) -> Fraction:
        """The largest ε at which one more answer may be asked."""
        return self.budget.left(self.spent)

    def affordable(self, epsilon: Fraction) -> int:
        """How many answers at an ε the budget pays for, on top of what was spent."""
        return affordable(self.budget, self.spent, epsilon)

    def admits(self, price: Loss) -> bool:
        """Whether it pays for one more answer."""
        return self.budget.admits(self.spent + price)

    def left_after(self, price: Loss) -> Fraction:
        """The largest ε of one more answer after one of this price."""
        return self.budget.left(self.spent + price)

    @property
    def left_in_rho(self) -> Fraction | None:
        """The largest ε that any answer with Gaussian noise leaves; None: it leaves as much as now.

        Where one is among the answers, their ε no longer add up, and only their ρ are counted.
        """
        if self.budget.obstacle(Loss.concentrated(Fraction(1)), "") is not None:
            return None
        left = self.left_after(Loss.concentrated(Fraction(0)))
        return left if left < self.left else None
