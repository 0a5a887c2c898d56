"""Authentication of requests: keys and tokens, and the sessions, cookies and forms of the pages.

Sessions and failed attempts are in memory only. `keys` stores keys, `oidc` checks tokens.
"""

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from ipaddress import IPv6Address, ip_address, ip_network
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
from noisycount.service.state import RateLimiter, ServiceState

MOST_ATTEMPTS, ATTEMPT_SECONDS = 10, 60.0  # largest number of wrong keys from one network within so many seconds
_MOST_NETWORKS = 10_000  # networks whose attempts are remembered
_NETWORK_BITS = 64  # of an IPv6 address: a customer usually has all addresses with the same first 64 bits


@dataclass(slots=True)
class FailedAttempts:
    """The times of wrong keys in the last minute, by network."""

    clock: Callable[[], float] = time.monotonic
    _failed: OrderedDict[str, deque[float]] = field(default_factory=OrderedDict, init=False)
    _turn: Lock = field(default_factory=Lock, init=False)

    def seconds_left(self, host: str) -> float:
        """Return the seconds until the network of an address may show another wrong key; 0 if it may now."""
        with self._turn:
            failure_times = self._failed.get(_network_of_address(host))
            if failure_times is None or len(failure_times) < MOST_ATTEMPTS:
                return 0.0
            return max(0.0, failure_times[0] + ATTEMPT_SECONDS - self.clock())

    def fail(self, host: str) -> None:
        """Remember that a wrong key came from an address."""
        with self._turn:
            network = _network_of_address(host)
            self._failed.setdefault(network, deque(maxlen=MOST_ATTEMPTS)).append(self.clock())
            self._failed.move_to_end(network)
            while len(self._failed) > _MOST_NETWORKS:
                self._failed.popitem(last=False)


def _network_of_address(host: str) -> str:
    """Return the network of an address: an IPv4 address itself, or the first 64 bits of an IPv6 address."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        return str(ip_network((int(address), _NETWORK_BITS), strict=False))
    return host


SESSION_COOKIE, FORM_COOKIE = "noisycount", "noisycount-login"  # the two cookies
_HOST_ONLY = "__Host-"  # a browser accepts a cookie with this prefix only from the host itself, by https


def cookie_value(request: Request, name: str) -> str | None:
    """Return the value of a cookie, or None if the request has none."""
    return request.cookies.get(_full_name(request, name))


def set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    """Set a cookie that the browser sends with every request to this server, and that no script can read."""
    response.set_cookie(
        _full_name(request, name), value, path="/", secure=is_secure(request), httponly=True, samesite="strict"
    )


def drop_cookie(request: Request, response: Response, name: str) -> None:
    """Delete a cookie of the browser."""
    response.delete_cookie(
        _full_name(request, name), path="/", secure=is_secure(request), httponly=True, samesite="strict"
    )


def is_secure(request: Request) -> bool:
    """Return True if the request came by https, to this server or to its proxy."""
    return request.url.scheme == "https"


def _full_name(request: Request, name: str) -> str:
    return f"{_HOST_ONLY}{name}" if is_secure(request) else name


FORM_SECONDS = 3600.0  # seconds for which a login form stays valid
_BYTES = 32
_DIGITS = 12  # largest number of digits of seconds: thirty thousand years


@frozen
class LoginForm:
    """Pairs of a cookie and a form token that only this server can make, so that no other site can log a user in."""

    clock: Callable[[], float] = time.monotonic
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(_BYTES), repr=False)

    def cookie(self) -> str:
        """Return the cookie value of a new form."""
        return f"{int(self.clock())}.{secrets.token_urlsafe(_BYTES)}"

    def token(self, cookie: str) -> str:
        """Return the form token that belongs to a cookie."""
        return hmac.digest(self._secret, cookie.encode("utf-8", "replace"), "sha256").hex()

    def is_valid(self, cookie: str, token: str) -> bool:
        """Return True if this server sent the form to the same browser, not long ago."""
        token_bytes = token.encode("utf-8", "replace")
        is_own = hmac.compare_digest(self.token(cookie).encode("ascii"), token_bytes)
        return is_own and self.is_fresh(cookie)

    def is_fresh(self, cookie: str) -> bool:
        """Return True if the cookie of a form has not expired."""
        start = cookie.partition(".")[0]
        is_number = start.isascii() and start.isdigit() and len(start) <= _DIGITS
        return is_number and 0 <= self.clock() - int(start) < FORM_SECONDS


IDLE_SECONDS = 1800.0  # seconds after which an unused session ends
LONGEST_SECONDS = 43_200.0  # seconds after which any session ends; its drafts are kept so long after the last use
MOST_SESSIONS = 20  # largest number of sessions of one key: a further one ends the oldest


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
        """Return True if the session has ended because it was unused for too long or lasted too long."""
        return now - self.used >= IDLE_SECONDS or now - self.begun >= LONGEST_SECONDS

    def is_forgotten(self, now: float) -> bool:
        """Return True if the session ended so long ago that its drafts can be dropped."""
        return now - self.used >= LONGEST_SECONDS


@dataclass(slots=True)
class Sessions:
    """Sessions of one server, by the hash of the browser's cookie.

    A session that ended by time is kept for its drafts. The user finds them again after the next login in that browser.
    """

    clock: Callable[[], float] = time.monotonic
    _open: dict[bytes, LoginSession] = field(default_factory=dict, init=False, repr=False)
    _turn: Lock = field(default_factory=Lock, init=False, repr=False)

    def begin(self, key_id: str, name: str, former_cookie: str | None = None) -> str:
        """Begin a session and return its cookie, 256 random bits.

        The session of the former cookie ends. Its drafts pass to the new session if both are of one user.
        """
        value, now = secrets.token_urlsafe(_BYTES), self.clock()
        with self._turn:
            self._drop_old_sessions(now)
            former_session = None if former_cookie is None else self._open.pop(_hash(former_cookie), None)
            drafts = Drafts() if former_session is None or former_session.name != name else former_session.drafts
            cookies = [cookie for cookie, session in self._open.items() if session.key_id == key_id]
            cookies.sort(key=lambda cookie: not self._open[cookie].is_over(now))  # sessions that have ended come first
            for oldest in cookies[: max(0, len(cookies) - MOST_SESSIONS + 1)]:
                del self._open[oldest]
            self._open[_hash(value)] = LoginSession(key_id, name, secrets.token_urlsafe(_BYTES), now, now, drafts)
        return value

    def session(self, cookie: str) -> LoginSession | None:
        """Return the current session of a cookie and note its use; None if there is none."""
        name, now = _hash(cookie), self.clock()
        with self._turn:
            session = self._open.get(name)
            if session is None or session.is_over(now):
                return None
            self._open[name] = replace(session, used=now)
            return session

    def recently_ended(self, cookie: str) -> LoginSession | None:
        """Return the session of a cookie if it ended by time, not long ago, else None."""
        now = self.clock()
        with self._turn:
            self._drop_old_sessions(now)
            session = self._open.get(_hash(cookie))
        return session if session is not None and session.is_over(now) else None

    def keep_draft(self, cookie: str, fields: Iterable[tuple[str, str]], refusal: str = "") -> str | None:
        """Store a form in the session of a cookie, which may have ended by time. Return None if there is no session."""
        with self._turn:
            session = self._open.get(_hash(cookie))
            return None if session is None else session.drafts.keep(fields, refusal)

    def _drop_old_sessions(self, now: float) -> None:
        """Drop the sessions whose drafts are no longer kept."""
        self._open = {cookie: session for cookie, session in self._open.items() if not session.is_forgotten(now)}

    def end(self, cookie: str) -> None:
        """End the session of a cookie, if it has one."""
        with self._turn:
            self._open.pop(_hash(cookie), None)

    def __len__(self) -> int:
        now = self.clock()
        return sum(not session.is_over(now) for session in self._open.values())


def _hash(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "surrogateescape")).digest()


if TYPE_CHECKING:
    from noisycount.service.oidc import Tokens


@frozen
class SharedMemory:
    """Objects in memory that all workers of a service share: in one process, with proxies in the others."""

    rates: RateLimiter
    attempts: FailedAttempts
    sessions: Sessions
    login_form: LoginForm  # a copy in each process, with the same secret


_KEY = "nc_"  # prefix of keys, which no token has
_SHARED = ("sessions", "attempts", "login_form")  # fields that several workers share


@frozen
class Auth:
    """Keys, tokens and sessions of one server."""

    keyring: Keyring
    tokens: "Tokens | None" = None  # of an OpenID Connect issuer; None: tokens are refused
    sessions: Sessions = field(default_factory=Sessions)  # of the pages
    attempts: FailedAttempts = field(default_factory=FailedAttempts)  # wrong keys at the login
    login_form: LoginForm = field(default_factory=LoginForm)

    @classmethod
    def from_config(cls, configuration: Config, shared: SharedMemory | None = None) -> Self:
        """Return the authentication that an owner configured, with the shared objects if there are several workers."""
        keyring, config = Keyring.from_config(configuration), configuration.service.oidc
        memory = {} if shared is None else {name: getattr(shared, name) for name in _SHARED}
        if config is None:
            return cls(keyring, **memory)
        from noisycount.service.oidc import Tokens  # noqa: PLC0415 - loads joserfc

        return cls(keyring, Tokens.from_config(config, configuration), **memory)

    async def bearer(self, credential: str) -> User | None:
        """Return the user of a key or token after `Bearer`, or None if it is not valid."""
        with _hide_configuration_errors():
            if self.tokens is not None and not credential.startswith(_KEY):
                return await run_in_threadpool(self.tokens.user, credential)  # may fetch the issuer's keys
            holder = self.keyring.find_valid(credential)
        return None if holder is None else holder.user

    def login(self, key: str, former_cookie: str | None = None) -> tuple[str, IssuedKey] | None:
        """Begin a session, and end that of a former cookie. Return its cookie and key, or None for a wrong key."""
        with _hide_configuration_errors():
            holder = self.keyring.find_valid(key)
        return None if holder is None else (self.sessions.begin(holder.id, holder.name, former_cookie), holder)

    def session(self, cookie: str) -> tuple[LoginSession, User] | None:
        """Return the session of a cookie and its user, or None if its key is no longer valid."""
        session = self.sessions.session(cookie)
        if session is None:
            return None
        with _hide_configuration_errors():
            holder = self.keyring.valid_key(session.key_id)
        if holder is None:
            self.sessions.end(cookie)
            return None
        return session, holder.user


@contextmanager
def _hide_configuration_errors() -> Iterator[None]:
    """Replace a ConfigError by UncheckedError, which shows the user no details of the owner's configuration."""
    try:
        yield
    except ConfigError as error:
        raise UncheckedError from error


def auth_of(request: Request) -> Auth:
    """Return the authentication of the server that received a request."""
    auth: Auth = request.app.state.auth
    return auth


async def user_of(request: Request) -> User:
    """Return the user of a request, by a key or token in `Authorization: Bearer`, or by the session of the page.

    A session may change something only by a form that this server sent to it. `request.state` receives the `user` and,
    for a session, the `csrf` token of its forms, the `session`, and the `form` that was sent.

    Raises:
        UnauthenticatedError: If the request has no valid key, token or session.
        ForgedError: If a form was sent by a page of another site.
    """
    headers = request.headers.getlist("authorization")
    user = await (_user_of_header(request, headers) if headers else _user_of_session(request))
    request.state.user = user
    return user


async def reader_of(user: Annotated[User, Depends(user_of)]) -> User:
    """Return the user of a request if that is an owner or an officer. Raise ForbiddenError if not."""
    if not user.reads_all:
        raise ForbiddenError
    return user


async def _user_of_header(request: Request, headers: list[str]) -> User:
    scheme, _, credential = headers[0].partition(" ")
    if len(headers) > 1 or scheme.lower() != "bearer":
        raise UnauthenticatedError
    user = await auth_of(request).bearer(credential.strip())
    if user is None:
        raise UnauthenticatedError
    return user


_READING = {"GET", "HEAD", "OPTIONS"}


async def _user_of_session(request: Request) -> User:
    auth, cookie = auth_of(request), cookie_value(request, SESSION_COOKIE) or ""
    session_and_user = auth.session(cookie)
    session = auth.sessions.recently_ended(cookie) if session_and_user is None else session_and_user[0]
    if session is None:
        raise UnauthenticatedError
    if request.method not in _READING:
        check_origin(request)
        await _check_csrf(request, session.csrf)
        request.state.form = await request.form()
    request.state.session = session
    if session_and_user is None:
        raise UnauthenticatedError
    request.state.csrf = session.csrf
    return session_and_user[1]


def check_origin(request: Request) -> None:
    """Raise ForgedError if a page of another site sent the request. Browsers name the site of every form."""
    origin = request.headers.get("origin")
    if origin is None or origin == "null":
        if request.headers.get("sec-fetch-site") == "same-origin":
            return
        raise ForgedError
    try:
        site = urlsplit(origin)
    except ValueError:
        raise ForgedError from None
    schemes = {"https"} if is_secure(request) else {"http", "https"}  # a proxy may end TLS
    if site.netloc != request.headers.get("host") or site.scheme not in schemes:
        raise ForgedError


CSRF_FIELD = "csrf"
CSRF_HEADER = "X-CSRF-Token"
_FORM = "application/x-www-form-urlencoded"  # no page sends a file


async def _check_csrf(request: Request, expected: str) -> None:
    """Raise ForgedError if a form has the token of its session neither in a field nor in a header."""
    token = request.headers.get(CSRF_HEADER) or await form_field(request, CSRF_FIELD)
    if not hmac.compare_digest(token.encode("utf-8", "replace"), expected.encode("ascii")):
        raise ForgedError


async def form_field(request: Request, name: str) -> str:
    """Return the text of a form's field; empty if there is none."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    form = await request.form() if kind == _FORM else FormData()
    text = form.get(name)
    return text if isinstance(text, str) else ""


def keep_draft(request: Request, refusal: str = "") -> str | None:
    """Store the form of a request in its session, which may have just ended. Return the draft's name.

    Return None if the request has no form, or no session.
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


_CHART_TOKENS = 0.1  # rate tokens of a chart: a moved slider requests four charts


async def limited_user(request: Request, user: Annotated[User, Depends(user_of)]) -> User:
    """Return the user of a request. Raise RateError if the user sends too many."""
    _require_rate(request, user, 1.0)
    return user


async def chart_user(request: Request, user: Annotated[User, Depends(user_of)]) -> User:
    """Return the user of a request for a chart without a data set. Raise RateError if the user sends too many."""
    _require_rate(request, user, _CHART_TOKENS)
    return user


def _require_rate(request: Request, user: User, tokens: float) -> None:
    """Raise RateError if a user has too few rate tokens. Another process may hold the limits."""
    state: ServiceState = request.app.state.service
    if seconds := state.rates.wait(user.name, tokens):
        raise RateError(seconds)


LimitedUser = Annotated[User, Depends(limited_user)]
ChartUser = Annotated[User, Depends(chart_user)]
