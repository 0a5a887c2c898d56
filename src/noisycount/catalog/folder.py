"""Private folder beside a ledger: certificates of engines, and copies of text files as Parquet.

Only the owner of the ledger can read it. `sources` uses both.
"""

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryFile

from noisycount.engines.conformance.certificate import Certificate, Identity
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.validation import stat_or_none


def make_private(folder: Path) -> None:
    """Make a folder that only its owner can open."""
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)


def write_private(file: Path, content: bytes) -> None:
    """Write a file that only its owner can read. The replacement of an older file is atomic."""
    make_private(file.parent)
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file_:
            file_.write(content)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


_CERTIFICATES = "certificates.json"


@frozen
class EngineCertificates:
    """Stored certificates of engines that passed the conformance suite."""

    folder: Path | None = None  # folder of the certificates; None: they are not stored

    @property
    def file(self) -> Path | None:
        """File of the certificates; None if they are not stored."""
        return None if self.folder is None else self.folder / _CERTIFICATES

    def all(self) -> tuple[Certificate, ...]:
        """Return all stored certificates."""
        if self.file is None:
            return ()
        try:
            parts = json.loads(self.file.read_bytes())
        except FileNotFoundError:
            return ()
        except (OSError, ValueError):
            raise self._error("cannot be read") from None
        if not isinstance(parts, list):
            raise self._error("holds no list of certificates")
        try:
            return tuple(Certificate.from_parts(each if isinstance(each, dict) else {}) for each in parts)
        except SourceError:
            raise self._error("holds a certificate of another form") from None

    def keep(self, certificate: Certificate) -> None:
        """Store a certificate; it replaces an older one of the same engine."""
        self._write([*self._certificates_of_others(certificate.identity), certificate])

    def require_writable(self) -> None:
        """Raise SourceError if the folder cannot be written. Existing files stay."""
        if self.folder is None:
            return
        try:
            make_private(self.folder)
            with TemporaryFile(dir=self.folder):
                pass
        except OSError:
            raise self._error("cannot be written") from None

    def withdraw(self, identity: Identity) -> None:
        """Remove the certificates of an engine."""
        try:
            if self.file is None or stat_or_none(self.file) is None:
                return
        except OSError:
            raise self._error("cannot be read") from None
        self._write(self._certificates_of_others(identity))

    def _certificates_of_others(self, identity: Identity) -> list[Certificate]:
        """Return the certificates of other engines; an empty list if the file is unreadable, so it can be replaced."""
        try:
            return [certificate for certificate in self.all() if certificate.identity != identity]
        except SourceError:
            return []

    def _write(self, certificates: list[Certificate]) -> None:
        if self.file is None:
            return
        text = json.dumps([certificate.parts for certificate in certificates], indent=2)
        try:
            write_private(self.file, text.encode())
        except OSError:
            raise self._error("cannot be written") from None

    def _error(self, reason: str) -> SourceError:
        return SourceError(
            f"{str(self.file)!r} {reason}: remove it, and make certificates anew by `noisycount doctor SOURCE`"
        )


_WRITING = timedelta(minutes=10)  # age below which a draft may still be written
_NAME = re.compile(r"\.?(?P<dataset>[0-9a-f]{16})-[0-9a-f]{64}\.parquet(\..*\.part)?")


@frozen
class Copy:
    """A stored copy of the records of a data set."""

    dataset: str | None  # name of the data set; None if it is not among the given names
    path: Path  # path of the file
    size: int  # size in bytes
    made: datetime  # time of creation, in UTC


@frozen
class Copies:
    """Copies of records in the folder beside a ledger."""

    folder: Path  # it may be missing

    def place(self, dataset: str, reading: str) -> Path:
        """Return the path of the copy of a data set with this digest of its reading."""
        return self.folder / f"{_common_stem(dataset)}-{reading}.parquet"

    def draft(self, dataset: str) -> Path:
        """Return the path at which this process writes a copy before the digest of its reading is known."""
        place = self.place(dataset, hashlib.sha256(f"{os.getpid()}".encode()).hexdigest())
        return place.with_name(f".{place.name}")

    def all(self, datasets: Iterable[str] = ()) -> Iterator[Copy]:
        """Yield all copies in the folder; those of the given data sets have a name."""
        names = {_common_stem(dataset): dataset for dataset in datasets}
        try:
            is_there = stat_or_none(self.folder) is not None
            for path in sorted(self.folder.iterdir()) if is_there else ():
                if (match := _NAME.fullmatch(path.name)) and (state := stat_or_none(path)) is not None:
                    made = datetime.fromtimestamp(state.st_mtime, UTC)
                    yield Copy(names.get(match["dataset"]), path, state.st_size, made)
        except OSError as error:
            raise SourceError(f"{str(self.folder)!r} cannot be read: {error.strerror}") from None

    def remove(self, dataset: str, but: Path | None = None) -> int:
        """Remove the copies of a data set except `but`, and return their number.

        The next query that needs a copy makes it again. Beside a copy `but`, new drafts stay: another process may write
        them now.
        """
        newest = datetime.now(UTC) - _WRITING
        return remove_copies(
            copy
            for copy in self.all([dataset])
            if copy.dataset and copy.path != but and not (but and copy.path.name.startswith(".") and copy.made > newest)
        )


def remove_copies(copies: Iterable[Copy]) -> int:
    """Remove copies, and return their number."""
    paths = [copy.path for copy in copies]
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise SourceError(f"{str(path)!r} cannot be removed ({error.strerror}): remove it yourself") from None
    return len(paths)


def _common_stem(dataset: str) -> str:
    """Return the common beginning of the names of all copies of a data set."""
    return hashlib.sha256(dataset.encode()).hexdigest()[:16]
