"""Whether a form was filled in on a page of this server."""

import hmac
from urllib.parse import urlsplit

from fastapi import Request
from starlette.datastructures import FormData

from noisycount.app.server.guard.cookies import is_secure
from noisycount.app.server.refusals import ForgedError

__all__ = ["FIELD", "HEADER", "check_origin", "check_token", "field_of"]

FIELD = "csrf"
HEADER = "X-CSRF-Token"
_FORM = "application/x-www-form-urlencoded"  # no page sends a file


def check_origin(request: Request) -> None:
    """Refuse what a page of another server sends.

    Browsers say with every form where it was filled in; who says nothing is refused.

    Raises:
        ForgedError: It comes from elsewhere, or nobody knows where from.
    """
    origin = request.headers.get("origin")
    if origin is None or origin == "null":
        if request.headers.get("sec-fetch-site") == "same-origin":
            return
        raise ForgedError
    try:
        said = urlsplit(origin)
    except ValueError:
        raise ForgedError from None
    schemes = {"https"} if is_secure(request) else {"http", "https"}  # a proxy may end TLS
    if said.netloc != request.headers.get("host") or said.scheme not in schemes:
        raise ForgedError


async def check_token(request: Request, expected: str) -> None:
    """Refuse a form that does not carry the token of its session.

    Args:
        request: With the token in a field, or in a header.
        expected: The token.

    Raises:
        ForgedError: It is another, or missing.
    """
    said = request.headers.get(HEADER) or await field_of(request, FIELD)
    if not hmac.compare_digest(said.encode("utf-8", "replace"), expected.encode("ascii")):
        raise ForgedError


async def field_of(request: Request, name: str) -> str:
    """The text of a field of a form; empty where there is none."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    form = await request.form() if kind == _FORM else FormData()
    said = form.get(name)
    return said if isinstance(said, str) else ""
