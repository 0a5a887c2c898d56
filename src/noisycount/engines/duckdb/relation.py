# ruff: noqa: S608, as all SQL here is made of names that it quotes
"""A file as its owner describes it, and as a relation of a connection."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from noisycount.engines.check import Check, ColumnCheck
from noisycount.engines.duckdb.cells import is_given_sql, typed_cell
from noisycount.engines.duckdb.check_facts import ParquetMetadata
from noisycount.engines.duckdb.connection import Connection, quoted_name
from noisycount.engines.duckdb.table import READ_TYPES, column_types
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.engines.interface import require_typed
from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.schema import Kind, Schema


def stated_forms(kinds: Mapping[str, Kind | ColumnFormat] | None) -> dict[str, ColumnFormat] | None:
    """Return stated kinds as forms; a kind alone becomes the usual form of its texts."""
    if kinds is None:
        return None
    return {n: ColumnFormat(kind) if isinstance(kind, Kind) else kind for n, kind in kinds.items()}


@frozen
class Description:
    """The owner's description of a file."""

    unit: str | None = None  # column that names the person; None: every row is a privacy unit
    columns: Sequence[str] | None = None  # columns that queries may use; None: all but the unit
    table: str | None = None  # table or sheet; None: the only one
    # stated forms of columns of texts; all others are guessed
    kinds: Mapping[str, ColumnFormat] | None = None
    form: FileFormat = FileFormat()  # layout of a file of texts
    claim: UnitClaim = UnitClaim()  # statements about the rows of a view
    is_for_check: bool = False  # True if the columns are only checked, the unit like the others, and nothing is counted
    is_known: bool = False  # True if `kinds` was stored when the file was opened before

    @property
    def coded(self) -> list[str]:
        """Columns whose values are codes, not the labels of the codes."""
        return [name for name, form in (self.kinds or {}).items() if form.codes]

    @property
    def spelled_unit(self) -> dict[str, ColumnFormat]:
        """Form of the unit by its name; empty if no spelling is stated, or if the unit is no text or integer."""
        return {
            name: form
            for name, form in (self.kinds or {}).items()
            if name == self.unit and form.kind in {Kind.TEXT, Kind.INTEGER} and form != ColumnFormat(form.kind)
        }


@frozen
class Relation:
    """A file as a relation of a connection."""

    sql: str  # SQL of the relation, as it follows FROM
    check: Check | None = None  # check of the columns of a file of texts; None for other files
    # returns the relation of some of its files, by their indices; None: every cell was read, or is read once
    part: Callable[[Connection, Sequence[int]], str] | None = None
    is_computed: bool = False  # True if it is a view of the file, whose cells are computed when they are read
    keys: tuple[str, ...] = ()  # columns whose values are in the names of folders
    is_of_pandas: bool = False  # True if pandas wrote all of its files, in which NaN is a missing value
    metadata: ParquetMetadata = ParquetMetadata()  # of Parquet files, for a check

    @property
    def column_checks(self) -> Sequence[ColumnCheck]:
        """Checks of the columns of a file of texts; none if the file states the types of its columns."""
        return () if self.check is None else self.check.columns

    @property
    def is_refused(self) -> bool:
        """True if unreadable cells prevent all answers."""
        return any(column.is_refused for column in self.column_checks)


def with_stated_unit(connection: Connection, relation: Relation, description: Description) -> Relation:
    """Return the relation of a file that states its types, with the texts of the unit read as the owner states."""
    for unit, form in description.spelled_unit.items():
        type_ = column_types(connection, relation.sql).get(unit, "")
        if form.kind is Kind.INTEGER and form != ColumnFormat(
            Kind.INTEGER, missing=form.missing, drop_missing=form.drop_missing
        ):
            raise SourceError(f"kinds states how the texts of {unit!r} are read, but they are numbers: leave it out")
        if type_ and READ_TYPES.get(type_, (None,))[0] is not form.kind:
            raise SourceError(f"kinds states how the texts of {unit!r} are read, but its type is {type_}: leave it out")
        name = quoted_name(unit)
        text = f"CAST({name} AS VARCHAR)"
        value = typed_cell(text, form)
        if form.kind is Kind.INTEGER:  # of any width
            value = f"CASE WHEN {is_given_sql(text, form)} THEN {name} END"
        if type_:  # a unit that is no column is refused later, by its name
            return _selected_relation(relation, f"* REPLACE ({value} AS {name})")
    return relation


def without_dropped_rows(relation: Relation, description: Description) -> Relation:
    """Return the relation without rows that name no unit, if the owner drops them. A check keeps all rows."""
    form = None if description.unit is None else (description.kinds or {}).get(description.unit)
    if form is None or not form.drop_missing or description.is_for_check:
        return relation
    return _selected_relation(relation, "*", f"WHERE {quoted_name(description.unit or '')} IS NOT NULL")


def _selected_relation(relation: Relation, columns: str, condition: str = "") -> Relation:
    """Return the relation with only some columns, and only the rows that meet a condition."""

    def query(sql: str) -> str:
        return f"(SELECT {columns} FROM {sql} {condition})"

    part = relation.part
    selected = None if part is None else lambda *words: query(part(*words))
    return replace(relation, sql=query(relation.sql), part=selected)


def with_nan_forms(place: object, description: Description, relation: Relation, schema: Schema) -> Description:
    """Return the description with the kinds that apply to a file that states its types.

    These are the form of the unit, and the columns of reals in which NaN is missing. If pandas wrote the file, NaN is
    missing in every column of reals, unless the owner states the kind of that column.
    """
    kinds = description.kinds or {}
    others = {name: form for name, form in kinds.items() if name not in description.spelled_unit}
    if description.is_known:
        others = {name: form for name, form in others.items() if schema.entire.kinds.get(name) is form.kind}
    missing = require_typed(repr(str(place)), others, schema, description.unit)
    if relation.is_of_pandas:
        reals = {name for name, kind in schema.entire.kinds.items() if kind is Kind.REAL}
        missing |= reals - kinds.keys() - {description.unit}
    nan_missing = {name: ColumnFormat(Kind.REAL, nan="missing") for name in sorted(missing)}
    return replace(description, kinds={**nan_missing, **description.spelled_unit} or None)
