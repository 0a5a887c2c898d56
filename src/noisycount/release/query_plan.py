"""A question that was understood, at a price: its noise, and its way through a ledger.

A plan says what a ledger keeps of a question, in one form and in those of older ledgers, has the
counts drawn, and tells what was stored as it was asked.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.display.numbers import odds_sentence
from noisycount.display.texts import told_name
from noisycount.engines.interface import Source
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Entry, Request, TableAnswer, asks_for_table
from noisycount.ledger.storage import unexpected_answer
from noisycount.model.half_width import epsilon_within, readable_epsilon_within
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.sampling.scales import as_written
from noisycount.query.normal_form import Reading
from noisycount.query.predicate import Column, Predicate, canonical_text, columns, english
from noisycount.query.query import Query
from noisycount.release.dataset import RemainingBudget
from noisycount.release.plan import LevelPlan, TablePlan
from noisycount.release.results import Release, TableRelease
from noisycount.validation import exact_epsilon, exact_text, fraction_of_one, is_in_range, written_share

Published: TypeAlias = Release | TableRelease

# What asks a ledger for an answer, and what an older ledger may hold in its place.
Forms: TypeAlias = tuple[Request, Sequence[Request]]


class QueryPlan(ABC):
    """A question that was understood, at a price."""

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """The price."""

    @abstractmethod
    def odds(self, protected: str) -> str:
        """What the price means for one "person" or "row", in words."""

    @property
    @abstractmethod
    def predicates(self) -> Sequence[Predicate]:
        """All that it asks in the predicate language."""

    @property
    def read(self) -> set[Column]:
        """The columns that it reads."""
        return {column for each in self.predicates for column in columns(each)}

    @property
    def where(self) -> str | None:
        """The canonical text of what is counted; None: all records, or several questions."""
        return None

    @property
    def meaning(self) -> str | None:
        """The same in English."""
        return None

    @abstractmethod
    def requests(self, dataset: str, source: Source) -> Forms:
        """What asks a ledger for it, and what the ledger may hold in its place."""

    @abstractmethod
    def drawn(self, source: Source) -> int | TableAnswer:
        """The noisy counts, as they are kept."""

    @abstractmethod
    def counted(self, source: Source) -> int | TableAnswer | None:
        """The same without noise, of made-up records; None where keys are hidden."""

    @abstractmethod
    def stored(self, entry: Entry) -> int | TableAnswer | None:
        """What a ledger keeps under an entry; None: it is no answer to this question."""

    @abstractmethod
    def result(self, answer: Any, charged: Loss, **told: Any) -> Published:  # noqa: ANN401
        """What is told of counts as they are kept, and of their price."""

    def published(
        self, entry: Entry, charged: Loss, remains: RemainingBudget, source: Source, confidence: float
    ) -> Published:
        """What a ledger keeps under an entry, as it is told."""
        told = {
            "remaining": remains.remaining,
            "remains": remains,
            "dataset": told_name(entry.request.dataset),
            "key": entry.key,
            "unit": source.unit,
            "confidence": confidence,
            "unreadable_as_missing": unreadable_as_missing(self.read, source),
        }
        with suppress(ValueError, TypeError, IndexError, OverflowError):
            if (answer := self.stored(entry)) is not None:
                return self.result(answer, charged, **told)
        raise unexpected_answer(entry.key)


@frozen(slots=False)
class CountPlan(QueryPlan):
    """One count under Laplace noise: one answer, whether asked alone or as a list of one."""

    reading: Reading  # the question
    epsilon: Fraction  # its price

    @property
    def loss(self) -> Loss:
        """Its ε."""
        return Loss.of(self.epsilon)

    def odds(self, protected: str) -> str:
        """What its ε means."""
        return odds_sentence(self.epsilon, protected)

    @property
    def predicates(self) -> Sequence[Predicate]:
        """The one in its normal form."""
        return [self.reading.normal]

    @cached_property
    def where(self) -> str:
        """The canonical text of the question."""
        return canonical_text(self.reading.normal)

    @property
    def meaning(self) -> str:
        """The same in English."""
        return english(self.reading.normal)

    @cached_property
    def mechanism(self) -> DiscreteLaplace:
        """Its noise."""
        return DiscreteLaplace.for_epsilon(self.epsilon)

    @property
    def wordings(self) -> Sequence[str]:
        """The texts under which a ledger may hold it: in normal form, and as it was asked."""
        return list(dict.fromkeys((self.where, canonical_text(self.reading.asked))))

    def requests(self, dataset: str, source: Source, *, is_listed: bool = False) -> Forms:
        """What asks a ledger for it, and all forms in which the ledger may hold it.

        Older ledgers hold a list of one question as a table, a question in the words of its asker,
        and a file by its size and time. Where a count and a list of it were both paid for there,
        each keeps its own answer.
        """
        scale = exact_text(self.mechanism.scale)

        def request(version: str, **parts: object) -> Request:
            common = {"unit": source.unit, "version": version, "mechanism": self.mechanism.name}
            text = json.dumps({**parts, **common}, sort_keys=True)
            return Request(dataset, text, self.epsilon)

        versions = (source.version, *source.former_versions)
        alone = [request(v, where=text, scale=scale) for v in versions for text in self.wordings]
        table = {"questions": [self.where]}
        listed = [request(v, table=table, where=None, scales=[scale]) for v in versions]
        return alone[0], [*listed, *alone] if is_listed else [*alone, *listed]

    def counted(self, source: Source) -> int:
        """The true count."""
        (count,) = source.count(self.predicates)
        return count

    def drawn(self, source: Source) -> int:
        """The noisy count."""
        return self.mechanism.release(self.counted(source))

    def stored(self, entry: Entry) -> int | None:
        """The answer under one of its forms."""
        answer = entry.answer
        if not asks_for_table(entry):
            return answer if isinstance(answer, int) else None
        if isinstance(answer, TableAnswer) and answer.keys is None:
            ((count,),) = answer.levels
            return int(count)
        return None

    def result(self, answer: int, charged: Loss, **told: Any) -> Release:  # noqa: ANN401
        """The answer to the question."""
        return Release(
            answer=answer,
            epsilon=self.epsilon,
            charged=charged.epsilon or Fraction(0),
            where=self.where,
            mechanism=self.mechanism,
            **told,
        )


class TableQueryPlan(QueryPlan):
    """Many counts that share one price."""

    noise: TablePlan

    @property
    def loss(self) -> Loss:
        """The price of all."""
        return self.noise.loss

    def odds(self, protected: str) -> str:
        """What the whole table means."""
        return self.noise.odds(protected)

    @property
    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What decides what is counted, as a ledger keeps it."""

    def requests(self, dataset: str, source: Source) -> Forms:
        """One form a version of the records."""
        versions = (source.version, *source.former_versions)
        request, *formers = [self._request(dataset, source.unit, version) for version in versions]
        return request, formers

    def _request(self, dataset: str, unit: str | None, version: str) -> Request:
        levels, price = self.noise.levels, self.noise.loss
        question = {
            "table": self.facts,
            "where": self.where,
            "unit": unit,
            "version": version,
            "mechanism": levels[0].mechanism.name,
            "scales": [exact_text(level.mechanism.exact_scale) for level in levels],
        }
        rho = price.rho if price.epsilon is None else None
        text = json.dumps(question, sort_keys=True)
        return Request(dataset, text, price.epsilon, rho, price.delta)

    def counted(self, source: Source) -> TableAnswer | None:
        """The counts without noise, as they are kept; None where keys are hidden."""
        return TableAnswer.of(self._counts(source))

    def _counts(self, source: Source) -> Sequence[NDArray[np.int64]]:
        """The true counts of each level."""
        raise NotImplementedError

    def drawn(self, source: Source) -> TableAnswer:
        """One noisy count for each node of each level."""
        counts = self._counts(source)
        return TableAnswer.of([noisy(each, level) for each, level in zip(counts, self.noise.levels, strict=True)])

    def stored(self, entry: Entry) -> TableAnswer | None:
        """The counts: as many in each level as were asked, and with keys if need be."""
        sizes, answer = [level.size for level in self.noise.levels], entry.answer
        if not isinstance(answer, TableAnswer) or len(sizes) != len(answer.levels):
            return None
        fits = all(size in {None, len(of)} for size, of in zip(sizes, answer.levels, strict=True))
        return answer if fits and (answer.keys is None) == (self.noise.threshold is None) else None

    @abstractmethod
    def shown(self, answer: TableAnswer) -> dict[str, Any]:
        """What a `TableRelease` tells of counts: their order, what each counts, their keys."""

    def result(self, answer: TableAnswer, charged: Loss, **told: Any) -> TableRelease:  # noqa: ANN401
        """The table as it was asked."""
        shown = self.shown(answer)
        return TableRelease(**shown, plan=self.noise, charged=charged, where=self.where, **told)


def noisy(counts: NDArray[np.int64], level: LevelPlan) -> NDArray[np.int64]:
    """True counts with independent exact noise."""
    return counts + level.mechanism.samples(len(counts))


def unreadable_as_missing(read: Iterable[Column], source: Source) -> tuple[str, ...]:
    """The columns of a question whose cells, where they could not be read, count as missing."""
    names = {column.name for column in read} & {*source.accepted}
    return tuple(name for name in source.schema if name in names)


def count_price(query: Query) -> Fraction:
    """The ε of one count: given, or that of its goal as `noisycount plan` computes it.

    Example:
        >>> goals = Query(within="20%", guess=100), Query(error=20), Query(epsilon=0.1)
        >>> [str(count_price(goal)) for goal in goals]
        ['3/20', '3/20', '1/10']
    """
    fraction_of_one(query.confidence, "confidence")
    goals = {"epsilon": query.epsilon, "within": query.within, "error": query.error}
    given = [name for name, value in goals.items() if value is not None]
    if len(given) != 1:
        raise ValueError(
            "one of epsilon, within and error must be given, "
            f"got {' and '.join(given) or 'none'}: such as epsilon='0.1', or within='20%' with "
            "a public guess"
        )
    if (query.guess is None) == (query.within is not None):
        raise ValueError(
            f"guess must be given with within, and only then, got {query.guess!r} with "
            f"{given[0]}: within is a share of the public guess"
        )
    if query.epsilon is not None:
        return exact_epsilon(query.epsilon)
    if query.error is not None:
        error = as_written(query.error, "error")
    else:
        error = _share(query.within) * as_written(query.guess or 0, "guess")
    formula = epsilon_within(error, query.confidence)
    if not is_in_range(formula):
        raise ValueError(
            f"{given[0]} must need an ε from 1e-9 to 1e6, got ±{float(error):.3g} units, which "
            f"need {formula:.2g}: choose another goal"
        )
    return exact_epsilon(readable_epsilon_within(error, query.confidence))


def _share(within: str | float | Fraction | None) -> Fraction:
    """A share of the guess, from its text too."""
    if isinstance(within, (int, float, Fraction)) and not isinstance(within, bool):
        share: Fraction | None = as_written(within, "within")
    else:
        share = written_share(within) if isinstance(within, str) else None
    if share is None or not 0 < share <= 1:
        raise ValueError(f"within must be above 0 and at most 100%, such as '20%' or 0.2, got {within!r}")
    return share
