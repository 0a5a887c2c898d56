"""Meaning and price of queries: `plan_of` is the only way from a query to a plan.

`count_plan`, `table_plan` and `hidden_plan` compute the noise of a count, of a table with known keys, and of a table
with hidden keys.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import floor
from typing import TypeAlias

from noisycount.errors import PredicateError, QueryError
from noisycount.ledger.price import TablePrice
from noisycount.model.concentrated import l1_sensitivity
from noisycount.model.half_width import epsilon_within, error_within, readable_epsilon_within
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.sampling.scalar import as_written
from noisycount.model.tables.levels import Level, shares
from noisycount.model.tables.threshold import threshold
from noisycount.query.grouping import are_person_values, resolve_group_by
from noisycount.query.normal_form import parse_predicate
from noisycount.query.person_values import row_table
from noisycount.query.predicate import canonical_text
from noisycount.query.query import Query
from noisycount.query.rules import check_query, check_unit
from noisycount.query.schema import Kind, schema_of
from noisycount.query.table import TableQuestion, key_set, margins_of
from noisycount.query.typed import parse_scope, share_of
from noisycount.release.goal import EVERY_COUNT, AccuracyGoal, StoppingSchedule
from noisycount.release.noise_plan import LevelPlan, TablePlan
from noisycount.release.query_plan import (
    CellsPlan,
    CountPlan,
    GroupedPlan,
    HiddenKeysPlan,
    ListPlan,
    QueryPlan,
    level_of_questions,
)
from noisycount.validation import exact_epsilon, is_in_range

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
    readings = [parse_predicate(where, schema) for where in query.wheres]
    texts = tuple(canonical_text(reading.normal) for reading in readings)
    for text, where in zip(texts, query.wheres, strict=True):
        if texts.count(text) > 1:
            raise PredicateError(f"where asks {where[:80]!r} twice: ask each question once")
    noise_at: NoiseAt = partial(count_plan, is_replacement=is_replacement)
    if query.is_list:
        noise_at = partial(table_plan, [level_of_questions(len(texts))], groups=None, is_replacement=is_replacement)
    noise = noise_at(_stated_price(query, noise_at, has_hidden_keys=False))
    goal = None if query.at_most is None else _accuracy_goal(query, noise)
    return (ListPlan if query.is_list else CountPlan)(readings, texts, noise, goal, schema_of(schema))


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
    noise = noise_at(_stated_price(query, noise_at, has_hidden_keys=is_hidden))
    if is_hidden:
        return HiddenKeysPlan(question, noise, None, schema_of(schema))
    return CellsPlan(
        question, noise, None if query.at_most is None else _accuracy_goal(query, noise), schema_of(schema)
    )


def _accuracy_goal(query: Query, noise: TablePlan) -> AccuracyGoal:
    """Return the accuracy goal of a query without a price. Raises ValueError if no stopping rule can meet it."""
    decisive = parse_scope(query.of) if query.of is not None else EVERY_COUNT if len(query.wheres) > 1 else ""
    share, confidence = share_of(query.within), as_written(query.confidence, "confidence")
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
        width, goal = as_written(query.error, "error"), {"error": f"{float(query.error):g}"}
    else:
        share, guess = share_of(query.within), as_written(query.guess or 0, "guess")
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
