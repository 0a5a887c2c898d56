"""What the simulation measures.

What the simulation measured, as it is kept beside this file.
"""

import csv
import io
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from noisycount.frozen import frozen

__all__ = ["EPSILONS", "RUNS", "Measured", "SimulatedErrors", "csv_text", "result", "results"]


EPSILONS = (0.03, 0.1, 0.3, 1.0)


"""Prices of a whole table."""


@frozen
class SimulatedErrors:
    """How far off counts of one kind are, in records.

    Attributes:
        mean_absolute: The mean of |estimate − count|.
        root_mean_square: The root of the mean of (estimate − count)².
        covered: The share of the 95 % intervals that hold the count; nan without intervals.
    """

    mean_absolute: float
    root_mean_square: float
    covered: float


@frozen
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
    cells: SimulatedErrors
    margins: SimulatedErrors
    sums: SimulatedErrors


RUNS = 4


"""How many releases of each table were simulated for what is kept."""


_FILE = "results.csv"


_KINDS = ("cells", "margins", "sums")


_PARTS = ("mean absolute error", "root mean squared error", "covered")


_HEADER = ("table", "answered", "epsilon", "estimate")


@cache
def results() -> tuple[Measured, ...]:
    """What was measured: `python -m noisycount.papers.simulation` measures it again.

    Example:
        >>> results()[0].table, results()[0].estimate
        ('survey', 'raw')
    """
    text = files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    return tuple(map(_read, csv.reader(text.splitlines()[1:])))


def result(table: str, answered: str, epsilon: float, estimate: str) -> Measured:
    """What was measured of one estimate of one table at one price.

    Example:
        >>> result("survey", "cells", 0.1, "raw").estimate
        'raw'
    """
    return _by_name()[table, answered, epsilon, estimate]


@cache
def _by_name() -> dict[tuple[str, str, float, str], Measured]:
    """All results by what was measured."""
    return {(each.table, each.answered, each.epsilon, each.estimate): each for each in results()}


def csv_text(measured: Iterable[Measured]) -> str:
    """What was measured as comma-separated values, errors in records with four digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_HEADER, *(f"{part} of {kind}" for kind in _KINDS for part in _PARTS)])
    for each in measured:
        errors = (each.cells, each.margins, each.sums)
        numbers = [
            "" if number != number else f"{number:.4g}"  # noqa: PLR0124  (nan: no intervals)
            for error in errors
            for number in (error.mean_absolute, error.root_mean_square, error.covered)
        ]
        writer.writerow([each.table, each.answered, each.epsilon, each.estimate, *numbers])
    return text.getvalue()


def _read(row: list[str]) -> Measured:
    table, answered, epsilon, estimate, *numbers = row
    values = [float(number or "nan") for number in numbers]
    kinds = (SimulatedErrors(*values[start : start + 3]) for start in (0, 3, 6))
    return Measured(table, answered, float(epsilon), estimate, *kinds)
