"""Rows of which each carries the hash of the one before, and what breaks such a chain."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from noisycount.release.budget.budgets import Loss
from noisycount.release.budget.exact import exact_text, exact_value
from noisycount.release.ledger.entries import Entry, Request

__all__ = [
    "ANSWER",
    "COLUMNS",
    "DEBIT",
    "Head",
    "Row",
    "Verification",
    "answer_columns",
    "chained",
    "debit_columns",
    "entry_of",
    "row_hash",
    "verification",
]

Row = Mapping[str, Any]

DEBIT, ANSWER = "debit", "answer"
COLUMNS = (
    *("number", "kind", "key", "digest", "dataset", "analyst", "question", "epsilon"),
    *("spent", "spent_rho", "analyst_spent", "analyst_rho", "made", "answer", "previous"),
)
"""What the hash of a row covers: every column but the hash itself."""

_HEAD = re.compile(r"([0-9]{1,18}):([0-9a-f]{32,64})")
_HEAD_FORM = (
    "be a number, a colon and 32 to 64 hexadecimal digits, as `noisycount ledger verify` prints it"
)
_NOTHING = "0" * 64


@dataclass(frozen=True, slots=True)
class Head:
    """The newest row of a ledger: what an owner writes down to recognise the ledger by.

    Args:
        number: How many rows there are.
        hash: The hash of the newest, in hexadecimal digits; zeros where there is none. Of one that
            was written down the first 32 digits are enough.

    Raises:
        ValueError: The number or the hash is of another form.

    Example:
        >>> Head.read(f"12:{'ab' * 16}").names("ab" * 32)
        True
    """

    number: int = 0
    hash: str = _NOTHING

    def __post_init__(self) -> None:
        if _HEAD.fullmatch(str(self)) is None:
            raise ValueError(f"head must {_HEAD_FORM}, got {str(self)[:80]!r}")
        object.__setattr__(self, "number", int(self.number))

    @classmethod
    def read(cls, text: str) -> Self:
        """Give the head that a text denotes.

        Raises:
            ValueError: The text is something else.
        """
        if not isinstance(text, str):
            raise ValueError(f"head must {_HEAD_FORM}, got a {type(text).__name__}")  # noqa: TRY004
        match = _HEAD.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"head must {_HEAD_FORM}, got {text[:80]!r}")
        return cls(int(match[1]), match[2])

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"

    def names(self, row_hash: str) -> bool:
        """Tell whether a row with this hash is the one that was written down."""
        return row_hash.startswith(self.hash)


@dataclass(frozen=True, slots=True)
class Verification:
    """What became of reading a chain from its first row to its last.

    Attributes:
        head: The newest row that is as it was written.
        broken: The number of the first row that is not; None where the chain is intact.
        why: What is wrong with that row.
    """

    head: Head
    broken: int | None = None
    why: str = ""


def row_hash(row: Row) -> str:
    """Give the SHA-256 of all columns of a row but the hash, in hexadecimal digits."""
    parts = [row[name] for name in COLUMNS]
    return hashlib.sha256(json.dumps(parts, default=repr).encode("ascii")).hexdigest()


def chained(head: Head, columns: Row) -> dict[str, Any]:
    """Give the row that follows a head and holds these columns."""
    row = {**dict.fromkeys(COLUMNS), **columns, "number": head.number + 1, "previous": head.hash}
    return {**row, "hash": row_hash(row)}


def debit_columns(entry: Entry) -> dict[str, str]:
    """Give the columns that keep a debit."""
    return {
        "kind": DEBIT,
        "key": entry.key,
        "digest": entry.request.digest,
        "dataset": entry.request.dataset,
        "analyst": entry.analyst,
        "question": entry.request.question,
        "epsilon": exact_text(entry.request.epsilon),
        "spent": exact_text(entry.spent.epsilon),
        "spent_rho": exact_text(entry.spent.rho),
        "analyst_spent": exact_text(entry.analyst_spent.epsilon),
        "analyst_rho": exact_text(entry.analyst_spent.rho),
        "made": entry.made.isoformat(),
    }


def answer_columns(key: str, answer: int, made: datetime) -> dict[str, str]:
    """Give the columns that keep the answer to the debit under a key."""
    return {"kind": ANSWER, "key": key, "answer": str(answer), "made": made.isoformat()}


def entry_of(row: Row, answer: str | None) -> Entry:
    """Give the entry that the row of a debit and the text of its answer hold.

    Raises:
        ValueError: No ledger wrote them.
    """
    try:
        entry = Entry(
            key=row["key"],
            request=Request(row["dataset"], row["question"], exact_value(row["epsilon"])),
            spent=Loss(exact_value(row["spent"]), exact_value(row["spent_rho"])),
            made=datetime.fromisoformat(row["made"]),
            answer=None if answer is None else int(answer),
            analyst=row["analyst"],
            analyst_spent=Loss(exact_value(row["analyst_spent"]), exact_value(row["analyst_rho"])),
        )
    except (TypeError, AttributeError) as error:
        raise ValueError("a column holds no text") from error
    if entry.request.digest != row["digest"]:
        raise ValueError("the digest is not the request's")
    return entry


def verification(rows: Iterable[Row], written: Head | None = None) -> Verification:
    """Read a chain, and name its first broken row if there is one.

    Args:
        rows: All rows, oldest first.
        written: A head that was written down, if there is one; a ledger that ends before it, or
            holds another row in its place, is an older copy or was rewritten.
    """
    reader = _Reader(written)
    for row in rows:
        why = reader.fault(row)
        if why is not None:
            return Verification(reader.head, reader.head.number + 1, why)
        reader.head = Head(row["number"], row["hash"])
    if written is not None and reader.head.number < written.number:
        why = f"is missing, though row {written.number} was written down: this is an older copy"
        return Verification(reader.head, reader.head.number + 1, why)
    return Verification(reader.head)


@dataclass(slots=True)
class _Reader:
    """What was read of a chain so far."""

    written: Head | None
    head: Head = field(default_factory=Head)
    digests: set[str] = field(default_factory=set)
    debits: set[str] = field(default_factory=set)
    answers: set[str] = field(default_factory=set)
    datasets: dict[str, Loss] = field(default_factory=dict)
    analysts: dict[str, Loss] = field(default_factory=dict)

    def fault(self, row: Row) -> str | None:
        """Give what is wrong with the next row, if anything is."""
        if row["number"] != self.head.number + 1:
            return "is missing"
        if row["hash"] != row_hash(row):
            return "was changed: its hash is that of other columns"
        if row["previous"] != self.head.hash:
            return "does not follow the row before: a row was put in another's place"
        written = self.written
        if (
            written is not None
            and row["number"] == written.number
            and not written.names(row["hash"])
        ):
            return "is not the row that was written down: an older copy was restored, or rewritten"
        try:
            return self._fault_of_debit(row) if row["kind"] == DEBIT else self._fault_of_answer(row)
        except (ValueError, TypeError):
            return "holds what no ledger writes"

    def _fault_of_debit(self, row: Row) -> str | None:
        entry = entry_of(row, None)
        if entry.key in self.debits or entry.request.digest in self.digests:
            return "charges a request or a key a second time"
        price = Loss.of(entry.request.epsilon)
        dataset, analyst = entry.request.dataset, entry.analyst
        if (
            entry.spent != self.datasets.get(dataset, Loss()) + price
            or entry.analyst_spent != self.analysts.get(analyst, Loss()) + price
        ):
            return "holds a total that its debits do not add up to"
        self.debits.add(entry.key)
        self.digests.add(entry.request.digest)
        self.datasets[dataset], self.analysts[analyst] = entry.spent, entry.analyst_spent
        return None

    def _fault_of_answer(self, row: Row) -> str | None:
        if row["kind"] != ANSWER:
            return "is neither a debit nor an answer"
        if row["key"] not in self.debits or row["key"] in self.answers:
            return "is a second answer, or one without a debit"
        int(row["answer"])
        self.answers.add(row["key"])
        return None
