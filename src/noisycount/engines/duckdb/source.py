# ruff: noqa: S608, as all SQL here is made of names that it quotes
"""Sources of records in files of all known formats, counted by DuckDB in a connection that can read nothing else."""

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
from noisycount.engines.duckdb.check_facts import with_values
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
from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import SourceError, install_hint
from noisycount.frozen import frozen
from noisycount.query.grouping import CellQuestion, GroupBy, KeyCounts, KeyQuestion
from noisycount.query.predicate import Predicate, columns
from noisycount.query.schema import Kind, Schema

if TYPE_CHECKING:
    from noisycount.engines.duckdb.lake import Lake

# Packages that an object store needs in addition to the extra `lake`, by the scheme of its address.
_BEYOND = {"gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs", "abfss": "adlfs"}


def state_of(place: "Path | Lake") -> str:
    """Return the size and modification time of each file of a place, with the write-ahead log of a database."""
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
    """Raise SourceError if a file is no longer in the given state."""
    if state_of(place) != state:
        raise SourceError(f"{redacted_name(place)!r} changed while it {while_it}: open it again")


def _texts(relation: files.Relation) -> Sequence[ColumnCheck]:
    """Return the checks of the columns of a file of texts; none if the file states the types of its columns."""
    return () if relation.check is None else relation.check.columns


def _with_unit_as_stated(
    connection: duck.Connection, relation: files.Relation, told: files.Description
) -> files.Relation:
    """Return the relation with the texts of the unit read as its owner states, for a file that states its types."""
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
        if type_:  # a unit that is no column is refused later, by its name
            return _selected(relation, f"* REPLACE ({value} AS {name})")
    return relation


def _without_dropped_rows(relation: files.Relation, told: files.Description) -> files.Relation:
    """Return the relation without rows that name no unit, if the owner drops them. A check keeps all rows."""
    form = None if told.unit is None else (told.kinds or {}).get(told.unit)
    if form is None or not form.drop_missing or told.is_for_check:
        return relation
    return _selected(relation, "*", f"WHERE {duck.quoted_name(told.unit or '')} IS NOT NULL")


def _selected(relation: files.Relation, columns: str, condition: str = "") -> files.Relation:
    """Return the relation of these columns and of the rows that meet a condition."""

    def query(sql: str) -> str:
        return f"(SELECT {columns} FROM {sql} {condition})"

    part = relation.part
    selected = None if part is None else lambda *words: query(part(*words))
    return replace(relation, sql=query(relation.sql), part=selected)


def _typed_description(
    place: object, told: files.Description, relation: files.Relation, schema: Schema
) -> files.Description:
    """Return the description with the kinds that apply to a file that states its types.

    These are the form of the unit, and the columns of reals in which NaN is missing. If pandas wrote the file, NaN is
    missing in every column of reals, unless the owner states the kind of that column.
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
    """Return the result of work that reads a file. An error of the engine becomes a SourceError without its text."""
    return duck.without_engine_errors(
        work,
        f"{str(path)!r} cannot be read as {kind.name}: check that {kind.check}",
        f"{str(path)!r} needs more memory than there is: {kind.relief}",
    )


@frozen
class DuckDBSource(CountedSource):
    r"""A source of the records of one file, made by `DuckDBSource.open`.

    A CSV file is read once, when it is opened. Its first line names the columns, every line has the same number of
    cells, and an empty cell is a missing value. The owner states the kinds of the columns, or they are guessed from the
    cells. If a column that queries may use or the unit has unreadable cells, the source answers no query until the
    owner accepts them as missing.

    Parquet and DuckDB files are read at every count. Each of their columns is read once before the first count that
    needs it, so that no count fails at a broken cell. Integers have 8 to 64 bits. FLOAT and DECIMAL count as DOUBLE,
    ENUM and TIME as texts. Every TIMESTAMP counts in microseconds, without its smaller parts, and in UTC if it has a
    time zone.

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
    values: Mapping[str, str]  # SQL of the value of each column that counts read, by its name
    # for each file, digests of the columns whose cells were all read; `require_sound` adds to them
    proofs: Sequence[set[str]]
    seconds: float | None = None
    copied: bool = False
    proving: Lock = field(default_factory=Lock)  # held while `require_sound` reads columns

    @classmethod
    def open(cls, path: Path | str, **said: Any) -> Self:  # noqa: ANN401 - as `found` takes it
        """Open a file as `found` does. Raise SourceError if the file or one of its cells cannot be read."""
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
        """Open a file, whether its cells are readable or not.

        Args:
            path: A file with a known ending, taken literally.
            unit: The column that names the person; None: each row is a privacy unit.
            columns: The columns that queries may use; None: all but the unit.
            table: The table or sheet; None: the only one.
            kinds: The forms of columns of texts. The unit is a text by default; other columns are guessed.
            form: The layout of a file of texts.
            seconds: Time limit of a count; None: no limit.
            copy: Where to write the values of a file of texts, for `of_copy`. `copied` is True if they were written.
            claim: The owner's statements about the rows of a view; None: only the unit.
            is_for_check: True if the columns are only checked, the unit like the others; nothing is counted.
            is_known: True if `kinds` was stored when the file was opened before.
            proofs: For each file in its present state, the digests of columns that `require_sound` has read.
        """
        claim = claim or UnitClaim(unit, is_stated=not is_for_check)
        told = files.Description(unit, columns, table, files.stated_forms(kinds), form, claim, is_for_check, is_known)
        return cls._read(files.format_of(Path(path), told), Path(path), told, seconds, copy, proofs)

    @staticmethod
    def require_stable(path: Path, table: str | None, claim: UnitClaim) -> None:
        """Raise SourceError if a file, of which a copy exists, names a view that may not be counted."""
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
        """Open a copy that `found` wrote, with the forms that the texts of its columns had."""
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
        """Open the Parquet files of a place on an object store. Only the cells that a count needs are read."""
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
        """Return the check of a file, for its owner, even if cells are unreadable. The options are those of `found`."""
        source = cls.found(path, is_for_check=True, **said)
        with source, source.cursors.one() as cursor:
            check = with_values(cursor, source.check(), source.unit)
        types = {column.name: column.type for column in check.columns}
        Schema({}, types).for_questions(source.unit, columns)  # names of no column are refused
        return check

    @classmethod
    def shares_records(cls, path: Path, one: str, other: str, public_tables: Sequence[str] = ()) -> bool:
        """Return True if two tables of a file have records in common, such as a table and a view of it."""
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
        """Open a file of a known format; its cells may be unreadable."""
        place = duck.readable_place(path) if isinstance(path, Path) else path
        state = state_of(place)
        connection = duck.private_connection()

        def readable() -> tuple[Schema, files.Relation, files.Description, dict[str, str]]:
            if told.coded and kind is not files.STATISTICS and kind is not files.COPY:
                raise foreign.no_labels(told.coded[0])
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
                and relation.check is not None  # a file of texts
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
        """Raise SourceError if cells are unreadable or cannot be read; see `Source.prepare`."""
        require_readable(repr(str(self.path)), self.used())
        self.require_sound(columns)

    def require_sound(self, columns: Collection[str] | None = None) -> None:
        """Read columns, and that of the unit, in the files in which they have not been read yet.

        A count that failed at a broken cell would reveal after the debit that the record exists. For `columns` None,
        all columns that queries may use are read.

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
        """Return the digest of how the cells of a column are read, and of whether the column is the unit."""
        facts: list[object] = [duckdb.__version__, self.told.table, self.values[name], name == self.unit]
        # the form of the unit decides which rows are dropped
        facts += [form.parts for form in self.told.spelled_unit.values()]
        return sha256(json.dumps(facts).encode()).hexdigest()[:32]

    @property
    def former_versions(self) -> tuple[str, ...]:
        """Empty: the version of a file has never had another form."""
        return ()

    @property
    def accepted(self) -> frozenset[str]:
        """Columns whose unreadable cells count as missing; see `Source.accepted`."""
        return frozenset(name for name, form in self.forms.items() if form.accepts_unreadable)

    @property
    def forms(self) -> dict[str, ColumnFormat]:
        """Forms of the cells of each column; see `CheckedSource.forms`."""
        found = {column.name: column.form for column in _texts(self.relation) if column.form}
        whole = self.schema.entire
        return found or {**{name: ColumnFormat(kind) for name, kind in whole.items()}, **(self.told.kinds or {})}

    @property
    def form(self) -> FileFormat | None:
        """Layout of a file of texts; None for other files. See `CheckedSource.form`."""
        return None if self.relation.check is None else self.relation.check.form

    def used(self) -> list[ColumnCheck]:
        """Return the checks of the unit and of the columns that queries may use; none unless the file holds texts."""
        return [column for column in _texts(self.relation) if column.name in self.schema or column.name == self.unit]

    def check(self, unit: str | None = None) -> Check:
        """Return the check of the records; see `Source.check`."""
        named = unit or self.unit
        if self.told.is_for_check and named not in self.schema:
            named = None  # `checked` refuses a unit that is no column, by its name
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
        return replace(self.relation.metadata.add_to(check), persons=persons)

    @property
    def version(self) -> str:
        """State of the file with its forms, since the counted values may change with either."""
        found = {column.name: column.form for column in _texts(self.relation) if column.form}
        forms = {name: form.parts for name, form in (found or self.told.kinds or {}).items()}
        form = None if self.form is None else self.form.parts
        said = [self.told.table, forms, *([] if form is None else [form])]
        return f"{self.state} {json.dumps(said, sort_keys=True)}" if any(said) else self.state

    @property
    def unit(self) -> str | None:
        """Column that names the person; None: each record is a privacy unit."""
        return self.told.unit

    @property
    def connection(self) -> duck.Connection:
        """Connection that holds the view `records`."""
        return self.cursors.connection

    def require_unchanged(self) -> None:
        """Raise SourceError if the file has changed; see `Source.require_unchanged`."""
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
        """Prepare the columns that a question reads, if the caller has not prepared them."""
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
        """Close the source. A count that is running is interrupted."""
        self.cursors.close()
