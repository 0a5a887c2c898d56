"""What the simulation measures."""

from dataclasses import dataclass

__all__ = ["EPSILONS", "Errors", "Measured"]

EPSILONS = (0.03, 0.1, 0.3, 1.0)
"""Prices of a whole table."""


@dataclass(frozen=True, slots=True)
class Errors:
    """How far off counts of one kind are, in records.

    Attributes:
        mean_absolute: The mean of |estimate − count|.
        root_mean_square: The root of the mean of (estimate − count)².
        covered: The share of the 95 % intervals that hold the count; nan without intervals.
    """

    mean_absolute: float
    root_mean_square: float
    covered: float


@dataclass(frozen=True, slots=True)
class Measured:
    """The errors of one estimate of one table at one price.

    Attributes:
        table: Its name.
        answered: `cells`, or `levels`: the cells and coarser levels, which share ε equally.
        epsilon: Of the whole table.
        estimate: Its name.
        cells: Their errors.
        margins: Those of the nodes between the total and the cells.
        sums: Those of the sums of the first 1, 2, … cells.
    """

    table: str
    answered: str
    epsilon: float
    estimate: str
    cells: Errors
    margins: Errors
    sums: Errors
