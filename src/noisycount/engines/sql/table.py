"""What a server's table is: its name, and the kinds of its columns."""

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
    """What a table is in, or None, and its own name; each is taken literally, with its case.

    `text`: names with dots between them; one that has a dot or quotes itself stands in quotes.

    Example:
        >>> table_name("clinic.visits"), table_name('"a.b"')
        (('clinic', 'visits'), (None, 'a.b'))
    """
    names, place = [], 0
    while found := _PART.match(text, place):
        quoted, plain = found["quoted"], found["plain"]
        names.append(plain if quoted is None else quoted.replace('""', '"'))
        place = found.end()
        if not found["end"]:
            return ".".join(names[:-1]) or None, names[-1]
    raise SourceError(f'table must be a name such as schema.table, or "a.b" in quotes, got {text!r}')


_UNITS = (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN)


class Form(Enum):
    """How values are brought to the one type of their kind."""

    PLAIN = "as they are"
    CAST = "by a cast that is never an error"
    DECIMAL = "to the nearest double, whatever their size"
    ZONED = "as moments in UTC"
    NAMED = "as texts where they name persons; else not at all"


@frozen
class FoundName:
    """The name of a table that is there."""

    schema: str | None  # what it is in; None: where the account is
    name: str  # its own


@frozen
class FoundColumn:
    """A column of a server's table."""

    name: str  # the column
    type: str  # what the server calls its type
    kind: Kind | None = None  # of its values; None: no question can use it
    form: Form = Form.PLAIN  # how they are read
    is_required: bool = False  # whether the server keeps values from missing
    is_computed: bool = False  # whether they are made when they are read, and that might fail

    @property
    def told(self) -> str:
        """What is said of the type of a column that no question can use."""
        return f"{self.type} (computed when it is read)" if self.is_computed else self.type

    @property
    def reason(self) -> str:
        """Why it has its kind, for the owner."""
        if self.form is Form.ZONED:
            return "the server says so, and they are read in UTC"
        if self.form is Form.DECIMAL:
            return "the server says so, and the nearest number of 15 digits or more is taken"
        return "the server says so"


def schema_of(columns: Sequence[FoundColumn]) -> Schema:
    """The schema of all columns of a table."""
    return Schema(
        {column.name: column.kind for column in columns if column.kind is not None},
        {column.name: column.told for column in columns if column.kind is None},
    )


def require_stored(columns: Sequence[FoundColumn], named: Sequence[str | None]) -> None:
    """The refusal of columns that the owner names although they are computed when they are read."""
    for column in columns:
        if column.is_computed and column.name in named:
            raise SourceError(
                f"column {column.name!r} is computed when it is read, which can fail at one record "
                "and tell which: leave it out, or store it in a table or a materialised view"
            )


def require_unit(column: FoundColumn) -> None:
    """The refusal of a unit whose values have no text that every engine gives alike."""
    if column.kind not in _UNITS and column.form is not Form.NAMED:
        raise SourceError(
            f"unit column {column.name!r} is {column.type}, which names no person alike on every "
            "server: take one of whole numbers, texts or UUIDs"
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
    """The columns of a table. What a view computes is known of servers whose catalog is read here, and of no other."""
    with warnings.catch_warnings(action="ignore", category=SAWarning):  # of types it does not know
        inspector = inspect(connection)
        views = inspector.get_view_names(schema)
        columns = inspector.get_columns(name, schema)
    if name.casefold() in map(str.casefold, views):
        raise SourceError(
            f"{name!r} is a view, which computes cells when they are read: that can fail at one "
            "record and tell which, so name a table"
        )
    return tuple(
        _column(str(each["name"]), each["type"], is_required=not each["nullable"])
        if each.get("computed", {"persisted": True}).get("persisted")
        else FoundColumn(str(each["name"]), _told(each["type"]), is_computed=True)
        for each in columns
    )


def _column(name: str, type_: TypeEngine[object], *, is_required: bool) -> FoundColumn:
    told = _told(type_)
    for known, kind, form in _KINDS:
        if isinstance(type_, known):
            is_zoned = kind is Kind.TIMESTAMP and getattr(type_, "timezone", False)
            return FoundColumn(name, told, kind, Form.ZONED if is_zoned else form, is_required)
    return FoundColumn(name, told, is_required=is_required)


def _told(type_: TypeEngine[object]) -> str:
    try:
        return str(type_).lower()
    except UnsupportedCompilationError:
        return type(type_).__name__.lower()
