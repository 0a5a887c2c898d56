"""A data set as JSON."""

from typing import Any

from noisycount.app.config.config import Config
from noisycount.app.ledger.asked_words import asked_object
from noisycount.app.ledger.wire import answer_object, price_object
from noisycount.app.show.view import View
from noisycount.release.budget.exact import exact_text

__all__ = ["view_object"]


def view_object(view: View, configuration: Config) -> dict[str, Any]:
    """A data set; budgets are exact texts."""
    dataset, ledger = view.dataset, configuration.ledger_file
    return {
        "dataset": dataset.name,
        "source": str(dataset.source),
        "unit": view.unit,
        "size": dataset.size,
        "columns": {name: form.kind.value for name, form in view.columns.items()},
        "unreadable_as_missing": [
            name for name, form in view.columns.items() if form.accepts_unreadable
        ],
        "budget": dataset.budget.written,
        "remaining": exact_text(view.remaining),
        "price": exact_text(view.price),
        "affordable": view.affordable,
        "ledger": None if ledger is None else str(ledger),
        "asked": [
            {
                "made": entry.made.isoformat(),
                **asked_object(entry),
                **price_object(entry),
                **answer_object(entry),
                "analyst": entry.analyst,
                "key": entry.key,
            }
            for entry in view.entries
        ],
    }
