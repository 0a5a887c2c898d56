"""What SQL servers have in common, for those that differ from it in nothing that is known."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Connection,
    Date,
    DateTime,
    Double,
    FromClause,
    Select,
    Text,
    cast,
    extract,
    func,
    literal,
    literal_column,
    null,
    select,
    union_all,
)
from sqlalchemy.types import TypeEngine

from noisycount.engines.check import Identity
from noisycount.engines.sql.kinds import FoundColumn, FoundName, reflected_columns
from noisycount.errors import SourceError
from noisycount.query.schema import Kind

__all__ = ["Dialect", "Expression", "Lists"]


Expression = ColumnElement[Any]


Lists = Mapping[str, tuple[Sequence[Any], TypeEngine[Any]]]


_TYPES: Mapping[Kind, TypeEngine[Any]] = {
    Kind.INTEGER: BigInteger(),
    Kind.REAL: Double(),
    Kind.BOOLEAN: Boolean(),
    Kind.DATE: Date(),
    Kind.TIMESTAMP: DateTime(),
}


class Dialect:
    r"""What a server says in its own way, beyond what SQLAlchemy knows of it.

    Attributes:
        collation: The name of that which compares texts by their code points.
        text_type: That of texts.
        has_booleans: Whether conditions are values.
        most_bound: How many values a statement may have.
        settings: The statements that begin a transaction.
        temporary: The words of a temporary table.
        quote: Whether names stand in quotes; None: where SQLAlchemy finds that they must.
    """

    collation: str | None = None
    text_type: TypeEngine[str] = Text()
    has_booleans = True
    most_bound = 32_767
    settings: tuple[str, ...] = ()
    quote: bool | None = None
    temporary: tuple[str, ...] = ("TEMPORARY",)

    def begin(
        self, connection: Connection, seconds: float | None, *, has_own_path: bool = False
    ) -> None:
        """The beginning of a transaction.

        Args:
            connection: Asks nothing before.
            seconds: After which each statement is given up; None: when the server does.
            has_own_path: Whether names without a schema are looked for where the account does.
        """
        del seconds, has_own_path
        for statement in self.settings:
            connection.exec_driver_sql(statement)

    def path(self, connection: Connection) -> Sequence[str]:
        """Where the account looks for names without a schema, in a transaction as it begins one."""
        del connection
        return ()

    def found(
        self, connection: Connection, schema: str | None, name: str, path: Sequence[str]
    ) -> FoundName:
        """A table or view by its name.

        Args:
            connection: In a transaction.
            schema: As it was stated; None: the first of the path that has such a table.
            name: Its own.
            path: Where the account looks.

        Raises:
            NoSuchTableError: There is none; where names say it all, `columns` finds that out.
        """
        del connection, path
        return FoundName(schema, name)

    def columns(self, connection: Connection, table: FoundName) -> tuple[FoundColumn, ...]:
        """The columns of a table or view.

        Raises:
            NoSuchTableError: There is none.
        """
        return reflected_columns(connection, table.schema, table.name)

    def identity(self, connection: Connection) -> Identity:
        """Which engine answers."""
        version = connection.dialect.server_version_info or ()
        told = ".".join(map(str, version[:2])) or "of no stated version"
        return Identity(connection.dialect.name, told, self.collation or "of no stated collation")

    def column_type(self, kind: Kind) -> TypeEngine[Any]:
        """The type of a column of a kind, in a table of ours."""
        return self.text_type if kind is Kind.TEXT else _TYPES[kind]

    def text(self, value: Expression) -> Expression:
        """A value as a text that is compared by its code points."""
        text = cast(value, self.text_type)
        return text if self.collation is None else text.collate(self.collation)

    def text_literal(self, value: str) -> Expression:
        """A bound text."""
        return literal(value, self.text_type)

    def evaluated_once(self, rows: Select[Any]) -> Select[Any]:
        """Rows whose expressions are not put where they are used, if the server would do that."""
        return rows

    def is_like(self, text: Expression, pattern: str) -> Expression:
        r"""Whether a text is like a pattern in which nothing escapes.

        Each \ of it is written twice, as it escapes in some servers unless they are told another.
        """
        return text.like(literal(pattern.replace("\\", "\\\\"), self.text_type), escape="\\")

    def double(self, value: Expression) -> Expression:
        """A number as a double."""
        return cast(value, Double())

    def nearest_double(self, value: Expression) -> Expression:
        """The nearest double of a decimal number of any size."""
        return self.double(value)

    def in_utc(self, moment: Expression) -> Expression:
        """A moment as a time in UTC, which is the zone of the session."""
        return cast(moment, DateTime())

    def part(self, name: str, moment: Expression) -> Expression:
        """The year, month or day of a date or time."""
        return cast(extract(name, moment), BigInteger)

    def md5(self, text: Expression) -> Expression:
        """The hash of a text, as 32 small hexadecimal digits."""
        return func.md5(text)

    def length(self, text: Expression) -> Expression:
        """How many characters a text has."""
        return func.char_length(text)

    def part_of(self, text: Expression, first: int, size: int) -> Expression:
        """So many characters of a text, from one on; the first is 1."""
        return func.substr(text, first, size, type_=self.text_type)

    def range_number(self, value: Expression, edges: Sequence[int | float]) -> Expression | None:
        """How many of many rising edges are not above a number, if the server finds that itself."""
        del value, edges
        return None

    def listed(self, name: str, columns: Lists) -> FromClause:
        """Bound rows, with their `place` from 1 on.

        Args:
            name: What they are called.
            columns: The values of each column and their type; all have as many.

        Raises:
            SourceError: They are more than a statement takes.
        """
        rows = list(zip(*(values for values, _ in columns.values()), strict=True))
        if len(rows) * len(columns) > self.most_bound:
            raise SourceError(
                f"a table of more than {self.most_bound // len(columns)} listed keys cannot be "
                "counted on this server: list fewer, or group them more coarsely"
            )
        types = {column: type_ for column, (_, type_) in columns.items()}
        selects = [_row(types, row, place) for place, row in enumerate(rows, 1)]
        return union_all(*(selects or [_no_row(types)])).subquery(name)


def _row(types: Mapping[str, TypeEngine[Any]], row: Sequence[Any], place: int) -> Select[Any]:
    values = [
        cast(literal(value, type_), type_).label(column)
        for (column, type_), value in zip(types.items(), row, strict=True)
    ]
    return select(*values, literal_column(str(place), BigInteger).label("place"))


def _no_row(types: Mapping[str, TypeEngine[Any]]) -> Select[Any]:
    values = [cast(null(), type_).label(column) for column, type_ in types.items()]
    one, place = (literal_column(digit, BigInteger) for digit in "10")
    return select(*values, place.label("place")).where(place == one)
