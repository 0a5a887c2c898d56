"""Keys as JSON: never their secrets, but once, and never their hashes.

Keys in words.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from noisycount.access.keys import IssuedKey, Key, State
from noisycount.display.numbers import signed
from noisycount.terminal.printing import Facts

__all__ = [
    "KEY_HEADER",
    "issued_object",
    "key_facts",
    "key_rows",
    "key_warning",
    "keys_object",
    "revoked_object",
    "revoked_words",
]

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


KEY_HEADER = ("id", "name", "role", "data sets", "made (UTC)", "state")


def key_facts(issued: IssuedKey, key: Key) -> Facts:
    """A key that was just issued, whose secret is told here and never again."""
    return [
        ("key", key.text),
        ("id", issued.id),
        ("name", issued.name),
        ("role", str(issued.role)),
        ("data sets", _datasets(issued)),
        ("expires", "never" if issued.expires is None else f"{_time(issued.expires)} UTC"),
    ]


def key_warning(issued: IssuedKey) -> str:
    """What to do with a key."""
    return (
        f"The key is shown this once. Give it to {issued.name} alone, by a safe way: whoever has "
        f"it asks as {issued.name}. `noisycount analysts revoke {issued.id}` ends it at once."
    )


def key_rows(keys: Sequence[IssuedKey], now: datetime) -> list[tuple[str, ...]]:
    """One line a key, with cells as `KEY_HEADER` names them."""
    return [
        (
            key.id,
            key.name,
            str(key.role),
            _datasets(key),
            _time(key.made),
            _state(key, now),
        )
        for key in keys
    ]


def revoked_words(who: str, ended: Sequence[IssuedKey]) -> str:
    """What was revoked."""
    if not ended:
        return f"no key of {who} was left to revoke"
    number = f"{signed(len(ended))} {'key' if len(ended) == 1 else 'keys'}"
    names = ", ".join(sorted({key.name for key in ended}))
    ids = ", ".join(key.id for key in ended)
    return f"revoked {number} of {names}: {ids}; every server at this ledger knows already"


def _datasets(key: IssuedKey) -> str:
    return "all" if key.datasets is None else ", ".join(key.datasets)


def _state(key: IssuedKey, now: datetime) -> str:
    """Whether a key opens anything, and since when or until when."""
    match key.state(now):
        case State.REVOKED if key.revoked is not None:
            return f"revoked {_time(key.revoked)}"
        case State.EXPIRED if key.expires is not None:
            return f"expired {_time(key.expires)}"
        case _:
            return "valid" if key.expires is None else f"valid until {_time(key.expires)}"


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
