"""The login and the sessions of the pages, in memory alone: attempts, cookies, forms, sessions."""

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from ipaddress import IPv6Address, ip_address, ip_network
from threading import Lock

from fastapi import Request, Response

from noisycount.frozen import frozen

MOST, SECONDS = 10, 60.0  # so many wrong keys may come from one place within so many seconds
_PLACES = 10_000  # that are kept in mind, the latest
_HOME_BITS = 64  # of an IPv6 address, of which one customer has all the rest


@dataclass(slots=True)
class Attempts:
    """The wrong keys of the last minute, by where they came from."""

    clock: Callable[[], float] = time.monotonic
    _failed: OrderedDict[str, deque[float]] = field(default_factory=OrderedDict, init=False)
    _turn: Lock = field(default_factory=Lock, init=False)

    def seconds_left(self, host: str) -> float:
        """How long an address has to wait until its next attempt; 0 where it may try."""
        with self._turn:
            failed = self._failed.get(_place(host))
            if failed is None or len(failed) < MOST:
                return 0.0
            return max(0.0, failed[0] + SECONDS - self.clock())

    def fail(self, host: str) -> None:
        """Keep a wrong key in mind that came from an address."""
        with self._turn:
            place = _place(host)
            self._failed.setdefault(place, deque(maxlen=MOST)).append(self.clock())
            self._failed.move_to_end(place)
            while len(self._failed) > _PLACES:
                self._failed.popitem(last=False)


def _place(host: str) -> str:
    """Whose address it is.

    Example:
        >>> _place("192.0.2.7"), _place("2001:db8::1"), _place("a socket")
        ('192.0.2.7', '2001:db8::/64', 'a socket')
    """
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        return str(ip_network((int(address), _HOME_BITS), strict=False))
    return host


SESSION, FORM = "noisycount", "noisycount-login"  # the two cookies
_HOST_ONLY = "__Host-"  # a browser takes such a cookie from this very host alone, by https


def cookie_of(request: Request, name: str) -> str | None:
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


LASTS = 3600.0  # seconds for which a form may stay open
_BYTES = 32
_DIGITS = 12  # of seconds: thirty thousand years


@frozen
class LoginForm:
    """Pairs of a cookie and a token that only this server makes, before there is a session.

    So no other site can log somebody in under a name that is not theirs.
    """

    clock: Callable[[], float] = time.monotonic
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(_BYTES), repr=False)

    def cookie(self) -> str:
        """What the cookie of a new form says."""
        return f"{int(self.clock())}.{secrets.token_urlsafe(_BYTES)}"

    def token(self, cookie: str) -> str:
        """What the form says that goes with a cookie."""
        return hmac.digest(self._secret, cookie.encode("utf-8", "replace"), "sha256").hex()

    def is_good(self, cookie: str, token: str) -> bool:
        """Whether a form came from here, to the same browser, and not long ago."""
        said = token.encode("utf-8", "replace")
        is_ours = hmac.compare_digest(self.token(cookie).encode("ascii"), said)
        return is_ours and self.is_fresh(cookie)

    def is_fresh(self, cookie: str) -> bool:
        """Whether the cookie of a form can still be used."""
        begun = cookie.partition(".")[0]
        is_number = begun.isascii() and begun.isdigit() and len(begun) <= _DIGITS
        return is_number and 0 <= self.clock() - int(begun) < LASTS


IDLE = 1800.0  # seconds after which a session ends that nobody used
LONGEST = 43_200.0  # seconds after which any session ends
_MOST_SESSIONS = 20  # of one key: each more ends the oldest


@frozen
class LoginSession:
    """Somebody who logged in with the key of an id.

    `csrf` is what each of their forms carries, so that no other site can fill one; `begun` and
    `used` are seconds of the clock.
    """

    key_id: str
    csrf: str = field(repr=False)
    begun: float
    used: float

    def is_over(self, now: float) -> bool:
        """Whether it was not used for long, or lasts too long."""
        return now - self.used >= IDLE or now - self.begun >= LONGEST


@dataclass(slots=True)
class Sessions:
    """The sessions of one server, by the hash of what the browser's cookie says."""

    clock: Callable[[], float] = time.monotonic
    _open: dict[bytes, LoginSession] = field(default_factory=dict, init=False, repr=False)
    _turn: Lock = field(default_factory=Lock, init=False, repr=False)

    def begin(self, key_id: str) -> str:
        """What the cookie of a new session says, 256 random bits."""
        said, now = secrets.token_urlsafe(_BYTES), self.clock()
        with self._turn:
            self._open = {h: one for h, one in self._open.items() if not one.is_over(now)}
            mine = [name for name, one in self._open.items() if one.key_id == key_id]
            for oldest in mine[: max(0, len(mine) - _MOST_SESSIONS + 1)]:
                del self._open[oldest]
            self._open[_hash(said)] = LoginSession(key_id, secrets.token_urlsafe(_BYTES), now, now)
        return said

    def session(self, said: str) -> LoginSession | None:
        """The session of a cookie, used now; None: there is none, or it is over."""
        name, now = _hash(said), self.clock()
        with self._turn:
            found = self._open.get(name)
            if found is None:
                return None
            if found.is_over(now):
                del self._open[name]
                return None
            self._open[name] = replace(found, used=now)
            return found

    def end(self, said: str) -> None:
        """End the session of a cookie, if it has one."""
        with self._turn:
            self._open.pop(_hash(said), None)

    def __len__(self) -> int:
        return len(self._open)


def _hash(said: str) -> bytes:
    return hashlib.sha256(said.encode("utf-8", "surrogateescape")).digest()
