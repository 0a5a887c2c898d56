"""What a ledger has booked, where there is one."""

from noisycount.app.config import Config
from noisycount.release.ledger import Entry, Ledger

__all__ = ["booked"]


def booked(configuration: Config) -> list[Entry]:
    """Every debit, oldest first; none where nothing was asked yet. No ledger is made.

    Raises:
        LedgerError: The ledger cannot be read.
    """
    place = configuration.ledger_file
    if place is not None and not (place.exists() and place.stat().st_size):
        return []
    with Ledger.open(configuration.ledger_url, create=False) as ledger:
        return ledger.entries()
