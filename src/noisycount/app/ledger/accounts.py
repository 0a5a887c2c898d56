"""What data sets and analysts may spend and have spent."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from noisycount.app.config.config import DEFAULT_BUDGET, Config
from noisycount.release.budget.budgets import Budget
from noisycount.release.budget.exact import exact_text
from noisycount.release.budget.loss import Loss
from noisycount.release.ledger.entries import Entry
from noisycount.release.remains import left_words

__all__ = ["Account", "accounts_of_analysts", "accounts_of_datasets"]


@dataclass(frozen=True, slots=True)
class Account:
    """What somebody may spend, and has spent.

    Attributes:
        name: Of the data set, as the ledger calls it, or of the analyst.
        budget: None: no budget of its own.
        spent: What all answers have cost together.
    """

    name: str
    budget: Budget | None
    spent: Loss

    @property
    def in_epsilon(self) -> bool:
        """Whether the budget is a sum of ε."""
        return self.budget is None or self.budget.is_a_sum

    @property
    def left(self) -> Fraction | None:
        """The largest ε at which one more question may be asked; None where no budget binds."""
        return None if self.budget is None else self.budget.left(self.spent)

    @property
    def words(self) -> tuple[str, str, str]:
        """Budget, what was spent of it, and what is left, for people."""
        if self.budget is None or self.left is None:
            return "none", self._spent, "-"
        if self.in_epsilon:
            return self.budget.text, self._spent, exact_text(self.left)
        return self.budget.text, self._spent, left_words(self.budget, self.spent)

    @property
    def _spent(self) -> str:
        """All sums that tell something: ε alone where the budget is in ε and nothing else was."""
        spent, sums = self.spent, []
        if self.in_epsilon and spent.epsilon is not None and not spent.delta:
            return exact_text(spent.epsilon)
        if spent.epsilon is not None:
            sums.append(f"ε = {exact_text(spent.epsilon)}")
        sums.append(f"ρ = {float(spent.rho):.4g}")
        if spent.delta:
            sums.append(f"δ = {float(spent.delta):.4g}")
        return ", ".join(sums)


def accounts_of_datasets(configuration: Config, entries: Sequence[Entry]) -> list[Account]:
    """The account of each data set that is configured or was asked."""
    spent = {entry.request.dataset: entry.spent for entry in entries}
    configured = {each.account: each.budget for each in configuration.datasets.values()}
    return [
        Account(name, configured.get(name, DEFAULT_BUDGET), spent.get(name, Loss()))
        for name in dict.fromkeys([*configured, *spent])
    ]


def accounts_of_analysts(configuration: Config, entries: Sequence[Entry]) -> list[Account]:
    """The account of each analyst who is configured or has asked."""
    spent = {entry.analyst: entry.analyst_spent for entry in entries}
    configured = {name: each.budget for name, each in configuration.analysts.items()}
    return [
        Account(name, configured.get(name), spent.get(name, Loss()))
        for name in dict.fromkeys([*configured, *spent])
    ]
