"""What is in records, for their owner.

The counts of predicates, from one scan of the records.

Records on a cluster of Spark, counted there: nothing but counts comes back.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.engines.check import Check, ColumnCheck, Identity
from noisycount.engines.interface import TypedSource, require_known_columns, require_known_parts
from noisycount.engines.places import ServerPlace
from noisycount.engines.spark.counts import cell_counts, key_counts
from noisycount.engines.spark.records import (
    LOST,
    UNIT,
    ColumnType,
    Look,
    Records,
    Relation,
    records_of,
    schema_of,
)
from noisycount.engines.spark.sessions import Columns, Frame, Session
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.grouping import CellQuestion, KeyCounts, KeyQuestion
from noisycount.query.predicate import Column, Predicate
from noisycount.query.schema import Kind, Schema

__all__ = ["SparkSource"]


def checked_columns(
    records: Records, schema: Schema, types: Mapping[str, ColumnType], unit: str | None
) -> Check:
    """How many records and persons there are, and how many cells of each column are missing.

    Args:
        records: The records.
        schema: What questions may use.
        types: Of the columns.
        unit: The column that names persons, where the records were read without one.
    """
    make = records.api.functions
    columns = [Column(name, kind) for name, kind in schema.items()]
    given = [
        make.count(records.algebra.column(column, column.kind)).alias(f"n{number}")
        for number, column in enumerate(columns)
    ]
    persons = []
    if records.has_units:
        persons = [make.col(UNIT)]
    elif unit is not None and unit in schema:
        persons = [records.algebra.column(Column(unit, schema[unit]), schema[unit])]
    counts = [*given, *(make.countDistinct(one).alias("persons") for one in persons)]
    ((rows, *told),) = records.frame.agg(make.count(make.lit(1)).alias("rows"), *counts).collect()
    cells, units = told[: len(columns)], told[-1] if persons else None
    used = [
        ColumnCheck(
            column.name,
            column.kind,
            column.kind.value,
            None,
            rows - number,
            reason=types[column.name].reason,
        )
        for column, number in zip(columns, cells, strict=True)
    ]
    unused = [ColumnCheck(name, None, type_, None, 0) for name, type_ in schema.others.items()]
    return Check(rows, (*used, *unused), units=units)


def predicate_counts(records: Records, predicates: Sequence[Predicate]) -> tuple[list[int], bool]:
    """How many units match each predicate, and whether there is a record without one.

    No record is left out unless a filter may be used, so that the time of a count does not tell
    how many match.
    """
    frame = records.of_any(predicates)
    matches = [
        records.matches(predicate).alias(f"m{number}")
        for number, predicate in enumerate(predicates)
    ]
    if records.has_units:
        grouped = _by_unit(records, frame.select(records.api.functions.col(UNIT), *matches))
    else:
        grouped = frame.select(*matches, records.api.functions.lit(0).alias(LOST))
    make = records.api.functions
    totals = [_sum(records, f"m{number}") for number in range(len(predicates))]
    (row,) = grouped.agg(*totals, make.coalesce(make.max(LOST), make.lit(0)).alias(LOST)).collect()
    *counts, lost = row
    return [int(count) for count in counts], bool(lost)


def has_lost(records: Records) -> bool:
    """Whether there is a record without a unit."""
    ((lost,),) = records.frame.agg(records.api.functions.max(records.is_lost())).collect()
    return bool(lost)


def _by_unit(records: Records, frame: Frame) -> Frame:
    """A row of each unit, which is 1 where it has a record that matches."""
    make = records.api.functions
    matches = [make.max(name).alias(name) for name in frame.columns if name != UNIT]
    lost = make.max(records.is_lost()).alias(LOST)
    return frame.groupBy(UNIT).agg(*matches, lost)


def _sum(records: Records, name: str) -> Columns:
    make = records.api.functions
    return make.coalesce(make.sum(name), make.lit(0)).alias(name)


_UNITS = (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN)


_SECONDS_TO_ANSWER = 120.0  # for a look, where the owner states no time-out


@frozen
class SparkSource(TypedSource):
    """The records of one table or of some Parquet files; made by ``SparkSource.open``.

    They are read anew at every count. Integers have 8 to 64 bits; FLOAT and DECIMAL count as
    DOUBLE, TIME as text, and a TIMESTAMP is read in UTC.
    """

    relation: Relation
    place: ServerPlace
    schema: Schema
    types: dict[str, ColumnType]
    unit: str | None
    identity: Identity
    seconds: float | None = None
    uses_indexes: bool = False

    @classmethod
    def open(
        cls,
        place: ServerPlace,
        *,
        unit: str | None = None,
        columns: Sequence[str] | None = None,
        seconds: float | None = None,
        uses_indexes: bool = False,
    ) -> Self:
        """The records at a place.

        Args:
            place: Of a cluster, and which table or Parquet files it reads.
            unit: The column that names the person, or None where every record is one unit.
            columns: The columns that questions may use, or None for all but the unit.
            seconds: After which a count is given up; None: never.
            uses_indexes: Whether a count may leave out records by what the cluster knows of its
                files, which can be faster, and tells by its time how many match.

        Raises:
            SourceError: The cluster does not answer, the records cannot be read or have no such
                column, or one of them has no unit.
        """
        session = Session.open(place.url, place.shown)
        try:
            source = cls.of_session(
                session,
                place,
                unit=unit,
                columns=columns,
                seconds=seconds,
                uses_indexes=uses_indexes,
            )
        except BaseException:
            session.close()
            raise
        return source

    @classmethod
    def of_session(  # noqa: PLR0913 - one argument a property of the records
        cls,
        session: Session,
        place: ServerPlace,
        *,
        unit: str | None = None,
        columns: Sequence[str] | None = None,
        seconds: float | None = None,
        uses_indexes: bool = False,
        is_made_here: bool = False,
    ) -> Self:
        """The records that a session of our own reads, which ends with them.

        Args:
            session: At the place.
            place: As `open` takes it, like the rest.
            unit: The column that names the person.
            columns: What questions may use.
            seconds: After which a count is given up.
            uses_indexes: Whether a count may leave out records.
            is_made_here: Whether the session made them itself, as a view.

        Raises:
            SourceError: As for `open`.
        """
        relation = Relation(session, place.table, is_made_here)
        types = relation.look(seconds or _SECONDS_TO_ANSWER).types
        schema = schema_of(types).for_questions(unit, columns)
        if unit is not None and types[unit].kind not in _UNITS:
            raise SourceError(
                f"unit column {unit!r} is of type {types[unit].name}: name persons by whole "
                "numbers, texts or booleans"
            )
        version = ".".join(session.version.split(".")[:2])
        identity = Identity("spark", version, "UTF8_BINARY")
        source = cls(relation, place, schema, types, unit, identity, seconds, uses_indexes)
        source.require_units()
        return source

    @property
    def session(self) -> Session:
        """The session that reads them."""
        return self.relation.session

    @property
    def version(self) -> str:
        """Where the records are, and their kinds: what is in a live table has no hash."""
        whole = self.schema.entire
        said = [self.place.shown, sorted((name, kind.value) for name, kind in whole.items())]
        return sha256(repr(said).encode(errors="surrogatepass")).hexdigest()

    def require_units(self) -> None:
        """The refusal of records without a unit.

        Raises:
            SourceError: There are such.
        """
        if self.unit is None or self.types[self.unit].is_required:
            return
        records = self._records(self._look())
        if self.session.asked(lambda: has_lost(records), self.seconds):
            raise SourceError(
                f"unit column {self.unit!r} has missing values, and a record without a person "
                "cannot be counted for anybody: fill them in or remove those records"
            )

    def prepare(self) -> None:
        """The refusal of a cluster that would not answer; see ``Source.prepare``.

        One record is read for it, and none of its cells is told.
        """
        look = self._look()
        functions = self.session.api.functions
        number = functions.count(functions.lit(1))
        self.session.asked(
            lambda: look.frame.limit(1).agg(number).collect(), self.seconds or _SECONDS_TO_ANSWER
        )

    def require_unchanged(self) -> None:
        """The refusal of records that are closed; a live table may change."""
        self.session.require_open()

    def check(self, unit: str | None = None) -> Check:
        """What is in the records; see ``Source.check``."""
        records = self._records(self._look())
        work = lambda: checked_columns(records, self.schema, self.types, unit)  # noqa: E731 - one use
        return self.session.asked(work, self.seconds)

    def count(self, predicates: Sequence[Predicate]) -> list[int]:
        """The true count for each predicate; see ``Source.count``."""
        require_known_columns(predicates, self.schema)
        self.session.require_open()
        if not predicates:
            return []
        records = self._records(self._look())
        counts, is_lost = self.session.asked(
            lambda: predicate_counts(records, predicates), self.seconds
        )
        self._require_found(is_lost=is_lost)
        return counts

    def count_cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        """The true counts of a table; see ``Source.count_cells``."""
        require_known_parts(question.keys.parts, question.where, self.schema)
        records = self._records(self._look())
        counts, is_lost = self.session.asked(lambda: cell_counts(records, question), self.seconds)
        self._require_found(is_lost=is_lost)
        return counts

    def count_keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        """The groups that have units, and how many; see ``Source.count_keys``."""
        require_known_parts(question.parts, question.where, self.schema)
        records = self._records(self._look())
        batches = self.session.asked(lambda: key_counts(records, question), self.seconds)
        while found := self.session.asked(lambda: next(batches, None), self.seconds):
            counts, is_lost = found
            self._require_found(is_lost=is_lost)
            if counts.keys:
                yield counts

    def close(self) -> None:
        """The end of their use; a count that goes on is given up, and not waited for."""
        self.session.close()

    def _look(self) -> Look:
        """The relation as it is now.

        Raises:
            SourceError: Its columns are not those that it was opened with.
        """
        look = self.relation.look(self.seconds or _SECONDS_TO_ANSWER)
        used = [*self.schema, *([] if self.unit is None else [self.unit])]
        if any(look.types.get(name) != self.types[name] for name in used):
            raise SourceError(
                f"the columns of {self.place.shown} changed since it was opened: open it again"
            )
        return look

    def _records(self, look: Look) -> Records:
        return records_of(
            self.session.api, look, self.schema, self.unit, uses_indexes=self.uses_indexes
        )

    def _require_found(self, *, is_lost: bool) -> None:
        """The refusal of counts of records of which one has no unit."""
        if is_lost:
            raise SourceError(
                f"{self.place.shown} changed: it has records without a person now, which cannot "
                "be counted for anybody: fill them in or remove them"
            )
