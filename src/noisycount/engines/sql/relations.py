"""The tables and views of PostgreSQL that definitions name, as its catalog describes them."""

from dataclasses import field

from sqlalchemy import Connection, text

from noisycount.engines.views.relations import BaseTable, UnprovenError, ViewDefinition, unreadable_view
from noisycount.frozen import frozen

_TYPES = {
    **dict.fromkeys(["int2", "int4", "int8"], "integer"),
    **dict.fromkeys(["text", "varchar"], "text"),
    "numeric": "decimal",
    "bool": "boolean",
    **{name: name for name in ("uuid", "date")},
}
# true if the view c calls functions or operators that are not the server's own
CALLS_OTHERS = """EXISTS (
        SELECT FROM pg_depend AS d
        WHERE d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
          AND d.classid = 'pg_rewrite'::regclass
          AND d.objid IN (SELECT r.oid FROM pg_rewrite AS r WHERE r.ev_class = c.oid)
      )"""
_RELATION = text(
    f"""
    WITH RECURSIVE parts AS (
      SELECT c.oid FROM pg_class AS c WHERE c.oid = :oid
      UNION
      SELECT i.inhrelid FROM parts AS p JOIN pg_inherits AS i ON i.inhparent = p.oid
    )
    SELECT c.relkind AS kind,
      CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) END AS definition,
      {CALLS_OTHERS} AS calls_others,
      c.relrowsecurity AS has_policies,
      ARRAY(SELECT p.oid::text FROM parts AS p) AS parts,
      (SELECT bool_or(t.relkind = 'f') FROM parts AS p JOIN pg_class AS t ON t.oid = p.oid) AS has_foreign_rows
    FROM pg_class AS c WHERE c.oid = :oid
    """  # noqa: S608 - with a constant of ours
)
_OID = text(
    "SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace "
    "WHERE n.nspname = :schema AND c.relname = :name AND c.relkind = ANY (ARRAY['r', 'v', 'm', 'p', 'f'])"
)
_COLUMNS = text(
    """
    SELECT a.attname AS name, CASE WHEN t.typtype = 'b' AND n.nspname = 'pg_catalog'
      AND coalesce((SELECT l.collisdeterministic FROM pg_collation AS l WHERE l.oid = a.attcollation), true)
      THEN t.typname ELSE '' END AS type
    FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid JOIN pg_namespace AS n ON n.oid = t.typnamespace
    WHERE a.attrelid = :oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
    """
)
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
      SELECT c.oid, c.relkind, false AS is_hidden FROM pg_class AS c WHERE c.oid = :oid
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
            raise UnprovenError(f"it reads {name!r}, which is the server's own")
        if (schema, name) not in self.known:
            oid = self.connection.execute(_OID, {"schema": schema, "name": name}).scalar()
            if oid is None:
                raise UnprovenError(f"it reads {name!r}, which is not there")
            shown = name if schema == "public" else f"{schema}.{name}"
            self.known[schema, name] = self._read(shown, oid, may_be_public="." not in schema + name)
        return self.known[schema, name]

    def require_recorded(self, schema: str, name: str) -> None:
        """Raise SourceError unless the definitions below a view named the relations that the server recorded."""
        oid = self.connection.execute(_OID, {"schema": schema, "name": name}).scalar()
        recorded = {
            (each.schema, each.name): each.is_hidden for each in self.connection.execute(_READ, {"oid": oid}).all()
        }
        needed = {place for place, is_hidden in recorded.items() if not is_hidden}
        if differing := (needed - self.known.keys()) | (self.known.keys() - recorded.keys()):
            raise unreadable_view(name, f"the server and its definition differ about {'.'.join(min(differing))!r}")

    def _read(self, shown: str, oid: int, *, may_be_public: bool) -> BaseTable | ViewDefinition:
        """Return a relation as the catalog describes it. A unique index of a table says nothing of its children."""
        relation = self.connection.execute(_RELATION, {"oid": oid}).one()
        if relation.has_foreign_rows:
            raise UnprovenError(f"it reads {shown!r}, whose rows are those of another place")
        columns = self.connection.execute(_COLUMNS, {"oid": oid}).all()
        types = {each.name: _TYPES.get(each.type, "") for each in columns}
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
        keys = [] if has_children else list(self.connection.execute(_KEYS, {"oid": oid}).scalars())
        return BaseTable(
            shown,
            types,
            tuple(map(frozenset, keys)),
            frozenset(relation.parts),
            may_be_public=may_be_public and not has_children,
            has_policies=relation.has_policies,
        )
