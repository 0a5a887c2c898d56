"""The folder beside a ledger, for the owner's eyes alone: certificates of engines, and copies of texts as Parquet."""

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile

from noisycount.engines.conformance.certificate import Certificate, Identity
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.validation import stat_or_none


def make_private(folder: Path) -> None:
    """Make a folder that its owner alone may look into."""
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)


def write_private(file: Path, content: bytes) -> None:
    """Write a file that its owner alone may read; it appears whole, in place of an older one."""
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
class Certificates:
    """What engines passed the suite."""

    folder: Path | None = None  # where it is kept; None: nowhere

    @property
    def file(self) -> Path | None:
        """Where they are kept."""
        return None if self.folder is None else self.folder / _CERTIFICATES

    def all(self) -> tuple[Certificate, ...]:
        """Those that are kept."""
        if self.file is None:
            return ()
        try:
            parts = json.loads(self.file.read_bytes())
        except FileNotFoundError:
            return ()
        except (OSError, ValueError):
            raise self._refusal("cannot be read") from None
        if not isinstance(parts, list):
            raise self._refusal("holds no list of certificates")
        return tuple(map(self._certificate, parts))

    def keep(self, certificate: Certificate) -> None:
        """Write one down, in the place of an older one of the same engine."""
        self._write([*self._others(certificate.identity), certificate])

    def require_writable(self) -> None:
        """Refuse a folder in which nothing can be written; what it holds stays."""
        if self.folder is None:
            return
        try:
            make_private(self.folder)
            with TemporaryFile(dir=self.folder):
                pass
        except OSError:
            raise self._refusal("cannot be written") from None

    def withdraw(self, identity: Identity) -> None:
        """Forget those of an engine."""
        try:
            if self.file is None or stat_or_none(self.file) is None:
                return
        except OSError:
            raise self._refusal("cannot be read") from None
        self._write(self._others(identity))

    def _others(self, identity: Identity) -> list[Certificate]:
        """Those of other engines; none where they cannot be read, so that one can begin anew."""
        try:
            return [each for each in self.all() if each.identity != identity]
        except SourceError:
            return []

    def _write(self, certificates: list[Certificate]) -> None:
        if self.file is None:
            return
        text = json.dumps([each.parts for each in certificates], indent=2)
        try:
            write_private(self.file, text.encode())
        except OSError:
            raise self._refusal("cannot be written") from None

    def _certificate(self, parts: object) -> Certificate:
        try:
            return Certificate.of_parts(parts if isinstance(parts, dict) else {})
        except SourceError:
            raise self._refusal("holds a certificate of another form") from None

    def _refusal(self, why: str) -> SourceError:
        return SourceError(
            f"{str(self.file)!r} {why}: remove it, and make certificates anew by `noisycount doctor SOURCE`"
        )


_NAME = re.compile(r"\.?(?P<dataset>[0-9a-f]{16})-[0-9a-f]{64}\.parquet(\..*\.part)?")


@frozen
class Copy:
    """A copy of the records of a data set."""

    dataset: str | None  # what the ledger calls it; None: no data set that was asked for
    path: Path  # where it lies
    size: int  # how many bytes it has
    made: datetime  # when it was made, in UTC


@frozen
class Copies:
    """The copies in the folder beside a ledger."""

    folder: Path  # it need not be there

    def place(self, dataset: str, reading: str) -> Path:
        """Where the copy of a data set lies, read so."""
        return self.folder / f"{_stem(dataset)}-{reading}.parquet"

    def draft(self, dataset: str) -> Path:
        """Where this process leaves a copy of a data set before it is known what it is of."""
        return self.place(dataset, hashlib.sha256(f"{os.getpid()}".encode()).hexdigest())

    def all(self, datasets: Iterable[str] = ()) -> Iterator[Copy]:
        """The copies that lie there."""
        names = {_stem(dataset): dataset for dataset in datasets}
        try:
            is_there = stat_or_none(self.folder) is not None
            for path in sorted(self.folder.iterdir()) if is_there else ():
                if match := _NAME.fullmatch(path.name):
                    state = path.stat()
                    made = datetime.fromtimestamp(state.st_mtime, UTC)
                    yield Copy(names.get(match["dataset"]), path, state.st_size, made)
        except OSError as error:
            raise SourceError(f"{str(self.folder)!r} cannot be read: {error.strerror}") from None

    def remove(self, dataset: str, but: Path | None = None) -> int:
        """Remove the copies of a data set; give how many there were.

        They are made again by the next question that needs them.
        """
        return discard(c for c in self.all([dataset]) if c.dataset and c.path != but)


def discard(copies: Iterable[Copy]) -> int:
    """Remove copies; give how many there were."""
    found = [copy.path for copy in copies]
    for path in found:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise SourceError(f"{str(path)!r} cannot be removed ({error.strerror}): remove it yourself") from None
    return len(found)


def _stem(dataset: str) -> str:
    """What the names of a data set's copies begin with."""
    return hashlib.sha256(dataset.encode()).hexdigest()[:16]
