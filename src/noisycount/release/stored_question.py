"""Stored questions: the meaning, noise and answer of a ledger entry, read from its JSON without the records.

Reports, pages, refinement and the ledger's commands use `StoredQuestion`. `ledger_forms` writes the JSON
that it reads.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from noisycount.display.numbers import counted_noun
from noisycount.display.texts import redacted_name
from noisycount.errors import LedgerError
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss, NeighbourRelation
from noisycount.ledger.entries import Entry, TableAnswer, asked_part, asks_for_table
from noisycount.ledger.price import TablePrice, unit_noun
from noisycount.ledger.series import difference, identity_of, parts_of, scales_in
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.combined_gaussian import CombinedGaussian
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.tables.levels import TOTAL, Codes, Label, Level, TableLabels, all_levels
from noisycount.query.grouping import EachValue, GroupBy, NumberRanges, Period, resolve_group_by
from noisycount.query.predicate import Column
from noisycount.query.query import TABLE_NOISES, Query
from noisycount.query.schema import Kind
from noisycount.query.table import matching_nodes
from noisycount.query.typed import PERIODS, ColumnGrouping, parse_by_text
from noisycount.release.goal import AccuracyGoal, StoppingSchedule
from noisycount.release.noise_plan import LevelPlan, TablePlan
from noisycount.release.publishing import nearest_answer
from noisycount.release.query_plan import gaussian_noises, level_of_questions
from noisycount.release.table_release import TableRelease

Noises: TypeAlias = Sequence[DiscreteNoise | CombinedGaussian]
# Errors that reading raises if no version of noisycount wrote the question.
_UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, ZeroDivisionError)
CONFIDENCE = 0.95  # confidence of the errors of an answer whose price was fixed
_FEW = 3  # largest number of questions of a list that are all shown
_LONGEST = 300  # characters that are shown of a question that no version of noisycount wrote


@frozen(slots=False)
class StoredQuestion:
    """A question that a ledger stores, with its answer if there is one.

    If no version of noisycount wrote the question, `levels` is empty, and `release` and `relation` are None.
    """

    entry: Entry
    version: str | None = None  # number of the version of the records that were counted, in a report; None: not known

    @property
    def asked(self) -> Mapping[str, Any]:
        """Members of the stored question, by name."""
        return self.entry.request.asked

    @property
    def table(self) -> Mapping[str, Any]:
        """Member `table` of the stored question, which a list and a table by keys have; empty for a count."""
        table = self.asked.get("table")
        return table if isinstance(table, dict) else {}

    @property
    def is_table(self) -> bool:
        """True if the question is a list or a table by keys."""
        return asks_for_table(self.entry)

    @property
    def unit(self) -> str | None:
        """Column that identifies a person; None: each row is a unit."""
        return asked_part(self.entry, "unit")

    @property
    def has_hidden_keys(self) -> bool:
        """True if the keys are hidden."""
        return self.is_table and "questions" not in self.table and self.table["keys"] is None

    @property
    def confidence(self) -> float:
        """Confidence of the errors."""
        return CONFIDENCE if self.release is None else self.release.confidence

    @property
    def is_failed(self) -> bool:
        """True if the question was charged and never answered."""
        return self.entry.answer is None

    @property
    def words(self) -> str:
        """Condition of a count, the questions of a list, or the columns of a table.

        Raises:
            LedgerError: No version of noisycount wrote the question.
        """
        where, table = self.asked.get("where"), self.asked.get("table")
        if table is None and isinstance(where, str):
            return "all records" if where == "true" else where
        if _is_list_of_texts(questions := self.table.get("questions")):
            named = "; ".join(questions[: _FEW if len(questions) <= _FEW else 1])
            return f"{counted_noun('question', len(questions))}: {named}{'' if len(questions) <= _FEW else '; …'}"
        if _is_list_of_texts(columns := self.table.get("by")) and isinstance(where, str | None):
            size, answer = "", self.entry.answer
            if self.table.get("keys") is None:
                size = " (hidden keys)"
            elif isinstance(answer, TableAnswer):
                size = f" ({counted_noun('cell', len(answer.levels[0]))})"
            matching = "" if where is None else f" where {where}"
            return f"{unit_noun(self.unit)}s by {' × '.join(columns)}{size}{matching}"
        raise LedgerError(
            f"key {self.entry.key!r} of the ledger has a question that no version of noisycount wrote;"
            " `noisycount ledger export` shows it as it is"
        )

    @property
    def title(self) -> str:
        """The question in words, or the beginning of its text if no version of noisycount wrote it."""
        with suppress(LedgerError):
            return self.words
        text = self.entry.request.question
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

    @property
    def json(self) -> dict[str, Any]:
        """The condition, and the members of a table except its keys. Raises LedgerError as `words` does."""
        table = {name: value for name, value in self.table.items() if name != "keys"}
        return {"where": self.asked["where"], **({"table": table} if self.is_table else {})} if self.words else {}

    @property
    def text(self) -> str:
        """The question as the ledger stores it, without the version of the records."""
        members = {name: value for name, value in self.asked.items() if name != "version"}
        return json.dumps(members, sort_keys=True) if members else self.entry.request.question

    @property
    def levels(self) -> tuple[LevelPlan, ...]:
        """Noise of each level, the cells first; empty if no version of noisycount wrote the question."""
        return () if self._plan_and_release is None else self._plan_and_release[0].levels

    @property
    def release(self) -> TableRelease | None:
        """The answer as it was released, a count as a list of one; None if there is none.

        This is the only place that computes the errors of a stored answer. If its price was fixed, the errors are those
        of its noise at 95 %. If it had an accuracy goal, they are those of the goal, at the confidence of the goal.
        """
        return None if self._plan_and_release is None else self._plan_and_release[1]

    @property
    def is_priced(self) -> bool:
        """True if the noise of the question is known; else only its charge is known."""
        return self._own_noise is not None if self.is_table else "scale" in self.asked

    @property
    def relation(self) -> NeighbourRelation | None:
        """Neighbour relation for which the price was made; None if both have the same price, or if it is not known."""
        return None if self._own_noise is None else self._own_noise.relation

    @property
    def replacement_loss(self) -> Loss:
        """Loss for this entry if one unit replaces another. For a top-up, only the loss beyond the earlier answer's."""
        charged, total = self.entry.request.epsilon, self.entry.loss.epsilon
        if self._own_noise is None:
            return self.entry.request.price
        lost = self._own_noise.replacement_loss
        if not self.entry.replaces or lost.epsilon is None or charged is None or total is None:
            return lost
        return difference(lost.epsilon * (1 - charged / total), lost.epsilon)

    def query(self, schema: Mapping[str, Kind], confidence: float = CONFIDENCE) -> Query | None:
        """Return a query with the same meaning; None if its keys or margins cannot be written in a query."""
        loss = self.entry.loss
        price: dict[str, Any] = {"epsilon": loss.epsilon, "delta": loss.delta or None, "confidence": confidence}
        if goal := AccuracyGoal.from_entry(self.entry):
            price = {"within": goal.within, "at_most": goal.at_most, "confidence": float(goal.confidence)}
        elif loss.epsilon is None:
            price |= {"noise": DiscreteGaussian, "rho": loss.rho}
        wheres = [] if self.asked["where"] is None else [self.asked["where"]]
        if not self.is_table:
            return Query(wheres=wheres, **{**price, "delta": None})
        if "questions" in self.table:
            return Query(wheres=self.table["questions"], is_list=True, **price)
        keys, names = self.table["keys"], [name for margin in self.table["margins"] for name in margin]
        if (keys is not None and "grid" not in keys) or {*"".join(names)} & {*",*"}:
            return None
        parts = [part for text in self.table["by"] for part in resolve_group_by([text], schema, self.unit)]
        listed = {
            part.column.name: labels
            for part, stored in zip(parts, [None] * len(parts) if keys is None else keys["grid"], strict=True)
            if (labels := _typed_keys(part, stored)) is not None
        }
        return Query(
            wheres=wheres,
            by=[ColumnGrouping(part.column.name, part.text[len(part.column.name) + 1 :]) for part in parts],
            keys=listed or None,
            margins=["*".join(margin) or TOTAL for margin in self.table["margins"]],
            other=self.table["other"],
            groups_per_unit=self.table["groups_per_unit"],
            cumulative=self.table["cumulative"],
            of=goal.scope if goal else None,
            **price,
        )

    @cached_property
    def _plan_and_release(self) -> tuple[TablePlan, TableRelease | None] | None:
        """Noise of the answer, combined over all its draws, and the answer; None if the question is not readable."""
        with suppress(*_UNREADABLE):
            answer, is_combined = self.answer, len(parts_of(self.entry)) > 1 and self.entry.answer is not None
            noises: Noises = gaussian_noises(self.entry) if is_combined else self._noises_of_entry
            levels, places, labels = self._levels_order_and_labels(answer)
            plan = self._plan_of_levels(noises, self.entry.loss, levels)
            return plan, None if answer is None else self._stored_release(answer, plan, levels, places, labels)
        return None

    @cached_property
    def _own_noise(self) -> TablePlan | None:
        """Noise that this entry paid for, without earlier draws. None for a count or an unreadable question."""
        if not self.is_table:
            return None
        with suppress(*_UNREADABLE):
            # a top-up under Gaussian noise is a separate draw at the charge; under Laplace noise its scale follows from
            # the total loss
            loss = self.entry.request.price if identity_of(self.entry.request).is_gaussian else self.entry.loss
            return self._plan_of_levels(self._noises_of_entry, loss, self._levels_order_and_labels(self.answer)[0])
        return None

    @property
    def answer(self) -> TableAnswer | None:
        """The counts as they were released, level by level; None if there is no answer."""
        if isinstance(self.entry.answer, int):
            return TableAnswer.from_levels([[self.entry.answer]])
        draws = [part.answer for part in parts_of(self.entry)]
        tables = [draw for draw in draws if isinstance(draw, TableAnswer)]
        if len(tables) < len(draws):
            return None
        return tables[0] if len(tables) == 1 else nearest_answer(gaussian_noises(self.entry), tables)

    @property
    def _noises_of_entry(self) -> Noises:
        kinds = {noise.name: noise for noise in TABLE_NOISES.values()}
        return [kinds[self.asked["mechanism"]](scale) for scale in scales_in(self.asked)]

    def _plan_of_levels(self, noises: Noises, loss: Loss, levels: Sequence[Level]) -> TablePlan:
        """Return the noise of levels at a price.

        Sensitivities and shares are not stored. Their ratio follows from the scale, and errors depend on nothing else.
        """
        plans = [
            LevelPlan(level.name, level.size, 1, 1 / (noise.exact_scale * (loss.epsilon or 1)), noise)
            for level, noise in zip(levels, noises, strict=True)
        ]
        groups = None
        if self.is_table and "questions" not in self.table:
            groups = 1 if self.unit is None else self.table.get("groups_per_unit")
        if self.has_hidden_keys:
            if groups is None or groups < 1:
                raise ValueError(f"groups_per_unit must be given with hidden keys, got {groups}")
            plans = [replace(plan, size=1 if place else None) for place, plan in enumerate(plans)]
        price = TablePrice(DiscreteGaussian if loss.epsilon is None else DiscreteLaplace, loss, loss.delta)
        is_refined = bool(self.entry.replaces) and loss.epsilon is not None
        threshold = self.table.get("threshold")
        return TablePlan(price, tuple(plans), groups, is_replacement=False, threshold=threshold, is_refined=is_refined)

    def _levels_order_and_labels(
        self, answer: TableAnswer | None
    ) -> "tuple[Sequence[Level], list[NDArray[np.int64]], TableLabels]":
        """Return the levels, the index in the answer of each count of a level, and the labels of the cells.

        Levels and cells have the order in which the question named them. The ledger stores them sorted.
        """
        order = None if answer is None else answer.order
        if not self.is_table:
            levels: Sequence[Level] = [level_of_questions(1)]
            labels = TableLabels(("question",), ((self.asked.get("where"),),))
        elif "questions" in self.table:
            questions = tuple(self.table["questions"])
            questions = questions if order is None else tuple(questions[place] for place in order.tolist())
            places = np.arange(len(questions)) if order is None else order
            return [level_of_questions(len(questions))], [places], TableLabels(("question",), (questions,))
        else:
            parts = [_column_grouping(item) for text in self.table["by"] for item in parse_by_text(text)]
            values, codes = _keys_and_codes(self.table["keys"], (answer and answer.keys) or (), len(parts))
            stored = self._all_levels(parts, codes)
            if order is not None:
                values, codes = _reorder_cells(values, codes, order[: len(codes)])
            levels = self._all_levels(parts, codes)
            texts = tuple(tuple(map(part.label, keys)) for part, keys in zip(parts, values, strict=True))
            names = tuple(part.column.name for part in parts)
            labels = TableLabels(names, texts, codes, is_hidden=self.has_hidden_keys)
            if order is not None:
                return levels, [matching_nodes(*pair, order) for pair in zip(levels, stored, strict=True)], labels
        return levels, [np.arange(level.size) for level in levels], labels

    def _all_levels(self, parts: Sequence[GroupBy], codes: Codes) -> Sequence[Level]:
        margins = None if self.table.get("cumulative") else self.table.get("margins", ())
        names = [part.column.name for part in parts]
        return all_levels(codes, names, margins, has_other=bool(self.table.get("other")))

    def _stored_release(
        self,
        answer: TableAnswer,
        plan: TablePlan,
        levels: Sequence[Level],
        places: Sequence[NDArray[np.int64]],
        labels: TableLabels,
    ) -> TableRelease:
        """Return the answer as it was released, in the order in which it was asked."""
        draws = [part.answer for part in parts_of(self.entry) if isinstance(part.answer, TableAnswer)]
        answers, *parts = [
            tuple(level[order] for level, order in zip(draw.levels, places, strict=True))
            for draw in (answer, *(draws if len(draws) > 1 else ()))
        ]
        goal = AccuracyGoal.from_entry(self.entry)
        groups = self.table.get("groups_per_unit")
        released: dict[str, Any] = {
            "answers": answers,
            "plan": plan,
            "levels": tuple(levels),
            "labels": labels,
            "charged": self.entry.request.price,
            "remaining": Fraction(0),
            "dataset": redacted_name(self.entry.request.dataset),
            "key": self.entry.key,
            "unit": self.asked.get("unit"),
            "has_other": bool(self.table.get("other")),
            "is_cumulative": bool(self.table.get("cumulative")),
            "is_additive": answer.keys is None and (self.asked.get("unit") is None or groups == 1),
            "confidence": CONFIDENCE,
            "replaces": self.entry.replaces,
            "parts": tuple(parts),
        }
        return TableRelease(
            **{
                **released,
                **({} if goal is None else StoppingSchedule(goal, plan, self.entry.base).table_fields(answers)),
            }
        )


def _is_list_of_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and bool(value) and all(isinstance(text, str) for text in value)


def _column_grouping(item: ColumnGrouping) -> GroupBy:
    """Return the grouping of a column. Its kind is a placeholder, as labels do not depend on the kind."""
    if not item.grouping:
        return EachValue(Column(item.column, Kind.TEXT))
    if item.grouping in PERIODS:
        return Period(Column(item.column, Kind.DATE), PERIODS[item.grouping])
    return NumberRanges(Column(item.column, Kind.REAL), tuple(map(float, item.grouping.split(","))))


def _keys_and_codes(
    stored: Mapping[str, Any] | None, hidden: Sequence[Sequence[Any]], parts: int
) -> tuple[list[list[Any]], Codes]:
    """Return the keys of each column as lists, and the codes of the cells, shape (cells, columns).

    A code is the position of a cell's key in the list of its column. `hidden` has the keys of each cell, and is used if
    no keys are stored.
    """
    if stored is None:
        columns = [[row[part] for row in hidden] for part in range(parts)]
        values = [list({json.dumps(key): key for key in column}.values()) for column in columns]
        places = [{json.dumps(key): at for at, key in enumerate(keys)} for keys in values]
        listed = [[at[json.dumps(key)] for at, key in zip(places, row, strict=True)] for row in hidden]
        return values, np.array(listed, dtype=np.int32).reshape(len(hidden), parts)
    if "grid" in stored:
        sizes = [len(keys) for keys in stored["grid"]]
        codes = np.indices(sizes, dtype=np.int32).reshape(len(sizes), -1).T
        return stored["grid"], np.ascontiguousarray(codes)
    return stored["values"], np.array(stored["cells"], dtype=np.int32)


def _reorder_cells(values: list[list[Any]], codes: Codes, order: NDArray[np.int64]) -> tuple[list[list[Any]], Codes]:
    """Return the lists of keys and the codes of `_keys_and_codes`, with the cells in another order.

    The keys of a column have the order in which they first appear in the cells, as in the question that was asked.
    """
    listed, reordered_values = codes[order], []
    for part, of_part in enumerate(values):
        first = np.sort(np.unique(listed[:, part], return_index=True)[1])
        seen = listed[first, part]
        ranks = np.zeros(len(of_part), dtype=np.int32)
        ranks[seen] = np.arange(len(seen), dtype=np.int32)
        reordered_values.append([of_part[place] for place in seen.tolist()])
        listed[:, part] = ranks[listed[:, part]]
    return reordered_values, listed


def _typed_keys(part: GroupBy, stored: Sequence[Any] | None) -> list[Label] | None:
    """Return the keys of a column as a query states them; None if the grouping determines them, or they are hidden."""
    if stored is None or tuple(stored) == part.known_keys:
        return None
    if isinstance(part, NumberRanges) and None in stored:
        return [None]
    return [part.label(part.column.kind.key(key)) for key in stored]
