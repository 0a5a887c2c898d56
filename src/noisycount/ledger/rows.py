"""What is read of a ledger's table, oldest row first, and the row that is added to it.

The state of an open ledger, which its threads read on together.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Result, Select, func, select

from noisycount.errors import LedgerError
from noisycount.ledger.chain import (
    ANSWER,
    DEBIT,
    REPEAT,
    Head,
    Row,
    answer_of,
    chained,
    entry_of,
    later_columns,
    repeat_of,
    row_hash,
)
from noisycount.ledger.entries import Entry, Request
from noisycount.ledger.state import LedgerState
from noisycount.ledger.storage import LEDGER, RESTORE, check_structure, columns_of, damaged, widen

__all__ = [
    "CachedState",
    "all_rows",
    "append",
    "entries_of",
    "entry_under",
    "first_made",
    "keys_of",
    "require_row",
    "write",
]

_SELECT = "SELECT {columns} FROM ledger"
_AT_ONCE = 20  # rows that are fetched together: some could hold tables of a million counts
_WRITTEN_AT_ONCE = 40  # rows: older SQLites take no more than 999 values

_WITHOUT_INDEXES = tuple(
    f"SET LOCAL enable_{scan} = off" for scan in ("indexscan", "indexonlyscan", "bitmapscan")
)


@contextmanager
def all_rows(connection: Connection) -> Iterator[Iterator[Row]]:
    """Every row as it is stored, oldest first, read from the table itself and by no index.

    SQLite keeps a table in the order of its numbers; PostgreSQL is told to sort it.
    """
    if connection.dialect.name == "postgresql":
        for setting in _WITHOUT_INDEXES:
            connection.exec_driver_sql(setting)
    query = _rows(connection).order_by(LEDGER.c.number)
    with connection.execute(query.execution_options(yield_per=_AT_ONCE)) as rows:
        yield _named(rows)


def entries_of(rows: Iterable[Row]) -> list[Entry]:
    """Every debit with its answer, oldest first."""
    state, entries = LedgerState(), dict[str, Entry]()
    for row in rows:
        _add(state, [row])
        if row["kind"] == DEBIT:
            entries[row["key"]] = entry_of(row, None)
        elif row["kind"] == ANSWER:
            entries[row["key"]] = replace(entries[row["key"]], answer=answer_of(row["answer"]))
        elif row["kind"] == REPEAT:
            repeated = entries[row["question"]]
            repeats = (*repeated.repeats, repeat_of(row))
            entries[repeated.key] = replace(repeated, repeats=repeats)
    return list(entries.values())


def row_at(connection: Connection, number: int) -> Row | None:
    """The row of a number, as it is stored."""
    query = f"{_SELECT} WHERE ledger.number = {{mark}}"
    return next(_named(_executed(connection, query, (number,))), None)


def require_row(connection: Connection, known_head: Head, place: str) -> None:
    """The refusal of a ledger that does not hold the row that its owner wrote down."""
    if known_head.number == 0:
        return
    row = row_at(connection, known_head.number)
    if row is None or row["hash"] != row_hash(row) or not known_head.names(row["hash"]):
        raise LedgerError(
            f"{place} does not hold row {known_head.number} as it was written down: it is"
            " an older copy, or another ledger; restore the newest copy"
        )


def follow(connection: Connection, state: LedgerState) -> None:
    """Add to a state what was written since its newest row, which must still be there."""
    if not state.head.number:
        with all_rows(connection) as rows:
            _add(state, rows)
        return
    newest = state.head
    query = f"{_SELECT} WHERE ledger.number >= {{mark}} ORDER BY ledger.number"
    later = _named(_executed(connection, query, (newest.number,)))
    row = next(later, None)
    if row is None or row["number"] != newest.number:
        raise LedgerError(
            f"row {newest.number} of the ledger, which was read before, is missing: this is an"
            f" older copy, or another ledger; {RESTORE}"
        )
    if row["hash"] != newest.hash or row_hash(row) != newest.hash:
        raise damaged(newest.number)
    _add(state, later)


def entry_under(connection: Connection, state: LedgerState, key: str | None) -> Entry | None:
    """The debit under a key with its answer, if there is one."""
    if key is None or key not in state.debits:
        return None
    debit = _row_in_state(connection, state, state.debits[key])
    answered = state.answers.get(key)
    answer = None if answered is None else _row_in_state(connection, state, answered)["answer"]
    try:
        entry = entry_of(debit, answer)
    except ValueError:
        raise damaged(debit["number"]) from None
    return replace(entry, repeats=state.repeats[key]) if key in state.repeats else entry


def first_made(
    connection: Connection, state: LedgerState, requests: Iterable[Request]
) -> Entry | None:
    """The debit of the first of some requests that was made, if one was."""
    keys = filter(None, map(state.key_of, requests))
    return next((entry_under(connection, state, key) for key in keys), None)


def keys_of(connection: Connection, dataset: str, text: str) -> list[str]:
    """The keys of a data set's debits whose questions hold a text, oldest first, unchecked."""
    without = func.replace(LEDGER.c.question, text, "")
    holds = func.length(without) < func.length(LEDGER.c.question)
    query = select(LEDGER.c.key).where(LEDGER.c.dataset == dataset, holds)
    return list(connection.execute(query.order_by(LEDGER.c.number)).scalars())


def append(state: LedgerState, columns: Row) -> None:
    """Add the row that follows a draft of a state to it; `write` brings it into the table."""
    row = chained(state.head, columns)
    _add(state, [row])
    state.unwritten.append(row)


def write(connection: Connection, state: LedgerState) -> None:
    """Write the rows of a draft that the table does not have yet.

    Each statement lets all other threads run, and this one wait for its turn: so there are few.
    Rows of an older form need no newer table.
    """
    for first in range(0, len(state.unwritten), _WRITTEN_AT_ONCE):
        rows = state.unwritten[first : first + _WRITTEN_AT_ONCE]
        widen(connection, list(dict.fromkeys(chain.from_iterable(map(later_columns, rows)))))
        names = [name for name in rows[0] if any(row[name] is not None for row in rows)]
        marks = f"({', '.join(['{mark}'] * len(names))})"
        query = (
            f"INSERT INTO ledger ({', '.join(names)})"  # noqa: S608 - names of our own
            f" VALUES {', '.join([marks] * len(rows))}"
        )
        _executed(connection, query, [row[name] for row in rows for name in names])
    state.unwritten.clear()


def _executed(connection: Connection, query: str, values: Sequence[object]) -> Result[Any]:
    """What a statement gives that every spend needs: to compile it would take most of its time."""
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    columns = ", ".join([f"ledger.{column.name}" for column in columns_of(connection)])
    text = query.format(mark=mark, columns=columns)
    return connection.exec_driver_sql(text, tuple(values))


def _rows(connection: Connection) -> Select[Any]:
    """The query for rows, with all columns that they have."""
    return select(*columns_of(connection))


def _named(rows: Result[Any]) -> Iterator[Row]:
    """Rows as dictionaries; those that SQLAlchemy makes of its mappings take twice as long."""
    names = list(rows.keys())
    return (dict(zip(names, row, strict=True)) for row in rows)


def _add(state: LedgerState, rows: Iterable[Row]) -> None:
    for row in rows:
        if state.fault(row) is not None:
            raise damaged(state.head.number + 1)


def _row_in_state(connection: Connection, state: LedgerState, number: int) -> Row:
    """A row that was read before, if it is still as it was written."""
    row = state.unwritten_row(number) or row_at(connection, number)
    if row is None or row["hash"] != row_hash(row):
        raise damaged(number)
    return row


@dataclass(slots=True, eq=False)
class CachedState:
    """What was read of a ledger since it was opened.

    Attributes:
        state: What the rows add up to; of an empty ledger while nothing was read.
        lock: Held while rows are added.
        is_newest: Whether no other process can add a row now, so that the state holds all of them.
    """

    state: LedgerState = field(default_factory=LedgerState)
    lock: Lock = field(default_factory=Lock)
    is_newest: bool = False

    def read_on(self, connection: Connection, place: str) -> LedgerState:
        """The state up to the newest row.

        The first call reads and checks the whole ledger, a later one only what was written since.
        """
        with self.lock:
            if self.state.head.number:
                follow(connection, self.state)
            else:
                state = LedgerState()
                follow(connection, state)
                check_structure(connection, place)
                self.state = state
            return self.state

    def adopt(self, draft: LedgerState, after: Head) -> None:
        """Add rows that were committed, unless somebody has read them meanwhile."""
        with self.lock:
            if self.state.head == after:
                self.state.adopt(draft)
