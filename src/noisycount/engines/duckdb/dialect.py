"""DuckDB's dialect of the counting statements, and the counts of the view `records`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from functools import lru_cache, reduce
from typing import Any, TypeAlias

import duckdb
import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import BooleanClauseList
from sqlalchemy.types import UserDefinedType

from noisycount.engines import counts as statements
from noisycount.engines import dialect as shared
from noisycount.engines.counting import Counting, Part, Reading, Result
from noisycount.engines.duckdb.connection import Connection, time_limit, without_engine_errors
from noisycount.engines.expressions import Person, StatementRecords, blank_name, edges_of, is_wide, shape_of, type_of
from noisycount.engines.formats import DIGITS_WITH_ZEROS, PLAIN_TEXT, WHITE_SPACE, ZEROS_INSIDE
from noisycount.frozen import frozen
from noisycount.query.grouping import KeyQuestion, NumberRanges
from noisycount.query.person_values import Shifted
from noisycount.query.predicate import Column, Predicate
from noisycount.query.schema import Kind, Schema


class _DuckDBCompiler(shared.TextCompiler):
    def visit_floordiv_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ANN401, ARG002 - of SQLAlchemy
        """Return the division of whole numbers; DuckDB's `/` divides reals."""
        return f"{self.process(binary.left, **kw)} // {self.process(binary.right, **kw)}"

    def visit_try_cast(self, cast: Any, **kw: Any) -> str:  # noqa: ANN401 - of SQLAlchemy
        """Return a cast that cannot fail."""
        return f"TRY_{self.visit_cast(cast, **kw)}"  # type: ignore[no-untyped-call]  # of SQLAlchemy


class _DuckDBText(shared.TextDialect):
    mark = "$"
    supports_native_uuid = True
    statement_compiler = _DuckDBCompiler


DUCKDB = _DuckDBText()


class _Numbers(UserDefinedType[Any]):
    """The type of a list of whole numbers or of reals."""

    cache_ok = True

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def get_col_spec(self, **_: object) -> str:
        """Return the name of the type."""
        return "BIGINT[]" if self.kind is Kind.INTEGER else "DOUBLE[]"


@frozen(slots=False)
class DuckDBDialect(shared.Dialect):
    """The dialect of DuckDB. Flags are booleans, which may be unknown.

    DuckDB processes all records at each step, so that its time does not reveal how many match.
    """

    cursor: Connection | None = None  # holds listed keys; None: for statements without listed keys

    keeps_keys = True
    joins_missing = True
    counts_distinct = False

    def text(self, value: shared.Expression) -> shared.Expression:
        """Return a value as a text. Text columns stay as they are: they are compared by their bytes."""
        return value if isinstance(value.type, sa.Text) else sa.cast(value, sa.Text())

    def is_like(self, text: shared.Expression, pattern: str) -> shared.Expression:
        """Return an expression that is true if a text matches a `like` pattern, in which no character escapes."""
        return text.like(self.text_literal(pattern))

    def integer(self, value: shared.Expression) -> shared.Expression:
        """Return a whole number unchanged: unsigned numbers of 64 bits are compared too."""
        return value

    def moved(self, moment: shared.Expression, shift: Shifted) -> shared.Expression:
        """Return a date or time that is moved by a duration. Adding a number of days to a date is fastest."""
        if shift.days and shift.kind is Kind.DATE:
            return sa.cast(moment, sa.Date()) + sa.literal_column(str(shift.days), sa.Integer)
        interval = (
            sa.func.to_days(shared.whole(shift.days)) if shift.days else sa.func.to_months(shared.whole(shift.months))
        )
        return sa.cast(moment + interval, moment.type)

    def unit_text(self, unit: shared.Expression, kind: Kind | None) -> shared.Expression:
        """Return the text of a unit, also for types that questions cannot use."""
        if kind is Kind.REAL:
            real: shared.Expression = sa.try_cast(unit, sa.Double())
            text: shared.Expression = sa.case(
                (sa.func.isnan(real), self.text_literal("nan")),
                else_=sa.func.printf(self.text_literal("%.17g"), real + shared.whole(0)),
            )
        elif kind is Kind.TIMESTAMP:
            text = sa.try_cast(sa.func.epoch_us(sa.try_cast(unit, sa.DateTime())), sa.Text())
        else:
            text = sa.try_cast(unit, sa.Text())
        return sa.func.coalesce(text, self.text_literal(""))

    def hashed(self, text: shared.Expression) -> shared.Expression:
        """Return the hash of a text as a number."""
        return sa.func.md5_number(text)

    def in_order(self, hashed: shared.Expression) -> shared.Expression:
        """Return the hash itself: DuckDB's hashes are numbers."""
        return hashed

    def trimmed(self, text: shared.Expression) -> shared.Expression:
        """Return a text without leading and trailing blanks. By default DuckDB removes other spaces too."""
        return sa.func.trim(text, self.text_literal(" "), type_=self.text_type)

    def length(self, text: shared.Expression) -> shared.Expression:
        """Return the number of characters of a text."""
        return sa.func.length(text)

    def number_where(self, truth: shared.Expression) -> shared.Expression:
        """Return the number of rows in which a condition is true."""
        return self.number_of(self.flag(truth))

    def flag(self, truth: shared.Expression) -> shared.Expression:
        """Return the condition itself, or a bitwise AND in place of several conditions joined by AND.

        The bitwise form is three times as fast, and evaluates all operands of every record, so that its time does not
        reveal how many records match the first operand.
        """
        if isinstance(truth, BooleanClauseList) and truth.operator is operators.and_:
            bits = [sa.cast(clause, sa.SmallInteger()) for clause in truth.clauses]
            return reduce(lambda one, other: one.bitwise_and(other), bits)
        return truth

    def is_match(self, text: shared.Expression, pattern: str) -> shared.Expression:
        """Return an expression that is true if part of a text matches a regular expression."""
        return sa.func.regexp_matches(text, self.text_literal(pattern), type_=sa.Boolean())

    def normal_spelling(self, text: shared.Expression) -> shared.Expression:
        """Return a text in a normal form, in which likely spellings of the same text are equal."""
        is_plain = sa.func.regexp_full_match(text, self.text_literal(PLAIN_TEXT))  # true of most ids, and fast
        plain = sa.func.trim(sa.func.compatible_text(text), self.text_literal(WHITE_SPACE))
        trimmed = sa.case((is_plain, text), else_=plain)
        folded = sa.func.lower(sa.func.upper(trimmed))
        spelling = sa.func.nfc_normalize(folded)
        for step in ((DIGITS_WITH_ZEROS, r"\1"), (ZEROS_INSIDE, r"\1\2", "g")):
            spelling = sa.func.regexp_replace(spelling, *map(self.text_literal, step), type_=self.text_type)
        return spelling

    def is_any(self, flag: shared.Expression) -> shared.Expression:
        """Return the flag that is set if one flag of a group is set."""
        return sa.func.bool_or(_boolean(flag))

    def is_set(self, flag: shared.Expression) -> shared.Expression:
        """Return the flag itself: DuckDB's flags are conditions."""
        return flag

    def range_code(self, value: shared.Expression, edges: Sequence[int | float]) -> shared.Expression | None:
        """Return the number unchanged. `with_ranges` finds its range later."""
        del edges
        return value

    def with_ranges(self, rows: sa.Select[Any], wide: Mapping[str, NumberRanges]) -> sa.Select[Any]:
        """Return rows in which keys are replaced by their ranges in lists of edges."""
        return reduce(lambda ranged, item: _with_range_index(ranged, *item), wide.items(), rows)

    def value_table(self, name: str, columns: shared.Lists) -> sa.FromClause:
        """Register rows of values at the cursor, and return them as a table."""
        if self.cursor is None:
            raise AssertionError("listed keys need a cursor")
        values = {
            column: each if isinstance(each, np.ndarray) else np.array(each, np.object_)
            for column, (each, _) in columns.items()
        }
        size = len(next(iter(values.values())))
        self.cursor.register(name, {**values, "place": np.arange(1, size + 1)})
        shown = [sa.column(each, type_) for each, (_, type_) in columns.items()]
        return sa.table(name, *shown, sa.column("place", sa.BigInteger()))


def _boolean(flag: shared.Expression) -> shared.Expression:
    """Return a flag as a boolean."""
    return flag if isinstance(flag.type, sa.Boolean) else sa.cast(flag, sa.Boolean())


def _with_range_index(rows: sa.Select[Any], name: str, part: NumberRanges) -> sa.Select[Any]:
    """Return rows with a key replaced by the index of its range: a bisection counts the edges that are at most the key.

    An index beyond the list gives a missing edge, which no key reaches.
    """
    names = rows.selected_columns.keys()
    numbers = _Numbers(part.column.kind)
    edge_list = sa.select(sa.bindparam(f"{name}_edges", edges_of(part), numbers).label("edges")).subquery()
    rows = rows.add_columns(shared.NOTHING.label("found"), edge_list.c.edges)
    for exponent in reversed(range(len(part.edges).bit_length())):
        more = f"found + {2**exponent}"
        step = f"CASE WHEN {name} >= list_extract(edges, {more}) THEN {more} ELSE found END"
        rows = sa.select(sa.literal_column(f"* REPLACE ({step} AS found)")).select_from(rows.subquery())
    number = sa.column("found", sa.Integer())
    code = sa.case(
        (number > shared.NOTHING, number - shared.ONE), (sa.column(name).is_not(None), shared.OUTSIDE)
    ).label(name)
    columns = [code if key == name else sa.column(key) for key in names]
    return sa.select(*columns).select_from(rows.subquery())


def _column_value(name: str, kind: Kind | None) -> shared.Expression:
    """Return the values of a column of the view, in the type of its kind."""
    return sa.column(sa.quoted_name(name, quote=True), type_of(kind))


def records_of(unit: str | None, kind: Kind | None, cursor: Connection | None = None) -> StatementRecords:
    """Return the records of the view, each of which has a unit.

    Args:
        unit: The column that names the person; None: every record is a unit.
        kind: The kind of the unit's values; None: another type.
        cursor: The cursor that holds listed keys.
    """
    person = None if unit is None else Person(_column_value(unit, kind), kind, is_required=True)

    def value_of(column: Column) -> shared.Expression:
        return _column_value(column.name, column.kind)

    return StatementRecords(sa.table("records"), value_of, person, DuckDBDialect(cursor))


Text: TypeAlias = tuple[str, dict[str, Any]]
"""Text of a statement, and its values by name."""
ParsedText: TypeAlias = tuple[str | duckdb.Statement, dict[str, Any]]
"""Text of a statement or the parsed statement, and its values by name."""
_MOST_VALUES = 400  # largest number of values of a cached text: enough for the questions of one scan


@lru_cache(maxsize=128)
def _count_text_of_shapes(shapes: Sequence[Predicate], unit: str | None, kind: Kind | None) -> Text:
    """Return the statement that counts predicates of given shapes, with its fixed values."""
    return shared.text_of(statements.count_statement(shapes, records_of(unit, kind)), DUCKDB)


def _with_cache(write_text: Any, size: int) -> Callable[..., Any]:  # noqa: ANN401 - a function with a cache
    """Return the function with a cache. A long text is not cached: compiling it takes less time than its count."""
    function: Callable[..., Any] = write_text if size <= _MOST_VALUES else write_text.__wrapped__
    return function


def count_text(predicates: Sequence[Predicate], unit: str | None, kind: Kind | None) -> Text:
    """Return the statement that counts predicates, compiled once for all of the same shapes, and its values by name."""
    values: list[Any] = []
    shapes = tuple(shape_of(predicate, values) for predicate in predicates)
    return _with_bound_values(_with_cache(_count_text_of_shapes, len(values))(shapes, unit, kind), values)


@lru_cache(maxsize=128)
def keys_text(question: KeyQuestion, unit: str | None, kind: Kind | None) -> Text:
    """Return the statement of hidden keys for the shape of a predicate, with its fixed values."""
    return shared.text_of(statements.keys_statement(question, records_of(unit, kind)), DUCKDB)


@lru_cache(maxsize=1)
def _parsing_connection() -> Connection:
    """Return a connection without records, which parses statements."""
    return duckdb.connect(":memory:")


@lru_cache(maxsize=128)
def _parsed_statement(text: str) -> duckdb.Statement:
    """Return the parsed statement of a text. It is cached, as parsing takes a quarter of the time of a small count."""
    (statement,) = _parsing_connection().extract_statements(text)
    return statement


def _with_bound_values(text: Text, values: Sequence[Any]) -> Text:
    """Return a statement with values in place of its blanks."""
    return text[0], text[1] | {blank_name(number): value for number, value in enumerate(values)}


@frozen
class DuckDBReading(Reading):
    """Records that are read by a cursor."""

    cursor: Connection  # has the view `records`
    unit: str | None  # column that names the person; None: every record is a unit
    kind: Kind | None  # kind of the unit's values; None: another type
    seconds: float | None  # time-out of a statement; None: no limit
    parts: Mapping[str, Part]

    @property
    def records(self) -> StatementRecords:  # type: ignore[override]  # it is not set
        """Records of the view."""
        return records_of(self.unit, self.kind, self.cursor)

    def rows(self, statement: sa.Select[Any] | ParsedText) -> list[Any]:
        """Return all rows of a statement's result."""
        text = statement if isinstance(statement, tuple) else shared.text_of(statement, DUCKDB)
        with time_limit(self.cursor, self.seconds):
            return self.cursor.execute(*text).fetchall()

    def columns(self, statement: statements.Statement) -> Sequence[NDArray[Any]]:
        """Return the columns of a table's counts."""
        with time_limit(self.cursor, self.seconds):
            result = self.cursor.execute(*shared.text_of(statement, DUCKDB)).fetchnumpy()
        return [result[name] for name in ("place", "number", "without_unit")]

    def batches(self, statement: Text) -> Iterator[Sequence[Sequence[Any]]]:
        """Yield the rows of a statement's result, some at once; no rows from its end on."""
        with time_limit(self.cursor, self.seconds):
            self.cursor.execute(*statement)
        while True:
            with time_limit(self.cursor, self.seconds):
                rows = self.cursor.fetchmany(statements.KEYS_AT_ONCE)
            yield rows

    def count_statement(self, predicates: Sequence[Predicate]) -> ParsedText:
        """Return the statement that counts the matches of predicates."""
        text, values = count_text(predicates, self.unit, self.kind)
        return _parsed_statement(text) if len(values) <= _MOST_VALUES else text, values

    def keys_statement(self, question: KeyQuestion) -> Text:
        """Return the statement that counts the groups of a table with hidden keys."""
        values: list[Any] = []
        where = None if question.where is None else shape_of(question.where, values)
        shape = KeyQuestion(tuple(question.parts), where, question.max_groups, question.salt)
        write_text = keys_text.__wrapped__ if any(map(is_wide, shape.parts)) else _with_cache(keys_text, len(values))
        return _with_bound_values(write_text(shape, self.unit, self.kind), values)


@frozen
class DuckDBCounting(Counting):
    """The counting of records in the view `records`."""

    open_view: Callable[[], AbstractContextManager[Connection]]  # opens a cursor with the view
    unit: str | None  # column that names the person; None: every record is a unit
    schema: Schema  # columns that questions may use
    seconds: float | None  # time-out of a count; None: no limit
    refusal: str  # message if the engine fails
    parts: Mapping[str, Part] = field(default_factory=dict)  # records of each of several tables, by its name

    @contextmanager
    def open(self) -> Iterator[DuckDBReading]:
        """Open a cursor with the view."""
        kind = None if self.unit is None else self.schema.entire.kinds.get(self.unit)
        with self.open_view() as cursor:
            yield DuckDBReading(cursor, self.unit, kind, self.seconds, self.parts)

    def guard(self, work: Callable[[], Result]) -> Result:
        """Run some work and return its result; see `without_engine_errors`."""
        return without_engine_errors(work, self.refusal)
