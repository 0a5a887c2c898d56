"""Records on a cluster of Spark, counted there: nothing but counts comes back."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.sql.expression import ClauseElement

from noisycount.engines import counts as statements
from noisycount.engines.check import Check, typed_check
from noisycount.engines.conformance.certificate import Identity
from noisycount.engines.expressions import Person, StatementRecords, require_somebody
from noisycount.engines.formats import ColumnFormat
from noisycount.engines.guesses import with_resemblances
from noisycount.engines.interface import TypedSource, missing_units, require_typed
from noisycount.engines.persons import persons_of
from noisycount.engines.places import ServerPlace
from noisycount.engines.spark.connection import Session
from noisycount.engines.spark.dialect import result_of
from noisycount.engines.spark.table import ColumnType, Look, SparkRelation, schema_of, viewed
from noisycount.engines.views.claim import UnitClaim
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.grouping import CellQuestion, KeyCounts, KeyQuestion
from noisycount.query.predicate import Column, Predicate
from noisycount.query.schema import Kind, Schema

Result = TypeVar("Result")
_UNITS = (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN)
_SECONDS_TO_ANSWER = 120.0  # for a look, where the owner states no time-out


@frozen
class SparkSource(TypedSource):
    """The records of one table or of some Parquet files; made by ``SparkSource.open``.

    They are read anew at every count. Integers have 8 to 64 bits; FLOAT and DECIMAL count as DOUBLE, TIME as text, and
    a TIMESTAMP is read in UTC.
    """

    relation: SparkRelation
    place: ServerPlace
    schema: Schema
    types: dict[str, ColumnType]
    unit: str | None
    identity: Identity
    seconds: float | None = None
    uses_indexes: bool = False
    nan_missing: frozenset[str] = frozenset()  # the columns in which NaN is a missing value

    @classmethod
    def open(cls, place: ServerPlace, **said: Any) -> Self:  # noqa: ANN401 - as `of_session` takes it
        """The records at a place; it takes what `of_session` takes."""
        session = Session.open(place.url, place.shown)
        try:
            return cls.of_session(session, place, **said)
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
        """Return the records that a session of our own reads, which ends with them.

        `unit`: the column that names the person, or None where every record is one unit. `seconds`: after which a count
        is given up; None: never. `uses_indexes`: whether a count may leave out records by what the cluster knows of its
        files, which can be faster, and tells by its time how many match. `is_made_here`: whether the session made them
        itself, as a view. `claim`: what the owner states about the rows of a materialised view; None: the unit alone.
        `kinds`: the columns in which NaN is missing.
        """
        relation = SparkRelation(session, place.table, is_made_here, claim or UnitClaim(unit))
        types = relation.look(seconds or _SECONDS_TO_ANSWER).types
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
        """The session that reads them."""
        return self.relation.session

    @property
    def version(self) -> str:
        """Where the records are, and their kinds: what is in a live table has no hash."""
        whole = self.schema.entire
        nan = [sorted(self.nan_missing)] if self.nan_missing else []
        said = [self.place.shown, sorted((name, kind.value) for name, kind in whole.items()), *nan]
        return sha256(repr(said).encode(errors="surrogatepass")).hexdigest()

    def require_units(self) -> None:
        """The refusal of records without a unit."""
        if self.unit is None or self.types[self.unit].is_required:
            return

        def missing(records: StatementRecords) -> int:
            return int(self._row(statements.nobody_statement(records))[0])

        if self._done(missing):
            raise missing_units(self.unit)

    def prepare(self, columns: Collection[str] | None = None) -> None:  # noqa: ARG002 - all are alike
        """The refusal of a cluster that would not answer; see ``Source.prepare``.

        One record is read for it, and none of its cells is told.
        """
        look = self._look()
        functions = self.session.api.functions
        number = functions.count(functions.lit(1))
        self.session.asked(lambda: look.frame.limit(1).agg(number).collect(), self.seconds or _SECONDS_TO_ANSWER)

    def require_unchanged(self) -> None:
        """The refusal of records that are closed; a live table may change."""
        self.session.require_open()

    def check(self, unit: str | None = None) -> Check:
        """What is in the records; see ``Source.check``."""
        columns = [Column(name, kind) for name, kind in self.schema.items()]
        named = next((each for each in columns if each.name == unit), None)

        def looked(records: StatementRecords) -> Check:
            rows, *counts, persons = self._row(statements.values_statement(columns, named, records))
            units = None if records.person is None and named is None else persons
            reasons = {name: type_.reason for name, type_ in self.types.items()}
            forms = {name: ColumnFormat(Kind.REAL, nan="missing") for name in self.nan_missing}
            check = typed_check(self.schema, rows, counts, units, reasons=reasons, forms=forms)

            def some_texts(name: str, number: int) -> list[str]:
                statement = statements.texts_statement(records, name, number)
                return [text for (text,) in result_of(statement, self.session.api).collect()]

            check = with_resemblances(check, unit, some_texts)
            person = records.person
            if person is None and named is not None:
                person = Person(records.value(named), named.kind)
            if person is None:
                return check
            with_gaps = [column for column, cells in zip(columns, counts, strict=False) if cells < rows]
            rows_of = lambda statement: result_of(statement, self.session.api).collect()  # noqa: E731 - one use
            return replace(check, persons=persons_of(with_gaps, person, records, rows_of))

        return self._done(looked)

    def _counts(self, predicates: Sequence[Predicate]) -> list[int]:
        self.session.require_open()

        def counted(records: StatementRecords) -> list[int]:
            row = self._row(statements.count_statement(predicates, records))
            require_somebody(row[-1:])
            return list(row[: len(predicates)])

        return self._done(counted)

    def _cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        def counted(records: StatementRecords) -> list[NDArray[np.int64]]:
            found = result_of(statements.cells_statement(question, records), self.session.api).toArrow()
            return statements.cell_counts(question, records, [found[n].to_numpy() for n in range(3)])

        return self._done(counted)

    def _keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        look, stack = self._look(), ExitStack()

        def begun() -> tuple[StatementRecords, Iterator[Sequence[Any]]]:
            records = stack.enter_context(self._viewed(look))
            found = result_of(statements.keys_statement(question, records), self.session.api)
            return records, found.toLocalIterator()

        try:
            records, rows = self.session.asked(begun, self.seconds)
            while batch := self.session.asked(lambda: list(islice(rows, statements.KEYS_AT_ONCE)), self.seconds):
                yield statements.key_counts(question, records.dialect, batch)
        finally:
            stack.close()

    def close(self) -> None:
        """The end of their use; a count that goes on is given up, and not waited for."""
        self.session.close()

    def _look(self) -> Look:
        """The relation as it is now."""
        look = self.relation.look(self.seconds or _SECONDS_TO_ANSWER)
        used = [*self.schema, *([] if self.unit is None else [self.unit])]
        if any(look.types.get(name) != self.types[name] for name in used):
            raise SourceError(f"the columns of {self.place.shown} changed since it was opened: open it again")
        return look

    def _viewed(self, look: Look) -> AbstractContextManager[StatementRecords]:
        """The records in a view of the session; it is made, used and dropped while that asks."""
        return viewed(self.session.api, look, self.schema, self.unit, self.nan_missing, uses_indexes=self.uses_indexes)

    def _done(self, work: Callable[[StatementRecords], Result]) -> Result:
        """The result of some work with the records as they are now."""
        look = self._look()

        def done() -> Result:
            with self._viewed(look) as records:
                return work(records)

        return self.session.asked(done, self.seconds)

    def _row(self, statement: ClauseElement) -> Sequence[int]:
        """The only row of a result."""
        (row,) = result_of(statement, self.session.api).collect()
        return tuple(row)
