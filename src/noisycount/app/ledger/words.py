"""What a ledger says, in words."""

from collections.abc import Sequence

from noisycount.app.config.config import Config
from noisycount.app.ledger.accounts import Account
from noisycount.app.terminal.printing import seen_from_here
from noisycount.errors import LedgerError
from noisycount.release.budget.exact import exact_text
from noisycount.release.ledger.entries import Entry
from noisycount.release.register.asked import asked_part
from noisycount.shown.numbers import signed

__all__ = [
    "account_header",
    "account_rows",
    "asked_where",
    "entry_header",
    "entry_rows",
    "place_words",
]


def place_words(configuration: Config) -> str:
    """Where the ledger is."""
    place = configuration.ledger_file
    return "on a server" if place is None else seen_from_here(place)


def account_header(owner: str, accounts: Sequence[Account]) -> tuple[str, ...]:
    """The names of the columns; budgets that are all sums of ε say so."""
    is_pure = all(account.in_epsilon for account in accounts)
    return owner, "budget ε" if is_pure else "budget", "spent", "left"


def account_rows(accounts: Sequence[Account]) -> list[tuple[str, ...]]:
    """What each data set or analyst may still spend."""
    return [(seen_from_here(account.name), *account.words) for account in accounts]


def entry_header(entries: Sequence[Entry]) -> tuple[str, ...]:
    """The names of the columns; who asked is told where there are several."""
    analyst = ("analyst",) if _has_several(entries) else ()
    return "when (UTC)", *analyst, "data set", "question", "ε", "answer"


def entry_rows(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    """Every debit, oldest first, with cells as `entry_header` names them."""
    has_several = _has_several(entries)
    return [
        (
            f"{entry.made:%Y-%m-%d %H:%M}",
            *([entry.analyst] if has_several else []),
            seen_from_here(entry.request.dataset),
            asked_where(entry),
            exact_text(entry.request.epsilon),
            "not given" if entry.answer is None else signed(entry.answer),
        )
        for entry in entries
    ]


def asked_where(entry: Entry) -> str:
    """The predicate of an entry.

    Raises:
        LedgerError: No command wrote the entry.
    """
    where = asked_part(entry, "where")
    if where is None:
        raise _forged(entry)
    return where


def _forged(entry: Entry) -> LedgerError:
    """The refusal of an entry that no command wrote."""
    return LedgerError(
        f"key {entry.key!r} of the ledger has a question that no noisycount wrote;"
        " `noisycount ledger export` shows it as it is"
    )


def _has_several(entries: Sequence[Entry]) -> bool:
    """Whether more than one analyst asked."""
    return any(entry.analyst != entries[0].analyst for entry in entries)
