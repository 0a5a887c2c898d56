"""The frame of every page, its style and script, and what people see in place of a refusal."""

import json
from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import cast
from urllib.parse import quote

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException

from noisycount.display.numbers import percent, plus_minus, signed
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.service.keys import User

_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
)

_ALWAYS = {
    "Content-Security-Policy": "; ".join(_POLICY),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

# For what may show a data set: no cache, a shared one least of all, has a copy.
PAGE_HEADERS = {**_ALWAYS, "Cache-Control": "no-store"}

# For the style and the script, whose addresses change with their content.
STATIC_HEADERS = {**_ALWAYS, "Cache-Control": "public, max-age=31536000, immutable"}
_FOLDER = Path(__file__).parent

_TYPES = {
    "noisycount.css": "text/css; charset=utf-8",
    "noisycount.js": "text/javascript; charset=utf-8",
    "noisycount.svg": "image/svg+xml",
}

_DIGITS = 12
router = APIRouter(include_in_schema=False)


@cache
def _content(name: str) -> bytes:
    return (_FOLDER / "static" / name).read_bytes()


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


@frozen
class Place:
    """A page that the navigation leads to."""

    name: str
    path: str


_PLACES = (Place("Ask", "/ask"), Place("Explore", "/explore"), Place("Ledger", "/ledger"))


def places(user: User | None) -> Iterator[Place]:
    """Where a user may go; None: nobody who is known."""
    if user is not None:
        yield from _PLACES
        if user.is_owner:
            yield Place("Report", "/report")


def page(request: Request, template: str, user: User | None, *, status: int = 200, **values: object) -> HTMLResponse:
    """A page in its frame.

    Args:
        request: What was asked for; its path says which place of the navigation is here.
        template: A file of the folder `templates`, which extends `layout.html`.
        user: Who asks; None: nobody who is known.
        status: Of the reply.
        values: What the template shows; all of it is escaped.
    """
    text = piece(
        template,
        path=request.url.path,
        user=user,
        places=list(places(user)),
        csrf=getattr(request.state, "csrf", ""),
        **values,
    )
    return HTMLResponse(text, status_code=status, headers=PAGE_HEADERS)


def piece(template: str, **values: object) -> str:
    """A template of a page without its frame, filled with values, all of which are escaped."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    """What fills the templates: it escapes everything, and refuses a name that nobody gave."""
    made = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["static"] = address
    made.filters |= {"percent": percent, "plus_minus": plus_minus, "signed": signed}
    return made


def redirect(path: str) -> Response:
    """The way to a path of this server, which is loaded by GET."""
    return RedirectResponse(path, 303, headers=PAGE_HEADERS)


def download(text: str, media: str, name: str) -> Response:
    """A text of a type such as `text/csv` as a file that a browser saves under a plain name."""
    headers = {**PAGE_HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=media, headers=headers)


Handler = Callable[[Request, Exception], Awaitable[JSONResponse]]
_REFUSALS = (NoisyCountError, ValueError, Exception, RequestValidationError, HTTPException)
_PROGRAMS = ("/v1/", "/healthz", "/openapi.json")  # asked by no person
_UNKNOWN = 401
_KEPT = {"retry-after", "www-authenticate", "allow"}  # of the headers of a problem


def show_refusals_as_pages(application: FastAPI) -> None:
    """Show people pages where an application tells programs problems, or the login."""
    for kind in _REFUSALS:
        told = cast("Handler", application.exception_handlers[kind])
        application.add_exception_handler(kind, _as_page(told))


def _as_page(told: Handler) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def refused(request: Request, error: Exception) -> Response:
        problem = await told(request, error)
        is_for_people = "text/html" in request.headers.get("accept", "")
        if request.url.path.startswith(_PROGRAMS) or not is_for_people:
            return problem
        return _to_login(request) if problem.status_code == _UNKNOWN else _page(request, problem)

    return refused


def _page(request: Request, problem: JSONResponse) -> Response:
    said = json.loads(bytes(problem.body))
    shown = page(
        request,
        "refused.html",
        getattr(request.state, "user", None),
        status=problem.status_code,
        heading=said["title"],
        words=said["detail"],
    )
    shown.headers.update({n: text for n, text in problem.headers.items() if n in _KEPT})
    return shown


def _to_login(request: Request) -> Response:
    """The form that takes a key, and that leads back to the page that was asked for."""
    address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    back = f"?next={quote(address, safe='')}" if request.method == "GET" and address != "/" else ""
    return redirect(f"/login{back}")
