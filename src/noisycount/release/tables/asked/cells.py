"""A table of known keys on its way through the ledger."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.release.question.operands import Column
from noisycount.release.sources.interface import Source
from noisycount.release.tables.asked.table import AskedTable, PublishedCounts
from noisycount.release.tables.drawn import drawn_cells
from noisycount.release.tables.labels import TableLabels
from noisycount.release.tables.plan import TablePlan, table_plan
from noisycount.release.tables.price import TablePrice
from noisycount.release.tables.question import CanonicalTable, TableQuestion

__all__ = ["AskedCells"]


@dataclass(frozen=True)
class AskedCells(AskedTable):
    """A table whose keys are known.

    Attributes:
        question: The table.
        plan: Its noise.
    """

    question: TableQuestion
    plan: TablePlan

    @classmethod
    def of(
        cls, question: TableQuestion, price: TablePrice, unit: str | None, *, is_replacement: bool
    ) -> "AskedCells":
        """The table with its noise."""
        groups = question.groups(unit)
        return cls(
            question, table_plan(question.levels(), price, groups, is_replacement=is_replacement)
        )

    @cached_property
    def canonical(self) -> CanonicalTable:
        """The table as it is counted and kept."""
        return self.question.canonical()

    @property
    def read(self) -> set[Column]:
        """The columns of its parts and of its predicate."""
        return self.question.columns

    @property
    def facts(self) -> dict[str, Any]:
        """Its parts, keys and margins, in one order."""
        return self.question.facts(self.canonical.keys)

    @property
    def where(self) -> str | None:
        """What is counted."""
        return self.question.where_text

    @property
    def has_other(self) -> bool:
        """Whether the last cell is that of all other keys."""
        return self.question.has_other

    @property
    def is_cumulative(self) -> bool:
        """Whether ranges are measured."""
        return self.question.is_cumulative

    def drawn(self, source: Source) -> TableAnswer:
        """One noisy count for each node of each level."""
        return drawn_cells(source, self.question.cell_question(self.canonical), self.plan)

    def published(self, answer: TableAnswer) -> PublishedCounts:
        """The counts in the order in which the keys were listed."""
        assert self.question.keys is not None  # noqa: S101 - its keys are known
        return PublishedCounts(
            self.canonical.as_asked(answer.levels),
            self.question.levels(),
            TableLabels.of_keys(self.question.keys),
        )
