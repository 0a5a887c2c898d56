"""Simulation of releases of tables whose counts are known, and the errors of all estimates of them.

`python -m audits.simulated_tables [RUNS]` prints the errors that `noisycount.papers.our_tables` stores, as CSV. The
estimates are in `table_estimates`.
"""

import csv
import io
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from audits import table_estimates
from noisycount.papers.our_tables import EPSILONS, RUNS, SimulatedErrors, TableErrors

__all__ = ["csv_text", "measured", "simulated"]

Reals = NDArray[np.float64]
_KINDS = ("cells", "margins", "sums")
_PARTS = ("mean absolute error", "root mean squared error", "covered")
_HEADER = ("table", "answered", "epsilon", "estimate")


def csv_text(measured: Iterable[TableErrors]) -> str:
    """Return errors as comma-separated values, in records with four significant digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_HEADER, *(f"{part} of {kind}" for kind in _KINDS for part in _PARTS)])
    for row in measured:
        errors = (row.cells, row.margins, row.sums)
        numbers = [
            "" if number != number else f"{number:.4g}"  # noqa: PLR0124  (nan: no intervals)
            for error in errors
            for number in (error.mean_absolute, error.root_mean_square, error.covered)
        ]
        writer.writerow([row.table, row.answered, row.epsilon, row.estimate, *numbers])
    return text.getvalue()


def simulated(
    runs: int,
    tables: Sequence[table_estimates.TrueTable] | None = None,
    epsilons: Sequence[float] = EPSILONS,
    done: Callable[[str], object] = lambda _: None,
) -> Iterator[TableErrors]:
    """Yield the errors of all estimates of all tables, both if only the cells are answered and if several levels are.

    Args:
        runs: The number of releases of each table.
        tables: The tables; by default those of `table_estimates.true_tables`.
        epsilons: The ε of a whole table.
        done: Called with a description of each finished setting.
    """
    for table in table_estimates.true_tables() if tables is None else tables:
        for answered, level_numbers in (("cells", table.answered[-1:]), ("levels", table.answered)):
            for epsilon in epsilons:
                yield from measured(table, answered, level_numbers, epsilon, range(runs))
                done(f"{table.name}, {answered}, ε = {epsilon:g}")


def measured(
    table: table_estimates.TrueTable, answered: str, level_numbers: Sequence[int], epsilon: float, runs: range
) -> list[TableErrors]:
    """Return the errors of all estimates, over releases whose seeds depend only on the table, ε and the run number."""
    run_scores = defaultdict(list)
    for run in runs:
        seed = [run, len(level_numbers), round(1000 * epsilon), *table.name.encode()]
        release = table_estimates.SimulatedRelease.draw(table, epsilon, level_numbers, np.random.default_rng(seed))
        for name, estimate in table_estimates.estimates(release):
            run_scores[name].append(_scores(table, estimate))
    return [
        TableErrors(table.name, answered, epsilon, name, *map(_errors_from_scores, np.mean(scores, axis=0)))
        for name, scores in run_scores.items()
    ]


def _errors_from_scores(scores: Reals) -> SimulatedErrors:
    return SimulatedErrors(float(scores[0]), float(np.sqrt(scores[1])), float(scores[2]))


def _scores(table: table_estimates.TrueTable, estimate: table_estimates.Estimate) -> Reals:
    """Return a row for cells, margins and sums: mean absolute error, mean squared error, coverage; shape (3, 3)."""
    margins = [table.sums(level) for level in table.inner]
    counts = table.counts, np.concatenate(margins), np.cumsum(table.counts)
    estimated = estimate.cells, np.concatenate(estimate.margins), estimate.sums
    errors = [estimates - true for estimates, true in zip(estimated, counts, strict=True)]
    covered = (
        _coverage([estimate.cell_range] if estimate.cell_range else [], [table.counts]),
        _coverage(estimate.margin_ranges, margins),
        math.nan,
    )
    return np.array(
        [[np.abs(error).mean(), np.square(error).mean(), share] for error, share in zip(errors, covered, strict=True)]
    )


def _coverage(ranges: Sequence[table_estimates.Range], counts: Sequence[table_estimates.Counts]) -> float:
    """Return the share of the intervals that contain the count; nan without intervals."""
    if not ranges:
        return math.nan
    is_inside = [(low <= true) & (true <= high) for (low, high), true in zip(ranges, counts, strict=True)]
    return float(np.concatenate(is_inside).mean())


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    sys.stdout.write(csv_text(simulated(runs, done=lambda name: sys.stderr.write(f"{name}\n"))))
