"""What was spent of the two budgets that pay for an answer."""

from dataclasses import dataclass, replace
from typing import Self

from noisycount.app.config.config import DatasetConfig
from noisycount.release.budget.loss import Loss
from noisycount.release.ledger.entries import Analyst
from noisycount.release.ledger.ledger import Ledger
from noisycount.release.purchase import remains_of
from noisycount.release.remains import Remains

__all__ = ["Spent"]


@dataclass(frozen=True, slots=True)
class Spent:
    """What a data set and an analyst have paid; the budgets of both must pay for more.

    Attributes:
        dataset: Under the name by which the ledger books its spending.
        analyst: Who asks.
        of_dataset: What its answers have cost together.
        of_analyst: What the analyst's questions have.
    """

    dataset: DatasetConfig
    analyst: Analyst
    of_dataset: Loss
    of_analyst: Loss

    @classmethod
    def of(cls, dataset: DatasetConfig, analyst: Analyst, ledger: Ledger | None) -> Self:
        """What was spent so far; nothing where there is no ledger.

        Raises:
            LedgerError: It cannot be read.
        """
        if ledger is None:
            return cls(dataset, analyst, Loss(), Loss())
        return cls(dataset, analyst, ledger.paid(dataset.account), ledger.paid_by(analyst.name))

    @property
    def remains(self) -> Remains:
        """What is left of both budgets."""
        return remains_of(self.dataset.budget, self.of_dataset, self.analyst, self.of_analyst)

    def with_more(self, price: Loss) -> Self:
        """What was spent after one more answer."""
        return replace(self, of_dataset=self.of_dataset + price, of_analyst=self.of_analyst + price)

    def admits(self, price: Loss) -> bool:
        """Whether the budgets pay for one more answer."""
        own = self.analyst.budget
        is_own = own is None or own.admits(self.of_analyst + price)
        return is_own and self.dataset.budget.admits(self.of_dataset + price)
