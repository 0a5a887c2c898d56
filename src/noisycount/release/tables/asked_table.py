"""Tables on their way through the ledger: what is kept of them, drawn of them, told of them."""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from noisycount.model.tables.levels import Level
from noisycount.model.tables.margins import cell_level, margin_levels
from noisycount.release.budget.exact import exact_text
from noisycount.release.ledger.entries import Request
from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.release.question.grouping import Part
from noisycount.release.question.keys import KeySet
from noisycount.release.question.operands import Column
from noisycount.release.question.tree import columns
from noisycount.release.sources.interface import Source
from noisycount.release.tables.drawn import drawn_cells, drawn_counts, drawn_keys
from noisycount.release.tables.key_sets import found_keys
from noisycount.release.tables.many_questions import ManyQuestions
from noisycount.release.tables.price import TablePrice
from noisycount.release.tables.table_plan import TablePlan, hidden_plan, table_plan
from noisycount.release.tables.table_question import CanonicalTable, TableQuestion
from noisycount.release.tables.table_release import Counts, TableLabels

__all__ = ["AskedCells", "AskedKeys", "AskedQuestions", "AskedTable", "PublishedCounts"]


@dataclass(frozen=True, slots=True)
class PublishedCounts:
    """Stored counts as they are shown.

    Attributes:
        answers: Of each level.
        levels: What each counts.
        labels: The keys of the cells.
    """

    answers: tuple[Counts, ...]
    levels: tuple[Level, ...]
    labels: TableLabels


class AskedTable(ABC):
    """A table that was understood, at a price."""

    plan: TablePlan

    @property
    @abstractmethod
    def read(self) -> set[Column]:
        """The columns that it reads."""

    @property
    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What decides what is counted, as a ledger keeps it."""

    @property
    def where(self) -> str | None:
        """The canonical text of what is counted; None: all records, or several questions."""
        return None

    @property
    def has_other(self) -> bool:
        """Whether the last cell is that of all other keys."""
        return False

    @property
    def is_cumulative(self) -> bool:
        """Whether ranges are measured for the sake of sums up to a cell."""
        return False

    @abstractmethod
    def drawn(self, source: Source, dataset: str) -> TableAnswer:
        """The noisy counts, as they are kept."""

    def request(self, dataset: str, unit: str | None, version: str) -> Request:
        """The request for it.

        Args:
            dataset: Whose budget pays.
            unit: The column that names the person.
            version: Of the records.
        """
        question = {
            "table": self.facts,
            "where": self.where,
            "unit": unit,
            "version": version,
            "mechanism": self.plan.levels[0].mechanism.name,
            "scales": [exact_text(level.mechanism.exact_scale) for level in self.plan.levels],
        }
        text, price = json.dumps(question, sort_keys=True), self.plan.loss
        rho = price.rho if price.epsilon is None else None
        return Request(dataset, text, price.epsilon, rho, price.delta)

    @abstractmethod
    def published(self, answer: TableAnswer) -> PublishedCounts:
        """What was kept, as it is shown."""


@dataclass(frozen=True)
class AskedQuestions(AskedTable):
    """Several questions at once.

    Attributes:
        questions: The questions.
        plan: Their noise.
    """

    questions: ManyQuestions
    plan: TablePlan

    @classmethod
    def of(
        cls, questions: ManyQuestions, price: TablePrice, *, is_replacement: bool
    ) -> "AskedQuestions":
        """The questions with their noise; one unit can match all of them."""
        plan = table_plan([questions.level], price, None, is_replacement=is_replacement)
        return cls(questions, plan)

    @property
    def read(self) -> set[Column]:
        """The columns of all questions."""
        return {column for each in self.questions.predicates for column in columns(each)}

    @property
    def facts(self) -> dict[str, Any]:
        """The questions, in one order."""
        return {"questions": [self.questions.texts[place] for place in self.questions.order]}

    def drawn(self, source: Source, dataset: str) -> TableAnswer:  # noqa: ARG002 - as all tables
        """One noisy count a question."""
        ordered = [self.questions.predicates[place] for place in self.questions.order]
        return drawn_counts(source, ordered, self.plan)

    def published(self, answer: TableAnswer) -> PublishedCounts:
        """The counts in the order in which the questions were asked."""
        shown = np.empty(len(self.questions.order), dtype=np.int64)
        shown[self.questions.order] = answer.levels[0]
        labels = TableLabels(("question",), (self.questions.texts,))
        return PublishedCounts((shown,), (self.questions.level,), labels)


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

    def drawn(self, source: Source, dataset: str) -> TableAnswer:
        """One noisy count for each node of each level."""
        return drawn_cells(source, self.question.cell_question(self.canonical, dataset), self.plan)

    def published(self, answer: TableAnswer) -> PublishedCounts:
        """The counts in the order in which the keys were listed."""
        assert self.question.keys is not None  # noqa: S101 - its keys are known
        return PublishedCounts(
            self.canonical.as_asked(answer.levels),
            self.question.levels(),
            _labels(self.question.parts, self.question.keys),
        )


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

    def drawn(self, source: Source, dataset: str) -> TableAnswer:
        """The noisy counts that reach the threshold, and the total."""
        return drawn_keys(source, self.question.key_question(dataset), self.plan)

    def published(self, answer: TableAnswer) -> PublishedCounts:
        """The counts with the keys that were found."""
        keys = found_keys(self.question.parts, answer.keys or [])
        names = [part.column.name for part in self.question.parts]
        margins = margin_levels(keys.codes, names, self.question.margins)
        return PublishedCounts(
            answer.levels,
            (cell_level(keys.codes, names), *margins),
            _labels(self.question.parts, keys),
        )


def _labels(parts: tuple[Part, ...], keys: KeySet) -> TableLabels:
    """What a reader sees of the keys."""
    return TableLabels(
        tuple(part.column.name for part in parts),
        tuple(
            tuple(part.label(key) for key in values)
            for part, values in zip(parts, keys.values, strict=True)
        ),
    )
