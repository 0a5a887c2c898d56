"""What SQLAlchemy finds out about a table of any server."""

import warnings

from sqlalchemy import Boolean, Connection, Date, DateTime, Float, Integer, Numeric, String, inspect
from sqlalchemy.exc import SAWarning, UnsupportedCompilationError
from sqlalchemy.types import TypeEngine

from noisycount.errors import SourceError
from noisycount.release.question.schema import Kind
from noisycount.release.sources.sql.kinds import Form, FoundColumn

__all__ = ["reflected_columns"]

_KINDS: tuple[tuple[type, Kind, Form], ...] = (
    (Boolean, Kind.BOOLEAN, Form.PLAIN),
    (Integer, Kind.INTEGER, Form.PLAIN),
    (Float, Kind.REAL, Form.CAST),
    (Numeric, Kind.REAL, Form.DECIMAL),
    (DateTime, Kind.TIMESTAMP, Form.PLAIN),
    (Date, Kind.DATE, Form.PLAIN),
    (String, Kind.TEXT, Form.CAST),
)


def reflected_columns(
    connection: Connection, schema: str | None, name: str
) -> tuple[FoundColumn, ...]:
    """The columns of a table.

    What a view computes is known of servers whose catalog is read here, and of no other.

    Raises:
        NoSuchTableError: There is none.
        SourceError: It is a view.
    """
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
