"""How a ledger comes to be: a file that appears whole, a server that keeps what it acknowledges."""

import errno
import os
import re
import secrets
import stat
import time
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection

from noisycount.errors import LedgerError
from noisycount.ledger.address import Address
from noisycount.ledger.chain import Head
from noisycount.ledger.storage import RESTORE, is_made, make, refusals, require_no_row, upgrade
from noisycount.validation import state_at

__all__ = ["check_server", "make_file", "make_table"]


_LONGEST_PART = 40  # of the ledger's name in the draft's, which may then be no longer than others


_ENDING = ".new"


_OWNER_ALONE = 0o600


_ABANDONED = 60  # seconds: a draft is written in a fraction of one


_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


def make_file(
    address: Address, file: Path, *, create: bool, known_head: Head | None = None
) -> None:
    """Make the file of a ledger if there is none and there shall be one.

    The file is made under another name and appears under its own when it is whole: so an empty
    file is never a new ledger, but one that lost what it held.

    Raises:
        LedgerError: There is no file, and none shall or can be made, or it is empty, or its owner
            wrote down a row of it.
    """
    with refusals(address.place):
        is_there = _is_there(address, file)
        if create and address.writable:
            _remove_abandoned(file)
        if is_there or not address.writable:
            return
    require_no_row(known_head)
    if not create:
        raise LedgerError(f"ledger {str(file)!r} does not exist; the first count makes it")
    draft = file.with_name(f"{file.name[:_LONGEST_PART]}.{secrets.token_hex(8)}{_ENDING}")
    try:
        with refusals(address.place):
            _make_draft(address, draft)
            _publish(draft, file)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _is_there(address: Address, file: Path) -> bool:
    """Whether there is a file, which is not empty, or only the folder for one.

    Raises:
        LedgerError: There is no folder, or the file is empty.
        OSError: The folder may not be looked into, or the name is too long.
    """
    folder, state = state_at(file.parent), state_at(file)
    if folder is None or not stat.S_ISDIR(folder.st_mode):
        raise LedgerError(f"ledger folder {str(file.parent)!r} does not exist; make it first")
    if state is not None and stat.S_ISREG(state.st_mode) and state.st_size == 0:
        raise LedgerError(
            f"{address.place} is empty, as no ledger is; {RESTORE}, or remove the file if"
            " nothing was asked yet"
        )
    return state is not None


def check_server(connection: Connection, place: str) -> None:
    """Refuse a PostgreSQL server that may lose what it acknowledges or cannot hold every text.

    Raises:
        LedgerError: The server is set up so.
    """
    if connection.dialect.name != "postgresql":
        return
    for setting, needed in (("fsync", "on"), ("server_encoding", "UTF8")):
        found = connection.exec_driver_sql(f"SHOW {setting}").scalar_one()
        if found != needed:
            raise LedgerError(
                f"{place} has a server whose {setting} is {found!r}; set it to {needed!r}"
            )


def make_table(connection: Connection, place: str) -> None:
    """Make the table on a server that has none, or bring an older file into this form.

    Raises:
        LedgerError: The file is no ledger.
    """
    if is_made(connection):
        return
    if connection.dialect.name != "sqlite":
        make(connection)
    elif not upgrade(connection):
        raise LedgerError(f"{place} is not a ledger; name another file")


def _make_draft(address: Address, draft: Path) -> None:
    """Make a ledger without rows, for its owner's eyes alone; its journal is made like it."""
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL, _OWNER_ALONE))
    engine = address.sqlite_engine(draft, "rwc").execution_options(writing=True)
    try:
        with engine.begin() as connection:
            make(connection)
    finally:
        engine.dispose()


def _publish(draft: Path, file: Path) -> None:
    """Give a file its own name, unless another process was quicker."""
    with suppress(FileExistsError):
        try:
            os.link(draft, file)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _copy(draft, file)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _copy(draft: Path, file: Path) -> None:
    """Write a file of the same content, where the disk knows no second names."""
    with open(file, "xb", opener=_owned) as copy:
        copy.write(draft.read_bytes())
        copy.flush()
        os.fsync(copy.fileno())


def _owned(path: str, flags: int) -> int:
    """A descriptor of a file that its owner alone may read and write."""
    return os.open(path, flags, _OWNER_ALONE)


def _remove_abandoned(file: Path) -> None:
    """Remove the drafts, and their journals, of makers that were killed."""
    stem = re.escape(file.name[:_LONGEST_PART])
    draft = re.compile(rf"{stem}\.[0-9a-f]{{16}}{re.escape(_ENDING)}(-journal)?")
    with suppress(OSError):  # an untidy folder is no reason to refuse
        for each in file.parent.iterdir():
            is_draft = draft.fullmatch(each.name) is not None
            if is_draft and each.stat().st_mtime + _ABANDONED < time.time():
                each.unlink()
