"""A copy of a ledger, and of what lies beside it, in a folder for its owner's eyes alone."""

import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from noisycount.app.config.config import Config
from noisycount.app.config.ledger_url import sqlite_url, url_seen_from
from noisycount.app.ledger.access import existing_ledger, verification
from noisycount.errors import ConfigError, LedgerError
from noisycount.release.ledger.address import Address
from noisycount.release.ledger.book import Verification
from noisycount.release.ledger.chain import Head
from noisycount.release.presence import state_at
from noisycount.release.register.copies import Copies

__all__ = ["Backup", "at_copy", "backed_up"]

_MADE_AGAIN = {"access.lock", "contents.json"}  # by whoever needs them
_OWNER_ALONE = 0o600


@dataclass(frozen=True, slots=True)
class Backup:
    """A ledger that was copied.

    Attributes:
        folder: Where the copy lies.
        ledger: The file that was copied.
        data: The folder beside it; None where nothing of it was copied.
        files: The names of what was copied of that.
        found: What became of reading the whole copy.
    """

    folder: Path
    ledger: Path
    data: Path | None
    files: tuple[str, ...]
    found: Verification

    @property
    def copy(self) -> Path:
        """The copy of the ledger."""
        return self.folder / self.ledger.name


def backed_up(
    configuration: Config, folder: Path, known_head: Head | None, *, with_copies: bool = False
) -> Backup:
    """A copy of the ledger as it is at one moment, and of what lies beside it, read once more.

    It appears whole or not at all.

    Args:
        configuration: Where the ledger is.
        folder: Where the copy is to lie; it must not be there yet.
        known_head: A head that the owner wrote down; the copy must hold that row.
        with_copies: Whether copies of texts are taken along, which can be made again.

    Raises:
        ConfigError: The ledger is on a server, or the folder is there or cannot be made.
        LedgerError: There is no ledger, or it cannot be read, or is not as it was written.
    """
    ledger = _file(configuration)
    if os.path.lexists(folder):
        raise ConfigError(f"DIR {str(folder)!r} exists already: name a new folder")
    with existing_ledger(configuration, anchored=False) as existing:
        if existing is None:
            raise LedgerError(
                f"there is no ledger at {str(ledger)!r} yet; the first count makes it"
            )
    with _whole(folder) as draft:
        _copy_ledger(configuration, ledger, draft / ledger.name)
        files = _copy_data(configuration.data_folder, draft, with_copies=with_copies)
        copied = replace(configuration, ledger_url=sqlite_url(draft.absolute() / ledger.name))
        found = verification(copied, known_head)
        if found is None:
            raise LedgerError(f"there is no ledger in {str(ledger)!r}; nothing was copied")
        if found.broken is not None:
            raise LedgerError(
                f"row {found.broken} of the ledger {found.why}; nothing was copied: keep the file "
                "under another name, and restore an older copy that holds every debit"
            )
    data = configuration.data_folder if files else None
    return Backup(folder, ledger, data, files, found)


def at_copy(configuration: Config, place: str) -> Config:
    """The configuration with another ledger, which is only read.

    Args:
        configuration: What it says of all else.
        place: An address, or the path of a file.

    Raises:
        ConfigError: There is no such file.
    """
    url = place
    if "://" in place:
        url = url_seen_from(Path.cwd(), place) or place
    else:
        file = f"file:{quote(str(Path(place).absolute()))}"
        url = f"sqlite:///{quote(file)}?mode=ro&uri=true"
    found = replace(configuration, ledger_url=url)
    if found.ledger_file is not None and not found.ledger_file.is_file():
        raise ConfigError(f"--ledger {str(found.ledger_file)!r} is no file: name a ledger's copy")
    return found


def _file(configuration: Config) -> Path:
    """The file of the ledger.

    Raises:
        ConfigError: It is on a server.
        LedgerError: Its address is no ledger's.
    """
    address = Address.read(configuration.ledger_url)
    if address.file is None or configuration.ledger_file is None:
        beside = configuration.data_folder
        also = f", and copy the folder {beside} too" if beside and beside.is_dir() else ""
        raise ConfigError(
            f"{address.place} is on a server, which is backed up as the database is: "
            f"`pg_dump --format=custom --file=ledger.dump DATABASE`{also}"
        )
    return configuration.ledger_file


@contextmanager
def _whole(folder: Path) -> Iterator[Path]:
    """A folder that takes its name once all is in it, and else leaves nothing.

    Raises:
        ConfigError: It cannot be made or written.
    """
    draft = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}.part")
    try:
        draft.mkdir(mode=0o700)
        yield draft
        for place in [*draft.rglob("*"), draft]:
            _keep(place)
        draft.rename(folder)
        _keep(folder.absolute().parent)
    except (OSError, sqlite3.Error) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"DIR {str(folder)!r} cannot be written ({why}): name a new folder elsewhere"
        ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _copy_ledger(configuration: Config, ledger: Path, copy: Path) -> None:
    """The copy of a SQLite file at one moment, whoever writes to it meanwhile."""
    _make_private(copy)
    mode = "rw" if os.access(ledger, os.W_OK) else "ro"  # what a crash left is rolled back
    wait = float(Address.read(configuration.ledger_url).wait)
    url = f"file:{quote(str(ledger.absolute()))}?mode={mode}"
    with (
        closing(sqlite3.connect(url, uri=True, timeout=wait)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)


def _copy_data(folder: Path | None, draft: Path, *, with_copies: bool) -> tuple[str, ...]:
    """The names of the files beside a ledger that were copied: keys and certificates."""
    if folder is None or state_at(folder) is None:
        return ()
    copies = {copy.path for copy in Copies(folder).all()}
    kept = [
        file
        for file in sorted(folder.iterdir())
        if file.is_file()
        and file.name not in _MADE_AGAIN
        and not file.name.startswith(".")
        and (with_copies or file not in copies)
    ]
    if kept:
        into = draft / folder.name
        into.mkdir(mode=0o700)
        for file in kept:
            _make_private(into / file.name)
            shutil.copyfile(file, into / file.name)
    return tuple(file.name for file in kept)


def _make_private(file: Path) -> None:
    """Make an empty file that its owner alone may read and write."""
    os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _OWNER_ALONE))


def _keep(place: Path) -> None:
    """Let a file or the names in a folder outlast a power cut."""
    if place.is_dir() and not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
