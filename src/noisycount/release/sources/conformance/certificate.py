"""That an engine passed the suite, as its owner keeps it, and what is opened without one."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Self

from noisycount.errors import SourceError
from noisycount.release.sources.identity import Identity

__all__ = ["Certificate", "require_certified"]

_CERTIFIED = frozenset(
    [
        *(Identity("postgresql", version, "C (UTF8)") for version in ("15", "16")),
        Identity("spark", "4.3", "UTF8_BINARY"),
    ]
)
"""What passes the suite in our own tests."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """That an engine gave every answer of the suite as it should.

    Attributes:
        identity: Which engine.
        date: When, as `2026-01-31`.
        suite: The SHA-256 of the suite's records and questions, in hexadecimal digits.
        answers: How many were compared.
    """

    identity: Identity
    date: str
    suite: str
    answers: int

    @classmethod
    def read(cls, text: str) -> Self:
        """The certificate that a text says, as `text` gives it.

        Raises:
            SourceError: It is of another form.
        """
        try:
            said = json.loads(text)
            return cls(**{**said, "identity": Identity(**said["identity"])})
        except (ValueError, TypeError, KeyError):
            raise SourceError(
                "a certificate is of another form: make it anew by `noisycount doctor SOURCE`"
            ) from None

    @property
    def text(self) -> str:
        """All of it, as a JSON object."""
        return json.dumps(asdict(self))


def require_certified(
    shown: str, identity: Identity, suite: str, certificates: Iterable[Certificate]
) -> None:
    """The refusal of an engine that nobody tested.

    Args:
        shown: What its records are called.
        identity: Which engine it is.
        suite: The SHA-256 of the suite as it is now.
        certificates: Those that the owner has.

    Raises:
        SourceError: It is neither one that our own tests pass with nor has a certificate.
    """
    if identity in _CERTIFIED:
        return
    own = [each for each in certificates if each.identity == identity]
    if any(each.suite == suite for each in own):
        return
    why = "its certificate is of an older suite" if own else "it was never tested here"
    raise SourceError(
        f"{shown} is on {identity}, which is not counted, as {why}: "
        "its owner tests it by `noisycount doctor`, on a temporary table"
    )
