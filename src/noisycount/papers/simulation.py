"""Simulated errors of estimates of tables, as they are stored.

`results` reads them. `python -m audits.simulated_tables [RUNS]`, in a clone of the project, repeats the simulation.
"""

import csv
from functools import cache
from importlib.resources import files

from noisycount.frozen import frozen

EPSILONS = (0.03, 0.1, 0.3, 1.0)  # prices of a whole table


@frozen
class SimulatedErrors:
    """Errors of an estimate over counts of one kind, in records."""

    mean_absolute: float  # mean of |estimate − count|
    root_mean_square: float  # square root of the mean of (estimate − count)²
    covered: float  # share of the 95 % intervals that contain the count; nan without intervals


@frozen
class TableErrors:
    """Errors of one estimate of one table at one ε."""

    table: str  # name of the table or estimate
    answered: str  # `cells`, or `levels`: the cells and coarser levels, which share ε equally
    epsilon: float  # ε of the whole table
    estimate: str  # name of the table or estimate
    cells: SimulatedErrors  # errors of the cells
    margins: SimulatedErrors  # errors of the nodes between the total and the cells
    sums: SimulatedErrors  # errors of the sums of the first 1, 2, … cells


RUNS = 4  # simulated releases of each table in the stored results
_FILE = "simulation.csv"


@cache
def results() -> tuple[TableErrors, ...]:
    """Return the stored errors. `python -m audits.simulated_tables` computes them again.

    Example:
        >>> results()[0].table, results()[0].estimate
        ('survey', 'raw')
    """
    text = files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    return tuple(map(_parse_row, csv.reader(text.splitlines()[1:])))


def result(table: str, answered: str, epsilon: float, estimate: str) -> TableErrors:
    """Return the stored errors of one estimate of one table at one ε.

    Example:
        >>> result("survey", "cells", 0.1, "raw").estimate
        'raw'
    """
    key = (table, answered, epsilon, estimate)
    return next(row for row in results() if (row.table, row.answered, row.epsilon, row.estimate) == key)


def _parse_row(row: list[str]) -> TableErrors:
    """Return the errors of a row of the file."""
    table, answered, epsilon, estimate, *numbers = row
    values = [float(number or "nan") for number in numbers]
    kinds = (SimulatedErrors(*values[start : start + 3]) for start in (0, 3, 6))
    return TableErrors(table, answered, float(epsilon), estimate, *kinds)
