"""Tables and Parquet files on Spark: the types of their columns, and the view that is counted."""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import column, table

from noisycount.engines.expressions import Person, StatementRecords, type_of
from noisycount.engines.spark.connection import Api, Columns, Fault, Frame, Session
from noisycount.engines.spark.dialect import SparkDialect
from noisycount.engines.views.relations import UnitClaim, unproven_view_error
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.predicate import Column
from noisycount.query.schema import Kind, Schema

_TYPES = {
    Kind.INTEGER: "tinyint smallint int bigint",
    Kind.REAL: "float double decimal",
    Kind.TEXT: "string char varchar time",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp timestamp_ntz",
}
_KINDS = {type_: kind for kind, types in _TYPES.items() for type_ in types.split()}
_CASTS = {Kind.INTEGER: "bigint", Kind.REAL: "double", Kind.TIMESTAMP: "timestamp_ntz"}
_EXACT_DIGITS = 15  # a double represents every decimal number of so many digits
_CHARACTERS = "__CHAR_VARCHAR_TYPE_STRING"  # metadata in which Spark notes the length of texts
_REASONS = {
    "time": "Spark says that they are times of day, which are texts such as '08:30:00' here",
    "timestamp": "Spark says so, and they are read in UTC",
    "char": "Spark says so, and blanks at the end of its texts do not count",
}
_BINARY = "UTF8_BINARY"


@frozen
class ColumnType:
    """The Spark type of a column."""

    name: str  # such as `decimal(10,2)` or `array`
    is_required: bool  # True if no value may be missing

    @classmethod
    def of_field(cls, field: Any) -> "ColumnType":  # noqa: ANN401 - of Spark
        """Return the type of a field of a Spark schema."""
        name = field.metadata.get(_CHARACTERS) or field.dataType.simpleString()
        return cls(re.split("<", name)[0], not field.nullable)

    @property
    def base(self) -> str:
        """Name without length or collation."""
        return re.split(r"[( ]", self.name)[0]

    @property
    def kind(self) -> Kind | None:
        """Kind of the values, or None if questions cannot use the column."""
        return _KINDS.get(self.base)

    @property
    def reason(self) -> str:
        """Reason for the kind, and what is lost of the values."""
        digits = re.match(r"decimal\(([0-9]+)", self.name)
        if digits and int(digits[1]) > _EXACT_DIGITS:
            return "Spark says so; a number of more than 15 digits is read as the nearest double"
        return _REASONS.get(self.base, "Spark says so")


def schema_of(types: Mapping[str, ColumnType]) -> Schema:
    """Return the schema of columns with the given types."""
    kinds = {name: type_.kind for name, type_ in types.items()}
    return Schema(
        {name: kind for name, kind in kinds.items() if kind is not None},
        {name: types[name].name for name, kind in kinds.items() if kind is None},
    )


def typed_value(column: Columns, type_: ColumnType, functions: Any) -> Columns:  # noqa: ANN401 - those of the session
    """Return an expression of a column's values in the type of its kind, which cannot fail at any value.

    Texts are compared by code points, whatever the collation of the column.
    """
    if type_.kind is Kind.TEXT:
        text = column.cast("string") if type_.base == "time" else column
        if type_.base == "char":
            text = functions.rtrim(text)
        return functions.collate(text, _BINARY)  # type: ignore[no-any-return]  # a column
    cast = _CASTS.get(type_.kind) if type_.kind else None
    return column if cast is None else column.cast(cast)


_QUERIES = frozenset({"MATERIALIZED_VIEW", "STREAMING_TABLE"})
"""Types of tables whose rows are the result of a query."""
STORED = frozenset({"MANAGED", "EXTERNAL", "MATERIALIZED_VIEW", "STREAMING_TABLE"})
"""Types of tables that store their cells. A view computes only the cells that a question needs."""


@frozen
class RelationState:
    """The state of a relation at one time."""

    # Records with columns `column_name(0)`, `column_name(1)`, …: the original names may contain dots or quotation
    # marks, or differ only in case.
    frame: Frame
    types: dict[str, ColumnType]  # by original name, in their order


@frozen
class SparkRelation:
    """A table of the catalog, or Parquet files, read by a session."""

    session: Session
    table: str  # name in the catalog, or path or address of Parquet files
    is_made_here: bool = False  # True for a view that the session itself made
    claim: UnitClaim = UnitClaim()  # the owner's statement about the rows of a materialised view

    @property
    def is_of_files(self) -> bool:
        """True for a path or an address of Parquet files."""
        return self.table.startswith("/") or "://" in self.table

    def read_state(self, seconds: float | None = None) -> RelationState:
        """Read the relation as it is now."""
        frame, fields = self.session.run(self._read, seconds)
        self._require_stored(seconds)
        types = {field.name: ColumnType.of_field(field) for field in fields}
        if len(types) < len(fields):
            raise SourceError(f"{self.session.shown} {Fault.EQUAL_NAMES.value}")
        return RelationState(frame, types)

    def _read(self) -> tuple[Frame, list[Any]]:
        """Return the records with the names of `column_name`, and their fields.

        The schemas of all files are merged: the schema of one file could lack columns of others.
        """
        session = self.session.api.session
        if self.is_of_files:
            frame = session.read.option("mergeSchema", "true").parquet(self.table)
        else:
            session.catalog.refreshTable(self.table)
            frame = session.table(self.table)
        fields = list(frame.schema.fields)
        return frame.toDF(*map(column_name, range(len(fields)))), fields

    def _require_stored(self, seconds: float | None) -> None:
        """Raise SourceError for a view, and for a materialised view if nothing proves that each row is of one unit."""
        if self.is_of_files or self.is_made_here:
            return

        def read_kind() -> str:
            return str(self.session.api.session.catalog.getTable(self.table).tableType)

        kind = self.session.run(read_kind, seconds)
        if kind in _QUERIES and self.claim.vouched is None and self.claim.is_stated:
            raise unproven_view_error(self.table, self.claim.unit, "its definition is not read on Spark")
        if kind not in STORED:
            raise SourceError(
                f"{self.session.shown} is a view, which computes cells when they are read. This can "
                "fail at a single record and reveal it: name a table that stores the records"
            )


def column_name(index: int) -> str:
    """Return the name of the column with an index, from 0, in a frame."""
    return f"c{index}"


_UNIT = "u"  # name of the unit column in the view


@contextmanager
def open_view(  # noqa: PLR0913 - one argument a property of the records
    api: Api,
    state: RelationState,
    kinds: Mapping[str, Kind],
    unit: str | None,
    nan_missing: Collection[str],
    *,
    uses_indexes: bool,
) -> Iterator[StatementRecords]:
    """Make a temporary view of a relation in the session, and yield its records for statements."""
    names = {name: column_name(index) for index, name in enumerate(state.types)}

    def value(name: str) -> Columns:
        cells = typed_value(api.functions.col(names[name]), state.types[name], api.functions)
        return api.functions.when(~api.functions.isnan(cells), cells) if name in nan_missing else cells

    def value_of(used_column: Column) -> Any:  # noqa: ANN401 - an expression
        return column(names[used_column.name], type_of(used_column.kind))

    columns = [value(name).alias(names[name]) for name in kinds]
    person = None
    if unit is not None:
        columns.append(value(unit).alias(_UNIT))
        type_ = state.types[unit]
        person = Person(column(_UNIT, type_of(type_.kind)), type_.kind, type_.is_required)
    dialect = SparkDialect(api)
    try:
        view = dialect.make_view(state.frame.select(*(columns or [api.functions.lit(1)])))
        yield StatementRecords(table(view), value_of, person, dialect, uses_indexes)
    finally:
        dialect.close()
