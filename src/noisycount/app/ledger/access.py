"""Reading of a ledger where there is one; none is made."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from noisycount.app.config.config import Config
from noisycount.errors import LedgerError
from noisycount.release.ledger.address import Address
from noisycount.release.ledger.book import Verification
from noisycount.release.ledger.chain import Head
from noisycount.release.ledger.ledger import Entry, Ledger
from noisycount.release.ledger.refusals import require_no_row

__all__ = ["debits", "existing_ledger", "verification"]


def debits(configuration: Config) -> list[Entry]:
    """Every debit, oldest first; none where nothing was asked yet.

    Raises:
        LedgerError: The ledger cannot be read.
    """
    with existing_ledger(configuration) as ledger:
        return ledger.entries() if ledger else []


def verification(configuration: Config, known_head: Head | None) -> Verification | None:
    """What became of reading the whole ledger; None: there is none yet.

    Raises:
        LedgerError: The ledger cannot be read, or it is missing though its head was written down.
    """
    with existing_ledger(configuration, anchored=False) as ledger:
        if ledger is not None:
            return ledger.verify(known_head)
    require_no_row(known_head)
    return None


@contextmanager
def existing_ledger(
    configuration: Config, *, anchored: bool = True, makes: bool = False
) -> Iterator[Ledger | None]:
    """The ledger; None where nothing was asked yet.

    Args:
        configuration: Where the ledger is.
        anchored: Whether it must hold the row that the owner wrote down.
        makes: Whether to make it where a link leads to.

    Raises:
        LedgerError: The address is no ledger's, or the ledger cannot be read, or it is missing
            though its head was written down.
    """
    place = Address.read(configuration.ledger_url).file  # refuses what `Ledger.open` would
    known_head = configuration.known_head if anchored else None
    # A link that leads nowhere may lead to a disk not mounted: that is for the ledger to refuse.
    if place is not None and not _is_there(place) and known_head is None:
        yield None
        return
    create = makes and place is not None and known_head is None
    with Ledger.open(configuration.ledger_url, create=create, known_head=known_head) as ledger:
        yield ledger if ledger.is_made() else None


def _is_there(place: Path) -> bool:
    """Whether something lies there, be it a link that leads nowhere.

    Raises:
        LedgerError: Nobody may look.
    """
    try:
        place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        shown = repr(str(place))
        raise LedgerError(
            f"ledger {shown} cannot be opened ({error.strerror}): mend that"
        ) from None
    return True
