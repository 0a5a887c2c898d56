"""Plans of queries: their meaning for records, their noise and their price.

`table_plan.plan_of` makes a plan from a query, `ledger_forms` writes it as a request for a ledger, `drawing` counts and
adds the noise, and `publishing` builds the published answer from a stored entry.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Entry
from noisycount.ledger.series import parts_of, scales_in
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.combined_gaussian import CombinedGaussian
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.tables.levels import Level
from noisycount.query.english import english
from noisycount.query.impossible import impossible_hints
from noisycount.query.normal_form import ParsedPredicate
from noisycount.query.predicate import Column, Predicate, canonical_text, columns
from noisycount.query.public_values import impossible_key_errors
from noisycount.query.query import ALL
from noisycount.query.schema import Kind, Schema
from noisycount.query.table import CanonicalTable, TableQuestion
from noisycount.release.goal import AccuracyGoal
from noisycount.release.noise_plan import TablePlan
from noisycount.release.table_release import Published, TableRelease
from noisycount.release.text_orders import text_order_refusals

_SHOWN = 3  # largest number of reasons about keys that no record can have


class QueryPlan(ABC):
    """A query with its meaning for records, its noise and its price."""

    noise: TablePlan  # noise and price, level by level; a count has one level with one cell
    # accuracy goal, whose largest price is that of the noise; None: the price is fixed
    goal: AccuracyGoal | None
    schema: Schema  # columns of the records that queries may use, with their public values

    @property
    def loss(self) -> Loss:
        """Price of all answers."""
        return self.noise.price.loss

    @property
    @abstractmethod
    def condition(self) -> Predicate | None:
        """Condition of a count, or of all cells of a table; None: all records, or the conditions of a list."""

    @property
    def predicates(self) -> Sequence[Predicate]:
        """Conditions of the query."""
        return [] if self.condition is None else [self.condition]

    @property
    def read(self) -> set[Column]:
        """Columns that the query reads."""
        return {column for predicate in self.predicates for column in columns(predicate)}

    @cached_property
    def where(self) -> str | None:
        """Canonical text of the condition."""
        return None if self.condition is None else canonical_text(self.condition)

    @property
    def meaning(self) -> str | None:
        """The condition in English."""
        return None if self.condition is None else english(self.condition)

    @cached_property
    def order_refusals(self) -> list[str]:
        """Reasons to refuse a query that compares the order of texts with a number or a date."""
        about_texts = [
            predicate for predicate in self.predicates if any(column.kind is Kind.TEXT for column in columns(predicate))
        ]
        return text_order_refusals(about_texts) if about_texts else []

    @cached_property
    def impossible_reasons(self) -> list[str]:
        """Reasons why no record can match the query, from its text and the schema. Reads no data."""
        return impossible_hints(self.predicates, self.schema.public, self.schema.missing)

    @property
    def refusals(self) -> list[str]:
        """Reasons to refuse the query. A query that is already paid for is answered in spite of them."""
        return [*self.order_refusals, *self.impossible_reasons]

    def require_possible(self, is_paid: Callable[[], bool]) -> None:
        """Raise PredicateError if there are reasons to refuse the query, unless it was already paid for."""
        if self.refusals and not is_paid():
            impossible = "; ".join(self.impossible_reasons)
            raise PredicateError("; ".join(self.order_refusals) or f"no record can match: {impossible}")

    @property
    def words(self) -> str:
        """The condition in the language and in English."""
        return "all records" if self.where in {None, ALL} else f"{self.where}  ({self.meaning})"

    @property
    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Members of a stored question that identify a table."""

    @property
    def order(self) -> NDArray[np.int64] | None:
        """Index in the stored answer of each count of the first level, as the query orders them; None: hidden keys."""
        return None

    def at_price(self, epsilon: Fraction) -> Self:
        """Return this plan at another price."""
        factor = (self.loss.epsilon or 0) / epsilon
        scales = [level.mechanism.exact_scale * factor for level in self.noise.levels]
        return replace(self, noise=self.noise.at_laplace_price(epsilon, scales))  # type: ignore[type-var]

    def at_price_of(self, entry: Entry) -> Self:
        """Return this plan at the price and noise of a stored answer, whose price may exceed that of the query."""
        loss = entry.loss
        if loss == self.loss and not entry.replaces:
            return self
        question = entry.request.asked
        threshold = None if self.noise.threshold is None else question["table"]["threshold"]
        if (epsilon := loss.epsilon) is None:
            noise = self.noise.with_noises(loss, gaussian_noises(entry), threshold)
            return replace(self, noise=noise)  # type: ignore[type-var]
        noise = replace(
            self.noise.at_laplace_price(epsilon, scales_in(question), threshold), is_refined=bool(entry.replaces)
        )
        return replace(self, noise=noise)  # type: ignore[type-var]

    def as_released(self, release: Published) -> Self:
        """Return this plan at the price and noise of a published answer."""
        if isinstance(release, TableRelease):
            return replace(self, noise=release.plan)  # type: ignore[type-var]
        scale = release.mechanism.exact_scale
        if release.epsilon == self.loss.epsilon and scale == self.noise.levels[0].mechanism.exact_scale:
            return self
        return replace(self, noise=self.noise.at_laplace_price(release.epsilon, [scale]))  # type: ignore[type-var]


@frozen(slots=False)
class ListPlan(QueryPlan):
    """A list of conditions. A list of one condition under Laplace noise has the same answer as a count."""

    readings: Sequence[ParsedPredicate]  # parsed conditions in the order asked
    texts: tuple[str, ...]  # their canonical texts
    noise: TablePlan  # noise of the only level; one unit can match all conditions
    goal: AccuracyGoal | None
    schema: Schema

    @property
    def condition(self) -> Predicate | None:
        """None, as the labels of a list state its conditions."""
        return None

    @property
    def predicates(self) -> Sequence[Predicate]:
        """Normal form of each condition."""
        return [reading.normal for reading in self.readings]

    @property
    def equals_count(self) -> bool:
        """True for one condition under Laplace noise: the list then has the same answer as a count of the condition."""
        return len(self.texts) == 1 and self.loss.epsilon is not None

    @property
    def sorted_indices(self) -> list[int]:
        """Indices of the conditions, sorted by their texts: the order in which the ledger stores them."""
        return sorted(range(len(self.texts)), key=self.texts.__getitem__)

    @property
    def order(self) -> NDArray[np.int64]:
        """Index in the stored answer of each condition."""
        return np.argsort(self.sorted_indices)

    @property
    def facts(self) -> dict[str, Any]:
        """Members of the stored question that identify the list: the texts of its conditions, sorted."""
        return {"questions": sorted(self.texts)}


class CountPlan(ListPlan):
    """Plan for a single count: a condition under Laplace noise."""

    @property
    def condition(self) -> Predicate:
        """Normal form of the condition."""
        return self.readings[0].normal


@frozen(slots=False)
class GroupedPlan(QueryPlan):
    """A table by keys, with its noise."""

    question: TableQuestion
    noise: TablePlan  # noise of its levels
    goal: AccuracyGoal | None
    schema: Schema

    @property
    def condition(self) -> Predicate | None:
        """Condition of all cells."""
        return self.question.where

    @property
    def read(self) -> set[Column]:
        """Columns by which it groups, and those of its condition."""
        return self.question.columns


class CellsPlan(GroupedPlan):
    """A table whose keys are known before the count."""

    @cached_property
    def canonical(self) -> CanonicalTable:
        """The table in the order in which it is counted and stored."""
        return self.question.canonical()

    @property
    def order(self) -> NDArray[np.int64]:
        """Index of each cell in the stored answer, in the order of the query."""
        return self.canonical.node_indices[0]

    @property
    def facts(self) -> dict[str, Any]:
        """Columns, keys and margins in canonical order."""
        return self.question.facts(self.canonical.keys)

    @cached_property
    def impossible_reasons(self) -> list[str]:
        """Reasons that follow from the keys; if there are none, those that follow from the condition."""
        assert self.question.keys is not None  # noqa: S101 - its keys are known
        foreign = list(islice(impossible_key_errors(self.question.keys, self.schema), _SHOWN))
        return foreign or impossible_hints(self.predicates, self.schema.public, self.schema.missing)


class HiddenKeysPlan(GroupedPlan):
    """A table with hidden keys: a key is shown if its noisy count reaches a threshold."""

    @property
    def facts(self) -> dict[str, Any]:
        """Columns and threshold."""
        return {**self.question.facts(None), "threshold": self.noise.threshold}


def level_of_questions(number: int) -> Level:
    """Return the one level of a list of conditions."""
    nodes = np.arange(number, dtype=np.int32)
    return Level("questions", nodes, number, nodes[:, np.newaxis])


def gaussian_noises(entry: Entry) -> list[DiscreteNoise | CombinedGaussian]:
    """Return the noise of each level of an answer under Gaussian noise, combined over all of its draws."""
    scales = zip(*(scales_in(part.request.asked) for part in parts_of(entry)), strict=True)
    return [
        CombinedGaussian.from_scales(level_scales) if len(level_scales) > 1 else DiscreteGaussian(*level_scales)
        for level_scales in scales
    ]
