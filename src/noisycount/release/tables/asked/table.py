"""A table on its way through the ledger: what is kept of it, drawn of it, told of it."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from noisycount.model.tables.levels import Level
from noisycount.release.budget.exact import exact_text
from noisycount.release.ledger.entries import Entry, Request
from noisycount.release.ledger.table import foreign
from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.release.question.operands import Column
from noisycount.release.sources.interface import Source
from noisycount.release.tables.labels import TableLabels
from noisycount.release.tables.plan import TablePlan
from noisycount.release.tables.release import Counts

__all__ = ["AskedTable", "PublishedCounts"]


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
