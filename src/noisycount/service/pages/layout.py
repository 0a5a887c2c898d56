"""The frame of every page, its style and script, what people see in place of a refusal, and the login."""

import csv
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from io import StringIO
from math import ceil
from pathlib import Path
from textwrap import wrap
from typing import Annotated, cast
from urllib.parse import quote

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from noisycount.charts.svg import digits, svg_text
from noisycount.charts.theme import CONFIG
from noisycount.display.numbers import percent, plus_minus, signed
from noisycount.errors import NoisyCountError
from noisycount.service.auth import (
    CSRF_FIELD,
    FORM_COOKIE,
    SESSION_COOKIE,
    auth_of,
    check_origin,
    cookie_value,
    drop_cookie,
    form_field,
    keep_draft,
    set_cookie,
    user_of,
)
from noisycount.service.errors import ForgedError
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
def static_address(name: str) -> str:
    """Where a file is for a page: an address that no other content ever has."""
    return f"/static/{name}?v={sha256(_content(name)).hexdigest()[:_DIGITS]}"


@router.get("/static/{name}")
def static_file(name: str) -> Response:
    """The style, the script or the icon; nothing else is there."""
    if name not in _TYPES:
        return Response(status_code=404, headers=STATIC_HEADERS | {"Cache-Control": "no-store"})
    headers = STATIC_HEADERS | {"Content-Type": _TYPES[name]}
    return Response(_content(name), headers=headers)


def navigation(user: User | None) -> list[tuple[str, str]]:
    """The pages that the navigation leads a user to, each with its path; None: nobody who is known."""
    if user is None:
        return []
    pages = [("Ask", "/ask"), ("Explore", "/explore"), ("Ledger", "/ledger")]
    return [*pages, ("Report", "/report")] if user.is_owner else pages


def page(request: Request, template: str, user: User | None, *, status: int = 200, **values: object) -> HTMLResponse:
    """A page in its frame."""
    text = render(
        template,
        path=request.url.path,
        user=user,
        navigation=navigation(user),
        csrf=getattr(request.state, "csrf", ""),
        **values,
    )
    return HTMLResponse(text, status_code=status, headers=PAGE_HEADERS)


def render(template: str, **values: object) -> str:
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
    made.globals["static"] = static_address
    made.filters |= {"percent": percent, "plus_minus": plus_minus, "signed": signed, "digits": digits}
    return made


def on_one_line(words: str) -> str:
    """Words that stay on one line."""
    return words.replace(" ", "\N{NO-BREAK SPACE}")


def redirect(path: str) -> Response:
    """The way to a path of this server, which is loaded by GET."""
    return RedirectResponse(path, 303, headers=PAGE_HEADERS)


def download(content: str | bytes, media: str, name: str) -> Response:
    """What has a type such as `text/csv` as a file that a browser saves under a plain name."""
    headers = {**PAGE_HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media, headers=headers)


def sheet(rows: Iterable[Iterable[object]]) -> str:
    """Rows as comma-separated values."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def picture_file(drawn: str, form: str, name: str) -> Response:
    """An SVG as a file, or as a PNG, under a name without its ending."""
    if form == "svg":
        return download(drawn, "image/svg+xml", f"{name}.svg")
    from noisycount.charts.drawing import svg_as_png  # noqa: PLC0415 - loads Altair

    return download(svg_as_png(drawn), "image/png", f"{name}.png")


@cache
def has_png() -> bool:
    """Whether what draws a PNG is installed."""
    return find_spec("altair") is not None and find_spec("vl_convert") is not None


_ABOVE, _LINE, _MARGIN = 12, 20, 16  # of the lines above a picture in a file
_LETTER = 7.2  # the width of a character of them


def standalone_svg(picture: str, lines: Sequence[str]) -> str:
    """Return a picture of a page as an SVG file of its own, below lines of text, in the light colours of the pages.

    Colours and widths are attributes of the elements: not every program that shows an SVG understands a style sheet.
    """
    width, height = _size(picture)
    lines = [line for text in lines for line in wrap(text, int(width / _LETTER))]
    above = _ABOVE + _LINE * len(lines) + 8
    texts = [svg_text(line, _MARGIN, _ABOVE + _LINE * row, kind="ink") for row, line in enumerate(lines, 1)]
    placed = picture.replace("<svg ", f'<svg x="{_MARGIN}" y="{above}" ', 1)
    size = f"{width + 2 * _MARGIN:g}", f"{height + above + _MARGIN:g}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {" ".join(size)}" width="{size[0]}" height="{size[1]}"'
        f' font-family="{CONFIG["font"]}"><rect width="100%" height="100%" fill="#ffffff"/>'
        f"{_with_attributes(''.join([*texts, placed]))}</svg>"
    )


def _size(picture: str) -> tuple[float, float]:
    """Read the width and height of a picture of this project."""
    match = re.search(r'width="([\d.]+)" height="([\d.]+)">', picture)
    assert match is not None  # noqa: S101 - the pictures of this project state their size
    return float(match[1]), float(match[2])


def _with_attributes(picture: str) -> str:
    """Replace the classes of each element by the attributes that the style sheet of the pages gives them."""
    styles = _chart_styles()

    def attributes(match: re.Match[str]) -> str:
        tag, classes = match[1], (match[2] or "").split()
        kinds = ["text", *classes] if tag == "text" else classes
        style = {name: text for kind in kinds for name, text in styles[kind].items()}
        return " ".join([f"<{tag}", *(f'{name}="{text}"' for name, text in style.items())])

    return re.sub(r'<(text|path|rect|circle)\b(?: class="([^"]*)")?', attributes, picture)


@cache
def _chart_styles() -> dict[str, dict[str, str]]:
    """Read what the style sheet says of texts and of each class in a chart, with the values of the light colours."""
    style = _content("noisycount.css").decode()
    colours = dict(re.findall(r"(--[\w-]+): ([^;]+);", style.partition("}")[0]))
    style = re.sub(r"var\((--[\w-]+)\)", lambda name: colours[name[1]], style)
    rules = re.findall(r"^svg\.chart \.?([\w-]+) \{ (.+) \}$", style, re.MULTILINE)
    drawn = re.compile(r"((?:fill|stroke|opacity|font-size)[a-z-]*): ([^;]+);")
    return {kind: dict(drawn.findall(rule)) for kind, rule in rules}


Handler = Callable[[Request, Exception], Awaitable[JSONResponse]]
_REFUSALS = (NoisyCountError, ValueError, Exception, RequestValidationError, HTTPException)
_PROGRAMS = ("/v1/", "/healthz", "/openapi.json")  # asked by no person
_UNKNOWN, _ABSENT = 401, 404
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
        is_there = problem.status_code != _ABSENT  # else there is no page on which the question could be asked
        kept = draft_address(request, sentence(json.loads(bytes(problem.body))["detail"])) if is_there else None
        if problem.status_code == _UNKNOWN:
            return _to_login(request, kept)
        return _refusal(request, problem) if kept is None else redirect(kept)

    return refused


def draft_address(request: Request, refusal: str = "") -> str | None:
    """Keep the question that a form of a session asks, and return the address of its page; None for other requests."""
    name = request.path_params.get("name")
    if name is None or not request.url.path.startswith("/ask/"):
        return None
    draft = keep_draft(request, refusal)
    return None if draft is None else f"/ask/{quote(name, safe='')}?draft={draft}"


def _refusal(request: Request, problem: JSONResponse) -> Response:
    said = json.loads(bytes(problem.body))
    if said["type"].endswith(":route"):
        said |= {"title": "No such page", "detail": "Nothing is at this address. Pages begin with Ask."}
    shown = page(
        request,
        "refused.html",
        getattr(request.state, "user", None),
        status=problem.status_code,
        heading=said["title"],
        words=sentence(said["detail"]),
    )
    shown.headers.update({n: text for n, text in problem.headers.items() if n in _KEPT})
    return shown


def sentence(words: str) -> str:
    """The words of a refusal as a sentence on a page."""
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith('.') else '.'}"


def _to_login(request: Request, kept: str | None) -> Response:
    """Redirect to the login, which leads on to the page that was asked for, or to that of a kept question."""
    address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    back = kept or (address if request.method == "GET" and address != "/" else None)
    return redirect("/login" if back is None else f"/login?next={quote(back, safe='')}")


_REFUSED = {  # why a key was refused, as an address says it
    "key": "The key opens nothing: it was mistyped, has expired, or was revoked.",
    "form": "The form was too old, or not from here: give your key again.",
    "wait": "Too many wrong keys came from here: try again in {} seconds.",
}
_HOME = "/"


@router.get("/login")
def login_page(request: Request, next: str = _HOME, refused: str = "") -> Response:  # noqa: A002  (as addresses say)
    """Return the form that takes a key, with the reason of a refusal; redirect a user who is logged in."""
    auth, said = auth_of(request), cookie_value(request, SESSION_COOKIE)
    if said is not None and auth.session(said) is not None:
        return redirect(_local_path(next))
    wait = ceil(auth.attempts.seconds_left(_host(request))) if refused == "wait" else 0
    if refused not in _REFUSED or (refused == "wait" and not wait):
        return _login_form(request, next)
    reply = _login_form(request, next, _REFUSED[refused].format(wait), 429 if wait else 403)
    reply.headers.update({"Retry-After": str(wait)} if wait else {})
    return reply


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Begin a session for the holder of a key; redirect others to the form, so that Back sends no key again.

    A right key never waits: else anybody could lock out all others behind one address. No limit is needed against
    guessing, as a key has 256 random bits.
    """
    auth, onwards = auth_of(request), _local_path(await form_field(request, "next"))
    key = (await form_field(request, "key")).strip()
    if not await _is_from_here(request):
        return _refuse_login("form", onwards)
    begun = await run_in_threadpool(auth.login, key, cookie_value(request, SESSION_COOKIE))
    if begun is None:
        if auth.attempts.seconds_left(_host(request)):
            return _refuse_login("wait", onwards)
        auth.attempts.fail(_host(request))
        return _refuse_login("key", onwards)
    reply = redirect(onwards)
    set_cookie(request, reply, SESSION_COOKIE, begun[0])
    drop_cookie(request, reply, FORM_COOKIE)
    return reply


async def _is_from_here(request: Request) -> bool:
    """Return True if a login form was made by this server for this browser, not long ago."""
    try:
        check_origin(request)
    except ForgedError:
        return False
    cookie, token = cookie_value(request, FORM_COOKIE) or "", await form_field(request, CSRF_FIELD)
    return auth_of(request).login_form.is_valid(cookie, token)


def _refuse_login(why: str, onwards: str) -> Response:
    return redirect(f"/login?refused={why}&next={quote(onwards, safe='')}")


def _host(request: Request) -> str:
    """Return the address from which a request came."""
    return request.client.host if request.client else ""


@router.post("/logout")
async def log_out(
    request: Request,
    user: Annotated[User, Depends(user_of)],  # noqa: ARG001  (by a form of the session)
) -> Response:
    """End a session with its drafts."""
    auth_of(request).sessions.end(cookie_value(request, SESSION_COOKIE) or "")
    reply = redirect("/login")
    drop_cookie(request, reply, SESSION_COOKIE)
    return reply


def _login_form(request: Request, onwards: str, refusal: str = "", status: int = 200) -> Response:
    """Return the form, with a token that goes with the cookie of this browser."""
    auth = auth_of(request)
    form, ended = auth.login_form, auth.sessions.ended(cookie_value(request, SESSION_COOKIE) or "")
    is_kept = ended is not None and len(ended.drafts) > 0 and "?draft=" in onwards
    known = cookie_value(request, FORM_COOKIE) or ""
    said = known if form.is_fresh(known) else form.cookie()
    values = {"token": form.token(said), "next": _local_path(onwards), "refusal": refusal, "is_kept": is_kept}
    reply = page(request, "login.html", None, status=status, **values)
    set_cookie(request, reply, FORM_COOKIE, said)
    return reply


def _local_path(path: str) -> str:
    """A path of this server; its first page for anything that leads elsewhere."""
    is_path = path.startswith("/") and not path.startswith("//")
    return path if is_path and "\\" not in path and path.isprintable() else _HOME
