"""The private file of keys beside a ledger: written whole, one writer at a time."""

import hmac
import json
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from noisycount.app.access.issued_key import IssuedKey
from noisycount.errors import ConfigError
from noisycount.release.register.folder import make_private, write_private

__all__ = ["Keys", "KeysFile"]

Keys = tuple[IssuedKey, ...]

_VERSION = 1
_SECRET_BYTES = 32
_MEMBERS = {"version", "keys", "seal"}


@dataclass(slots=True)
class KeysFile:
    """Keys in one folder, and the secret with which they are hashed.

    What is there is read at every look, so that a key that was revoked opens nothing any more; it
    is parsed anew only where a byte of it changed.

    Args:
        folder: Beside the ledger, for its owner's eyes alone.
    """

    folder: Path
    _parsed: tuple[bytes | None, Keys] = field(default=(None, ()), init=False, repr=False)

    @property
    def path(self) -> Path:
        """Where the keys are."""
        return self.folder / "access.json"

    @property
    def _secret_path(self) -> Path:
        return self.folder / "access.secret"

    def keys(self) -> Keys:
        """All keys, the oldest first.

        Raises:
            ConfigError: They cannot be read.
        """
        content, (known, keys) = self._content(self.path), self._parsed
        if content != known:
            keys = () if content is None else self._read(content)
            self._parsed = (content, keys)
        return keys

    def secret(self) -> bytes:
        """The secret of the hashes; an empty one where no key was ever issued.

        Raises:
            ConfigError: It cannot be read, or is not there though keys are.
        """
        content = self._content(self._secret_path)
        if content is not None and len(content) == _SECRET_BYTES:
            return content
        if content is None and not self.keys():
            return b""
        raise ConfigError(
            f"{self._secret_path} is missing or was changed, without which no key of {self.path} "
            "can be checked: restore it from a copy, or remove both and issue new keys"
        )

    def change(self, changed: Callable[[Keys, bytes], Sequence[IssuedKey]]) -> None:
        """Write other keys in place of those that are there; nobody else writes meanwhile.

        Args:
            changed: Gives all keys from those that are there and the secret.

        Raises:
            ConfigError: They cannot be read or written.
        """
        try:
            make_private(self.folder)
            with _alone(self.folder / "access.lock"):
                if not self.secret():
                    write_private(self._secret_path, secrets.token_bytes(_SECRET_BYTES))
                keys = [key.parts for key in changed(self.keys(), self.secret())]
                parts = {"version": _VERSION, "keys": keys, "seal": _seal(keys, self.secret())}
                write_private(self.path, json.dumps(parts, indent=1).encode("ascii"))
        except OSError as error:
            raise ConfigError(
                f"keys cannot be kept in {self.folder} ({error.strerror}): mend that and ask again"
            ) from None

    def _content(self, path: Path) -> bytes | None:
        """The bytes of a file; None where there is none."""
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigError(
                f"{path} cannot be read ({error.strerror}): only the ledger's owner may"
            ) from None

    def _read(self, content: bytes) -> Keys:
        """The keys that bytes are.

        Raises:
            ConfigError: They are not as they were written, as far as the seal tells; the files of
                0.2 and before have none.
        """
        secret = self._content(self._secret_path) or b""
        is_secret = len(secret) == _SECRET_BYTES  # else `secret` refuses it, and no key opens
        try:
            said = json.loads(content)
            seal = _seal(said["keys"], secret)
            is_sealed = not is_secret or said.get("seal", seal) == seal
            if said["version"] == _VERSION and said.keys() <= _MEMBERS and is_sealed:
                return tuple(map(IssuedKey.of_parts, said["keys"]))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            pass
        raise ConfigError(
            f"{self.path} is damaged or of a later version: restore it from a copy, or remove it "
            "and issue new keys"
        )


def _seal(keys: Sequence[object], secret: bytes) -> str:
    """The keyed hash of all that is kept of keys: whose they are, what they open, until when."""
    said = json.dumps(keys, sort_keys=True).encode("ascii")
    return hmac.digest(secret, said, "sha256").hex()


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """The only writer, of all threads and processes, for as long as it takes."""
    import fcntl  # noqa: PLC0415  (POSIX alone has it; whoever reads keys needs it not)

    lock = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
