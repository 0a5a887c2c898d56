"""Logging in to the page with a key, and out of it."""

from math import ceil
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from starlette.concurrency import run_in_threadpool

from noisycount.service.auth import FIELD, auth_of, check_origin, field_of, user_of
from noisycount.service.errors import ForgedError
from noisycount.service.keys import User
from noisycount.service.pages.layout import page, redirect
from noisycount.service.sessions import FORM, SESSION, cookie_of, drop_cookie, set_cookie

router = APIRouter(include_in_schema=False)
_WRONG = "The key opens nothing: it was mistyped, has expired, or was revoked."
_AGAIN = "The form was too old, or not from here: give your key again."
_HOME = "/"


@router.get("/login")
def login_page(request: Request, next: str = _HOME) -> Response:  # noqa: A002  (as addresses say)
    """The form that takes a key; who is logged in goes on."""
    said = cookie_of(request, SESSION)
    if said is not None and auth_of(request).session(said) is not None:
        return redirect(_inside(next))
    return _form(request, next)


@router.post("/login")
async def log_in(request: Request) -> Response:
    """A session for the holder of a key; the same page again for others."""
    auth, host = auth_of(request), request.client.host if request.client else ""
    onwards, key = await field_of(request, "next"), (await field_of(request, "key")).strip()
    if wait := auth.attempts.seconds_left(host):
        words = f"Too many wrong keys came from here: try again in {ceil(wait)} seconds."
        reply = _form(request, onwards, words, 429)
        reply.headers["Retry-After"] = str(ceil(wait))
        return reply
    try:
        check_origin(request)
    except ForgedError:
        return _form(request, onwards, _AGAIN, 403)
    if not auth.login_form.is_good(cookie_of(request, FORM) or "", await field_of(request, FIELD)):
        return _form(request, onwards, _AGAIN, 403)
    begun = await run_in_threadpool(auth.login, key)
    if begun is None:
        auth.attempts.fail(host)
        return _form(request, onwards, _WRONG, 403)
    _end(request)
    reply = redirect(_inside(onwards))
    set_cookie(request, reply, SESSION, begun[0])
    drop_cookie(request, reply, FORM)
    return reply


@router.post("/logout")
async def log_out(
    request: Request,
    user: Annotated[User, Depends(user_of)],  # noqa: ARG001  (by a form of the session)
) -> Response:
    """The end of a session."""
    _end(request)
    reply = redirect("/login")
    drop_cookie(request, reply, SESSION)
    return reply


def _end(request: Request) -> None:
    """End the session that the browser had, so that no two are open."""
    if former := cookie_of(request, SESSION):
        auth_of(request).sessions.end(former)


def _form(request: Request, onwards: str, refusal: str = "", status: int = 200) -> Response:
    """The form, with a token that goes with the cookie of this browser."""
    form = auth_of(request).login_form
    known = cookie_of(request, FORM) or ""
    said = known if form.is_fresh(known) else form.cookie()
    values = {"token": form.token(said), "next": _inside(onwards), "refusal": refusal}
    reply = page(request, "login.html", None, status=status, **values)
    set_cookie(request, reply, FORM, said)
    return reply


def _inside(path: str) -> str:
    r"""A path of this server; its first page for anything that leads elsewhere.

    Example:
        >>> _inside("/ask?n=5"), _inside("//evil.example/"), _inside("/\\evil.example")
        ('/ask?n=5', '/', '/')
    """
    is_path = path.startswith("/") and not path.startswith("//")
    return path if is_path and "\\" not in path and path.isprintable() else _HOME
