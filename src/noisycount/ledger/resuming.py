"""State of a ledger resumed from its newest checkpoint, so that opening a long ledger is fast.

`resumed_state` reads the rows after the checkpoint. The rows before it, the sealed rows, are read when they are needed.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from sqlalchemy import Connection

from noisycount.errors import LedgerError
from noisycount.ledger.budget import Loss
from noisycount.ledger.chain import ANSWER, DEBIT, REPEAT, REPLY, debit_of, repeat_of, row_hash, utc_time
from noisycount.ledger.checkpoints import KEY, SUBJECT, SealedRows, index_record, newest_checkpoint
from noisycount.ledger.entries import Head
from noisycount.ledger.series import identity_of
from noisycount.ledger.state import LedgerState
from noisycount.ledger.storage import Row, all_rows, has_follower


def resumed_state(connection: Connection, known_head: Head | None) -> LedgerState | None:
    """Return the state of a ledger from its newest checkpoint and the rows after it.

    Return None if there is no checkpoint, or if anything was changed. The caller must then read all rows, which names
    the fault. If the owner states a head, the chain from the checkpoint on must contain its row.
    """
    row = newest_checkpoint(connection, known_head)
    if row is None or row["hash"] != row_hash(row):
        return None
    is_proven = known_head is None or _matches_head(row, known_head)
    try:
        state = _state_at(connection, row)
        with all_rows(connection, row["number"] + 1) as later:
            for later_row in later:
                state.read([later_row])
                is_proven |= known_head is not None and _matches_head(later_row, known_head)
    except (ValueError, TypeError, KeyError, AttributeError, LedgerError):
        return None
    return state if is_proven and not has_follower(connection, state.head.hash) else None


def _matches_head(row: Row, head: Head) -> bool:
    """Return True if a row has the number and the hash of a head."""
    return bool(row["number"] == head.number and head.names(row["hash"]))


def _state_at(connection: Connection, checkpoint: Row) -> LedgerState:
    """Return the state at a checkpoint. Its mappings read the rows before the checkpoint when a name is missing."""
    sealed, parts = SealedRows.read(connection, checkpoint), json.loads(checkpoint["question"])
    sealed.current.connection = connection
    state = LedgerState(Head(checkpoint["number"], checkpoint["hash"]), utc_time(checkpoint["made"]), sealed=sealed)
    state.checkpoint, state.records = state.head, [index_record(checkpoint)]
    state.has_replies = parts["has_replies"]
    for name in ("datasets", "analysts"):
        getattr(state, name).update({account: Loss.read(*texts) for account, texts in parts[name].items()})
    for dataset, (number, editions) in parts["descriptions"].items():
        state.description_rows[dataset], state.editions[dataset] = number, tuple(editions)
        state.descriptions[dataset] = str(state.row(connection, number)["question"])
    recall = _SealedRowReader(state, sealed)
    for name in ("debits", "answers", "repeats", "prices", "coarser", "finer", "reserves", "payers"):
        setattr(state, name, _RecalledEntries(recall.read_debit))
    state.series, state.replies = _RecalledEntries(recall.read_series), _RecalledEntries(recall.read_reply)
    return state


class _RecalledEntries(dict[str, Any]):
    """Mapping of a resumed state. For a missing name, it first reads the rows of that name before the checkpoint."""

    def __init__(self, read: Callable[[str], bool]) -> None:
        super().__init__()
        self.read = read  # adds the sealed rows of a name to the state; returns False if there are none

    def __contains__(self, name: object) -> bool:
        is_there = super().__contains__
        return is_there(name) or (isinstance(name, str) and self.read(name) and is_there(name))

    def __missing__(self, name: str) -> Any:  # noqa: ANN401 - values of any type
        if name in self:
            return self[name]
        raise KeyError(name)

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as before
        """Return the value of a name, or the default.

        If necessary, first read the rows of the name before the checkpoint.
        """
        return self[name] if name in self else default  # noqa: SIM401 - `get` itself


@dataclass(slots=True, eq=False)
class _SealedRowReader:
    """Reader that adds the rows before the checkpoint to a resumed state, without overwriting values of newer rows."""

    state: LedgerState
    sealed: SealedRows
    _read: set[str] = field(default_factory=set)  # keys and subjects whose rows were read, with their prefixes
    _absent: set[str] = field(default_factory=set)  # names without sealed rows, so that the index is searched once
    _turn: RLock = field(default_factory=RLock)  # held while rows are read

    def read_debit(self, key: str) -> bool:
        """Add the debit under a key, and all debits of its subject; return False if there is no such debit."""
        with self._turn:
            if KEY + key in self._read:
                return True
            for row in self._rows_before_checkpoint(KEY + key):
                if row["kind"] == DEBIT and row["key"] == key:
                    return self.read_series(identity_of(debit_of(row).request).subject)
            return False

    def read_series(self, subject: str) -> bool:
        """Add all debits of a subject with their answers and repeats; return False if there are none."""
        with self._turn:
            if SUBJECT + subject in self._read:
                return True
            part = self._read_debits_of_subject(subject)
            for known, read in zip(self.state.field_mappings, part.field_mappings, strict=True):
                for name, value in read.items():
                    known.setdefault(name, value)
            if part.debits:
                self._read.update((SUBJECT + subject, *(KEY + key for key in part.debits)))
            return bool(part.debits)

    def _read_debits_of_subject(self, subject: str) -> LedgerState:
        """Return a state that has only the debits of one question at all prices (`QueryIdentity.subject`).

        It also has their answers and repeats, but no totals.
        """
        part = LedgerState()
        for row in self._rows_before_checkpoint(SUBJECT + subject):
            entry = debit_of(row)
            if identity_of(entry.request).subject == subject:
                part.add_debit(entry, row["number"])
        for key in part.debits:
            for row in self._rows_before_checkpoint(KEY + key):
                if row["kind"] == ANSWER and row["key"] == key:
                    part.add_answer(row)
                elif row["kind"] == REPEAT and row["question"] == key:
                    part.repeats[key] = (*part.repeats.get(key, ()), repeat_of(row))
        return part

    def read_reply(self, name: str) -> bool:
        """Add the digest of a reply; return False if there is none."""
        for row in self._rows_before_checkpoint(KEY + name):
            if row["kind"] == REPLY and row["key"] == name:
                self.state.replies.setdefault(name, row["digest"])
                return True
        return False

    def _rows_before_checkpoint(self, name: str) -> list[Row]:
        """Return the rows of a name before the checkpoint. Raise LedgerError if one of them was changed since."""
        if name in self._absent:
            return []
        rows = self.sealed.rows(name, self.state.row)
        if not rows:
            self._absent.add(name)
        return rows
