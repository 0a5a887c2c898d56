"""Forecast of the errors of a table from its price and its numbers of keys. It needs no data.

`forecast` compares Laplace and Gaussian noise; the other functions print the result or return it as JSON.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

from noisycount.display.numbers import approximately, percent
from noisycount.display.output import Facts, print_facts, print_table
from noisycount.display.values import members
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.query import Query
from noisycount.query.schema import Kind
from noisycount.release.dataset import AvailableBudget, next_price_words
from noisycount.release.noise_plan import TablePlan
from noisycount.release.query_plan import plan_of
from noisycount.tasks.answer_display import level_rows, noise_words
from noisycount.tasks.answer_json import levels_json, loss_json
from noisycount.validation import exact_text, optional_text


@frozen
class Design:
    """The design of a table: its columns, its sums and its price."""

    cells: Mapping[str, int]  # number of keys of each column
    margins: Sequence[str] = ()  # margins that are counted with their own noise
    epsilon: Fraction | None = None  # price of Laplace noise; with δ, also of Gaussian noise
    rho: Fraction | None = None  # price of Gaussian noise
    delta: Fraction | None = None  # δ of hidden keys, or of Gaussian noise
    groups: int | None = None  # contribution bound: largest number of cells that count one unit
    is_size_public: bool = False  # True if the number of units is public
    is_hidden: bool = False  # True if the keys are hidden
    is_cumulative: bool = False  # True if sums over ranges of cells are counted too

    @property
    def counts(self) -> int:
        """Number of cells."""
        return prod(self.cells.values())


_UNIT = "\N{NULL}unit"  # cannot be the name of a column of the design


@frozen
class TableForecast:
    """Noise and errors of a table at one price, under one or two kinds of noise."""

    design: Design  # shape and price
    plans: tuple[TablePlan, ...]  # one plan for each kind of noise, the one with the smaller squared errors first
    confidence: float  # confidence of the errors
    paying: AvailableBudget | None = None  # budget that pays for the table; None: none is compared with the price

    def with_number_of_cells(self, plan: TablePlan) -> TablePlan:
        """Return a plan with the number of cells of the design. A plan for hidden keys does not state this number."""
        cells, *others = plan.levels
        return replace(plan, levels=(replace(cells, size=self.design.counts), *others))

    @property
    def gain(self) -> float | None:
        """Ratio of the squared errors of the better noise to those of the other; None if there is only one kind."""
        if len(self.plans) == 1:
            return None
        better, other = (_total_variance(plan, self.design.counts) for plan in self.plans)
        return better / other


def forecast(design: Design, confidence: float, paying: AvailableBudget | None = None) -> TableForecast:
    """Return the forecast of a table.

    It has Gaussian noise if the price is in ρ, Laplace noise if it is ε alone, and both if it is (ε, δ). Raises
    NoisyCountError if there is no price, or if hidden keys have no δ.
    """
    plans = [_plan_with_noise(design, noise) for noise in _noise_classes(design)]
    plans.sort(key=lambda plan: _total_variance(plan, design.counts))
    return TableForecast(design, tuple(plans), confidence, paying)


def _noise_classes(design: Design) -> list[type[DiscreteLaplace | DiscreteGaussian]]:
    if design.rho is not None:
        return [DiscreteGaussian]
    if design.epsilon is None:
        raise NoisyCountError("a table needs a price: --epsilon 1, with --delta 1e-6 or without")
    if design.is_hidden and design.delta is None:
        raise NoisyCountError("--delta is missing: the chance that the key of one person is shown, --delta 1e-6")
    return [DiscreteLaplace] if design.delta is None else [DiscreteLaplace, DiscreteGaussian]


def _plan_with_noise(design: Design, noise: type[DiscreteLaplace | DiscreteGaussian]) -> TablePlan:
    needs_delta = design.is_hidden or (noise is DiscreteGaussian and design.rho is None)
    is_bounded = design.groups is not None
    query = Query(
        by=list(design.cells),
        keys=None if design.is_hidden else {name: list(range(size)) for name, size in design.cells.items()},
        epsilon=design.epsilon,
        rho=design.rho,
        delta=design.delta if needs_delta else None,
        margins="all" if list(design.margins) == ["all"] else tuple(design.margins),
        noise=noise,
        groups_per_unit=design.groups,
        cumulative=design.is_cumulative,
    )
    schema = dict.fromkeys(design.cells, Kind.INTEGER)
    unit = _UNIT if is_bounded else None
    return plan_of(query, schema, unit, is_replacement=design.is_size_public).noise


def _total_variance(plan: TablePlan, cells: int) -> float:
    return sum((cells if level.size is None else level.size) * level.mechanism.variance for level in plan.levels)


def print_forecast(result: TableForecast) -> None:
    """Print a forecast."""
    print_facts([("table", shape_words(result.design)), ("price", result.plans[0].loss.text)])
    for plan in result.plans:
        of_noise = f"{plan.levels[0].mechanism.name}, "
        print_table(*level_rows(result.with_number_of_cells(plan), result.confidence, of_noise))
    print_facts(list(_facts(result)))


def _facts(result: TableForecast) -> Iterator[tuple[str, str]]:
    for plan in result.plans:
        yield "noise", noise_words(plan)
        yield "", f"{plan.loss.text}: {plan.odds('person')}"
        if plan.threshold is not None:
            surely = f"{plan.surely_shown(result.confidence):,} with {percent(result.confidence)} probability at least"
            yield "", f"keys are shown from a noisy count of {plan.threshold:,} on, one of {surely}"
    if result.gain is not None:
        better, other = (plan.levels[0].mechanism.name for plan in result.plans)
        yield "cheaper", f"{better}: its squared errors are {result.gain:.2g} of those of {other} at the same ε and δ"
    elif result.design.rho is None:
        yield "hint", "with --delta 1e-6 Gaussian noise at the same price is shown beside it"


def budget_facts(result: TableForecast) -> Facts:
    """Return the largest price of one more answer now, and after the table under each noise; empty without a budget."""
    paying = result.paying
    if paying is None:
        return []
    now = f"{next_price_words(paying.left)} of {paying.dataset or 'the budget'}"
    facts = [("budget", f"{now} (budget {paying.budget.text})")]
    for plan in result.plans:
        if paying.admits(plan.loss):
            remaining = f"up to {approximately(paying.left_after(plan.loss))}"
        else:
            obstacle = paying.budget.obstacle(plan.loss, paying.dataset or "")
            remaining = f"not possible, as {obstacle or 'the price exceeds the remaining budget'}"
        facts.append(("", f"after this table with {plan.levels[0].mechanism.name} noise: {remaining}"))
    return facts


def shape_words(design: Design) -> str:
    """Return the shape of a table in words: keys of each column, cells, and contribution bound."""
    keys = " × ".join(f"{size:,} of {name}" for name, size in design.cells.items())
    hidden_text = ", known to the records alone" if design.is_hidden else ""
    groups = 1 if design.groups is None else design.groups
    replacement_text = "; one unit replaces another" if design.is_size_public else ""
    return f"{keys}: {design.counts:,} cells{hidden_text}; a unit is in {groups:,} of them at most{replacement_text}"


def forecast_json(result: TableForecast) -> dict[str, Any]:
    """Return a forecast as JSON; prices, shares and scales are exact decimals or fractions, as text.

    `left_after` is null for a table above the budget.
    """
    design, paying = result.design, result.paying
    left_after = None
    if paying is not None:
        after = (paying.left_after(plan.loss) if paying.admits(plan.loss) else None for plan in result.plans)
        left_after = [optional_text(left) for left in after]
    return {
        **members(design, "cells", "margins"),
        "groups_per_unit": design.groups or 1,
        "size_public": design.is_size_public,
        "hidden": design.is_hidden,
        "cumulative": design.is_cumulative,
        "confidence": result.confidence,
        **members(design, "epsilon", "rho", "delta"),
        "better": result.plans[0].levels[0].mechanism.name,
        "gain": result.gain,
        "plans": [
            {
                "mechanism": plan.levels[0].mechanism.name,
                "price": loss_json(plan.loss),
                "levels": levels_json(result.with_number_of_cells(plan), result.confidence),
                "threshold": plan.threshold,
                "surely_shown": plan.surely_shown(result.confidence),
                "odds": plan.odds("person"),
            }
            for plan in result.plans
        ],
        "dataset": None if paying is None else paying.dataset,
        "left": None if paying is None else exact_text(paying.left),
        "left_after": left_after,
    }
