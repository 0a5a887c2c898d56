"""What an engine says, compared with what is so."""

from dataclasses import dataclass

from noisycount.release.sources.identity import Identity
from noisycount.shown.value import Shown

__all__ = ["Difference", "Examination"]


@dataclass(frozen=True, slots=True)
class Difference(Shown):
    """An answer of an engine that is not as its definition says; its records are made up.

    Attributes:
        records: What the records are about.
        question: What was asked, in its own language.
        expected: What the answer is by its definition; None: a refusal.
        found: What the engine said; None: nothing, it refused.
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
    """

    identity: Identity
    answers: int
    differences: tuple[Difference, ...]
    unheld: tuple[str, ...]
    seconds: float
