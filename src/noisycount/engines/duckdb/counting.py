"""How DuckDB counts the view ``records``: one statement, and nothing of its errors."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import column, quoted_name, table

from noisycount.engines.duckdb.connection import Connection, limited, without_engine_errors
from noisycount.engines.duckdb.dialect import DUCKDB, DuckDBDialect
from noisycount.engines.statement.counts import (
    KEYS_AT_ONCE,
    cell_counts,
    cells_statement,
    count_statement,
    key_counts,
    keys_statement,
)
from noisycount.engines.statement.dialect import Expression
from noisycount.engines.statement.expressions import Expressions, type_of
from noisycount.engines.statement.records import Person, StatementRecords
from noisycount.engines.statement.text import text_of
from noisycount.frozen import frozen
from noisycount.query.grouping import CellQuestion, KeyCounts, KeyQuestion
from noisycount.query.predicate import Column, Predicate
from noisycount.query.schema import Kind, Schema


def condition_text(predicate: Predicate) -> tuple[str, dict[str, Any]]:
    """The SQL of a predicate, true, false or null as that is, and its values by their names."""
    return text_of(Expressions(DuckDBDialect(), _value_of).condition(predicate), DUCKDB)


def _value_of(of: Column) -> Expression:
    """The values of a column of the view, each of the one type of its kind."""
    return _named(of.name, of.kind)


def _named(name: str, kind: Kind | None) -> Expression:
    return column(quoted_name(name, quote=True), type_of(kind))


def records_of(unit: str | None, schema: Schema, cursor: Connection | None = None) -> StatementRecords:
    """The records of the view, of which none is of nobody.

    `cursor`: where keys are listed.
    """
    kind = None if unit is None else schema.entire.kinds.get(unit)
    person = None if unit is None else Person(_named(unit, kind), kind, is_required=True)
    return StatementRecords(table("records"), _value_of, person, DuckDBDialect(cursor))


@frozen
class Counting:
    """How the records of a source are counted."""

    opened: Callable[[], AbstractContextManager[Connection]]  # a cursor that has the view ``records``
    require_unchanged: Callable[[], None]  # refuses a source that is closed, or whose records may have changed
    unit: str | None  # the column that names the person, or None where every record is one unit
    schema: Schema  # the columns that questions may use
    seconds: float | None  # after which a count is given up; None: never
    refusal: str  # what is said where the engine fails

    def counts(self, predicates: Sequence[Predicate]) -> list[int]:
        """The count of each predicate; see ``Source.count``."""
        statement = text_of(count_statement(predicates, records_of(self.unit, self.schema)), DUCKDB)

        def counted() -> Sequence[int]:
            with self.opened() as cursor, limited(cursor, self.seconds):
                row: Sequence[int] = cursor.execute(*statement).fetchall()[0]
                return row

        row = without_engine_errors(counted, self.refusal)
        self.require_unchanged()
        return list(row[: len(predicates)])

    def cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        """The counts of listed cells; see ``Source.count_cells``."""

        def counted() -> list[NDArray[np.int64]]:
            with self.opened() as cursor, limited(cursor, self.seconds):
                records = records_of(self.unit, self.schema, cursor)
                cursor.execute(*text_of(cells_statement(question, records), DUCKDB))
                found = cursor.fetchnumpy()
                columns = [found[name] for name in ("place", "number", "nobody")]
                return cell_counts(question, records, columns)

        counts = without_engine_errors(counted, self.refusal)
        self.require_unchanged()
        return counts

    def keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        """The groups that have units; see ``Source.count_keys``."""
        records = records_of(self.unit, self.schema)
        statement = text_of(keys_statement(question, records), DUCKDB)
        with self.opened() as cursor:

            def answered() -> None:
                with limited(cursor, self.seconds):
                    cursor.execute(*statement)

            def batch() -> list[Any]:
                self.require_unchanged()
                with limited(cursor, self.seconds):
                    return cursor.fetchmany(KEYS_AT_ONCE)

            without_engine_errors(answered, self.refusal)
            while rows := without_engine_errors(batch, self.refusal):
                yield key_counts(question, records.dialect, rows)
        self.require_unchanged()
