"""One debit of a ledger, without all others."""

from noisycount.release.ledger.arguments import check_text
from noisycount.release.ledger.entries import Entry
from noisycount.release.ledger.ledger import Ledger
from noisycount.release.ledger.rows import entry_under

__all__ = ["entry_of_key"]


def entry_of_key(ledger: Ledger, key: str) -> Entry | None:
    """The debit under a key, with its answer; None where there is none.

    Args:
        ledger: An open one.
        key: What the asker called the request.

    Raises:
        ValueError: The key is not printable.
        LedgerError: The ledger cannot be read, or a row is not as it was written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        ...         entry_of_key(ledger, "mine") is None
        True
    """
    check_text("key", key)
    return ledger.turns.found(lambda connection, book: entry_under(connection, book, key))
