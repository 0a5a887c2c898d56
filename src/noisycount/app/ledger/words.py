"""What a ledger says, in words."""

from collections.abc import Sequence

from noisycount.app.config.config import Config
from noisycount.app.ledger.accounts import Account
from noisycount.app.ledger.asked_words import asked_words, number_of
from noisycount.app.terminal.printing import seen_from_here
from noisycount.release.budget.exact import exact_text
from noisycount.release.ledger.book import Verification
from noisycount.release.ledger.chain import Head
from noisycount.release.ledger.entries import Entry
from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.shown.numbers import signed

__all__ = [
    "absent_words",
    "account_header",
    "account_rows",
    "answer_words",
    "entry_header",
    "entry_rows",
    "intact_words",
    "place_words",
    "price_name",
    "price_words",
]


def place_words(configuration: Config) -> str:
    """Where the ledger is."""
    place = configuration.ledger_file
    return "on a server" if place is None else seen_from_here(place)


def absent_words(configuration: Config) -> str:
    """What is told where there is no ledger, which is not one that was found intact."""
    place = configuration.ledger_file
    where = "on the server" if place is None else f"at {seen_from_here(place)}"
    return (
        f"There is no ledger {where} yet: nothing was asked, and nothing was verified. If something"
        " was asked, this is not where its ledger is: look for the noisycount.toml that names it."
    )


def intact_words(found: Verification, known_head: Head | None) -> str:
    """What is known of a ledger no row of which is broken.

    Whoever can write to a ledger can cut its newest rows off, and what is left is consistent: only
    a head that was written down elsewhere tells that rows are missing.

    Args:
        found: What reading it has told.
        known_head: The head that was written down; None: there was none to compare with.
    """
    rows, replies = _rows_words(found.head, known_head), found.older_replies
    if not replies:
        return rows
    return (
        f"{rows}; {replies:,} of the replies of a service {'are' if replies > 1 else 'is'} older"
        " than the rows for replies: each repeats an answer of the ledger, and nothing tells"
        " whether its other words were changed"
    )


def _rows_words(newest: Head, known_head: Head | None) -> str:
    """What is known of the rows."""
    if not newest.number:
        return "no row: nothing was asked yet, and nothing was verified"
    rows = number_of("row", newest.number)
    if known_head is None:
        return f"{rows}, consistent in themselves; not compared with a head that was written down"
    later = newest.number - known_head.number
    if not later:
        return f"{rows}, each as it was written: the last has the head that was written down"
    return (
        f"{rows}, each as it was written up to row {known_head.number:,}, which has the head that"
        f" was written down; the {later:,} after it are consistent in themselves"
    )


def account_header(owner: str, accounts: Sequence[Account]) -> tuple[str, ...]:
    """The names of the columns; budgets that are all sums of ε say so."""
    is_pure = all(account.in_epsilon for account in accounts)
    return owner, "budget ε" if is_pure else "budget", "spent", "left"


def account_rows(accounts: Sequence[Account]) -> list[tuple[str, ...]]:
    """What each data set or analyst may still spend."""
    return [(seen_from_here(account.name), *account.words) for account in accounts]


def entry_header(entries: Sequence[Entry]) -> tuple[str, ...]:
    """The names of the columns; who asked, and what for, where that tells something."""
    analyst = ("analyst",) if _has_several(entries) else ()
    purpose = ("purpose",) if _has_purposes(entries) else ()
    return "when (UTC)", *analyst, "data set", "question", price_name(entries), "answer", *purpose


def entry_rows(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    """Every debit, oldest first, with cells as `entry_header` names them."""
    has_several, has_purposes = _has_several(entries), _has_purposes(entries)
    return [
        (
            f"{entry.made:%Y-%m-%d %H:%M}",
            *([entry.analyst] if has_several else []),
            seen_from_here(entry.request.dataset),
            asked_words(entry),
            price_words(entry),
            answer_words(entry),
            *([entry.purpose or ""] if has_purposes else []),
        )
        for entry in entries
    ]


def price_name(entries: Sequence[Entry]) -> str:
    """The name of a column of prices, which says so where all are in ε alone."""
    is_pure = all(entry.request.epsilon and not entry.request.delta for entry in entries)
    return "ε" if is_pure else "price"


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
        return number_of("key", len(entry.answer.keys)) + " shown"
    return number_of("count", sum(map(len, entry.answer.levels)))


def _has_purposes(entries: Sequence[Entry]) -> bool:
    """Whether anybody said what an answer is for."""
    return any(entry.purpose is not None for entry in entries)


def _has_several(entries: Sequence[Entry]) -> bool:
    """Whether more than one analyst asked."""
    return any(entry.analyst != entries[0].analyst for entry in entries)
