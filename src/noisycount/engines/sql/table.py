"""The name of a server's table, and the kinds of its columns."""

import re
import warnings
from collections.abc import Sequence
from enum import Enum

from sqlalchemy import Boolean, Connection, Date, DateTime, Float, Integer, Numeric, String, inspect
from sqlalchemy.exc import SAWarning, UnsupportedCompilationError
from sqlalchemy.types import TypeEngine

from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.schema import Kind, Schema

_PART = re.compile(r'(?:"(?P<quoted>(?:[^"]|"")+)"|(?P<plain>[^".]+))(?P<end>\.|\Z)')


def table_name(text: str) -> tuple[str | None, str]:
    """Return the schema of a table, or None, and its name; both are taken literally, with their case.

    Args:
        text: Names separated by dots. A name that contains a dot or quotation marks stands in quotation marks.

    Raises:
        SourceError: If the text is no name.

    Example:
        >>> table_name("clinic.visits"), table_name('"a.b"')
        (('clinic', 'visits'), (None, 'a.b'))
    """
    names, start = [], 0
    while part := _PART.match(text, start):
        quoted, plain = part["quoted"], part["plain"]
        names.append(plain if quoted is None else quoted.replace('""', '"'))
        start = part.end()
        if not part["end"]:
            return ".".join(names[:-1]) or None, names[-1]
    raise SourceError(f'table must be a name such as schema.table, or "a.b" in quotes, got {text!r}')


_UNITS = (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN)


class Form(Enum):
    """The way in which values are converted to the type of their kind."""

    PLAIN = "unchanged"
    CAST = "by a cast that cannot fail"
    DECIMAL = "to the nearest double, whatever their size"
    ZONED = "to times in UTC"
    NAMED = "to texts if they name persons; other uses are refused"


@frozen
class FoundName:
    """The name of an existing table."""

    schema: str | None  # None: the default schema of the account
    name: str


@frozen
class FoundColumn:
    """A column of a server's table."""

    name: str
    type: str  # as the server writes it
    kind: Kind | None = None  # None: questions cannot use the column
    form: Form = Form.PLAIN
    is_required: bool = False  # True if the server refuses missing values
    is_computed: bool = False  # True if values are computed when they are read, which might fail

    @property
    def type_text(self) -> str:
        """Type as shown for a column that questions cannot use."""
        return f"{self.type} (computed when it is read)" if self.is_computed else self.type

    @property
    def reason(self) -> str:
        """Reason for the kind, for the owner."""
        if self.form is Form.ZONED:
            return "the server says so; times are read in UTC"
        if self.form is Form.DECIMAL:
            return "the server says so; a number is read as the nearest double (15 digits or more)"
        return "the server says so"


def schema_of(columns: Sequence[FoundColumn]) -> Schema:
    """Return the schema of all columns of a table."""
    return Schema(
        {column.name: column.kind for column in columns if column.kind is not None},
        {column.name: column.type_text for column in columns if column.kind is None},
    )


def require_stored(columns: Sequence[FoundColumn], named: Sequence[str | None]) -> None:
    """Raise SourceError if the owner names a column whose values are computed when they are read."""
    for column in columns:
        if column.is_computed and column.name in named:
            raise SourceError(
                f"column {column.name!r} is computed when it is read, which can fail at one record "
                "and reveal it: leave it out, or store it in a table or a materialised view"
            )


def require_unit(column: FoundColumn) -> None:
    """Raise SourceError if the type of a unit has no text that is the same on all engines."""
    if column.kind not in _UNITS and column.form is not Form.NAMED:
        raise SourceError(
            f"unit column {column.name!r} is of type {column.type}, whose texts differ between servers: "
            "name persons by whole numbers, texts or UUIDs"
        )


_KINDS: tuple[tuple[type, Kind, Form], ...] = (
    (Boolean, Kind.BOOLEAN, Form.PLAIN),
    (Integer, Kind.INTEGER, Form.PLAIN),
    (Float, Kind.REAL, Form.CAST),
    (Numeric, Kind.REAL, Form.DECIMAL),
    (DateTime, Kind.TIMESTAMP, Form.PLAIN),
    (Date, Kind.DATE, Form.PLAIN),
    (String, Kind.TEXT, Form.CAST),
)


def reflected_columns(connection: Connection, schema: str | None, name: str) -> tuple[FoundColumn, ...]:
    """Return the columns of a table. Raise SourceError for a view: its computed columns are not known here."""
    with warnings.catch_warnings(action="ignore", category=SAWarning):  # about types that SQLAlchemy does not know
        inspector = inspect(connection)
        views = inspector.get_view_names(schema)
        columns = inspector.get_columns(name, schema)
    if name.casefold() in map(str.casefold, views):
        raise SourceError(
            f"{name!r} is a view, which computes cells when they are read. This can fail at one record "
            "and reveal it: name a table"
        )
    return tuple(
        _column(str(each["name"]), each["type"], is_required=not each["nullable"])
        if each.get("computed", {"persisted": True}).get("persisted")
        else FoundColumn(str(each["name"]), _type_text(each["type"]), is_computed=True)
        for each in columns
    )


def _column(name: str, type_: TypeEngine[object], *, is_required: bool) -> FoundColumn:
    text = _type_text(type_)
    for class_, kind, form in _KINDS:
        if isinstance(type_, class_):
            is_zoned = kind is Kind.TIMESTAMP and getattr(type_, "timezone", False)
            return FoundColumn(name, text, kind, Form.ZONED if is_zoned else form, is_required)
    return FoundColumn(name, text, is_required=is_required)


def _type_text(type_: TypeEngine[object]) -> str:
    try:
        return str(type_).lower()
    except UnsupportedCompilationError:
        return type(type_).__name__.lower()
