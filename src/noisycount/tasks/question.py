"""What a question means: whether its parts go together, its plan and price, and whether it makes sense."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.ledger.price import TablePrice
from noisycount.model.half_width import error_within
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.sampling.scalar import as_written
from noisycount.query.grouping import resolve_group_by
from noisycount.query.normal_form import contradictions
from noisycount.query.predicate import And, Predicate, Range, canonical_text
from noisycount.query.query import ColumnGrouping, Query
from noisycount.query.schema import Kind, close_names
from noisycount.release.query_plan import QueryPlan, plan_of
from noisycount.release.results import TablePlan
from noisycount.tasks.plan import planned

_SHOWN = 3  # of the parts that no record can satisfy


@frozen
class TableFiles:
    """The files that go with a table."""

    keys: Path | None = None  # its keys: one row a cell, or the keys of one column
    questions: Path | None = None  # more questions, one a line
    plot: Path | None = None  # to be made: a picture
    output: Path | None = None  # to be made: its rows


def check_query(query: Query, files: TableFiles = TableFiles()) -> None:  # noqa: B008 - frozen
    """The refusal of options that do not belong together."""
    for rules in (_rules_of_kind, _rules_of_keys, _rules_of_noise, _rules_of_price):
        for is_wrong, refusal in rules(query, files):
            if is_wrong:
                raise click.UsageError(refusal)


Rules = Iterator[tuple[bool, str]]  # whether something is wrong, and what


def _items(query: Query) -> list[ColumnGrouping]:
    return [item for item in query.by or () if isinstance(item, ColumnGrouping)]


def _has_hidden_keys(query: Query, files: TableFiles) -> bool:
    """Whether only the records know the keys of a column."""
    is_listed = query.keys or files.keys or all(item.grouping for item in _items(query))
    return query.delta is not None and not is_listed


def _rules_of_kind(query: Query, files: TableFiles) -> Rules:
    """One count, a table by groups, or several questions."""
    yield not (query.wheres or query.is_table), "give --where TEXT, or --by COLUMNS for a table"
    yield bool(query.by) and query.is_list, "give --by with one --where, or several --where without --by"
    grouped: dict[str, object] = {
        "--keys": query.keys,
        "--keys-from": files.keys,
        "--other": query.other,
        "--margins": query.margins,
    }
    grouped |= {"--groups-per-unit": query.groups_per_unit, "--cumulative": query.cumulative}
    for option, value in grouped.items():
        yield bool(value) and not query.by, f"{option} belongs to a table: add --by COLUMNS"
    tabled: dict[str, object] = {"--noise": query.noise, "--rho": query.rho, "--delta": query.delta}
    for option, value in {**tabled, "--plot": files.plot, "--output": files.output}.items():
        is_wrong = value is not None and not query.is_table
        yield is_wrong, f"{option} belongs to a table: add --by COLUMNS, or --where again"


def _rules_of_keys(query: Query, files: TableFiles) -> Rules:
    """Keys of columns of the table, or none where they are hidden."""
    columns = {item.column.lower(): item.column for item in _items(query)}
    for name in query.keys if isinstance(query.keys, Mapping) else ():
        is_wrong = name.lower() not in columns
        yield is_wrong, f"--keys names {name!r}, which is not in --by: use {close_names(name, list(columns.values()))}"
    is_gaussian = query.noise_class is DiscreteGaussian
    for option, value in {"--keys": query.keys, "--keys-from": files.keys}.items():
        is_wrong = bool(value) and query.delta is not None and not is_gaussian
        yield is_wrong, f"--delta is for hidden keys, and {option} lists them: leave one of them out"
    hidden = _has_hidden_keys(query, files)
    yield hidden and query.other, "--other belongs to listed keys: leave out --delta, or --other"
    yield hidden and query.cumulative, "--cumulative needs listed keys: leave out --delta"
    is_wrong = hidden and any(name != "total" for name in query.margins)
    yield is_wrong, "with hidden keys only --margins total is a sum that everybody may ask for"
    is_wrong = query.cumulative and len(query.by or ()) > 1
    yield is_wrong, "--cumulative needs one column in order: leave the others out of --by"
    is_wrong = query.cumulative and bool(query.margins)
    yield is_wrong, "--cumulative measures all sums of ranges: leave out --margins"


def _rules_of_noise(query: Query, files: TableFiles) -> Rules:
    """A price in the currency of the noise."""
    is_wrong = query.noise is DiscreteLaplace and query.rho is not None
    yield is_wrong, "--rho is the price of Gaussian noise: add --noise gaussian, or give --epsilon"
    is_wrong = bool(query.rho and query.delta and query.by and not _has_hidden_keys(query, files))
    yield is_wrong, "--delta belongs to hidden keys, or to --epsilon: leave it out beside --rho"
    is_gaussian = query.noise_class is DiscreteGaussian
    is_wrong = query.is_list and not query.by and query.delta is not None and not is_gaussian
    yield is_wrong, "--delta belongs to --by without keys, or to --noise gaussian: leave it out"


def _rules_of_price(query: Query, _: TableFiles) -> Rules:
    """One price."""
    is_gaussian = query.noise_class is DiscreteGaussian
    is_wrong = query.rho is not None and (query.epsilon is not None or query.within is not None)
    yield is_wrong, "give one price: --rho, or --epsilon, or --within with --guess"
    is_wrong = is_gaussian and query.epsilon is not None and query.delta is None
    yield is_wrong, "--noise gaussian needs --rho R, or --epsilon E with --delta D"
    is_wrong = is_gaussian and query.within is not None and query.delta is not None
    yield is_wrong, "--within finds the price of Gaussian noise in ρ: leave out --delta"


def plan_in(
    query: Query,
    schema: Mapping[str, Kind],
    unit: str | None,
    *,
    is_replacement: bool,
    for_keys: Fraction = Fraction(0),
) -> QueryPlan:
    """The plan of a question, at the price that it needs, from what is public of records."""
    if query.by is not None:
        query = replace(query, keys=known_keys(query))
        _check_groups(query, schema, unit, for_keys)
    if query.within is None:
        return plan_of(query, schema, unit, is_replacement=is_replacement)
    priced = replace(query, within=None, guess=None)
    if not query.is_table:
        goal = planned(float(query.guess or 0), float(query.within), query.confidence)
        priced = replace(priced, epsilon=goal.epsilon)
        return plan_of(priced, schema, unit, is_replacement=is_replacement)
    currency = "rho" if query.noise_class is DiscreteGaussian else "epsilon"
    priced = replace(priced, **{currency: Fraction(1)})  # type: ignore[arg-type]  # a price
    plan = plan_of(priced, schema, unit, is_replacement=is_replacement)
    priced = replace(priced, **{currency: _row_price(query, plan.noise)})  # type: ignore[arg-type]
    return plan_of(priced, schema, unit, is_replacement=is_replacement)


def _row_price(query: Query, plan: TablePlan) -> Fraction:
    """The smallest price in two digits at which every row lies as near as its goal wants."""
    within, guess = float(query.within or 0), float(query.guess or 0)
    width = math.floor(as_written(within, "within") * as_written(guess, "guess"))
    noise = plan.price.noise

    def is_kept(price: Fraction) -> bool:
        epsilon, rho = (None, price) if noise is DiscreteGaussian else (price, None)
        paid = TablePrice.of(noise, epsilon, rho, None, is_hidden=False)
        mechanisms = (paid.mechanism(level.sensitivity, level.share) for level in plan.levels)
        return all(error_within(each, query.confidence) <= width for each in mechanisms)

    prices = list(_readable())
    place = bisect_left(prices, True, key=is_kept)  # noqa: FBT003
    if place == len(prices):
        raise NoisyCountError(
            f"--within {within:g} of --guess {guess:g} for each row needs a price above 1e6: choose another goal"
        )
    return prices[place]


def _readable() -> Iterator[Fraction]:
    """Every price of two digits that a ledger keeps, rising."""
    for exponent in range(-10, 5):
        for digits in range(10, 100):
            price = Fraction(Decimal(digits).scaleb(exponent))
            if Fraction(1, 10**9) <= price <= 10**6:
                yield price
    yield Fraction(10**6)


def known_keys(query: Query) -> Any:  # noqa: ANN401 - as a query has them
    """The keys, of which columns may be named in small letters as well."""
    if not isinstance(query.keys, Mapping):
        return query.keys
    names = [each.column for each in query.by or () if isinstance(each, ColumnGrouping)]
    columns = {name.lower(): name for name in names}
    return {columns.get(name.lower(), name): keys for name, keys in query.keys.items()}


def _check_groups(query: Query, schema: Mapping[str, Kind], unit: str | None, for_keys: Fraction) -> None:
    """The refusal of keys that nobody lists, or of which nobody knows how many a person has."""
    parts = resolve_group_by(query.by or (), schema, unit)
    unknown = next((part for part in parts if part.implied is None), None)
    if unknown is None:
        return
    needs_keys = query.other or query.cumulative or query.noise_class is DiscreteGaussian
    is_listed = query.keys or needs_keys or {*query.margins} - {"total"}
    if for_keys and query.delta is None and not is_listed:
        groups = "" if unit is None else " --groups-per-unit 1"
        raise NoisyCountError(
            f"keys of {unknown.text} are missing: list them, --keys {unknown.column.name}={unknown.keys_example}, "
            f"or show only the keys of many, --delta {float(for_keys / 10):.1g}{groups}"
        )
    is_hidden = query.delta is not None and not query.keys
    if is_hidden and unit is not None and query.groups_per_unit is None:
        raise NoisyCountError(
            "--groups-per-unit is missing: nobody knows in how many hidden groups a person is, so "
            "say in how many one counts, such as 1"
        )


def impossible_hints(predicates: Iterable[Predicate]) -> list[str]:
    """A sentence for each part of questions that no record can satisfy; no data is read.

    Example:
        >>> from noisycount.query.normal_form import parse_predicate
        >>> impossible_hints([parse_predicate("age between 64 and 1", {"age": Kind.INTEGER}).normal])
        ['no record can satisfy age between 64 and 1: write the smaller end first']
    """
    parts = dict.fromkeys(part for each in predicates for part in contradictions(each))
    told = [f"no record can satisfy {canonical_text(part)}{_remedy(part)}" for part in parts]
    more = len(told) - _SHOWN
    others = [f"nor {more:,} other {'part' if more == 1 else 'parts'} of the questions"] if more > 0 else []
    return [*told[:_SHOWN], *others]


def _remedy(part: Predicate) -> str:
    if isinstance(part, Range):
        return ": write the smaller end first"
    if isinstance(part, And):
        return ", all of it at once: write or between its parts where one of them is enough"
    return ""
