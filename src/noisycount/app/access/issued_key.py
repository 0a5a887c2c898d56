"""What is kept of a key: whose it is, what it opens, and until when."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from noisycount.app.access.visitor import Role, Visitor

__all__ = ["IssuedKey", "State"]


class State(StrEnum):
    """Whether a key opens anything."""

    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
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
        """A key of which `parts` were kept.

        Raises:
            ValueError: They are of another form; so are KeyError and TypeError to be read.
        """
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
    def visitor(self) -> Visitor:
        """Who comes with it."""
        grants = None if self.datasets is None else frozenset(self.datasets)
        return Visitor(self.name, self.role, grants)

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
