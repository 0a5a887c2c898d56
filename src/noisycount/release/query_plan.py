"""A question that was understood, at a price: its noise, and its way through a ledger.

A plan says what a ledger keeps of a question, in one form and in those of older ledgers, has the
counts drawn, and tells what was stored as it was asked.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from noisycount.display.texts import redacted_name
from noisycount.engines.interface import Source
from noisycount.errors import PredicateError, SourceError
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Entry, Request, TableAnswer, asks_for_table
from noisycount.ledger.price import TablePrice
from noisycount.ledger.storage import unexpected_answer
from noisycount.model.concentrated import l1_sensitivity
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.tables.levels import Level, TableLabels, cell_level, margin_levels, shares
from noisycount.model.tables.threshold import threshold
from noisycount.query.grouping import resolve_group_by
from noisycount.query.normal_form import ParsedPredicate, parse_predicate
from noisycount.query.predicate import Column, Constant, Predicate, canonical_text, columns, english
from noisycount.query.query import MAX_CELLS, Query, count_epsilon
from noisycount.query.schema import Kind
from noisycount.query.table import (
    CanonicalTable,
    TableQuestion,
    key_set,
    key_set_from_json,
    key_to_json,
    margins_of,
    table_labels,
)
from noisycount.release.dataset import RemainingBudget
from noisycount.release.results import LevelPlan, Published, Release, TablePlan, TableRelease
from noisycount.validation import exact_text, open_probability

MOST_QUESTIONS = 1000

# What asks a ledger for an answer, and what an older ledger may hold in its place.
Forms: TypeAlias = tuple[Request, Sequence[Request]]

_SHARE_OF_TOTAL = Fraction(1, 10)  # of the price, beside hidden keys, whose number is unknown


class QueryPlan(ABC):
    """A question that was understood, at a price."""

    noise: TablePlan  # level by level; of one count a level of one

    @property
    def loss(self) -> Loss:
        """The price of all."""
        return self.noise.loss

    @property
    @abstractmethod
    def condition(self) -> Predicate | None:
        """Which records are counted; None: all, or those of several questions."""

    @property
    def predicates(self) -> Sequence[Predicate]:
        """All that it asks in the predicate language."""
        return [] if self.condition is None else [self.condition]

    @property
    def read(self) -> set[Column]:
        """The columns that it reads."""
        return {column for each in self.predicates for column in columns(each)}

    @cached_property
    def where(self) -> str | None:
        """The canonical text of the condition."""
        return None if self.condition is None else canonical_text(self.condition)

    @property
    def meaning(self) -> str | None:
        """The same in English."""
        return None if self.condition is None else english(self.condition)

    @property
    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What decides which counts there are, as a ledger keeps it of a table."""

    def requests(self, dataset: str, source: Source) -> Forms:
        """What asks a ledger for it, and what the ledger may hold of former versions in its place."""
        scales = [exact_text(level.mechanism.exact_scale) for level in self.noise.levels]
        request, *formers = self._requests(dataset, source, table=self.facts, where=self.where, scales=scales)
        return request, formers

    def _requests(self, dataset: str, source: Source, **parts: object) -> list[Request]:
        """What a ledger keeps for each version of the records, the newest first."""
        mechanism, price = self.noise.levels[0].mechanism.name, self.loss
        rho = price.rho if price.epsilon is None else None
        asked = {**parts, "unit": source.unit, "mechanism": mechanism}
        texts = [json.dumps({**asked, "version": v}, sort_keys=True) for v in (source.version, *source.former_versions)]
        return [Request(dataset, text, price.epsilon, rho, price.delta) for text in texts]

    def _counts(self, source: Source) -> Sequence[NDArray[np.int64]]:
        """The true counts of each level."""
        raise NotImplementedError

    def counted(self, source: Source) -> TableAnswer | None:
        """The counts without noise, of made-up records; None where keys are hidden."""
        return TableAnswer.of(self._counts(source))

    def drawn(self, source: Source) -> TableAnswer:
        """One noisy count for each node of each level."""
        counts = self._counts(source)
        return TableAnswer.of([noisy(each, level) for each, level in zip(counts, self.noise.levels, strict=True)])

    def stored(self, entry: Entry) -> TableAnswer | None:
        """What a ledger keeps under an entry; None: it is no answer to this question.

        As many counts in each level as were asked, and with keys if need be.
        """
        sizes, answer = [level.size for level in self.noise.levels], entry.answer
        if not isinstance(answer, TableAnswer) or len(sizes) != len(answer.levels):
            return None
        fits = all(size in {None, len(of)} for size, of in zip(sizes, answer.levels, strict=True))
        return answer if fits and (answer.keys is None) == (self.noise.threshold is None) else None

    @abstractmethod
    def shown(self, answer: TableAnswer) -> dict[str, Any]:
        """What a `TableRelease` tells of counts: their order, what each counts, their keys."""

    def result(self, answer: TableAnswer, charged: Loss, **told: Any) -> Published:  # noqa: ANN401
        """What is told of counts, and of their price, as it was asked."""
        return TableRelease(**self.shown(answer), plan=self.noise, charged=charged, where=self.where, **told)

    def published(
        self, entry: Entry, charged: Loss, remains: RemainingBudget, source: Source, confidence: float
    ) -> Published:
        """What a ledger keeps under an entry, as it is told."""
        told = {
            "remaining": remains.remaining,
            "remains": remains,
            "dataset": redacted_name(entry.request.dataset),
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
class ListPlan(QueryPlan):
    """Several questions at once, or one: the same whether it is asked alone or as a list."""

    readings: Sequence[ParsedPredicate]  # in the order in which they are shown
    texts: tuple[str, ...]  # their canonical texts
    noise: TablePlan  # that of their one level; one unit can match all of them

    @property
    def condition(self) -> Predicate | None:
        """None, as a list is told by its labels."""
        return None

    @property
    def predicates(self) -> Sequence[Predicate]:
        """Each in its normal form."""
        return [reading.normal for reading in self.readings]

    @property
    def is_one(self) -> bool:
        """Whether it is one question with the noise of one, so that it may be asked alone, too."""
        return len(self.texts) == 1 and self.loss.epsilon is not None

    @property
    def order(self) -> list[int]:
        """The places of the questions in the order of their texts, in which they are kept."""
        return sorted(range(len(self.texts)), key=self.texts.__getitem__)

    @property
    def facts(self) -> dict[str, Any]:
        """The questions, in one order."""
        return {"questions": [self.texts[place] for place in self.order]}

    @property
    def wordings(self) -> Sequence[str]:
        """The texts under which a ledger may hold one count: in normal form, and as it was asked."""
        return list(dict.fromkeys((self.texts[0], canonical_text(self.readings[0].asked))))

    def requests(self, dataset: str, source: Source) -> Forms:
        """What asks a ledger for them, and all forms in which the ledger may hold one.

        Older ledgers hold a list of one question as a table, a question in the words of its asker,
        and a file by its size and time. Where a count and a list of it were both paid for there,
        each keeps its own answer.
        """
        if not self.is_one:
            return super().requests(dataset, source)
        scale = exact_text(self.noise.levels[0].mechanism.exact_scale)
        of_wordings = [self._requests(dataset, source, where=text, scale=scale) for text in self.wordings]
        alone = [request for of_version in zip(*of_wordings, strict=True) for request in of_version]
        listed = self._requests(dataset, source, table=self.facts, where=None, scales=[scale])
        return alone[0], [*alone, *listed] if isinstance(self, CountPlan) else [*listed, *alone]

    def _counts(self, source: Source) -> Sequence[NDArray[np.int64]]:
        predicates = self.predicates
        return [np.array(source.count([predicates[place] for place in self.order]), dtype=np.int64)]

    def stored(self, entry: Entry) -> TableAnswer | None:
        """The counts; of one question, that of its count too."""
        if not self.is_one or asks_for_table(entry):
            return super().stored(entry)
        return TableAnswer.of([[entry.answer]]) if isinstance(entry.answer, int) else None

    def shown(self, answer: TableAnswer) -> dict[str, Any]:
        """The counts in the order in which the questions were asked."""
        shown = np.empty(len(self.texts), dtype=np.int64)
        shown[self.order] = answer.levels[0]
        return {
            "answers": (shown,),
            "levels": (_level_of_questions(len(self.texts)),),
            "labels": TableLabels(("question",), (self.texts,)),
            "is_additive": False,
        }


class CountPlan(ListPlan):
    """One question under Laplace noise, whose answer is told as one count."""

    @property
    def condition(self) -> Predicate:
        """The question in its normal form."""
        return self.readings[0].normal

    @property
    def epsilon(self) -> Fraction:
        """Its price."""
        return cast("Fraction", self.loss.epsilon)

    @property
    def mechanism(self) -> DiscreteLaplace:
        """Its noise."""
        return cast("DiscreteLaplace", self.noise.levels[0].mechanism)

    def drawn(self, source: Source) -> TableAnswer:
        """The noisy count, by the sampler of one draw."""
        (count,) = source.count(self.predicates)
        return TableAnswer.of([[self.mechanism.release(count)]])

    def result(self, answer: TableAnswer, charged: Loss, **told: Any) -> Release:  # noqa: ANN401
        """The answer to the question."""
        return Release(
            answer=int(answer.levels[0][0]),
            epsilon=self.epsilon,
            charged=charged.epsilon or Fraction(0),
            where=self.texts[0],
            mechanism=self.mechanism,
            **told,
        )


@frozen(slots=False)
class _GroupedPlan(QueryPlan):
    """A table by keys."""

    question: TableQuestion
    noise: TablePlan  # that of its levels

    @property
    def condition(self) -> Predicate | None:
        """What all cells share."""
        return self.question.where

    @property
    def read(self) -> set[Column]:
        """The columns of its parts and of its predicate."""
        return self.question.columns


class CellsPlan(_GroupedPlan):
    """A table whose keys are known."""

    @cached_property
    def canonical(self) -> CanonicalTable:
        """The table as it is counted and kept."""
        return self.question.canonical()

    @property
    def facts(self) -> dict[str, Any]:
        """Its parts, keys and margins, in one order."""
        return self.question.facts(self.canonical.keys)

    def _counts(self, source: Source) -> Sequence[NDArray[np.int64]]:
        return source.count_cells(self.question.cell_question(self.canonical))

    def shown(self, answer: TableAnswer) -> dict[str, Any]:
        """The counts in the order in which the keys were listed."""
        assert self.question.keys is not None  # noqa: S101 - its keys are known
        return {
            "answers": self.canonical.as_asked(answer.levels),
            "levels": self.question.levels(),
            "labels": table_labels(self.question.keys),
            "has_other": self.question.has_other,
            "is_additive": self.noise.groups == 1,
            "is_cumulative": self.question.is_cumulative,
        }


class HiddenKeysPlan(_GroupedPlan):
    """A table of whose keys only those of many are shown."""

    @property
    def facts(self) -> dict[str, Any]:
        """Its parts, and the threshold."""
        return {**self.question.facts(None), "threshold": self.noise.threshold}

    def counted(self, source: Source) -> None:
        """Nothing: the keys of one unit alone are nobody's business."""

    def drawn(self, source: Source) -> TableAnswer:
        """The noisy counts that reach the threshold, with their keys in order, and the total."""
        cells, *others = self.noise.levels
        assert self.noise.threshold is not None  # noqa: S101 - the plan of hidden keys has one
        found = []
        for batch in source.count_keys(self.question.key_question()):
            counts = noisy(batch.counts, cells)
            shown = np.flatnonzero(counts >= self.noise.threshold).tolist()
            found += [(batch.keys[place], int(counts[place])) for place in shown]
            if len(found) > MAX_CELLS:
                raise SourceError(f"more than {MAX_CELLS:,} keys are shown: group by fewer columns")
        found.sort(key=lambda row: [(key is None, 0 if key is None else key) for key in row[0]])
        levels = [np.array([count for _, count in found], dtype=np.int64)]
        for level in others:
            total = source.count([self.condition or Constant(value=True)])
            levels.append(noisy(np.array(total, dtype=np.int64), level))
        return TableAnswer.of(levels, [[key_to_json(key) for key in keys] for keys, _ in found])

    def shown(self, answer: TableAnswer) -> dict[str, Any]:
        """The counts with the keys that were found."""
        keys = key_set_from_json(self.question.parts, answer.keys or [])
        names = [part.column.name for part in self.question.parts]
        margins = margin_levels(keys.codes, names, self.question.margins)
        return {
            "answers": answer.levels,
            "levels": (cell_level(keys.codes, names), *margins),
            "labels": table_labels(keys, is_hidden=True),
            "is_additive": False,
        }


def plan_of(query: Query, schema: Mapping[str, Kind], unit: str | None, *, is_replacement: bool) -> QueryPlan:
    """What a question means for records, with its noise.

    Neighbours differ by a replaced unit where the size is public, else by one more or less.
    """
    if query.by is not None:
        return _grouped_plan(query, schema, unit, is_replacement=is_replacement)
    if query.is_list:
        return _list_plan(query, schema, is_replacement=is_replacement)
    (where,) = query.wheres
    reading = parse_predicate(where, schema)
    price = TablePrice(DiscreteLaplace, Loss.of(count_epsilon(query)))
    noise = LevelPlan("questions", 1, 1, Fraction(1), price.mechanism(1, Fraction(1)))
    return CountPlan([reading], (canonical_text(reading.normal),), TablePlan(price, (noise,), None, is_replacement))


def _list_plan(query: Query, schema: Mapping[str, Kind], *, is_replacement: bool) -> ListPlan:
    """Several questions, each in its normal form, with their noise."""
    open_probability(query.confidence, "confidence")
    wheres = query.wheres
    if isinstance(wheres, str) or not 1 <= len(wheres) <= MOST_QUESTIONS:
        count = 0 if isinstance(wheres, str) else len(wheres)
        raise PredicateError(f"wheres must be a list of 1 to {MOST_QUESTIONS:,} questions, got {count:,}")
    readings = [parse_predicate(where, schema) for where in wheres]
    texts = tuple(canonical_text(reading.normal) for reading in readings)
    for text, where in zip(texts, wheres, strict=True):
        if texts.count(text) > 1:
            raise PredicateError(f"where asks {where[:80]!r} twice: ask each question once")
    price, level = _table_price(query, is_hidden=False), _level_of_questions(len(texts))
    return ListPlan(readings, texts, table_plan([level], price, None, is_replacement=is_replacement))


def _grouped_plan(query: Query, schema: Mapping[str, Kind], unit: str | None, *, is_replacement: bool) -> _GroupedPlan:
    """A table by keys, with its noise."""
    open_probability(query.confidence, "confidence")
    parts = resolve_group_by(query.by or (), schema, unit)
    needs_keys = query.keys is None and any(part.implied is None for part in parts)
    is_hidden = needs_keys and query.delta is not None
    question = TableQuestion(
        parts=parts,
        keys=None if is_hidden else key_set(parts, query.keys),
        where=next((parse_predicate(where, schema).normal for where in query.wheres), None),
        margins=margins_of(query.margins, parts),
        has_other=query.other,
        max_groups=query.groups_per_unit,
        is_cumulative=query.cumulative,
    )
    price, groups = _table_price(query, is_hidden=is_hidden), question.groups(unit)
    if not is_hidden:
        return CellsPlan(question, table_plan(question.levels(), price, groups, is_replacement=is_replacement))
    assert groups is not None  # noqa: S101 - refused by `groups`
    has_total = bool(question.margins)
    noise = hidden_plan(question.name, price, groups, is_replacement=is_replacement, has_total=has_total)
    return HiddenKeysPlan(question, noise)


def table_plan(levels: Sequence[Level], price: TablePrice, groups: int | None, *, is_replacement: bool) -> TablePlan:
    """The noise of a table whose keys are known, whose levels are the cells and what is measured beside them."""
    sizes = [level.size for level in levels]
    moves = [l1_sensitivity(size, size if groups is None else groups, replaced=is_replacement) for size in sizes]
    parts = shares(levels, moves, price.noise)
    planned = tuple(
        LevelPlan(level.name, level.size, move, share, price.mechanism(move, share))
        for level, move, share in zip(levels, moves, parts, strict=True)
    )
    return TablePlan(price, planned, groups, is_replacement)


def hidden_plan(
    name: str, price: TablePrice, groups: int, *, is_replacement: bool, has_total: bool = False
) -> TablePlan:
    """The noise of a table whose keys only the records know, and of the total of all that match."""
    move = (2 if is_replacement else 1) * groups
    share = 1 - _SHARE_OF_TOTAL if has_total else Fraction(1)
    noise = price.mechanism(move, share)
    planned = [LevelPlan(name, None, move, share, noise)]
    if has_total:
        rest = price.mechanism(1, _SHARE_OF_TOTAL)
        planned.append(LevelPlan("total", 1, 1, _SHARE_OF_TOTAL, rest))
    least = threshold(noise, price.threshold_delta, groups)
    return TablePlan(price, tuple(planned), groups, is_replacement, least)


def _level_of_questions(number: int) -> Level:
    nodes = np.arange(number, dtype=np.int32)
    return Level("questions", nodes, number, nodes[:, np.newaxis])


def _table_price(query: Query, *, is_hidden: bool) -> TablePrice:
    return TablePrice.of(query.noise_class, query.epsilon, query.rho, query.delta, is_hidden=is_hidden)


def noisy(counts: NDArray[np.int64], level: LevelPlan) -> NDArray[np.int64]:
    """True counts with independent exact noise."""
    return counts + level.mechanism.samples(len(counts))


def unreadable_as_missing(read: Iterable[Column], source: Source) -> tuple[str, ...]:
    """The columns of a question whose cells, where they could not be read, count as missing."""
    names = {column.name for column in read} & {*source.accepted}
    return tuple(name for name in source.schema if name in names)
