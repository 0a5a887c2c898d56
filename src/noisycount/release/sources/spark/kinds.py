"""Which types of Spark are which kind, and how columns of a kind are brought to one type."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from noisycount.release.question.schema import Kind, Schema
from noisycount.release.sources.spark.api import Columns, Functions

__all__ = ["ColumnType", "converted", "schema_of"]

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


@dataclass(frozen=True, slots=True)
class ColumnType:
    """The type of a column.

    Attributes:
        name: Of the type, such as `decimal(10,2)` or `array`.
        is_required: Whether no value may be missing.
    """

    name: str
    is_required: bool

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
