"""The keys to a server: who holds which, what it opens, and the private file that keeps them.

A key is shown once, when it is issued; what is kept of it is a keyed hash.
"""

import hmac
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from noisycount.catalog.folder import make_private, write_private
from noisycount.config.config import Config
from noisycount.config.places import PLAIN_NAME
from noisycount.config.toml_table import suggestion
from noisycount.errors import ConfigError
from noisycount.frozen import frozen
from noisycount.ledger.entries import check_text

_ID_BYTES = 6  # tells keys apart, and is no secret
_SECRET_BYTES = 32  # 256 random bits: nobody guesses one
_FORM = re.compile(rf"nc_([0-9a-f]{{{2 * _ID_BYTES}}})_([0-9a-f]{{{2 * _SECRET_BYTES}}})")


@frozen
class Key:
    """A key as its holder has it.

    Example:
        >>> key = Key.new()
        >>> Key.read(key.text) == key, Key.read("nc_1_2") is None, key.secret in repr(key)
        (True, True, False)
    """

    id: str  # the part that may be shown, by which it is looked up
    secret: str = field(repr=False)  # the part that is shown once, 64 hexadecimal digits

    @classmethod
    def new(cls) -> Self:
        """A key that nobody had before."""
        return cls(secrets.token_hex(_ID_BYTES), secrets.token_hex(_SECRET_BYTES))

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The key that a text is; None for another text."""
        match = _FORM.fullmatch(text)
        return None if match is None else cls(*match.groups())

    @property
    def text(self) -> str:
        """All of it, as its holder gives it."""
        return f"nc_{self.id}_{self.secret}"

    def digest(self, secret: bytes) -> bytes:
        """The HMAC-SHA-256 of the whole key: all that is kept of it."""
        return hmac.digest(secret, self.text.encode("ascii"), "sha256")


class Role(StrEnum):
    """What a user may do."""

    OWNER = "owner"
    ANALYST = "analyst"


@frozen
class User:
    """Somebody whose key or token was checked."""

    name: str  # under which the ledger books what they ask
    role: Role  # an owner sees every data set, the whole ledger and the report
    grants: frozenset[str] | None  # the names of the data sets that an analyst may see; None: every one

    @property
    def is_owner(self) -> bool:
        """Whether they may see all of the ledger and the report."""
        return self.role is Role.OWNER

    def may_see(self, dataset_name: str) -> bool:
        """Whether a data set is there for them."""
        return self.is_owner or self.grants is None or dataset_name in self.grants


class KeyState(StrEnum):
    """Whether a key opens anything."""

    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"


@frozen
class IssuedKey:
    """A key as its owner knows it."""

    id: str  # the part of the key that is no secret
    name: str  # of the analyst who holds it
    role: Role  # what they may do
    datasets: tuple[str, ...] | None  # the names of the data sets that they may ask; None: every one
    digest: bytes = field(repr=False)  # the keyed hash of the key
    made: datetime  # when it was issued
    expires: datetime | None = None  # from when on it opens nothing; None: never
    revoked: datetime | None = None  # since when it opens nothing; None: it was not revoked

    @classmethod
    def of_parts(cls, parts: Mapping[str, Any]) -> Self:
        """A key of which `parts` were kept."""
        datasets = parts["datasets"]
        return cls(
            id=str(parts["id"]),
            name=str(parts["name"]),
            role=Role(parts["role"]),
            datasets=None if datasets is None else tuple(map(str, datasets)),
            digest=bytes.fromhex(parts["digest"]),
            made=datetime.fromisoformat(parts["made"]),
            expires=_read_time(parts["expires"]),
            revoked=_read_time(parts["revoked"]),
        )

    @property
    def parts(self) -> dict[str, Any]:
        """All of it, as JSON."""
        return {
            **{name: getattr(self, name) for name in ("id", "name", "role", "datasets")},
            "digest": self.digest.hex(),
            **{name: (at := getattr(self, name)) and at.isoformat() for name in ("made", "expires", "revoked")},
        }

    @property
    def user(self) -> User:
        """Who comes with it."""
        grants = None if self.datasets is None else frozenset(self.datasets)
        return User(self.name, self.role, grants)

    def state(self, now: datetime) -> KeyState:
        """Whether it opens anything at a time."""
        if self.revoked is not None:
            return KeyState.REVOKED
        is_over = self.expires is not None and self.expires <= now
        return KeyState.EXPIRED if is_over else KeyState.VALID


def _read_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


Keys = tuple[IssuedKey, ...]
_VERSION = 1
_MEMBERS = {"version", "keys", "seal"}


def _now() -> datetime:
    """This second: nobody needs to know more of when a key was made."""
    return datetime.now(UTC).replace(microsecond=0)


# What an unknown key is compared with, so that it takes as long as a known one.
_NOBODY = IssuedKey("", "", Role.ANALYST, (), secrets.token_bytes(32), _now(), revoked=_now())
_NO_KEY = Key("", "")


@dataclass(slots=True)
class Keyring:
    """All keys beside one ledger, and the secret with which they are hashed.

    What is there is read at every look, so that a key that was revoked opens nothing any more; it
    is parsed anew only where a byte of it changed.
    """

    folder: Path
    now: Callable[[], datetime] = _now
    _parsed: tuple[bytes | None, Keys] = field(default=(None, ()), init=False, repr=False)

    @classmethod
    def of(cls, configuration: Config) -> Self:
        """The keys beside the ledger of a configuration."""
        folder = configuration.data_folder
        if folder is None:
            raise ConfigError("keys need a noisycount.toml beside which they are kept: write one")
        return cls(folder)

    @property
    def path(self) -> Path:
        """Where the keys are."""
        return self.folder / "access.json"

    @property
    def _secret_path(self) -> Path:
        return self.folder / "access.secret"

    def issued(self) -> Keys:
        """All keys that were ever issued, the oldest first."""
        content, (known, keys) = _content(self.path), self._parsed
        if content != known:
            keys = () if content is None else self._read(content)
            self._parsed = (content, keys)
        return keys

    def issue(
        self, name: str, role: Role, datasets: Sequence[str] | None, lifetime: timedelta | None = None
    ) -> tuple[Key, IssuedKey]:
        """A new key, which only this reply has, and what is kept of it."""
        key, made = Key.new(), self.now()
        known = None if datasets is None else tuple(sorted(set(datasets)))
        expires = None if lifetime is None else made + lifetime
        with self.changing() as (keys, secret):
            issued = IssuedKey(key.id, name, role, known, key.digest(secret), made, expires)
            keys.append(issued)
        return key, issued

    def revoke(self, who: str) -> Keys:
        """The keys that open nothing from now on: one by its id, or all that somebody holds."""
        with self.changing() as (keys, _):
            chosen = [key for key in keys if who in {key.id, key.name} and key.revoked is None]
            ended = {key.id: replace(key, revoked=self.now()) for key in chosen}
            keys[:] = [ended.get(key.id, key) for key in keys]
        return tuple(ended.values())

    def holder(self, text: str) -> IssuedKey | None:
        """What is kept of a key that somebody shows; None for what opens nothing.

        One digest is computed and compared whatever is shown, in a time that does not depend on where they differ.
        """
        key = Key.read(text) or _NO_KEY
        known = {each.id: each for each in self.issued()}.get(key.id, _NOBODY)
        is_right = hmac.compare_digest(key.digest(self._secret()), known.digest)
        return known if is_right and known.state(self.now()) is KeyState.VALID else None

    def valid(self, key_id: str) -> IssuedKey | None:
        """The key of an id if it opens something still."""
        now = self.now()
        valid = (key for key in self.issued() if key.state(now) is KeyState.VALID)
        return next((key for key in valid if key.id == key_id), None)

    @contextmanager
    def changing(self) -> Iterator[tuple[list[IssuedKey], bytes]]:
        """All keys, to be changed, and the secret of their hashes; nobody else writes meanwhile."""
        try:
            make_private(self.folder)
            with _locked(self.folder / "access.lock"):
                if not self._secret():
                    write_private(self._secret_path, secrets.token_bytes(_SECRET_BYTES))
                keys, secret = list(self.issued()), self._secret()
                yield keys, secret
                parts = [key.parts for key in keys]
                kept = {"version": _VERSION, "keys": parts, "seal": _seal(parts, secret)}
                write_private(self.path, json.dumps(kept, indent=1).encode("ascii"))
        except OSError as error:
            raise ConfigError(
                f"keys cannot be kept in {self.folder} ({error.strerror}): mend that and ask again"
            ) from None

    def _secret(self) -> bytes:
        """The secret of the hashes; an empty one where no key was ever issued."""
        content = _content(self._secret_path)
        if content is not None and len(content) == _SECRET_BYTES:
            return content
        if content is None and not self.issued():
            return b""
        raise ConfigError(
            f"{self._secret_path} is missing or was changed, without which no key of {self.path} "
            "can be checked: restore it from a copy, or remove both and issue new keys"
        )

    def _read(self, content: bytes) -> Keys:
        """The keys that bytes are."""
        secret = _content(self._secret_path) or b""
        is_secret = len(secret) == _SECRET_BYTES  # else `_secret` refuses it, and no key opens
        try:
            said = json.loads(content)
            seal = _seal(said["keys"], secret)
            is_sealed = not is_secret or said.get("seal", seal) == seal
            if said["version"] == _VERSION and said.keys() <= _MEMBERS and is_sealed:
                return tuple(map(IssuedKey.of_parts, said["keys"]))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            pass
        raise ConfigError(
            f"{self.path} is damaged or of a later version: restore it from a copy, or remove it and issue new keys"
        )


def _content(path: Path) -> bytes | None:
    """The bytes of a file; None where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}): only the ledger's owner may") from None


def _seal(keys: Sequence[object], secret: bytes) -> str:
    """The keyed hash of all that is kept of keys: whose they are, what they open, until when."""
    said = json.dumps(keys, sort_keys=True).encode("ascii")
    return hmac.digest(secret, said, "sha256").hex()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """The only writer, of all threads and processes, for as long as it takes."""
    import fcntl  # noqa: PLC0415  (POSIX alone has it; whoever reads keys needs it not)

    lock = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def check_analyst(name: str, configuration: Config) -> None:
    """Refuse a name under which the ledger could book nothing."""
    try:
        check_text("NAME", name)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if not PLAIN_NAME.fullmatch(name):
        raise ConfigError(f"NAME {name!r}: a name is letters, digits, - and _: choose another")
    if configuration.analysts and name not in configuration.analysts:
        raise ConfigError(
            f"NAME {name!r} is not among [analysts] of noisycount.toml: add [analysts.{name}] "
            f"there, or {suggestion(name, configuration.analysts)}"
        )


def granted_datasets(role: Role, datasets: Sequence[str], configuration: Config) -> tuple[str, ...] | None:
    """The data sets that a key opens; None: every one, for an owner."""
    if role is Role.OWNER:
        if datasets:
            raise ConfigError(
                f"--data-set {datasets[0]!r}: an owner sees every data set: leave --data-set out, or say --role analyst"
            )
        return None
    if not datasets:
        known = ", ".join(configuration.datasets) or "none yet: describe one in noisycount.toml"
        raise ConfigError(f"--data-set is missing: name each that may be asked; known: {known}")
    for name in datasets:
        if name not in configuration.datasets:
            raise ConfigError(f"--data-set {name!r} is not configured: {suggestion(name, configuration.datasets)}")
    return tuple(datasets)
