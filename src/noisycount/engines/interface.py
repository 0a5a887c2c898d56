"""What every engine offers: the columns that questions may use, and exact counts."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from noisycount.engines.check import Check, ColumnCheck
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.errors import SourceError
from noisycount.query.grouping import CellQuestion, GroupBy, KeyCounts, KeyQuestion
from noisycount.query.predicate import Column, Predicate, columns
from noisycount.query.schema import Kind, Schema, close_names


class Closeable(ABC):
    """What must be closed, and as a context manager closes itself."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """The end of the use of what is held open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_NAMED = 8  # columns in one line


def require_readable(shown: str, columns: Sequence[ColumnCheck]) -> None:
    """The refusal of records with cells that do not fit what is stated of them.

    It names no cell and no number, and is the same for every question: whether a data set answers depends on its owner,
    and is nothing that a question could probe.
    """
    refused = [repr(column.name) for column in columns if column.is_refused]
    if refused:
        named, more = ", ".join(refused[:_NAMED]), len(refused) - _NAMED
        others = f" and {more} other column{'s' * (more > 1)}" if more > 0 else ""
        raise SourceError(
            f"{shown} answers nothing, as cells of {named}{others} do not fit their kind: "
            "whoever owns it sees them by `noisycount check`, which says how to mend that"
        )


def missing_units(unit: str) -> SourceError:
    """The refusal of records of which some name no person."""
    return SourceError(
        f"unit column {unit!r} has missing values, and a record without a person cannot be counted for anybody: fill "
        "them in or remove those records"
    )


def require_typed(shown: str, kinds: Mapping[str, ColumnFormat], schema: Schema, unit: str | None) -> frozenset[str]:
    """Return the columns in which NaN is stated to be missing, of records that state the kinds of their columns.

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
                f"{shown} states its kinds itself, as only texts such as CSV files do not: leave {name!r} out of kinds."
                ' Of a column of reals that is not the unit, { kind = "real", nan = "missing" } can be stated'
            )
    return frozenset(name for name, form in kinds.items() if form.nan)


class Source(Protocol):
    """Private records that can be counted, and must be closed; a context manager closes itself."""

    @property
    def schema(self) -> Mapping[str, Kind]:
        """The columns that questions may use."""

    @property
    def unit(self) -> str | None:
        """The column that names the person, or None where every record is one unit."""

    @property
    def version(self) -> str:
        """An opaque text that changes when the records may have changed."""

    @property
    def has_exact_version(self) -> bool:
        """True if equal versions mean exactly the same counted records.

        Only then may an answer top up an earlier one. It is true of a digest of all that is counted, and of an edition
        that the owner promises; false of the name, the size or the time of records.
        """

    @property
    def edition(self) -> str | None:
        """Name that the owner gives the records of a server as they are now; None: no name, or no server."""

    @property
    def former_versions(self) -> Sequence[str]:
        """The texts that were its version in older ledgers."""

    @property
    def accepted(self) -> Collection[str]:
        """The columns whose cells that do not fit count as missing, as their owner said."""

    def require_unchanged(self) -> None:
        """The refusal of records that are closed, or may not be those of the version any more."""

    def prepare(self, columns: Collection[str] | None = None) -> None:
        """Do all that can fail before a count, and no count: it comes before the debit.

        `columns`: those that the count reads; None: all that questions may use.
        """

    def count(self, predicates: Sequence[Predicate]) -> list[int]:
        """The true count for each predicate, from one scan of the records.

        A count is the number of records for which the predicate is true (not false, not unknown) or, with a unit, the
        number of distinct units that have at least one such record.
        """

    def count_cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        """The true counts of each level of a table, from one scan of the records.

        A count is the number of records that match and whose keys are of the node or, with a unit, the number of
        distinct units that have at least one such record in a cell that they are left in.

        Returned: of each level an array of shape (level.size,).
        """

    def count_keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        """The groups that have at least one unit that matches, and how many, in no stated order.

        They come in batches. What was given before an error is no answer: the records may have changed.
        """

    def check(self, unit: str | None = None) -> Check:
        """What is in the records: facts about them, for their owner.

        `unit`: of which column different persons are counted, where it was not said at opening.
        """

    def close(self) -> None:
        """The end of their use."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class CheckedSource(Source, Protocol):
    """Records that are open whether or not their cells fit; what they are can be written down."""

    @property
    def schema(self) -> Schema:
        """The columns that questions may use, and the whole that they are from."""

    @property
    def forms(self) -> Mapping[str, ColumnFormat]:
        """What the cells of each column stand for that questions could use, and of the unit."""

    @property
    def form(self) -> FileFormat | None:
        """How the texts of a file were found in it; None where it states its types."""

    def used(self) -> Sequence[ColumnCheck]:
        """What is in the columns of texts that questions may use, and in the unit."""


def _require_known(named: Iterable[Column], schema: Mapping[str, Kind], use: str) -> None:
    for column in named:
        if schema.get(column.name) is not column.stored.kind:
            raise SourceError(
                f"{use} {column}, which questions may not use here: parse them against the schema of this source"
            )


class CountedSource(Closeable):
    """Records that are asked about the columns of their schema, and about nothing else; see ``Source``."""

    __slots__ = ()

    schema: Schema

    @property
    def has_exact_version(self) -> bool:
        """False unless a source proves it; see ``Source.has_exact_version``."""
        return False

    @property
    def edition(self) -> str | None:
        """None: most sources have no edition; see ``Source.edition``."""
        return None

    @abstractmethod
    def require_unchanged(self) -> None:
        """The refusal of records that are closed or have changed; see ``Source.require_unchanged``."""

    def count(self, predicates: Sequence[Predicate]) -> list[int]:
        """The true count for each predicate; see ``Source.count``."""
        for predicate in predicates:
            _require_known(columns(predicate), self.schema, "predicates read")
        if not predicates:
            self.require_unchanged()
            return []
        return self._counts(predicates)

    def count_cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        """The true counts of a table; see ``Source.count_cells``."""
        self._require_known(question.keys.parts, question.where)
        return self._cells(question)

    def count_keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        """The groups that have units, and how many; see ``Source.count_keys``."""
        self._require_known(question.parts, question.where)
        return self._keys(question)

    @abstractmethod
    def _counts(self, predicates: Sequence[Predicate]) -> list[int]: ...

    @abstractmethod
    def _cells(self, question: CellQuestion) -> list[NDArray[np.int64]]: ...

    @abstractmethod
    def _keys(self, question: KeyQuestion) -> Iterator[KeyCounts]: ...

    def _require_known(self, parts: Iterable[GroupBy], where: Predicate | None) -> None:
        """The refusal of tables that are of anything but the columns of the schema."""
        _require_known((part.column for part in parts), self.schema, "tables are by")
        _require_known([] if where is None else columns(where), self.schema, "predicates read")


class TypedSource(CountedSource):
    """Records that hold values, and no texts that stand for values; see ``CheckedSource``."""

    __slots__ = ()

    @property
    def former_versions(self) -> tuple[str, ...]:
        """None: no older ledger knows such records by another text."""
        return ()

    @property
    def accepted(self) -> frozenset[str]:
        """None: every value fits the type of its column."""
        return frozenset()

    @property
    def nan_missing(self) -> frozenset[str]:
        """The columns in which NaN is a missing value, as the owner states."""
        return frozenset()

    @property
    def forms(self) -> dict[str, ColumnFormat]:
        """The kind of each column, and whether NaN is missing in it."""
        return {
            name: ColumnFormat(kind, nan="missing" if name in self.nan_missing else None)
            for name, kind in self.schema.entire.items()
        }

    @property
    def form(self) -> None:
        """None: there is no file of texts."""
        return

    def used(self) -> tuple[ColumnCheck, ...]:
        """None: no column is one of texts."""
        return ()
