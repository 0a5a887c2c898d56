"""Our figures on refined tables: errors of cells, errors of sums of cells, and coverage of intervals.

The stored errors are in `simulation`.
"""

from collections.abc import Callable, Iterable
from operator import attrgetter

from noisycount.charts import theme
from noisycount.charts.plot import Line, Panel
from noisycount.charts.theme import GUIDE, STYLES, Style
from noisycount.papers.figure import Claim, Drawing, Verdict, number, percent
from noisycount.papers.simulation import EPSILONS, SimulatedErrors, TableErrors, result, results

_SOURCE = "stated before it was simulated"


_LEAST_COVERED = 0.93
_MORE_IN_SUMS = 1.05


_ENDS = EPSILONS[0], EPSILONS[-1]
_GUIDE = Line("", GUIDE, _ENDS, (_LEAST_COVERED, _LEAST_COVERED))

_COLOURS = (theme.VERMILION, theme.GREEN, theme.BLUE, theme.PURPLE, theme.INK, theme.MUTED)
_DASHES = (theme.SOLID, theme.LONG, theme.MIXED, theme.DOTS, theme.DENSE, theme.PAIRS)

Kind = Callable[[TableErrors], SimulatedErrors]
_cells: Kind = attrgetter("cells")
_margins: Kind = attrgetter("margins")
_sums: Kind = attrgetter("sums")


def tables() -> Drawing:
    """Return the figure of the mean absolute error of refined cells over that of the noisy cells."""
    return Drawing(
        _ratio_panels(("clamped", "flat posterior", "projected", "tree"), _cells),
        (_claim_error_ratio("Cells are never further off than projected ones.", "projected", _cells, 1),),
    )


def ranges() -> Drawing:
    """Return the figure of the mean absolute error of sums of refined cells over that of sums of noisy cells."""
    return Drawing(
        _ratio_panels(("independent", "flat posterior", "projected", "tree"), _sums),
        (
            _claim_error_ratio(
                "Sums are never further off than those of answers by more than 5 %.", "raw", _sums, _MORE_IN_SUMS
            ),
        ),
    )


def coverage() -> Drawing:
    """Return the figure of the share of intervals, for a learned prior, that contain the count."""
    panels = [
        Panel(f"{title}, {answered} answered", (*_coverage_lines(answered, kind), _GUIDE))
        for answered in ("cells", "levels")
        for title, kind in (("Cells", _cells), ("Margins", _margins))
    ]
    return Drawing(
        tuple(panels),
        (_claim_coverage(panels),),
    )


def _table_names() -> list[str]:
    """Return the names of the tables, in order."""
    return list(dict.fromkeys(errors.table for errors in results()))


def _ratio_panels(estimates: Iterable[str], kind: Kind) -> tuple[Panel, ...]:
    """Return a panel for each table: the errors of estimates over those of the noisy answers."""
    return tuple(
        Panel(
            table[:1].upper() + table[1:],
            (
                *(
                    Line.through(name, STYLES[name], [(e, _error_ratio(table, e, name, "raw", kind)) for e in EPSILONS])
                    for name in estimates
                ),
                Line("", GUIDE, _ENDS, (1, 1)),
            ),
        )
        for table in _table_names()
    )


def _error_ratio(table: str, epsilon: float, estimate: str, reference: str, kind: Kind) -> float:
    """Return the mean absolute error of one estimate over that of another."""
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


def _claim_error_ratio(says: str, reference: str, kind: Kind, limit: float) -> Claim:
    """Return the claim that the error of the tree is at most `limit` times that of another estimate."""
    ratios = {
        (table, epsilon): _error_ratio(table, epsilon, "tree", reference, kind)
        for table in _table_names()
        for epsilon in EPSILONS
    }
    (table, epsilon), largest = max(ratios.items(), key=lambda item: item[1])
    exceeding = sum(ratio > limit for ratio in ratios.values())
    return Claim(
        _SOURCE,
        says,
        f"over {len(ratios)} tables and prices its error is {number(min(ratios.values()))} to {number(largest)} times "
        f"that ({table}, ε = {epsilon:g}), in {exceeding} of them more than stated.",
        Verdict.of(*(ratio <= limit for ratio in ratios.values())),
    )


def _claim_coverage(panels: Iterable[Panel]) -> Claim:
    shares = [y for panel in panels for line in panel.lines if line.name for y in line.ys]
    too_small = sum(share < _LEAST_COVERED for share in shares)
    return Claim(
        _SOURCE,
        f"At least {percent(_LEAST_COVERED)} of the 95 % intervals hold the count.",
        f"of {len(shares)} cases {percent(min(shares))} to {percent(max(shares))}, {too_small} below.",
        Verdict.of(*(share >= _LEAST_COVERED for share in shares)),
    )
