"""Several questions on their way through the ledger."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.release.budget.exact import exact_text
from noisycount.release.ledger.asked import asks_for_table
from noisycount.release.ledger.entries import Entry, Request
from noisycount.release.ledger.table import foreign
from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.release.question.operands import Column
from noisycount.release.question.reading import Reading
from noisycount.release.question.text import canonical_text
from noisycount.release.question.tree import columns
from noisycount.release.sources.interface import Source
from noisycount.release.tables.asked.table import AskedTable, PublishedCounts
from noisycount.release.tables.drawn import drawn_counts
from noisycount.release.tables.labels import TableLabels
from noisycount.release.tables.many_questions import ManyQuestions
from noisycount.release.tables.plan import TablePlan, table_plan
from noisycount.release.tables.price import TablePrice

__all__ = ["AskedQuestions", "OneCount"]


@dataclass(frozen=True, slots=True)
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
