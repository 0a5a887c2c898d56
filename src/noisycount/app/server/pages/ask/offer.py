"""What a data set offers to whoever may ask: its columns, its unit, what is left."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from noisycount.app.count.counter import Counter
from noisycount.app.server.pages.ask.operators import Operator, operators_of
from noisycount.app.show.view import View
from noisycount.app.show.words import budget_words
from noisycount.app.terminal.printing import Facts
from noisycount.release.ledger.entries import Analyst
from noisycount.release.question.schema import Kind
from noisycount.release.question.text import written_name
from noisycount.release.tables.odds import odds_of_all
from noisycount.shown.numbers import signed

__all__ = ["Offer", "OfferedColumn"]

_VALUES = {
    Kind.TEXT: "'yes'",
    Kind.BOOLEAN: "true",
    Kind.DATE: "'2026-01-31'",
    Kind.TIMESTAMP: "'2026-01-31 12:00:00'",
}
_KEYS = {
    Kind.INTEGER: "1, 2, 3 or 1..12",
    Kind.TEXT: "Bern, Biel, null",
    Kind.BOOLEAN: "true, false",
}


@dataclass(frozen=True, slots=True)
class OfferedColumn:
    """A column that questions may use.

    Attributes:
        name: Its name.
        kind: What it holds.
    """

    name: str
    kind: Kind

    @property
    def operators(self) -> tuple[Operator, ...]:
        """What can be said of it."""
        return operators_of(self.kind)

    @property
    def keys(self) -> str:
        """Such keys as a table by it may have."""
        return _KEYS.get(self.kind, "2026-01..2026-12")


@dataclass(frozen=True, slots=True)
class Offer:
    """A data set as its page shows it.

    Attributes:
        name: Its name.
        unit: The column that names the person; None: rows are counted.
        facts: What is counted, and what is left, in words.
        columns: What questions may use.
        wants_purpose: Whether a spend must say what its answer is for.
    """

    name: str
    unit: str | None
    facts: Facts
    columns: Mapping[str, OfferedColumn]
    wants_purpose: bool = False

    @classmethod
    def of(cls, counter: Counter, analyst: Analyst) -> Self:
        """The offer of open records to an analyst.

        Raises:
            LedgerError: The ledger cannot be read.
        """
        view = View.at(counter, analyst)
        counts = "rows" if view.unit is None else f"persons: distinct values of {view.unit}"
        size = counter.dataset.size
        public = "" if size is None else f"; everybody knows that there are {signed(size)}"
        columns = {name: OfferedColumn(name, form.kind) for name, form in view.columns.items()}
        protected = "row" if view.unit is None else "person"
        whole = odds_of_all(view.remains.dataset_budget, protected, is_replacement=size is not None)
        facts = [
            ("counts", f"{counts}{public}"),
            ("budget", budget_words(view)),
            ("if all is spent", whole),
        ]
        wants_purpose = counter.dataset.needs_purpose
        return cls(counter.dataset.name, view.unit, facts, columns, wants_purpose)

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kind of each column."""
        return {name: column.kind for name, column in self.columns.items()}

    @property
    def example(self) -> str:
        """A question that may be asked."""
        column = next(iter(self.columns.values()), None)
        if column is None:
            return "true"
        if column.kind.is_number:
            return f"{written_name(column.name)} >= 30"
        return f"{written_name(column.name)} = {_VALUES[column.kind]}"
