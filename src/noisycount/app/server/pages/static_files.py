"""The one style and the one script, at addresses that change with their content."""

from functools import cache
from hashlib import sha256
from pathlib import Path

from fastapi import APIRouter, Response

from noisycount.app.server.pages.headers import STATIC_HEADERS

__all__ = ["address", "router"]

_FOLDER = Path(__file__).parent / "static"
_TYPES = {
    "noisycount.css": "text/css; charset=utf-8",
    "noisycount.js": "text/javascript; charset=utf-8",
    "noisycount.svg": "image/svg+xml",
}
_DIGITS = 12

router = APIRouter(include_in_schema=False)


@cache
def _content(name: str) -> bytes:
    return (_FOLDER / name).read_bytes()


@cache
def address(name: str) -> str:
    """Where a file is for a page: an address that no other content ever has.

    Example:
        >>> address("noisycount.css").partition("?v=")[0]
        '/static/noisycount.css'
    """
    return f"/static/{name}?v={sha256(_content(name)).hexdigest()[:_DIGITS]}"


@router.get("/static/{name}")
def static_file(name: str) -> Response:
    """The style, the script or the icon; nothing else is there."""
    if name not in _TYPES:
        return Response(status_code=404, headers=STATIC_HEADERS | {"Cache-Control": "no-store"})
    headers = STATIC_HEADERS | {"Content-Type": _TYPES[name]}
    return Response(_content(name), headers=headers)
