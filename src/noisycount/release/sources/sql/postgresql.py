"""What PostgreSQL says in its own way."""

from collections.abc import Sequence
from decimal import Decimal
from math import inf, nan
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Connection,
    DateTime,
    Double,
    FromClause,
    Numeric,
    Select,
    Text,
    case,
    cast,
    func,
    literal,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.exc import NoSuchTableError

from noisycount.release.sources.identity import Identity
from noisycount.release.sources.sql.catalog import (
    catalog_columns,
    catalog_identity,
    catalog_path,
    catalog_schema,
)
from noisycount.release.sources.sql.dialect import Dialect, Expression, Lists
from noisycount.release.sources.sql.kinds import FoundColumn, FoundName

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine

__all__ = ["PostgreSQL"]

_ZERO_BELOW = Decimal(f"{5**1075}e-1075")  # up to half the smallest double the nearest one is 0
_INFINITE_FROM = Decimal(2**1024 - 2**970)  # halfway between the largest double and the next power
_SETTINGS = {
    "transaction_read_only": "on",
    "application_name": "noisycount",
    "search_path": "pg_catalog, pg_temp",  # no operator or function but the server's own
    "TimeZone": "UTC",
    "lock_timeout": "30s",
    "work_mem": "256MB",  # a million persons are grouped without a file
}


class PostgreSQL(Dialect):
    """PostgreSQL from version 12 on."""

    collation = "C"
    most_bound = 10_000_000
    quote = True

    def begin(
        self, connection: Connection, seconds: float | None, *, has_own_path: bool = False
    ) -> None:
        """The beginning of a transaction that changes nothing, with settings of its own."""
        settings = dict(_SETTINGS)
        if has_own_path:
            del settings["search_path"]
        if seconds is not None:
            settings["statement_timeout"] = f"{max(1, round(seconds * 1000))}ms"
        for_now = literal(value=True)
        connection.execute(
            select(*(func.pg_catalog.set_config(*each, for_now) for each in settings.items()))
        )

    def path(self, connection: Connection) -> Sequence[str]:
        """Where the account looks for names without a schema."""
        return catalog_path(connection)

    def found(
        self, connection: Connection, schema: str | None, name: str, path: Sequence[str]
    ) -> FoundName:
        """A table or view by its name, in its schema."""
        found = catalog_schema(connection, path if schema is None else [schema], name)
        if found is None:
            raise NoSuchTableError(name)
        return FoundName(found, name)

    def columns(self, connection: Connection, table: FoundName) -> tuple[FoundColumn, ...]:
        """The columns of a table or view, as the catalog describes them."""
        return catalog_columns(connection, table)

    def identity(self, connection: Connection) -> Identity:
        """Which server answers."""
        return catalog_identity(connection)

    def text(self, value: Expression) -> Expression:
        """A value as a text in the order of its bytes, which in UTF-8 is that of code points."""
        return cast(value, Text()).collate("C")

    def evaluated_once(self, rows: Select[Any]) -> Select[Any]:
        """Rows whose expressions stay where they are: an offset keeps queries from being merged."""
        return rows.offset(0)

    def is_like(self, text: Expression, pattern: str) -> Expression:
        """Whether a text is like a pattern; an empty escape switches escapes off."""
        return text.like(literal(pattern, Text()), escape="")

    def nearest_double(self, value: Expression) -> Expression:
        """The nearest double, where a cast would refuse what is too large or too small for one.

        NaN follows every number, also infinity, which only newer servers have.
        """
        size: Expression = func.abs(value)
        double: TypeEngine[float] = Double()
        largest = literal(_INFINITE_FROM, Numeric())
        return case(
            (size <= literal(_ZERO_BELOW, Numeric()), literal(0.0, double)),
            (size < largest, cast(value, double)),
            (value <= -largest, literal(-inf, double)),
            (value == cast(literal("NaN", Text()), Numeric()), literal(nan, double)),
            (value >= largest, literal(inf, double)),
        )

    def in_utc(self, moment: Expression) -> Expression:
        """A moment as a time in UTC; infinite ones stay so."""
        return func.timezone(literal("UTC", Text()), moment, type_=DateTime())

    def part(self, name: str, moment: Expression) -> Expression:
        """The year, month or day of a date or time."""
        return cast(func.date_part(name, moment), BigInteger)

    def range_number(self, value: Expression, edges: Sequence[int | float]) -> Expression | None:
        """How many of many rising edges are not above a number; all of them for NaN."""
        type_: TypeEngine[Any] = BigInteger() if isinstance(edges[0], int) else Double()
        listed: Expression = cast(literal(list(edges), ARRAY(type_)), ARRAY(type_))
        return func.width_bucket(cast(value, type_), listed, type_=BigInteger())

    def listed(self, name: str, columns: Lists) -> FromClause:
        """Bound rows, each column of them one array."""
        arrays: list[Any] = [
            cast(literal(list(values), ARRAY(type_)), ARRAY(type_))
            for values, type_ in columns.values()
        ]
        rows = func.unnest(*arrays).table_valued(*columns, with_ordinality="place", name=name)
        return rows.render_derived()
