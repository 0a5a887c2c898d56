"""The records of a place on Spark: their kinds, where they are, and what counts them."""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import column, table

from noisycount.engines.expressions import Person, StatementRecords, type_of
from noisycount.engines.spark.connection import Api, Columns, Fault, Frame, Functions, Session
from noisycount.engines.spark.dialect import SparkDialect
from noisycount.engines.views.claim import UnitClaim
from noisycount.engines.views.stability import unproven_view
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
_EXACT_DIGITS = 15  # that every double keeps
_CHARACTERS = "__CHAR_VARCHAR_TYPE_STRING"  # where Spark notes that texts have a length
_REASONS = {
    "time": "Spark says that they are times of day, which are texts such as '08:30:00' here",
    "timestamp": "Spark says so, and they are read in UTC",
    "char": "Spark says so, and blanks at the end of its texts do not count",
}
_BINARY = "UTF8_BINARY"


@frozen
class ColumnType:
    """The type of a column."""

    name: str  # of the type, such as `decimal(10,2)` or `array`
    is_required: bool  # whether no value may be missing

    @classmethod
    def of_field(cls, field: Any) -> "ColumnType":  # noqa: ANN401 - of Spark
        """The type of a field of a schema."""
        name = field.metadata.get(_CHARACTERS) or field.dataType.simpleString()
        return cls(re.split("<", name)[0], not field.nullable)

    @property
    def base(self) -> str:
        """The name without its length or collation."""
        return re.split(r"[( ]", self.name)[0]

    @property
    def kind(self) -> Kind | None:
        """The kind of its values; None: no question can use them."""
        return _KINDS.get(self.base)

    @property
    def reason(self) -> str:
        """Why it has that kind, and what is not kept of its values."""
        digits = re.match(r"decimal\(([0-9]+)", self.name)
        if digits and int(digits[1]) > _EXACT_DIGITS:
            return "Spark says so, and of more than 15 digits the nearest number is taken"
        return _REASONS.get(self.base, "Spark says so")


def schema_of(types: Mapping[str, ColumnType]) -> Schema:
    """The schema of columns of these types."""
    kinds = {name: type_.kind for name, type_ in types.items()}
    return Schema(
        {name: kind for name, kind in kinds.items() if kind is not None},
        {name: types[name].name for name, kind in kinds.items() if kind is None},
    )


def converted(column: Columns, type_: ColumnType, functions: Functions) -> Columns:
    """The values of a column as those of the one type of its kind, and none of them an error.

    Texts are compared by their code points, whatever the collation of the column.
    """
    if type_.kind is Kind.TEXT:
        text = column.cast("string") if type_.base == "time" else column
        if type_.base == "char":
            text = functions.rtrim(text)
        return functions.collate(text, _BINARY)
    cast = _CASTS.get(type_.kind) if type_.kind else None
    return column if cast is None else column.cast(cast)


_QUERIES = frozenset({"MATERIALIZED_VIEW", "STREAMING_TABLE"})
"""Those whose rows are what a query shows."""
STORED = frozenset({"MANAGED", "EXTERNAL", "MATERIALIZED_VIEW", "STREAMING_TABLE"})
"""What the catalog calls tables whose cells are there; a view makes those that a question needs."""


@frozen
class Look:
    """What a relation was at one time."""

    # its records, with columns `column_name(0)`, `column_name(1)` and so on: the names that its owner gave may have
    # dots and marks, or differ only in case
    frame: Frame
    types: dict[str, ColumnType]  # of its columns, by their own names in their order


@frozen
class SparkRelation:
    """Where records are."""

    session: Session  # reads them
    table: str  # a table of the catalog, or a path or an address of Parquet files
    is_made_here: bool = False  # whether it is a view that the session itself made of records of its own
    claim: UnitClaim = UnitClaim()  # about its rows, if it is a materialised view

    @property
    def is_of_files(self) -> bool:
        """Whether it is a path or an address of Parquet files."""
        return self.table.startswith("/") or "://" in self.table

    def look(self, seconds: float | None = None) -> Look:
        """What the relation is now."""
        frame, fields = self.session.asked(self._found, seconds)
        self._require_stored(seconds)
        types = {field.name: ColumnType.of_field(field) for field in fields}
        if len(types) < len(fields):
            raise SourceError(f"{self.session.shown} {Fault.TWICE.value}")
        return Look(frame, types)

    def _found(self) -> tuple[Frame, list[Any]]:
        """The records under names of ours, and the fields that they have.

        All files are looked at: of one alone, columns that others have would be left out.
        """
        session = self.session.api.session
        if self.is_of_files:
            found = session.read.option("mergeSchema", "true").parquet(self.table)
        else:
            session.catalog.refreshTable(self.table)
            found = session.table(self.table)
        fields = list(found.schema.fields)
        return found.toDF(*map(column_name, range(len(fields)))), fields

    def _require_stored(self, seconds: float | None) -> None:
        """The refusal of views of others."""
        if self.is_of_files or self.is_made_here:
            return
        kind = self.session.asked(self._kind, seconds)
        if kind in _QUERIES and self.claim.vouched is None and self.claim.is_stated:
            raise unproven_view(self.table, self.claim.unit, "its definition is not read on Spark")
        if kind not in STORED:
            raise SourceError(
                f"{self.session.shown} is a view, which computes cells when they are read: that "
                "can fail at one record and tell which, so name a table that holds its records"
            )

    def _kind(self) -> str:
        """What the catalog calls it."""
        return str(self.session.api.session.catalog.getTable(self.table).tableType)


def column_name(place: int) -> str:
    """What a frame calls its column at a place, from 0."""
    return f"c{place}"


_UNIT = "u"  # what the view calls the unit of a record


@contextmanager
def viewed(  # noqa: PLR0913 - one argument a property of the records
    api: Api,
    look: Look,
    kinds: Mapping[str, Kind],
    unit: str | None,
    nan_missing: Collection[str],
    *,
    uses_indexes: bool,
) -> Iterator[StatementRecords]:
    """Yield the records of a relation as it was looked at, in a view of our session."""
    names = {name: column_name(place) for place, name in enumerate(look.types)}

    def value(name: str) -> Columns:
        cells = converted(api.functions.col(names[name]), look.types[name], api.functions)
        return api.functions.when(~api.functions.isnan(cells), cells) if name in nan_missing else cells

    def value_of(of: Column) -> Any:  # noqa: ANN401 - an expression
        return column(names[of.name], type_of(of.kind))

    shown = [value(name).alias(names[name]) for name in kinds]
    person = None
    if unit is not None:
        shown.append(value(unit).alias(_UNIT))
        type_ = look.types[unit]
        person = Person(column(_UNIT, type_of(type_.kind)), type_.kind, type_.is_required)
    dialect = SparkDialect(api)
    try:
        view = dialect.view(look.frame.select(*(shown or [api.functions.lit(1)])))
        yield StatementRecords(table(view), value_of, person, dialect, uses_indexes)
    finally:
        dialect.close()
