"""The parts of a token, read in the one way in which they can be understood."""

import base64
import re
from typing import Any

from noisycount.app.server.exact_json import exact_json

__all__ = ["decoded", "json_object"]

_BASE64URL = re.compile(r"[A-Za-z0-9_-]*")


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
    found = exact_json(content)
    if not isinstance(found, dict):
        raise ValueError("no JSON object")  # noqa: TRY004  (what came from outside has no type)
    return found
