"""The certificates that an owner has of engines, in a file for the owner's eyes alone."""

import json
from pathlib import Path
from tempfile import TemporaryFile

from noisycount.catalog.record import make_private, write_private
from noisycount.engines.conformance.certificate import Certificate, Identity
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.validation import state_at

_FILE = "certificates.json"


@frozen
class Certificates:
    """What engines passed the suite."""

    folder: Path | None = None  # where it is kept; None: nowhere

    @property
    def file(self) -> Path | None:
        """Where they are kept."""
        return None if self.folder is None else self.folder / _FILE

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
            if self.file is None or state_at(self.file) is None:
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
