"""What the columns of a server's table are: their kinds, and how their values are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from noisycount.errors import SourceError
from noisycount.release.question.schema import Kind, Schema

__all__ = ["Form", "FoundColumn", "FoundName", "require_unit", "schema_of"]

_UNITS = (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN)


class Form(Enum):
    """How values are brought to the one type of their kind."""

    PLAIN = "as they are"
    CAST = "by a cast that is never an error"
    DECIMAL = "to the nearest double, whatever their size"
    ZONED = "as moments in UTC"
    NAMED = "as texts where they name persons; else not at all"


@dataclass(frozen=True, slots=True)
class FoundName:
    """The name of a table that is there.

    Attributes:
        schema: What it is in; None: where the account is.
        name: Its own.
    """

    schema: str | None
    name: str


@dataclass(frozen=True, slots=True)
class FoundColumn:
    """A column of a server's table.

    Attributes:
        name: The column.
        type: What the server calls its type.
        kind: Of its values; None: no question can use it.
        form: How they are read.
        is_required: Whether the server keeps values from missing.
    """

    name: str
    type: str
    kind: Kind | None = None
    form: Form = Form.PLAIN
    is_required: bool = False

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
        {column.name: column.type for column in columns if column.kind is None},
    )


def require_unit(column: FoundColumn) -> None:
    """The refusal of a unit whose values have no text that every engine gives alike.

    Raises:
        SourceError: It is such a one.
    """
    if column.kind not in _UNITS and column.form is not Form.NAMED:
        raise SourceError(
            f"unit column {column.name!r} is {column.type}, which names no person alike on every "
            "server: take one of whole numbers, texts or UUIDs"
        )
