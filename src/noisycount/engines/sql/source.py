"""A table or view of an SQL server, counted there."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from noisycount.engines import counts as statements
from noisycount.engines.check import Check, typed_check
from noisycount.engines.conformance.certificate import Identity
from noisycount.engines.dialect import Expression
from noisycount.engines.expressions import Person, StatementRecords, is_nan, require_somebody, type_of
from noisycount.engines.formats import ColumnFormat
from noisycount.engines.guesses import with_resemblances
from noisycount.engines.interface import TypedSource, missing_units, require_typed
from noisycount.engines.persons import persons_of
from noisycount.engines.places import ServerPlace
from noisycount.engines.sql import table as tables
from noisycount.engines.sql.connection import Server, ServerTransactions, without_server_errors
from noisycount.engines.sql.dialect import ServerDialect
from noisycount.engines.views.claim import UnitClaim
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.grouping import CellQuestion, KeyCounts, KeyQuestion
from noisycount.query.predicate import Column, Predicate
from noisycount.query.schema import Kind, Schema


@frozen
class CountedTable:
    """A table whose records are counted."""

    dialect: ServerDialect  # what its server says in its own way
    name: tables.FoundName  # the table
    columns: tuple[tables.FoundColumn, ...]  # those that questions may use, and the unit
    unit: str | None  # the column that names the person, or None where every record is one unit
    uses_indexes: bool  # whether only records that match are read, which is faster and tells
    claim: UnitClaim = UnitClaim()  # about its rows, if it is a view
    nan_missing: frozenset[str] = frozenset()  # the columns in which NaN is a missing value

    def __post_init__(self) -> None:
        if self.unit is not None:
            tables.require_unit(self._unit)

    @property
    def records(self) -> StatementRecords:
        """What statements read."""
        values = {
            each.name: sa.case((sa.not_(is_nan(value)), value)) if each.name in self.nan_missing else value
            for each in self.columns
            for value in [self._value(each)]
        }
        person = None if self.unit is None else self._person_of(self._unit)
        return StatementRecords(
            self._clause, lambda column: values[column.name], person, self.dialect, self.uses_indexes
        )

    def require_same(self, connection: sa.Connection) -> None:
        """The refusal of a table that is not as it was, or may not be read.

        It is read first, of which nothing comes: from then on the transaction keeps its columns from changing.
        """
        columns: list[Expression] = [self._column(each) for each in self.columns]
        connection.execute(sa.select(*(columns or [sa.literal_column("1")])).select_from(self._clause).limit(0))
        if not set(self.columns) <= set(self.dialect.columns(connection, self.name)):
            raise SourceError(f"the columns of {self.name.name!r} changed since its opening: open it again")
        self.dialect.require_stable(connection, self.name, self.claim)

    def require_units(self, connection: sa.Connection) -> None:
        """The refusal of records without a unit; where the server allows none, it is not asked."""
        self.require_same(connection)
        if self.unit is None or self._unit.is_required:
            return
        value = self._column(self._unit)
        missing = sa.select(sa.func.count()).select_from(self._clause).where(value.is_(None))
        if connection.execute(missing).scalar():
            raise missing_units(self.unit)

    def check(self, connection: sa.Connection, schema: Schema, unit: str | None) -> Check:
        """What is in the columns that questions may use, and how many persons, for the owner."""
        held = {each.name: each for each in self.columns}
        persons = [] if unit not in held else [self._person_of(held[unit]).value.distinct()]
        columns = [Column(name, kind) for name, kind in schema.items()]
        values = [
            self.records.value(each) if each.name in self.nan_missing else self._column(held[each.name])
            for each in columns
        ]
        asked = [sa.func.count(), *map(sa.func.count, values), *statements.nan_counts(columns, self.records)]
        rows, *counts = connection.execute(
            sa.select(*asked, *map(sa.func.count, persons)).select_from(self._clause)
        ).one()
        units = counts.pop() if persons else None
        types, reasons = ({name: getattr(each, fact) for name, each in held.items()} for fact in ("type", "reason"))
        forms = {name: ColumnFormat(Kind.REAL, nan="missing") for name in self.nan_missing}
        check = typed_check(schema, rows, counts, units, types=types, reasons=reasons, forms=forms)
        texts = partial(statements.texts_statement, self.records)
        check = with_resemblances(check, unit, lambda *asked: connection.execute(texts(*asked)).scalars())
        if unit not in held:
            return check
        with_gaps = [Column(each.name, each.kind) for each in check.columns if each.kind is not None and each.missing]
        rows_of = lambda statement: connection.execute(statement).all()  # noqa: E731 - one use
        return replace(check, persons=persons_of(with_gaps, self._person_of(held[unit]), self.records, rows_of))

    @property
    def _unit(self) -> tables.FoundColumn:
        return next(each for each in self.columns if each.name == self.unit)

    def _person_of(self, found: tables.FoundColumn) -> Person:
        """Who a record is of, by a column that names persons; texts are told apart as compared."""
        is_text = found.kind is Kind.TEXT and found.form is not tables.Form.NAMED
        value = self.dialect.text(self._column(found)) if is_text else self._column(found)
        return Person(value, found.kind, found.is_required)

    def _value(self, found: tables.FoundColumn) -> Expression:
        """The values of a column as those of the one type of its kind."""
        value = self._column(found)
        if found.kind is Kind.TEXT:
            return self.dialect.text(value)
        match found.form:
            case tables.Form.ZONED:
                return self.dialect.in_utc(value)
            case tables.Form.DECIMAL:
                return self.dialect.nearest_double(value)
            case tables.Form.CAST:
                return self.dialect.double(value)
            case _:
                return value

    @property
    def _clause(self) -> sa.TableClause:
        columns: list[sa.ColumnClause[Any]] = [
            sa.column(sa.quoted_name(each.name, self.dialect.quote)) for each in self.columns
        ]
        schema = self.name.schema and sa.quoted_name(self.name.schema, self.dialect.quote)
        return sa.table(sa.quoted_name(self.name.name, self.dialect.quote), *columns, schema=schema)

    def _column(self, found: tables.FoundColumn) -> Expression:
        return sa.column(sa.quoted_name(found.name, self.dialect.quote), type_of(found.kind))


Result = TypeVar("Result")
_SECONDS_TO_IDENTIFY = 10.0  # s, for a few rows of the server's own catalog


@frozen
class SqlSource(TypedSource):
    """The records of a table or view of a server; made by ``SqlSource.open``.

    Whole numbers have up to 64 bits; FLOAT and DECIMAL count as DOUBLE, text of fixed width ends before its trailing
    blanks, enumerations and times of day are texts, moments with a zone are read in UTC. Texts are compared by their
    code points, whatever the collation is.
    """

    transactions: ServerTransactions  # of its server
    table: CountedTable  # which it is, and its columns as they were at the opening
    schema: Schema  # the columns that questions may use
    identity: Identity  # which engine answers
    shown: str  # what messages call the records
    unit: str | None  # the column that names the person, or None where every record is one unit

    @classmethod
    def open(cls, place: ServerPlace, *, seconds: float | None = None, **said: Any) -> "SqlSource":  # noqa: ANN401 - as `of` takes it
        """The records of a table; it takes what `of` takes.

        `seconds`: after which a statement is given up; None: when the server does.
        """
        return cls.of(Server.at(place, seconds), place, **said)

    @classmethod
    def of(  # noqa: PLR0913 - one argument a property of the records
        cls,
        transactions: ServerTransactions,
        place: ServerPlace,
        *,
        unit: str | None,
        columns: Sequence[str] | None,
        uses_indexes: bool = False,
        claim: UnitClaim | None = None,
        kinds: Mapping[str, ColumnFormat] | None = None,
    ) -> "SqlSource":
        """Return the records of a table of a server that is open.

        `unit`: the column that names the person, or None where every record is one unit. `uses_indexes`: whether only
        records that match are read, which is faster, and whose time tells how many they are. `claim`: what the owner
        states about the rows of a view; None: the unit alone. `kinds`: the columns in which NaN is missing.
        """
        dialect = transactions.dialect

        def found() -> SqlSource:
            with transactions.transaction(has_own_path=True) as connection:
                path = dialect.path(connection)
            with transactions.transaction() as connection:
                name = dialect.found(connection, *tables.table_name(place.table), path)
                identity = dialect.identity(connection)
                there = dialect.columns(connection, name)
                tables.require_stored(there, [unit, *(columns or ())])
                schema = tables.schema_of(there).for_questions(unit, columns)
                used = tuple(each for each in there if each.name in schema or each.name == unit)
                nan_missing = require_typed(place.shown, kinds or {}, schema, unit)
                table = CountedTable(dialect, name, used, unit, uses_indexes, claim or UnitClaim(unit), nan_missing)
                table.require_units(connection)
            return cls(transactions, table, schema, identity, place.shown, unit)

        return without_server_errors(place.shown, found)

    @classmethod
    def relation_identities(cls, place: ServerPlace, public_tables: Sequence[str]) -> tuple[str, ...]:
        """Return what identifies a table, and those whose records it shares; see `ServerDialect`."""
        server = Server.at(place, _SECONDS_TO_IDENTIFY)

        def identities() -> tuple[str, ...]:
            with server.transaction(has_own_path=True) as connection:
                path = server.dialect.path(connection)
            with server.transaction() as connection:
                name = server.dialect.found(connection, *tables.table_name(place.table), path)
                address = "\n".join(place.canonical[:3])
                return server.dialect.relation_identities(connection, name, address, public_tables)

        return without_server_errors(place.shown, identities)

    @property
    def nan_missing(self) -> frozenset[str]:
        """The columns in which NaN is a missing value, as the owner states."""
        return self.table.nan_missing

    @property
    def version(self) -> str:
        """The digest of the table's name and of its kinds: a live table has none of its content."""
        whole = self.schema.entire
        kinds = {name: kind.value for name, kind in whole.items()}
        nan = [sorted(self.nan_missing)] if self.nan_missing else []
        said = json.dumps([self.shown, kinds, sorted(whole.others), *nan], sort_keys=True)
        return sha256(said.encode(errors="surrogatepass")).hexdigest()

    def require_unchanged(self) -> None:
        """The refusal of records that are closed; what they are is looked at by `prepare`."""
        self.transactions.require_open()

    def prepare(self, columns: Collection[str] | None = None) -> None:  # noqa: ARG002 - all are alike
        """The refusal of a table that cannot be counted now; see ``Source.prepare``."""
        self._done(lambda _: None)

    def _counts(self, predicates: Sequence[Predicate]) -> list[int]:
        def counted(connection: sa.Connection) -> list[int]:
            statement = statements.count_statement(predicates, self.table.records)
            row = connection.execute(statement).one()
            require_somebody(row[-1:])
            return list(map(int, row[: len(predicates)]))

        return self._done(counted)

    def _cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        records = self.table.records

        def counted(connection: sa.Connection) -> list[NDArray[np.int64]]:
            found = connection.execute(statements.cells_statement(question, records))
            rows = np.array([row[:3] for row in found], np.object_).reshape(-1, 3)
            return statements.cell_counts(question, records, rows.T)

        return self._done(counted)

    def _keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        stack = ExitStack()

        def begun() -> sa.CursorResult[*tuple[Any, ...]]:
            connection = stack.enter_context(self.transactions.transaction())
            self.table.require_same(connection)
            return connection.execute(statements.keys_statement(question, self.table.records))

        try:
            result = without_server_errors(self.shown, begun)
            while rows := without_server_errors(self.shown, lambda: result.fetchmany(statements.KEYS_AT_ONCE)):
                yield statements.key_counts(question, self.table.dialect, rows)
        finally:
            without_server_errors(self.shown, stack.close)

    def check(self, unit: str | None = None) -> Check:
        """What is in the records; see ``Source.check``."""
        return self._done(lambda each: self.table.check(each, self.schema, unit or self.unit))

    def close(self) -> None:
        """The end of their use; a count that goes on is given up, and not waited for."""
        self.transactions.close()

    def _done(self, work: Callable[[sa.Connection], Result]) -> Result:
        """The result of some work in a transaction in which the table is as it was."""

        def done() -> Result:
            with self.transactions.transaction() as connection:
                self.table.require_same(connection)
                return work(connection)

        return without_server_errors(self.shown, done)
