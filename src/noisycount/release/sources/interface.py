"""What every engine offers: the columns that questions may use, and exact counts."""

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

from noisycount.errors import SourceError
from noisycount.release.question.schema import Kind
from noisycount.release.question.tree import (
    Predicate,
    columns,
)

__all__ = ["Source", "require_known_columns"]


class Source(Protocol):
    """Private records that can be counted, and must be closed; a context manager closes itself."""

    @property
    def schema(self) -> Mapping[str, Kind]:
        """The columns that questions may use."""
        ...

    @property
    def unit(self) -> str | None:
        """The column that names the person, or None where every record is one unit."""
        ...

    @property
    def version(self) -> str:
        """An opaque text that changes when the records may have changed."""
        ...

    def require_unchanged(self) -> None:
        """The refusal of records that are closed, or may not be those of the version any more.

        Raises:
            SourceError: they are.
        """
        ...

    def count(self, predicates: Sequence[Predicate]) -> list[int]:
        """The true count for each predicate, from one scan of the records.

        A count is the number of records for which the predicate is true (not false, not unknown)
        or, with a unit, the number of distinct units that have at least one such record.

        Raises:
            SourceError: a predicate reads a column that questions may not use, or the records
                cannot be read or have changed since the source was opened.
        """
        ...

    def close(self) -> None:
        """The end of their use."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


def require_known_columns(predicates: Iterable[Predicate], schema: Mapping[str, Kind]) -> None:
    """The refusal of predicates that read anything but the columns of a schema.

    Raises:
        SourceError: one does; predicates parsed against the same schema never do.
    """
    for predicate in predicates:
        for column in columns(predicate):
            if schema.get(column.name) is not column.kind:
                raise SourceError(
                    f"predicates read {column}, which questions may not use here: "
                    "parse them against the schema of this source"
                )
