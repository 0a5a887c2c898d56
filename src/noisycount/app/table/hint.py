"""What would cost less, or why something costs what it does; no data is read."""

from collections.abc import Iterator
from fractions import Fraction

from noisycount.app.table.asked import Asked
from noisycount.release.tables.table_plan import TablePlan

__all__ = ["hints"]


def hints(plan: TablePlan, unit: str | None, asked: Asked) -> Iterator[str]:
    """What follows from the plan of a table.

    Args:
        plan: Its noise.
        unit: The column that names the person; None: every record is one unit.
        asked: What was typed.
    """
    cells = plan.levels[0]
    moves = 2 if plan.is_replacement else 1
    in_all = plan.groups is None and cells.sensitivity > moves
    if in_all and unit is not None and asked.by:
        yield (
            f"one person may be in all {cells.size:,} groups, which the noise must hide; with "
            "--groups-per-unit 1 each person counts in one of their groups only, and the same "
            f"error costs {Fraction(moves, cells.sensitivity)} of the price"
        )
    if asked.cumulative and plan.groups != 1:
        yield (
            "there are no sums so far, as one person may be in several groups: add "
            "--groups-per-unit 1"
        )
    if plan.is_replacement and plan.groups is not None and cells.sensitivity == 2 * plan.groups:
        yield (
            "the number of persons is public, so one person in the place of another leaves one "
            "group and enters another: that costs twice as much as where it is not public"
        )
