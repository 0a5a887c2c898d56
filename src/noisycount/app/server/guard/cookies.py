"""The two cookies of the page: a session's, and that of the form that begins one."""

from fastapi import Request, Response

__all__ = ["FORM", "SESSION", "cookie_of", "drop_cookie", "is_secure", "set_cookie"]

SESSION = "noisycount"
FORM = "noisycount-login"
_HOST_ONLY = "__Host-"  # a browser takes such a cookie from this very host alone, by https


def cookie_of(request: Request, name: str) -> str | None:
    """What a cookie says; None where there is none."""
    return request.cookies.get(_full(request, name))


def set_cookie(request: Request, response: Response, name: str, said: str) -> None:
    """Let a browser say something with every request to this server, and tell it to no script.

    Args:
        request: Behind TLS or not.
        response: Which brings the cookie.
        name: `SESSION` or `FORM`.
        said: What it says.
    """
    response.set_cookie(
        _full(request, name),
        said,
        path="/",
        secure=is_secure(request),
        httponly=True,
        samesite="strict",
    )


def drop_cookie(request: Request, response: Response, name: str) -> None:
    """Let a browser forget it."""
    response.delete_cookie(
        _full(request, name),
        path="/",
        secure=is_secure(request),
        httponly=True,
        samesite="strict",
    )


def is_secure(request: Request) -> bool:
    """Whether nobody between browser and server, or its proxy, can read."""
    return request.url.scheme == "https"


def _full(request: Request, name: str) -> str:
    return f"{_HOST_ONLY}{name}" if is_secure(request) else name
