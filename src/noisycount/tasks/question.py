"""What a question means for a data set: its plan, its price, and whether it makes sense."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from noisycount.catalog.record import ROW
from noisycount.config.config import Config, DatasetConfig
from noisycount.errors import ConfigError, NoisyCountError, PredicateError
from noisycount.ledger.budget import ApproximateBudget
from noisycount.ledger.entries import Analyst
from noisycount.ledger.price import NeighbourRelation, TablePrice, neighbours_of_size
from noisycount.model.half_width import error_within
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.sampling.scales import as_written
from noisycount.query.normal_form import contradictions
from noisycount.query.predicate import And, Predicate, Range, canonical_text
from noisycount.query.query import Item, Query
from noisycount.query.schema import Kind
from noisycount.query.table import parts_of
from noisycount.release.query_plan import QueryPlan, plan_of
from noisycount.release.results import TablePlan
from noisycount.tasks.opening import DatasetSession
from noisycount.tasks.plan import planned

_SHOWN = 3  # of the parts that no record can satisfy


def dataset_asked(configuration: Config, source: str, unit: str | None, option: str = "--unit") -> DatasetConfig:
    """The data set that SOURCE means, counted by the unit that the asker names."""
    dataset = configuration.dataset(source)
    if unit is None or unit == dataset.unit:
        return dataset
    if not dataset.is_path:
        chosen = "counts rows" if dataset.unit == ROW else f"counts distinct {dataset.unit!r}"
        raise ConfigError(
            f"{option} {unit!r}: data set {dataset.name!r} {chosen}, as its owner configured it; leave {option} out"
        )
    return replace(dataset, unit=unit)


def plan_at(session: DatasetSession, query: Query, analyst: Analyst | None = None) -> QueryPlan:
    """The plan of a question about open records, at the price that it needs."""
    dataset, records = session.dataset, session.records
    budgets = [dataset.budget, *filter(None, [analyst and analyst.budget])]
    for_keys = min(each.for_keys if isinstance(each, ApproximateBudget) else Fraction(0) for each in budgets)
    is_replacement = neighbours_of_size(dataset.size) is NeighbourRelation.REPLACEMENT
    return plan_in(query, records.schema, records.unit, is_replacement=is_replacement, for_keys=for_keys)


def plan_in(
    query: Query,
    schema: Mapping[str, Kind],
    unit: str | None,
    *,
    is_replacement: bool,
    for_keys: Fraction = Fraction(0),
) -> QueryPlan:
    """The same from what is public of records."""
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
    names = [each.column for each in query.by or () if isinstance(each, Item)]
    columns = {name.lower(): name for name in names}
    return {columns.get(name.lower(), name): keys for name, keys in query.keys.items()}


def _check_groups(query: Query, schema: Mapping[str, Kind], unit: str | None, for_keys: Fraction) -> None:
    """The refusal of keys that nobody lists, or of which nobody knows how many a person has."""
    parts = parts_of(query.by or (), schema, unit)
    unknown = next((part for part in parts if part.implied is None), None)
    if unknown is None:
        return
    needs_keys = query.other or query.cumulative or query.noise_class is DiscreteGaussian
    is_listed = query.keys or needs_keys or {*query.margins} - {"total"}
    if for_keys and query.delta is None and not is_listed:
        groups = "" if unit is None else " --groups-per-unit 1"
        raise NoisyCountError(
            f"keys of {unknown.text} are missing: list them, --keys {unknown.column.name}=a,b,c, "
            f"or show only the keys of many, --delta {float(for_keys / 10):.1g}{groups}"
        )
    is_hidden = query.delta is not None and not query.keys
    if is_hidden and unit is not None and query.groups_per_unit is None:
        raise NoisyCountError(
            "--groups-per-unit is missing: nobody knows in how many hidden groups a person is, so "
            "say in how many one counts, such as 1"
        )


def require_possible(session: DatasetSession, plan: QueryPlan, analyst: Analyst) -> list[str]:
    """What no record can satisfy of a question that the analyst paid for."""
    hints = impossible_hints(plan.predicates)
    if hints and not session.is_free(analyst, session.records.requests(plan)):
        raise PredicateError(f"where asks in vain: {'; '.join(hints)}")
    return hints


def impossible_hints(predicates: Iterable[Predicate]) -> list[str]:
    """A sentence for each part of questions that no record can satisfy; no data is read.

    Example:
        >>> from noisycount.query.normal_form import read
        >>> impossible_hints([read("age between 64 and 1", {"age": Kind.INTEGER}).normal])
        ['no record can satisfy age between 64 and 1: write the smaller end first']
    """
    parts = dict.fromkeys(part for each in predicates for part in contradictions(each))
    told = [f"no record can satisfy {canonical_text(part)}{_remedy(part)}" for part in parts]
    return [*told[:_SHOWN], *_others(len(told) - _SHOWN)]


def _others(number: int) -> Sequence[str]:
    """That there are more of them than are shown."""
    parts = "part" if number == 1 else "parts"
    return [f"nor {number:,} other {parts} of the questions"] if number > 0 else []


def _remedy(part: Predicate) -> str:
    """What else may have been meant."""
    if isinstance(part, Range):
        return ": write the smaller end first"
    if isinstance(part, And):
        return ", all of it at once: write or between its parts where one of them is enough"
    return ""
