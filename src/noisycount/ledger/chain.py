"""The rows of a ledger, each of which carries the hash of the one before, and what they add up to."""

import hashlib
import json
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from operator import itemgetter
from typing import Any

from noisycount.errors import LedgerError
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import (
    Entry,
    Head,
    Repeat,
    Request,
    TableAnswer,
)
from noisycount.ledger.storage import COLUMNS, LATER_COLUMNS, RESTORE, Row, later_columns
from noisycount.validation import exact_text, optional_text, optional_value

DEBIT, ANSWER, DESCRIPTION, REPLY = "debit", "answer", "description", "reply"
REPEAT = "repeat"
CHECKPOINT = "checkpoint"
KINDS = {DEBIT, ANSWER, DESCRIPTION, REPLY, REPEAT, CHECKPOINT}
_JSON = json.JSONEncoder(default=repr)
_COLUMNS = itemgetter(*COLUMNS)


def row_hash(row: Row) -> str:
    """The SHA-256 of all columns of a row but the hash, in hexadecimal digits."""
    parts = [*_COLUMNS(row), *map(row.get, later_columns(row))]
    return hashlib.sha256(_JSON.encode(parts).encode("ascii")).hexdigest()


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


def answer_columns(
    key: str, answer: int | TableAnswer, made: datetime, stopped: Request | None = None
) -> dict[str, str | None]:
    """The columns that keep the answer to the debit under a key, and what is charged in place of a reserve."""
    text = answer.text if isinstance(answer, TableAnswer) else str(answer)
    columns: dict[str, str | None] = {"kind": ANSWER, "key": key, "answer": text, "made": made.isoformat()}
    return columns if stopped is None else {**columns, **stop_columns(stopped)}


def stop_columns(stopped: Request) -> dict[str, str | None]:
    """The columns of an answer that keep where a reserve stopped."""
    return {"question": stopped.question, "epsilon": optional_text(stopped.epsilon)}


def answered_entry(debit: Entry, row: Row) -> Entry:
    """A debit with the answer that a row holds, at the price at which it stopped."""
    answered = replace(debit, answer=answer_of(row["answer"]))
    if row["question"] is None:
        return answered
    charged, reserved = optional_value(row["epsilon"]), debit.request
    stopped = replace(reserved, question=row["question"], epsilon=charged, rho=reserved.price.rho)
    return replace(answered, request=stopped)


def answer_of(text: str) -> int | TableAnswer:
    """The answer that a text of a row holds; what a table holds is read when it is asked for."""
    return TableAnswer(text) if text.startswith("{") else int(text)


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


_MOST_READ, _LONG = 512, 10_000  # debits that are kept, with questions of at most so many characters
_READ: dict[str, Entry] = {}  # debits that were read last, by the hashes of their rows


def debit_of(row: Row) -> Entry:
    """Return the entry of a debit, without its answer, from a row whose hash was checked.

    A release reads its own debit several times: as it is written, when it is reserved, and when it is answered.
    """
    entry = _READ.get(row["hash"])
    if entry is None:
        entry = entry_of(row, None)
        if len(entry.request.question) <= _LONG:
            if len(_READ) >= _MOST_READ:
                _READ.clear()
            _READ[row["hash"]] = entry
    return entry


def _request_of(row: Row) -> Request:
    """The request whose price the row of a debit holds."""
    epsilon, rho = optional_value(row["epsilon"]), optional_value(row.get("rho"))
    delta = optional_value(row.get("delta")) or Fraction(0)
    return Request(row["dataset"], row["question"], epsilon, rho, delta)


def rest_of(reserved: Request, stopped: Request) -> Fraction:
    """What of a reserve in ε was not used."""
    return (reserved.epsilon or Fraction(0)) - (stopped.epsilon or Fraction(0))
