"""What a ledger says, in words."""

from collections.abc import Sequence

from noisycount.app.config.config import Config
from noisycount.app.ledger.accounts import Account
from noisycount.app.terminal.printing import seen_from_here
from noisycount.errors import LedgerError
from noisycount.release.budget.exact import exact_text
from noisycount.release.ledger.entries import Entry
from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.release.register.asked import asked_part
from noisycount.shown.numbers import signed

__all__ = [
    "account_header",
    "account_rows",
    "answer_words",
    "asked_where",
    "entry_header",
    "entry_rows",
    "place_words",
    "price_words",
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
    in_epsilon = all(entry.request.epsilon is not None for entry in entries)
    price = "ε" if in_epsilon and not any(entry.request.delta for entry in entries) else "price"
    return "when (UTC)", *analyst, "data set", "question", price, "answer"


def entry_rows(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    """Every debit, oldest first, with cells as `entry_header` names them."""
    has_several = _has_several(entries)
    return [
        (
            f"{entry.made:%Y-%m-%d %H:%M}",
            *([entry.analyst] if has_several else []),
            seen_from_here(entry.request.dataset),
            asked_where(entry),
            price_words(entry),
            answer_words(entry),
        )
        for entry in entries
    ]


def price_words(entry: Entry) -> str:
    """What an entry cost: its ε alone where that is all."""
    request = entry.request
    if request.epsilon is None or request.delta:
        return request.price.text
    return exact_text(request.epsilon)


def answer_words(entry: Entry) -> str:
    """What was answered, without its error."""
    if not isinstance(entry.answer, TableAnswer):
        return "not given" if entry.answer is None else signed(entry.answer)
    if entry.answer.keys is not None:
        return _number_of("key", len(entry.answer.keys)) + " shown"
    return _number_of("count", sum(map(len, entry.answer.levels)))


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


def _number_of(noun: str, number: int) -> str:
    return f"{signed(number)} {noun}{'' if number == 1 else 's'}"


def _has_several(entries: Sequence[Entry]) -> bool:
    """Whether more than one analyst asked."""
    return any(entry.analyst != entries[0].analyst for entry in entries)
