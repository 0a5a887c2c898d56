"""Our figures on refined tables: errors of cells, errors of sums of cells, and coverage of intervals.

`results` reads the stored errors of a simulation. In a clone of the project, `python -m audits.simulated_tables [RUNS]`
repeats it.
"""

import csv
from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from operator import attrgetter

from noisycount.charts import theme
from noisycount.charts.plot import Line, Panel
from noisycount.charts.theme import GUIDE, STYLES, Style
from noisycount.frozen import frozen
from noisycount.papers.figure import ClaimCheck, Drawing, extremes, percent

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


_LEAST_COVERED = 0.93
_MORE_IN_SUMS = 1.05


_ENDS = EPSILONS[0], EPSILONS[-1]
_GUIDE = Line(percent(_LEAST_COVERED), GUIDE, _ENDS, (_LEAST_COVERED, _LEAST_COVERED))

_COLOURS = (theme.VERMILION, theme.GREEN, theme.BLUE, theme.PURPLE, theme.INK, theme.MUTED)
_DASHES = (theme.SOLID, theme.LONG, theme.MIXED, theme.DOTS, theme.DENSE, theme.PAIRS)

Kind = Callable[[TableErrors], SimulatedErrors]
_cells: Kind = attrgetter("cells")
_margins: Kind = attrgetter("margins")
_sums: Kind = attrgetter("sums")


def errors_of_cells() -> Drawing:
    """Return the figure of a ratio: the mean absolute error of refined cells to that of noisy cells."""
    return Drawing(
        _ratio_panels(("clamped", "flat posterior", "projected", "tree"), _cells),
        (_check_error_ratio("projected", _cells, 1),),
    )


def errors_of_ranges() -> Drawing:
    """Return the figure of a ratio: the mean absolute error of sums of refined cells to that of sums of noisy cells."""
    return Drawing(
        _ratio_panels(("independent", "flat posterior", "projected", "tree"), _sums),
        (_check_error_ratio("raw", _sums, _MORE_IN_SUMS),),
    )


def coverage() -> Drawing:
    """Return the figure of the share of intervals, for a learned prior, that contain the count."""
    panels = [
        Panel(f"{title}, {answered} answered", (*_coverage_lines(answered, kind), _GUIDE))
        for answered in ("cells", "levels")
        for title, kind in (("Cells", _cells), ("Margins", _margins))
    ]
    return Drawing(tuple(panels), (_check_coverage(panels),))


def _table_names() -> list[str]:
    """Return the names of the tables, in order."""
    return list(dict.fromkeys(errors.table for errors in results()))


def _ratio_panels(estimates: Iterable[str], kind: Kind) -> tuple[Panel, ...]:
    """Return a panel for each table: the ratios of the errors of estimates to those of the noisy answers."""
    panels = []
    for table in _table_names():
        lines = [
            Line.through(name, STYLES[name], [(e, _error_ratio(table, e, name, "raw", kind)) for e in EPSILONS])
            for name in estimates
        ]
        panels.append(Panel(table[:1].upper() + table[1:], (*lines, Line("raw answers", GUIDE, _ENDS, (1, 1)))))
    return tuple(panels)


def _error_ratio(table: str, epsilon: float, estimate: str, reference: str, kind: Kind) -> float:
    """Return the ratio of the mean absolute error of one estimate to that of another."""
    numerator, denominator = (kind(result(table, "cells", epsilon, name)) for name in (estimate, reference))
    return numerator.mean_absolute / denominator.mean_absolute


def _coverage_lines(answered: str, kind: Kind) -> list[Line]:
    """Return the coverage of the intervals of the tree estimate against ε, a line for each table."""
    lines = []
    for table, style in zip(_table_names(), map(Style, _COLOURS, _DASHES), strict=True):
        points = [
            (errors.epsilon, kind(errors).covered)
            for errors in results()
            if (errors.table, errors.answered, errors.estimate) == (table, answered, "tree")
        ]
        lines.append(Line.through(table, style, points))
    return lines


def _check_error_ratio(reference: str, kind: Kind, limit: float) -> ClaimCheck:
    """Check the claim that the error of the tree is at most `limit` times that of another estimate."""
    ratios = {
        (table, epsilon): _error_ratio(table, epsilon, "tree", reference, kind)
        for table in _table_names()
        for epsilon in EPSILONS
    }
    table, epsilon = max(ratios, key=lambda case: ratios[case])
    return ClaimCheck(
        {
            "cases": len(ratios),
            "ratios": extremes(ratios.values()),
            "table": table,
            "epsilon": epsilon,
            "exceeding": sum(ratio > limit for ratio in ratios.values()),
        },
        [ratio <= limit for ratio in ratios.values()],
    )


def _check_coverage(panels: Iterable[Panel]) -> ClaimCheck:
    shares = [y for panel in panels for line in panel.lines if line is not _GUIDE for y in line.ys]
    return ClaimCheck(
        {"cases": len(shares), "shares": extremes(shares), "too_few": sum(share < _LEAST_COVERED for share in shares)},
        [share >= _LEAST_COVERED for share in shares],
    )
