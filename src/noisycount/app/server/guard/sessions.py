"""Sessions of the page: who is logged in, in memory alone."""

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock

__all__ = ["IDLE", "LONGEST", "Session", "Sessions"]

IDLE = 1800.0
"""Seconds after which a session ends that nobody used."""

LONGEST = 43_200.0
"""Seconds after which any session ends."""

_MOST = 20  # of one key: each more ends the oldest
_BYTES = 32


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who logged in.

    Attributes:
        key_id: Of the key with which they did.
        csrf: What each of their forms carries, so that no other site can fill one.
        begun: When, in seconds of the clock.
        used: When it was last used.
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
    """The sessions of one server, by the hash of what the browser's cookie says.

    Args:
        clock: Seconds, from any beginning.
    """

    clock: Callable[[], float] = time.monotonic
    _open: dict[bytes, Session] = field(default_factory=dict, init=False, repr=False)
    _turn: Lock = field(default_factory=Lock, init=False, repr=False)

    def begin(self, key_id: str) -> str:
        """What the cookie of a new session says, 256 random bits.

        Args:
            key_id: Of the key that was shown.
        """
        said, now = secrets.token_urlsafe(_BYTES), self.clock()
        with self._turn:
            self._open = {h: one for h, one in self._open.items() if not one.is_over(now)}
            mine = [name for name, one in self._open.items() if one.key_id == key_id]
            for oldest in mine[: max(0, len(mine) - _MOST + 1)]:
                del self._open[oldest]
            self._open[_hash(said)] = Session(key_id, secrets.token_urlsafe(_BYTES), now, now)
        return said

    def session(self, said: str) -> Session | None:
        """The session of a cookie, used now; None: there is none, or it is over.

        Args:
            said: By the cookie.
        """
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
        """The end of the session of a cookie, if it has one."""
        with self._turn:
            self._open.pop(_hash(said), None)

    def __len__(self) -> int:
        return len(self._open)


def _hash(said: str) -> bytes:
    return hashlib.sha256(said.encode("utf-8", "surrogateescape")).digest()
