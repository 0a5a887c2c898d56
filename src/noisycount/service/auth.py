"""Who asks with a request, and whether a form was filled in on a page of this server."""

import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Self
from urllib.parse import urlsplit

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData

from noisycount.config.config import Config
from noisycount.errors import ConfigError
from noisycount.frozen import frozen
from noisycount.service.errors import ForbiddenError, ForgedError, UnauthenticatedError, UncheckedError
from noisycount.service.keys import IssuedKey, Keyring, User
from noisycount.service.sessions import SESSION, Attempts, LoginForm, LoginSession, Sessions, cookie_of, is_secure
from noisycount.service.state import State

if TYPE_CHECKING:
    from noisycount.service.oidc import Tokens


_KEY = "nc_"  # how a key begins, and no token


@frozen
class Auth:
    """Keys, tokens and sessions of one server.

    Attributes:
        keyring: The keys beside the ledger.
        tokens: Those of an issuer; None: none is taken.
        sessions: Of the pages.
        attempts: The wrong keys that were shown to the login.
        login_form: The form of the login.
    """

    keyring: Keyring
    tokens: "Tokens | None" = None
    sessions: Sessions = field(default_factory=Sessions)
    attempts: Attempts = field(default_factory=Attempts)
    login_form: LoginForm = field(default_factory=LoginForm)

    @classmethod
    def of(cls, configuration: Config) -> Self:
        """What an owner configured."""
        keyring = Keyring.of(configuration)
        if configuration.service.oidc is None:
            return cls(keyring)
        from noisycount.service.oidc import Tokens  # noqa: PLC0415 - loads joserfc

        return cls(keyring, Tokens.of(configuration))

    def bearer(self, shown: str) -> User | None:
        """Who comes with the key or the token behind `Bearer`; None: nobody."""
        with _checking():
            if self.tokens is not None and self.is_token(shown):
                return self.tokens.user(shown)
            holder = self.keyring.holder(shown)
        return None if holder is None else holder.user

    def is_token(self, shown: str) -> bool:
        """Whether it may take long to know who comes: an issuer is far, the keys are at hand."""
        return self.tokens is not None and not shown.startswith(_KEY)

    def login(self, shown: str) -> tuple[str, IssuedKey] | None:
        """What the cookie of a new session says, and for whom; None: the key opens nothing."""
        with _checking():
            holder = self.keyring.holder(shown)
        return None if holder is None else (self.sessions.begin(holder.id), holder)

    def session(self, cookie: str) -> tuple[LoginSession, User] | None:
        """The session of a cookie, and who is logged in; None where its key opens nothing more."""
        session = self.sessions.session(cookie)
        if session is None:
            return None
        with _checking():
            holder = self.keyring.valid(session.key_id)
        if holder is None:
            self.sessions.end(cookie)
            return None
        return session, holder.user


@contextmanager
def _checking() -> Iterator[None]:
    """Tell a user nothing of what the owner has to mend."""
    try:
        yield
    except ConfigError as error:
        raise UncheckedError from error


def auth_of(request: Request) -> Auth:
    """What knows the users of the server that was asked."""
    auth: Auth = request.app.state.auth
    return auth


async def user_of(request: Request) -> User:
    """Who asks: by a key or a token as `Authorization: Bearer`, or by the session of the page.

    A session may change something only by a form of its own. `request.state` has the user, and for
    a session `csrf`, which each of its forms carries.
    """
    shown = request.headers.getlist("authorization")
    user = await (_by_header(request, shown) if shown else _by_session(request))
    request.state.user = user
    return user


async def owner_of(user: Annotated[User, Depends(user_of)]) -> User:
    """An owner who asks."""
    if not user.is_owner:
        raise ForbiddenError
    return user


async def _by_header(request: Request, shown: list[str]) -> User:
    scheme, _, rest = shown[0].partition(" ")
    if len(shown) > 1 or scheme.lower() != "bearer":
        raise UnauthenticatedError
    auth, said = auth_of(request), rest.strip()
    is_far = auth.is_token(said)
    user = await run_in_threadpool(auth.bearer, said) if is_far else auth.bearer(said)
    if user is None:
        raise UnauthenticatedError
    return user


_READING = {"GET", "HEAD", "OPTIONS"}


async def _by_session(request: Request) -> User:
    cookie = cookie_of(request, SESSION)
    found = None if cookie is None else auth_of(request).session(cookie)
    if found is None:
        raise UnauthenticatedError
    session, user = found
    if request.method not in _READING:
        check_origin(request)
        await _check_csrf(request, session.csrf)
    request.state.csrf = session.csrf
    return user


def check_origin(request: Request) -> None:
    """Refuse what a page of another server sends.

    Browsers say with every form where it was filled in; who says nothing is refused.
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


FIELD = "csrf"
HEADER = "X-CSRF-Token"
_FORM = "application/x-www-form-urlencoded"  # no page sends a file


async def _check_csrf(request: Request, expected: str) -> None:
    """Refuse a form that carries the token of its session in no field and no header."""
    said = request.headers.get(HEADER) or await field_of(request, FIELD)
    if not hmac.compare_digest(said.encode("utf-8", "replace"), expected.encode("ascii")):
        raise ForgedError


async def field_of(request: Request, name: str) -> str:
    """The text of a field of a form; empty where there is none."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    form = await request.form() if kind == _FORM else FormData()
    said = form.get(name)
    return said if isinstance(said, str) else ""


_GLANCE = 0.1  # of a token: a slider that is moved asks for four charts


async def asking(user: Annotated[User, Depends(user_of)], state: State) -> User:
    """Who asks, not too often."""
    state.rates.take(user.name)
    return user


async def looking(user: Annotated[User, Depends(user_of)], state: State) -> User:
    """Who looks at what is about no data set, not all too often."""
    state.rates.take(user.name, _GLANCE)
    return user


Asking = Annotated[User, Depends(asking)]
Looking = Annotated[User, Depends(looking)]
