"""How far off everybody's estimates of tables are, by simulation, and what was measured.

`python -m noisycount.papers.simulation [RUNS]` measures it again, as CSV.
"""

import csv
import io
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.papers import table_estimates

Reals = NDArray[np.float64]
EPSILONS = (0.03, 0.1, 0.3, 1.0)  # prices of a whole table


@frozen
class SimulatedErrors:
    """How far off counts of one kind are, in records."""

    mean_absolute: float  # the mean of |estimate − count|
    root_mean_square: float  # the root of the mean of (estimate − count)²
    covered: float  # the share of the 95 % intervals that hold the count; nan without intervals


@frozen
class Measured:
    """The errors of one estimate of one table at one price."""

    table: str  # its name
    answered: str  # `cells`, or `levels`: the cells and coarser levels, which share ε equally
    epsilon: float  # of the whole table
    estimate: str  # its name
    cells: SimulatedErrors  # their errors
    margins: SimulatedErrors  # those of the nodes between the total and the cells
    sums: SimulatedErrors  # those of the sums of the first 1, 2, … cells


RUNS = 4  # how many releases of each table were simulated for what is kept
_FILE = "simulation.csv"
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
    asked = (table, answered, epsilon, estimate)
    return next(each for each in results() if (each.table, each.answered, each.epsilon, each.estimate) == asked)


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


def simulated(
    runs: int,
    tables: Sequence[table_estimates.TrueTable] | None = None,
    epsilons: Sequence[float] = EPSILONS,
    done: Callable[[str], object] = lambda _: None,
) -> Iterator[Measured]:
    """The errors of all estimates of all tables, of the cells alone and of several levels."""
    for table in table_estimates.true_tables() if tables is None else tables:
        for answered, places in (("cells", table.answered[-1:]), ("levels", table.answered)):
            for epsilon in epsilons:
                yield from measured(table, answered, places, epsilon, range(runs))
                done(f"{table.name}, {answered}, ε = {epsilon:g}")


def measured(
    table: table_estimates.TrueTable, answered: str, places: Sequence[int], epsilon: float, runs: range
) -> list[Measured]:
    """The errors of all estimates, over releases that the table, ε and their numbers determine."""
    found = defaultdict(list)
    for run in runs:
        seed = [run, len(places), round(1000 * epsilon), *table.name.encode()]
        release = table_estimates.SimulatedRelease.drawn(table, epsilon, places, np.random.default_rng(seed))
        for name, estimate in table_estimates.estimates(release):
            found[name].append(_scores(table, estimate))
    return [
        Measured(table.name, answered, epsilon, name, *map(_errors, np.mean(scores, axis=0)))
        for name, scores in found.items()
    ]


def _errors(scores: Reals) -> SimulatedErrors:
    return SimulatedErrors(float(scores[0]), float(np.sqrt(scores[1])), float(scores[2]))


def _scores(table: table_estimates.TrueTable, estimate: table_estimates.Estimate) -> Reals:
    """Mean absolute and squared errors and coverage, of the cells, the margins and the sums."""
    margins = [table.sums(level) for level in table.inner]
    counts = table.counts, np.concatenate(margins), np.cumsum(table.counts)
    found = estimate.cells, np.concatenate(estimate.margins), estimate.sums
    errors = [away - true for away, true in zip(found, counts, strict=True)]
    covered = (
        _covered([estimate.cell_range] if estimate.cell_range else [], [table.counts]),
        _covered(estimate.margin_ranges, margins),
        math.nan,
    )
    return np.array(
        [[np.abs(error).mean(), np.square(error).mean(), share] for error, share in zip(errors, covered, strict=True)]
    )


def _covered(ranges: Sequence[table_estimates.Range], counts: Sequence[table_estimates.Counts]) -> float:
    """The share of the intervals that hold the count; nan without intervals."""
    if not ranges:
        return math.nan
    held = [(low <= true) & (true <= high) for (low, high), true in zip(ranges, counts, strict=True)]
    return float(np.concatenate(held).mean())


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    sys.stdout.write(csv_text(simulated(runs, done=lambda name: sys.stderr.write(f"{name}\n"))))
