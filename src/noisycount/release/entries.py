"""What a ledger holds: requests, and the debits that they became."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from noisycount.release.budget import exact_epsilon, exact_text

__all__ = ["Entry", "Request", "check_text"]

_LONGEST_NAME = 200
_LONGEST_QUESTION = 100_000


@dataclass(frozen=True, slots=True)
class Request:
    """One question to one data set at one price.

    Args:
        dataset: Whose budget pays.
        question: Everything that decides what is counted and what noise is added, as text.
        epsilon: The price, in units of privacy loss.

    Raises:
        ValueError: A text is empty, too long or not printable, or `epsilon` is out of range.

    Example:
        >>> Request("survey", "age > 40", Fraction(1, 10)).digest[:8]
        'a2fff9aa'
    """

    dataset: str
    question: str
    epsilon: Fraction

    def __post_init__(self) -> None:
        check_text("dataset", self.dataset, _LONGEST_NAME)
        check_text("question", self.question, _LONGEST_QUESTION)
        exact_epsilon(self.epsilon)

    @property
    def digest(self) -> str:
        """The SHA-256 of an encoding that no other request shares, in hexadecimal digits."""
        parts = [self.dataset, self.question, exact_text(self.epsilon)]
        return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class Entry:
    """One debit, and its answer once there is one.

    Args:
        key: What its first request was called; at most 200 printable characters.
        request: What was asked, and at what price.
        spent: The total that the data set has paid, this debit included.
        made: When, in UTC.
        answer: The noisy count in units, or None while none was stored.

    Raises:
        ValueError: The key is not printable, `made` is not in UTC, or `spent` is too little.
    """

    key: str
    request: Request
    spent: Fraction
    made: datetime
    answer: int | None

    def __post_init__(self) -> None:
        check_text("key", self.key, _LONGEST_NAME)
        if self.spent < self.request.epsilon:
            raise ValueError(f"spent must include epsilon, got {exact_text(self.spent)}")
        if self.made.utcoffset() != timedelta(0):
            raise ValueError(f"made must be in UTC, got {self.made.isoformat()}")


def check_text(name: str, value: str, longest: int = _LONGEST_NAME) -> None:
    """Refuse a text that is empty, too long or not printable.

    Args:
        name: What the refusal calls the text.
        value: The text.
        longest: The largest number of characters.

    Raises:
        ValueError: The text is refused.

    Example:
        >>> check_text("key", "")
        Traceback (most recent call last):
            ...
        ValueError: key must be 1 to 200 printable characters, got ''
    """
    if not 1 <= len(value) <= longest or not value.isprintable():
        shown = repr(value if len(value) <= longest else f"{value[:40]}...")
        raise ValueError(f"{name} must be 1 to {longest} printable characters, got {shown}")
