"""How far off everybody's estimates of tables are, by simulation."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from noisycount.papers.simulation.estimates import Estimate, Range, SimulatedRelease, estimates
from noisycount.papers.simulation.results import EPSILONS, Measured, SimulatedErrors
from noisycount.papers.simulation.true_table import Counts, TrueTable, true_tables

__all__ = ["measured", "simulated"]


Reals = NDArray[np.float64]


def simulated(
    runs: int,
    tables: Sequence[TrueTable] | None = None,
    epsilons: Sequence[float] = EPSILONS,
    done: Callable[[str], None] = lambda _: None,
) -> Iterator[Measured]:
    """The errors of all estimates of all tables, of the cells alone and of several levels.

    Args:
        runs: How many releases of each.
        tables: The survey and those of laws, if not given.
        epsilons: Prices of a whole table.
        done: Told what has been simulated.
    """
    for table in true_tables() if tables is None else tables:
        for answered, places in (("cells", table.answered[-1:]), ("levels", table.answered)):
            for epsilon in epsilons:
                yield from measured(table, answered, places, epsilon, runs)
                done(f"{table.name}, {answered}, ε = {epsilon:g}")


def measured(
    table: TrueTable, answered: str, places: Sequence[int], epsilon: float, runs: int
) -> list[Measured]:
    """The errors of all estimates, over releases that the table, ε and their number determine."""
    found = defaultdict(list)
    for run in range(runs):
        seed = [run, len(places), round(1000 * epsilon), *table.name.encode()]
        release = SimulatedRelease.drawn(table, epsilon, places, np.random.default_rng(seed))
        for name, estimate in estimates(release):
            found[name].append(_scores(table, estimate))
    return [
        Measured(table.name, answered, epsilon, name, *map(_errors, np.mean(scores, axis=0)))
        for name, scores in found.items()
    ]


def _errors(scores: Reals) -> SimulatedErrors:
    return SimulatedErrors(float(scores[0]), float(np.sqrt(scores[1])), float(scores[2]))


def _scores(table: TrueTable, estimate: Estimate) -> Reals:
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
        [
            [np.abs(error).mean(), np.square(error).mean(), share]
            for error, share in zip(errors, covered, strict=True)
        ]
    )


def _covered(ranges: Sequence[Range], counts: Sequence[Counts]) -> float:
    """The share of the intervals that hold the count; nan without intervals."""
    if not ranges:
        return math.nan
    held = [
        (low <= true) & (true <= high) for (low, high), true in zip(ranges, counts, strict=True)
    ]
    return float(np.concatenate(held).mean())
