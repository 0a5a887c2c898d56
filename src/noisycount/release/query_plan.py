"""Plans of queries: their meaning for records, their noise and their price.

`plan_of` is the only way from a query to a plan. `publishing` writes a plan as a request for a ledger, and builds the
published answer from a stored entry; `drawing` counts and adds the noise.
"""

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import islice
from math import floor
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.errors import PredicateError, QueryError
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Entry
from noisycount.ledger.price import TablePrice
from noisycount.ledger.series import parts_of, scales_in
from noisycount.model.concentrated import l1_sensitivity
from noisycount.model.half_width import epsilon_within, error_within, readable_epsilon_within
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.combined_gaussian import CombinedGaussian
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.sampling.scalar import fraction_as_written
from noisycount.model.tables.levels import Level, shares
from noisycount.model.tables.threshold import threshold
from noisycount.query.english import english
from noisycount.query.grouping import are_person_values, resolve_group_by
from noisycount.query.impossible import impossible_hints
from noisycount.query.normal_form import parse_predicate
from noisycount.query.person_values import row_table
from noisycount.query.predicate import Column, Predicate, canonical_text, columns
from noisycount.query.public_values import impossible_key_errors
from noisycount.query.query import ALL, Query, check_query, check_unit
from noisycount.query.schema import Kind, Schema, schema_of
from noisycount.query.table import CanonicalTable, TableQuestion, key_set, margins_of
from noisycount.query.typed import parse_scope, share_of
from noisycount.release.goal import EVERY_COUNT, AccuracyGoal, StoppingSchedule
from noisycount.release.noise_plan import LevelPlan, TablePlan
from noisycount.release.table_release import Published, TableRelease
from noisycount.release.text_orders import text_order_refusals
from noisycount.validation import exact_epsilon, is_in_range

_SHOWN = 3  # largest number of reasons about keys that no record can have


@frozen(slots=False)
class QueryPlan(ABC):
    """A query with its meaning for records, its noise and its price."""

    # conditions in normal form, in the order asked; a table by keys has at most one, which holds for all cells
    predicates: tuple[Predicate, ...]
    where: str | None  # canonical text of the only condition; None: a table of all records, or a list
    noise: TablePlan  # noise and price, level by level; a count has one level with one cell
    # accuracy goal, whose largest price is that of the noise; None: the price is fixed
    goal: AccuracyGoal | None
    schema: Schema  # columns of the records that queries may use, with their public values

    @property
    def loss(self) -> Loss:
        """Price of all answers."""
        return self.noise.price.loss

    @property
    def read_columns(self) -> set[Column]:
        """Columns that the query reads."""
        return {column for predicate in self.predicates for column in columns(predicate)}

    @property
    def meaning(self) -> str | None:
        """The condition in English; None: a table of all records, or a list."""
        return None if self.where is None else english(self.predicates[0])

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
        if (self.order_refusals or self.impossible_reasons) and not is_paid():
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
        return replace(self, noise=self.noise.at_laplace_price(epsilon, scales))

    def at_price_of(self, entry: Entry) -> Self:
        """Return this plan at the price and noise of a stored answer, whose price may exceed that of the query."""
        loss = entry.loss
        if loss == self.loss and not entry.replaces:
            return self
        question = entry.request.asked
        threshold = None if self.noise.threshold is None else question["table"]["threshold"]
        if (epsilon := loss.epsilon) is None:
            noise = self.noise.with_noises(loss, gaussian_noises(entry), threshold)
            return replace(self, noise=noise)
        noise = replace(
            self.noise.at_laplace_price(epsilon, scales_in(question), threshold), is_refined=bool(entry.replaces)
        )
        return replace(self, noise=noise)

    def as_released(self, release: Published) -> Self:
        """Return this plan at the price and noise of a published answer."""
        if isinstance(release, TableRelease):
            return replace(self, noise=release.plan)
        scale = release.mechanism.exact_scale
        if release.epsilon == self.loss.epsilon and scale == self.noise.levels[0].mechanism.exact_scale:
            return self
        return replace(self, noise=self.noise.at_laplace_price(release.epsilon, [scale]))


@frozen(slots=False)
class ListPlan(QueryPlan):
    """A list of conditions. A list of one condition under Laplace noise has the same answer as a count."""

    texts: tuple[str, ...]  # canonical texts of the conditions
    asked: tuple[Predicate, ...]  # conditions as the analyst wrote them

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


@frozen(slots=False)
class GroupedPlan(QueryPlan):
    """A table by keys, with its noise."""

    question: TableQuestion

    @property
    def read_columns(self) -> set[Column]:
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


NoiseAt: TypeAlias = Callable[[TablePrice], TablePlan]  # the noise of a table at a price
MOST_QUESTIONS = 1000
_SHARE_OF_TOTAL = Fraction(1, 10)  # share of the price for the total of a table with hidden keys


def plan_of(query: Query, schema: Mapping[str, Kind], unit: str | None, *, is_replacement: bool) -> QueryPlan:
    """Return the meaning of a query for records, with its noise and its price. Reads no record.

    This is the only way from a query to a plan, for counts, lists and tables by keys, and for Python, the command line,
    HTTP and the form. If `is_replacement`, neighbouring data sets differ by a replaced unit; else by an added unit.

    Raises:
        QueryError: Parts of the query do not go together.
        PredicateError: A condition, a column or a key is outside the language.
        ValueError: A price or the confidence is out of range.
    """
    if query.by is not None:
        return _grouped_plan(query, schema, unit, is_replacement=is_replacement)
    check_query(query)
    if isinstance(query.wheres, str) or not 1 <= len(query.wheres) <= MOST_QUESTIONS:
        got = "one text" if isinstance(query.wheres, str) else f"{len(query.wheres):,}"
        raise PredicateError(f"wheres must be a list of 1 to {MOST_QUESTIONS:,} questions, got {got}")
    parsed = [parse_predicate(where, schema) for where in query.wheres]
    texts = tuple(canonical_text(predicate.normal) for predicate in parsed)
    for text, where in zip(texts, query.wheres, strict=True):
        if texts.count(text) > 1:
            raise PredicateError(f"where asks {where[:80]!r} twice: ask each question once")
    noise_at: NoiseAt = partial(count_plan, is_replacement=is_replacement)
    if query.is_list:
        noise_at = partial(table_plan, [level_of_questions(len(texts))], groups=None, is_replacement=is_replacement)
    noise = noise_at(_stated_price(query, noise_at, has_hidden_keys=False))
    goal = None if query.at_most is None else _accuracy_goal(query, noise)
    return (ListPlan if query.is_list else CountPlan)(
        predicates=tuple(predicate.normal for predicate in parsed),
        where=None if query.is_list else texts[0],
        noise=noise,
        goal=goal,
        schema=schema_of(schema),
        texts=texts,
        asked=tuple(predicate.asked for predicate in parsed),
    )


def _grouped_plan(query: Query, schema: Mapping[str, Kind], unit: str | None, *, is_replacement: bool) -> GroupedPlan:
    """Return the plan of a table by keys."""
    parts = resolve_group_by(query.by or (), schema, unit)
    if unit is not None and are_person_values(parts):  # each person has one value, and stands in one cell
        if query.groups_per_unit not in {None, 1}:
            raise QueryError("{groups_per_unit} is 1 for a table by values of persons: leave it out")
        query = replace(query, groups_per_unit=1)
    needs_keys = query.keys is None and any(part.known_keys is None for part in parts)
    is_hidden = needs_keys and query.delta is not None
    check_query(query, [part.column.name for part in parts], has_hidden_keys=is_hidden)
    question = TableQuestion(
        parts=parts,
        keys=None if is_hidden else key_set(parts, query.keys, schema_of(schema).public),
        where=next((parse_predicate(where, schema).normal for where in query.wheres), None),
        margins=margins_of(query.margins, parts),
        has_other=query.other,
        max_groups=query.groups_per_unit,
        is_cumulative=query.cumulative,
    )
    row_table([part.column for part in parts], [question.where])  # refuses rows of two tables
    check_unit(query, unit, has_hidden_keys=is_hidden)
    groups = question.groups(unit)
    if is_hidden:
        has_total = bool(question.margins)
        noise_at: NoiseAt = partial(
            hidden_plan, question.name, groups=groups or 1, is_replacement=is_replacement, has_total=has_total
        )
    else:
        noise_at = partial(table_plan, question.levels(), groups=groups, is_replacement=is_replacement)
    noise, where = noise_at(_stated_price(query, noise_at, has_hidden_keys=is_hidden)), question.where
    return (HiddenKeysPlan if is_hidden else CellsPlan)(
        predicates=() if where is None else (where,),
        where=None if where is None else canonical_text(where),
        noise=noise,
        goal=None if is_hidden or query.at_most is None else _accuracy_goal(query, noise),
        schema=schema_of(schema),
        question=question,
    )


def _accuracy_goal(query: Query, noise: TablePlan) -> AccuracyGoal:
    """Return the accuracy goal of a query without a price. Raises ValueError if no stopping rule can meet it."""
    decisive = parse_scope(query.of) if query.of is not None else EVERY_COUNT if len(query.wheres) > 1 else ""
    share, confidence = share_of(query.within), fraction_as_written(query.confidence, "confidence")
    goal = AccuracyGoal(share, confidence, noise.loss.epsilon or Fraction(0), decisive)
    StoppingSchedule(goal, noise).rule  # noqa: B018 - computing the rule raises the error
    return goal


def _stated_price(query: Query, noise_at: NoiseAt, *, has_hidden_keys: bool) -> TablePrice:
    """Return the price that a query states, the largest price of its goal, or the smallest price for its accuracy.

    Args:
        query: The query, whose parts are checked already.
        noise_at: The function from a price to the noise.
        has_hidden_keys: True if the keys of the table are hidden.
    """
    price_of = partial(TablePrice.from_amounts, query.noise_class, delta=query.delta, is_hidden=has_hidden_keys)
    if query.at_most is not None:
        return price_of(exact_epsilon(query.at_most, "at_most"), None)
    if query.within is None and query.error is None:
        return price_of(query.epsilon, query.rho)
    if query.error is not None:
        width, goal = fraction_as_written(query.error, "error"), {"error": f"{float(query.error):g}"}
    else:
        share, guess = share_of(query.within), fraction_as_written(query.guess or 0, "guess")
        width, goal = share * guess, {"within": f"{float(share):g}", "guess": f"{float(guess):g}"}
    words = " of ".join(f"{{{name}:{value}}}" for name, value in goal.items())
    if not query.is_table:
        formula = epsilon_within(width, query.confidence)
        if not is_in_range(formula):
            raise QueryError(f"{words} needs ε = {formula:.2g}, outside 1e-9 to 1e6: choose another goal")
        return price_of(readable_epsilon_within(width, query.confidence), None)
    is_gaussian = query.noise_class is DiscreteGaussian

    def price_at(amount: Fraction) -> TablePrice:
        return price_of(None, amount) if is_gaussian else price_of(amount, None)

    levels = noise_at(price_at(Fraction(1))).levels

    def is_accurate(amount: Fraction) -> bool:
        noises = [price_at(amount).mechanism(level.sensitivity, level.share) for level in levels]
        return all(error_within(noise, query.confidence) <= floor(width) for noise in noises)

    prices = _readable_prices()
    place = bisect_left(prices, True, key=is_accurate)  # noqa: FBT003 - the value that the key takes
    if place == len(prices):
        raise QueryError(f"{words} for each row needs a price above 1e6: choose another goal")
    return price_at(prices[place])


def _readable_prices() -> list[Fraction]:
    """Return all prices of two digits that a ledger can store, in ascending order."""
    prices = [Fraction(digits) * Fraction(10) ** power for power in range(-10, 5) for digits in range(10, 100)]
    return [price for price in (*prices, Fraction(10**6)) if is_in_range(price)]


def count_plan(price: TablePrice, *, is_replacement: bool) -> TablePlan:
    """Return the noise of one count, whose sensitivity is 1 under both neighbour relations."""
    level = LevelPlan("questions", 1, 1, Fraction(1), price.mechanism(1, Fraction(1)))
    return TablePlan(price, (level,), None, is_replacement)


def table_plan(levels: Sequence[Level], price: TablePrice, groups: int | None, *, is_replacement: bool) -> TablePlan:
    """Return the noise of a table with known keys, from its levels: the cells first, then margins or ranges."""
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
    """Return the noise of a table with hidden keys, and of its total if it has one."""
    move = (2 if is_replacement else 1) * groups
    share = 1 - _SHARE_OF_TOTAL if has_total else Fraction(1)
    noise = price.mechanism(move, share)
    planned = [LevelPlan(name, None, move, share, noise)]
    if has_total:
        total_noise = price.mechanism(1, _SHARE_OF_TOTAL)
        planned.append(LevelPlan("total", 1, 1, _SHARE_OF_TOTAL, total_noise))
    smallest_shown = threshold(noise, price.threshold_delta, groups)
    return TablePlan(price, tuple(planned), groups, is_replacement, smallest_shown)
