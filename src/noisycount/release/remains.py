"""What is left of the two budgets that pay for an answer: the data set's, and the asker's own."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from noisycount.release.budget.budgets import Budget
from noisycount.release.budget.exact import exact_text

__all__ = ["Remains"]


@dataclass(frozen=True, slots=True)
class Remains:
    """Two budgets that must both pay for one more answer, and what is left of each.

    Attributes:
        dataset_budget: That of the data set.
        of_dataset: The largest ε that it still pays for.
        quota: That of whoever asks, over all data sets; None: there is none.
        of_quota: The largest ε that it still pays for; None where there is none.

    Example:
        >>> from noisycount.release.budget.budgets import PureBudget
        >>> dataset, quota = PureBudget(Fraction(2)), PureBudget(Fraction(1, 5))
        >>> Remains(dataset, Fraction(1), quota, Fraction(1, 10)).object["budget"]
        '0.2'
    """

    dataset_budget: Budget
    of_dataset: Fraction
    quota: Budget | None = None
    of_quota: Fraction | None = None

    @property
    def remaining(self) -> Fraction:
        """The largest ε at which one more question may be asked."""
        return self.of_dataset if self.of_quota is None else min(self.of_dataset, self.of_quota)

    @property
    def budget(self) -> Budget:
        """The budget of which that is left."""
        if self.quota is None or self.of_quota is None or self.of_dataset <= self.of_quota:
            return self.dataset_budget
        return self.quota

    @property
    def is_a_sum(self) -> bool:
        """Whether prices in ε add up in either budget."""
        return self.dataset_budget.is_a_sum and (self.quota is None or self.quota.is_a_sum)

    @property
    def object(self) -> dict[str, Any]:
        """All of it as JSON; sums are exact texts."""
        return {
            "remaining": exact_text(self.remaining),
            "budget": self.budget.written,
            "dataset_remaining": exact_text(self.of_dataset),
            "dataset_budget": self.dataset_budget.written,
            "quota_remaining": None if self.of_quota is None else exact_text(self.of_quota),
            "quota": None if self.quota is None else self.quota.written,
        }
