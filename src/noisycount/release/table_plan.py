"""What a question means for records, with its noise: plans of tables by keys, and the one way to every plan."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from noisycount.engines.interface import Source
from noisycount.errors import PredicateError, SourceError
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Entry, TableAnswer
from noisycount.ledger.entries import Keys as ShownKeys
from noisycount.ledger.price import TablePrice
from noisycount.model.concentrated import l1_sensitivity
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.sampling.scalar import as_written
from noisycount.model.tables.levels import TOTAL, Level, all_levels, shares
from noisycount.model.tables.threshold import threshold
from noisycount.query import table as tables
from noisycount.query.grouping import resolve_group_by
from noisycount.query.impossible import Public
from noisycount.query.normal_form import parse_predicate
from noisycount.query.predicate import Column, Constant, Predicate, canonical_text
from noisycount.query.public_values import foreign_keys, with_public_keys
from noisycount.query.query import MAX_CELLS, Query, count_epsilon, parse_of, share_of
from noisycount.query.schema import Kind, public_of
from noisycount.release.goal import ALL, Goal, Stopping
from noisycount.release.noise_plan import LevelPlan, TablePlan
from noisycount.release.query_plan import Coarser, CountPlan, ListPlan, QueryPlan, level_of_questions
from noisycount.validation import exact_epsilon, open_probability

MOST_QUESTIONS = 1000
_SHOWN = 3  # of the keys that are nowhere
_SHARE_OF_TOTAL = Fraction(1, 10)  # of the price, beside hidden keys, whose number is unknown


@frozen(slots=False)
class _GroupedPlan(QueryPlan):
    """A table by keys."""

    question: tables.TableQuestion
    noise: TablePlan  # that of its levels
    goal: Goal | None = None

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
    def canonical(self) -> tables.CanonicalTable:
        """The table as it is counted and kept."""
        return self.question.canonical()

    @property
    def order(self) -> NDArray[np.int64]:
        """For each cell its place in the ledger."""
        return self.canonical.places[0]

    @property
    def facts(self) -> dict[str, Any]:
        """Its parts, keys and margins, in one order."""
        return self.question.facts(self.canonical.keys)

    def in_vain(self, public: Public) -> tuple[str, list[str]]:
        """The same of its keys."""
        assert self.question.keys is not None  # noqa: S101 - its keys are known
        foreign = list(islice(foreign_keys(self.question.keys, public), _SHOWN))
        return ("keys ask", foreign) if foreign else super().in_vain(public)

    def _counts(self, source: Source) -> Sequence[NDArray[np.int64]]:
        return source.count_cells(self.question.cell_question(self.canonical))

    def shown(self, answer: TableAnswer) -> dict[str, Any]:
        """The counts in the order in which the keys were listed."""
        assert self.question.keys is not None  # noqa: S101 - its keys are known
        return {
            "answers": self.canonical.as_asked(answer.levels),
            "levels": self.question.levels(),
            "labels": tables.table_labels(self.question.keys),
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

    def drawn(self, source: Source, base: Entry | None = None) -> TableAnswer:
        """The noisy counts that reach the threshold, with their keys in order, and the total.

        Where they top up an answer its keys are shown, and no other.
        """
        coarser = self.coarser(base)
        assert self.noise.threshold is not None  # noqa: S101 - the plan of hidden keys has one
        if base is not None and coarser is not None:
            return self._refined(source, cast("TableAnswer", base.answer).keys or [], coarser)
        found = []
        for batch in source.count_keys(self.question.key_question()):
            counts = self._noisy(0, batch.counts, None)
            shown = np.flatnonzero(counts >= self.noise.threshold).tolist()
            found += [(batch.keys[place], int(counts[place])) for place in shown]
            if len(found) > MAX_CELLS:
                raise SourceError(f"more than {MAX_CELLS:,} keys are shown: group by fewer columns")
        found.sort(key=lambda row: [(key is None, 0 if key is None else key) for key in row[0]])
        cells = np.array([count for _, count in found], dtype=np.int64)
        keys = [[tables.key_to_json(key) for key in keys] for keys, _ in found]
        return TableAnswer.of([cells, *self._totals(source, None)], keys)

    def _refined(self, source: Source, keys: ShownKeys, coarser: Coarser) -> TableAnswer:
        """The counts of the keys that are shown already."""
        places = {tuple(key): place for place, key in enumerate(keys)}
        counts = np.zeros(len(keys), dtype=np.int64)
        for batch in source.count_keys(self.question.key_question()):
            for key, count in zip(batch.keys, batch.counts.tolist(), strict=True):
                if (place := places.get(tuple(map(tables.key_to_json, key)))) is not None:
                    counts[place] = count
        return TableAnswer.of([self._noisy(0, counts, coarser), *self._totals(source, coarser)], keys)

    def _totals(self, source: Source, coarser: Coarser | None) -> Iterator[NDArray[np.int64]]:
        """The noisy total of all that match, if it is asked for."""
        for place in range(1, len(self.noise.levels)):
            total = source.count([self.condition or Constant(value=True)])
            yield self._noisy(place, np.array(total, dtype=np.int64), coarser)

    def shown(self, answer: TableAnswer) -> dict[str, Any]:
        """The counts with the keys that were found."""
        keys = tables.key_set_from_json(self.question.parts, answer.keys or [])
        names = [part.column.name for part in self.question.parts]
        return {
            "answers": answer.levels,
            "levels": all_levels(keys.codes, names, self.question.margins),
            "labels": tables.table_labels(keys, is_hidden=True),
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
    level = LevelPlan("questions", 1, 1, Fraction(1), price.mechanism(1, Fraction(1)))
    texts, noise = (canonical_text(reading.normal),), TablePlan(price, (level,), None, is_replacement)
    return CountPlan([reading], texts, noise, _goal(query, noise))


def _goal(query: Query, noise: TablePlan, margins: tables.Margins = ()) -> Goal | None:
    """How near answers shall be without a guess; what no rule keeps is refused, before anything is charged."""
    if query.of is not None and (query.at_most is None or query.by is None):
        raise ValueError(f"of belongs to a table by keys with within and at_most, got {query.of!r}")
    if query.at_most is None:
        return None
    if query.within is None or query.guess is not None or query.epsilon is not None or query.rho is not None:
        raise ValueError("at_most must be given with within, in place of a price and of a guess")
    of = ALL if len(query.wheres) > 1 else ""
    if query.by is not None:
        of = _decisive(query, margins)
    share, sure = share_of(query.within), as_written(query.confidence, "confidence")
    goal = Goal(share, sure, exact_epsilon(query.at_most, "at_most"), of)
    Stopping(goal, noise).rule  # noqa: B018 - it is the rule that refuses
    return goal


def _decisive(query: Query, margins: tables.Margins) -> str:
    """Which counts of a table decide where it stops."""
    if query.of is None:
        raise ValueError(
            "of is missing: of a table say which counts shall be so near, 'largest', 'total' or '90%-of-cells'"
        )
    try:
        of = parse_of(query.of)
    except ValueError as error:
        raise ValueError(f"of {error}") from None
    if query.cumulative:
        raise ValueError("at_most knows no sums of ranges: leave out cumulative, or give the price as epsilon")
    if of == TOTAL and () not in margins:  # a column may have that name
        raise ValueError(
            "of the total needs the total as an answer of its own: add 'total' to margins, where no column is called so"
        )
    return of


def _list_plan(query: Query, schema: Mapping[str, Kind], *, is_replacement: bool) -> ListPlan:
    """Several questions, each in its normal form, with their noise."""
    open_probability(query.confidence, "confidence")
    wheres = query.wheres
    if isinstance(wheres, str) or not 1 <= len(wheres) <= MOST_QUESTIONS:
        got = "one text" if isinstance(wheres, str) else f"{len(wheres):,}"
        raise PredicateError(f"wheres must be a list of 1 to {MOST_QUESTIONS:,} questions, got {got}")
    readings = [parse_predicate(where, schema) for where in wheres]
    texts = tuple(canonical_text(reading.normal) for reading in readings)
    for text, where in zip(texts, wheres, strict=True):
        if texts.count(text) > 1:
            raise PredicateError(f"where asks {where[:80]!r} twice: ask each question once")
    price, level = _table_price(query, is_hidden=False), level_of_questions(len(texts))
    noise = table_plan([level], price, None, is_replacement=is_replacement)
    return ListPlan(readings, texts, noise, _goal(query, noise))


def _grouped_plan(query: Query, schema: Mapping[str, Kind], unit: str | None, *, is_replacement: bool) -> _GroupedPlan:
    """A table by keys, with its noise."""
    open_probability(query.confidence, "confidence")
    parts, keys = resolve_group_by(query.by or (), schema, unit), query.keys
    needs_keys = keys is None and any(part.known_keys is None for part in parts)
    is_hidden = needs_keys and query.delta is not None
    if not is_hidden:
        keys = with_public_keys(keys, parts, public_of(schema))
    question = tables.TableQuestion(
        parts=parts,
        keys=None if is_hidden else tables.key_set(parts, keys),
        where=next((parse_predicate(where, schema).normal for where in query.wheres), None),
        margins=tables.margins_of(query.margins, parts),
        has_other=query.other,
        max_groups=query.groups_per_unit,
        is_cumulative=query.cumulative,
    )
    price, groups = _table_price(query, is_hidden=is_hidden), question.groups(unit)
    if not is_hidden:
        known = table_plan(question.levels(), price, groups, is_replacement=is_replacement)
        return CellsPlan(question, known, _goal(query, known, question.margins))
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


def _table_price(query: Query, *, is_hidden: bool) -> TablePrice:
    """The price, or the most that it may be."""
    if query.at_most is None:
        return TablePrice.of(query.noise_class, query.epsilon, query.rho, query.delta, is_hidden=is_hidden)
    if query.noise_class is not DiscreteLaplace or query.delta is not None:
        raise ValueError("at_most is for Laplace noise and known keys: leave out noise, rho and delta")
    return TablePrice.of(DiscreteLaplace, query.at_most, None, None, is_hidden=False)
