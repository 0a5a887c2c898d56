"""A table or view of an SQL server, counted there."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from noisycount.release.question.keys import CellQuestion, KeyCounts, KeyQuestion
from noisycount.release.question.schema import Schema
from noisycount.release.question.tree import Predicate
from noisycount.release.sources.check import Check
from noisycount.release.sources.identity import Identity
from noisycount.release.sources.interface import require_known_columns, require_known_parts
from noisycount.release.sources.servers import ServerPlace
from noisycount.release.sources.sql.cell_counts import cell_counts
from noisycount.release.sources.sql.counted_table import CountedTable
from noisycount.release.sources.sql.counting import count_statement, require_somebody
from noisycount.release.sources.sql.failures import without_server_errors
from noisycount.release.sources.sql.key_counts import key_counts, keys_statement
from noisycount.release.sources.sql.kinds import require_stored, schema_of
from noisycount.release.sources.sql.server import Server, Transactions
from noisycount.release.sources.sql.table_name import table_name
from noisycount.release.sources.typed import TypedSource

__all__ = ["SqlSource"]

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class SqlSource(TypedSource):
    """The records of a table or view of a server; made by ``SqlSource.open``.

    Whole numbers have up to 64 bits; FLOAT and DECIMAL count as DOUBLE, text of fixed width ends
    before its trailing blanks, enumerations and times of day are texts, moments with a zone are
    read in UTC. Texts are compared by their code points, whatever the collation is.

    Attributes:
        transactions: Of its server.
        table: Which it is, and its columns as they were at the opening.
        schema: The columns that questions may use.
        identity: Which engine answers.
        shown: What messages call the records.
        unit: The column that names the person, or None where every record is one unit.
    """

    transactions: Transactions
    table: CountedTable
    schema: Schema
    identity: Identity
    shown: str
    unit: str | None

    @classmethod
    def open(
        cls,
        place: ServerPlace,
        *,
        unit: str | None,
        columns: Sequence[str] | None,
        seconds: float | None = None,
        uses_indexes: bool = False,
    ) -> "SqlSource":
        """The records of a table.

        Args:
            place: The server, and which table of it.
            unit: The column that names the person, or None where every record is one unit.
            columns: The columns that questions may use, or None for all but the unit.
            seconds: After which a statement is given up; None: when the server does.
            uses_indexes: Whether only records that match are read, which is faster, and whose time
                tells how many they are.

        Raises:
            SourceError: The server cannot be reached, its driver is not installed, the table is
                not there or may not be read, lacks a named column or has records without a unit.
        """
        server = Server.at(place, seconds)
        return cls.of(server, place, unit=unit, columns=columns, uses_indexes=uses_indexes)

    @classmethod
    def of(
        cls,
        transactions: Transactions,
        place: ServerPlace,
        *,
        unit: str | None,
        columns: Sequence[str] | None,
        uses_indexes: bool = False,
    ) -> "SqlSource":
        """The records of a table of a server that is open; it takes what `open` takes."""
        dialect = transactions.dialect

        def found() -> SqlSource:
            with transactions.transaction(has_own_path=True) as connection:
                path = dialect.path(connection)
            with transactions.transaction() as connection:
                name = dialect.found(connection, *table_name(place.table), path)
                identity = dialect.identity(connection)
                there = dialect.columns(connection, name)
                require_stored(there, [unit, *(columns or ())])
                schema = schema_of(there).for_questions(unit, columns)
                used = tuple(each for each in there if each.name in schema or each.name == unit)
                table = CountedTable(dialect, name, used, unit, uses_indexes)
                table.require_units(connection)
            return cls(transactions, table, schema, identity, place.shown, unit)

        return without_server_errors(place.shown, found)

    @property
    def version(self) -> str:
        """The digest of the table's name and of its kinds: a live table has none of its content."""
        whole = self.schema.entire
        kinds = {name: kind.value for name, kind in whole.items()}
        said = json.dumps([self.shown, kinds, sorted(whole.others)], sort_keys=True)
        return sha256(said.encode(errors="surrogatepass")).hexdigest()

    def require_unchanged(self) -> None:
        """The refusal of records that are closed; what they are is looked at by `prepare`."""
        self.transactions.require_open()

    def prepare(self) -> None:
        """The refusal of a table that cannot be counted now; see ``Source.prepare``."""
        self._done(lambda _: None)

    def count(self, predicates: Sequence[Predicate]) -> list[int]:
        """The true count for each predicate; see ``Source.count``."""
        require_known_columns(predicates, self.schema)
        if not predicates:
            return []

        def counted(connection: Connection) -> list[int]:
            statement = count_statement(predicates, self.table.records)
            row = connection.execute(statement).one()
            require_somebody(row[-1:])
            return list(map(int, row[: len(predicates)]))

        return self._done(counted)

    def count_cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        """The true counts of a table; see ``Source.count_cells``."""
        require_known_parts(question.keys.parts, question.where, self.schema)
        return self._done(lambda each: cell_counts(each, question, self.table.records))

    def count_keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        """The groups that have units, and how many; see ``Source.count_keys``."""
        require_known_parts(question.parts, question.where, self.schema)
        return self._keys(question)

    def _keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        stack = ExitStack()

        def begun() -> Iterator[KeyCounts]:
            connection = stack.enter_context(self.transactions.transaction())
            self.table.require_same(connection)
            statement = keys_statement(question, self.table.records)
            return key_counts(question.parts, connection.execute(statement))

        try:
            batches = without_server_errors(self.shown, begun)
            while batch := without_server_errors(self.shown, lambda: next(batches, None)):
                yield batch
        finally:
            without_server_errors(self.shown, stack.close)

    def check(self, unit: str | None = None) -> Check:
        """What is in the records; see ``Source.check``."""
        return self._done(lambda each: self.table.check(each, self.schema, unit or self.unit))

    def close(self) -> None:
        """The end of their use; a count that goes on is given up, and not waited for."""
        self.transactions.close()

    def _done(self, work: Callable[[Connection], Result]) -> Result:
        """The result of some work in a transaction in which the table is as it was."""

        def done() -> Result:
            with self.transactions.transaction() as connection:
                self.table.require_same(connection)
                return work(connection)

        return without_server_errors(self.shown, done)
