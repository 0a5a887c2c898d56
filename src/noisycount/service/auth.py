"""Who asks with a request: attempts, cookies, forms and sessions of the pages, in memory alone, and keys and tokens."""

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Self
from urllib.parse import urlsplit

from fastapi import Depends, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData

from noisycount.config.config import Config
from noisycount.errors import ConfigError
from noisycount.frozen import frozen
from noisycount.service.drafts import Drafts, FormDraft
from noisycount.service.errors import ForbiddenError, ForgedError, RateError, UnauthenticatedError, UncheckedError
from noisycount.service.keys import IssuedKey, Keyring, User
from noisycount.service.state import RateLimiter, ServiceState, State

MOST_ATTEMPTS, ATTEMPT_SECONDS = 10, 60.0  # wrong keys from one network within so many seconds are answered at once
_PLACES = 10_000  # that are kept in mind, the latest
_HOME_BITS = 64  # of an IPv6 address, of which one customer has all the rest


@dataclass(slots=True)
class Attempts:
    """The wrong keys of the last minute, by where they came from."""

    clock: Callable[[], float] = time.monotonic
    _failed: OrderedDict[str, deque[float]] = field(default_factory=OrderedDict, init=False)
    _turn: Lock = field(default_factory=Lock, init=False)

    def seconds_left(self, host: str) -> float:
        """Return the seconds until the network of an address may show another wrong key; 0 if it may now."""
        with self._turn:
            failed = self._failed.get(_network(host))
            if failed is None or len(failed) < MOST_ATTEMPTS:
                return 0.0
            return max(0.0, failed[0] + ATTEMPT_SECONDS - self.clock())

    def fail(self, host: str) -> None:
        """Keep a wrong key in mind that came from an address."""
        with self._turn:
            place = _network(host)
            self._failed.setdefault(place, deque(maxlen=MOST_ATTEMPTS)).append(self.clock())
            self._failed.move_to_end(place)
            while len(self._failed) > _PLACES:
                self._failed.popitem(last=False)


def _network(host: str) -> str:
    """Whose address it is."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        return str(ip_network((int(address), _HOME_BITS), strict=False))
    return host


SESSION_COOKIE, FORM_COOKIE = "noisycount", "noisycount-login"  # the two cookies
_HOST_ONLY = "__Host-"  # a browser takes such a cookie from this very host alone, by https


def cookie_value(request: Request, name: str) -> str | None:
    """What a cookie says; None where there is none."""
    return request.cookies.get(_full_name(request, name))


def set_cookie(request: Request, response: Response, name: str, said: str) -> None:
    """Let a browser say something with every request to this server, and tell it to no script."""
    response.set_cookie(
        _full_name(request, name), said, path="/", secure=is_secure(request), httponly=True, samesite="strict"
    )


def drop_cookie(request: Request, response: Response, name: str) -> None:
    """Let a browser forget a cookie."""
    response.delete_cookie(
        _full_name(request, name), path="/", secure=is_secure(request), httponly=True, samesite="strict"
    )


def is_secure(request: Request) -> bool:
    """Whether nobody between browser and server, or its proxy, can read."""
    return request.url.scheme == "https"


def _full_name(request: Request, name: str) -> str:
    return f"{_HOST_ONLY}{name}" if is_secure(request) else name


FORM_SECONDS = 3600.0  # seconds for which a form may stay open
_BYTES = 32
_DIGITS = 12  # of seconds: thirty thousand years


@frozen
class LoginForm:
    """Pairs of a cookie and a token that only this server makes, so that no other site logs anybody in."""

    clock: Callable[[], float] = time.monotonic
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(_BYTES), repr=False)

    def cookie(self) -> str:
        """What the cookie of a new form says."""
        return f"{int(self.clock())}.{secrets.token_urlsafe(_BYTES)}"

    def token(self, cookie: str) -> str:
        """What the form says that goes with a cookie."""
        return hmac.digest(self._secret, cookie.encode("utf-8", "replace"), "sha256").hex()

    def is_valid(self, cookie: str, token: str) -> bool:
        """Whether a form came from here, to the same browser, and not long ago."""
        said = token.encode("utf-8", "replace")
        is_ours = hmac.compare_digest(self.token(cookie).encode("ascii"), said)
        return is_ours and self.is_fresh(cookie)

    def is_fresh(self, cookie: str) -> bool:
        """Whether the cookie of a form can still be used."""
        begun = cookie.partition(".")[0]
        is_number = begun.isascii() and begun.isdigit() and len(begun) <= _DIGITS
        return is_number and 0 <= self.clock() - int(begun) < FORM_SECONDS


IDLE_SECONDS = 1800.0  # seconds after which a session ends that nobody used
LONGEST_SECONDS = 43_200.0  # seconds after which any session ends, and after its last use its drafts
MOST_SESSIONS = 20  # of one key: each more ends the oldest


@frozen
class LoginSession:
    """A session of a user who logged in with a key."""

    key_id: str
    name: str  # of the user
    csrf: str = field(repr=False)  # token that each form of the session carries, so that no other site can fill one
    begun: float  # seconds of the clock
    used: float  # seconds of the clock
    drafts: Drafts = field(default_factory=Drafts, repr=False)

    def is_over(self, now: float) -> bool:
        """Return True if the session was not used for long, or lasts too long."""
        return now - self.used >= IDLE_SECONDS or now - self.begun >= LONGEST_SECONDS

    def is_forgotten(self, now: float) -> bool:
        """Return True if the session is over for so long that its user cannot resume its drafts."""
        return now - self.used >= LONGEST_SECONDS


@dataclass(slots=True)
class Sessions:
    """Sessions of one server, by the hash of the browser's cookie.

    A session that time has ended stays for its drafts, which its user has again after the next login in that browser.
    """

    clock: Callable[[], float] = time.monotonic
    _open: dict[bytes, LoginSession] = field(default_factory=dict, init=False, repr=False)
    _turn: Lock = field(default_factory=Lock, init=False, repr=False)

    def begin(self, key_id: str, name: str, former: str | None = None) -> str:
        """Begin a session and return its cookie, 256 random bits.

        The session of the former cookie ends. Its drafts pass to the new session if both are of one user.
        """
        said, now = secrets.token_urlsafe(_BYTES), self.clock()
        with self._turn:
            self._forget(now)
            ended = None if former is None else self._open.pop(_hash(former), None)
            drafts = Drafts() if ended is None or ended.name != name else ended.drafts
            mine = [cookie for cookie, one in self._open.items() if one.key_id == key_id]
            mine.sort(key=lambda cookie: not self._open[cookie].is_over(now))  # those that are over go first
            for oldest in mine[: max(0, len(mine) - MOST_SESSIONS + 1)]:
                del self._open[oldest]
            self._open[_hash(said)] = LoginSession(key_id, name, secrets.token_urlsafe(_BYTES), now, now, drafts)
        return said

    def session(self, said: str) -> LoginSession | None:
        """Return the session of a cookie, used now, or None if there is none or it is over."""
        name, now = _hash(said), self.clock()
        with self._turn:
            found = self._open.get(name)
            if found is None or found.is_over(now):
                return None
            self._open[name] = replace(found, used=now)
            return found

    def ended(self, said: str) -> LoginSession | None:
        """Return the session of a cookie that time has ended, not long ago, or None."""
        now = self.clock()
        with self._turn:
            self._forget(now)
            found = self._open.get(_hash(said))
        return found if found is not None and found.is_over(now) else None

    def keep_draft(self, said: str, fields: Iterable[tuple[str, str]], refusal: str = "") -> str | None:
        """Keep a form in the session of a cookie, which time may have ended; return None if there is no session."""
        with self._turn:
            found = self._open.get(_hash(said))
            return None if found is None else found.drafts.keep(fields, refusal)

    def _forget(self, now: float) -> None:
        """Drop the sessions that nobody can resume."""
        self._open = {cookie: one for cookie, one in self._open.items() if not one.is_forgotten(now)}

    def end(self, said: str) -> None:
        """End the session of a cookie, if it has one."""
        with self._turn:
            self._open.pop(_hash(said), None)

    def __len__(self) -> int:
        now = self.clock()
        return sum(not each.is_over(now) for each in self._open.values())


def _hash(said: str) -> bytes:
    return hashlib.sha256(said.encode("utf-8", "surrogateescape")).digest()


if TYPE_CHECKING:
    from noisycount.service.oidc import Tokens


@frozen
class SharedMemory:
    """What all workers of a service share in memory: objects of one process, and proxies of them in the others."""

    rates: RateLimiter  # how often each user may ask
    attempts: Attempts
    sessions: Sessions
    login_form: LoginForm  # a copy in each process, with the same secret
    turn: Path  # a file that the worker which writes to the ledger locks


_KEY = "nc_"  # how a key begins, and no token
_SHARED = ("sessions", "attempts", "login_form")  # what several workers share


@frozen
class Auth:
    """Keys, tokens and sessions of one server."""

    keyring: Keyring  # the keys beside the ledger
    tokens: "Tokens | None" = None  # those of an issuer; None: none is taken
    sessions: Sessions = field(default_factory=Sessions)  # of the pages
    attempts: Attempts = field(default_factory=Attempts)  # the wrong keys that were shown to the login
    login_form: LoginForm = field(default_factory=LoginForm)  # the form of the login

    @classmethod
    def of(cls, configuration: Config, shared: SharedMemory | None = None) -> Self:
        """Return what an owner configured, with what several workers share if there are several."""
        keyring, config = Keyring.of(configuration), configuration.service.oidc
        memory = {} if shared is None else {name: getattr(shared, name) for name in _SHARED}
        if config is None:
            return cls(keyring, **memory)
        from noisycount.service.oidc import Tokens  # noqa: PLC0415 - loads joserfc

        return cls(keyring, Tokens.of(config, configuration), **memory)

    async def bearer(self, shown: str) -> User | None:
        """Who comes with the key or the token behind `Bearer`; None: nobody."""
        with _checking():
            if self.tokens is not None and not shown.startswith(_KEY):
                return await run_in_threadpool(self.tokens.user, shown)  # an issuer is far, the keys are at hand
            holder = self.keyring.holder(shown)
        return None if holder is None else holder.user

    def login(self, shown: str, former: str | None = None) -> tuple[str, IssuedKey] | None:
        """Begin a session in place of that of a former cookie; return its cookie and key, or None for a wrong key."""
        with _checking():
            holder = self.keyring.holder(shown)
        return None if holder is None else (self.sessions.begin(holder.id, holder.name, former), holder)

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

    A session may change something only by a form of its own. `request.state` has the user, and for a session
    `csrf`, which each of its forms carries, the `session`, and the `form` that was sent.
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
    user = await auth_of(request).bearer(rest.strip())
    if user is None:
        raise UnauthenticatedError
    return user


_READING = {"GET", "HEAD", "OPTIONS"}


async def _by_session(request: Request) -> User:
    auth, cookie = auth_of(request), cookie_value(request, SESSION_COOKIE) or ""
    found = auth.session(cookie)
    session = auth.sessions.ended(cookie) if found is None else found[0]
    if session is None:
        raise UnauthenticatedError
    if request.method not in _READING:
        check_origin(request)
        await _check_csrf(request, session.csrf)
        request.state.form = await request.form()
    request.state.session = session
    if found is None:
        raise UnauthenticatedError
    request.state.csrf = session.csrf
    return found[1]


def check_origin(request: Request) -> None:
    """Refuse what a page of another server sends: browsers say with every form where it was filled in."""
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


CSRF_FIELD = "csrf"
CSRF_HEADER = "X-CSRF-Token"
_FORM = "application/x-www-form-urlencoded"  # no page sends a file


async def _check_csrf(request: Request, expected: str) -> None:
    """Refuse a form that carries the token of its session in no field and no header."""
    said = request.headers.get(CSRF_HEADER) or await form_field(request, CSRF_FIELD)
    if not hmac.compare_digest(said.encode("utf-8", "replace"), expected.encode("ascii")):
        raise ForgedError


async def form_field(request: Request, name: str) -> str:
    """The text of a field of a form; empty where there is none."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    form = await request.form() if kind == _FORM else FormData()
    said = form.get(name)
    return said if isinstance(said, str) else ""


def keep_draft(request: Request, refusal: str = "") -> str | None:
    """Keep the form of a request in its session, which may have just ended; return the draft's name.

    Return None for a request without a form, or without a session that could keep it.
    """
    session, form = getattr(request.state, "session", None), getattr(request.state, "form", None)
    if session is None or form is None:
        return None
    fields = [(name, text) for name, text in form.multi_items() if isinstance(text, str) and name != CSRF_FIELD]
    cookie = cookie_value(request, SESSION_COOKIE) or ""
    return auth_of(request).sessions.keep_draft(cookie, fields, refusal)


def draft_of(request: Request, name: str) -> FormDraft | None:
    """Return a draft of the session of a request, or None if it has no such draft."""
    session: LoginSession | None = getattr(request.state, "session", None)
    return None if session is None else session.drafts.draft(name)


_CHART = 0.1  # of a token: a slider that is moved asks for four charts


async def limited_user(user: Annotated[User, Depends(user_of)], state: State) -> User:
    """Who asks, not too often."""
    _require_rate(state, user, 1.0)
    return user


async def chart_user(user: Annotated[User, Depends(user_of)], state: State) -> User:
    """Who looks at a chart about no data set, not all too often."""
    _require_rate(state, user, _CHART)
    return user


def _require_rate(state: ServiceState, user: User, tokens: float) -> None:
    """Raise RateError if a user asks too often; the limits may be those of another process."""
    if seconds := state.rates.wait(user.name, tokens):
        raise RateError(seconds)


LimitedUser = Annotated[User, Depends(limited_user)]
ChartUser = Annotated[User, Depends(chart_user)]
