"""What anybody may know of a data set before a question: columns, budget, earlier answers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from noisycount.app.config.config import Config, DatasetConfig
from noisycount.app.count.opening import records_of
from noisycount.app.ledger.access import debits
from noisycount.app.ledger.words import asked_unit
from noisycount.release.budget.loss import Loss
from noisycount.release.ledger.entries import Entry
from noisycount.release.question.schema import Kind

__all__ = ["View"]

_USUAL = Fraction(1, 10)


@dataclass(frozen=True, slots=True)
class View:
    """What may be asked of a data set, what is left to pay, and what was asked; no record's cell.

    Attributes:
        dataset: As its owner configured it, by the unit of its newest answer if none is configured.
        columns: What questions may use, by name; None where no kind is stated.
        remaining: The largest ε at which one more question may be asked.
        entries: What was asked, oldest first.
    """

    dataset: DatasetConfig
    columns: Mapping[str, Kind | None]
    remaining: Fraction
    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, dataset: DatasetConfig, configuration: Config) -> "View":
        """The view of a data set; no ledger is made for it.

        Raises:
            NoisyCountError: The file or the ledger cannot be read.
        """
        every = debits(configuration)
        entries = tuple(entry for entry in every if entry.request.dataset == dataset.account)
        if dataset.unit is None and entries:
            dataset = replace(dataset, unit=asked_unit(entries[-1]))
        with records_of(dataset) as records:
            columns = records.columns
        spent = entries[-1].spent if entries else Loss()
        return cls(dataset, columns, dataset.budget.left(spent), entries)

    @property
    def price(self) -> Fraction:
        """ε of the newest answer, or a usual one."""
        return self.entries[-1].request.epsilon if self.entries else _USUAL

    @property
    def affordable(self) -> int | None:
        """How many more answers at that price are paid for; None where prices do not add up."""
        return self.remaining // self.price if self.dataset.budget.is_a_sum else None
