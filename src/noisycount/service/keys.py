"""API keys of a server, their users and data sets, and the private file that stores the keys.

A key is shown once, when it is issued. The file stores a keyed hash of it.
"""

import hmac
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from noisycount.catalog.folder import make_private, write_private
from noisycount.config.config import Config
from noisycount.config.places import PLAIN_NAME
from noisycount.config.toml_table import name_suggestion
from noisycount.errors import ConfigError
from noisycount.frozen import frozen
from noisycount.ledger.entries import check_text

_ID_BYTES = 6  # the public part of a key
_SECRET_BYTES = 32  # 256 random bits
_FORM = re.compile(rf"nc_([0-9a-f]{{{2 * _ID_BYTES}}})_([0-9a-f]{{{2 * _SECRET_BYTES}}})")


@frozen
class Key:
    """An API key as its holder has it.

    Example:
        >>> key = Key.new()
        >>> Key.read(key.text) == key, Key.read("nc_1_2") is None, key.secret in repr(key)
        (True, True, False)
    """

    id: str  # public part, by which the key is looked up
    secret: str = field(repr=False)  # 64 hexadecimal digits, shown once

    @classmethod
    def new(cls) -> Self:
        """Draw a new key."""
        return cls(secrets.token_hex(_ID_BYTES), secrets.token_hex(_SECRET_BYTES))

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Parse a key from its text. Return None if the text is not a key."""
        match = _FORM.fullmatch(text)
        return None if match is None else cls(*match.groups())

    @property
    def text(self) -> str:
        """Whole key, as its holder sends it."""
        return f"nc_{self.id}_{self.secret}"

    def digest(self, secret: bytes) -> bytes:
        """Return the HMAC-SHA-256 of the whole key, which is stored in its place."""
        return hmac.digest(secret, self.text.encode("ascii"), "sha256")


class Role(StrEnum):
    """The rights of a user."""

    OWNER = "owner"
    ANALYST = "analyst"
    OFFICER = "officer"


@frozen
class User:
    """A user whose key or token was checked."""

    name: str  # the analyst in the ledger
    role: Role  # an owner may query every data set; an owner and an officer may read the whole ledger and the report
    grants: frozenset[str] | None  # names of the data sets that an analyst may query; None: all

    @property
    def reads_all(self) -> bool:
        """True if the user may read all answers, the whole ledger and the report: an owner or an officer."""
        return self.role is not Role.ANALYST

    @property
    def may_ask(self) -> bool:
        """True if the user may ask questions: everybody except an officer."""
        return self.role is not Role.OFFICER

    def may_see(self, dataset_name: str) -> bool:
        """Return True if the user may query a data set."""
        is_granted = self.role is Role.OWNER or self.grants is None or dataset_name in self.grants
        return self.may_ask and is_granted


class KeyState(StrEnum):
    """The validity of a key."""

    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"


@frozen
class IssuedKey:
    """A key as the owner's file stores it."""

    id: str  # public part of the key
    name: str  # the analyst who holds it
    role: Role
    datasets: tuple[str, ...] | None  # names of the data sets that the holder may query; None: all
    digest: bytes = field(repr=False)  # keyed hash of the key
    made: datetime  # time of issue
    expires: datetime | None = None  # end of validity; None: never
    revoked: datetime | None = None  # time of revocation; None: not revoked

    @classmethod
    def from_parts(cls, parts: Mapping[str, Any]) -> Self:
        """Return the key with the given `parts`."""
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
        """Fields of the key in the types of JSON."""
        return {
            **{name: getattr(self, name) for name in ("id", "name", "role", "datasets")},
            "digest": self.digest.hex(),
            **{name: (at := getattr(self, name)) and at.isoformat() for name in ("made", "expires", "revoked")},
        }

    @property
    def user(self) -> User:
        """User who holds the key."""
        grants = None if self.datasets is None else frozenset(self.datasets)
        return User(self.name, self.role, grants)

    def state(self, now: datetime) -> KeyState:
        """Return the validity of the key at a time."""
        if self.revoked is not None:
            return KeyState.REVOKED
        is_expired = self.expires is not None and self.expires <= now
        return KeyState.EXPIRED if is_expired else KeyState.VALID


def _read_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


Keys = tuple[IssuedKey, ...]
_VERSION = 1
_MEMBERS = {"version", "keys", "seal"}


def _now() -> datetime:
    """Return the current time in whole seconds."""
    return datetime.now(UTC).replace(microsecond=0)


# An unknown key is compared with this one, so that the check takes as long as for a known key.
_UNKNOWN = IssuedKey("", "", Role.ANALYST, (), secrets.token_bytes(32), _now(), revoked=_now())
_NO_KEY = Key("", "")


@dataclass(slots=True)
class Keyring:
    """Keys of a ledger, and the secret with which they are hashed.

    Every use checks the state of the file, so that a revoked key is refused at once. The file is read and parsed again
    only if it changed.
    """

    folder: Path
    now: Callable[[], datetime] = _now
    path: Path = field(init=False, repr=False, compare=False)  # file that stores the keys
    _secret_path: Path = field(init=False, repr=False, compare=False)
    _parsed: tuple[bytes | None, Keys, Mapping[str, IssuedKey]] = field(
        default=(None, (), MappingProxyType({})), init=False, repr=False
    )  # content of the file, its keys in order, and its keys by their id
    _contents: dict[Path, "_FileContent"] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self.path, self._secret_path = self.folder / "access.json", self.folder / "access.secret"

    @classmethod
    def from_config(cls, configuration: Config) -> Self:
        """Return the keys in the data folder of a configuration."""
        folder = configuration.data_folder
        if folder is None:
            raise ConfigError("keys are stored beside noisycount.toml, which is missing: write one")
        return cls(folder)

    def issued(self) -> Keys:
        """Return all keys that were ever issued, the oldest first."""
        return self._parse()[1]

    def _parse(self) -> tuple[bytes | None, Keys, Mapping[str, IssuedKey]]:
        """Return the content of the file, its keys in order, and its keys by their id."""
        content = self._bytes_or_none(self.path)
        if content != self._parsed[0]:
            keys = () if content is None else self._read(content)
            self._parsed = (content, keys, MappingProxyType({key.id: key for key in keys}))
        return self._parsed

    def issue(
        self, name: str, role: Role, datasets: Sequence[str] | None, lifetime: timedelta | None = None
    ) -> tuple[Key, IssuedKey]:
        """Issue a key. Return the key itself, which is not stored, and its stored form."""
        key, issue_time = Key.new(), self.now()
        names = None if datasets is None else tuple(sorted(set(datasets)))
        expires = None if lifetime is None else issue_time + lifetime
        with self.keys_for_change() as (keys, secret):
            issued = IssuedKey(key.id, name, role, names, key.digest(secret), issue_time, expires)
            keys.append(issued)
        return key, issued

    def revoke(self, id_or_name: str) -> Keys:
        """Revoke the key with an id, or all keys of an analyst. Return the revoked keys."""
        with self.keys_for_change() as (keys, _):
            chosen = [key for key in keys if id_or_name in {key.id, key.name} and key.revoked is None]
            revoked = {key.id: replace(key, revoked=self.now()) for key in chosen}
            keys[:] = [revoked.get(key.id, key) for key in keys]
        return tuple(revoked.values())

    def find_valid(self, text: str) -> IssuedKey | None:
        """Return the stored key with this text if it is valid, or None for any other text.

        One digest is computed and compared for every text, in a time that does not depend on where the digests differ.
        """
        key = Key.read(text) or _NO_KEY
        stored_key = self._parse()[2].get(key.id, _UNKNOWN)
        is_right = hmac.compare_digest(key.digest(self._hash_secret()), stored_key.digest)
        return stored_key if is_right and stored_key.state(self.now()) is KeyState.VALID else None

    def valid_key(self, key_id: str) -> IssuedKey | None:
        """Return the key with an id if it is still valid, else None."""
        key = self._parse()[2].get(key_id)
        return key if key is not None and key.state(self.now()) is KeyState.VALID else None

    @contextmanager
    def keys_for_change(self) -> Iterator[tuple[list[IssuedKey], bytes]]:
        """Yield a list of all keys for changes, and the secret of their hashes. Other writers wait."""
        try:
            make_private(self.folder)
            with _lock_file(self.folder / "access.lock"):
                if not self._hash_secret():
                    write_private(self._secret_path, secrets.token_bytes(_SECRET_BYTES))
                keys, secret = list(self.issued()), self._hash_secret()
                yield keys, secret
                parts = [key.parts for key in keys]
                content = {"version": _VERSION, "keys": parts, "seal": _keyed_hash_of_all(parts, secret)}
                write_private(self.path, json.dumps(content, indent=1).encode("ascii"))
        except OSError as error:
            raise ConfigError(
                f"keys cannot be stored in {self.folder} ({error.strerror}): make the folder writable and try again"
            ) from None

    def _bytes_or_none(self, path: Path) -> bytes | None:
        """Return the bytes of a file, or None if there is no file."""
        file_content = self._contents[path] = _FileContent.read(path, self._contents.get(path))
        return file_content.content

    def _hash_secret(self) -> bytes:
        """Return the secret of the hashes; empty if no key was ever issued."""
        content = self._bytes_or_none(self._secret_path)
        if content is not None and len(content) == _SECRET_BYTES:
            return content
        if content is None and not self.issued():
            return b""
        raise ConfigError(
            f"{self._secret_path} is missing or was changed, so that no key of {self.path} "
            "can be checked: restore it from a copy, or remove both files and issue new keys"
        )

    def _read(self, content: bytes) -> Keys:
        """Parse the content of the file. Raise ConfigError if it is damaged."""
        secret = self._bytes_or_none(self._secret_path) or b""
        is_secret = len(secret) == _SECRET_BYTES  # if not, `_hash_secret` raises an error at every check of a key
        try:
            members = json.loads(content)
            seal = _keyed_hash_of_all(members["keys"], secret)
            is_sealed = not is_secret or members.get("seal", seal) == seal
            if members["version"] == _VERSION and members.keys() <= _MEMBERS and is_sealed:
                return tuple(map(IssuedKey.from_parts, members["keys"]))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            pass
        raise ConfigError(
            f"{self.path} is damaged or of a later version: restore it from a copy, or remove it and issue new keys"
        )


_SETTLED_SECONDS = 2.0  # age from which the times of a file distinguish every later change from its last one


@frozen
class _FileContent:
    """The content of a file, with the state of the file before it was read."""

    content: bytes | None  # None: there was no file
    state: tuple[int, ...] = ()  # numbers that change with the file; empty if they may not have changed

    @classmethod
    def read(cls, path: Path, former: Self | None) -> Self:
        """Return the content of a file. Return `former` without reading if the file is still in its state."""
        try:
            status = os.stat(path)  # noqa: PTH116 - at every request: a Path takes longer
            state = (status.st_ino, status.st_dev, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            if former is not None and former.state == state:
                return former
            is_settled = time.time() - status.st_ctime > _SETTLED_SECONDS
            return cls(path.read_bytes(), state if is_settled else ())
        except FileNotFoundError:
            return cls(None)
        except OSError as error:
            message = f"{path} cannot be read ({error.strerror}): only the ledger's owner may read it"
            raise ConfigError(message) from None


def _keyed_hash_of_all(keys: Sequence[object], secret: bytes) -> str:
    """Return the keyed hash of all stored keys with their users, data sets and times."""
    text = json.dumps(keys, sort_keys=True).encode("ascii")
    return hmac.digest(secret, text, "sha256").hex()


@contextmanager
def _lock_file(path: Path) -> Iterator[None]:
    """Hold a lock of a file against other threads and processes."""
    try:
        import fcntl  # noqa: PLC0415  (only on POSIX, and not needed to read keys)
    except ImportError:
        raise ConfigError("this system has no file locks of POSIX: issue keys on Linux, on Windows in WSL") from None
    lock = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def check_analyst(name: str, configuration: Config) -> None:
    """Raise ConfigError for a name that cannot be an analyst in the ledger."""
    try:
        check_text("NAME", name)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if not PLAIN_NAME.fullmatch(name):
        raise ConfigError(f"NAME {name!r}: a name consists of letters, digits, - and _: choose another")
    if configuration.analysts and name not in configuration.analysts:
        raise ConfigError(
            f"NAME {name!r} is not among [analysts] of noisycount.toml: add [analysts.{name}] "
            f"there ({name_suggestion(name, configuration.analysts)})"
        )


def granted_datasets(role: Role, datasets: Sequence[str], configuration: Config) -> tuple[str, ...] | None:
    """Return the data sets of a key: None for an owner, who may query all; none for an officer, who asks nothing."""
    if role is not Role.ANALYST:
        reach = "an owner sees every data set" if role is Role.OWNER else "an officer may query no data set"
        if datasets:
            raise ConfigError(f"--data-set {datasets[0]!r}: {reach}: leave --data-set out, or add --role analyst")
        return None if role is Role.OWNER else ()
    if not datasets:
        names = ", ".join(configuration.datasets) or "none yet: describe one in noisycount.toml"
        raise ConfigError(f"--data-set is missing: name each data set that the key may use; configured: {names}")
    for name in datasets:
        if name not in configuration.datasets:
            raise ConfigError(f"--data-set {name!r} is not configured: {name_suggestion(name, configuration.datasets)}")
    return tuple(datasets)
