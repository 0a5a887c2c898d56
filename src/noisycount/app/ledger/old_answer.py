"""What a plan takes from a ledger: an old answer as a guess, and what is left of a budget."""

from dataclasses import dataclass

from noisycount.app.config.config import Config
from noisycount.app.ledger.access import debits
from noisycount.app.ledger.asked_words import asked_words
from noisycount.app.ledger.words import answer_words
from noisycount.errors import NoisyCountError
from noisycount.release.budget.loss import Loss
from noisycount.release.ledger.asked import asks_for_table
from noisycount.release.ledger.entries import Entry
from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.shown.told import told_name

__all__ = [
    "SHORTEST_KEY",
    "OldAnswer",
    "answered_words",
    "entry_under_key",
    "old_answer",
    "spent_of",
]

SHORTEST_KEY = 6
"""So many characters of a key tell it from others."""


@dataclass(frozen=True, slots=True)
class OldAnswer:
    """An answer that was published before, as a guess.

    Attributes:
        answer: In units, above 0.
        words: What was asked, when, and of which data set.
    """

    answer: int
    words: str


def old_answer(key: str, configuration: Config) -> OldAnswer:
    """The answer under a key of the ledger, or under the one key that begins so.

    Raises:
        NoisyCountError: There is no such answer, or it is no guess.
    """
    entry = entry_under_key(key, configuration, "--guess-from")
    if isinstance(entry.answer, TableAnswer) or asks_for_table(entry):
        raise NoisyCountError(
            f"--guess-from {key!r}: that is a table, and a guess is one count: give --guess instead"
        )
    if entry.answer is None or entry.answer <= 0:
        answer = "there is no answer yet" if entry.answer is None else f"{entry.answer} is no guess"
        raise NoisyCountError(
            f"--guess-from {key!r}: {answer}, as a guess is above 0: give --guess instead"
        )
    return OldAnswer(entry.answer, answered_words(entry))


def entry_under_key(key: str, configuration: Config, option: str) -> Entry:
    """The debit under a key of the ledger, or under the one key that begins so.

    Raises:
        NoisyCountError: There is no such debit, or too little of its key is given.
    """
    found = _entries_of(key, debits(configuration))
    if len(found) == 1:
        return found[0]
    if len(key) < SHORTEST_KEY:
        raise NoisyCountError(
            f"{option} {key!r}: a key must begin with {SHORTEST_KEY} of its characters or more; "
            "`noisycount ledger show --json` lists the keys"
        )
    several = "the keys of several answers begin so" if found else "the ledger has no such key"
    raise NoisyCountError(
        f"{option} {key!r}: {several}; `noisycount ledger show --json` lists the keys"
    )


def answered_words(entry: Entry) -> str:
    """What was answered, when, and of which data set."""
    answered = "nothing" if entry.answer is None else answer_words(entry)
    return (
        f"{answered} was answered on {entry.made:%Y-%m-%d} and is paid for: {asked_words(entry)} "
        f"in {told_name(entry.request.dataset)}"
    )


def spent_of(name: str, configuration: Config) -> Loss:
    """What the answers about a data set have cost together.

    Raises:
        NoisyCountError: There is no such data set, or the ledger cannot be read.
    """
    dataset = configuration.dataset(name)
    spent = [
        entry.spent for entry in debits(configuration) if entry.request.dataset == dataset.account
    ]
    return spent[-1] if spent else Loss()


def _entries_of(key: str, entries: list[Entry]) -> list[Entry]:
    """The entry of that key, or all whose keys begin so if that is long enough to tell."""
    exact = [entry for entry in entries if entry.key == key]
    if exact or len(key) < SHORTEST_KEY:
        return exact
    return [entry for entry in entries if entry.key.startswith(key)]
