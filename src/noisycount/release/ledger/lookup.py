"""One debit of a ledger, without all others."""

from collections.abc import Sequence

from noisycount.release.ledger.arguments import check_text
from noisycount.release.ledger.entries import Entry, Request
from noisycount.release.ledger.ledger import Ledger
from noisycount.release.ledger.rows import entry_under, first_made

__all__ = ["entry_of_key", "entry_of_request"]


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


def entry_of_request(
    ledger: Ledger, request: Request, formers: Sequence[Request] = ()
) -> Entry | None:
    """The debit of a request, with its answer; None where it was not made.

    Args:
        ledger: An open one.
        request: What is asked, and at what price.
        formers: As for `Ledger.reserve`.

    Raises:
        LedgerError: The ledger cannot be read, or a row is not as it was written.
    """
    forms = request.forms(formers)
    return ledger.turns.found(lambda connection, book: first_made(connection, book, forms))
