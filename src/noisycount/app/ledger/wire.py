"""What a ledger says, as JSON."""

from collections.abc import Sequence
from typing import Any

from noisycount.app.config.config import Config
from noisycount.app.ledger.accounts import Account, accounts_of_analysts, accounts_of_datasets
from noisycount.release.budget.exact import exact_text
from noisycount.release.ledger.book import Verification
from noisycount.release.ledger.chain import Head
from noisycount.release.ledger.entries import Entry

__all__ = ["ledger_object", "rows_object", "verification_object"]

Object = dict[str, Any]


def ledger_object(configuration: Config, entries: Sequence[Entry]) -> Object:
    """Every debit, and what each data set and analyst may still spend."""
    datasets = accounts_of_datasets(configuration, entries)
    analysts = accounts_of_analysts(configuration, entries)
    return {
        "ledger": _place(configuration),
        "datasets": _account_objects("dataset", datasets),
        "analysts": _account_objects("analyst", analysts),
        "entries": _entry_objects(entries),
    }


def verification_object(configuration: Config, found: Verification) -> Object:
    """Whether every row is as it was written."""
    return {
        "ledger": _place(configuration),
        "intact": found.broken is None,
        "head": str(found.head),
        "broken": found.broken,
        "why": found.why or None,
    }


def rows_object(rows: Sequence[Object]) -> Object:
    """Every row of a ledger, and its head."""
    head = Head(rows[-1]["number"], rows[-1]["hash"]) if rows else Head()
    return {"head": str(head), "rows": list(rows)}


def _place(configuration: Config) -> str | None:
    """The file of the ledger; None for a server."""
    place = configuration.ledger_file
    return None if place is None else str(place)


def _account_objects(kind: str, accounts: Sequence[Account]) -> list[Object]:
    """What each data set or analyst may spend; `remaining` is what one more answer may cost."""
    return [
        {
            kind: account.name,
            "budget": None if account.budget is None else account.budget.written,
            "spent": exact_text(account.spent.epsilon),
            "spent_rho": exact_text(account.spent.rho),
            "remaining": None if account.left is None else exact_text(account.left),
        }
        for account in accounts
    ]


def _entry_objects(entries: Sequence[Entry]) -> list[Object]:
    """The debits of a ledger, oldest first."""
    return [
        {
            "made": entry.made.isoformat(),
            "key": entry.key,
            "dataset": entry.request.dataset,
            "question": entry.request.question,
            "epsilon": exact_text(entry.request.epsilon),
            "spent": exact_text(entry.spent.epsilon),
            "spent_rho": exact_text(entry.spent.rho),
            "analyst": entry.analyst,
            "analyst_spent": exact_text(entry.analyst_spent.epsilon),
            "answer": entry.answer,
        }
        for entry in entries
    ]
