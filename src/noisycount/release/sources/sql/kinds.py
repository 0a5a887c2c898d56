"""What the columns of a server's table are: their kinds, and how their values are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from noisycount.errors import SourceError
from noisycount.release.question.schema import Kind, Schema

__all__ = [
    "Form",
    "FoundColumn",
    "FoundName",
    "require_stored",
    "require_unit",
    "schema_of",
]

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
        is_computed: Whether they are made when they are read, and that might fail.
    """

    name: str
    type: str
    kind: Kind | None = None
    form: Form = Form.PLAIN
    is_required: bool = False
    is_computed: bool = False

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
    """The refusal of columns that the owner names although they are computed when they are read.

    Raises:
        SourceError: There is such a one.
    """
    for column in columns:
        if column.is_computed and column.name in named:
            raise SourceError(
                f"column {column.name!r} is computed when it is read, which can fail at one record "
                "and tell which: leave it out, or store it in a table or a materialised view"
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
