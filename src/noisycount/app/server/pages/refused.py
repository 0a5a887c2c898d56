"""What people see in place of a page that they cannot have."""

import json
from collections.abc import Awaitable, Callable
from typing import cast
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse
from starlette.exceptions import HTTPException

from noisycount.app.server.pages.headers import PAGE_HEADERS
from noisycount.app.server.pages.layout import page
from noisycount.errors import NoisyCountError

__all__ = ["show_refusals_as_pages"]

Handler = Callable[[Request, Exception], Awaitable[JSONResponse]]

_REFUSALS = (NoisyCountError, ValueError, Exception, RequestValidationError, HTTPException)
_PROGRAMS = ("/v1/", "/healthz", "/openapi.json")  # asked by no person
_UNKNOWN = 401
_TOLD = {"retry-after", "www-authenticate", "allow"}


def show_refusals_as_pages(application: FastAPI) -> None:
    """Let people see pages where programs are told problems, and the login where nobody is known.

    Args:
        application: Which tells problems already.
    """
    for kind in _REFUSALS:
        told = cast("Handler", application.exception_handlers[kind])
        application.add_exception_handler(kind, _as_page(told))


def _as_page(told: Handler) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def refused(request: Request, error: Exception) -> Response:
        problem = await told(request, error)
        if not _is_for_people(request):
            return problem
        return _to_login(request) if problem.status_code == _UNKNOWN else _page(request, problem)

    return refused


def _is_for_people(request: Request) -> bool:
    path, accepted = request.url.path, request.headers.get("accept", "")
    return not path.startswith(_PROGRAMS) and "text/html" in accepted


def _page(request: Request, problem: JSONResponse) -> Response:
    said = json.loads(bytes(problem.body))
    shown = page(
        request,
        "refused.html",
        getattr(request.state, "visitor", None),
        status=problem.status_code,
        heading=said["title"],
        words=said["detail"],
    )
    shown.headers.update({n: text for n, text in problem.headers.items() if n in _TOLD})
    return shown


def _to_login(request: Request) -> Response:
    """The form that takes a key, and that leads back to the page that was asked for."""
    address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    back = f"?next={quote(address, safe='')}" if request.method == "GET" and address != "/" else ""
    return RedirectResponse(f"/login{back}", 303, headers=PAGE_HEADERS)
