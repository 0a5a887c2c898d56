# ruff: noqa: S608, as all SQL here is made of names that it quotes
"""CSV, Parquet and DuckDB files, counted by DuckDB in a connection that can read nothing else."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

import duckdb
import numpy as np
from numpy.typing import NDArray

from noisycount.display.texts import redacted_name
from noisycount.engines import places
from noisycount.engines.check import Check, ColumnCheck, typed_check
from noisycount.engines.duckdb import connection as duck
from noisycount.engines.duckdb import files, foreign
from noisycount.engines.duckdb.cells import given_cell, typed_cell
from noisycount.engines.duckdb.column_texts import with_values
from noisycount.engines.duckdb.dialect import Counting
from noisycount.engines.duckdb.table import (
    READ_TYPES,
    column_types,
    converted,
    create_records,
    require_units,
    type_reason,
    whole_schema,
)
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.engines.interface import CountedSource, missing_units, require_readable, require_typed
from noisycount.engines.places import LakePlace, files_of
from noisycount.engines.views.claim import UnitClaim
from noisycount.errors import SourceError, install_hint
from noisycount.frozen import frozen
from noisycount.query.grouping import CellQuestion, GroupBy, KeyCounts, KeyQuestion
from noisycount.query.predicate import Predicate, columns
from noisycount.query.schema import Kind, Schema

if TYPE_CHECKING:
    from noisycount.engines.duckdb.lake import Lake

# What a kind of store needs that the extra `lake` does not have.
_BEYOND = {"gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs", "abfss": "adlfs"}


def state_of(place: "Path | Lake") -> str:
    """The size and time of each file of a place, and of the write-ahead log of a database."""
    if not isinstance(place, Path):
        return place.state()
    try:
        states = [f"{size}-{time}" for size, time, *_ in places.state_of(files_of(place))]
    except SourceError:
        states = []
    if not states:
        raise SourceError(f"{redacted_name(place)!r} cannot be read any more: open it again")
    return " ".join(states)


def require_state(place: "Path | Lake", state: str, while_it: str) -> None:
    """The refusal of a file that is not in its state any more."""
    if state_of(place) != state:
        raise SourceError(f"{redacted_name(place)!r} changed while it {while_it}: open it again")


def _texts(relation: files.Relation) -> Sequence[ColumnCheck]:
    """Return the facts of the columns of a file of texts; none if the file states their types."""
    return () if relation.check is None else relation.check.columns


def _with_unit_as_stated(
    connection: duck.Connection, relation: files.Relation, told: files.Description
) -> files.Relation:
    """Return records that state their types, with the texts of the unit read as their owner states."""
    for unit, form in told.spelled_unit.items():
        type_ = column_types(connection, relation.sql).get(unit, "")
        if form.kind is Kind.INTEGER and form != ColumnFormat(
            Kind.INTEGER, missing=form.missing, drop_missing=form.drop_missing
        ):
            raise SourceError(f"kinds states how the texts of {unit!r} are read, but they are numbers: leave it out")
        if type_ and READ_TYPES.get(type_, (None,))[0] is not form.kind:
            raise SourceError(f"kinds states how the texts of {unit!r} are read, but its type is {type_}: leave it out")
        name = duck.quoted_name(unit)
        text = f"CAST({name} AS VARCHAR)"
        value = typed_cell(text, form)
        if form.kind is Kind.INTEGER:  # of any width
            value = f"CASE WHEN {given_cell(text, form)} THEN {name} END"
        if type_:  # else a column that is not there is refused by its name
            return _selected(relation, f"* REPLACE ({value} AS {name})")
    return relation


def _without_dropped_rows(relation: files.Relation, told: files.Description) -> files.Relation:
    """Return a relation without the rows of nobody, if its owner states so; a check looks at all rows."""
    form = None if told.unit is None else (told.kinds or {}).get(told.unit)
    if form is None or not form.drop_missing or told.is_for_check:
        return relation
    return _selected(relation, "*", f"WHERE {duck.quoted_name(told.unit or '')} IS NOT NULL")


def _selected(relation: files.Relation, columns: str, condition: str = "") -> files.Relation:
    """Return a relation of these columns and of the rows that meet a condition."""

    def query(sql: str) -> str:
        return f"(SELECT {columns} FROM {sql} {condition})"

    part = relation.part
    selected = None if part is None else lambda *words: query(part(*words))
    return replace(relation, sql=query(relation.sql), part=selected)


def _typed_description(
    place: object, told: files.Description, relation: files.Relation, schema: Schema
) -> files.Description:
    """Return the description of records that state their kinds: how the unit is read, and where NaN is missing.

    In columns of reals that pandas wrote NaN is missing, unless their kind is stated.
    """
    kinds = told.kinds or {}
    others = {name: form for name, form in kinds.items() if name not in told.spelled_unit}
    if told.is_known:
        others = {name: form for name, form in others.items() if schema.entire.kinds.get(name) is form.kind}
    missing = require_typed(repr(str(place)), others, schema, told.unit)
    if relation.is_of_pandas:
        reals = {name for name, kind in schema.entire.kinds.items() if kind is Kind.REAL}
        missing |= reals - kinds.keys() - {told.unit}
    nan_missing = {name: ColumnFormat(Kind.REAL, nan="missing") for name in sorted(missing)}
    return replace(told, kinds={**nan_missing, **told.spelled_unit} or None)


def _without_engine_errors(work: Callable[[], duck.Result], path: object, kind: files.Format) -> duck.Result:
    """Return the result of work that reads a file, or refuse the file without the engine's error."""
    return duck.without_engine_errors(
        work,
        f"{str(path)!r} cannot be read as {kind.name}: check that {kind.check}",
        f"{str(path)!r} needs more memory than there is: {kind.relief}",
    )


@frozen
class DuckDBSource(CountedSource):
    r"""The records of one file; made by ``DuckDBSource.open``.

    A CSV file is read once, at opening: its first line names the columns, every line has as many cells, an empty cell
    is a missing value. What the cells stand for is stated, or guessed from them; if cells do not fit, the file answers
    nothing until whoever owns it accepts them as missing. Parquet and DuckDB files are read at every count, and their
    columns once before the first count that needs them, so that no count fails on a broken cell. Integers have 8 to 64
    bits; FLOAT and DECIMAL count as DOUBLE, ENUM and TIME as text, every TIMESTAMP as one of microseconds, in UTC where
    it has a zone, finer ones cut off.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from noisycount.query.language import parse
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "survey.csv")
        ...     _ = path.write_text("person,age\n1,31\n1,32\n2,29\n")
        ...     with DuckDBSource.open(path, unit="person") as source:
        ...         source.count([parse("age >= 30", source.schema)])
        [1]
    """

    cursors: duck.Cursors
    path: "Path | Lake"
    schema: Schema
    told: files.Description
    state: str
    relation: files.Relation
    format: files.Format
    values: Mapping[str, str]  # the SQL of the value of each column that counts read, by its name
    proofs: Sequence[set[str]]  # of each file, the proofs of the columns whose cells could all be read; they grow
    seconds: float | None = None
    copied: bool = False
    proving: Lock = field(default_factory=Lock)  # held while columns are read for a proof

    @classmethod
    def open(cls, path: Path | str, **said: Any) -> Self:  # noqa: ANN401 - as `found` takes it
        """The records of a file whose cells fit; it takes what `found` takes."""
        source = cls.found(path, **said)
        try:
            source.prepare()
        except BaseException:
            source.close()
            raise
        return source

    @classmethod
    def found(  # noqa: PLR0913 - one argument a property of the file
        cls,
        path: Path | str,
        *,
        unit: str | None = None,
        columns: Sequence[str] | None = None,
        table: str | None = None,
        kinds: Mapping[str, Kind | ColumnFormat] | None = None,
        form: FileFormat = FileFormat(),  # noqa: B008 - frozen
        seconds: float | None = None,
        copy: Path | None = None,
        claim: UnitClaim | None = None,
        is_for_check: bool = False,
        is_known: bool = False,
        proofs: Sequence[set[str]] | None = None,
    ) -> Self:
        """The records of a file, whether or not their cells fit.

        `path`: a .csv, .parquet, .pq, .duckdb, .db or .ddb file, taken literally. `table`: which table of a DuckDB
        file; not needed if it has only one. `kinds`: what the texts of a CSV file's columns stand for; those left out
        stand for what they most likely do, and the unit is text. `copy`: where a file of texts leaves what they stand
        for, for `of_copy`; `copied` tells whether it could. `claim`: what the owner states about the rows of a view;
        None: the unit alone. `is_known`: whether `kinds` is what was written down when the file was opened before.
        `proofs`: of each of its files as they are now, what `require_sound` proved before; it adds to them.
        """
        claim = claim or UnitClaim(unit, is_stated=not is_for_check)
        told = files.Description(unit, columns, table, files.stated_forms(kinds), form, claim, is_for_check, is_known)
        return cls._read(files.format_of(Path(path), told), Path(path), told, seconds, copy, proofs)

    @staticmethod
    def require_stable(path: Path, table: str | None, claim: UnitClaim) -> None:
        """Raise SourceError if a file of which a copy exists names a view that may not be counted."""
        if files.format_of(path, files.Description(table=table, claim=claim)) is files.SQLITE:
            foreign.require_stable_sqlite(path, table, claim)

    @classmethod
    def of_copy(
        cls,
        copy: Path,
        forms: Mapping[str, ColumnFormat],
        proofs: Sequence[set[str]] | None = None,
        *,
        unit: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> Self:
        """Return the records of a copy that `found` made, by what the texts of each column stood for."""
        told = files.Description(unit, columns, None, forms)
        return cls._read(files.COPY, copy, told, proofs=proofs)

    @classmethod
    def of_lake(
        cls,
        place: LakePlace,
        *,
        unit: str | None = None,
        columns: Sequence[str] | None = None,
        seconds: float | None = None,
        kinds: Mapping[str, ColumnFormat] | None = None,
    ) -> Self:
        """Return the records of Parquet files on an object store, whose needed cells alone are read."""
        try:
            from noisycount.engines.duckdb.lake import Lake  # noqa: PLC0415 - needs packages of an extra

            lake = Lake.found(place)
        except ImportError:
            package = _BEYOND.get(place.shown.partition("://")[0])
            beyond = f", and the package {package}" if package else ""
            raise SourceError(
                f"{place.shown!r} needs packages that are not here: {install_hint('lake')}{beyond}"
            ) from None
        return cls._read(files.LAKE, lake, files.Description(unit, columns, kinds=kinds), seconds)

    @classmethod
    def checked(cls, path: Path | str, *, columns: Sequence[str] | None = None, **said: Any) -> Check:  # noqa: ANN401 - as `found` takes it
        """What is in a file, for its owner, whether or not its cells fit; as `found` takes it."""
        source = cls.found(path, is_for_check=True, **said)
        with source, source.cursors.one() as cursor:
            check = with_values(cursor, source.check(), source.unit)
        types = {column.name: column.type for column in check.columns}
        Schema({}, types).for_questions(source.unit, columns)  # which refuses names of no column
        return check

    @classmethod
    def shares_records(cls, path: Path, one: str, other: str, public_tables: Sequence[str] = ()) -> bool:
        """Return True if two tables of a file have records in common: a table and a view of it, or two such views."""
        return files.shares_records(path, one, other, public_tables)

    @classmethod
    def _read(  # noqa: PLR0913, PLR0917 - one argument a property of the file
        cls,
        kind: files.Format,
        path: "Path | Lake",
        told: files.Description,
        seconds: float | None = None,
        copy: Path | None = None,
        proofs: Sequence[set[str]] | None = None,
    ) -> Self:
        """The records of a file, which may have cells that do not fit."""
        place = duck.readable_place(path) if isinstance(path, Path) else path
        state = state_of(place)
        connection = duck.private_connection()

        def readable() -> tuple[Schema, files.Relation, files.Description, dict[str, str]]:
            relation = kind.relation(connection, place, told)
            if not kind.holds_texts and kind is not files.COPY:
                relation = _with_unit_as_stated(connection, relation, told)
            relation = _without_dropped_rows(relation, told)
            unit = None if told.is_for_check else told.unit
            require_readable(repr(str(path)), [each for each in _texts(relation) if each.name == unit])
            types = column_types(connection, relation.sql)
            schema = whole_schema(types).for_questions(unit, told.columns)
            typed = (
                told if kind.holds_texts or kind is files.COPY else _typed_description(place, told, relation, schema)
            )
            nan_missing = () if typed is told else [n for n, form in (typed.kinds or {}).items() if form.nan]
            values = converted(types, schema, nan_missing)
            values |= {} if schema.unit is None else {schema.unit: duck.quoted_name(schema.unit)}
            selected = [f"{value} AS {duck.quoted_name(name)}" for name, value in values.items()]
            create_records(connection, relation.sql, selected, is_computed=relation.is_computed)
            if relation.part is None:
                require_units(connection, "records", schema.unit)
            return schema, relation, typed, values

        try:
            schema, relation, told, values = _without_engine_errors(readable, path, kind)
            proofs = [set() for _ in files_of(place)] if proofs is None and isinstance(place, Path) else proofs
            require_state(place, state, "was read")
            copied = (
                copy is not None
                and relation.check is not None  # of texts
                and not any(column.is_refused for column in relation.check.columns)
                and files.is_written(connection, copy)
            )
            duck.lock(connection)
        except BaseException:
            connection.close()
            raise
        cursors = duck.Cursors(connection)
        return cls(cursors, place, schema, told, state, relation, kind, values, proofs or (), seconds, copied)

    def prepare(self, columns: Collection[str] | None = None) -> None:
        """Refuse cells that do not fit, and those that cannot be read; see ``Source.prepare``."""
        require_readable(repr(str(self.path)), self.used())
        self.require_sound(columns)

    def require_sound(self, columns: Collection[str] | None = None) -> None:
        """Read some columns, and that of the unit, in the files in which this was never done.

        A count that failed on a broken cell would reveal that the record is there, after the debit. `columns`: None:
        all that questions may use.

        Raises:
            SourceError: A cell cannot be read, or a record has no unit.
        """
        part = self.relation.part
        if part is None:
            return
        read = self.values if columns is None else {*columns, self.unit}
        proved = {self._proof(name): name for name in self.values if name in read}
        with self.proving:
            numbers = [number for number, known in enumerate(self.proofs) if not proved.keys() <= known]
            new = {proof: name for proof, name in proved.items() if any(proof not in self.proofs[n] for n in numbers)}
            if not new:
                return
            self.require_unchanged()

            def without_unit() -> int:
                hashes = ", ".join(f"max(hash({self.values[name]}))" for name in new.values())
                units = "0" if self.schema.unit is None else f"count(*) - count({self.values[self.schema.unit]})"
                with self.cursors.one() as cursor:
                    (row,) = cursor.execute(f"SELECT {units}, {hashes} FROM {part(cursor, numbers)}").fetchall()
                return int(row[0])

            if _without_engine_errors(without_unit, self.path, self.format):
                raise missing_units(self.unit or "")
            self.require_unchanged()
            for number in numbers:
                self.proofs[number].update(new)

    def _proof(self, name: str) -> str:
        """Return the digest of how the cells of a column are read, and of whether none may be missing."""
        facts: list[object] = [duckdb.__version__, self.told.table, self.values[name], name == self.unit]
        facts += [form.parts for form in self.told.spelled_unit.values()]  # which decide on the rows of nobody
        return sha256(json.dumps(facts).encode()).hexdigest()[:32]

    @property
    def former_versions(self) -> tuple[str, ...]:
        """None: its version never had another form."""
        return ()

    @property
    def accepted(self) -> frozenset[str]:
        """The columns whose cells that do not fit count as missing; see ``Source.accepted``."""
        return frozenset(name for name, form in self.forms.items() if form.accepts_unreadable)

    @property
    def forms(self) -> dict[str, ColumnFormat]:
        """What the cells of each column stand for; see ``CheckedSource.forms``."""
        found = {column.name: column.form for column in _texts(self.relation) if column.form}
        whole = self.schema.entire
        return found or {**{name: ColumnFormat(kind) for name, kind in whole.items()}, **(self.told.kinds or {})}

    @property
    def form(self) -> FileFormat | None:
        """How the texts were found; see ``CheckedSource.form``."""
        return None if self.relation.check is None else self.relation.check.form

    def used(self) -> list[ColumnCheck]:
        """What is in the columns that questions may use and in the unit, where they are texts."""
        return [column for column in _texts(self.relation) if column.name in self.schema or column.name == self.unit]

    def check(self, unit: str | None = None) -> Check:
        """What is in the records; see ``Source.check``."""
        named = unit or self.unit
        if self.told.is_for_check and named not in self.schema:
            named = None  # a file without it is refused by its name
        if self.relation.check is not None and named is None:
            return self.relation.check
        names = () if self.relation.check else tuple(self.schema)
        rows, *counts, distinct = self._counting.values(names, named)
        units = None if named is None else distinct
        given = counts[: len(names)]
        if self.relation.check is not None:
            given = [rows - column.missing for column in self.relation.check.columns if column.name in self.schema]
        with_gaps = [name for name, cells in zip(self.schema, given, strict=True) if cells < rows]
        persons = None if named is None else self._counting.persons(with_gaps, named)
        if persons is not None:
            kind = self.schema.entire.kinds.get(named or "")
            is_stated = isinstance(self.path, Path) and kind in {Kind.TEXT, Kind.INTEGER}
            persons = replace(persons, has_stated_ids=is_stated)
        if self.relation.check is not None:
            return replace(self.relation.check, rows=rows, units=units, persons=persons)
        with self.cursors.one() as cursor:
            described = cursor.sql(f"SELECT * FROM {self.relation.sql}")
            types = dict(zip(described.columns, map(str, described.types), strict=True))
        reasons = {name: type_reason(type_) for name, type_ in types.items()}
        reasons |= dict.fromkeys(self.relation.keys, "folders are named by it")
        if self.relation.is_of_pandas:
            of_pandas = [name for name, form in (self.told.kinds or {}).items() if form.nan]
            reasons |= dict.fromkeys(of_pandas, "pandas wrote the file, in which NaN is a missing value")
        check = typed_check(self.schema, rows, counts, units, reasons=reasons, forms=self.told.kinds)
        return replace(check, persons=persons)

    @property
    def version(self) -> str:
        """The state of the file, and how it is read: what is counted may change with either."""
        found = {column.name: column.form for column in _texts(self.relation) if column.form}
        forms = {name: form.parts for name, form in (found or self.told.kinds or {}).items()}
        form = None if self.form is None else self.form.parts
        said = [self.told.table, forms, *([] if form is None else [form])]
        return f"{self.state} {json.dumps(said, sort_keys=True)}" if any(said) else self.state

    @property
    def unit(self) -> str | None:
        """The column that names the person, or None where every record is one unit."""
        return self.told.unit

    @property
    def connection(self) -> duck.Connection:
        """The connection that holds the view ``records``."""
        return self.cursors.connection

    def require_unchanged(self) -> None:
        """The refusal of a file that changed; see ``Source.require_unchanged``."""
        self.cursors.require_open()
        require_state(self.path, self.state, "was open")

    def _counts(self, predicates: Sequence[Predicate]) -> list[int]:
        self._prepare((), predicates)
        return self._counting.counts(predicates)

    def _cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        self._prepare(question.keys.parts, [question.where])
        return self._counting.cells(question)

    def _keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        self._prepare(question.parts, [question.where])
        return self._counting.keys(question)

    def _prepare(self, parts: Iterable[GroupBy], predicates: Iterable[Predicate | None]) -> None:
        """Prepare the columns that a question reads, if its caller has not."""
        read = {column.name for each in predicates if each for column in columns(each)}
        self.prepare(read | {each.column.name for each in parts})

    @property
    def _counting(self) -> Counting:
        refusal = (
            f"{str(self.path)!r} cannot be counted: check that the file is whole, "
            "that it is not closed meanwhile, and that memory is free"
        )
        return Counting(self.cursors.one, self.require_unchanged, self.unit, self.schema, self.seconds, refusal)

    def close(self) -> None:
        """The end of their use; a count that goes on is given up, and not waited for."""
        self.cursors.close()
