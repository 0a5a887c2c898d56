"""The base of all dialects: what may differ between engines in the counting statements.

`TextDialect` compiles a statement to text with named values, for engines without a driver in SQLAlchemy.
"""

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
from noisycount.query.person_values import Shifted
from noisycount.query.schema import Kind


class TextCompiler(SQLCompiler):
    """A compiler that binds each value by its name, and casts it to its type."""

    def bindparam_string(  # type: ignore[override]  # other options are not used
        self, name: str, *, bindparam_type: TypeEngine[Any] | None = None, **_: object
    ) -> str:
        """Return the text of a bound value."""
        marked = f"{self.dialect.mark}{name}"  # type: ignore[attr-defined]  # of `TextDialect`
        if bindparam_type is None or isinstance(bindparam_type, NullType):
            return marked
        return f"CAST({marked} AS {self.dialect.type_compiler_instance.process(bindparam_type)})"


class TextDialect(DefaultDialect):
    """SQLAlchemy's description of an engine without a driver."""

    mark: ClassVar[str] = ":"  # character before the name of a value
    statement_compiler = TextCompiler
    supports_native_boolean = True

    def __init__(self) -> None:
        super().__init__(paramstyle="named")


def text_of(statement: ClauseElement, dialect: TextDialect) -> tuple[str, dict[str, Any]]:
    """Return the text of a statement, and its values by name."""
    compiled = statement.compile(dialect=dialect)
    return str(compiled), dict(compiled.params)


Expression: TypeAlias = sa.ColumnElement[Any]
Lists: TypeAlias = Mapping[str, tuple[Sequence[Any] | NDArray[Any], TypeEngine[Any]]]
"""Values and SQL type of each column of a list of rows; all columns are equally long."""
ONE, NOTHING = (sa.literal_column(digit, sa.Integer) for digit in "10")
_PAIRS_OF_DIGITS = range(31, 0, -2)  # positions of a hash's bytes in its digits, from the last on


def whole(number: int) -> Expression:
    """Return a constant whole number of 64 bits."""
    return sa.literal_column(str(number), sa.BigInteger)


OUTSIDE = whole(-1)
"""Code of keys that belong to no group: no index of a range, no period and no date has it, and it fits four bytes."""


class Dialect:
    """The dialect of an engine that follows standard SQL. Subclasses replace what differs."""

    collation: str | None = None  # name of the collation that compares texts by code points
    text_type: TypeEngine[str] = sa.Text()
    has_booleans = True  # True if conditions are values
    keeps_keys = False  # True if keys are returned unchanged; else dates are numbers of eight digits
    joins_missing = False  # True if joins by keys that may be missing are as fast as others
    # True if COUNT(DISTINCT unit) of one predicate, or of each cell, is faster than grouping by units.
    counts_distinct = True
    most_bound = 32_767  # largest number of values in a statement

    def text(self, value: Expression) -> Expression:
        """Return a value as a text that is compared by code points."""
        text = sa.cast(value, self.text_type)
        return text if self.collation is None else text.collate(self.collation)

    def text_literal(self, value: str) -> Expression:
        """Return a text as a bound value."""
        return sa.literal(value, self.text_type)

    def is_like(self, text: Expression, pattern: str) -> Expression:
        r"""Return an expression that is true if a text matches a `like` pattern, in which no character escapes.

        Each \ is doubled, and declared as the escape character: some servers escape with it by default.
        """
        return text.like(self.text_literal(pattern.replace("\\", "\\\\")), escape="\\")

    def integer(self, value: Expression) -> Expression:
        """Return a whole number of any width with 64 bits, as listed keys have."""
        return sa.cast(value, sa.BigInteger)

    def double(self, value: Expression) -> Expression:
        """Return a number as a double."""
        return sa.cast(value, sa.Double())

    def nearest_double(self, value: Expression) -> Expression:
        """Return the double nearest to a decimal number of any size."""
        return self.double(value)

    def in_utc(self, moment: Expression) -> Expression:
        """Return a time with a zone as a time in UTC, which is the zone of the session."""
        return sa.cast(moment, sa.DateTime())

    def part(self, name: str, moment: Expression) -> Expression:
        """Return the year, month or day of a date or time."""
        return sa.cast(sa.extract(name, moment), sa.BigInteger)

    def moved(self, moment: Expression, shift: Shifted) -> Expression:
        """Return a date or time that is moved by a duration, which leaves it within the years 1 to 9999."""
        amount, unit = (shift.days, "DAY") if shift.days else (shift.months, "MONTH")
        interval: Expression = sa.literal_column(f"INTERVAL '{amount}' {unit}", sa.Interval())
        return sa.cast(moment + interval, moment.type)

    def total(self, number: Expression) -> Expression:
        """Return the sum of whole numbers of 64 bits, which may have more bits."""
        return sa.func.sum(sa.cast(number, sa.Numeric(38, 0)))

    def unit_text(self, unit: Expression, kind: Kind | None) -> Expression:
        """Return the text of a unit, as `truth.unit_text` defines it; empty if the unit is missing.

        Args:
            unit: The unit.
            kind: The kind of its values; None: another type whose values have one text each.
        """
        text = self.truth_text(unit) if kind is Kind.BOOLEAN else self.text(unit)
        return sa.case((unit.is_(None), self.text_literal("")), else_=text)

    def truth_text(self, value: Expression) -> Expression:
        """Return the word `true` or `false` for a truth value, which is a number if the engine has no booleans."""
        condition = value if self.has_booleans else value == ONE
        return sa.case((condition, self.text_literal("true")), else_=self.text_literal("false"))

    def day(self, text: Expression) -> Expression:
        """Return the date of an ISO 8601 text."""
        return sa.cast(text, sa.Date())

    def trimmed(self, text: Expression) -> Expression:
        """Return a text without leading and trailing blanks."""
        return sa.func.trim(text, type_=self.text_type)

    def translated(self, text: Expression, characters: str, substitutes: str) -> Expression:
        """Return a text in which each of the characters is replaced by its substitute."""
        return sa.func.translate(
            text, self.text_literal(characters), self.text_literal(substitutes), type_=self.text_type
        )

    def md5(self, text: Expression) -> Expression:
        """Return the MD5 hash of a text, as 32 lower-case hexadecimal digits."""
        return sa.func.md5(text)

    def hashed(self, text: Expression) -> Expression:
        """Return the hash of a text, from which `in_order` makes a sort key."""
        return self.md5(text)

    def in_order(self, hashed: Expression) -> Expression:
        """Return the sort key of a hash: hashes are ordered as numbers whose last byte is the most significant."""
        first, *rest = (self.part_of(hashed, start, 2) for start in _PAIRS_OF_DIGITS)
        return self.text(sum(rest, first))

    def length(self, text: Expression) -> Expression:
        """Return the number of characters of a text."""
        return sa.func.char_length(text)

    def part_of(self, text: Expression, first: int, size: int) -> Expression:
        """Return `size` characters of a text from the character `first` on, counted from 1."""
        return sa.func.substr(text, first, size, type_=self.text_type)

    def range_code(self, value: Expression, edges: Sequence[int | float]) -> Expression | None:
        """Return the index of a number's range among many rising edges, or None if the engine has no function."""
        del value, edges
        return None

    def with_ranges(self, rows: sa.Select[Any], wide: Mapping[str, NumberRanges]) -> sa.Select[Any]:
        """Return the rows with the range of each number in `wide` as a key.

        An engine overrides this method if its `range_code` needs a second step. Other engines return the rows
        unchanged.
        """
        del wide
        return rows

    def is_match(self, text: Expression, pattern: str) -> Expression:
        """Return an expression that is true if a part of a text matches a regular expression, and false otherwise."""
        del text, pattern
        return whole(0) == whole(1)

    def normal_spelling(self, text: Expression) -> Expression:
        """Return a text in a normal form, in which likely spellings of the same text are equal."""
        return sa.func.lower(sa.func.trim(text))

    def evaluated_once(self, rows: sa.Select[Any]) -> sa.Select[Any]:
        """Return rows whose expressions are computed only once, even if the server merges queries."""
        return rows

    def number_where(self, truth: Expression) -> Expression:
        """Return the number of rows in which a condition is true. Counting is faster than a sum of ones and zeros."""
        return sa.func.count(sa.case((truth, ONE)))

    def flag(self, truth: Expression) -> Expression:
        """Return a condition as a flag for `is_any`, `number_of` and `is_set`: 1 if it is true, else 0."""
        return sa.case((truth, ONE), else_=NOTHING)

    def is_any(self, flag: Expression) -> Expression:
        """Return the flag that is set if one flag of a group is set."""
        return sa.func.max(flag)

    def number_of(self, flag: Expression) -> Expression:
        """Return the number of set flags, or the sum of whole numbers; 0 without records."""
        return sa.cast(sa.func.coalesce(sa.func.sum(flag), NOTHING), sa.BigInteger)

    def is_set(self, flag: Expression) -> Expression:
        """Return a flag as a condition."""
        return flag == ONE

    def value_table(self, name: str, columns: Lists) -> sa.FromClause:
        """Return rows of bound values, numbered from 1 in the column `place`."""
        rows = list(zip(*(np.asarray(values, object).tolist() for values, _ in columns.values()), strict=True))
        if len(rows) * len(columns) > self.most_bound:
            raise SourceError(
                f"a table of more than {self.most_bound // len(columns)} listed keys cannot be "
                "counted on this server: list fewer, or group them more coarsely"
            )
        types = {column: type_ for column, (_, type_) in columns.items()}

        def select_row(row: Sequence[Any], place: int) -> sa.Select[Any]:
            cells = zip(types.items(), row, strict=True)
            values = [sa.cast(sa.literal(value, type_), type_).label(column) for (column, type_), value in cells]
            return sa.select(*values, whole(place).label("place"))

        selects = [select_row(row, place) for place, row in enumerate(rows, 1)]
        no_row = select_row([None] * len(types), 0).where(whole(0) == whole(1))
        return sa.union_all(*(selects or [no_row])).subquery(name)
