"""The table of a ledger and that of replies, for SQLite and PostgreSQL, and an older form."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    Table,
    Text,
    event,
    insert,
    inspect,
    text,
)

from noisycount.errors import LedgerError
from noisycount.release.budget.exact import exact_text, exact_value, optional_text
from noisycount.release.budget.loss import Loss
from noisycount.release.ledger.chain import (
    COLUMNS,
    LATER_COLUMNS,
    Head,
    answer_columns,
    chained,
    debit_columns,
    entry_of,
)
from noisycount.release.ledger.entries import ANALYST

__all__ = [
    "LEDGER",
    "REPLIES",
    "RESTORE",
    "columns_of",
    "damaged",
    "foreign",
    "is_made",
    "make",
    "upgrade",
    "widen",
]

RESTORE = "restore it from a copy that holds every debit"

_TABLES = MetaData()
LEDGER = Table(
    "ledger",
    _TABLES,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("digest", Text, unique=True),
    *(Column(name, Text) for name in ("dataset", "analyst", "question", "epsilon")),
    *(Column(name, Text) for name in ("spent", "spent_rho", "analyst_spent", "analyst_rho")),
    Column("made", Text, nullable=False),
    Column("answer", Text),
    Column("previous", Text, nullable=False, unique=True),
    Column("hash", Text, nullable=False),
    *(Column(name, Text) for name in LATER_COLUMNS),
    Index("ledger_of_a_key", "key", "kind", unique=True),
)

REPLIES = Table(
    "replies",
    MetaData(),
    Column("name", Text, primary_key=True),
    Column("dataset", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("reply", LargeBinary, nullable=False),
)
"""What a service replied; a ledger that no service asked has none."""

_NEEDED = {*COLUMNS, "hash"}
_IS_WHOLE = "ledger has all columns"  # what is remembered of a connection
_WIDENED_BY = "transaction that gave it columns"  # it may be rolled back

_SQLITE_GUARD = """
    CREATE TRIGGER ledger_refuses_{name} BEFORE {name} ON ledger
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END
"""
_POSTGRESQL_FUNCTION = """
    CREATE FUNCTION ledger_refuses() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$
"""
_POSTGRESQL_GUARD = """
    CREATE TRIGGER ledger_refuses_{name} BEFORE {name} ON ledger
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuses()
"""
_OLDER = text(
    "SELECT debits.*, answers.answer AS answer FROM debits LEFT JOIN answers USING (key)"
    " ORDER BY number"
)


def is_made(connection: Connection) -> bool:
    """Whether a database holds a ledger."""
    return inspect(connection).has_table(LEDGER.name)


def make(connection: Connection) -> None:
    """Make the table in a database that has none."""
    _TABLES.create_all(connection, checkfirst=False)


def columns_of(connection: Connection) -> list[Column[Any]]:
    """The columns of the table, which an older ledger has not all; nobody drops one.

    Raises:
        LedgerError: One is missing that every ledger has.
    """
    if connection.info.get(_IS_WHOLE):
        return list(LEDGER.columns)
    found = connection.exec_driver_sql("SELECT * FROM ledger LIMIT 0").keys()
    if missing := sorted(_NEEDED.difference(found)):
        raise LedgerError(f"the ledger has no column {missing[0]!r}; {RESTORE}")
    columns = [column for column in LEDGER.columns if column.name in found]
    is_whole = len(columns) == len(LEDGER.columns)
    is_lasting = connection.info.get(_WIDENED_BY) is not connection.get_transaction()
    connection.info[_IS_WHOLE] = is_whole and is_lasting
    return columns


def widen(connection: Connection, names: Sequence[str]) -> None:
    """Give the table of an older ledger columns that came later; its rows stay as they are."""
    found = {column.name for column in columns_of(connection)} if names else set()
    for name in names:
        if name not in found:
            connection.info[_WIDENED_BY] = connection.get_transaction()
            connection.exec_driver_sql(f"ALTER TABLE {LEDGER.name} ADD COLUMN {name} TEXT")


def upgrade(connection: Connection) -> bool:
    """Bring a ledger of the form without hashes into this one; tell whether it was one.

    Every debit and answer is kept, with its key, time and total. Who asked is unknown: all belong
    to the analyst of nobody's name.

    Raises:
        LedgerError: A row is damaged; nothing was changed.
    """
    tables = inspect(connection)
    if not (tables.has_table("debits") and tables.has_table("answers")):
        return False
    rows = list(_upgraded(connection.execute(_OLDER).all()))
    make(connection)
    if rows:
        connection.execute(insert(LEDGER), rows)
    for name in ("answers", "debits"):
        connection.exec_driver_sql(f"DROP TABLE {name}")
    return True


def damaged(number: int) -> LedgerError:
    """The refusal of a row that the ledger did not write."""
    return LedgerError(
        f"row {number} of the ledger is damaged; {RESTORE}; `noisycount ledger verify` tells what"
        " is wrong with it, and nothing is charged until then"
    )


def foreign(key: str) -> LedgerError:
    """The refusal of an answer that has not the form that its question asks for."""
    return LedgerError(
        f"key {key!r} of the ledger has an answer that is none to its question; {RESTORE}"
    )


@event.listens_for(LEDGER, "after_create")
def _make_append_only(_: Table, connection: Connection, **_options: object) -> None:
    """Let nobody change or delete a row of the table that was just made."""
    postgresql = connection.dialect.name == "postgresql"
    if postgresql:
        connection.exec_driver_sql(_POSTGRESQL_FUNCTION)
    guard = _POSTGRESQL_GUARD if postgresql else _SQLITE_GUARD
    for name in ("update", "delete", *(["truncate"] if postgresql else [])):
        connection.exec_driver_sql(guard.format(name=name))


def _upgraded(older: Sequence[Row[Any]]) -> Iterator[dict[str, Any]]:
    """The chain that holds what older rows held."""
    head, analyst, datasets = Head(), Loss(), dict[str, Loss]()
    for row in older:
        try:
            price = Loss.of(exact_value(row.epsilon))
            analyst += price
            spent = datasets.get(row.dataset, Loss()) + price
            totals = {
                "spent_rho": exact_text(spent.rho),
                "analyst": ANALYST,
                "analyst_spent": optional_text(analyst.epsilon),
                "analyst_rho": exact_text(analyst.rho),
            }
            entry = entry_of({**row._mapping, **totals}, row.answer)  # noqa: SLF001 - public name
            if entry.spent != spent:
                raise damaged(row.number)
        except ValueError:
            raise damaged(row.number) from None
        datasets[row.dataset] = spent
        kept: list[Mapping[str, str | None]] = [debit_columns(entry)]
        if entry.answer is not None:
            kept.append(answer_columns(entry.key, entry.answer, entry.made))
        for columns in kept:
            yield (made := chained(head, columns))
            head = Head(made["number"], made["hash"])
