"""A table before there is one: how far off its counts would be, from numbers of cells alone."""

from dataclasses import dataclass, replace

from noisycount.app.forecast.design import Design
from noisycount.app.table.levels import ShownLevel, shown_levels
from noisycount.errors import NoisyCountError
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.release.question.schema import Kind
from noisycount.release.tables.plan import TablePlan
from noisycount.release.tables.wishes import TableWish

__all__ = ["Forecast", "forecast"]

_UNIT = "\N{NULL}unit"  # the name of no column


@dataclass(frozen=True, slots=True)
class Forecast:
    """What two noises would give at the same price.

    Attributes:
        design: The shape and the price.
        plans: The noise of each level, one plan a kind of noise, the better one first.
        confidence: With which errors are stated.
    """

    design: Design
    plans: tuple[TablePlan, ...]
    confidence: float

    def levels(self, plan: TablePlan) -> list[ShownLevel]:
        """What each level of one of the plans would cost, and how far off it would be."""
        if plan.size is not None:
            return shown_levels(plan, self.confidence)
        counts = self.design.counts
        cells, *others = shown_levels(plan, self.confidence, counts + len(plan.levels) - 1)
        return [replace(cells, counts=counts), *others]

    @property
    def gain(self) -> float | None:
        """The squared errors of the better noise over those of the other; None: there is none."""
        if len(self.plans) == 1:
            return None
        better, other = (_squares(plan, self.design.counts) for plan in self.plans)
        return better / other


def forecast(design: Design, confidence: float) -> Forecast:
    """The plan of a table with Laplace noise, with Gaussian noise, or with both at one (ε, δ).

    Raises:
        ValueError: A price is out of range or missing.
        NoisyCountError: The table cannot be asked so.
    """
    plans = [_plan(design, noise) for noise in _noises(design)]
    plans.sort(key=lambda plan: _squares(plan, design.counts))
    return Forecast(design, tuple(plans), confidence)


def _noises(design: Design) -> list[type[DiscreteLaplace | DiscreteGaussian]]:
    """The noises that the price can buy."""
    if design.rho is not None:
        return [DiscreteGaussian]
    if design.epsilon is None:
        raise NoisyCountError("a table needs a price: --epsilon 1, with --delta 1e-6 or without")
    if design.is_hidden and design.delta is None:
        raise NoisyCountError(
            "--delta is missing: the chance that the key of one person is shown, --delta 1e-6"
        )
    return [DiscreteLaplace] if design.delta is None else [DiscreteLaplace, DiscreteGaussian]


def _plan(design: Design, noise: type[DiscreteLaplace | DiscreteGaussian]) -> TablePlan:
    """The plan with one noise."""
    needs_delta = design.is_hidden or (noise is DiscreteGaussian and design.rho is None)
    is_bounded = design.groups is not None
    wish = TableWish(
        by=list(design.cells),
        keys=None
        if design.is_hidden
        else {name: list(range(size)) for name, size in design.cells.items()},
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
    return wish.asked(schema, unit, is_replacement=design.is_size_public).plan


def _squares(plan: TablePlan, cells: int) -> float:
    """The sum of the squared errors of all counts."""
    return sum(
        (cells if level.size is None else level.size) * level.mechanism.variance
        for level in plan.levels
    )
