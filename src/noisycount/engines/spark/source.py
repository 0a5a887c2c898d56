"""Records on a Spark cluster, which counts them: only counts are returned.

`table` reads types and makes the view that is counted; `dialect` writes the statements.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.sql.expression import ClauseElement

from noisycount.engines import counts as statements
from noisycount.engines.check import Check, typed_check
from noisycount.engines.conformance.certificate import Identity
from noisycount.engines.expressions import Person, StatementRecords, require_units
from noisycount.engines.formats import ColumnFormat
from noisycount.engines.guesses import with_resemblances
from noisycount.engines.interface import TypedSource, missing_units, require_typed
from noisycount.engines.persons import persons_of
from noisycount.engines.places import ServerPlace
from noisycount.engines.spark.connection import Session
from noisycount.engines.spark.dialect import result_of
from noisycount.engines.spark.table import ColumnType, RelationState, SparkRelation, open_view, schema_of
from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.grouping import CellQuestion, KeyCounts, KeyQuestion
from noisycount.query.predicate import Column, Predicate
from noisycount.query.schema import Kind, Schema

Result = TypeVar("Result")
_UNITS = (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN)
_STATE_TIMEOUT = 120.0  # s, to read the types of the columns if the owner states no time-out


ViewOpener: TypeAlias = Callable[[], AbstractContextManager[StatementRecords]]
"""A function that makes a view of records in the session for the time of a context."""


@frozen
class SparkCounting:
    """The counting of some records by a session; the functions are those of `Source`."""

    session: Session
    seconds: float | None  # time-out of a count; None: no limit
    read_view: Callable[[], ViewOpener]  # reads the present state of the records, and returns the function for its view

    def counts(self, predicates: Sequence[Predicate]) -> list[int]:
        """Return the true count for each predicate; see `Source.count`."""
        self.session.require_open()

        def count(records: StatementRecords) -> list[int]:
            row = self.row(statements.count_statement(predicates, records))
            require_units(row[-1:])
            return list(row[: len(predicates)])

        return self.run(count)

    def cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        """Return the true counts of a table; see `Source.count_cells`."""

        def count(records: StatementRecords) -> list[NDArray[np.int64]]:
            rows = result_of(statements.cells_statement(question, records), self.session.api).toArrow()
            return statements.cell_counts(question, records, [rows[n].to_numpy() for n in range(3)])

        return self.run(count)

    def keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        """Yield the groups that have units, and their counts; see `Source.count_keys`."""
        open_view_of_records, stack = self.read_view(), ExitStack()

        def start() -> tuple[StatementRecords, Iterator[Sequence[Any]]]:
            records = stack.enter_context(open_view_of_records())
            keys = result_of(statements.keys_statement(question, records), self.session.api)
            return records, keys.toLocalIterator()

        try:
            records, rows = self.session.run(start, self.seconds)
            while batch := self.session.run(lambda: list(islice(rows, statements.KEYS_AT_ONCE)), self.seconds):
                yield statements.key_counts(question, records.dialect, batch)
        finally:
            stack.close()

    def run(self, work: Callable[[StatementRecords], Result]) -> Result:
        """Run some work on the records as they are now, within the time-out."""
        open_view_of_records = self.read_view()

        def run_on_view() -> Result:
            with open_view_of_records() as records:
                return work(records)

        return self.session.run(run_on_view, self.seconds)

    def row(self, statement: ClauseElement) -> Sequence[int]:
        """Return the only row of a statement's result."""
        (row,) = result_of(statement, self.session.api).collect()
        return tuple(row)


@frozen
class SparkSource(TypedSource):
    """The records of a table, or of Parquet files, on Spark. Open them with `SparkSource.open`.

    Each count reads them anew. Integers have 8 to 64 bits; FLOAT and DECIMAL count as DOUBLE, TIME as text, and a
    TIMESTAMP is read in UTC.
    """

    relation: SparkRelation
    place: ServerPlace
    schema: Schema
    types: dict[str, ColumnType]
    unit: str | None
    identity: Identity
    seconds: float | None = None
    uses_indexes: bool = False
    nan_missing: frozenset[str] = frozenset()  # columns in which NaN is a missing value

    @classmethod
    def open(cls, place: ServerPlace, **options: Any) -> Self:  # noqa: ANN401 - those of `of_session`
        """Open the records at a place in a new session, with the options of `of_session`.

        A `session` among the options is one that several tables share.
        """
        if "session" in options:
            return cls.of_session(options.pop("session"), place, **options)
        session = Session.open(place.url, place.shown)
        try:
            return cls.of_session(session, place, **options)
        except BaseException:
            session.close()
            raise

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
        claim: UnitClaim | None = None,
        kinds: Mapping[str, ColumnFormat] | None = None,
    ) -> Self:
        """Return the records that a session reads. Closing them closes the session.

        Args:
            session: A session for these records alone.
            place: The address and the table.
            unit: The column that names the person; None: every record is a unit.
            columns: The columns that questions may use; None: all.
            seconds: The time-out of a count; None: no limit.
            uses_indexes: True if a count may skip files by their statistics. This can be faster, but then the time of
                a count reveals how many records match.
            is_made_here: True if the session made the records, as a view.
            claim: What the owner states about the rows of a materialised view; None: its unit only.
            kinds: The columns in which NaN is missing.

        Raises:
            SourceError: If the table cannot be read, or its unit is missing or of a type that cannot name persons.
        """
        relation = SparkRelation(session, place.table, is_made_here, claim or UnitClaim(unit))
        types = relation.read_state(seconds or _STATE_TIMEOUT).types
        schema = schema_of(types).for_questions(unit, columns)
        if unit is not None and types[unit].kind not in _UNITS:
            raise SourceError(
                f"unit column {unit!r} is of type {types[unit].name}: name persons by whole numbers, texts or booleans"
            )
        version = ".".join(session.version.split(".")[:2])
        identity = Identity("spark", version, "UTF8_BINARY")
        nan_missing = require_typed(place.shown, kinds or {}, schema, unit)
        source = cls(relation, place, schema, types, unit, identity, seconds, uses_indexes, nan_missing)
        source.require_units()
        return source

    @property
    def session(self) -> Session:
        """Session that reads the records."""
        return self.relation.session

    @property
    def version(self) -> str:
        """Digest of the place and the kinds of the columns. It does not follow the records of a live table."""
        whole = self.schema.entire
        nan = [sorted(self.nan_missing)] if self.nan_missing else []
        facts = [self.place.shown, sorted((name, kind.value) for name, kind in whole.items()), *nan]
        return sha256(repr(facts).encode(errors="surrogatepass")).hexdigest()

    def require_units(self) -> None:
        """Raise SourceError if a record has no unit."""
        if self.unit is None or self.types[self.unit].is_required:
            return

        def missing(records: StatementRecords) -> int:
            return int(self._counting.row(statements.without_unit_statement(records))[0])

        if self._counting.run(missing):
            raise missing_units(self.unit)

    def prepare(self, columns: Collection[str] | None = None) -> None:  # noqa: ARG002 - all are alike
        """Check that the cluster answers, by reading one record; see `Source.prepare`."""
        state = self._read_state()
        functions = self.session.api.functions
        number = functions.count(functions.lit(1))
        self.session.run(lambda: state.frame.limit(1).agg(number).collect(), self.seconds or _STATE_TIMEOUT)

    def require_unchanged(self) -> None:
        """Raise SourceError if the records are closed. A live table may change."""
        self.session.require_open()

    def check(self, unit: str | None = None) -> Check:
        """Return facts about the records; see `Source.check`."""
        columns = [Column(name, kind) for name, kind in self.schema.items()]
        unit_column = next((column for column in columns if column.name == unit), None)

        def check_records(records: StatementRecords) -> Check:
            rows, *counts, persons = self._counting.row(statements.values_statement(columns, unit_column, records))
            units = None if records.person is None and unit_column is None else persons
            reasons = {name: type_.reason for name, type_ in self.types.items()}
            forms = {name: ColumnFormat(Kind.REAL, nan="missing") for name in self.nan_missing}
            check = typed_check(self.schema, rows, counts, units, reasons=reasons, forms=forms)

            def some_texts(name: str, number: int) -> list[str]:
                statement = statements.texts_statement(records, name, number)
                return [text for (text,) in result_of(statement, self.session.api).collect()]

            check = with_resemblances(check, unit, some_texts)
            person = records.person
            if person is None and unit_column is not None:
                person = Person(records.value(unit_column), unit_column.kind)
            if person is None:
                return check
            with_gaps = [column for column, cells in zip(columns, counts, strict=False) if cells < rows]
            rows_of = lambda statement: result_of(statement, self.session.api).collect()  # noqa: E731 - one use
            return replace(check, persons=persons_of(with_gaps, person, records, rows_of))

        return self._counting.run(check_records)

    def _counts(self, predicates: Sequence[Predicate]) -> list[int]:
        return self._counting.counts(predicates)

    def _cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        return self._counting.cells(question)

    def _keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        return self._counting.keys(question)

    @property
    def _counting(self) -> SparkCounting:
        return SparkCounting(self.session, self.seconds, self.read_view)

    def close(self) -> None:
        """Close the records. A running count is cancelled, and not awaited."""
        self.session.close()

    def _read_state(self) -> RelationState:
        """Read the relation as it is now. Raise SourceError if a used column changed its type."""
        state = self.relation.read_state(self.seconds or _STATE_TIMEOUT)
        used = [*self.schema, *([] if self.unit is None else [self.unit])]
        if any(state.types.get(name) != self.types[name] for name in used):
            raise SourceError(f"the columns of {self.place.shown} changed since it was opened: open it again")
        return state

    def read_view(self) -> ViewOpener:
        """Read the present state of the records, and return the function that makes a view of them."""
        return partial(
            open_view,
            self.session.api,
            self._read_state(),
            self.schema,
            self.unit,
            self.nan_missing,
            uses_indexes=self.uses_indexes,
        )
