"""What is left of the budgets that pay for an answer, and in words what that pays for."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from noisycount.model.search import first_true
from noisycount.release.budget.budgets import Budget
from noisycount.release.budget.exact import exact_text
from noisycount.release.budget.loss import Loss
from noisycount.shown.numbers import approximately
from noisycount.shown.rounding import rounded_down

__all__ = ["Remains", "affordable", "left_words", "next_words"]

_MOST = 10**25  # more answers than any budget pays for: 1e6 over half the square of 1e-9
_CHEAP = Fraction(1, 10**9)  # the least price


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


def affordable(budget: Budget, spent: Loss, epsilon: Fraction) -> int:
    """How many answers at an ε a budget pays for, on top of what was spent."""

    def is_refused(answers: int) -> bool:
        more = Loss(answers * epsilon, answers * epsilon**2 / 2)
        return not budget.admits(spent + more)

    return first_true(lambda answers: is_refused(answers + 1), 0, _MOST)


def left_words(budget: Budget, spent: Loss) -> str:
    """What is left of a budget: the largest price of one answer, and how many cheap ones it pays.

    Example:
        >>> from noisycount.release.budget.budgets import ConcentratedBudget, PureBudget
        >>> left_words(PureBudget(Fraction(2)), Loss.of(Fraction("1.55")))
        'ε = 0.45 for one answer, or 45 answers at ε = 0.01'
        >>> left_words(ConcentratedBudget(Fraction("0.1")), Loss())
        'ε = 0.447 for one answer, or 2,000 answers at ε = 0.01'
    """
    largest = budget.left(spent)
    if not largest:
        return "nothing"
    one, cheap = f"ε = {rounded_down(largest)} for one answer", _cheap(largest)
    if cheap < _CHEAP:
        return one
    return f"{one}, or {affordable(budget, spent, cheap):,} answers at ε = {exact_text(cheap)}"


def next_words(largest: Fraction) -> str:
    """What the next answer may cost; of prices that do not add up nothing else is left over."""
    return f"the next may cost up to {approximately(largest)}"


def _cheap(largest: Fraction) -> Fraction:
    """A price of one digit, from a hundredth to a tenth of the largest."""
    power = Fraction(10)
    while power * 10 <= largest:
        power *= 10
    while power > largest:
        power /= 10
    return power / 10
