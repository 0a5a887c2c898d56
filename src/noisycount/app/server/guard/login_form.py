"""The token of the one form that is filled in before there is a session."""

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["LASTS", "LoginForm"]

LASTS = 3600.0
"""Seconds for which a form may stay open."""

_BYTES = 32
_DIGITS = 12  # of seconds: thirty thousand years


@dataclass(frozen=True, slots=True)
class LoginForm:
    """Pairs of a cookie and a token that only this server makes.

    So no other site can log somebody in under a name that is not theirs.

    Args:
        clock: Seconds, from any beginning.
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
