"""Whose records are counted, what they may pay, and what is left of that."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from noisycount.display.numbers import approximately, rounded_down
from noisycount.display.texts import redacted_name
from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.ledger.budget import Budget, Loss, budget_of
from noisycount.ledger.entries import Analyst, check_text
from noisycount.validation import exact_text

_MOST = 10**25  # more answers than any budget pays for: 1e6 over half the square of 1e-9
_CHEAP = Fraction(1, 10**9)  # the least price


@frozen
class Dataset(Shown):
    """Whose records are counted, and what they may pay.

    Raises:
        ValueError: The name is not printable, or the budget or the size is out of range.
    """

    name: str  # what the ledger calls the data set; at most 200 printable characters
    budget: Budget  # the most that all its answers may cost together; a number is kept as a budget in ε
    size: int | None = None  # the number of units where it is public, else None
    needs_purpose: bool = False  # whether a spend must say what its answer is for

    @property
    def told(self) -> str:
        """What it is called to whoever reads an answer."""
        return redacted_name(self.name)

    def __post_init__(self) -> None:
        check_text("name", self.name)
        object.__setattr__(self, "budget", budget_of(self.budget))
        if self.size is not None and not (type(self.size) is int and self.size > 0):
            raise ValueError(f"size must be a whole number above 0, got {self.size!r}")


@dataclass(slots=True, eq=False)
class LazyDataset(Shown):
    """A data set whose name is found at its first use, as its description is written to the ledger then."""

    finding: Callable[[], str] = field(repr=False)  # finds the data set
    budget: Budget  # the most that all its answers may cost together
    size: int | None = None  # the number of units where it is public, else None
    needs_purpose: bool = False  # whether a spend must say what its answer is for
    _found: Dataset | None = None

    @property
    def name(self) -> str:
        """What the ledger calls it."""
        if self._found is None:
            self._found = Dataset(self.finding(), self.budget, self.size, self.needs_purpose)
        return self._found.name

    @property
    def told(self) -> str:
        """What it is called to whoever reads an answer."""
        return redacted_name(self.name)


@frozen
class RemainingBudget:
    """Two budgets that must both pay for one more answer, and what is left of each.

    Example:
        >>> from noisycount.ledger.budget import PureBudget
        >>> dataset, quota = PureBudget(Fraction(2)), PureBudget(Fraction(1, 5))
        >>> RemainingBudget(dataset, Fraction(1), quota, Fraction(1, 10)).object["budget"]
        '0.2'
    """

    dataset_budget: Budget  # that of the data set
    of_dataset: Fraction  # the largest ε that it still pays for
    quota: Budget | None = None  # that of whoever asks, over all data sets; None: there is none
    of_quota: Fraction | None = None  # the largest ε that it still pays for; None where there is none

    @classmethod
    def of(cls, budget: Budget, spent: Loss, analyst: Analyst, own: Loss) -> "RemainingBudget":
        """What two budgets leave, where the analyst has one."""
        quota = analyst.budget
        return cls(budget, budget.left(spent), quota, None if quota is None else quota.left(own))

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
    from noisycount.model.searches import first_true  # noqa: PLC0415 - loads NumPy

    def is_refused(answers: int) -> bool:
        more = Loss(answers * epsilon, answers * epsilon**2 / 2)
        return not budget.admits(spent + more)

    return first_true(lambda answers: is_refused(answers + 1), 0, _MOST)


def left_words(budget: Budget, spent: Loss) -> str:
    """What is left of a budget: the largest price of one answer, and how many cheap ones it pays.

    Example:
        >>> from noisycount.ledger.budget import ConcentratedBudget, PureBudget
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
