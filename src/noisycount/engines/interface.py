"""The interface of all sources: the columns that questions may use, and exact counts."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from noisycount.engines.check import Check, ColumnCheck
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.errors import SourceError
from noisycount.query.close_names import close_names
from noisycount.query.grouping import CellQuestion, GroupBy, KeyCounts, KeyQuestion
from noisycount.query.predicate import Column, Predicate, columns
from noisycount.query.schema import Kind, Schema


class Closeable(ABC):
    """An object that must be closed. As a context manager it closes itself."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """Release what is held open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_NAMED = 8  # largest number of columns named in a message


def require_readable(shown: str, columns: Sequence[ColumnCheck]) -> None:
    """Raise SourceError if a column has cells that do not fit its stated kind.

    The message quotes no cell and no number, and is the same for every question. So it reveals nothing about the cells.
    """
    refused = [repr(column.name) for column in columns if column.is_refused]
    if refused:
        named, more = ", ".join(refused[:_NAMED]), len(refused) - _NAMED
        others = f" and {more} other column{'s' * (more > 1)}" if more > 0 else ""
        raise SourceError(
            f"{shown} answers nothing, as cells of {named}{others} do not fit their kind: "
            "their owner sees these cells by `noisycount check`, with the remedy"
        )


def missing_units_error(unit: str) -> SourceError:
    """Return the refusal of records without a unit."""
    return SourceError(
        f"unit column {unit!r} has missing values, and a record without a person has no privacy unit: fill "
        "them in or remove those records"
    )


def require_typed(shown: str, kinds: Mapping[str, ColumnFormat], schema: Schema, unit: str | None) -> frozenset[str]:
    """Return the columns in which NaN is stated to be missing. The records must state the kinds of their columns.

    Raises:
        SourceError: The owner states another kind of a column, or a form of its texts.
    """
    whole = schema.entire
    for name, form in kinds.items():
        if name != unit and name not in {*whole.kinds, *whole.others}:
            raise SourceError(f"kinds names {name!r}, which is no column: use {close_names(name, [*whole.kinds])}")
        kind = whole.kinds.get(name)
        if form != ColumnFormat(kind or form.kind, nan=form.nan) or (name == unit and form.nan):
            raise SourceError(
                f"{shown} states its kinds itself, unlike a file of texts such as CSV: leave {name!r} out of kinds."
                ' Only { kind = "real", nan = "missing" } can be stated, for a column of reals that is not the unit'
            )
    return frozenset(name for name, form in kinds.items() if form.nan)


def _require_known(used: Iterable[Column], schema: Mapping[str, Kind], use: str) -> None:
    for column in (stored for each in used for stored in each.stored_columns):
        if schema.get(column.name) is not column.stored.kind:
            raise SourceError(
                f"{use} {column}, which questions may not use here: parse them against the schema of this source"
            )


def columns_of(parts: Iterable[GroupBy], predicates: Iterable[Predicate | None]) -> set[str]:
    """Return the names of the columns of the records that a question reads."""
    names = {column.name for predicate in predicates if predicate for column in columns(predicate)}
    return names | {column.name for part in parts for column in part.column.stored_columns}


class Source(Closeable):
    """Private records that can be counted, by questions about the columns of its schema only."""

    __slots__ = ()

    schema: Schema  # columns that questions may use, and all columns of the records
    if TYPE_CHECKING:  # fields of some sources, and properties of others

        @property
        @abstractmethod
        def unit(self) -> str | None:
            """Column that names the person, or None if every record is a unit."""

        @property
        @abstractmethod
        def version(self) -> str:
            """Opaque text that changes when the records may have changed."""

    @property
    def has_exact_version(self) -> bool:
        """True if equal versions mean exactly the same counted records.

        Only then may an answer top up an earlier one. It is True for a digest of everything that is counted, and for an
        edition that the owner promises. It is False, the default, for the name, the size or the time of records.
        """
        return False

    @property
    def stated_edition(self) -> str | None:
        """Name that the owner gives the present records of a server; None, the default: no name, or no server."""
        return None

    @property
    def former_versions(self) -> Sequence[str]:
        """Versions of the same records in older ledgers; by default they had the same version."""
        return ()

    @property
    def accepted(self) -> Collection[str]:
        """Columns whose unreadable cells count as missing, as the owner stated. By default there are none."""
        return frozenset()

    @abstractmethod
    def require_unchanged(self) -> None:
        """Raise SourceError if the source is closed, or the records may no longer be those of the version."""

    @abstractmethod
    def prepare(self, columns: Collection[str] | None = None) -> None:
        """Do everything that can fail, without counting. This comes before the debit.

        Args:
            columns: The columns that the count reads; None: all that questions may use.
        """

    def count(self, predicates: Sequence[Predicate]) -> list[int]:
        """Return the true count for each predicate, from one scan of the records.

        A count is the number of records for which the predicate is true (not false, not unknown). With a unit, it is
        the number of distinct units that have at least one such record.
        """
        for predicate in predicates:
            _require_known(columns(predicate), self.schema, "predicates read")
        if not predicates:
            self.require_unchanged()
            return []
        return self._count_checked(predicates)

    def count_cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        """Return the true counts of each level of a table, from one scan of the records.

        A count is the number of matching records whose keys belong to the node. With a unit, it is the number of
        distinct units that have such a record in a cell that the contribution bound keeps.

        Returns:
            An array of shape (level.size,) for each level.
        """
        self._require_known(question.keys.parts, question.where)
        return self._count_checked_cells(question)

    def count_keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        """Yield the groups with at least one matching unit, and their counts, in batches and in no particular order.

        After an error the batches so far are no answer: the records may have changed.
        """
        self._require_known(question.parts, question.where)
        return self._count_checked_keys(question)

    @abstractmethod
    def check(self, unit: str | None = None) -> Check:
        """Return facts about the records, for their owner.

        Args:
            unit: The column whose persons are counted, if the source was opened without a unit.
        """

    @abstractmethod
    def _count_checked(self, predicates: Sequence[Predicate]) -> list[int]: ...

    @abstractmethod
    def _count_checked_cells(self, question: CellQuestion) -> list[NDArray[np.int64]]: ...

    @abstractmethod
    def _count_checked_keys(self, question: KeyQuestion) -> Iterator[KeyCounts]: ...

    def _require_known(self, parts: Iterable[GroupBy], where: Predicate | None) -> None:
        """Raise SourceError if a table uses other columns than those of the schema."""
        _require_known((part.column for part in parts), self.schema, "tables are by")
        _require_known([] if where is None else columns(where), self.schema, "predicates read")


class CheckedSource(Source):
    """A source whose owner can state the kinds of columns and the form.

    It opens also if cells do not fit their kinds. By default it stores typed values, not texts.
    """

    __slots__ = ()

    @property
    def nan_missing(self) -> frozenset[str]:
        """Columns in which NaN is a missing value, as the owner states."""
        return frozenset()

    @property
    def forms(self) -> dict[str, ColumnFormat]:
        """Format of each column that questions could use, and of the unit.

        By default it is the kind, and `nan` if NaN is a missing value.
        """
        return {
            name: ColumnFormat(kind, nan="missing" if name in self.nan_missing else None)
            for name, kind in self.schema.entire.items()
        }

    @property
    def form(self) -> FileFormat | None:
        """Form of a file of texts; None, the default, if the records state their types."""
        return None

    def used_column_checks(self) -> Sequence[ColumnCheck]:
        """Return facts about the text columns that questions may use, and about the unit. By default there are none."""
        return ()
