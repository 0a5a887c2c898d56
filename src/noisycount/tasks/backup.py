"""The copy of a ledger and of what lies beside it, for its owner's eyes alone; the copies of files of texts there."""

import os
import secrets
import shlex
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from noisycount.catalog.folder import Copies, Copy
from noisycount.config.config import Config
from noisycount.config.places import resolve_ledger_url, sqlite_url
from noisycount.display.numbers import in_bytes, number_of, signed
from noisycount.display.output import Table, seen_from_here
from noisycount.errors import ConfigError, LedgerError
from noisycount.frozen import frozen
from noisycount.ledger.address import LedgerAddress
from noisycount.ledger.entries import Head
from noisycount.ledger.verification import Verification
from noisycount.tasks.opening import catalog_of, existing_ledger, verification
from noisycount.validation import stat_or_none

_MADE_AGAIN = {"access.lock", "contents.json"}  # by whoever needs them
_OWNER_ALONE = 0o600


@frozen
class Backup:
    """A ledger that was copied."""

    folder: Path  # where the copy lies
    ledger: Path  # the file that was copied
    data: Path | None  # the folder beside it; None where nothing of it was copied
    files: tuple[str, ...]  # the names of what was copied of that
    found: Verification  # what became of reading the whole copy

    @property
    def copy(self) -> Path:
        """The copy of the ledger."""
        return self.folder / self.ledger.name


def backed_up(configuration: Config, folder: Path, known_head: Head | None, *, with_copies: bool = False) -> Backup:
    """A copy of the ledger as it is at one moment, and of what lies beside it, read once more.

    It appears whole or not at all.
    """
    ledger = _file(configuration)
    if os.path.lexists(folder):
        raise ConfigError(f"DIR {str(folder)!r} exists already: name a new folder")
    with existing_ledger(configuration, anchored=False) as existing:
        if existing is None:
            raise LedgerError(f"there is no ledger at {str(ledger)!r} yet; the first count makes it")
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
    """The configuration with another ledger, which is only read."""
    url = place
    if "://" in place:
        url = resolve_ledger_url(Path.cwd(), place) or place
    else:
        file = f"file:{quote(str(Path(place).absolute()))}"
        url = f"sqlite:///{quote(file)}?mode=ro&uri=true"
    found = replace(configuration, ledger_url=url)
    if found.ledger_file is not None and not found.ledger_file.is_file():
        raise ConfigError(f"--ledger {str(found.ledger_file)!r} is no file: name a ledger's copy")
    return found


def _file(configuration: Config) -> Path:
    address = LedgerAddress.read(configuration.ledger_url)
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
    """A folder that takes its name once all is in it, and else leaves nothing."""
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
        raise ConfigError(f"DIR {str(folder)!r} cannot be written ({why}): name a new folder elsewhere") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _copy_ledger(configuration: Config, ledger: Path, copy: Path) -> None:
    """The copy of a SQLite file at one moment, whoever writes to it meanwhile."""
    _make_private(copy)
    mode = "rw" if os.access(ledger, os.W_OK) else "ro"  # what a crash left is rolled back
    wait = float(LedgerAddress.read(configuration.ledger_url).wait)
    url = f"file:{quote(str(ledger.absolute()))}?mode={mode}"
    with closing(sqlite3.connect(url, uri=True, timeout=wait)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)


def _copy_data(folder: Path | None, draft: Path, *, with_copies: bool) -> tuple[str, ...]:
    """The names of the files beside a ledger that were copied: keys and certificates."""
    if folder is None or stat_or_none(folder) is None:
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


def backup_words(backup: Backup) -> str:
    """What was copied where."""
    beside = ""
    if backup.data is not None:
        files = number_of("file", len(backup.files))
        beside = f", with {files} of {seen_from_here(backup.data)},"
    ledger = seen_from_here(backup.ledger)
    return f"copied {ledger}{beside} to {seen_from_here(backup.folder.absolute())}"


def restoring(backup: Backup) -> list[str]:
    """The lines that put the copy in place, for a shell."""
    copy, ledger = backup.copy.absolute(), backup.ledger.absolute()
    lines = [f"cp -p {_quoted(copy)} {_quoted(ledger)}"]
    if backup.data is not None:
        beside = copy.with_name(backup.data.name)
        lines.append(f"cp -pR {_quoted(beside)}/. {_quoted(backup.data.absolute())}")
    return lines


def backup_json(backup: Backup) -> dict[str, Any]:
    """The same for machines."""
    return {
        "ledger": str(backup.ledger),
        "backup": str(backup.copy.absolute()),
        "files": list(backup.files),
        "rows": backup.found.head.number,
        "head": str(backup.found.head),
        "restore": restoring(backup),
    }


def _quoted(place: Path) -> str:
    """A path as a shell reads it; no `~`, which quotes would keep from being read."""
    here = Path.cwd()
    return shlex.quote(str(place.relative_to(here) if place.is_relative_to(here) else place))


_SHOWN = 12  # characters of a name that tell files apart


@frozen
class CopyFolder:
    """Copies in one folder."""

    folder: Path | None
    copies: tuple[Copy, ...]

    @classmethod
    def of(cls, source: str | None, configuration: Config) -> "CopyFolder":
        """The copies of a data set; of all where none is named."""
        chosen = None if source is None else configuration.dataset(source).account
        folder = configuration.data_folder
        if folder is None:
            return cls(None, ())
        with existing_ledger(configuration) as ledger:
            written = catalog_of(ledger, configuration).written
        names = dict.fromkeys([*written, *(chosen,) * (chosen is not None)])
        copies = Copies(folder).all(filter(None, names))
        return cls(folder, tuple(c for c in copies if chosen is None or c.dataset == chosen))

    @property
    def table(self) -> Table:
        """One line a copy."""
        rows = [
            (
                "unknown" if copy.dataset is None else seen_from_here(copy.dataset),
                in_bytes(copy.size),
                f"{copy.made:%Y-%m-%d %H:%M}",
                f"{copy.path.name[:_SHOWN]}…{copy.path.suffix}",
            )
            for copy in self.copies
        ]
        return ("data set", "size", "made (UTC)", "file"), rows

    def words(self, removed: int | None) -> str:
        """What there is, or what was removed."""
        if removed is not None:
            size = in_bytes(sum(copy.size for copy in self.copies))
            return f"removed {_number(removed)}, {size}; the next question makes what it needs again"
        if not self.copies or self.folder is None:
            return "no copies; a question about a file of texts makes one, once there is a ledger"
        return (
            f"{_number(len(self.copies))} in {seen_from_here(self.folder)}, for the owner's eyes "
            "alone; --remove removes them"
        )

    def to_dict(self, removed: int | None) -> dict[str, Any]:
        """The copies, with their sizes in bytes; those that were there where they were removed."""
        copies = [
            {"dataset": each.dataset, "file": str(each.path), "size": each.size, "made": each.made.isoformat()}
            for each in self.copies
        ]
        return {"folder": None if self.folder is None else str(self.folder), "removed": removed, "copies": copies}


def _number(copies: int) -> str:
    return f"{signed(copies)} {'copy' if copies == 1 else 'copies'}"
