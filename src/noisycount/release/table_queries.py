"""Lists of questions and tables by keys, resolved against a schema."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisycount.engines.interface import Source
from noisycount.errors import PredicateError, SourceError
from noisycount.frozen import frozen
from noisycount.ledger.entries import Entry, TableAnswer
from noisycount.ledger.price import TablePrice
from noisycount.model.tables.levels import Level, TableLabels, cell_level, margin_levels
from noisycount.query.grouping import MOST_CELLS
from noisycount.query.key_sets import found_keys, key_set, labels_of, written_key
from noisycount.query.normal_form import Reading, read
from noisycount.query.predicate import Column, Constant, Predicate, canonical_text, english
from noisycount.query.query import Query
from noisycount.query.schema import Kind
from noisycount.query.table import CanonicalTable, TableQuestion, margins_of, parts_of
from noisycount.release.plan import TablePlan, hidden_plan, table_plan
from noisycount.release.query_plan import CountPlan, Forms, QueryPlan, TableQueryPlan, count_price, noisy
from noisycount.validation import fraction_of_one

MOST_QUESTIONS = 1000


@frozen(slots=False)
class _GroupedPlan(TableQueryPlan):
    """A table by keys."""

    question: TableQuestion
    noise: TablePlan  # that of its levels

    @property
    def predicates(self) -> Sequence[Predicate]:
        """What all cells share."""
        return [] if self.question.where is None else [self.question.where]

    @property
    def read(self) -> set[Column]:
        """The columns of its parts and of its predicate."""
        return self.question.columns

    @property
    def where(self) -> str | None:
        """What is counted."""
        where = self.question.where
        return None if where is None else canonical_text(where)

    @property
    def meaning(self) -> str | None:
        """The same in English."""
        where = self.question.where
        return None if where is None else english(where)


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
            "labels": labels_of(self.question.keys),
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
            if len(found) > MOST_CELLS:
                raise SourceError(f"more than {MOST_CELLS:,} keys are shown: group by fewer columns")
        found.sort(key=lambda row: [(key is None, 0 if key is None else key) for key in row[0]])
        levels = [np.array([count for _, count in found], dtype=np.int64)]
        for level in others:
            total = source.count([self.question.where or Constant(value=True)])
            levels.append(noisy(np.array(total, dtype=np.int64), level))
        return TableAnswer.of(levels, [[written_key(key) for key in keys] for keys, _ in found])

    def shown(self, answer: TableAnswer) -> dict[str, Any]:
        """The counts with the keys that were found."""
        keys = found_keys(self.question.parts, answer.keys or [])
        names = [part.column.name for part in self.question.parts]
        margins = margin_levels(keys.codes, names, self.question.margins)
        return {
            "answers": answer.levels,
            "levels": (cell_level(keys.codes, names), *margins),
            "labels": labels_of(keys, is_hidden=True),
            "is_additive": False,
        }


def _table_plan(query: Query, schema: Mapping[str, Kind], unit: str | None, *, is_replacement: bool) -> _GroupedPlan:
    """A table by keys, with its noise."""
    assert query.by is not None  # noqa: S101 - `plan_of` knows
    fraction_of_one(query.confidence, "confidence")
    parts = parts_of(query.by, schema, unit)
    needs_keys = query.keys is None and any(part.implied is None for part in parts)
    is_hidden = needs_keys and query.delta is not None
    question = TableQuestion(
        parts=parts,
        keys=None if is_hidden else key_set(parts, query.keys),
        where=next((read(where, schema).normal for where in query.wheres), None),
        margins=margins_of(query.margins, parts),
        has_other=query.other,
        most=query.groups_per_unit,
        is_cumulative=query.cumulative,
    )
    price, groups = _table_price(query, is_hidden=is_hidden), question.groups(unit)
    if not is_hidden:
        noise = table_plan(question.levels(), price, groups, is_replacement=is_replacement)
        return CellsPlan(question, noise)
    assert groups is not None  # noqa: S101 - refused by `groups`
    noise = hidden_plan(question.name, price, groups, is_replacement=is_replacement, has_total=bool(question.margins))
    return HiddenKeysPlan(question, noise)


@frozen(slots=False)
class ListPlan(TableQueryPlan):
    """Several questions at once."""

    readings: Sequence[Reading]  # in the order in which they are shown
    texts: tuple[str, ...]  # their canonical texts
    noise: TablePlan  # that of their one level; one unit can match all of them

    @property
    def predicates(self) -> Sequence[Predicate]:
        """Each in its normal form."""
        return [reading.normal for reading in self.readings]

    @property
    def order(self) -> list[int]:
        """The places of the questions in the order of their texts, in which they are kept."""
        return sorted(range(len(self.texts)), key=self.texts.__getitem__)

    @property
    def one(self) -> CountPlan | None:
        """The one count that is asked with the noise of a count; None: it is another list."""
        price, noise = self.noise.loss.epsilon, self.noise.levels[0].mechanism
        if price is None or len(self.texts) > 1:
            return None
        one = CountPlan(self.readings[0], price)
        return one if one.mechanism == noise else None

    @property
    def facts(self) -> dict[str, Any]:
        """The questions, in one order."""
        return {"questions": [self.texts[place] for place in self.order]}

    def requests(self, dataset: str, source: Source) -> Forms:
        """What asks a ledger for them; one question is the same as its count."""
        if self.one is None:
            return super().requests(dataset, source)
        return self.one.requests(dataset, source, is_listed=True)

    def _counts(self, source: Source) -> Sequence[NDArray[np.int64]]:
        predicates = self.predicates
        ordered = [predicates[place] for place in self.order]
        return [np.array(source.count(ordered), dtype=np.int64)]

    def stored(self, entry: Entry) -> TableAnswer | None:
        """The counts; of one question, that of its count."""
        if self.one is None:
            return super().stored(entry)
        count = self.one.stored(entry)
        return None if count is None else TableAnswer.of([[count]])

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


def _list_plan(query: Query, schema: Mapping[str, Kind], *, is_replacement: bool) -> ListPlan:
    """Several questions, each in its normal form, with their noise."""
    fraction_of_one(query.confidence, "confidence")
    wheres = query.wheres
    if isinstance(wheres, str) or not 1 <= len(wheres) <= MOST_QUESTIONS:
        count = 0 if isinstance(wheres, str) else len(wheres)
        raise PredicateError(f"wheres must be a list of 1 to {MOST_QUESTIONS:,} questions, got {count:,}")
    readings = [read(where, schema) for where in wheres]
    texts = tuple(canonical_text(reading.normal) for reading in readings)
    for text, where in zip(texts, wheres, strict=True):
        if texts.count(text) > 1:
            raise PredicateError(f"where asks {where[:80]!r} twice: ask each question once")
    price, level = _table_price(query, is_hidden=False), _level_of_questions(len(texts))
    return ListPlan(readings, texts, table_plan([level], price, None, is_replacement=is_replacement))


def _level_of_questions(number: int) -> Level:
    nodes = np.arange(number, dtype=np.int32)
    return Level("questions", nodes, number, nodes[:, np.newaxis])


def _table_price(query: Query, *, is_hidden: bool) -> TablePrice:
    return TablePrice.of(query.noise_class, query.epsilon, query.rho, query.delta, is_hidden=is_hidden)


def plan_of(query: Query, schema: Mapping[str, Kind], unit: str | None, *, is_replacement: bool) -> QueryPlan:
    """What a question means for records, with its noise.

    Args:
        query: The question and its price.
        schema: The columns that questions may use.
        unit: The column that names the person; None: every record is one unit.
        is_replacement: Whether neighbours differ by a replaced unit, as where the size is public.
    """
    if query.by is not None:
        return _table_plan(query, schema, unit, is_replacement=is_replacement)
    if query.is_list:
        return _list_plan(query, schema, is_replacement=is_replacement)
    (where,) = query.wheres
    return CountPlan(read(where, schema), count_price(query))
