"""Checkpoints: rows of the chain that hold its totals and an index of its rows, so that a ledger opens fast.

A checkpoint covers all rows before it, and is part of the hash chain as every row is. If the rows before it are read,
`ledger.state` compares the checkpoint with them; if not, `ledger.resuming` continues from the checkpoint.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from threading import local
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from noisycount.errors import LedgerError
from noisycount.ledger.budget import Loss
from noisycount.ledger.chain import CHECKPOINT, row_hash
from noisycount.ledger.entries import Head
from noisycount.ledger.storage import Row, newest_number, row_at
from noisycount.validation import exact_text, optional_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEY, SUBJECT = "key ", "subject "  # prefixes of names in the index, which distinguish a key from a subject
INTERVAL = 1024  # a row whose number is a multiple of this is a checkpoint
_HASH, _NAME, _NAMES = 16, 8, 2  # bytes of a hash and of a name in the index, and number of names of a row
_RECORD = _HASH + _NAME * _NAMES  # bytes of a record: the entry of one row in the index


def index_record(row: Row, names: Sequence[str] = ()) -> bytes:
    """Return the record of a row in the index: the first 128 bits of its hash, and 64 bits of each name.

    Example:
        >>> len(index_record({"hash": "ab" * 32}, ["ana:1"]))
        32
    """
    hashed = b"".join(map(_hashed_name, names))
    return bytes.fromhex(row["hash"])[:_HASH] + hashed.ljust(_NAME * _NAMES, b"\0")


def _hashed_name(name: str) -> bytes:
    return sha256(name.encode("utf-8", "surrogatepass")).digest()[:_NAME]


def checkpoint_text(parts: dict[str, Any], previous: Head, records: Sequence[bytes]) -> str:
    """Return the text of a checkpoint: totals, the checkpoint before it, and the records of the rows since then."""
    members = {**parts, "previous": str(previous), "rows": b64encode(b"".join(records)).decode("ascii")}
    return json.dumps(members, sort_keys=True, separators=(",", ":"))


def loss_texts(loss: Loss) -> list[str | None]:
    """Return the exact texts of the ε, ρ and δ of a loss, for `Loss.read`."""
    return [optional_text(loss.epsilon), exact_text(loss.rho), exact_text(loss.delta)]


def newest_checkpoint(connection: Connection, known_head: Head | None) -> Row | None:
    """Return the row of the newest checkpoint, or None if there is none.

    If the owner states a head, use only checkpoints up to that head: the chain from the checkpoint to the head proves
    that the checkpoint is unchanged.
    """
    newest = newest_number(connection)
    if known_head is not None:
        newest = min(newest, known_head.number)
    for number in range(newest - newest % INTERVAL, 0, -INTERVAL):
        row = row_at(connection, number)
        if row is None or row["kind"] == CHECKPOINT:
            return row
    return None


class UnreadRowsError(LedgerError):
    """Error: rows before the checkpoint are needed outside a transaction. Read the state in a transaction."""


@dataclass(slots=True, eq=False)
class SealedRows:
    """Index of the rows before a checkpoint: the hash of each row, and the rows of each name."""

    number: int  # number of rows; they are numbered from 1 to this number
    hashes: "NDArray[np.uint64]"  # shape (number, 2): the first 128 bits of the hash of each row, in two halves
    names: "NDArray[np.uint64]"  # 64 bits of the hash of each name of each row, sorted
    places: "NDArray[np.int64]"  # shape of `names`: the number of the row of each name, minus 1
    current: local  # `current.connection` is that of this thread's transaction; None outside a transaction

    @classmethod
    def read(cls, connection: Connection, checkpoint: Row) -> "SealedRows":
        """Return the index of all rows before a checkpoint, from this checkpoint and all checkpoints before it.

        The caller has checked the hash of the row `checkpoint`.

        Raises:
            ValueError: A checkpoint is missing, was changed, or covers another number of rows.
        """
        import numpy as np  # noqa: PLC0415 - only ledgers with a checkpoint need it

        segments, row = list[bytes](), checkpoint
        while True:
            parts = json.loads(row["question"])
            segments.append(b64decode(parts["rows"], validate=True))
            previous = Head.read(parts["previous"])
            if previous.number == 0:
                break
            before = row_at(connection, previous.number)
            is_whole = before is not None and before["hash"] == row_hash(before) == previous.hash
            if before is None or not is_whole or before["kind"] != CHECKPOINT or before["number"] >= row["number"]:
                raise ValueError("a checkpoint is missing or was changed")
            row = before
        content = b"".join(reversed(segments))
        number = checkpoint["number"] - 1
        if len(content) != number * _RECORD:
            raise ValueError("the checkpoints do not cover all rows")
        records = np.frombuffer(content, dtype=np.uint64).reshape(number, -1)
        names = records[:, -_NAMES:].ravel()
        order = np.argsort(names)
        order = order[np.searchsorted(names, 1, sorter=order) :]  # a row without a second name has zeros there
        return cls(number, records[:, :-_NAMES], names[order], order // _NAMES, local())

    def rows(self, name: str, row: Callable[[Connection, int], Row]) -> list[Row]:
        """Return the rows of a name in their order.

        Rows of another name may be among them if its hash has the same 64 bits. Raise UnreadRowsError if there are
        rows, and this thread has no transaction to read them.
        """
        import numpy as np  # noqa: PLC0415 - as before

        hashed = np.frombuffer(_hashed_name(name), dtype=np.uint64)[0]
        first = self.names.searchsorted(hashed)
        if first == len(self.names) or self.names[first] != hashed:
            return []
        connection: Connection | None = getattr(self.current, "connection", None)
        if connection is None:
            raise UnreadRowsError("rows of the ledger were not read yet: ask again")
        places = self.places[first : self.names.searchsorted(hashed, "right")]
        return [row(connection, number) for number in sorted({int(place) + 1 for place in places})]

    def holds(self, row: Row) -> bool:
        """Return True if a row has the hash that the checkpoint holds for it, or is not covered by the checkpoint."""
        number = row["number"]
        if number > self.number:
            return True
        return bool(self.hashes[number - 1].tobytes() == bytes.fromhex(row["hash"])[:_HASH])
