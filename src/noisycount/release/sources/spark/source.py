"""Records on a cluster of Spark, counted there: nothing but counts comes back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.errors import SourceError
from noisycount.release.question.keys import CellQuestion, KeyCounts, KeyQuestion
from noisycount.release.question.schema import Kind, Schema
from noisycount.release.question.tree import Predicate
from noisycount.release.sources.check import Check
from noisycount.release.sources.identity import Identity
from noisycount.release.sources.interface import require_known_columns, require_known_parts
from noisycount.release.sources.servers import ServerPlace
from noisycount.release.sources.spark.checking import checked_columns
from noisycount.release.sources.spark.counting import has_lost, predicate_counts
from noisycount.release.sources.spark.kinds import ColumnType, schema_of
from noisycount.release.sources.spark.records import Records, records_of
from noisycount.release.sources.spark.relation import Look, Relation
from noisycount.release.sources.spark.sessions import Session
from noisycount.release.sources.spark.tables.cell_counts import cell_counts
from noisycount.release.sources.spark.tables.key_counts import key_counts
from noisycount.release.sources.typed import TypedSource

__all__ = ["SparkSource"]

_UNITS = (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN)
_SECONDS_TO_ANSWER = 120.0  # for a look, where the owner states no time-out


@dataclass(frozen=True, slots=True)
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
