"""A key: what somebody shows who asks a server, and what is kept of it."""

import hmac
import re
import secrets
from dataclasses import dataclass, field
from typing import Self

__all__ = ["Key"]

_ID_BYTES = 6  # tells keys apart, and is no secret
_SECRET_BYTES = 32  # 256 random bits: nobody guesses one
_FORM = re.compile(rf"nc_([0-9a-f]{{{2 * _ID_BYTES}}})_([0-9a-f]{{{2 * _SECRET_BYTES}}})")


@dataclass(frozen=True, slots=True)
class Key:
    """A key as its holder has it.

    Attributes:
        id: The part that may be shown, by which it is looked up.
        secret: The part that is shown once, 64 hexadecimal digits.

    Example:
        >>> key = Key.new()
        >>> Key.read(key.text) == key, Key.read("nc_1_2") is None, key.secret in repr(key)
        (True, True, False)
    """

    id: str
    secret: str = field(repr=False)

    @classmethod
    def new(cls) -> Self:
        """A key that nobody had before."""
        return cls(secrets.token_hex(_ID_BYTES), secrets.token_hex(_SECRET_BYTES))

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The key that a text is; None for another text."""
        match = _FORM.fullmatch(text)
        return None if match is None else cls(*match.groups())

    @property
    def text(self) -> str:
        """All of it, as its holder gives it."""
        return f"nc_{self.id}_{self.secret}"

    def digest(self, secret: bytes) -> bytes:
        """The HMAC-SHA-256 of the whole key: all that is kept of it.

        Args:
            secret: Of the place that keeps it, in a file of its own.
        """
        return hmac.digest(secret, self.text.encode("ascii"), "sha256")
