"""The rows of the builder: conditions that hold together, and groups by column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from noisycount.app.server.pages.ask.operators import FormError, Operator, operators_of
from noisycount.app.table.keys import Value, values_of
from noisycount.app.table.typed import items, keys_of_column
from noisycount.errors import PredicateError
from noisycount.release.question.schema import Kind
from noisycount.release.question.text import written_name

__all__ = ["Condition", "Grouping", "where_of"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One row of the builder.

    Attributes:
        column: What it is about.
        operator: The name of what it says; one that the column has not is its first.
        values: What was typed.
    """

    column: str
    operator: str = ""
    values: tuple[str, str] = ("", "")

    def chosen(self, kind: Kind) -> Operator:
        """What it says."""
        found = operators_of(kind)
        return next((each for each in found if each.name == self.operator), found[0])

    def text(self, columns: Mapping[str, Kind], place: int) -> str:
        """The row in the language of questions.

        Args:
            columns: What questions may use.
            place: Of the row, from 0.

        Raises:
            FormError: The column is none, or a value is missing or of another kind.
        """
        kind = columns.get(self.column)
        if kind is None:
            raise FormError("where", f"there is no column {self.column!r}: remove the row")
        return self.chosen(kind).text(self.column, kind, self.values, f"value-{place}")


@dataclass(frozen=True, slots=True)
class Grouping:
    """One column by which a table is grouped.

    Attributes:
        column: Its name.
        split: Edges such as `0, 18, 65`, or `month`, `quarter`, `year`; empty: each value.
        keys: Its keys as one types them; empty: they follow from the edges, or are hidden.
    """

    column: str
    split: str = ""
    keys: str = ""

    def item(self, place: int) -> str:
        """What the table is grouped by, as one types it.

        Args:
            place: Of the row, from 0.

        Raises:
            FormError: The edges are none.
        """
        split = self.split.replace(" ", "")
        try:
            items(written := written_name(self.column) + (f":{split}" if split else ""))
        except ValueError as error:
            raise FormError(f"split-{place}", f"groups of {self.column}: {error}") from None
        return written

    def listed(self, place: int, columns: Mapping[str, Kind]) -> list[Value] | None:
        """The keys, ranges of them written out; None where they follow, or are hidden.

        Raises:
            FormError: They cannot be read.
        """
        if not self.keys.strip():
            return None
        kind = columns.get(self.column, Kind.TEXT)
        kind = Kind.TEXT if kind.is_number and self.split.strip() else kind
        try:
            words = keys_of_column(f"{written_name(self.column)}={self.keys}")[1]
            return values_of(self.column, kind, words)
        except (ValueError, PredicateError) as error:
            raise FormError(f"keys-{place}", f"keys of {self.column}: {error}") from None


def where_of(conditions: Sequence[Condition], text: str, columns: Mapping[str, Kind]) -> str | None:
    """All rows and what was typed freely, joined by `and`; None where nothing is.

    Args:
        conditions: The rows.
        text: What was typed freely, in the language of questions.
        columns: What questions may use.

    Raises:
        FormError: A row cannot be read.

    Example:
        >>> rows = [Condition("age", ">=", ("65", ""))]
        >>> where_of(rows, "health = 'poor' or year = 1", {"age": Kind.INTEGER})
        "age >= 65 and (health = 'poor' or year = 1)"
    """
    parts = [row.text(columns, place) for place, row in enumerate(conditions)]
    if text.strip():
        parts.append(f"({text.strip()})" if parts else text.strip())
    return " and ".join(parts) or None
