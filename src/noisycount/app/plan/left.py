"""What a table that is planned leaves of a budget."""

from collections.abc import Sequence
from typing import Any

from noisycount.app.plan.paying import Paying
from noisycount.release.budget.exact import exact_text
from noisycount.release.remains import next_words
from noisycount.release.tables.plan import TablePlan
from noisycount.shown.numbers import approximately

__all__ = ["left_facts", "left_object"]


def left_facts(plans: Sequence[TablePlan], paying: Paying) -> list[tuple[str, str]]:
    """What one more answer may cost now, and after the table with each noise."""
    owner = paying.dataset or "the budget"
    now = f"{next_words(paying.left)} of {owner}"
    return [
        ("budget", f"{now} (budget {paying.budget.text})"),
        *(("", f"after this table with {_left_words(plan, paying)}") for plan in plans),
    ]


def left_object(plans: Sequence[TablePlan], paying: Paying | None) -> dict[str, Any]:
    """The same as JSON; null where no data set is named, or where a table is not paid for."""
    if paying is None:
        return {"dataset": None, "left": None, "left_after": None}
    after = [
        exact_text(paying.left_after(plan.loss)) if paying.admits(plan.loss) else None
        for plan in plans
    ]
    return {"dataset": paying.dataset, "left": exact_text(paying.left), "left_after": after}


def _left_words(plan: TablePlan, paying: Paying) -> str:
    """What one more answer may cost after the table, or why it is not paid for."""
    noise = f"{plan.levels[0].mechanism.name} noise"
    if paying.admits(plan.loss):
        return f"{noise}: up to {approximately(paying.left_after(plan.loss))}"
    obstacle = paying.budget.obstacle(plan.loss, paying.dataset or "")
    return f"{noise}: it is not paid for, as {obstacle or 'the price exceeds what is left'}"
