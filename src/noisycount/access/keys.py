"""A key: what somebody shows who asks a server, and what is kept of it.

Who asks a server, and what they may see.

What is kept of a key: whose it is, what it opens, and until when.
"""

import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from noisycount.frozen import frozen

__all__ = ["IssuedKey", "Key", "Role", "State", "User"]

_ID_BYTES = 6  # tells keys apart, and is no secret
_SECRET_BYTES = 32  # 256 random bits: nobody guesses one
_FORM = re.compile(rf"nc_([0-9a-f]{{{2 * _ID_BYTES}}})_([0-9a-f]{{{2 * _SECRET_BYTES}}})")


@frozen
class Key:
    """A key as its holder has it.

    Attributes:
        id: The part that may be shown, by which it is looked up.
        secret: The part that is shown once, 64 hexadecimal digits.

    Example:
        >>> key = Key.new()
        >>> Key.read(key.text) == key, Key.read("nc_1_2") is None, key.secret in repr(key)
        (True, True, False)
    """

    id: str
    secret: str = field(repr=False)

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
    """Somebody whose key or token was checked.

    Attributes:
        name: Under which the ledger books what they ask.
        role: An owner sees every data set, the whole ledger and the report.
        grants: The names of the data sets that an analyst may see; None: every one.

    Example:
        >>> ana = User("ana", Role.ANALYST, frozenset({"survey"}))
        >>> ana.may_see("survey"), ana.may_see("payroll"), ana.is_owner
        (True, False, False)
    """

    name: str
    role: Role
    grants: frozenset[str] | None

    @property
    def is_owner(self) -> bool:
        """Whether they may see all of the ledger and the report."""
        return self.role is Role.OWNER

    def may_see(self, dataset_name: str) -> bool:
        """Whether a data set is there for them."""
        return self.is_owner or self.grants is None or dataset_name in self.grants


class State(StrEnum):
    """Whether a key opens anything."""

    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"


@frozen
class IssuedKey:
    """A key as its owner knows it.

    Attributes:
        id: The part of the key that is no secret.
        name: Of the analyst who holds it.
        role: What they may do.
        datasets: The names of the data sets that they may ask; None: every one.
        digest: The keyed hash of the key.
        made: When it was issued.
        expires: From when on it opens nothing; None: never.
        revoked: Since when it opens nothing; None: it was not revoked.
    """

    id: str
    name: str
    role: Role
    datasets: tuple[str, ...] | None
    digest: bytes = field(repr=False)
    made: datetime
    expires: datetime | None = None
    revoked: datetime | None = None

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
            "id": self.id,
            "name": self.name,
            "role": str(self.role),
            "datasets": None if self.datasets is None else list(self.datasets),
            "digest": self.digest.hex(),
            "made": self.made.isoformat(),
            "expires": None if self.expires is None else self.expires.isoformat(),
            "revoked": None if self.revoked is None else self.revoked.isoformat(),
        }

    @property
    def user(self) -> User:
        """Who comes with it."""
        grants = None if self.datasets is None else frozenset(self.datasets)
        return User(self.name, self.role, grants)

    def state(self, now: datetime) -> State:
        """Whether it opens anything at a time."""
        if self.revoked is not None:
            return State.REVOKED
        is_over = self.expires is not None and self.expires <= now
        return State.EXPIRED if is_over else State.VALID

    def revoked_at(self, now: datetime) -> Self:
        """The same key, which opens nothing from now on."""
        return replace(self, revoked=self.revoked or now)


def _read_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
