"""What tells engines apart, what gives them to be tested, and that they passed, as their owner keeps it."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Any, Protocol, Self

from noisycount.errors import SourceError
from noisycount.frozen import frozen

if TYPE_CHECKING:  # the service reads certificates before it loads laws and engines
    from contextlib import AbstractContextManager

    from noisycount.engines.interface import Source
    from noisycount.engines.truth import Record
    from noisycount.query.schema import Kind


@frozen
class Identity:
    """An engine, as far as its answers may depend on it.

    Example:
        >>> print(Identity("postgresql", "15", "C (UTF8)"))
        postgresql 15 with C (UTF8)
    """

    engine: str  # its name, such as `postgresql` or `spark`
    version: str  # its version, as far as a new one may answer otherwise: `15`, or `4.3`
    collation: str  # how it compares texts, and how it encodes them: `C (UTF8)`, or `UTF8_BINARY`

    def __str__(self) -> str:
        return f"{self.engine} {self.version} with {self.collation}"


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
    """That an engine gave every answer of the suite as it should."""

    identity: Identity  # which engine
    date: str  # when, as `2026-01-31`
    suite: str  # the SHA-256 of the suite's records and questions, in hexadecimal digits
    answers: int  # how many were compared
    unheld: tuple[str, ...] = ()  # what its tables cannot hold, and it was not asked

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
        """The certificate of its parts, as `parts` gives them."""
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
    """The refusal of an engine that nobody tested."""
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


class EngineUnderTest(Protocol):
    """An engine that makes temporary tables, and counts them as it counts its owner's."""

    @property
    def identity(self) -> Identity:
        """Which engine it is."""

    def source(
        self, records: "Sequence[Record]", schema: "Mapping[str, Kind]", unit: str | None = None
    ) -> "AbstractContextManager[Source]":
        """The records in a table of its own, which is gone afterwards."""
