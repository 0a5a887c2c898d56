"""Who asks with a request: what every route depends on that shows or does anything."""

from typing import Annotated

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from noisycount.app.access.visitor import Visitor
from noisycount.app.server.guard.cookies import SESSION, cookie_of
from noisycount.app.server.guard.guard import Guard
from noisycount.app.server.guard.origin import check_origin, check_token
from noisycount.app.server.refusals import ForbiddenError, UnauthenticatedError

__all__ = ["guard_of", "owner_of", "visitor_of"]

_READING = {"GET", "HEAD", "OPTIONS"}


def guard_of(request: Request) -> Guard:
    """The guard of the server that was asked."""
    guard: Guard = request.app.state.guard
    return guard


async def visitor_of(request: Request) -> Visitor:
    """Who asks: by a key or a token as `Authorization: Bearer`, or by the session of the page.

    A session may change something only by a form of its own. `request.state` has the visitor, and
    for a session `csrf`, which each of its forms carries.

    Raises:
        UnauthenticatedError: Nobody who is known.
        ForgedError: A form from elsewhere.
        UncheckedError: Keys cannot be read.
    """
    shown = request.headers.getlist("authorization")
    visitor = await (_by_header(request, shown) if shown else _by_session(request))
    request.state.visitor = visitor
    return visitor


async def owner_of(visitor: Annotated[Visitor, Depends(visitor_of)]) -> Visitor:
    """An owner who asks.

    Raises:
        ForbiddenError: It is an analyst.
    """
    if not visitor.is_owner:
        raise ForbiddenError
    return visitor


async def _by_header(request: Request, shown: list[str]) -> Visitor:
    scheme, _, rest = shown[0].partition(" ")
    if len(shown) > 1 or scheme.lower() != "bearer":
        raise UnauthenticatedError
    guard, said = guard_of(request), rest.strip()
    is_far = guard.takes_a_moment(said)
    visitor = await run_in_threadpool(guard.bearer, said) if is_far else guard.bearer(said)
    if visitor is None:
        raise UnauthenticatedError
    return visitor


async def _by_session(request: Request) -> Visitor:
    said = cookie_of(request, SESSION)
    found = None if said is None else guard_of(request).session(said)
    if found is None:
        raise UnauthenticatedError
    session, visitor = found
    if request.method not in _READING:
        check_origin(request)
        await check_token(request, session.csrf)
    request.state.csrf = session.csrf
    return visitor
