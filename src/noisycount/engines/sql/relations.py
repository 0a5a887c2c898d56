"""The tables and views of PostgreSQL that definitions name, as its catalog describes them."""

from dataclasses import field

from sqlalchemy import Connection, text

from noisycount.engines.views.relations import BaseTable, UnprovenError, ViewDefinition, unreadable_view_error
from noisycount.frozen import frozen

_TYPES = {
    **dict.fromkeys(["int2", "int4", "int8"], "integer"),
    **dict.fromkeys(["text", "varchar"], "text"),
    "numeric": "decimal",
    "bool": "boolean",
    **{name: name for name in ("uuid", "date")},
}
RELATION = text(
    """
    WITH RECURSIVE parts AS (
      SELECT c.oid, c.relkind FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
      WHERE n.nspname = :schema AND c.relname = :name
      UNION
      SELECT c.oid, c.relkind FROM parts AS p
      JOIN pg_inherits AS i ON i.inhparent = p.oid JOIN pg_class AS c ON c.oid = i.inhrelid
    )
    SELECT c.oid AS oid, c.relkind AS kind,
      CASE WHEN c.relkind IN ('v', 'm') THEN coalesce(pg_get_viewdef(c.oid), '') END AS definition,
      EXISTS (
        SELECT FROM pg_depend AS d
        WHERE d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
          AND d.classid = 'pg_rewrite'::regclass
          AND d.objid IN (SELECT r.oid FROM pg_rewrite AS r WHERE r.ev_class = c.oid)
      ) AS calls_others,
      c.relrowsecurity AS has_policies,
      ARRAY(SELECT p.oid::text FROM parts AS p) AS parts,
      (SELECT bool_and(p.relkind IN ('r', 'v', 'm', 'p')) FROM parts AS p) AS is_own,
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
"""A relation: its definition, whether it calls functions or operators that are not the server's own, whether it and its
parts hold rows of this server, and the policies of rows; with `is_counted`, those that apply to the account."""

COLUMNS = text(
    """
    WITH RECURSIVE found AS (
      SELECT a.attrelid, a.attnum, a.atttypid AS base, a.atttypmod AS modifier
      FROM pg_attribute AS a
      JOIN pg_class AS c ON c.oid = a.attrelid
      JOIN pg_namespace AS n ON n.oid = c.relnamespace
      WHERE n.nspname = :schema AND c.relname = :name AND a.attnum > 0 AND NOT a.attisdropped
      UNION ALL
      SELECT f.attrelid, f.attnum, t.typbasetype, t.typtypmod
      FROM found AS f JOIN pg_type AS t ON t.oid = f.base
      WHERE t.typtype = 'd'
    )
    SELECT a.attname AS name, a.attnotnull AS is_required, f.modifier AS modifier,
           format_type(a.atttypid, a.atttypmod) AS type,
           t.typname AS base, n.nspname = 'pg_catalog' AS is_own,
           (t.typtype = 'e' OR t.typtype = 'b' AND t.typname = 'citext') AND NOT EXISTS (
             SELECT FROM pg_cast AS k
             WHERE k.castsource = t.oid AND k.casttarget = 'text'::regtype AND k.castmethod = 'f'
           ) AS is_text,
           CASE WHEN f.base = a.atttypid AND t.typtype = 'b' AND n.nspname = 'pg_catalog'
             THEN t.typname ELSE '' END AS server_type,
           a.attgenerated = 'v' AS is_made,
           coalesce(
             (SELECT l.collisdeterministic FROM pg_collation AS l WHERE l.oid = a.attcollation), true
           ) AS is_bytewise
    FROM found AS f
    JOIN pg_attribute AS a ON a.attrelid = f.attrelid AND a.attnum = f.attnum
    JOIN pg_type AS t ON t.oid = f.base
    JOIN pg_namespace AS n ON n.oid = t.typnamespace
    WHERE t.typtype <> 'd'
    ORDER BY a.attnum
    """
)
"""The columns of a relation; a domain has its base type, and no `server_type`, as types that users made have none.

A type counts as text unless its cast is a user's function.
"""

_KEYS = text(
    """
    SELECT ARRAY(
      SELECT a.attname::text FROM pg_attribute AS a
      WHERE a.attrelid = i.indrelid AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])
    ) AS key
    FROM pg_index AS i
    WHERE i.indrelid = :oid AND i.indisunique AND i.indisvalid AND i.indimmediate
      AND i.indpred IS NULL AND i.indexprs IS NULL
      AND NOT EXISTS ( -- whose equality may be another
        SELECT FROM unnest(i.indclass) AS used JOIN pg_opclass AS o ON o.oid = used
        WHERE NOT o.opcdefault OR o.opcnamespace <> 'pg_catalog'::regnamespace
      )
    """
)
_READ = text(
    """
    WITH RECURSIVE reached AS (
      SELECT c.oid, c.relkind, false AS is_hidden
      FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
      WHERE n.nspname = :schema AND c.relname = :name
      UNION
      SELECT t.oid, t.relkind, r.is_hidden OR r.relkind = 'm' FROM reached AS r
      JOIN pg_rewrite AS w ON w.ev_class = r.oid AND w.ev_type = '1'
      JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
        AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> r.oid
      JOIN pg_class AS t ON t.oid = d.refobjid
    )
    SELECT n.nspname AS schema, c.relname AS name, bool_and(r.is_hidden) AS is_hidden
    FROM reached AS r JOIN pg_class AS c ON c.oid = r.oid JOIN pg_namespace AS n ON n.oid = c.relnamespace
    GROUP BY 1, 2
    """
)
"""The relations that a view reads, as the server recorded them. Hidden: only a materialised view reads it."""


@frozen
class ServerRelations:
    """The relations of a server, each read once from its catalog."""

    connection: Connection  # in a transaction whose search path is the server's own
    known: dict[tuple[str, str], BaseTable | ViewDefinition] = field(default_factory=dict)

    def find(self, schema: str | None, name: str) -> BaseTable | ViewDefinition:
        """Return the relation that a definition means; see `views.relations.Relations`."""
        if schema is None:
            raise UnprovenError(f"it reads {name!r}, a system table of the server: read only your own tables")
        if (schema, name) not in self.known:
            self.known[schema, name] = self._read(schema, name)
        return self.known[schema, name]

    def require_recorded(self, schema: str, name: str) -> None:
        """Raise SourceError if the definitions below a view name other relations than the server recorded for them."""
        reached = self.connection.execute(_READ, {"schema": schema, "name": name}).all()
        recorded = {(each.schema, each.name): each.is_hidden for each in reached}
        needed = {place for place, is_hidden in recorded.items() if not is_hidden}
        if differing := (needed - self.known.keys()) | (self.known.keys() - recorded.keys()):
            raise unreadable_view_error(
                name, f"the server and its definition differ about {'.'.join(min(differing))!r}"
            )

    def _read(self, schema: str, name: str) -> BaseTable | ViewDefinition:
        """Return a relation as the catalog describes it. A unique index of a table says nothing of its children."""
        place: dict[str, object] = {"schema": schema, "name": name}
        relation = self.connection.execute(RELATION, {**place, "is_counted": False}).one_or_none()
        if relation is None or relation.kind not in {"r", "v", "m", "p", "f"}:
            raise UnprovenError(f"it reads {name!r}, which is not there")
        shown, may_be_public = name if schema == "public" else f"{schema}.{name}", "." not in schema + name
        if not relation.is_own:
            raise UnprovenError(f"it reads {shown!r}, whose rows are those of another place")
        columns = self.connection.execute(COLUMNS, place).all()
        types = {each.name: _TYPES.get(each.server_type if each.is_bytewise else "", "") for each in columns}
        if relation.definition is not None:
            return ViewDefinition(
                shown,
                relation.definition,
                types,
                is_readable=not relation.calls_others,
                is_stored=relation.kind == "m",
                may_be_public=may_be_public,
            )
        has_children = len(relation.parts) > 1 and relation.kind != "p"
        keys = [] if has_children else list(self.connection.execute(_KEYS, {"oid": relation.oid}).scalars())
        return BaseTable(
            shown,
            types,
            tuple(map(frozenset, keys)),
            frozenset(relation.parts),
            may_be_public=may_be_public and not has_children,
            has_policies=relation.has_policies,
        )
