"""Several tables of the same persons as the rows of one relation, which all counting statements read unchanged.

`joined_records` writes the relation, which contains the rows of all tables. Each row has its person, the columns of its
own table, and the number of its table. `TablesSource` counts them.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any, TypeAlias

import sqlalchemy as sa

from noisycount.engines.check import Check, ColumnCheck
from noisycount.engines.counting import Counting, EngineSource, Part
from noisycount.engines.dialect import NOTHING, ONE, Expression, whole
from noisycount.engines.expressions import Person, StatementRecords, type_of
from noisycount.engines.formats import ColumnFormat
from noisycount.engines.interface import CheckedSource
from noisycount.engines.table_facts import TableFacts, columns_to_read
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query import predicate as tree
from noisycount.query.grouping import GroupBy
from noisycount.query.person_values import Function, PersonValue, row_flag, row_table
from noisycount.query.predicate import Column, Predicate
from noisycount.query.schema import Kind, Schema

UNIT = "unit of the row"  # name of the column of persons in the relation; no table has a name with blanks


def joined_records(
    tables: Sequence[TableFacts], parts: Mapping[str, Part], kinds: Mapping[str, Kind]
) -> StatementRecords:
    """Return the rows of all tables as the records of one relation.

    The rows of a linked table have the persons of the rows that they are linked to. A row that is linked to rows of two
    persons counts for both, and a row that is linked to none counts for nobody. So each row of the relation depends on
    the rows of one person and on public rows only.

    Args:
        tables: The tables.
        parts: The records of each table. Those of a linked table or of a look-up have no person.
        kinds: The kind of each column that questions may use, by its qualified name.
    """
    dialect = next(iter(parts.values())).records.dialect
    joins = Joins(tables, parts)
    rows = {table.name: joins.rows(table) for table in tables if table.on is None}
    branches = []
    for number, (source, person, values) in enumerate(rows.values()):
        cells = []
        for place, (column, kind) in enumerate(kinds.items()):
            null = sa.cast(sa.null(), dialect.text_type if kind is Kind.TEXT else type_of(kind))
            cells.append(values.get(column, null).label(f"c{place}"))
        branches.append(sa.select(person.label("u"), whole(number).label("n"), *cells).select_from(source))
    relation = (sa.union_all(*branches) if len(branches) > 1 else branches[0]).subquery("rows_of_tables")
    numbers = {name: number for number, name in enumerate(rows)}
    places = {name: place for place, name in enumerate(kinds)}

    def value_of(column: Column) -> Expression:
        if column.name in numbers:
            is_of_table: Expression = relation.c.n == whole(numbers[column.name])
            return is_of_table if dialect.has_booleans else sa.case((is_of_table, ONE), else_=NOTHING)
        value: Expression = relation.c[f"c{places[column.name]}"]
        return dialect.text(value) if column.kind is Kind.TEXT else value

    persons = [part.records.person for part in parts.values() if part.records.person is not None]
    unit: Expression = relation.c.u
    unit_kind = persons[0].kind
    is_required = all(each.is_required for each in persons)
    of_row = Person(dialect.text(unit) if unit_kind is Kind.TEXT else unit, unit_kind, is_required)
    return StatementRecords(relation, value_of, of_row, dialect)


def require_single_keys(tables: Iterable[TableFacts], counting: Counting) -> None:
    """Raise SourceError if a public look-up has two rows with one key, as each row of its table would count twice.

    Args:
        tables: The tables.
        counting: Counts the open tables.
    """
    for table in tables:
        if table.on is None:
            continue
        values, different = counting.read_row(partial(_write_key_statement, table.name, table.on.key))
        if values > different:
            raise SourceError(
                f"look-up {table.name!r} has two rows with one {table.on.key!r}: keep one row for each value, as each "
                f"row of {table.on.table!r} has one explanation"
            )


def _write_key_statement(table: str, name: str, parts: Mapping[str, Part]) -> sa.Select[*tuple[Any, ...]]:
    """Return the statement that counts the values and the different values of a column of a table."""
    part = parts[table]
    key = part.records.value(Column(name, part.columns[name]))
    return sa.select(sa.func.count(key), sa.func.count(sa.distinct(key))).select_from(part.records.table)


_Rows: TypeAlias = tuple[sa.FromClause, Expression, dict[str, Expression]]
"""Rows, the person of each, and their values by qualified names."""


@frozen
class Joins:
    """The joins of linked tables and look-ups."""

    tables: Sequence[TableFacts]
    parts: Mapping[str, Part]

    def rows(self, table: TableFacts) -> _Rows:
        """Return the rows of a table with their persons and with the columns of its look-ups."""
        source, values = self.table_alone(table)
        own: sa.FromClause = source
        if table.through is None:
            person: Expression = source.c.u
        else:
            target, target_person, target_values = self.rows(self.table_named(table.through.table))
            # The target is read a second time: a CTE, which keeps its rows in memory, takes DuckDB half as long again.
            key = target_values[f"{table.through.table}.{table.through.column}"]
            links = sa.select(key.label("k"), target_person.label("u")).select_from(target).distinct().subquery("links")
            own = own.join(links, values[f"{table.name}.{table.through.key}"] == links.c.k)
            person = links.c.u
        for lookup in self.tables:
            if lookup.on is not None and lookup.on.table == table.name:
                explained, more = self.table_alone(lookup)
                is_same = values[f"{table.name}.{lookup.on.column}"] == more[f"{lookup.name}.{lookup.on.key}"]
                own = own.outerjoin(explained, is_same)
                values |= more
        return own, person, values

    def table_named(self, name: str) -> TableFacts:
        """Return a table by its name."""
        return next(table for table in self.tables if table.name == name)

    def table_alone(self, table: TableFacts) -> tuple[sa.Subquery, dict[str, Expression]]:
        """Return a table without joins, and the expressions of its columns by qualified name."""
        part = self.parts[table.name]
        values = [
            part.records.value(Column(name, kind)).label(f"v{n}") for n, (name, kind) in enumerate(part.columns.items())
        ]
        person = [] if part.records.person is None else [part.records.person.value.label("u")]
        rows = sa.select(*person, *values).select_from(part.records.table).subquery(f"table_{table.name}")
        return rows, {f"{table.name}.{name}": rows.c[f"v{n}"] for n, name in enumerate(part.columns)}


@frozen
class TablesSource(EngineSource):
    """Several tables of the same persons, which one engine counts."""

    tables: Sequence[TableFacts]
    sources: Mapping[str, CheckedSource]  # the open records of each table
    schema: Schema  # with qualified names
    unit: str
    persons: str | None  # table that has a row of every person who counts; None: all persons of all tables count
    counting: Counting

    @property
    def version(self) -> str:
        """Digest of the versions of all tables, and of the links between them."""
        facts = [[name, source.version] for name, source in self.sources.items()]
        return sha256(json.dumps([facts, repr(self.tables), self.persons]).encode(errors="surrogatepass")).hexdigest()

    @property
    def forms(self) -> dict[str, ColumnFormat]:
        """Format of each column, by its qualified name."""
        return {
            f"{name}.{column}": form for name, source in self.sources.items() for column, form in source.forms.items()
        }

    @property
    def accepted(self) -> frozenset[str]:
        """Columns whose unreadable cells count as missing, as the owner stated."""
        return frozenset(f"{name}.{column}" for name, source in self.sources.items() for column in source.accepted)

    def used_column_checks(self) -> tuple[ColumnCheck, ...]:
        """Return facts about the text columns of all tables."""
        return tuple(
            replace(column, name=f"{name}.{column.name}")
            for name, source in self.sources.items()
            for column in source.used_column_checks()
        )

    def require_unchanged(self) -> None:
        """Raise SourceError if a table is closed or changed."""
        for source in self.sources.values():
            source.require_unchanged()

    def prepare(self, columns: Collection[str] | None = None) -> None:
        """Prepare the columns of all tables, with those that links read; see `Source.prepare`."""
        for table in self.tables:
            prefix = f"{table.name}."
            own = (
                None if columns is None else {name.removeprefix(prefix) for name in columns if name.startswith(prefix)}
            )
            self.sources[table.name].prepare(None if own is None else {*own, *columns_to_read(table.name, self.tables)})

    def _counting(self, columns: Collection[str]) -> Counting:
        self.prepare(columns)
        return self.counting

    def _restrict_condition(self, parts: Sequence[GroupBy], where: Predicate | None) -> Predicate | None:
        """Return a condition that holds only in rows of the table that a question reads, and for persons who count."""
        table = row_table([part.column for part in parts], [where])
        conditions: list[Predicate] = [] if table is None else [tree.Flag(row_flag(table))]
        if self.persons is not None:
            conditions.append(tree.Flag(PersonValue.from_function(Function.ANY, table=self.persons)))
        conditions += [] if where is None else [where]
        return tree.joined(tree.And, conditions) if conditions else None

    def check(self, unit: str | None = None) -> Check:  # noqa: ARG002 - of `Source`
        """Raise SourceError: each table has a check of its own."""
        raise SourceError("a data set of several tables is checked table by table: use `noisycount check`")

    def close(self) -> None:
        """Close all tables."""
        for source in self.sources.values():
            source.close()


def open_tables(  # noqa: PLR0913 - one argument a property of the tables
    session: Any,  # noqa: ANN401 - of the engine
    tables: Sequence[TableFacts],
    make_counting: Callable[[Mapping[str, Any]], Counting],
    *,
    openers: Mapping[str, Callable[[Any], CheckedSource]],
    schema: Schema,
    unit: str,
    persons: str | None,
) -> TablesSource:
    """Open several tables in one session of an engine, and return the source that counts them together.

    Args:
        session: The session, which the source closes; if the tables cannot be counted, it is closed here.
        tables: The tables.
        make_counting: Returns the counting of the open tables, which it has by their names.
        openers: For each table, the function that opens it in the session.
        schema: The schema of all tables, with qualified names.
        unit: The column of persons, as the data set names it.
        persons: The table that has a row of every person who counts; None: all persons of all tables count.

    Raises:
        SourceError: A table cannot be opened, or a public look-up has a key twice.
    """
    try:
        sources = {name: open_table(session) for name, open_table in openers.items()}
        counting = make_counting(sources)
        require_single_keys(tables, counting)
    except BaseException:
        session.close()
        raise
    return TablesSource(tables, sources, schema, unit, persons, counting)
