"""Records on a Spark cluster, which counts them: only counts are returned.

`table` reads types and makes the view that is counted; `dialect` writes the statements.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from hashlib import sha256
from itertools import islice
from typing import Any, Self

from numpy.typing import NDArray
from sqlalchemy.sql.expression import ClauseElement

from noisycount.engines.conformance.certificate import Identity
from noisycount.engines.counting import Counting, EngineSource, Part, Reading, Result
from noisycount.engines.counts import KEYS_AT_ONCE, without_unit_statement
from noisycount.engines.expressions import StatementRecords
from noisycount.engines.formats import ColumnFormat
from noisycount.engines.interface import missing_units_error, require_typed
from noisycount.engines.places import ServerPlace
from noisycount.engines.spark.connection import Api, Session
from noisycount.engines.spark.dialect import result_of
from noisycount.engines.spark.table import ColumnType, RelationState, SparkRelation, open_view, schema_of
from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.schema import Kind, Schema

_UNITS = (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN)
_STATE_TIMEOUT = 120.0  # s, to read the types of the columns if the owner states no time-out


@frozen
class SparkReading(Reading):
    """Records that are read in a session of Spark."""

    records: StatementRecords
    api: Api
    parts: Mapping[str, Part] = field(default_factory=dict)

    def rows(self, statement: ClauseElement) -> Sequence[Sequence[Any]]:
        """Return all rows of a statement's result."""
        rows: Sequence[Sequence[Any]] = result_of(statement, self.api).collect()
        return rows

    def columns(self, statement: ClauseElement) -> Sequence[NDArray[Any]]:
        """Return the first three columns of a statement's result."""
        table = result_of(statement, self.api).toArrow()
        return [table[number].to_numpy() for number in range(3)]

    def batches(self, statement: ClauseElement) -> Iterator[Sequence[Sequence[Any]]]:
        """Yield the rows of a statement's result, some at once."""
        rows = result_of(statement, self.api).toLocalIterator()
        yield from iter(lambda: list(islice(rows, KEYS_AT_ONCE)), [])


@frozen
class SparkCounting(Counting):
    """The counting of some records by a session."""

    session: Session
    seconds: float | None  # time-out of a count; None: no limit
    open_records: Callable[[], AbstractContextManager[SparkReading]]  # reads the present state of the records first

    def open(self) -> AbstractContextManager[SparkReading]:
        """Return a context that makes views of the records as they are now."""
        return self.open_records()

    def guard(self, work: Callable[[], Result]) -> Result:
        """Run some work within the time-out, and return its result; see `Session.run`."""
        return self.session.run(work, self.seconds)


@frozen
class SparkSource(EngineSource):
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
    def open(  # noqa: PLR0913 - one argument a property of the records
        cls,
        place: ServerPlace,
        *,
        unit: str | None = None,
        columns: Sequence[str] | None = None,
        seconds: float | None = None,
        uses_indexes: bool = False,
        is_made_here: bool = False,
        claim: UnitClaim | None = None,
        kinds: Mapping[str, ColumnFormat] | None = None,
        session: Session | None = None,
    ) -> Self:
        """Open the records at a place. Closing them closes the session.

        Args:
            place: The address and the table.
            unit: The column that names the person; None: every record is a unit.
            columns: The columns that questions may use; None: all.
            seconds: The time-out of a count; None: no limit.
            uses_indexes: True if a count may skip files by their statistics. This can be faster, but then the time of
                a count reveals how many records match.
            is_made_here: True if the session made the records, as a view.
            claim: What the owner states about the rows of a materialised view; None: its unit only.
            kinds: The columns in which NaN is missing.
            session: The session that several tables share; None: a new one for these records.

        Raises:
            SourceError: If the table cannot be read, or its unit is missing or of a type that cannot name persons.
        """
        opened = session or Session.open(place.url, place.shown)
        try:
            relation = SparkRelation(opened, place.table, is_made_here, claim or UnitClaim(unit))
            types = relation.read_state(seconds or _STATE_TIMEOUT).types
            schema = schema_of(types).for_questions(unit, columns)
            identity = Identity("spark", ".".join(opened.version.split(".")[:2]), "UTF8_BINARY")
            nan_missing = require_typed(place.shown, kinds or {}, schema, unit)
            source = cls(relation, place, schema, types, unit, identity, seconds, uses_indexes, nan_missing)
            source.require_units()
        except BaseException:
            if session is None:
                opened.close()
            raise
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
        """Raise SourceError if the unit cannot name persons, or a record has no unit."""
        if self.unit is None:
            return
        type_ = self.types[self.unit]
        if type_.kind not in _UNITS:
            raise SourceError(
                f"unit column {self.unit!r} is of type {type_.name}: name persons by whole numbers, texts or booleans"
            )
        if type_.is_required:
            return

        def count_missing(reading: Reading) -> int:
            return int(reading.rows(without_unit_statement(reading.records))[0][0])

        if self._counting(()).run(count_missing):
            raise missing_units_error(self.unit)

    def prepare(self, columns: Collection[str] | None = None) -> None:  # noqa: ARG002 - all are alike
        """Check that the cluster answers, by reading one record; see `Source.prepare`."""
        state = self._read_state()
        functions = self.session.api.functions
        number = functions.count(functions.lit(1))
        self.session.run(lambda: state.frame.limit(1).agg(number).collect(), self.seconds or _STATE_TIMEOUT)

    def require_unchanged(self) -> None:
        """Raise SourceError if the records are closed. A live table may change."""
        self.session.require_open()

    @property
    def type_facts(self) -> dict[str, dict[str, str]]:
        """The `reasons` of the columns."""
        return {"reasons": {name: type_.reason for name, type_ in self.types.items()}}

    def _counting(self, columns: Collection[str]) -> SparkCounting:  # noqa: ARG002 - all are alike
        return SparkCounting(self.session, self.seconds, lambda: _open_reading(self.session.api, self.read_view()))

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

    def read_view(self) -> AbstractContextManager[StatementRecords]:
        """Read the present state of the records, and return a context that makes a view of them."""
        state, has_indexes = self._read_state(), self.uses_indexes
        return open_view(self.session.api, state, self.schema, self.unit, self.nan_missing, uses_indexes=has_indexes)


@contextmanager
def _open_reading(api: Api, view: AbstractContextManager[StatementRecords]) -> Iterator[SparkReading]:
    """Make the view of some records, and yield them."""
    with view as records:
        yield SparkReading(records, api)
