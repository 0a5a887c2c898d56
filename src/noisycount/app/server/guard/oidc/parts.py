"""The parts of a token, read in the one way in which they can be understood."""

import base64
import json
import re
from typing import Any

__all__ = ["decoded", "json_object"]

_BASE64URL = re.compile(r"[A-Za-z0-9_-]*")
_ENCODING = "utf-8"  # RFC 7519, section 7.2: no other encoding, and no mark of one


def decoded(part: str) -> bytes:
    """The bytes of a part of a token.

    Raises:
        ValueError: It holds what base64url has not.
    """
    if not _BASE64URL.fullmatch(part):
        raise ValueError("no base64url")
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def json_object(content: bytes) -> dict[str, Any]:
    """A JSON object in which no member is said twice, at any depth.

    RFC 7515, section 4, and RFC 7519, section 4, let a reader refuse such members or take the last:
    two readers may then see two tokens.

    Raises:
        ValueError: It is no such object.
    """
    found = json.loads(
        content.decode(_ENCODING), object_pairs_hook=_members, parse_constant=_no_number
    )
    if not isinstance(found, dict):
        raise ValueError("no JSON object")  # noqa: TRY004  (what came from outside has no type)
    return found


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member that is said twice")
    return members


def _no_number(name: str) -> float:
    """Nothing: Python reads NaN and Infinity, which JSON does not have."""
    raise ValueError(f"{name} is no JSON")
