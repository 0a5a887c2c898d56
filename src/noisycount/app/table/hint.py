"""What would cost less, or why something costs what it does; no data is read."""

from collections.abc import Iterator

from noisycount.app.count.spent import Spent
from noisycount.app.plan.paying import Paying
from noisycount.app.table.asked import Asked
from noisycount.app.table.one_group import one_group_words
from noisycount.release.budget.loss import Loss
from noisycount.release.remains import next_words
from noisycount.release.tables.plan import TablePlan
from noisycount.shown.numbers import approximately

__all__ = ["hints", "hints_after"]


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
            "--groups-per-unit 1 each person counts in one of their groups only"
            f"{one_group_words(plan)}"
        )
    if plan.is_replacement and plan.groups is not None and cells.sensitivity == 2 * plan.groups:
        yield (
            "the number of persons is public, so one person in the place of another leaves one "
            "group and enters another: that costs twice as much as where it is not public"
        )


def hints_after(spent: Spent, price: Loss) -> Iterator[str]:
    """What an answer with Gaussian noise would leave, before it is asked.

    Args:
        spent: What the budgets have paid so far.
        price: What it would cost.
    """
    if price.epsilon is not None:
        return
    left = next_words(spent.with_more(price).remains.remaining)
    accounts = [(spent.dataset.budget, spent.of_dataset), (spent.analyst.budget, spent.of_analyst)]
    payings = [Paying(budget, paid) for budget, paid in accounts if budget is not None]
    if any(paying.left_in_rho is not None for paying in payings):
        now = approximately(spent.remains.remaining)
        yield (
            "this would be the first answer with Gaussian noise: after it the ρ of all answers"
            f" count, not their ε, and {left}, not {now}"
        )
    else:
        yield f"after it {left}"
