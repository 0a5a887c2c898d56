"""A data set in words."""

from fractions import Fraction

from noisycount.app.check.kinds import value_words
from noisycount.app.config.config import Config
from noisycount.app.ledger.asked_words import asked_words
from noisycount.app.ledger.old_answer import SHORTEST_KEY
from noisycount.app.ledger.stored_count import StoredCount
from noisycount.app.ledger.words import answer_words, place_words, price_name, price_words
from noisycount.app.show.view import View
from noisycount.app.terminal.printing import Facts, seen_from_here
from noisycount.release.budget.budgets import Budget
from noisycount.release.budget.exact import exact_text
from noisycount.release.ledger.entries import Entry
from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.release.remains import next_words
from noisycount.shown.numbers import approximately, plus_minus, signed

__all__ = [
    "COLUMN_HEADER",
    "CONFIDENCE",
    "budget_words",
    "column_rows",
    "entry_header",
    "entry_rows",
    "table_hint",
    "view_facts",
]

CONFIDENCE = 0.95
COLUMN_HEADER = ("column", "kind", "compare it with")


def view_facts(view: View, configuration: Config) -> Facts:
    """What is counted, and what is left to pay."""
    dataset = view.dataset
    counts = f"distinct values of {view.unit}" if view.unit else "rows"
    counts = counts if view.is_said else "rows or persons, as the first count says by --unit"
    public = f", of which there are {signed(dataset.size)}" if dataset.size else ""
    facts = [
        ("data set", seen_from_here(dataset.name)),
        ("source", seen_from_here(dataset.source)),
        ("counts", f"{counts}{public}"),
        ("budget", budget_words(view)),
        *([] if dataset.why is None else [("why", dataset.why)]),
        ("ledger", place_words(configuration)),
    ]
    return facts[1:] if dataset.name == str(dataset.source) else facts


def column_rows(view: View) -> list[tuple[str, ...]]:
    """One line a column, with cells as `COLUMN_HEADER` names them."""
    return [(name, value_words(form), form.kind.example) for name, form in view.columns.items()]


def entry_header(view: View) -> tuple[str, ...]:
    """The names of the columns of what was asked."""
    return "asked (UTC)", "question", price_name(view.entries), "answer (95 %)"


def entry_rows(view: View) -> list[tuple[str, ...]]:
    """What was asked, oldest first, with cells as `entry_header` names them."""
    return [
        (
            f"{entry.made:%Y-%m-%d %H:%M}",
            asked_words(entry),
            price_words(entry),
            _answer(entry),
        )
        for entry in view.entries
    ]


def table_hint(view: View) -> Facts:
    """How to see the counts of the newest table; nothing where none was answered."""
    tables = (entry for entry in reversed(view.entries) if isinstance(entry.answer, TableAnswer))
    newest = next(tables, None)
    if newest is None:
        return []
    how = (
        f"`noisycount refine --key {newest.key[:SHORTEST_KEY]}` tells the counts of "
        f"{asked_words(newest)}, each beside its keys; `show --json` has those of all tables, and "
        "the key of each"
    )
    return [("hint", how)]


def budget_words(view: View) -> str:
    """What is left, and what that pays for."""
    remains = view.remains
    left = _left(remains.dataset_budget, remains.of_dataset)
    if remains.quota is not None and remains.of_quota is not None:
        left = f"{left}, and of your own quota {_left(remains.quota, remains.of_quota)}"
    if view.affordable is None:
        return left
    number = f"{signed(view.affordable)}{' more' if view.entries else ''}"
    such = f"{number} such answer{'' if view.affordable == 1 else 's'}"
    pay = "it pays" if remains.quota is None else "both pay"
    return f"{left}: at ε = {exact_text(view.price)} {pay} for {such}"


def _left(budget: Budget, largest: Fraction) -> str:
    """What is left of a budget."""
    if not budget.is_a_sum:
        return f"{next_words(largest)} (budget {budget.text})"
    return f"{approximately(largest)} of {budget.text} left"


def _answer(entry: Entry) -> str:
    """A stored answer with its error."""
    count = StoredCount.of(entry)
    if count is None:
        return answer_words(entry)
    return f"{signed(count.answer)} {plus_minus(count.error(CONFIDENCE))}"
