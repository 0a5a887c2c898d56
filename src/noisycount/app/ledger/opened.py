"""What a ledger has booked, where there is one."""

from collections.abc import Iterator
from contextlib import contextmanager

from noisycount.app.config.config import Config
from noisycount.release.ledger.address import Address
from noisycount.release.ledger.ledger import Entry, Ledger

__all__ = ["booked", "opened"]


def booked(configuration: Config) -> list[Entry]:
    """Every debit, oldest first; none where nothing was asked yet. No ledger is made.

    Raises:
        LedgerError: The ledger cannot be read.
    """
    with opened(configuration) as ledger:
        return ledger.entries() if ledger else []


@contextmanager
def opened(configuration: Config, *, anchored: bool = True) -> Iterator[Ledger | None]:
    """The ledger; None where nothing was asked yet. No ledger is made.

    Args:
        configuration: Where the ledger is.
        anchored: Whether it must hold the row that the owner wrote down.

    Raises:
        LedgerError: The address is no ledger's, or the ledger cannot be read, or it is missing
            though its head was written down.
    """
    place = Address.read(configuration.ledger_url).file  # refuses what `Ledger.open` would
    written = configuration.written if anchored else None
    # A link that leads nowhere may lead to a disk not mounted: that is for the ledger to refuse.
    if place is not None and not (place.exists() or place.is_symlink()) and written is None:
        yield None
        return
    with Ledger.open(configuration.ledger_url, create=False, written=written) as ledger:
        yield ledger if ledger.is_made() else None
