"""The private file of keys beside a ledger: written whole, one writer at a time.

The keys to a server: issued, revoked, and told from what is no key.

Who is given a key: the name, the role and the data sets that an owner typed, checked.
"""

import hmac
import json
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from noisycount.access.keys import IssuedKey, Key, Role, State
from noisycount.catalog.record import make_private, write_private
from noisycount.config.config import Config
from noisycount.config.places import NAME
from noisycount.config.toml_table import suggestion
from noisycount.errors import ConfigError
from noisycount.frozen import frozen
from noisycount.ledger.entries import check_text

__all__ = ["Keyring", "KeysFile", "check_analyst", "granted"]

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
        """All keys, the oldest first."""
        content, (known, keys) = self._content(self.path), self._parsed
        if content != known:
            keys = () if content is None else self._read(content)
            self._parsed = (content, keys)
        return keys

    def secret(self) -> bytes:
        """The secret of the hashes; an empty one where no key was ever issued."""
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
        """Write other keys in place of those that are there; nobody else writes meanwhile."""
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
        """The keys that bytes are."""
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


def _now() -> datetime:
    """This second: nobody needs to know more of when a key was made."""
    return datetime.now(UTC).replace(microsecond=0)


# What an unknown key is compared with, so that it takes as long as a known one.
_NOBODY = IssuedKey("", "", Role.ANALYST, (), secrets.token_bytes(32), _now(), revoked=_now())
_NO_KEY = Key("", "")


@frozen
class Keyring:
    """All keys beside one ledger.

    Args:
        file: Where they are kept.
        now: The clock.
    """

    file: KeysFile
    now: Callable[[], datetime] = _now

    @classmethod
    def of(cls, configuration: Config) -> Self:
        """The keys beside the ledger of a configuration."""
        folder = configuration.data_folder
        if folder is None:
            raise ConfigError("keys need a noisycount.toml beside which they are kept: write one")
        return cls(KeysFile(folder))

    def issued(self) -> Keys:
        """All keys that were ever issued, the oldest first."""
        return self.file.keys()

    def issue(
        self,
        name: str,
        role: Role,
        datasets: Sequence[str] | None,
        lifetime: timedelta | None = None,
    ) -> tuple[Key, IssuedKey]:
        """A new key, which only this reply has, and what is kept of it.

        Args:
            name: Of the analyst who will hold it.
            role: What they may do.
            datasets: The names of the data sets that they may ask; None: every one.
            lifetime: After which it opens nothing; None: it does not expire.
        """
        key, made = Key.new(), self.now()
        issued: list[IssuedKey] = []

        def with_one_more(keys: Keys, secret: bytes) -> list[IssuedKey]:
            known = None if datasets is None else tuple(sorted(set(datasets)))
            expires = None if lifetime is None else made + lifetime
            issued.append(IssuedKey(key.id, name, role, known, key.digest(secret), made, expires))
            return [*keys, *issued]

        self.file.change(with_one_more)
        return key, issued[0]

    def revoke(self, who: str) -> Keys:
        """The keys that open nothing from now on: one by its id, or all that somebody holds.

        Args:
            who: An id or a name; of a key that was revoked before nothing changes.
        """
        ended: list[IssuedKey] = []

        def without(keys: Keys, _: bytes) -> list[IssuedKey]:
            now = self.now()
            chosen = {key.id for key in keys if who in {key.id, key.name} and key.revoked is None}
            changed = [key.revoked_at(now) if key.id in chosen else key for key in keys]
            ended.extend(key for key in changed if key.id in chosen)
            return changed

        self.file.change(without)
        return tuple(ended)

    def holder(self, text: str) -> IssuedKey | None:
        """What is kept of a key that somebody shows; None for what opens nothing.

        One digest is computed and compared whatever is shown, in a time that does not depend on
        where they differ.
        """
        key = Key.read(text) or _NO_KEY
        known = {each.id: each for each in self.issued()}.get(key.id, _NOBODY)
        is_right = hmac.compare_digest(key.digest(self.file.secret()), known.digest)
        return known if is_right and known.state(self.now()) is State.VALID else None

    def valid(self, key_id: str) -> IssuedKey | None:
        """The key of an id if it opens something still."""
        return next(
            (k for k in self.issued() if k.id == key_id and k.state(self.now()) is State.VALID),
            None,
        )


def check_analyst(name: str, configuration: Config) -> None:
    """Refuse a name under which the ledger could book nothing.

    Args:
        name: Of whoever is to hold the key.
        configuration: Whose `[analysts]` are all who may ask, where it has them.
    """
    try:
        check_text("NAME", name)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if not NAME.fullmatch(name):
        raise ConfigError(f"NAME {name!r}: a name is letters, digits, - and _: choose another")
    if configuration.analysts and name not in configuration.analysts:
        raise ConfigError(
            f"NAME {name!r} is not among [analysts] of noisycount.toml: add [analysts.{name}] "
            f"there, or {suggestion(name, configuration.analysts)}"
        )


def granted(role: Role, datasets: Sequence[str], configuration: Config) -> tuple[str, ...] | None:
    """The data sets that a key opens; None: every one, for an owner."""
    if role is Role.OWNER:
        if datasets:
            raise ConfigError(
                f"--data-set {datasets[0]!r}: an owner sees every data set: leave --data-set out, "
                "or say --role analyst"
            )
        return None
    if not datasets:
        known = ", ".join(configuration.datasets) or "none yet: describe one in noisycount.toml"
        raise ConfigError(f"--data-set is missing: name each that may be asked; known: {known}")
    for name in datasets:
        if name not in configuration.datasets:
            raise ConfigError(
                f"--data-set {name!r} is not configured: {suggestion(name, configuration.datasets)}"
            )
    return tuple(datasets)
