"""What anybody may know of a data set before a question: columns, budget, earlier answers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from noisycount.app.config.config import Config, DatasetConfig
from noisycount.app.count.counter import Counter
from noisycount.app.count.opening import as_configured, records_of, register_of
from noisycount.app.count.spent import Spent
from noisycount.app.ledger.access import existing_ledger
from noisycount.release.budget.loss import Loss
from noisycount.release.ledger.entries import Analyst, Entry
from noisycount.release.register.written import ROW
from noisycount.release.remains import Remains
from noisycount.release.sources.forms import ColumnForm

__all__ = ["View"]

_USUAL = Fraction(1, 10)


@dataclass(frozen=True, slots=True)
class View:
    """What may be asked of a data set, what is left to pay, and what was asked; no record's cell.

    Attributes:
        dataset: As its owner configured it.
        unit: The column whose distinct values are counted; None for rows.
        is_said: Whether anybody said so yet.
        columns: What questions may use, and what the cells of each stand for.
        remains: What is left of the budget, and of the quota of whoever looks.
        entries: What was asked, oldest first.
        usual: ε of an answer where nothing was asked.
    """

    dataset: DatasetConfig
    unit: str | None
    is_said: bool
    columns: Mapping[str, ColumnForm]
    remains: Remains
    entries: tuple[Entry, ...] = ()
    usual: Fraction = _USUAL

    @classmethod
    def of(cls, dataset: DatasetConfig, configuration: Config) -> "View":
        """The view of a data set; no ledger is made for it.

        Raises:
            NoisyCountError: The file or the ledger cannot be read.
        """
        with existing_ledger(configuration) as ledger:
            register = register_of(ledger, configuration)
            dataset = as_configured(dataset, configuration, register)
            is_said = dataset.unit is not None or register.knows(dataset.account)
            asked = dataset if is_said else replace(dataset, unit=ROW)
            with records_of(asked, register) as records:
                name, unit, columns = records.name, records.unit, records.forms
            entries = tuple(ledger.entries(name)) if ledger else ()
        spent = entries[-1].spent if entries else Loss()
        remains = Remains(dataset.budget, dataset.budget.left(spent))
        return cls(dataset, unit, is_said, columns, remains, entries)

    @classmethod
    def at(cls, counter: Counter, analyst: Analyst, usual: Fraction = _USUAL) -> "View":
        """What an analyst may know of open records: nothing of what others asked.

        Args:
            counter: The records and the ledger.
            analyst: Who looks; what is left is left to them.
            usual: ε of the answers that are to be paid for.

        Raises:
            LedgerError: The ledger cannot be read.
        """
        records = counter.records
        left = Spent.of(counter.account, analyst, counter.ledger).remains
        unit, columns = records.unit, records.forms
        return cls(counter.dataset, unit, True, columns, left, usual=usual)  # noqa: FBT003

    @property
    def remaining(self) -> Fraction:
        """The largest ε at which one more question may be asked."""
        return self.remains.remaining

    @property
    def price(self) -> Fraction:
        """ε of the newest answer, or a usual one."""
        paid = (entry.request.epsilon for entry in reversed(self.entries))
        return next(filter(None, paid), self.usual)

    @property
    def affordable(self) -> int | None:
        """How many more answers at that price are paid for; None where prices do not add up."""
        return self.remaining // self.price if self.remains.is_a_sum else None
