"""Keys as JSON: never their secrets, but once, and never their hashes."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from noisycount.app.access.issued_key import IssuedKey
from noisycount.app.access.key import Key

__all__ = ["issued_object", "keys_object", "revoked_object"]

Object = dict[str, Any]


def issued_object(issued: IssuedKey, key: Key, now: datetime) -> Object:
    """A key that was just issued, with its secret."""
    return {"key": key.text, **_key_object(issued, now)}


def keys_object(keys: Sequence[IssuedKey], now: datetime) -> Object:
    """All keys, the oldest first."""
    return {"keys": [_key_object(key, now) for key in keys]}


def revoked_object(ended: Sequence[IssuedKey], now: datetime) -> Object:
    """The keys that were just revoked."""
    return {"revoked": [_key_object(key, now) for key in ended]}


def _key_object(key: IssuedKey, now: datetime) -> Object:
    """What an owner may know of a key; `datasets` is null where it opens every one."""
    told = {name: value for name, value in key.parts.items() if name != "digest"}
    return {**told, "state": str(key.state(now))}
