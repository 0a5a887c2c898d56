"""What a view, a policy of rows or a made column of PostgreSQL computes when it is read.

A server evaluates what a view computes for those records alone of which a question needs it: an
error would tell which match. So nothing is counted but what is stored, and what is made of that by
expressions that fail at no record: columns, constants, comparisons, choices and a few casts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from sqlalchemy import Connection, text
from sqlglot import exp

from noisycount.errors import SourceError
from noisycount.release.sources.sql.certain import (
    Types,
    Unsure,
    output_type,
    parsed,
    require_alike,
    require_truth,
)

__all__ = ["computed_columns"]

_RELATION = text(
    """
    WITH RECURSIVE parts AS (
      SELECT c.oid, c.relkind FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
      WHERE n.nspname = :schema AND c.relname = :name
      UNION
      SELECT c.oid, c.relkind FROM parts AS p
      JOIN pg_inherits AS i ON i.inhparent = p.oid JOIN pg_class AS c ON c.oid = i.inhrelid
    )
    SELECT CASE WHEN c.relkind = 'v' THEN coalesce(pg_get_viewdef(c.oid), '') END AS definition,
      (SELECT bool_and(p.relkind IN ('r', 'v', 'm', 'p')) FROM parts AS p) AS is_own,
      EXISTS (
        SELECT FROM pg_depend AS d
        WHERE d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
          AND d.classid = 'pg_rewrite'::regclass
          AND d.objid IN (SELECT r.oid FROM pg_rewrite AS r WHERE r.ev_class = c.oid)
      ) AS calls_others,
      ARRAY(
        SELECT pg_get_expr(p.polqual, p.polrelid) FROM pg_policy AS p
        WHERE p.polrelid = c.oid AND c.relrowsecurity AND p.polcmd IN ('r', '*')
          AND p.polqual IS NOT NULL
          AND (NOT :is_counted OR row_security_active(c.oid) AND EXISTS (
            SELECT FROM unnest(p.polroles) AS role
            WHERE role = 0 OR pg_has_role(role, 'MEMBER')))
      ) AS policies
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = :schema AND c.relname = :name
    """
)
_COLUMNS = text(
    """
    SELECT a.attname AS name, a.attgenerated = 'v' AS is_made,
      CASE WHEN t.typtype = 'b' AND n.nspname = 'pg_catalog' THEN t.typname ELSE '' END AS type
    FROM pg_attribute AS a
    JOIN pg_class AS c ON c.oid = a.attrelid
    JOIN pg_namespace AS s ON s.oid = c.relnamespace
    JOIN pg_type AS t ON t.oid = a.atttypid
    JOIN pg_namespace AS n ON n.oid = t.typnamespace
    WHERE s.nspname = :schema AND c.relname = :name AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum
    """
)


def computed_columns(connection: Connection, schema: str, name: str) -> frozenset[str]:
    """The columns of a relation that are computed when it is read, and might fail then.

    Args:
        connection: In a transaction with the search path of ours.
        schema: What the relation is in.
        name: Its own name.

    Raises:
        SourceError: Which records it has depends on what might fail, or it calls functions.
    """
    types = _Catalog(connection).relation(schema, name, is_counted=True)
    return frozenset(each for each, type_ in types.items() if type_ is None)


@dataclass(frozen=True, slots=True)
class _Catalog:
    """What the server says of the relations that definitions name.

    Attributes:
        connection: In a transaction with the search path of ours.
        known: The columns of those that were looked at.
    """

    connection: Connection
    known: dict[tuple[str, str], Types] = field(default_factory=dict)

    def relation(self, schema: str, name: str, *, is_counted: bool = False) -> Types:
        """The columns of a relation.

        Args:
            schema: What it is in.
            name: Its own name.
            is_counted: Whether it is read by the account itself, whose policies are known.

        Raises:
            SourceError: Its records are not only read, or chosen by what cannot fail.
        """
        if (schema, name) not in self.known:
            self.known[schema, name] = self._looked_at(schema, name, is_counted=is_counted)
        return self.known[schema, name]

    def _looked_at(self, schema: str, name: str, *, is_counted: bool) -> Types:
        asked = {"schema": schema, "name": name}
        found = self.connection.execute(
            _RELATION, {**asked, "is_counted": is_counted}
        ).one_or_none()
        if found is None:
            return {}
        if not found.is_own:
            raise SourceError(
                f"{name!r} has foreign records, whose reading can fail at one of them and tell "
                "which: copy them into a table or a materialised view"
            )
        columns = self.connection.execute(_COLUMNS, asked).all()
        types = {each.name: None if each.is_made else each.type for each in columns}
        try:
            for policy in found.policies:
                require_truth(parsed(policy), {name: types})
        except Unsure:
            raise SourceError(
                f"{name!r} has a policy of rows that does more than compare columns, which can "
                "fail at one record and tell which: write it as comparisons of columns"
            ) from None
        if found.definition is None:
            return types
        try:
            made = self._outputs(parsed("" if found.calls_others else found.definition))
        except Unsure:
            raise SourceError(
                f"{name!r} is a view that does more than choose, join and compare columns, which "
                "can fail at one record and tell which: name a table or a materialised view"
            ) from None
        return {name: made[n] and type_ for n, (name, type_) in enumerate(types.items())}

    def _outputs(self, query: exp.Expr) -> list[str | None]:
        """The types of the columns of a query; None: of one that might fail."""
        if isinstance(query, exp.Union):
            sides = [self._outputs(each) for each in (query.left, query.right)]
            if query.args["distinct"] or None in chain(*sides):
                raise Unsure
            return sides[0]
        if not isinstance(query, exp.Select):
            raise Unsure
        scope = dict(self._sources(query))
        for join in _joins(query):
            _require_comparable(join, scope)
        for each in _conditions(query):
            require_truth(each, scope)
        return [output_type(each.unalias(), scope) for each in query.expressions]

    def _sources(self, query: exp.Select) -> Iterator[tuple[str, Types]]:
        """What a query reads, by the names that it has there."""
        found = query.args.get("from_")
        tables = [] if found is None else [found.this]
        tables += [each.this for each in query.args.get("joins") or ()]
        while tables:
            table = tables.pop()
            tables += [each.this for each in table.args.get("joins") or ()]
            if isinstance(table, exp.Table) and table.db:
                yield table.alias_or_name, self.relation(table.db, table.name)
            elif isinstance(table.this, exp.Table | exp.Subquery) and not table.alias:
                tables.append(table.this)  # joins in brackets
            elif isinstance(table, exp.Subquery) and table.alias:
                yield table.alias, self._derived(table.this)
            else:
                raise Unsure

    def _derived(self, query: exp.Query) -> Types:
        """The columns of a query in another."""
        types = self._outputs(query)
        return dict(zip(query.named_selects, types, strict=True))


def _joins(query: exp.Select) -> list[exp.Join]:
    """The joins of a query, but for those of queries in it."""
    return [join for join in query.find_all(exp.Join) if join.find_ancestor(exp.Select) is query]


def _conditions(query: exp.Select) -> Iterator[exp.Expr]:
    """What decides which records a query has."""
    where = query.args.get("where")
    joined = [join.args.get("on") for join in _joins(query)]
    yield from filter(None, [where and where.this, *joined])


def _require_comparable(join: exp.Join, scope: Mapping[str, Types]) -> None:
    """The refusal of a join by the names of columns whose comparison might fail.

    Raises:
        Unsure: It is such a one.
    """
    for name in join.args.get("using") or ():
        types = [types[name.name] for types in scope.values() if name.name in types]
        require_alike(types)
