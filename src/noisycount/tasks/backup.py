"""Backups of a ledger and of the files beside it, readable only by their owner, and the list of stored copies."""

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

from noisycount.catalog.catalog import part_name
from noisycount.catalog.folder import Copies, Copy
from noisycount.config.config import Config
from noisycount.config.places import resolve_ledger_url, sqlite_url
from noisycount.display.numbers import counted_noun, in_bytes, signed
from noisycount.display.output import Table, shortest_path_text
from noisycount.errors import ConfigError, LedgerError
from noisycount.frozen import frozen
from noisycount.ledger.address import LedgerAddress
from noisycount.ledger.entries import Head
from noisycount.ledger.verification import Verification
from noisycount.tasks.ledger import verification
from noisycount.tasks.opening import catalog_of, existing_ledger
from noisycount.validation import stat_or_none

_NOT_COPIED = {"access.lock", "contents.json"}  # files that are made again when they are needed
_OWNER_ALONE = 0o600


@frozen
class Backup:
    """A backup of a ledger."""

    folder: Path  # of the copy
    ledger: Path  # the copied file
    data: Path | None  # the folder beside the ledger; None if nothing of it was copied
    files: tuple[str, ...]  # names of the copied files of that folder
    verification: Verification  # verification of the whole copy

    @property
    def copy(self) -> Path:
        """Copy of the ledger."""
        return self.folder / self.ledger.name


def back_up(configuration: Config, folder: Path, known_head: Head | None, *, with_copies: bool = False) -> Backup:
    """Copy a ledger at one moment, and the files beside it, and verify the copy. An incomplete copy is removed.

    Raises:
        ConfigError: If the folder exists or cannot be written, or the ledger is on a server.
        LedgerError: If there is no ledger, or a row of it is broken.
    """
    ledger = _ledger_file(configuration)
    if os.path.lexists(folder):
        raise ConfigError(f"DIR {str(folder)!r} exists already: name a new folder")
    with existing_ledger(configuration, anchored=False) as existing:
        if existing is None:
            raise LedgerError(f"there is no ledger at {str(ledger)!r} yet: the first count creates it")
    with _complete_folder(folder) as draft:
        _copy_ledger(configuration, ledger, draft / ledger.name)
        files = _copy_data(configuration.data_folder, draft, with_copies=with_copies)
        copy_configuration = replace(configuration, ledger_url=sqlite_url(draft.absolute() / ledger.name))
        result = verification(copy_configuration, known_head)
        if result is None:
            raise LedgerError(f"nothing was copied, as {str(ledger)!r} holds no ledger: name the file of a ledger")
        if result.broken is not None:
            raise LedgerError(
                f"row {result.broken} of the ledger {result.why}; nothing was copied: keep the file "
                "under another name, and restore an older copy that has every debit"
            )
    data = configuration.data_folder if files else None
    return Backup(folder, ledger, data, files, result)


def with_ledger_at(configuration: Config, place: str) -> Config:
    """Return the configuration with another ledger, which is only read."""
    url = place
    if "://" in place:
        url = resolve_ledger_url(Path.cwd(), place) or place
    else:
        file = f"file:{quote(str(Path(place).absolute()))}"
        url = f"sqlite:///{quote(file)}?mode=ro&uri=true"
    copy_configuration = replace(configuration, ledger_url=url)
    if copy_configuration.ledger_file is not None and not copy_configuration.ledger_file.is_file():
        raise ConfigError(f"--ledger {str(copy_configuration.ledger_file)!r} is no file: name a ledger's copy")
    return copy_configuration


def _ledger_file(configuration: Config) -> Path:
    address = LedgerAddress.read(configuration.ledger_url)
    if address.file is None or configuration.ledger_file is None:
        data_folder = configuration.data_folder
        hint = f", and copy the folder {data_folder} too" if data_folder and data_folder.is_dir() else ""
        raise ConfigError(
            f"{address.place} is on a server, which is backed up as the database is: "
            f"`pg_dump --format=custom --file=ledger.dump DATABASE`{hint}"
        )
    return configuration.ledger_file


@contextmanager
def _complete_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder that takes its name when all files are in it. Remove it after an error."""
    draft = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}.part")
    try:
        draft.mkdir(mode=0o700)
        yield draft
        for path in [*draft.rglob("*"), draft]:
            _sync_to_disk(path)
        draft.rename(folder)
        _sync_to_disk(folder.absolute().parent)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"DIR {str(folder)!r} cannot be written ({reason}): name a new folder elsewhere") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _copy_ledger(configuration: Config, ledger: Path, copy: Path) -> None:
    """Copy a SQLite file at one moment, while others may write to it."""
    _restrict_to_owner(copy)
    mode = "rw" if os.access(ledger, os.W_OK) else "ro"  # with "rw", an unfinished transaction is rolled back
    wait = float(LedgerAddress.read(configuration.ledger_url).wait)
    url = f"file:{quote(str(ledger.absolute()))}?mode={mode}"
    with closing(sqlite3.connect(url, uri=True, timeout=wait)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)


def _copy_data(folder: Path | None, draft: Path, *, with_copies: bool) -> tuple[str, ...]:
    """Copy the files beside a ledger, such as keys and certificates, and return their names."""
    if folder is None or stat_or_none(folder) is None:
        return ()
    copies = {copy.path for copy in Copies(folder).all()}
    files = [
        file
        for file in sorted(folder.iterdir())
        if file.is_file()
        and file.name not in _NOT_COPIED
        and not file.name.startswith(".")
        and (with_copies or file not in copies)
    ]
    if files:
        target = draft / folder.name
        target.mkdir(mode=0o700)
        for file in files:
            _restrict_to_owner(target / file.name)
            shutil.copyfile(file, target / file.name)
    return tuple(file.name for file in files)


def _restrict_to_owner(file: Path) -> None:
    os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _OWNER_ALONE))


def _sync_to_disk(path: Path) -> None:
    """Write a file, or the names in a folder, to the disk."""
    if path.is_dir() and not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def backup_words(backup: Backup) -> str:
    """Return a sentence that names the copied files and their place."""
    data_words = ""
    if backup.data is not None:
        files = counted_noun("file", len(backup.files))
        data_words = f", with {files} of {shortest_path_text(backup.data)},"
    ledger = shortest_path_text(backup.ledger)
    return f"copied {ledger}{data_words} to {shortest_path_text(backup.folder.absolute())}"


def restore_commands(backup: Backup) -> list[str]:
    """Return the lines of a shell that restore the copy."""
    copy, ledger = backup.copy.absolute(), backup.ledger.absolute()
    lines = [f"cp -p {_shell_path(copy)} {_shell_path(ledger)}"]
    if backup.data is not None:
        data_copy = copy.with_name(backup.data.name)
        lines.append(f"cp -pR {_shell_path(data_copy)}/. {_shell_path(backup.data.absolute())}")
    return lines


def backup_json(backup: Backup) -> dict[str, Any]:
    """Return a backup as JSON."""
    return {
        "ledger": str(backup.ledger),
        "backup": str(backup.copy.absolute()),
        "files": list(backup.files),
        "rows": backup.verification.head.number,
        "head": str(backup.verification.head),
        "restore": restore_commands(backup),
    }


def _shell_path(path: Path) -> str:
    """Quote a path for a shell, without `~`, which a shell does not expand in quotation marks."""
    here = Path.cwd()
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))


_SHOWN = 12  # characters that distinguish names of files


@frozen
class CopyFolder:
    """The copies of files of texts in a data folder."""

    folder: Path | None
    copies: tuple[Copy, ...]

    @classmethod
    def find(cls, source: str | None, configuration: Config) -> "CopyFolder":
        """Return the copies of the data set `source`; None: the copies of all data sets."""
        account = None if source is None else configuration.dataset(source).account
        folder = configuration.data_folder
        if folder is None:
            return cls(None, ())
        with existing_ledger(configuration) as ledger:
            records = catalog_of(ledger, configuration).written
        owners = {name: name for name in (*records, account) if name}
        for name, record in records.items():
            owners |= {part_name(name, table): name for table in (*record.parts, *record.lookups)}
        copies = (replace(each, dataset=owners.get(each.dataset or "")) for each in Copies(folder).all(owners))
        return cls(folder, tuple(copy for copy in copies if account is None or copy.dataset == account))

    @property
    def table(self) -> Table:
        """Table with a row for each copy."""
        rows = [
            (
                "unknown" if copy.dataset is None else shortest_path_text(copy.dataset),
                in_bytes(copy.size),
                f"{copy.made:%Y-%m-%d %H:%M}",
                f"{copy.path.name[:_SHOWN]}…{copy.path.suffix}",
            )
            for copy in self.copies
        ]
        return ("data set", "size", "made (UTC)", "file"), rows

    def words(self, removed: int | None) -> str:
        """Return a sentence about the copies, or about those that were removed."""
        if removed is not None:
            size = in_bytes(sum(copy.size for copy in self.copies))
            return f"removed {_copies_text(removed)}, {size}; the next question makes what it needs again"
        if not self.copies or self.folder is None:
            return "no copies; a question about a file of texts makes one, once there is a ledger"
        return (
            f"{_copies_text(len(self.copies))} in {shortest_path_text(self.folder)}, for the owner's eyes "
            "alone; --remove removes them"
        )

    def to_dict(self, removed: int | None) -> dict[str, Any]:
        """Return the copies, or those that were removed, as JSON with sizes in bytes."""
        copies = [
            {"dataset": copy.dataset, "file": str(copy.path), "size": copy.size, "made": copy.made.isoformat()}
            for copy in self.copies
        ]
        return {"folder": None if self.folder is None else str(self.folder), "removed": removed, "copies": copies}


def _copies_text(copies: int) -> str:
    return f"{signed(copies)} {'copy' if copies == 1 else 'copies'}"
