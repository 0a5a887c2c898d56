"""A table of hidden keys on its way through the ledger."""

from dataclasses import dataclass
from typing import Any

from noisycount.model.tables.margins import cell_level, margin_levels
from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.release.question.operands import Column
from noisycount.release.sources.interface import Source
from noisycount.release.tables.asked.table import AskedTable, PublishedCounts
from noisycount.release.tables.drawn import drawn_keys
from noisycount.release.tables.key_sets import found_keys
from noisycount.release.tables.labels import TableLabels
from noisycount.release.tables.plan import TablePlan, hidden_plan
from noisycount.release.tables.price import TablePrice
from noisycount.release.tables.question import TableQuestion

__all__ = ["AskedKeys"]


@dataclass(frozen=True)
class AskedKeys(AskedTable):
    """A table of whose keys only those of many are shown.

    Attributes:
        question: The table.
        plan: Its noise and its threshold.
    """

    question: TableQuestion
    plan: TablePlan

    @classmethod
    def of(
        cls, question: TableQuestion, price: TablePrice, unit: str | None, *, is_replacement: bool
    ) -> "AskedKeys":
        """The table with its noise.

        Raises:
            PredicateError: Nobody said in how many groups a person can be.
        """
        groups = question.groups(unit)
        assert groups is not None  # noqa: S101 - refused by `groups`
        plan = hidden_plan(
            question.name,
            price,
            groups,
            is_replacement=is_replacement,
            has_total=bool(question.margins),
        )
        return cls(question, plan)

    @property
    def read(self) -> set[Column]:
        """The columns of its parts and of its predicate."""
        return self.question.columns

    @property
    def facts(self) -> dict[str, Any]:
        """Its parts, and the threshold."""
        return {**self.question.facts(None), "threshold": self.plan.threshold}

    @property
    def where(self) -> str | None:
        """What is counted."""
        return self.question.where_text

    def drawn(self, source: Source) -> TableAnswer:
        """The noisy counts that reach the threshold, and the total."""
        return drawn_keys(source, self.question.key_question(), self.plan)

    def published(self, answer: TableAnswer) -> PublishedCounts:
        """The counts with the keys that were found."""
        keys = found_keys(self.question.parts, answer.keys or [])
        names = [part.column.name for part in self.question.parts]
        margins = margin_levels(keys.codes, names, self.question.margins)
        return PublishedCounts(
            answer.levels,
            (cell_level(keys.codes, names), *margins),
            TableLabels.of_keys(keys, is_hidden=True),
        )
