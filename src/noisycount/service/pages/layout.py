"""Parts that all pages share: their frame, static files, error pages, downloads and the login."""

import csv
import json
import re
from collections.abc import Awaitable, Callable, Iterable
from fractions import Fraction
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from io import StringIO
from math import ceil
from pathlib import Path
from typing import Annotated, cast
from urllib.parse import quote

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from noisycount.charts.png import svg_as_png
from noisycount.display.documentation import TITLES
from noisycount.display.numbers import approximately, percent, plus_minus, signed
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
from noisycount.tasks.documentation import address_at_service, with_addresses
from noisycount.tasks.plan import preview_heading

_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
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

# For pages that may show a data set: no cache keeps a copy.
PAGE_HEADERS = {**_ALWAYS, "Cache-Control": "no-store"}

# For style and script, whose addresses change with their content.
STATIC_HEADERS = {**_ALWAYS, "Cache-Control": "public, max-age=31536000, immutable"}
# For the documentation, whose addresses stay the same when an upgrade changes it.
SITE_HEADERS = {**_ALWAYS, "Cache-Control": "public, max-age=600"}
_FOLDER = Path(__file__).parent

# The page of the documentation that explains a page, by its template.
_HELP = {
    "ask.html": "start/analyst",
    "ask_list.html": "start/analyst",
    "explore.html": "how-to/pages",
    "ledger.html": "how-to/report",
    "login.html": "how-to/keys",
    "no_site.html": "index",
    "refused.html": "how-to/troubleshooting",
    "release.html": "how-to/pages",
    "report.html": "how-to/report",
}

_TYPES = {
    "noisycount.css": "text/css; charset=utf-8",
    "noisycount.js": "text/javascript; charset=utf-8",
    "noisycount.svg": "image/svg+xml",
}

_DIGITS = 12
router = APIRouter(include_in_schema=False)


@cache
def _read_static_file(name: str) -> bytes:
    return (_FOLDER / "static" / name).read_bytes()


@cache
def static_address(name: str) -> str:
    """Return the address of a static file, with a digest of its content."""
    return f"/static/{name}?v={sha256(_read_static_file(name)).hexdigest()[:_DIGITS]}"


@router.get("/static/{name}")
def static_file(name: str) -> Response:
    """Return the style, the script or the icon."""
    if name not in _TYPES:
        return Response(status_code=404, headers=STATIC_HEADERS | {"Cache-Control": "no-store"})
    headers = STATIC_HEADERS | {"Content-Type": _TYPES[name]}
    return Response(_read_static_file(name), headers=headers)


def navigation(user: User | None) -> list[tuple[str, str]]:
    """Return the pages of the navigation with their paths; none without a user."""
    if user is None:
        return []
    asking = [("Ask", "/ask")] if user.may_ask else []
    reading = [("Report", "/report")] if user.reads_all else []
    return [*asking, ("Explore", "/explore"), ("Ledger", "/ledger"), *reading]


def page(request: Request, template: str, user: User | None, *, status: int = 200, **values: object) -> HTMLResponse:
    """Render a page in its frame."""
    text = render(
        template,
        path=request.url.path,
        user=user,
        navigation=navigation(user),
        csrf=getattr(request.state, "csrf", ""),
        help=(TITLES[_HELP[template]], address_at_service(_HELP[template])),
        **values,
    )
    return HTMLResponse(text, status_code=status, headers=PAGE_HEADERS)


def render(template: str, **values: object) -> str:
    """Render a template without the frame. All values are escaped."""
    return _template_environment().get_template(template).render(**values)


@cache
def _template_environment() -> Environment:
    """Return the template environment, which escapes all values and refuses undefined names."""
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["static"] = static_address
    environment.filters |= {"plus_minus": plus_minus, "signed": signed, "with_page_links": with_page_links}
    environment.filters |= {"percent": lambda share: on_one_line(percent(share)), "heading": preview_heading}
    environment.filters["approximately"] = lambda text: approximately(Fraction(text))
    return environment


_REFERENCE = re.compile(r"\(([^():]+): (/docs/[a-z/-]+\.html)\)")


def with_page_links(words: object) -> Markup:
    """Return words in HTML. A reference to a page of the documentation becomes a link.

    Example:
        >>> with_page_links("ε < 1 (Keys and OpenID Connect: /docs/how-to/keys.html)")
        Markup('ε &lt; 1 (<a href="/docs/how-to/keys.html">Keys and OpenID Connect</a>)')
    """
    text = with_addresses(str(escape(words)))
    return Markup(_REFERENCE.sub(r'(<a href="\2">\1</a>)', text))  # noqa: S704 - the text is escaped


def on_one_line(words: str) -> str:
    """Return words with blanks at which no line breaks."""
    return words.replace(" ", "\N{NO-BREAK SPACE}")


def redirect(path: str) -> Response:
    """Redirect to a path of this server by GET."""
    return RedirectResponse(path, 303, headers=PAGE_HEADERS)


def download(content: str | bytes, media: str, name: str) -> Response:
    """Return content as a file that a browser saves, with a media type such as `text/csv` and a name."""
    headers = {**PAGE_HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media, headers=headers)


def sheet(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as comma-separated values."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def picture_file(svg: str, form: str, name: str) -> Response:
    """Return an SVG as a file, or as a PNG. The name has no ending."""
    if form == "svg":
        return download(svg, "image/svg+xml", f"{name}.svg")
    return download(svg_as_png(svg), "image/png", f"{name}.png")


@cache
def has_png() -> bool:
    """Return True if the package that draws a PNG is installed."""
    return find_spec("resvg_py") is not None


Handler = Callable[[Request, Exception], Awaitable[JSONResponse]]
_REFUSALS = (NoisyCountError, ValueError, Exception, RequestValidationError, HTTPException)
_PROGRAMS = ("/v1/", "/healthz", "/openapi.json")  # paths for programs, not for people
_UNAUTHENTICATED, _NOT_FOUND = 401, 404
_COPIED = {"retry-after", "www-authenticate", "allow"}  # headers of a problem that its page keeps


def show_refusals_as_pages(application: FastAPI) -> None:
    """Show people a page, or the login, in place of the problems that programs receive."""
    for kind in _REFUSALS:
        handler = cast("Handler", application.exception_handlers[kind])
        application.add_exception_handler(kind, _page_handler(handler))


def _page_handler(handler: Handler) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def reply(request: Request, error: Exception) -> Response:
        problem = await handler(request, error)
        is_for_people = "text/html" in request.headers.get("accept", "")
        if request.url.path.startswith(_PROGRAMS) or not is_for_people:
            return problem
        has_page = problem.status_code != _NOT_FOUND  # of a data set, where the user can ask the question again
        draft = draft_address(request, sentence(json.loads(bytes(problem.body))["detail"])) if has_page else None
        if problem.status_code == _UNAUTHENTICATED:
            return _to_login(request, draft)
        return _refusal_page(request, problem) if draft is None else redirect(draft)

    return reply


def draft_address(request: Request, refusal: str = "") -> str | None:
    """Store the question of a session's form, and return the address of its page; None for other requests."""
    name = request.path_params.get("name")
    if name is None or not request.url.path.startswith("/ask/"):
        return None
    draft = keep_draft(request, refusal)
    return None if draft is None else f"/ask/{quote(name, safe='')}?draft={draft}"


def _refusal_page(request: Request, problem: JSONResponse) -> Response:
    members = json.loads(bytes(problem.body))
    if members["type"].endswith(":route"):
        members |= {"title": "No such page", "detail": "There is no page at this address."}
    response = page(
        request,
        "refused.html",
        getattr(request.state, "user", None),
        status=problem.status_code,
        heading=members["title"],
        words=sentence(members["detail"]),
    )
    response.headers.update({name: text for name, text in problem.headers.items() if name in _COPIED})
    return response


def sentence(words: str) -> str:
    """Return the words of a refusal as a sentence."""
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith('.') else '.'}"


def _to_login(request: Request, draft: str | None) -> Response:
    """Redirect to the login. After it the browser is led to the requested page, or to the page of the draft."""
    address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    back = draft or (address if request.method == "GET" and address != "/" else None)
    return redirect("/login" if back is None else f"/login?next={quote(back, safe='')}")


_REFUSED = {  # reasons for which a login was refused, by their names in addresses
    "key": "The key is not valid: it was mistyped, has expired, or was revoked.",
    "form": "The form was too old, or not from this server: enter your key again.",
    "wait": "Too many wrong keys came from your network: try again in {} seconds.",
}
_HOME = "/"


@router.get("/login")
def login_page(request: Request, next: str = _HOME, refused: str = "") -> Response:  # noqa: A002  (the name in addresses)
    """Return the login form, with the reason of a refusal. Redirect a user who is logged in."""
    auth, cookie = auth_of(request), cookie_value(request, SESSION_COOKIE)
    if cookie is not None and auth.session(cookie) is not None:
        return redirect(_local_path(next))
    wait = ceil(auth.attempts.seconds_left(_client_address(request))) if refused == "wait" else 0
    if refused not in _REFUSED or (refused == "wait" and not wait):
        return _login_form(request, next)
    reply = _login_form(request, next, _REFUSED[refused].format(wait), 429 if wait else 403)
    reply.headers.update({"Retry-After": str(wait)} if wait else {})
    return reply


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Begin a session for the holder of a key. Redirect others to the form, so that Back sends no key again.

    A right key never waits; otherwise one user could lock out all others of a network. Guessing needs no limit, as a
    key has 256 random bits.
    """
    auth, onwards = auth_of(request), _local_path(await form_field(request, "next"))
    key = (await form_field(request, "key")).strip()
    if not await _is_own_form(request):
        return _refuse_login("form", onwards)
    session = await run_in_threadpool(auth.login, key, cookie_value(request, SESSION_COOKIE))
    if session is None:
        if auth.attempts.seconds_left(_client_address(request)):
            return _refuse_login("wait", onwards)
        auth.attempts.fail(_client_address(request))
        return _refuse_login("key", onwards)
    reply = redirect(onwards)
    set_cookie(request, reply, SESSION_COOKIE, session[0])
    drop_cookie(request, reply, FORM_COOKIE)
    return reply


async def _is_own_form(request: Request) -> bool:
    """Return True if this server sent the login form to this browser, not long ago."""
    try:
        check_origin(request)
    except ForgedError:
        return False
    cookie, token = cookie_value(request, FORM_COOKIE) or "", await form_field(request, CSRF_FIELD)
    return auth_of(request).login_form.is_valid(cookie, token)


def _refuse_login(reason: str, onwards: str) -> Response:
    return redirect(f"/login?refused={reason}&next={quote(onwards, safe='')}")


def _client_address(request: Request) -> str:
    """Return the address from which a request came."""
    return request.client.host if request.client else ""


@router.post("/logout")
async def log_out(
    request: Request,
    user: Annotated[User, Depends(user_of)],  # noqa: ARG001  (requires a form of the session)
) -> Response:
    """End a session with its drafts."""
    auth_of(request).sessions.end(cookie_value(request, SESSION_COOKIE) or "")
    reply = redirect("/login")
    drop_cookie(request, reply, SESSION_COOKIE)
    return reply


def _login_form(request: Request, onwards: str, refusal: str = "", status: int = 200) -> Response:
    """Return the form, with a token that goes with the cookie of this browser."""
    auth = auth_of(request)
    form, ended_session = auth.login_form, auth.sessions.recently_ended(cookie_value(request, SESSION_COOKIE) or "")
    is_kept = ended_session is not None and len(ended_session.drafts) > 0 and "?draft=" in onwards
    former_cookie = cookie_value(request, FORM_COOKIE) or ""
    cookie = former_cookie if form.is_fresh(former_cookie) else form.cookie()
    values = {"token": form.token(cookie), "next": _local_path(onwards), "refusal": refusal, "is_kept": is_kept}
    reply = page(request, "login.html", None, status=status, **values)
    set_cookie(request, reply, FORM_COOKIE, cookie)
    return reply


def _local_path(path: str) -> str:
    """Return a path of this server, or that of the first page for any other address."""
    is_path = path.startswith("/") and not path.startswith("//")
    return path if is_path and "\\" not in path and path.isprintable() else _HOME
