"""What a check found, held against what is stated of a data set."""

from dataclasses import dataclass, field
from pathlib import Path

from noisycount.app.config.config import DatasetConfig
from noisycount.app.config.naming import source_text
from noisycount.release.checking import UTF
from noisycount.release.register.written import ROW
from noisycount.release.sources.check import Check, ColumnCheck

__all__ = ["Former", "Inspection"]

_MANY = 20  # units: of fewer, most columns have another value for nearly each
_HALF = 2


@dataclass(frozen=True, slots=True)
class Former:
    """Where answers about a file were paid for before a configuration described it.

    Attributes:
        account: What the ledger calls it.
        url: The address of the ledger; None: that of the configuration that there is.
        unit: What was counted: distinct values of that column, or `row`.
    """

    account: str
    url: str | None
    unit: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """What is in the records of a data set, and whether questions may be asked of it.

    Attributes:
        dataset: As its owner configured it.
        check: What is in the records.
        is_configured: Whether a configuration has its name.
        is_said: Whether anybody said whose rows these are.
        is_changed: Whether the columns are others than the ledger has written down.
        folder: That of the configuration that there is, or would be.
        former: Where answers were paid for so far; None: nowhere else.
        answered_otherwise: How many answers are of the records as they were, or were read, before.
    """

    dataset: DatasetConfig
    check: Check
    is_configured: bool
    is_said: bool
    is_changed: bool = False
    folder: Path = field(default_factory=Path.cwd)
    former: Former | None = None
    answered_otherwise: int = 0

    @property
    def unit(self) -> str | None:
        """The column that names the person; None where every row is one unit, or nobody said."""
        return None if self.dataset.unit == ROW else self.dataset.unit

    @property
    def source(self) -> str:
        """The path of the records as a configuration writes it."""
        return source_text(self.dataset.source, self.folder)

    def why_unused(self, column: ColumnCheck) -> str | None:
        """Why questions may not use a column; None: they may."""
        chosen = self.dataset.columns
        if column.name == self.unit:
            return "the unit"
        if chosen is not None and column.name not in chosen:
            return "not among columns"
        if column.kind is None:
            return f"no kind for {column.type}"
        return "unreadable" if column.is_refused else None

    @property
    def refused(self) -> tuple[ColumnCheck, ...]:
        """The columns whose cells keep the data set from answering."""
        reasons = {None, "unreadable", "the unit"}
        return tuple(
            column
            for column in self.check.columns
            if column.is_refused and self.why_unused(column) in reasons
        )

    @property
    def unstated_encoding(self) -> str | None:
        """The encoding that must be stated before the file can be counted."""
        form = self.check.form
        if form is None or self.dataset.form.encoding is not None or form.encoding in UTF:
            return None
        return form.encoding

    @property
    def without_unit(self) -> int:
        """How many records name no person."""
        return sum(each.missing for each in self.check.columns if each.name == self.unit)

    @property
    def persons(self) -> int | None:
        """How many different persons there are; None: every row is one unit, or nobody said."""
        return None if self.unit is None else self.check.units

    @property
    def nearly_unique(self) -> tuple[ColumnCheck, ...]:
        """The columns that questions may use whose texts tell most persons apart, as names do."""
        units = self.check.rows if self.persons is None else self.persons
        if not self.is_said or units < _MANY:
            return ()
        return tuple(
            column
            for column in self.check.columns
            if column.distinct is not None
            and column.distinct * _HALF > units
            and self.why_unused(column) is None
        )

    @property
    def fits(self) -> bool:
        """Whether questions are answered."""
        return not (self.refused or self.unstated_encoding or self.without_unit or self.is_changed)
