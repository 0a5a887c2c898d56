"""The table or the Parquet files of a place, as they are now."""

from dataclasses import dataclass
from typing import Any

from noisycount.errors import SourceError
from noisycount.release.sources.spark.api import Frame
from noisycount.release.sources.spark.failures import Fault
from noisycount.release.sources.spark.kinds import ColumnType
from noisycount.release.sources.spark.sessions import Session

__all__ = ["STORED", "Look", "Relation", "column_name"]

STORED = frozenset({"MANAGED", "EXTERNAL", "MATERIALIZED_VIEW", "STREAMING_TABLE"})
"""What the catalog calls tables whose cells are there; a view makes those that a question needs."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a relation was at one time.

    Attributes:
        frame: Its records, with columns `column_name(0)`, `column_name(1)` and so on: the names
            that its owner gave may have dots and marks, or differ only in case.
        types: Of its columns, by their own names in their order.
    """

    frame: Frame
    types: dict[str, ColumnType]


@dataclass(frozen=True, slots=True)
class Relation:
    """Where records are.

    Attributes:
        session: Reads them.
        table: A table of the catalog, or a path or an address of Parquet files.
        is_made_here: Whether it is a view that the session itself made of records of its own.
    """

    session: Session
    table: str
    is_made_here: bool = False

    @property
    def is_of_files(self) -> bool:
        """Whether it is a path or an address of Parquet files."""
        return self.table.startswith("/") or "://" in self.table

    def look(self, seconds: float | None = None) -> Look:
        """What the relation is now.

        Args:
            seconds: After which that is given up.

        Raises:
            SourceError: It is not there, may not be read, has two columns of one name, or is a
                view: what it computes could fail at those records alone that a question needs.
        """
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
        """The refusal of views of others.

        Raises:
            SourceError: It is one.
        """
        if self.is_of_files or self.is_made_here:
            return
        if self.session.asked(self._kind, seconds) not in STORED:
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
