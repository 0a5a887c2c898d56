"""A count that a ledger keeps, read again: free, and without its records."""

from noisycount.app.config.config import Config
from noisycount.app.ledger.old_answer import entry_under_key
from noisycount.app.ledger.stored_count import StoredCount
from noisycount.errors import NoisyCountError
from noisycount.release.ledger.asked import asks_for_table
from noisycount.release.ledger.entries import Entry
from noisycount.shown.told import told_name

__all__ = ["stored_count", "stored_entry"]


def stored_entry(key: str, source: str | None, configuration: Config) -> Entry:
    """The debit under a key of the ledger, or under the one key that begins so.

    Args:
        key: As `noisycount count` told it.
        source: The data set that it is of, where that was said.
        configuration: Where the ledger is.

    Raises:
        NoisyCountError: There is no such debit, or it is of another data set.
    """
    entry = entry_under_key(key, configuration, "--key")
    if source is not None and configuration.dataset(source).account != entry.request.dataset:
        raise NoisyCountError(
            f"--key {key!r}: that is an answer about {told_name(entry.request.dataset)}: "
            f"leave {source!r} out"
        )
    return entry


def stored_count(key: str, source: str | None, configuration: Config) -> StoredCount:
    """The count under a key of the ledger.

    Args:
        key: As `noisycount count` told it, or the beginning of it.
        source: The data set that it is of, where that was said.
        configuration: Where the ledger is.

    Raises:
        NoisyCountError: There is no such count, it is of another data set, or has no answer yet.
    """
    entry = stored_entry(key, source, configuration)
    if asks_for_table(entry):
        raise NoisyCountError(
            f"--key {key!r}: that is a table, whose counts it knows: leave --size, --rate and "
            "--strata out"
        )
    found = StoredCount.of(entry)
    if found is None:
        raise NoisyCountError(f"--key {key!r}: there is no answer yet: ask the same question again")
    return found
