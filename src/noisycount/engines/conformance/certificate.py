"""That an engine passed the suite, as its owner keeps it, and what is opened without one."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import date
from typing import Any, Self

from noisycount.engines.check import Identity
from noisycount.errors import SourceError
from noisycount.frozen import frozen

_CERTIFIED = frozenset(
    [
        *(Identity("postgresql", version, "C (UTF8)") for version in ("15", "16")),
        Identity("spark", "4.3", "UTF8_BINARY"),
    ]
)
"""What passes the suite in our own tests."""

_DIGEST = re.compile("[0-9a-f]{64}")


@frozen
class Certificate:
    """That an engine gave every answer of the suite as it should.

    Attributes:
        identity: Which engine.
        date: When, as `2026-01-31`.
        suite: The SHA-256 of the suite's records and questions, in hexadecimal digits.
        answers: How many were compared.
        unheld: What its tables cannot hold, and it was not asked.

    Raises:
        ValueError: A part is of another form.
    """

    identity: Identity
    date: str
    suite: str
    answers: int
    unheld: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """The refusal of what no doctor wrote."""
        date.fromisoformat(self.date)
        texts = (self.identity.engine, self.identity.version, self.identity.collation, *self.unheld)
        is_whole = all(isinstance(text, str) and text for text in texts)
        is_number = type(self.answers) is int and self.answers > 0
        if not (is_whole and is_number and _DIGEST.fullmatch(self.suite)):
            raise ValueError("a certificate has an engine, a date, a suite and answers")

    @classmethod
    def of_parts(cls, parts: Mapping[str, Any]) -> Self:
        """The certificate of its parts, as `parts` gives them.

        Raises:
            SourceError: They are of another form.
        """
        try:
            identity = Identity(**parts["identity"])
            return cls(**{**parts, "identity": identity, "unheld": tuple(parts["unheld"])})
        except (ValueError, TypeError, KeyError):
            raise SourceError("a certificate is of another form: make it anew by `noisycount doctor SOURCE`") from None

    @property
    def parts(self) -> dict[str, Any]:
        """All of it, in the types of JSON."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return found


def require_certified(shown: str, identity: Identity, suite: str, certificates: Iterable[Certificate]) -> None:
    """The refusal of an engine that nobody tested.

    Args:
        shown: What its records are called.
        identity: Which engine it is.
        suite: The SHA-256 of the suite as it is now.
        certificates: Those that the owner has.

    Raises:
        SourceError: It is neither one that our own tests pass with nor has a certificate.
    """
    kept = list(certificates)
    own = [each for each in kept if each.identity == identity]
    if identity in _CERTIFIED or any(each.suite == suite for each in own):
        return
    others = [str(each.identity) for each in kept if each.identity.engine == identity.engine]
    if own:
        why = f"its certificate of {own[-1].date} is of another suite"
    elif others:
        why = f"its certificate is of {others[-1]}"
    else:
        why = "it was never tested here"
    raise SourceError(
        f"{shown} is on {identity}, which is not counted, as {why}: "
        "its owner tests it by `noisycount doctor SOURCE`, on a temporary table"
    )
