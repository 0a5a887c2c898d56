# ruff: noqa: S608, as all SQL here is made of names that it quotes
"""Sources of records in files of all known formats, counted by DuckDB in a connection that can read nothing else."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

import duckdb

from noisycount.display.texts import redacted_name
from noisycount.engines import places
from noisycount.engines.check import Check, ColumnCheck
from noisycount.engines.counting import EngineSource, Reading
from noisycount.engines.counts import values_statement
from noisycount.engines.duckdb import connection as duck
from noisycount.engines.duckdb import files, foreign
from noisycount.engines.duckdb.check_facts import with_value_facts
from noisycount.engines.duckdb.dialect import DuckDBCounting
from noisycount.engines.duckdb.relation import (
    Description,
    Relation,
    stated_forms,
    with_nan_forms,
    with_stated_unit,
    without_dropped_rows,
)
from noisycount.engines.duckdb.table import (
    column_types,
    create_records,
    require_units,
    type_reason,
    typed_values,
    whole_schema,
)
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.engines.interface import missing_units_error, require_readable
from noisycount.engines.persons import persons_of
from noisycount.engines.places import LakePlace, files_of
from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import SourceError, install_hint
from noisycount.frozen import frozen
from noisycount.query.predicate import Column
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


def _without_engine_errors(work: Callable[[], duck.Result], path: object, kind: files.Format) -> duck.Result:
    """Return the result of work that reads a file. An error of the engine becomes a SourceError without its text."""
    return duck.without_engine_errors(
        work,
        f"{str(path)!r} cannot be read as {kind.name}: check that {kind.check}",
        f"{str(path)!r} needs more memory than there is: {kind.relief}",
    )


@frozen
class DuckDBSource(EngineSource):
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
    description: Description
    state: str
    relation: Relation
    format: files.Format
    values: Mapping[str, str]  # SQL of the value of each column that counts read, by its name
    # for each file, digests of the columns whose cells were all read; `require_sound` adds to them
    proofs: Sequence[set[str]]
    seconds: float | None = None
    view: str = "records"  # name of the view of the records in the connection
    proving: Lock = field(default_factory=Lock)  # held while `require_sound` reads columns
    column_proofs: dict[str, str] = field(default_factory=dict)  # digest of each column that was asked about, by name

    @classmethod
    def open(cls, path: Path | str, **options: Any) -> Self:  # noqa: ANN401 - as `open_unprepared` takes it
        """Open a file as `open_unprepared` does. Raise SourceError if the file or one of its cells cannot be read."""
        source = cls.open_unprepared(path, **options)
        try:
            source.prepare()
        except BaseException:
            source.close()
            raise
        return source

    @classmethod
    def open_unprepared(  # noqa: PLR0913 - one argument a property of the file
        cls,
        path: Path | str,
        *,
        unit: str | None = None,
        columns: Sequence[str] | None = None,
        table: str | None = None,
        kinds: Mapping[str, Kind | ColumnFormat] | None = None,
        form: FileFormat = FileFormat(),  # noqa: B008 - frozen
        claim: UnitClaim | None = None,
        is_for_check: bool = False,
        is_known: bool = False,
        **options: Any,  # noqa: ANN401 - as `_open_as` takes them
    ) -> Self:
        """Open a file, whether its cells are readable or not.

        Args:
            path: A file with a known ending, taken literally.
            unit: The column that names the person; None: each row is a privacy unit.
            columns: The columns that queries may use; None: all but the unit.
            table: The table or sheet; None: the only one.
            kinds: The forms of columns of texts. The unit is a text by default; other columns are guessed.
            form: The layout of a file of texts.
            claim: The owner's statements about the rows of a view; None: only the unit.
            is_for_check: True if the columns are only checked, the unit like the others; nothing is counted.
            is_known: True if `kinds` was stored when the file was opened before.
            options: `seconds`, `copy`, `proofs`, `session` and `copies_types`; see `_open_as`.
        """
        claim = claim or UnitClaim(unit, is_stated=not is_for_check)
        description = Description(unit, columns, table, stated_forms(kinds), form, claim, is_for_check, is_known)
        kind = files.format_of(Path(path), description)
        return cls._open_as(kind, Path(path), description, **options)

    @staticmethod
    def require_stable(path: Path, table: str | None, claim: UnitClaim) -> None:
        """Raise SourceError if a table of a file, of which a copy exists, is a view that may not be counted."""
        if files.format_of(path, Description(table=table, claim=claim)) is files.SQLITE:
            foreign.require_stable_sqlite(path, table, claim)

    @classmethod
    def of_copy(
        cls,
        copy: Path,
        forms: Mapping[str, ColumnFormat],
        *,
        unit: str | None = None,
        columns: Sequence[str] | None = None,
        **options: Any,  # noqa: ANN401 - as `_open_as` takes them
    ) -> Self:
        """Open a copy that `open_unprepared` wrote. `forms` are the formats of the columns in the original file."""
        return cls._open_as(files.COPY, copy, Description(unit, columns, None, forms), **options)

    @classmethod
    def of_lake(
        cls,
        place: LakePlace,
        *,
        unit: str | None = None,
        columns: Sequence[str] | None = None,
        kinds: Mapping[str, ColumnFormat] | None = None,
        **options: Any,  # noqa: ANN401 - as `_open_as` takes them
    ) -> Self:
        """Open the Parquet files of a place on an object store. Only the cells that a count needs are read."""
        try:
            from noisycount.engines.duckdb.lake import Lake  # noqa: PLC0415 - needs packages of an extra

            lake = Lake.find(place)
        except ImportError:
            package = _BEYOND.get(place.shown.partition("://")[0])
            beyond = f", and the package {package}" if package else ""
            raise SourceError(
                f"{place.shown!r} needs packages that are not here: {install_hint('lake')}{beyond}"
            ) from None
        return cls._open_as(files.LAKE, lake, Description(unit, columns, kinds=kinds), **options)

    @classmethod
    def check_file(cls, path: Path | str, *, columns: Sequence[str] | None = None, **options: Any) -> Check:  # noqa: ANN401 - as `open_unprepared` takes it
        """Return the check of a file, for its owner, even if cells are unreadable; see `open_unprepared`."""
        source = cls.open_unprepared(path, is_for_check=True, **options)
        with source, source.cursors.cursor_for_query() as cursor:
            check = with_value_facts(cursor, source.check(), source.unit)
        types = {column.name: column.type for column in check.columns}
        Schema({}, types).for_questions(source.unit, columns)  # names of no column are refused
        return check

    @staticmethod
    def knows(path: Path) -> bool:
        """Return True if a file has the ending of a known format."""
        return any(path.name.lower().endswith(ending) for ending in files.FORMATS)

    @staticmethod
    def can_have_tables(path: Path) -> bool:
        """Return True if a file has the ending of a format whose files can have several tables."""
        kinds = (kind for ending, kind in files.FORMATS.items() if path.name.lower().endswith(ending))
        return any(kind.has_tables for kind in kinds)

    shares_records = staticmethod(files.shares_records)

    @classmethod
    def _open_as(  # noqa: PLR0913 - one argument a property of the file
        cls,
        kind: files.Format,
        path: "Path | Lake",
        description: Description,
        *,
        seconds: float | None = None,
        copy: Path | None = None,
        proofs: Sequence[set[str]] | None = None,
        session: duck.Cursors | None = None,
        copies_types: bool = False,
    ) -> Self:
        """Open a file of a known format; its cells may be unreadable.

        Args:
            kind: The format.
            path: The file, or the files of an object store.
            description: The file as its owner describes it.
            seconds: Time limit of a count; None: no limit.
            copy: Where to write the values of a file of texts, for `of_copy`.
            proofs: For each file in its present state, the digests of columns that `require_sound` has read.
            session: The connection that Parquet files share with other tables; None: one of its own.
            copies_types: True if the values of a file that states its types are copied too.
        """
        place = duck.require_readable_place(path) if isinstance(path, Path) else path
        state = state_of(place)
        cursors = duck.Cursors(duck.private_connection()) if session is None else session
        connection, view = cursors.connection, "records" if session is None else session.new_view()

        def readable() -> tuple[Schema, Relation, Description, dict[str, str]]:
            if description.coded and kind is not files.STATISTICS and kind is not files.COPY:
                raise foreign.no_labels_error(description.coded[0])
            if copies_types and copy is not None:  # before a database takes all other access
                connection.execute(f"SET allowed_directories = [{duck.quoted_text(copy.parent.as_posix())}]")
            relation = kind.relation(connection, place, description)
            states_types = relation.check is None and kind is not files.COPY
            if states_types:
                relation = with_stated_unit(connection, relation, description)
            relation = without_dropped_rows(relation, description)
            unit = None if description.is_for_check else description.unit
            require_readable(repr(str(path)), [column for column in relation.column_checks if column.name == unit])
            types = column_types(connection, relation.sql)
            schema = whole_schema(types).for_questions(unit, description.columns)
            whole_description, nan_missing = description, list[str]()
            if states_types:
                whole_description = with_nan_forms(place, description, relation, schema)
                nan_missing = [name for name, form in (whole_description.kinds or {}).items() if form.nan]
            values = typed_values(types, schema, nan_missing)
            values |= {} if schema.unit is None else {schema.unit: duck.quoted_name(schema.unit)}
            columns = [f"{value} AS {duck.quoted_name(name)}" for name, value in values.items()]
            create_records(connection, relation.sql, columns, view, is_computed=relation.is_computed)
            if relation.part is None:
                require_units(connection, view, schema.unit)
            return schema, relation, whole_description, values

        try:
            schema, relation, description, values = _without_engine_errors(readable, path, kind)
            proofs = [set() for _ in files_of(place)] if proofs is None and isinstance(place, Path) else proofs
            require_state(place, state, "was read")
            files.write_copy(connection, copy, relation, view, schema.unit, copies_types=copies_types)
            if session is None:
                duck.lock(connection)
        except BaseException:
            if session is None:  # a shared connection has other tables
                cursors.close()
            raise
        return cls(cursors, place, schema, description, state, relation, kind, values, proofs or (), seconds, view)

    def prepare(self, columns: Collection[str] | None = None) -> None:
        """Raise SourceError if cells are unreadable or cannot be read; see `Source.prepare`."""
        require_readable(repr(str(self.path)), self.used_column_checks())
        self.require_sound(columns)

    def require_sound(self, columns: Collection[str] | None = None) -> None:
        """Read some columns and the unit's column in all files in which they have not been read yet.

        A count that failed at a broken cell would reveal after the debit that the record exists. For `columns` None,
        all columns that queries may use are read.

        Raises:
            SourceError: A cell cannot be read, or a record has no unit.
        """
        part = self.relation.part
        if part is None:
            return
        columns_read = self.values if columns is None else {*columns, self.unit}
        column_of_proof = {self._reading_digest(name): name for name in self.values if name in columns_read}
        with self.proving:
            numbers = [
                number for number, file_proofs in enumerate(self.proofs) if not column_of_proof.keys() <= file_proofs
            ]
            new_proofs = {
                proof: name
                for proof, name in column_of_proof.items()
                if any(proof not in self.proofs[n] for n in numbers)
            }
            if not new_proofs:
                return
            self.require_unchanged()

            def without_unit() -> int:
                # DuckDB computes the value of every row for `any_value` too, which takes less time than a hash
                values = ", ".join(f"any_value({self.values[name]})" for name in new_proofs.values())
                units = "0" if self.schema.unit is None else f"count(*) - count({self.values[self.schema.unit]})"
                with self.cursors.cursor_for_query() as cursor:
                    (row,) = cursor.execute(f"SELECT {units}, {values} FROM {part(cursor, numbers)}").fetchall()
                return int(row[0])

            if _without_engine_errors(without_unit, self.path, self.format):
                raise missing_units_error(self.unit or "")
            self.require_unchanged()
            for number in numbers:
                self.proofs[number].update(new_proofs)

    def _reading_digest(self, name: str) -> str:
        """Return a digest of the rules by which the cells of a column are read. The unit has rules of its own."""
        if (known := self.column_proofs.get(name)) is not None:
            return known
        facts: list[object] = [duckdb.__version__, self.description.table, self.values[name], name == self.unit]
        # the form of the unit decides which rows are dropped
        facts += [form.parts for form in self.description.spelled_unit.values()]
        proof = self.column_proofs[name] = sha256(json.dumps(facts).encode()).hexdigest()[:32]
        return proof

    @property
    def accepted(self) -> frozenset[str]:
        """Columns whose unreadable cells count as missing; see `Source.accepted`."""
        return frozenset(name for name, form in self.forms.items() if form.accepts_unreadable)

    @property
    def forms(self) -> dict[str, ColumnFormat]:
        """Forms of the cells of each column; see `CheckedSource.forms`."""
        forms_of_kinds = {name: ColumnFormat(kind) for name, kind in self.schema.entire.items()}
        return self._text_forms or {**forms_of_kinds, **(self.description.kinds or {})}

    @property
    def _text_forms(self) -> dict[str, ColumnFormat]:
        """Forms of the columns of a file of texts; empty for other files."""
        return {column.name: column.form for column in self.relation.column_checks if column.form}

    @property
    def form(self) -> FileFormat | None:
        """Layout of a file of texts; None for other files. See `CheckedSource.form`."""
        return None if self.relation.check is None else self.relation.check.form

    def used_column_checks(self) -> list[ColumnCheck]:
        """Return the checks of the unit and of the columns that queries may use; none unless the file holds texts."""
        return [
            column for column in self.relation.column_checks if column.name in self.schema or column.name == self.unit
        ]

    def check(self, unit: str | None = None) -> Check:
        """Return the check of the records; see `Source.check`."""
        unit_column = unit or self.unit
        if self.description.is_for_check and unit_column not in self.schema:
            unit_column = None  # `check_file` refuses a unit that is no column, by its name
        if self.relation.check is not None and unit_column is None:
            return self.relation.check
        check = self._opened_counting(unit_column).run(partial(self._check_records, unit_column))
        if check.persons is None:
            return check
        kind = self.schema.entire.kinds.get(unit_column or "")
        is_stated = isinstance(self.path, Path) and kind in {Kind.TEXT, Kind.INTEGER}
        return replace(check, persons=replace(check.persons, has_stated_ids=is_stated))

    def _check_records(self, unit: str | None, reading: Reading) -> Check:
        """Return the check of open records, with facts about the persons whom a column names."""
        text_check, person = self.relation.check, reading.records.person
        if text_check is not None and person is not None:
            rows, units = reading.rows(values_statement((), person, reading.records))[0]
            with_gaps = [
                Column(column.name, self.schema[column.name])
                for column in text_check.columns
                if column.name in self.schema and column.missing
            ]
            persons = persons_of(with_gaps, person, reading.records, reading.rows)
            return replace(text_check, rows=rows, units=units, persons=persons)
        with self.cursors.cursor_for_query() as cursor:
            described = cursor.sql(f"SELECT * FROM {self.relation.sql}")
            types = dict(zip(described.columns, map(str, described.types), strict=True))
        reasons = {name: type_reason(type_) for name, type_ in types.items()}
        reasons |= dict.fromkeys(self.relation.keys, "folders are named by it")
        if self.relation.is_of_pandas:
            of_pandas = [name for name, form in (self.description.kinds or {}).items() if form.nan]
            reasons |= dict.fromkeys(of_pandas, "pandas wrote the file, in which NaN is a missing value")
        check = reading.check(self.schema, unit, reasons=reasons, forms=self.description.kinds)
        return self.relation.metadata.add_to(check)

    @property
    def version(self) -> str:
        """State of the file with its forms, since the counted values may change with either."""
        stated_forms = self._text_forms or self.description.kinds or {}
        forms = {name: form.parts for name, form in stated_forms.items()}
        form = None if self.form is None else self.form.parts
        statements = [self.description.table, forms, *([] if form is None else [form])]
        return f"{self.state} {json.dumps(statements, sort_keys=True)}" if any(statements) else self.state

    @property
    def unit(self) -> str | None:
        """Column that names the person; None: each record is a privacy unit."""
        return self.description.unit

    def require_unchanged(self) -> None:
        """Raise SourceError if the file has changed; see `Source.require_unchanged`."""
        self.cursors.require_open()
        require_state(self.path, self.state, "was open")

    def _counting(self, columns: Collection[str]) -> DuckDBCounting:
        self.prepare(columns)
        return self._opened_counting(self.unit)

    def _opened_counting(self, unit: str | None) -> DuckDBCounting:
        """Return the counting of records, whose persons a column names."""
        refusal = (
            f"{str(self.path)!r} cannot be counted: check that the file is whole, "
            "that it is not closed meanwhile, and that memory is free"
        )
        return DuckDBCounting(self.cursors.cursor_for_query, unit, self.schema, self.seconds, refusal)

    def close(self) -> None:
        """Close the source. A count that is running is interrupted."""
        self.cursors.close()
