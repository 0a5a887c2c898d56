"""A table on its way through the ledger: what is kept of it, drawn of it, told of it.

A table of known keys on its way through the ledger.

A table of hidden keys on its way through the ledger.

Several questions on their way through the ledger.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from noisycount.display.numbers import exact_text
from noisycount.engines.interface import Source
from noisycount.frozen import frozen
from noisycount.ledger.entries import Entry, Request, TableAnswer, asks_for_table
from noisycount.ledger.price import TablePrice
from noisycount.ledger.storage import foreign
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.tables.levels import Level, cell_level, margin_levels
from noisycount.query.key_sets import TableLabels, found_keys
from noisycount.query.predicate import Column, columns
from noisycount.query.questions import ManyQuestions
from noisycount.query.reading import Reading
from noisycount.query.table import CanonicalTable, TableQuestion
from noisycount.query.text import canonical_text
from noisycount.release.draw import drawn_cells, drawn_counts, drawn_keys
from noisycount.release.plan import TablePlan, hidden_plan, table_plan
from noisycount.release.table_answer import Counts

__all__ = ["AskedCells", "AskedKeys", "AskedQuestions", "AskedTable", "OneCount"]


@frozen
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
    def drawn(self, source: Source) -> TableAnswer:
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

    def requests(self, dataset: str, source: Source) -> tuple[Request, Sequence[Request]]:
        """What asks a ledger for it, and what the ledger may hold in its place.

        Args:
            dataset: Whose budget pays.
            source: The records.
        """
        versions = (source.version, *source.former_versions)
        request, *formers = [self.request(dataset, source.unit, version) for version in versions]
        return request, formers

    def shown(self, entry: Entry) -> PublishedCounts:
        """What a ledger keeps under an entry, as it is shown.

        Raises:
            LedgerError: It is no answer to this question; no desk stored it.
        """
        answer = entry.answer
        with suppress(ValueError, TypeError, IndexError, OverflowError):
            if isinstance(answer, TableAnswer) and self._fits(answer):
                return self.published(answer)
        raise foreign(entry.key)

    def _fits(self, answer: TableAnswer) -> bool:
        """Whether there are as many counts in each level as were asked, and keys if need be."""
        sizes = [level.size for level in self.plan.levels]
        return (
            len(sizes) == len(answer.levels)
            and all(size in {None, len(of)} for size, of in zip(sizes, answer.levels, strict=True))
            and (answer.keys is None) == (self.plan.threshold is None)
        )

    @abstractmethod
    def published(self, answer: TableAnswer) -> PublishedCounts:
        """What was kept, as it is shown."""


@frozen(slots=False)
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


@frozen(slots=False)
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


@frozen
class OneCount:
    """One count under Laplace noise, asked alone or as a list of one question: one answer for both.

    Attributes:
        text: The canonical text of the question.
        asked: That of the words in which it was asked.
        epsilon: Its price.
    """

    text: str
    asked: str
    epsilon: Fraction

    @classmethod
    def of(cls, found: Reading, epsilon: Fraction) -> "OneCount":
        """The count of what a reading asks."""
        return cls(canonical_text(found.normal), canonical_text(found.asked), epsilon)

    @property
    def mechanism(self) -> DiscreteLaplace:
        """Its noise."""
        return DiscreteLaplace.for_epsilon(self.epsilon)

    def requests(
        self, dataset: str, source: Source, *, is_listed: bool = False
    ) -> tuple[Request, Sequence[Request]]:
        """What asks a ledger for it, and all forms in which the ledger may hold it.

        Older ledgers hold a list of one question as a table, a question in the words of its asker,
        and a file by its size and time. Where a count and a list of it were both paid for there,
        each keeps its own answer.

        Args:
            dataset: Whose budget pays.
            source: The records.
            is_listed: Whether it is asked as a list.
        """
        scale = exact_text(self.mechanism.scale)

        def request(version: str, **parts: object) -> Request:
            common = {"unit": source.unit, "version": version, "mechanism": self.mechanism.name}
            text = json.dumps({**parts, **common}, sort_keys=True)
            return Request(dataset, text, self.epsilon)

        versions = (source.version, *source.former_versions)
        wordings = dict.fromkeys((self.text, self.asked))
        alone = [request(each, where=text, scale=scale) for each in versions for text in wordings]
        table = {"questions": [self.text]}
        listed = [request(each, table=table, where=None, scales=[scale]) for each in versions]
        return alone[0], [*listed, *alone] if is_listed else [*alone, *listed]

    @staticmethod
    def answer(entry: Entry) -> int:
        """The answer that a ledger keeps under one of its forms.

        Raises:
            LedgerError: It is none to one question.
        """
        answer = entry.answer
        if not asks_for_table(entry) and isinstance(answer, int):
            return answer
        with suppress(ValueError):
            if asks_for_table(entry) and isinstance(answer, TableAnswer) and answer.keys is None:
                ((count,),) = answer.levels
                return int(count)
        raise foreign(entry.key)


@frozen(slots=False)
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
    def one(self) -> OneCount | None:
        """The one count that is asked with the noise of a count; None: it is another list."""
        price, noise = self.plan.loss.epsilon, self.plan.levels[0].mechanism
        if price is None or len(self.questions.texts) > 1:
            return None
        one = OneCount(self.questions.texts[0], self.questions.asked[0], price)
        return one if one.mechanism == noise else None

    def requests(self, dataset: str, source: Source) -> tuple[Request, Sequence[Request]]:
        """What asks a ledger for them; one question is the same as its count."""
        one = self.one
        if one is None:
            return super().requests(dataset, source)
        return one.requests(dataset, source, is_listed=True)

    def shown(self, entry: Entry) -> PublishedCounts:
        """What a ledger keeps under an entry, as it is shown.

        Raises:
            LedgerError: It is no answer to these questions.
        """
        if self.one is None:
            return super().shown(entry)
        answer = TableAnswer.of([[OneCount.answer(entry)]])
        return super().shown(replace(entry, answer=answer))

    @property
    def read(self) -> set[Column]:
        """The columns of all questions."""
        return {column for each in self.questions.predicates for column in columns(each)}

    @property
    def facts(self) -> dict[str, Any]:
        """The questions, in one order."""
        return {"questions": [self.questions.texts[place] for place in self.questions.order]}

    def drawn(self, source: Source) -> TableAnswer:
        """One noisy count a question."""
        ordered = [self.questions.predicates[place] for place in self.questions.order]
        return drawn_counts(source, ordered, self.plan)

    def published(self, answer: TableAnswer) -> PublishedCounts:
        """The counts in the order in which the questions were asked."""
        shown = np.empty(len(self.questions.order), dtype=np.int64)
        shown[self.questions.order] = answer.levels[0]
        labels = TableLabels(("question",), (self.questions.texts,))
        return PublishedCounts((shown,), (self.questions.level,), labels)
