"""The table of a ledger and that of replies, for SQLite and PostgreSQL, and an older form.

What is read of the table, oldest row first, and the rows that are added to it.

Whether the file of a ledger is whole around its rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Result,
    Table,
    Text,
    event,
    func,
    insert,
    inspect,
    select,
    text,
)

from noisycount.errors import LedgerError
from noisycount.ledger.budget import Loss
from noisycount.ledger.chain import (
    COLUMNS,
    LATER_COLUMNS,
    RESTORE,
    Head,
    Row,
    answer_columns,
    chained,
    damaged,
    debit_columns,
    entry_of,
    later_columns,
    row_hash,
)
from noisycount.ledger.entries import ANALYST
from noisycount.validation import exact_text, exact_value, optional_text

_TABLES = MetaData()
_AT_ONCE = 20  # rows that are fetched together: some could hold tables of a million counts
_WRITTEN_AT_ONCE = 40  # rows: older SQLites take no more than 999 values

_WITHOUT_INDEXES = tuple(f"SET LOCAL enable_{scan} = off" for scan in ("indexscan", "indexonlyscan", "bitmapscan"))

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

# What a service replied; a ledger that no service asked has none.
REPLIES = Table(
    "replies",
    MetaData(),
    Column("name", Text, primary_key=True),
    Column("dataset", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("reply", LargeBinary, nullable=False),
)

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

_OLDER = text("SELECT debits.*, answers.answer AS answer FROM debits LEFT JOIN answers USING (key) ORDER BY number")


def is_made(connection: Connection) -> bool:
    """Whether a database holds a ledger."""
    return inspect(connection).has_table(LEDGER.name)


def make(connection: Connection) -> None:
    """Make the table in a database that has none."""
    _TABLES.create_all(connection, checkfirst=False)


def columns_of(connection: Connection) -> list[Column[Any]]:
    """The columns of the table, which an older ledger has not all; nobody drops one."""
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


def unexpected_answer(key: str) -> LedgerError:
    """The refusal of an answer that has not the form that its question asks for."""
    return LedgerError(f"key {key!r} of the ledger has an answer that is none to its question; {RESTORE}")


@event.listens_for(LEDGER, "after_create")
def _make_append_only(_: Table, connection: Connection, **_options: object) -> None:
    """Let nobody change or delete a row of the table that was just made."""
    postgresql = connection.dialect.name == "postgresql"
    if postgresql:
        connection.exec_driver_sql(_POSTGRESQL_FUNCTION)
    guard = _POSTGRESQL_GUARD if postgresql else _SQLITE_GUARD
    for name in ("update", "delete", *(["truncate"] if postgresql else [])):
        connection.exec_driver_sql(guard.format(name=name))


def _upgraded(older: Sequence[Any]) -> Iterator[dict[str, Any]]:
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


def require_no_row(known_head: Head | None) -> None:
    """The refusal of a ledger that is not there, though its owner wrote down a row of it."""
    if known_head is not None and known_head.number:
        raise LedgerError(f"there is no ledger, though row {known_head.number} was written down; {RESTORE}")


def check_structure(connection: Connection, place: str) -> None:
    """Refuse a SQLite file whose pages, indexes or columns contradict each other or a ledger's.

    No hash covers them, and one byte of a page can hide the newest rows: the chain that is left is
    an intact one. A server looks after its files itself.
    """
    if connection.dialect.name != "sqlite":
        return
    if connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one() != "ok":
        raise LedgerError(f"{place} is damaged; {RESTORE}")
    for table in (LEDGER, REPLIES):
        kinds = {column.name: column.type.compile(connection.dialect) for column in table.columns}
        for _, name, kind, *_ in connection.exec_driver_sql(f"PRAGMA table_info({table.name})"):
            if kinds.get(name) != kind:
                raise LedgerError(f"{place} has a column {name!r} of {kind!r}, as no ledger has; {RESTORE}")


@contextmanager
def all_rows(connection: Connection) -> Iterator[Iterator[Row]]:
    """Every row as it is stored, oldest first, read from the table itself and by no index.

    SQLite keeps a table in the order of its numbers; PostgreSQL is told to sort it.
    """
    if connection.dialect.name == "postgresql":
        for setting in _WITHOUT_INDEXES:
            connection.exec_driver_sql(setting)
    query = select(*columns_of(connection)).order_by(LEDGER.c.number)
    with connection.execute(query.execution_options(yield_per=_AT_ONCE)) as rows:
        yield _named(rows)


def row_at(connection: Connection, number: int) -> Row | None:
    """The row of a number, as it is stored."""
    return next(_rows(connection, "= {mark}", number), None)


def rows_from(connection: Connection, number: int) -> Iterator[Row]:
    """The row of a number and all later ones, oldest first."""
    return _rows(connection, ">= {mark} ORDER BY ledger.number", number)


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


def keys_of(connection: Connection, dataset: str, text: str) -> list[str]:
    """The keys of a data set's debits whose questions hold a text, oldest first, unchecked."""
    without = func.replace(LEDGER.c.question, text, "")
    holds = func.length(without) < func.length(LEDGER.c.question)
    query = select(LEDGER.c.key).where(LEDGER.c.dataset == dataset, holds)
    return list(connection.execute(query.order_by(LEDGER.c.number)).scalars())


def write(connection: Connection, unwritten: Sequence[Row]) -> None:
    """Write rows that the table does not have yet.

    Each statement lets all other threads run, and this one wait for its turn: so there are few.
    Rows of an older form need no newer table.
    """
    for first in range(0, len(unwritten), _WRITTEN_AT_ONCE):
        rows = unwritten[first : first + _WRITTEN_AT_ONCE]
        widen(connection, list(dict.fromkeys(chain.from_iterable(map(later_columns, rows)))))
        names = [name for name in rows[0] if any(row[name] is not None for row in rows)]
        marks = f"({', '.join(['{mark}'] * len(names))})"
        query = (
            f"INSERT INTO ledger ({', '.join(names)})"  # noqa: S608 - names of our own
            f" VALUES {', '.join([marks] * len(rows))}"
        )
        _executed(connection, query, [row[name] for row in rows for name in names])


def _rows(connection: Connection, which: str, number: int) -> Iterator[Row]:
    columns = ", ".join([f"ledger.{column.name}" for column in columns_of(connection)])
    query = f"SELECT {columns} FROM ledger WHERE ledger.number {which}"  # noqa: S608 - our names
    return _named(_executed(connection, query, [number]))


def _executed(connection: Connection, query: str, values: Sequence[object]) -> Result[Any]:
    """What a statement gives that every spend needs: to compile it would take most of its time."""
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    return connection.exec_driver_sql(query.replace("{mark}", mark), tuple(values))


def _named(rows: Result[Any]) -> Iterator[Row]:
    """Rows as dictionaries; those that SQLAlchemy makes of its mappings take twice as long."""
    names = list(rows.keys())
    return (dict(zip(names, row, strict=True)) for row in rows)
