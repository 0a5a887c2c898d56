"""What a ledger says, as JSON."""

import json
from collections.abc import Sequence
from typing import Any

from noisycount.app.config.config import Config
from noisycount.app.ledger.accounts import Account, accounts_of_analysts, accounts_of_datasets
from noisycount.release.budget.exact import exact_text, optional_text
from noisycount.release.budget.loss import Loss
from noisycount.release.ledger.asked import asked_of
from noisycount.release.ledger.book import Verification
from noisycount.release.ledger.chain import Head
from noisycount.release.ledger.entries import Entry
from noisycount.release.ledger.table_answer import TableAnswer

__all__ = [
    "account_objects",
    "answer_object",
    "ledger_object",
    "price_object",
    "repeat_objects",
    "rows_object",
    "verification_object",
]

Object = dict[str, Any]


def ledger_object(configuration: Config, entries: Sequence[Entry]) -> Object:
    """Every debit, and what each data set and analyst may still spend."""
    datasets = accounts_of_datasets(configuration, entries)
    analysts = accounts_of_analysts(configuration, entries)
    return {
        "ledger": _place(configuration),
        "datasets": account_objects("dataset", datasets),
        "analysts": account_objects("analyst", analysts),
        "entries": _entry_objects(entries),
    }


def verification_object(
    configuration: Config, found: Verification | None, known_head: Head | None
) -> Object:
    """Whether every row is as it was written, as far as a head that was written down tells.

    Args:
        configuration: Where the ledger is.
        found: What became of reading it; None: there is none yet.
        known_head: The head that was compared.
    """
    if found is None:
        names = ("intact", "compared", "head", "broken", "why", "older_replies")
        return {"ledger": _place(configuration), **dict.fromkeys(names)}
    return {
        "ledger": _place(configuration),
        "intact": found.broken is None,
        "compared": None if known_head is None else str(known_head),
        "head": str(found.head),
        "broken": found.broken,
        "why": found.why or None,
        "older_replies": found.older_replies,
    }


def rows_object(rows: Sequence[Object]) -> Object:
    """Every row of a ledger, and its head."""
    head = Head(rows[-1]["number"], rows[-1]["hash"]) if rows else Head()
    return {"head": str(head), "rows": list(rows)}


def _place(configuration: Config) -> str | None:
    """The file of the ledger; None for a server."""
    place = configuration.ledger_file
    return None if place is None else str(place)


def account_objects(kind: str, accounts: Sequence[Account]) -> list[Object]:
    """What each data set or analyst may spend; `remaining` is what one more answer may cost."""
    return [
        {
            kind: account.name,
            "budget": None if account.budget is None else account.budget.written,
            **_spent_object(account.spent),
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
            "question": _question(entry),
            **price_object(entry),
            **_spent_object(entry.spent),
            "analyst": entry.analyst,
            "analyst_spent": optional_text(entry.analyst_spent.epsilon),
            "purpose": entry.purpose,
            "repeats": repeat_objects(entry),
            **answer_object(entry),
        }
        for entry in entries
    ]


def repeat_objects(entry: Entry) -> list[Object]:
    """Who else asked for the same answer later, free of charge."""
    return [
        {"analyst": each.analyst, "made": each.made.isoformat(), "purpose": each.purpose}
        for each in entry.repeats
    ]


def _question(entry: Entry) -> str:
    """What was asked, as the ledger holds it, without the hash of the records' content."""
    told = {name: of for name, of in asked_of(entry).items() if name != "version"}
    return json.dumps(told, sort_keys=True) if told else entry.request.question


def price_object(entry: Entry) -> Object:
    """What an entry cost; ρ and δ where they were charged, and no ε then where there is none."""
    request = entry.request
    told: Object = {"epsilon": optional_text(request.epsilon)}
    if request.rho is not None:
        told["rho"] = exact_text(request.rho)
    if request.delta:
        told["delta"] = exact_text(request.delta)
    return told


def answer_object(entry: Entry) -> Object:
    """A count, or the counts of each level of a table with the keys that it shows."""
    if not isinstance(entry.answer, TableAnswer):
        return {"answer": entry.answer}
    counts = [level.tolist() for level in entry.answer.levels]
    keys = {} if entry.answer.keys is None else {"keys": entry.answer.keys}
    return {"answer": counts, **keys}


def _spent_object(spent: Loss) -> Object:
    """What was spent in all; δ where there was any."""
    told: Object = {"spent": optional_text(spent.epsilon), "spent_rho": exact_text(spent.rho)}
    if spent.delta:
        told["spent_delta"] = exact_text(spent.delta)
    return told
