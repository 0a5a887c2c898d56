"""What engines say in their own way in the counting statement, and the text of one for those that take no other."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import ClauseElement
from sqlalchemy.types import NullType, TypeEngine

from noisycount.errors import SourceError
from noisycount.query.grouping import NumberRanges
from noisycount.query.schema import Kind


class TextCompiler(SQLCompiler):
    """What writes a statement: each value is bound by its name, and cast to its type."""

    def bindparam_string(  # type: ignore[override]  # of its many options these are of use
        self, name: str, *, bindparam_type: TypeEngine[Any] | None = None, **_: object
    ) -> str:
        """A value where it is used."""
        marked = f"{self.dialect.mark}{name}"  # type: ignore[attr-defined]  # of ours
        if bindparam_type is None or isinstance(bindparam_type, NullType):
            return marked
        return f"CAST({marked} AS {self.dialect.type_compiler_instance.process(bindparam_type)})"


class TextDialect(DefaultDialect):
    """What SQLAlchemy is to know of such an engine."""

    mark: ClassVar[str] = ":"  # what stands before the name of a value
    statement_compiler = TextCompiler
    supports_native_boolean = True

    def __init__(self) -> None:
        super().__init__(paramstyle="named")


def text_of(statement: ClauseElement, dialect: TextDialect) -> tuple[str, dict[str, Any]]:
    """The text of a statement, and its values by their names."""
    compiled = statement.compile(dialect=dialect)
    return str(compiled), dict(compiled.params)


Expression: TypeAlias = sa.ColumnElement[Any]
Lists: TypeAlias = Mapping[str, tuple[Sequence[Any] | NDArray[Any], TypeEngine[Any]]]
"""The values of each column of a list of rows, and their type; all columns have as many."""
ONE, NOTHING = (sa.literal_column(digit, sa.Integer) for digit in "10")
_PAIRS_OF_DIGITS = range(31, 0, -2)  # of a hash: the places of its bytes, from the last on


def whole(number: int) -> Expression:
    """A whole number of ours, of 64 bits."""
    return sa.literal_column(str(number), sa.BigInteger)


OUTSIDE = whole(-1)
"""What stands for keys of no group: no number of a range, a period or a day, and one that fits into four bytes."""


class Dialect:
    """An engine, as far as its part of the statement is not that of all."""

    collation: str | None = None  # the name of that which compares texts by their code points
    text_type: TypeEngine[str] = sa.Text()  # that of texts
    has_booleans = True  # whether conditions are values
    keeps_keys = False  # whether keys are told as they are; else days are numbers of eight digits
    joins_missing = False  # whether it joins by keys of which some are missing as fast as by others
    # whether it counts the distinct units of one predicate, or of one cell, faster than it groups by them
    counts_distinct = True
    most_bound = 32_767  # how many values a statement may have

    def text(self, value: Expression) -> Expression:
        """A value as a text that is compared by its code points."""
        text = sa.cast(value, self.text_type)
        return text if self.collation is None else text.collate(self.collation)

    def text_literal(self, value: str) -> Expression:
        """A bound text."""
        return sa.literal(value, self.text_type)

    def is_like(self, text: Expression, pattern: str) -> Expression:
        r"""Whether a text is like a pattern in which nothing escapes.

        Each \ of it is written twice, as it escapes in some servers unless they are told another.
        """
        return text.like(self.text_literal(pattern.replace("\\", "\\\\")), escape="\\")

    def integer(self, value: Expression) -> Expression:
        """A whole number of any width as one that is compared with listed keys."""
        return sa.cast(value, sa.BigInteger)

    def double(self, value: Expression) -> Expression:
        """A number as a double."""
        return sa.cast(value, sa.Double())

    def nearest_double(self, value: Expression) -> Expression:
        """The nearest double of a decimal number of any size."""
        return self.double(value)

    def in_utc(self, moment: Expression) -> Expression:
        """A moment as a time in UTC, which is the zone of the session."""
        return sa.cast(moment, sa.DateTime())

    def part(self, name: str, moment: Expression) -> Expression:
        """The year, month or day of a date or time."""
        return sa.cast(sa.extract(name, moment), sa.BigInteger)

    def unit_text(self, unit: Expression, kind: Kind | None) -> Expression:
        """The text of a unit, as `truth.unit_text` has it; of none an empty one.

        `kind`: of its values; None: they are kept as something that has one text.
        """
        if kind is Kind.BOOLEAN:
            condition = unit if self.has_booleans else unit == ONE
            words = self.text_literal("true"), self.text_literal("false")
            text: Expression = sa.case((condition, words[0]), else_=words[1])
        else:
            text = self.text(unit)
        return sa.case((unit.is_(None), self.text_literal("")), else_=text)

    def day(self, text: Expression) -> Expression:
        """Return the day that a text names as ISO 8601 writes it."""
        return sa.cast(text, sa.Date())

    def trimmed(self, text: Expression) -> Expression:
        """Return a text without the blanks at its ends."""
        return sa.func.trim(text, type_=self.text_type)

    def translated(self, text: Expression, characters: str, substitutes: str) -> Expression:
        """Return a text with a substitute in place of each of some characters."""
        return sa.func.translate(
            text, self.text_literal(characters), self.text_literal(substitutes), type_=self.text_type
        )

    def md5(self, text: Expression) -> Expression:
        """The hash of a text, as 32 small hexadecimal digits."""
        return sa.func.md5(text)

    def hashed(self, text: Expression) -> Expression:
        """The hash of a text as something that `in_order` puts in order."""
        return self.md5(text)

    def in_order(self, hashed: Expression) -> Expression:
        """Hashes in their order as numbers, whose last byte counts most."""
        first, *rest = (self.part_of(hashed, place, 2) for place in _PAIRS_OF_DIGITS)
        return self.text(sum(rest, first))

    def length(self, text: Expression) -> Expression:
        """How many characters a text has."""
        return sa.func.char_length(text)

    def part_of(self, text: Expression, first: int, size: int) -> Expression:
        """So many characters of a text, from one on; the first is 1."""
        return sa.func.substr(text, first, size, type_=self.text_type)

    def range_code(self, value: Expression, edges: Sequence[int | float]) -> Expression | None:
        """The code of a number among many rising edges, if the engine finds it itself."""
        del value, edges
        return None

    def with_ranges(self, rows: sa.Select[Any], wide: Mapping[str, NumberRanges]) -> sa.Select[Any]:
        """Rows whose keys of parts with many edges are what `range_code` made of them."""
        del wide
        return rows

    def one_spelling(self, text: Expression) -> Expression:
        """Return what texts have in common that may be spellings of one text."""
        return sa.func.lower(sa.func.trim(text))

    def evaluated_once(self, rows: sa.Select[Any]) -> sa.Select[Any]:
        """Rows whose expressions are not put where they are used, if the server would do that."""
        return rows

    def number_where(self, truth: Expression) -> Expression:
        """How often a condition is true: servers count ones faster than they add up noughts."""
        return sa.func.count(sa.case((truth, ONE)))

    def flag(self, truth: Expression) -> Expression:
        """A condition as `is_any`, `number_of` and `is_set` take it: 1 where it is true, else 0."""
        return sa.case((truth, ONE), else_=NOTHING)

    def is_any(self, flag: Expression) -> Expression:
        """Whether one of a group is so, as a flag."""
        return sa.func.max(flag)

    def number_of(self, flag: Expression) -> Expression:
        """How many flags are set, 0 of no records; or the sum of whole numbers."""
        return sa.cast(sa.func.coalesce(sa.func.sum(flag), NOTHING), sa.BigInteger)

    def is_set(self, flag: Expression) -> Expression:
        """A flag as a condition."""
        return flag == ONE

    def listed(self, name: str, columns: Lists) -> sa.FromClause:
        """Bound rows, with their `place` from 1 on."""
        rows = list(zip(*(_values(values) for values, _ in columns.values()), strict=True))
        if len(rows) * len(columns) > self.most_bound:
            raise SourceError(
                f"a table of more than {self.most_bound // len(columns)} listed keys cannot be "
                "counted on this server: list fewer, or group them more coarsely"
            )
        types = {column: type_ for column, (_, type_) in columns.items()}
        selects = [_row(types, row, place) for place, row in enumerate(rows, 1)]
        return sa.union_all(*(selects or [_no_row(types)])).subquery(name)


def _values(values: Sequence[Any] | NDArray[Any]) -> Sequence[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else values


def _row(types: Mapping[str, TypeEngine[Any]], row: Sequence[Any], place: int) -> sa.Select[Any]:
    values = [
        sa.cast(sa.literal(value, type_), type_).label(column)
        for (column, type_), value in zip(types.items(), row, strict=True)
    ]
    return sa.select(*values, whole(place).label("place"))


def _no_row(types: Mapping[str, TypeEngine[Any]]) -> sa.Select[Any]:
    values = [sa.cast(sa.null(), type_).label(column) for column, type_ in types.items()]
    return sa.select(*values, whole(0).label("place")).where(whole(0) == whole(1))
