"""PostgreSQL's dialect, and how its catalog describes tables. `definitions` reads its views."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from hashlib import sha256
from math import inf, nan
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.exc import NoSuchTableError

from noisycount.engines.conformance.certificate import Identity
from noisycount.engines.dialect import NOTHING, ONE, OUTSIDE, Expression, Lists
from noisycount.engines.formats import DIGITS_WITH_ZEROS, SIGNS_FROM, SIGNS_TO, WHITE_SPACE, ZEROS_INSIDE
from noisycount.engines.sql.definitions import computed_columns
from noisycount.engines.sql.dialect import ServerDialect
from noisycount.engines.sql.relations import COLUMNS, ServerRelations
from noisycount.engines.sql.table import Form, FoundColumn, FoundName
from noisycount.engines.views.relations import UnitClaim
from noisycount.engines.views.stability import require_stable
from noisycount.query.schema import Kind

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine


_TYPES = {
    ("int2", "int4", "int8"): (Kind.INTEGER, Form.PLAIN),
    ("float8",): (Kind.REAL, Form.PLAIN),
    ("float4",): (Kind.REAL, Form.CAST),
    ("numeric",): (Kind.REAL, Form.DECIMAL),
    ("text", "varchar", "bpchar", "name", "time"): (Kind.TEXT, Form.CAST),
    ("bool",): (Kind.BOOLEAN, Form.PLAIN),
    ("date",): (Kind.DATE, Form.PLAIN),
    ("timestamp",): (Kind.TIMESTAMP, Form.PLAIN),
    ("timestamptz",): (Kind.TIMESTAMP, Form.ZONED),
    ("uuid",): (None, Form.NAMED),
}
_KINDS = {name: reading for names, reading in _TYPES.items() for name in names}
_LARGEST_EXPONENT = 307  # powers of ten from −307 to 307 are doubles of full precision
_PATH = sa.select(sa.func.pg_catalog.current_schemas(sa.literal(value=True), type_=ARRAY(sa.Text)))
_SCHEMA = sa.text(
    """
    SELECT n.nspname
    FROM unnest(CAST(:schemas AS text[])) WITH ORDINALITY AS path(name, place)
    JOIN pg_namespace AS n ON n.nspname = path.name
    JOIN pg_class AS c ON c.relnamespace = n.oid
    WHERE c.relname = :name AND c.relkind = ANY (ARRAY['r', 'v', 'm', 'p', 'f'])
    ORDER BY path.place
    LIMIT 1
    """
)
_REACHED = sa.text(
    """
    WITH RECURSIVE reached AS (
      SELECT c.oid, 0 AS place FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
      WHERE n.nspname = :schema AND c.relname = :name
      UNION
      SELECT read.oid, 1 FROM reached AS r CROSS JOIN LATERAL (
        SELECT d.refobjid AS oid FROM pg_rewrite AS w
        JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
        WHERE w.ev_class = r.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> r.oid
        UNION ALL
        SELECT i.inhrelid FROM pg_inherits AS i WHERE i.inhparent = r.oid
        UNION ALL -- any table, if the view calls a function of others that may read it
        SELECT any_table.oid FROM pg_class AS any_table
        WHERE any_table.relkind = ANY (ARRAY['r', 'm', 'p', 'f']) AND any_table.oid >= 16384 AND EXISTS (
          SELECT FROM pg_rewrite AS w
          JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
          LEFT JOIN pg_operator AS o ON d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid
          JOIN pg_proc AS f ON f.oid = CASE d.refclassid WHEN 'pg_proc'::regclass THEN d.refobjid ELSE o.oprcode END
          WHERE w.ev_class = r.oid AND f.provolatile <> 'i'
        )
      ) AS read
      JOIN pg_class AS t ON t.oid = read.oid JOIN pg_namespace AS s ON s.oid = t.relnamespace
      WHERE position('.' IN s.nspname || t.relname) > 0 -- whose name could be that of another
        OR CASE s.nspname WHEN 'public' THEN '' ELSE s.nspname || '.' END || t.relname <> ALL (CAST(:public AS text[]))
    )
    SELECT d.oid AS database, c.oid AS relation
    FROM reached AS r JOIN pg_class AS c ON c.oid = r.oid JOIN pg_database AS d ON d.datname = current_database()
    WHERE r.place = 0 OR c.relkind = ANY (ARRAY['r', 'm', 'p', 'f'])
    ORDER BY r.place, c.oid
    """
)
"""A relation, then the tables that its views read or may read, and their parts, except public ones.

Relations from 16384 on are those that users created.
"""
_SYSTEM = sa.text("SELECT system_identifier::text FROM pg_control_system()")
_MAY_ASK = sa.text(
    "SELECT coalesce(has_function_privilege(to_regprocedure('pg_catalog.pg_control_system()'), 'EXECUTE'), false)"
)
_PACKAGERS = {"Debian", "Ubuntu", "Homebrew", "Postgres.app"}  # other words after the version name other products
_IDENTITY = sa.text("SELECT version(), current_setting('server_version_num'), current_setting('server_encoding')")


def _found_column(row: Mapping[str, Any]) -> FoundColumn:
    """Return a column from its row of `COLUMNS`."""
    kind, form = None, Form.PLAIN
    if row["is_text"]:
        kind, form = Kind.TEXT, Form.CAST
    elif row["is_own"]:
        kind, form = _KINDS.get(row["base"], (None, Form.PLAIN))
    if form is Form.DECIMAL and _is_within_doubles(row["modifier"]):
        form = Form.CAST
    return FoundColumn(row["name"], row["type"], kind, form, row["is_required"])


def _is_within_doubles(modifier: int) -> bool:
    """Return True if every number of a decimal type is zero or in the range of doubles."""
    if modifier < 0:
        return False
    digits, scale = divmod(modifier - 4, 2**16)
    scale = (scale & 0x7FF ^ 0x400) - 0x400  # eleven bits with a sign
    return digits - scale <= _LARGEST_EXPONENT and scale <= _LARGEST_EXPONENT


_ZERO_BELOW = Decimal(f"{5**1075}e-1075")  # half the smallest double: the nearest double is 0
_INFINITE_FROM = Decimal(2**1024 - 2**970)  # halfway between the largest double and 2^1024
_SETTINGS = {
    "transaction_read_only": "on",
    "application_name": "noisycount",
    "search_path": "pg_catalog, pg_temp",  # only operators and functions of the server itself
    "TimeZone": "UTC",
    "DateStyle": "ISO",  # format of dates as texts, which are hashed
    "lock_timeout": "30s",
    "work_mem": "256MB",  # a million persons are grouped without a temporary file
}


class PostgreSQL(ServerDialect):
    """PostgreSQL from version 12 on."""

    collation = "C"
    keeps_keys = True
    most_bound = 10_000_000
    quote = True

    def begin(self, connection: sa.Connection, seconds: float | None, *, has_own_path: bool = False) -> None:
        """Begin a read-only transaction with `_SETTINGS`; see `ServerDialect.begin`."""
        settings = dict(_SETTINGS)
        if has_own_path:
            del settings["search_path"]
        if seconds is not None:
            settings["statement_timeout"] = f"{max(1, round(seconds * 1000))}ms"
        local = sa.literal(value=True)
        connection.execute(sa.select(*(sa.func.pg_catalog.set_config(*pair, local) for pair in settings.items())))

    def search_path(self, connection: sa.Connection) -> Sequence[str]:
        """Return the search path of the account.

        This is the only statement that runs on that path, which may contain operators of other users.
        """
        return tuple(connection.execute(_PATH).scalar_one())

    def find_table(self, connection: sa.Connection, schema: str | None, name: str, path: Sequence[str]) -> FoundName:
        """Return the name of a table or view with its schema. Raise NoSuchTableError if there is none."""
        schemas = path if schema is None else [schema]
        first = connection.execute(_SCHEMA, {"schemas": list(schemas), "name": name}).scalar()
        if first is None:
            raise NoSuchTableError(name)
        return FoundName(first, name)

    def columns(self, connection: sa.Connection, table: FoundName) -> tuple[FoundColumn, ...]:
        """Return the columns of a table or view. Types that users made are named with their schema."""
        rows = [dict(row) for row in connection.execute(COLUMNS, asdict(table)).mappings()]
        computed = computed_columns(connection, table.schema or "", table.name)
        return tuple(
            FoundColumn(row["name"], row["type"], is_computed=True) if row["name"] in computed else _found_column(row)
            for row in rows
        )

    def relation_identities(
        self, connection: sa.Connection, table: FoundName, address: str, public_tables: Sequence[str]
    ) -> tuple[str, ...]:
        """Return a digest of the table, then of the tables whose records it shares; see `ServerDialect`.

        Each digest is of the system identifier that `initdb` made, the database's oid and the relation's oid. If the
        account may not read the system identifier, the address of the server replaces it.
        """
        may_ask = connection.execute(_MAY_ASK).scalar()
        system = connection.execute(_SYSTEM).scalar() if may_ask else address
        rows = connection.execute(_REACHED, {**asdict(table), "public": [*public_tables]}).all()
        parts = (json.dumps([system, row.database, row.relation]) for row in rows)
        return tuple(sha256(part.encode()).hexdigest() for part in parts)

    def require_stable(self, connection: sa.Connection, table: FoundName, claim: UnitClaim) -> None:
        """Raise SourceError if one unit could change rows of other units in a view; see `views.stability`."""
        relations = ServerRelations(connection)
        relation = relations.find(table.schema, table.name)
        require_stable(relation, relations.find, "postgres", claim)
        if relation.is_view:
            relations.require_recorded(table.schema or "", table.name)

    def identity(self, connection: sa.Connection) -> Identity:
        """Return name, version and collation of the server; a product derived from PostgreSQL has its own name.

        Texts are compared by bytes, whatever the collation of the database. Their bytes depend on its encoding.
        """
        version, number, encoding = connection.execute(_IDENTITY).one()
        words = version.split(" on ")[0].replace("(", "").replace(")", "").split()
        is_plain = words[0] == "PostgreSQL" and {*words[2:3]} <= _PACKAGERS
        engine = "postgresql" if is_plain else "-".join(words).lower()
        return Identity(engine, str(int(number) // 10_000), f"C ({encoding})")

    def text(self, value: Expression) -> Expression:
        """Return a value as a text in the order of its bytes, which in UTF-8 is the order of code points."""
        return sa.cast(value, sa.Text()).collate("C")

    def is_match(self, text: Expression, pattern: str) -> Expression:
        """Return an expression that is true if part of a text matches a regular expression."""
        return text.op("~", is_comparison=True)(sa.literal(pattern, sa.Text()))

    def normal_spelling(self, text: Expression) -> Expression:
        """Return a text in a normal form, in which likely spellings of the same text, and perhaps others, are equal.

        All characters outside ASCII count as one, as their case depends on the collation. Only a database in UTF-8 has
        normal forms of Unicode.
        """
        text, signs = sa.cast(text, sa.Text()), [sa.literal(each, sa.Text()) for each in (SIGNS_FROM, SIGNS_TO)]
        is_unicode = sa.func.current_setting("server_encoding") == sa.literal("UTF8", sa.Text())
        compatible = sa.func.normalize(sa.func.translate(text, *signs), sa.literal_column("NFKC"))
        plain = sa.case((is_unicode, sa.func.translate(compatible, *signs)), else_=text)
        normal = sa.func.lower(sa.func.btrim(plain, sa.literal(WHITE_SPACE, sa.Text())))
        steps = (
            (" +", " ", "g"),
            (r"[^\x01-\x7f]", "?", "g"),
            (DIGITS_WITH_ZEROS, r"\1", ""),
            (ZEROS_INSIDE, r"\1\2", "g"),
        )
        for step in steps:
            normal = sa.func.regexp_replace(normal, *(sa.literal(each, sa.Text()) for each in step))
        return normal.collate("C")

    def evaluated_once(self, rows: sa.Select[Any]) -> sa.Select[Any]:
        """Return rows whose expressions are computed once: OFFSET keeps PostgreSQL from merging queries."""
        return rows.offset(0)

    def is_like(self, text: Expression, pattern: str) -> Expression:
        """Return an expression that is true if a text matches a `like` pattern, without an escape character."""
        return text.like(sa.literal(pattern, sa.Text()), escape="")

    def nearest_double(self, value: Expression) -> Expression:
        """Return the nearest double of a decimal number. A cast alone fails outside the range of doubles.

        NaN is greater than every number, also than infinity, which only newer servers have.
        """
        size: Expression = sa.func.abs(value)
        double: TypeEngine[float] = sa.Double()
        largest = sa.literal(_INFINITE_FROM, sa.Numeric())
        return sa.case(
            (size <= sa.literal(_ZERO_BELOW, sa.Numeric()), sa.literal(0.0, double)),
            (size < largest, sa.cast(value, double)),
            (value <= -largest, sa.literal(-inf, double)),
            (value == sa.cast(sa.literal("NaN", sa.Text()), sa.Numeric()), sa.literal(nan, double)),
            (value >= largest, sa.literal(inf, double)),
        )

    def in_utc(self, moment: Expression) -> Expression:
        """Return a time with a zone as a time in UTC. Infinite times stay infinite."""
        return sa.func.timezone(sa.literal("UTC", sa.Text()), moment, type_=sa.DateTime())

    def part(self, name: str, moment: Expression) -> Expression:
        """Return the year, month or day of a date or time."""
        return sa.cast(sa.func.date_part(name, moment), sa.BigInteger)

    def range_code(self, value: Expression, edges: Sequence[int | float]) -> Expression | None:
        """Return the index of a number's range among many rising edges. NaN is in the last range."""
        type_: TypeEngine[Any] = sa.BigInteger() if isinstance(edges[0], int) else sa.Double()
        listed: Expression = sa.cast(sa.literal(list(edges), ARRAY(type_)), ARRAY(type_))
        number = sa.func.width_bucket(sa.cast(value, type_), listed, type_=sa.BigInteger())
        return sa.case((number == NOTHING, OUTSIDE), else_=number - ONE)

    def value_table(self, name: str, columns: Lists) -> sa.FromClause:
        """Return rows of bound values, with one array for each column."""
        arrays: list[Any] = [
            sa.cast(sa.literal(np.asarray(values, object).tolist(), ARRAY(type_)), ARRAY(type_))
            for values, type_ in columns.values()
        ]
        rows = sa.func.unnest(*arrays).table_valued(*columns, with_ordinality="place", name=name)
        return rows.render_derived()
