"""One release of a ledger: what was asked and told, with what noise, at what price, for whom."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from noisycount.app.ledger.asked_words import asked_words
from noisycount.app.refine.tables.noises import noise_named
from noisycount.app.refine.tables.stored.rows import StoredRows, stored_rows
from noisycount.app.report.priced import Priced
from noisycount.errors import LedgerError
from noisycount.model.half_width import error_within
from noisycount.model.noises.discrete import DiscreteNoise
from noisycount.release.ledger.asked import asked_of, asked_part
from noisycount.release.ledger.entries import Entry

__all__ = ["CONFIDENCE", "Noise", "Released", "Versions", "releases_of"]

CONFIDENCE = 0.95
"""With which the ± of a report are stated."""

_LONGEST = 300  # characters of a question that no noisycount wrote
_UNREADABLE = (ValueError, TypeError, KeyError, ZeroDivisionError)


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of one level of a release.

    Attributes:
        name: Such as "discrete Laplace".
        scale: In units, exact.
        error: A count lies within ±error of its answer with the confidence of the report.
    """

    name: str
    scale: Fraction
    error: int


@dataclass(frozen=True, slots=True)
class Versions:
    """The numbers of the versions of each data set, from 1 on, in the order in which they come.

    A ledger tells versions apart by hashes of the content, and whoever knows all records but one
    could try its values: so none of them is told.

    Attributes:
        known: The versions that came, by the name of the data set.
    """

    known: dict[str, list[str]] = field(default_factory=dict)

    def number(self, dataset: str, version: str | None) -> str | None:
        """The number of a version; None where there is none."""
        if version is None:
            return None
        known = self.known.setdefault(dataset, [])
        if version not in known:
            known.append(version)
        return str(known.index(version) + 1)


@dataclass(frozen=True, slots=True)
class Released:
    """A debit of a ledger with what is known of its answer.

    Attributes:
        entry: As the ledger holds it; without an answer, what was charged stays charged.
        question: What was asked, in words.
        noises: Of a count one, of a table that of each level, its cells first; none where no
            noisycount wrote the question.
        version: The number of the version of the records that were counted; None: none is known.
        priced: For which neighbours its price was made, and what it costs for the others.
    """

    entry: Entry
    question: str
    noises: tuple[Noise, ...]
    version: str | None
    priced: Priced

    @classmethod
    def of(cls, entry: Entry, versions: Versions) -> "Released":
        """The release of an entry.

        Args:
            entry: As the ledger holds it.
            versions: Those of older entries.
        """
        asked = asked_of(entry)
        noises: tuple[Noise, ...] = ()
        with suppress(*_UNREADABLE):
            noises = _noises(asked)
        version = versions.number(entry.request.dataset, asked_part(entry, "version"))
        return cls(entry, _question(entry), noises, version, Priced.of(entry))

    @property
    def rows(self) -> StoredRows | None:
        """The counts of a table with their keys; None where there are none."""
        return stored_rows(self.entry)

    @property
    def failed(self) -> bool:
        """Whether it was charged and nothing was told."""
        return self.entry.answer is None


def releases_of(entries: Iterable[Entry]) -> list[Released]:
    """The releases of entries, the oldest first, whose versions are numbered among them."""
    versions = Versions()
    return [Released.of(entry, versions) for entry in entries]


def _question(entry: Entry) -> str:
    try:
        return asked_words(entry)
    except LedgerError:
        text = entry.request.question
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _noises(asked: dict[str, Any]) -> tuple[Noise, ...]:
    """The noise of each level that a question names.

    Raises:
        ValueError: No noisycount wrote it; as the other errors of `_UNREADABLE` tell.
    """
    scales = asked["scales"] if "table" in asked else [asked["scale"]]
    return tuple(_noise(asked["mechanism"], scale) for scale in scales)


def _noise(name: str, scale: str) -> Noise:
    mechanism = noise_named(name, scale)
    if not isinstance(mechanism, DiscreteNoise):
        raise ValueError(f"mechanism must be of whole numbers, got {name!r}")  # noqa: TRY004
    return Noise(name, Fraction(scale), error_within(mechanism, CONFIDENCE))
