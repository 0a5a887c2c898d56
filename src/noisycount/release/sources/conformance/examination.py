"""What an engine says, compared with what is so."""

from dataclasses import dataclass
from datetime import date

from noisycount.release.sources.conformance.certificate import Certificate
from noisycount.release.sources.identity import Identity
from noisycount.shown.value import Shown

__all__ = ["Difference", "Examination"]


@dataclass(frozen=True, slots=True)
class Difference(Shown):
    """An answer of an engine that is not as its definition says; its records are made up.

    Attributes:
        records: What the records are about.
        question: What was asked, in its own language.
        expected: What the answer is by its definition; None: there is none.
        found: What the engine said; None: nothing, or it refused.
    """

    records: str
    question: str
    expected: int | None
    found: int | None


@dataclass(frozen=True, slots=True)
class Examination(Shown):
    """What an engine said of made-up records.

    Attributes:
        identity: Which engine.
        answers: How many of its answers were compared.
        differences: Those that are not as their definition says; after some it is asked no more.
        unheld: What its tables cannot hold, and was not asked.
        seconds: How long it took.
        suite: The SHA-256 of what it was asked about which records, in hexadecimal digits.
    """

    identity: Identity
    answers: int
    differences: tuple[Difference, ...]
    unheld: tuple[str, ...]
    seconds: float
    suite: str

    def certificate(self, day: date) -> Certificate | None:
        """That it passed, on a day; None: it did not."""
        if self.differences:
            return None
        return Certificate(self.identity, day.isoformat(), self.suite, self.answers, self.unheld)
