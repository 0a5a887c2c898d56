"""What is read from a ledger's table, and the row that is added to it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, insert, select
from sqlalchemy.sql import Select

from noisycount.release.budget.budgets import Loss
from noisycount.release.ledger.chain import (
    ANSWER,
    COLUMNS,
    DEBIT,
    Head,
    Row,
    chained,
    entry_of,
    row_hash,
)
from noisycount.release.ledger.entries import Entry
from noisycount.release.ledger.table import LEDGER, damaged

__all__ = [
    "ENTRIES",
    "append",
    "entry_in",
    "entry_where",
    "made_at",
    "newest_row",
    "paid_by",
    "paid_for",
]

_ANSWERS = LEDGER.alias("answers")
ENTRIES: Select[Any] = (
    select(
        LEDGER,
        *(column.label(f"answers_{column.name}") for column in _ANSWERS.c),
    )
    .join_from(
        LEDGER,
        _ANSWERS,
        and_(_ANSWERS.c.key == LEDGER.c.key, _ANSWERS.c.kind == ANSWER),
        isouter=True,
    )
    .where(LEDGER.c.kind == DEBIT)
)
"""Every debit with its answer; the columns of the answer's row are named after it."""


def entry_where(connection: Connection, which: ColumnElement[bool]) -> Entry | None:
    """Give the newest entry of which a condition holds, if there is one."""
    newest = ENTRIES.where(which).order_by(LEDGER.c.number.desc()).limit(1)
    row = connection.execute(newest).mappings().one_or_none()
    return None if row is None else entry_in(dict(row))


def paid_for(connection: Connection, dataset: str) -> Loss:
    """Give the running total in the newest debit of a data set."""
    newest = entry_where(connection, LEDGER.c.dataset == dataset)
    return Loss() if newest is None else newest.spent


def paid_by(connection: Connection, analyst: str) -> Loss:
    """Give the running total in the newest debit of an analyst."""
    newest = entry_where(connection, LEDGER.c.analyst == analyst)
    return Loss() if newest is None else newest.analyst_spent


def newest_row(connection: Connection) -> Row | None:
    """Give the newest row of all, if it is as it was written."""
    query = select(LEDGER).order_by(LEDGER.c.number.desc()).limit(1)
    found = connection.execute(query).mappings().one_or_none()
    row = None if found is None else dict(found)
    if row is not None and row["hash"] != row_hash(row):
        raise damaged(row["number"])
    return row


def made_at(newest: Row | None) -> datetime:
    """Give when the newest row was made, if the ledger wrote it."""
    if newest is None:
        return datetime.min.replace(tzinfo=UTC)
    try:
        made = datetime.fromisoformat(newest["made"])
    except (TypeError, ValueError):
        raise damaged(newest["number"]) from None
    if made.utcoffset() != timedelta(0):
        raise damaged(newest["number"])
    return made


def append(connection: Connection, newest: Row | None, columns: Row) -> None:
    """Write the row that follows the newest."""
    head = Head(newest["number"], newest["hash"]) if newest else Head()
    connection.execute(insert(LEDGER).values(chained(head, columns)))


def entry_in(row: Row) -> Entry:
    """Give the entry that a row and its answer hold, if the ledger wrote them."""
    answered = {name: row[f"answers_{name}"] for name in (*COLUMNS, "hash")}
    for each in (row, answered):
        if each["number"] is not None and each["hash"] != row_hash(each):
            raise damaged(each["number"])
    try:
        return entry_of(row, answered["answer"])
    except ValueError:
        raise damaged(row["number"]) from None
