"""Identities of engines, and the certificates of engines that passed the conformance suite (`suite`)."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Any, Protocol, Self

from noisycount.errors import SourceError
from noisycount.frozen import frozen

if TYPE_CHECKING:  # the service reads certificates before it loads engines
    from contextlib import AbstractContextManager

    from noisycount.engines.interface import Source
    from noisycount.engines.truth import Record
    from noisycount.query.schema import Kind


@frozen
class Identity:
    """An engine: the facts on which its answers may depend.

    Example:
        >>> print(Identity("postgresql", "15", "C (UTF8)"))
        postgresql 15 with C (UTF8)
    """

    engine: str  # name, such as `postgresql` or `spark`
    version: str  # the part of the version that may change answers: `15`, or `4.3`
    collation: str  # comparison and encoding of texts: `C (UTF8)`, or `UTF8_BINARY`

    def __str__(self) -> str:
        return f"{self.engine} {self.version} with {self.collation}"


_CERTIFIED = frozenset(
    [
        *(Identity("postgresql", version, "C (UTF8)") for version in ("15", "16")),
        Identity("spark", "4.3", "UTF8_BINARY"),
    ]
)
"""Engines on which the tests of this project run the suite."""
_DIGEST = re.compile("[0-9a-f]{64}")


@frozen
class Certificate:
    """Statement that an engine gave the right answer to every question of the suite."""

    identity: Identity
    date: str  # such as `2026-01-31`
    suite: str  # SHA-256 of the suite's records and questions, in hexadecimal digits
    answers: int  # number of compared answers
    unheld: tuple[str, ...] = ()  # records that its tables cannot store, which were not tested

    def __post_init__(self) -> None:
        """Raise ValueError if the certificate has a form that `noisycount doctor` never writes."""
        date.fromisoformat(self.date)
        texts = (self.identity.engine, self.identity.version, self.identity.collation, *self.unheld)
        is_whole = all(isinstance(text, str) and text for text in texts)
        is_number = type(self.answers) is int and self.answers > 0
        if not (is_whole and is_number and _DIGEST.fullmatch(self.suite)):
            raise ValueError("a certificate has an engine, a date, a suite and answers")

    @classmethod
    def from_parts(cls, parts: Mapping[str, Any]) -> Self:
        """Return the certificate with the given `parts`. Raise SourceError if they have another form."""
        try:
            identity = Identity(**parts["identity"])
            return cls(**{**parts, "identity": identity, "unheld": tuple(parts["unheld"])})
        except (ValueError, TypeError, KeyError):
            raise SourceError("a certificate is of another form: make it anew by `noisycount doctor SOURCE`") from None

    @property
    def parts(self) -> dict[str, Any]:
        """Fields of the certificate in the types of JSON."""
        parts: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return parts


def require_certified(shown: str, identity: Identity, suite: str, certificates: Iterable[Certificate]) -> None:
    """Raise SourceError unless an engine passed this suite, in the tests of this project or by a certificate."""
    all_certificates = list(certificates)
    of_identity = [certificate for certificate in all_certificates if certificate.identity == identity]
    if identity in _CERTIFIED or any(certificate.suite == suite for certificate in of_identity):
        return
    identities = [certificate.identity for certificate in all_certificates]
    of_engine = [known for known in identities if known.engine == identity.engine]
    if of_identity:
        reason = f"its certificate of {of_identity[-1].date} is of another suite"
    elif of_engine:
        reason = f"its certificate is of {of_engine[-1]}"
    else:
        reason = "it was never tested here"
    raise SourceError(
        f"{shown} is on {identity}, which is not counted, as {reason}: "
        "its owner tests it by `noisycount doctor SOURCE`, on a temporary table"
    )


class EngineUnderTest(Protocol):
    """An engine that can make temporary tables, and counts their records as it counts those of an owner's table."""

    @property
    def identity(self) -> Identity:
        """Name, version and collation of the engine."""

    def source(
        self, records: "Sequence[Record]", schema: "Mapping[str, Kind]", unit: str | None = None
    ) -> "AbstractContextManager[Source]":
        """Yield the records as a temporary table, which is dropped afterwards."""
