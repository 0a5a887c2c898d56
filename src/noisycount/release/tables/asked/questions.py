"""Several questions on their way through the ledger."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.release.question.operands import Column
from noisycount.release.question.tree import columns
from noisycount.release.sources.interface import Source
from noisycount.release.tables.asked.table import AskedTable, PublishedCounts
from noisycount.release.tables.drawn import drawn_counts
from noisycount.release.tables.labels import TableLabels
from noisycount.release.tables.many_questions import ManyQuestions
from noisycount.release.tables.plan import TablePlan, table_plan
from noisycount.release.tables.price import TablePrice

__all__ = ["AskedQuestions"]


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
