"""The rows of a ledger, each of which carries the hash of the one before, and what they hold."""

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any, Self

from noisycount.errors import LedgerError
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Entry, Repeat, Request, TableAnswer, check_text
from noisycount.validation import exact_text, optional_text, optional_value

RESTORE = "restore it from a copy that holds every debit"
Row = Mapping[str, Any]
DEBIT, ANSWER, DESCRIPTION, REPLY = "debit", "answer", "description", "reply"
REPEAT = "repeat"

# What the hash of a row covers: every column but the hash itself and those that came later.
COLUMNS = (
    *("number", "kind", "key", "digest", "dataset", "analyst", "question", "epsilon"),
    *("spent", "spent_rho", "analyst_spent", "analyst_rho", "made", "answer", "previous"),
)

# What the hash of a row covers as well that has a value in one of them.
PRICE_COLUMNS = ("rho", "delta", "spent_delta", "analyst_delta")

# What the hash of a row with a purpose covers as well; tables of older ledgers lack some.
LATER_COLUMNS = (*PRICE_COLUMNS, "purpose")
_HEAD = re.compile(r"([0-9]{1,18}):([0-9a-f]{32,64})")

_HEAD_FORM = "be a number, a colon and 32 to 64 hexadecimal digits, as `noisycount ledger verify` prints it"

_NOTHING = "0" * 64
_JSON = json.JSONEncoder(default=repr)


@frozen
class Head:
    """The newest row of a ledger: what an owner writes down to recognise the ledger by.

    Example:
        >>> Head.read(f"12:{'ab' * 16}").names("ab" * 32)
        True
    """

    number: int = 0  # how many rows there are
    # the hash of the newest, in hexadecimal digits; zeros where there is none. Of one that was written down the
    # first 32 digits are enough
    hash: str = _NOTHING

    def __post_init__(self) -> None:
        if _HEAD.fullmatch(str(self)) is None:
            raise ValueError(f"head must {_HEAD_FORM}, got {str(self)[:80]!r}")
        object.__setattr__(self, "number", int(self.number))

    @classmethod
    def read(cls, text: str) -> Self:
        """The head that a text denotes."""
        if not isinstance(text, str):
            raise ValueError(f"head must {_HEAD_FORM}, got a {type(text).__name__}")  # noqa: TRY004
        match = _HEAD.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"head must {_HEAD_FORM}, got {text[:80]!r}")
        return cls(int(match[1]), match[2])

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"

    def names(self, row_hash: str) -> bool:
        """Whether a row with this hash is the one that was written down."""
        return row_hash.startswith(self.hash)


def row_hash(row: Row) -> str:
    """The SHA-256 of all columns of a row but the hash, in hexadecimal digits."""
    parts = [row[name] for name in COLUMNS]
    parts += [row.get(name) for name in later_columns(row)]
    return hashlib.sha256(_JSON.encode(parts).encode("ascii")).hexdigest()


def later_columns(row: Row) -> tuple[str, ...]:
    """The columns of a row's form that came later: all up to the last that it has a value in.

    So many items are hashed, and the last of them tells which form it is: no two rows share them.
    """
    if row.get("purpose") is not None:
        return LATER_COLUMNS
    if any(row.get(name) is not None for name in PRICE_COLUMNS):
        return PRICE_COLUMNS
    return ()


def chained(head: Head, columns: Row) -> dict[str, Any]:
    """The row that follows a head and holds these columns."""
    empty = dict.fromkeys((*COLUMNS, *LATER_COLUMNS))
    row = {**empty, **columns, "number": head.number + 1, "previous": head.hash}
    return {**row, "hash": row_hash(row)}


def damaged(number: int) -> LedgerError:
    """The refusal of a row that the ledger did not write."""
    return LedgerError(
        f"row {number} of the ledger is damaged; {RESTORE}; `noisycount ledger verify` tells what"
        " is wrong with it, and nothing is charged until then"
    )


def debit_columns(entry: Entry) -> dict[str, str | None]:
    """The columns that keep a debit; there is no text of a δ of 0."""
    request, spent, own = entry.request, entry.spent, entry.analyst_spent
    return {
        "kind": DEBIT,
        "key": entry.key,
        "digest": request.digest,
        "dataset": request.dataset,
        "analyst": entry.analyst,
        "question": request.question,
        "epsilon": optional_text(request.epsilon),
        "rho": optional_text(request.rho),
        "delta": optional_text(request.delta or None),
        "spent": optional_text(spent.epsilon),
        "spent_rho": exact_text(spent.rho),
        "spent_delta": optional_text(spent.delta or None),
        "analyst_spent": optional_text(own.epsilon),
        "analyst_rho": exact_text(own.rho),
        "analyst_delta": optional_text(own.delta or None),
        "made": entry.made.isoformat(),
        "purpose": entry.purpose,
    }


def answer_columns(key: str, answer: int | TableAnswer, made: datetime) -> dict[str, str]:
    """The columns that keep the answer to the debit under a key."""
    text = answer.text if isinstance(answer, TableAnswer) else str(answer)
    return {"kind": ANSWER, "key": key, "answer": text, "made": made.isoformat()}


def answer_of(text: str) -> int | TableAnswer:
    """The answer that a text of a row holds; what a table holds is read when it is asked for."""
    return TableAnswer(text) if text.startswith("{") else int(text)


_LONGEST_DESCRIPTION = 10_000_000  # characters: some of each of the columns of a wide table
_SHOWN = 80  # characters of a refused one


def check_description(text: str) -> None:
    """Refuse a description of a data set that says nothing of the unit."""
    check_text("description", text, _LONGEST_DESCRIPTION)
    try:
        unit_of(text)
    except (ValueError, TypeError, KeyError):
        shown = repr(text[:_SHOWN])
        raise ValueError(f"description must be a JSON object with a unit, got {shown}") from None


def unit_of(description: str) -> str | None:
    """The column that names the person in a data set, by its description; None: rows count."""
    unit = json.loads(description)["unit"]
    if not isinstance(unit, str | None):
        raise ValueError(f"unit must be a text or null, got {repr(unit)[:_SHOWN]}")  # noqa: TRY004
    return unit


def reply_columns(name: str, digest: str, made: datetime) -> dict[str, str]:
    """The columns that keep what was replied to the request of a name, by its digest."""
    return {"kind": REPLY, "key": name, "digest": digest, "made": made.isoformat()}


def repeat_columns(key: str, entry: Entry, repeat: Repeat) -> dict[str, str | None]:
    """The columns that keep who else asked for what was debited; the question is its key."""
    return {
        "kind": REPEAT,
        "key": key,
        "dataset": entry.request.dataset,
        "analyst": repeat.analyst,
        "question": entry.key,
        "made": repeat.made.isoformat(),
        "purpose": repeat.purpose,
    }


def repeat_of(row: Row) -> Repeat:
    """Who else asked, as the row of a repeat holds it."""
    return Repeat(row["analyst"], datetime.fromisoformat(row["made"]), row.get("purpose"))


def entry_of(row: Row, answer: str | None) -> Entry:
    """The entry that the row of a debit and the text of its answer hold."""
    try:
        entry = Entry(
            key=row["key"],
            request=_request_of(row),
            spent=Loss.read(row["spent"], row["spent_rho"], row.get("spent_delta")),
            made=datetime.fromisoformat(row["made"]),
            answer=None if answer is None else answer_of(answer),
            analyst=row["analyst"],
            analyst_spent=Loss.read(row["analyst_spent"], row["analyst_rho"], row.get("analyst_delta")),
            purpose=row.get("purpose"),
        )
    except (TypeError, AttributeError) as error:
        raise ValueError("a column holds no text") from error
    if entry.request.digest != row["digest"]:
        raise ValueError("the digest is not the request's")
    return entry


def _request_of(row: Row) -> Request:
    """The request whose price the row of a debit holds."""
    epsilon, rho = optional_value(row["epsilon"]), optional_value(row.get("rho"))
    delta = optional_value(row.get("delta")) or Fraction(0)
    return Request(row["dataset"], row["question"], epsilon, rho, delta)
