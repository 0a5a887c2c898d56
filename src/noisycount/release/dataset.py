"""Whose records are counted, and what they may pay."""

from collections.abc import Callable
from dataclasses import dataclass, field

from noisycount.display.texts import told_name
from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.ledger.budget import Budget, budget_of
from noisycount.ledger.entries import check_text

__all__ = ["Dataset", "LateDataset"]


@frozen
class Dataset(Shown):
    """Whose records are counted, and what they may pay.

    Args:
        name: What the ledger calls the data set; at most 200 printable characters.
        budget: The most that all its answers may cost together; a number is kept as a budget in ε.
        size: The number of units where it is public, else None.
        needs_purpose: Whether a spend must say what its answer is for.

    Raises:
        ValueError: The name is not printable, or the budget or the size is out of range.

    Example:
        >>> Dataset("survey", budget_of(2)).budget
        PureBudget(epsilon=Fraction(2, 1))
    """

    name: str
    budget: Budget
    size: int | None = None
    needs_purpose: bool = False

    @property
    def told(self) -> str:
        """What it is called to whoever reads an answer."""
        return told_name(self.name)

    def __post_init__(self) -> None:
        check_text("name", self.name)
        object.__setattr__(self, "budget", budget_of(self.budget))
        if self.size is not None and not (type(self.size) is int and self.size > 0):
            raise ValueError(f"size must be a whole number above 0, got {self.size!r}")


@dataclass(slots=True, eq=False)
class LateDataset(Shown):
    """A data set whose name is found at its first use, as all of its records must be read for it.

    Attributes:
        finding: Finds the data set.
        budget: The most that all its answers may cost together.
        size: The number of units where it is public, else None.
        needs_purpose: Whether a spend must say what its answer is for.
    """

    finding: Callable[[], str] = field(repr=False)
    budget: Budget
    size: int | None = None
    needs_purpose: bool = False
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
        return told_name(self.name)
