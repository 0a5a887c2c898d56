"""Rows of the hash chain of a ledger. Each row carries the hash of the row before.

Functions here convert debits, answers, replies and repeats into columns of a row, and rows back into entries.
"""

import hashlib
import json
from dataclasses import replace
from datetime import datetime, timedelta
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
    """Return the SHA-256 of all columns of a row except the hash itself, in hexadecimal digits."""
    parts = [*_COLUMNS(row), *map(row.get, later_columns(row))]
    return hashlib.sha256(_JSON.encode(parts).encode("ascii")).hexdigest()


def chained_row(head: Head, columns: Row) -> dict[str, Any]:
    """Return the row that follows a head and holds some columns, with its number and hashes."""
    empty = dict.fromkeys((*COLUMNS, *LATER_COLUMNS))
    row = {**empty, **columns, "number": head.number + 1, "previous": head.hash}
    return {**row, "hash": row_hash(row)}


def damaged_row_error(number: int) -> LedgerError:
    """Return the error for a damaged row: one that is not as the ledger wrote it."""
    return LedgerError(
        f"row {number} of the ledger is damaged; {RESTORE}; `noisycount ledger verify` states"
        " the fault, and nothing is charged until then"
    )


def debit_columns(entry: Entry) -> dict[str, str | None]:
    """Return the columns of the row of a debit. A δ of 0 is stored as null."""
    request, spent, analyst_spent = entry.request, entry.spent, entry.analyst_spent
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
        "analyst_spent": optional_text(analyst_spent.epsilon),
        "analyst_rho": exact_text(analyst_spent.rho),
        "analyst_delta": optional_text(analyst_spent.delta or None),
        "made": entry.made.isoformat(),
        "purpose": entry.purpose,
    }


def answer_columns(
    key: str, answer: int | TableAnswer, made: datetime, stopped: Request | None = None
) -> dict[str, str | None]:
    """Return the columns of the row of an answer, by the key of its debit.

    If `stopped` is given, the columns also hold its question and ε, which are charged in place of the reserve.
    """
    text = answer.text if isinstance(answer, TableAnswer) else str(answer)
    columns: dict[str, str | None] = {"kind": ANSWER, "key": key, "answer": text, "made": made.isoformat()}
    return columns if stopped is None else {**columns, **stop_columns(stopped)}


def stop_columns(stopped: Request) -> dict[str, str | None]:
    """Return the columns of an answer that hold the question and the charged ε at which a reserve stopped."""
    return {"question": stopped.question, "epsilon": optional_text(stopped.epsilon)}


def answered_entry(debit: Entry, row: Row) -> Entry:
    """Return a debit with the answer of a row.

    If the debit is a reserve, it gets the price at which the answer stopped.
    """
    answered = replace(debit, answer=answer_of(row["answer"]))
    if row["question"] is None:
        return answered
    charged, reserved = optional_value(row["epsilon"]), debit.request
    stopped = replace(reserved, question=row["question"], epsilon=charged, rho=reserved.price.rho)
    return replace(answered, request=stopped)


def answer_of(text: str) -> int | TableAnswer:
    """Return the answer in a text of a row. The text of a table is parsed at its first use."""
    return TableAnswer(text) if text.startswith("{") else int(text)


def reply_columns(name: str, digest: str, made: datetime) -> dict[str, str]:
    """Return the columns of the row of a reply: the name of the reply and its digest."""
    return {"kind": REPLY, "key": name, "digest": digest, "made": made.isoformat()}


def repeat_columns(key: str, entry: Entry, repeat: Repeat) -> dict[str, str | None]:
    """Return the columns of the row of a repeat. Its column `question` holds the key of the repeated debit."""
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
    """Return the repeat in a row."""
    return Repeat(row["analyst"], datetime.fromisoformat(row["made"]), row.get("purpose"))


def debit_of(row: Row) -> Entry:
    """Return the entry in the row of a debit, without an answer. Raise ValueError if the row is damaged."""
    try:
        prices = optional_value(row["epsilon"]), optional_value(row.get("rho"))
        delta = optional_value(row.get("delta")) or Fraction(0)
        entry = Entry(
            key=row["key"],
            request=Request(row["dataset"], row["question"], *prices, delta),
            spent=Loss.read(row["spent"], row["spent_rho"], row.get("spent_delta")),
            made=datetime.fromisoformat(row["made"]),
            answer=None,
            analyst=row["analyst"],
            analyst_spent=Loss.read(row["analyst_spent"], row["analyst_rho"], row.get("analyst_delta")),
            purpose=row.get("purpose"),
        )
    except (TypeError, AttributeError) as error:
        raise ValueError("a column holds no text") from error
    if entry.request.digest != row["digest"]:
        raise ValueError("the digest is not the request's")
    return entry


def unused_reserve(reserved: Request, stopped: Request) -> Fraction:
    """Return the part of a reserve in ε that its answer did not use: the refund."""
    return (reserved.epsilon or Fraction(0)) - (stopped.epsilon or Fraction(0))


def utc_time(text: str) -> datetime:
    """Return the time of a text in ISO 8601. Raise ValueError if it is not in UTC."""
    time = datetime.fromisoformat(text)
    if time.utcoffset() != timedelta(0):
        raise ValueError(f"made must be in UTC, got {text}")
    return time
