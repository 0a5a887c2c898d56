"""A data set as JSON."""

from typing import Any

from noisycount.app.config.config import Config
from noisycount.app.ledger.asked_words import asked_object
from noisycount.app.ledger.wire import answer_object, price_object
from noisycount.app.refine.tables.stored.rows import rows_member
from noisycount.app.show.view import View
from noisycount.release.budget.exact import exact_text
from noisycount.release.ledger.entries import Entry

__all__ = ["entry_object", "offer_object", "view_object"]


def offer_object(view: View) -> dict[str, Any]:
    """What anybody who may ask may know; budgets are exact texts."""
    dataset = view.dataset
    return {
        "dataset": dataset.name,
        "unit": view.unit,
        "size": dataset.size,
        "columns": {name: form.kind.value for name, form in view.columns.items()},
        "unreadable_as_missing": [
            name for name, form in view.columns.items() if form.accepts_unreadable
        ],
        **view.remains.object,
        "price": exact_text(view.price),
        "affordable": view.affordable,
    }


def view_object(view: View, configuration: Config) -> dict[str, Any]:
    """A data set; budgets are exact texts."""
    dataset, ledger = view.dataset, configuration.ledger_file
    return {
        "dataset": dataset.name,
        "source": str(dataset.source),
        **offer_object(view),
        "why": dataset.why,
        "ledger": None if ledger is None else str(ledger),
        "asked": [entry_object(entry) for entry in view.entries],
    }


def entry_object(entry: Entry) -> dict[str, Any]:
    """What was asked once, and answered."""
    return {
        "made": entry.made.isoformat(),
        **asked_object(entry),
        **price_object(entry),
        **answer_object(entry),
        **rows_member(entry),
        "analyst": entry.analyst,
        "key": entry.key,
    }
