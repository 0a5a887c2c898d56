"""Patterns of `like` as regular expressions of Java, which never try a part twice.

The operations of predicates and keys as columns of Spark.

Which types of Spark are which kind, and how columns of a kind are brought to one type.

The table or the Parquet files of a place, as they are now.

The records of a question: each column of the one type of its kind, and the unit.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import Any

from noisycount.engines.expressions import predicate_expression
from noisycount.engines.spark.sessions import Api, Columns, Fault, Frame, Functions, Session
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.grouping import Span
from noisycount.query.predicate import Column, Operator, Predicate
from noisycount.query.schema import Kind, Schema

__all__ = [
    "LOST",
    "UNIT",
    "ColumnType",
    "Look",
    "Records",
    "Relation",
    "SparkAlgebra",
    "records_of",
    "schema_of",
]


def java_regex(pattern: str) -> str:
    r"""The regular expression of a like pattern: `%` is any text, `_` one character.

    A text that matches a part in many places would take Spark's own `like` as many steps as there
    are choices of places, and one record could stop a count.

    Example:
        >>> print(java_regex("100%_\\"))
        (?s)\A100.*.\\\z
    """
    first, *rest = ("".join(map(_one, part)) for part in pattern.split("%"))
    middle = "".join(f"(?>.*?{part})" for part in rest[:-1])
    return rf"(?s)\A{first}{middle}{''.join(f'.*{part}' for part in rest[-1:])}\z"


def _one(character: str) -> str:
    """What matches a character of a pattern, which is literal unless it is `_`."""
    if character == "_":
        return "."
    return re.sub(r"[!-/:-@\[-`{-~]", r"\\\g<0>", character)


_COMPARISONS = {
    Operator.EQUAL: eq,
    Operator.NOT_EQUAL: ne,
    Operator.LESS: lt,
    Operator.AT_MOST: le,
    Operator.MORE: gt,
    Operator.AT_LEAST: ge,
}


_TYPES = {
    Kind.INTEGER: "bigint",
    Kind.REAL: "double",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp_ntz",
}


_NUMBER = "bigint"


@frozen
class SparkAlgebra:
    """Columns of one frame of records; see ``Algebra``.

    Attributes:
        functions: What makes columns.
        names: What the frame calls each column, each of the one type of its kind.
    """

    functions: Functions
    names: Mapping[str, str]

    def column(self, column: Column, kind: Kind) -> Columns:
        """The value of a column; see ``Algebra.column``."""
        value = self.functions.col(self.names[column.name])
        return value if column.kind is kind else value.cast(_TYPES[kind])

    def literal(self, value: object, kind: Kind) -> Columns:
        """A value of a kind; see ``Algebra.literal``.

        Days and times are bound as texts: as values they would be moved by the zone of a machine.
        """
        if isinstance(value, datetime):
            value = value.isoformat(" ")
        elif isinstance(value, date):
            value = value.isoformat()
        bound = self.functions.lit(value)
        return bound.cast(_TYPES[kind]) if kind in _TYPES else bound

    def number(self, value: int) -> Columns:
        """A whole number; see ``Algebra.number``."""
        return self.functions.lit(value).cast(_NUMBER)

    def nothing(self) -> Columns:
        """A missing whole number; see ``Algebra.nothing``."""
        return self.functions.lit(None).cast(_NUMBER)

    def constant(self, value: bool) -> Columns:  # noqa: FBT001 - it is a value
        """True or false."""
        return self.functions.lit(value)

    def compared(self, left: Columns, operator: Operator, right: Columns) -> Columns:
        """Whether two values compare so; see ``Algebra.compared``."""
        truth: Columns = _COMPARISONS[operator](left, right)
        return truth

    def is_one_of(self, value: Columns, choices: Sequence[Columns]) -> Columns:
        """Whether a value equals one of some."""
        return value.isin(list(choices))

    def is_like(self, text: Columns, pattern: str) -> Columns:
        """Whether a text is like a pattern; see ``Algebra.is_like``."""
        return text.rlike(java_regex(pattern))

    def is_missing(self, value: Columns) -> Columns:
        """Whether there is no value."""
        return value.isNull()

    def negated(self, truth: Columns) -> Columns:
        """True where an expression is false."""
        return ~truth

    def all_of(self, truths: Sequence[Columns]) -> Columns:
        """True where all are."""
        return _joined(and_, truths)

    def any_of(self, truths: Sequence[Columns]) -> Columns:
        """True where one is."""
        return _joined(or_, truths)

    def chosen(self, truth: Columns, then: Columns, otherwise: Columns) -> Columns:
        """One expression where another is true, and else a third; see ``Algebra.chosen``."""
        return self.functions.when(truth, then).otherwise(otherwise)

    def day(self, moment: Columns) -> Columns:
        """The number of a day; see ``Algebra.day``."""
        make = self.functions
        year = make.year(moment).cast(_NUMBER)
        return year * 10_000 + make.month(moment) * 100 + make.dayofmonth(moment)

    def period(self, moment: Columns, span: Span) -> Columns:
        """The number of a period; see ``Algebra.period``."""
        make = self.functions
        year = make.year(moment).cast(_NUMBER)
        match span:
            case Span.YEAR:
                return year
            case Span.QUARTER:
                return year * 4 + make.quarter(moment) - 1
            case Span.MONTH:
                return year * 12 + make.month(moment) - 1


def _joined(join: Callable[[Columns, Columns], Columns], truths: Sequence[Columns]) -> Columns:
    """Truths joined in pairs of pairs: in a row, thousands would be too deep for Spark."""
    if len(truths) == 1:
        return truths[0]
    middle = len(truths) // 2
    return join(_joined(join, truths[:middle]), _joined(join, truths[middle:]))


_TYPES_KINDS = {
    Kind.INTEGER: "tinyint smallint int bigint",
    Kind.REAL: "float double decimal",
    Kind.TEXT: "string char varchar time",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp timestamp_ntz",
}


_KINDS = {type_: kind for kind, types in _TYPES_KINDS.items() for type_ in types.split()}


_CASTS = {Kind.INTEGER: "bigint", Kind.REAL: "double", Kind.TIMESTAMP: "timestamp_ntz"}


_EXACT_DIGITS = 15  # that every double keeps


_CHARACTERS = "__CHAR_VARCHAR_TYPE_STRING"  # where Spark notes that texts have a length


_REASONS = {
    "time": "Spark says that they are times of day, which are texts such as '08:30:00' here",
    "timestamp": "Spark says so, and they are read in UTC",
    "char": "Spark says so, and blanks at the end of its texts do not count",
}


_BINARY = "UTF8_BINARY"


@frozen
class ColumnType:
    """The type of a column.

    Attributes:
        name: Of the type, such as `decimal(10,2)` or `array`.
        is_required: Whether no value may be missing.
    """

    name: str
    is_required: bool

    @classmethod
    def of_field(cls, field: Any) -> "ColumnType":  # noqa: ANN401 - of Spark
        """The type of a field of a schema."""
        name = field.metadata.get(_CHARACTERS) or field.dataType.simpleString()
        return cls(re.split("<", name)[0], not field.nullable)

    @property
    def base(self) -> str:
        """The name without its length or collation."""
        return re.split(r"[( ]", self.name)[0]

    @property
    def kind(self) -> Kind | None:
        """The kind of its values; None: no question can use them."""
        return _KINDS.get(self.base)

    @property
    def reason(self) -> str:
        """Why it has that kind, and what is not kept of its values."""
        digits = re.match(r"decimal\(([0-9]+)", self.name)
        if digits and int(digits[1]) > _EXACT_DIGITS:
            return "Spark says so, and of more than 15 digits the nearest number is taken"
        return _REASONS.get(self.base, "Spark says so")


def schema_of(types: Mapping[str, ColumnType]) -> Schema:
    """The schema of columns of these types."""
    kinds = {name: type_.kind for name, type_ in types.items()}
    return Schema(
        {name: kind for name, kind in kinds.items() if kind is not None},
        {name: types[name].name for name, kind in kinds.items() if kind is None},
    )


def converted(column: Columns, type_: ColumnType, functions: Functions) -> Columns:
    """The values of a column as those of the one type of its kind, and none of them an error.

    Texts are compared by their code points, whatever the collation of the column.
    """
    if type_.kind is Kind.TEXT:
        text = column.cast("string") if type_.base == "time" else column
        if type_.base == "char":
            text = functions.rtrim(text)
        return functions.collate(text, _BINARY)
    cast = _CASTS.get(type_.kind) if type_.kind else None
    return column if cast is None else column.cast(cast)


STORED = frozenset({"MANAGED", "EXTERNAL", "MATERIALIZED_VIEW", "STREAMING_TABLE"})


"""What the catalog calls tables whose cells are there; a view makes those that a question needs."""


@frozen
class Look:
    """What a relation was at one time.

    Attributes:
        frame: Its records, with columns `column_name(0)`, `column_name(1)` and so on: the names
            that its owner gave may have dots and marks, or differ only in case.
        types: Of its columns, by their own names in their order.
    """

    frame: Frame
    types: dict[str, ColumnType]


@frozen
class Relation:
    """Where records are.

    Attributes:
        session: Reads them.
        table: A table of the catalog, or a path or an address of Parquet files.
        is_made_here: Whether it is a view that the session itself made of records of its own.
    """

    session: Session
    table: str
    is_made_here: bool = False

    @property
    def is_of_files(self) -> bool:
        """Whether it is a path or an address of Parquet files."""
        return self.table.startswith("/") or "://" in self.table

    def look(self, seconds: float | None = None) -> Look:
        """What the relation is now.

        Args:
            seconds: After which that is given up.

        Raises:
            SourceError: It is not there, may not be read, has two columns of one name, or is a
                view: what it computes could fail at those records alone that a question needs.
        """
        frame, fields = self.session.asked(self._found, seconds)
        self._require_stored(seconds)
        types = {field.name: ColumnType.of_field(field) for field in fields}
        if len(types) < len(fields):
            raise SourceError(f"{self.session.shown} {Fault.TWICE.value}")
        return Look(frame, types)

    def _found(self) -> tuple[Frame, list[Any]]:
        """The records under names of ours, and the fields that they have.

        All files are looked at: of one alone, columns that others have would be left out.
        """
        session = self.session.api.session
        if self.is_of_files:
            found = session.read.option("mergeSchema", "true").parquet(self.table)
        else:
            session.catalog.refreshTable(self.table)
            found = session.table(self.table)
        fields = list(found.schema.fields)
        return found.toDF(*map(column_name, range(len(fields)))), fields

    def _require_stored(self, seconds: float | None) -> None:
        """The refusal of views of others.

        Raises:
            SourceError: It is one.
        """
        if self.is_of_files or self.is_made_here:
            return
        if self.session.asked(self._kind, seconds) not in STORED:
            raise SourceError(
                f"{self.session.shown} is a view, which computes cells when they are read: that "
                "can fail at one record and tell which, so name a table that holds its records"
            )

    def _kind(self) -> str:
        """What the catalog calls it."""
        return str(self.session.api.session.catalog.getTable(self.table).tableType)


def column_name(place: int) -> str:
    """What a frame calls its column at a place, from 0."""
    return f"c{place}"


UNIT = "u"


"""What frames call the unit of a record."""


LOST = "lost"


"""What frames call whether a record has no unit."""


@frozen
class Records:
    """Records that can be counted.

    Attributes:
        api: What makes expressions.
        frame: The columns that questions may use, and the unit.
        algebra: Makes expressions of the frame.
        unit_kind: Of the unit; None: every record is one unit.
        uses_indexes: Whether records that do not match may be left out by a filter, which can be
            faster, and then takes a time that tells how many match.
    """

    api: Api
    frame: Frame
    algebra: SparkAlgebra
    unit_kind: Kind | None
    uses_indexes: bool

    @property
    def has_units(self) -> bool:
        """Whether a column names the person."""
        return self.unit_kind is not None

    def truth(self, predicate: Predicate) -> Columns:
        """Whether a record matches; unknown where that is."""
        return predicate_expression(predicate, self.algebra)

    def matches(self, predicate: Predicate | None) -> Columns:
        """1 of a record that matches, and 0 of others."""
        one, zero = (self.api.functions.lit(number) for number in (1, 0))
        if predicate is None:
            return one
        return self.api.functions.when(self.truth(predicate), one).otherwise(zero)

    def is_lost(self) -> Columns:
        """1 of a record without a unit, and 0 of others."""
        make = self.api.functions
        return make.when(make.col(UNIT).isNull(), make.lit(1)).otherwise(make.lit(0))

    def of_any(self, predicates: Sequence[Predicate]) -> Frame:
        """The records, or, where a filter may be used, those that one of some may match."""
        if not self.uses_indexes or not predicates:
            return self.frame
        wanted = self.algebra.any_of([self.truth(each) for each in predicates])
        if self.has_units:
            wanted |= self.api.functions.col(UNIT).isNull()
        return self.frame.where(wanted)


def records_of(
    api: Api, look: Look, kinds: Mapping[str, Kind], unit: str | None, *, uses_indexes: bool
) -> Records:
    """The records of a relation as it was looked at.

    Args:
        api: What makes expressions.
        look: The relation.
        kinds: Of the columns that questions may use.
        unit: The column that names the person, or None where every record is one unit.
        uses_indexes: As `Records` has it.
    """
    names = {name: column_name(place) for place, name in enumerate(look.types)}

    def value(name: str) -> Columns:
        return converted(api.functions.col(names[name]), look.types[name], api.functions)

    shown = [value(name).alias(names[name]) for name in kinds]
    if unit is not None:
        shown.append(value(unit).alias(UNIT))
    frame = look.frame.select(*(shown or [api.functions.lit(1)]))
    unit_kind = None if unit is None else _kind(look.types[unit])
    algebra = SparkAlgebra(api.functions, names)
    return Records(api, frame, algebra, unit_kind, uses_indexes)


def _kind(type_: ColumnType) -> Kind | None:
    return type_.kind
