"""What a database says when it refuses, in one line of ours."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from noisycount.errors import LedgerError
from noisycount.release.ledger.chain import Head
from noisycount.release.ledger.table import RESTORE

__all__ = ["refusals", "require_no_row"]

_ACCOUNT = "may not be used by this account; mend its permissions"
_BUSY = "is busy with other questions; wait and ask again"
_LOCKED = "is locked by another process; wait for it and ask again"
_READ_ONLY = "is read-only; make it writable"
_FULL = "has no room to grow; make room on the disk and ask again"
_DISK = "met a disk error; make room on the disk, or mend it, and ask again"
_DAMAGED = f"is damaged; {RESTORE}"
_UNKNOWN = "cannot be used; check that noisycount wrote it"
_NO_SERVER = "cannot be reached; check its address, its account, and that its server runs"
_DISTURBED = "was disturbed by another process or its server; ask again"

_SQLITE = {
    1: f"holds a ledger no more; {RESTORE}",
    3: _ACCOUNT,
    5: _LOCKED,
    6: _LOCKED,
    8: "is read-only; make the file and its folder writable",
    10: _DISK,
    11: _DAMAGED,
    13: _FULL,
    14: "cannot be opened; check that the file and its folder exist and may be used",
    23: _ACCOUNT,
    26: "is not a ledger; name another file",
}
"""By SQLite's primary result codes."""

_POSTGRESQL = {
    "08": _NO_SERVER,
    "25006": _READ_ONLY,
    "28": _ACCOUNT,
    "3D": "does not exist; make the database first",
    "42501": _ACCOUNT,
    "42P01": "holds no ledger; the first count makes it",
    "53100": _FULL,
    "53": "has a server that is busy; wait and ask again",
    "55P03": _LOCKED,
    "57": _DISTURBED,
    "58": _DISK,
    "40": _DISTURBED,
    "23505": _DISTURBED,
    "54": _DISK,
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
    "XX000": _DISK,
}
"""By PostgreSQL's error codes, or the two letters of their class."""


@contextmanager
def refusals(place: str) -> Iterator[None]:
    """Replace what the database of a ledger says by one line that names the ledger.

    Raises:
        LedgerError: The database refused.
    """
    try:
        yield
    except SQLAlchemyError as error:
        raise LedgerError(f"{place} {_reason(error)}") from None
    except UnicodeError:  # from the driver, which looks for the host before it connects
        raise LedgerError(f"{place} {_NO_SERVER}") from None
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else type(error).__name__
        raise LedgerError(
            f"{place} cannot be used ({why}); check its name, its folder and its disk"
        ) from None


def _reason(error: SQLAlchemyError) -> str:
    """What a refusal means to the owner of the ledger, and what to do about it."""
    if not isinstance(error, DBAPIError):
        return _BUSY if isinstance(error, PoolTimeout) else _UNKNOWN
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        return _SQLITE.get(code & 0xFF, _UNKNOWN)  # the rest is an extended code
    state = getattr(error.orig, "sqlstate", None)
    if isinstance(error.orig, sqlite3.OperationalError):
        return _DAMAGED  # a text that Python, not SQLite, could not read
    if state is None:
        return _NO_SERVER if isinstance(error, OperationalError) else _UNKNOWN
    return _POSTGRESQL.get(state, _POSTGRESQL.get(state[:2], _UNKNOWN))


def require_no_row(known_head: Head | None) -> None:
    """The refusal of a ledger that is not there, though its owner wrote down a row of it.

    Raises:
        LedgerError: It is such a one.
    """
    if known_head is not None and known_head.number:
        raise LedgerError(
            f"there is no ledger, though row {known_head.number} was written down; {RESTORE}"
        )
