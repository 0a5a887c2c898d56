"""Views, row policies and generated columns of PostgreSQL: which of their columns can be read without failing.

A server computes a view's expressions only for the records that a question needs, so that an error would reveal which
records match. So only stored columns are counted, and expressions of them that cannot fail at any record: columns,
constants, comparisons, CASE and a few casts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain

from sqlalchemy import Connection
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from noisycount.engines.sql.relations import COLUMNS, RELATION
from noisycount.errors import SourceError
from noisycount.frozen import frozen

Types = Mapping[str, str | None]
"""Type of each column of a relation; None if it is computed by an expression that might fail."""

_WHOLE = ("int2", "int4", "int8")
_NUMBERS = frozenset({*_WHOLE, "numeric", "float4", "float8"})
_ALIKE = {**dict.fromkeys(_WHOLE, "int8"), "name": "text", "float4": "float8"}
_TEXTS = frozenset({"text", "varchar", "bpchar", "name"})
_COMPARED = frozenset({*_NUMBERS, *_TEXTS, "bool", "date", "timestamp", "timestamptz", "uuid"})
"""Types whose values can always be compared."""

_TOTAL_CASTS = frozenset(
    chain(
        ((a, b) for a in _WHOLE for b in ("int8", "numeric", "float4", "float8", "text")),
        [("int2", "int2"), ("int2", "int4"), ("int4", "int4"), ("float4", "float8")],
        ((a, b) for a in _TEXTS for b in _TEXTS),
        ((each, "text") for each in ("bool", "uuid")),
        ((each, each) for each in _COMPARED - {*_WHOLE, "numeric"}),
        [("timestamp", "date"), ("timestamptz", "date"), ("timestamptz", "timestamp")],
    )
)
"""Casts that succeed for every value, in a session in UTC."""

_NAMES = {
    exp.DType.SMALLINT: "int2",
    exp.DType.INT: "int4",
    exp.DType.BIGINT: "int8",
    exp.DType.DECIMAL: "numeric",
    exp.DType.FLOAT: "float4",
    exp.DType.DOUBLE: "float8",
    exp.DType.TEXT: "text",
    exp.DType.VARCHAR: "varchar",
    exp.DType.CHAR: "bpchar",
    exp.DType.BPCHAR: "bpchar",
    exp.DType.NAME: "name",
    exp.DType.BOOLEAN: "bool",
    exp.DType.DATE: "date",
    exp.DType.TIMESTAMP: "timestamp",
    exp.DType.TIMESTAMPTZ: "timestamptz",
    exp.DType.UUID: "uuid",
}
_SIZED = frozenset({"varchar", "bpchar"})
"""Types whose casts shorten longer texts."""

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_PARTS: Mapping[type[exp.Expr], frozenset[str]] = {
    kind: frozenset(parts.split())
    for kinds, parts in (
        ((exp.Select,), "expressions from_ joins where"),
        ((exp.Union,), "this expression"),
        ((exp.From, exp.Where, exp.Paren, exp.Not, exp.Neg, exp.Any), "this"),
        ((exp.Subquery,), "this alias joins"),
        ((exp.Table,), "this db alias joins"),
        ((exp.TableAlias,), "this"),
        ((exp.Join,), "this side kind on using"),
        ((exp.Alias,), "this alias"),
        ((exp.Column,), "this table"),
        ((exp.Identifier,), "this quoted"),
        ((exp.Literal,), "this is_string"),
        ((exp.Boolean,), "this"),
        ((exp.Null, exp.CurrentUser), ""),
        ((exp.Cast,), "this to"),
        ((exp.DataType,), "this expressions nested"),
        ((exp.DataTypeParam,), "this"),
        ((*_COMPARISONS, exp.And, exp.Or), "this expression"),
        ((exp.Is,), "this expression negate"),
        ((exp.Array,), "expressions"),
        ((exp.Coalesce,), "this expressions"),
        ((exp.Case,), "ifs default"),
        ((exp.If,), "this true"),
        ((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.DPipe), "this expression typed safe"),
    )
    for kind in kinds
}
"""Nodes that a definition may contain, with their parts. Functions are excluded: some have side effects."""


class Unsure(Exception):  # noqa: N818 - it reports no fault
    """An expression might fail at a record."""


def parse_definition(definition: str) -> exp.Expr:
    """Parse a definition. Raise Unsure if it contains other nodes than those of `_PARTS`."""
    try:
        tree = parse_one(definition, read="postgres")
    except SqlglotError:
        raise Unsure from None
    for node in tree.walk():
        parts = {key for key, value in node.args.items() if value}
        if type(node) not in _PARTS or not parts <= _PARTS[type(node)]:
            raise Unsure
    return tree


def output_type(expression: exp.Expr, scope: Mapping[str, Types]) -> str | None:
    """Return the type of an output column of a query, or None if it might fail."""
    try:
        return _type_of(expression, scope)
    except Unsure:
        if any(_column_type(each, scope) == "" for each in expression.find_all(exp.Column)):
            raise  # operators and casts of a user's type may be functions of users
        return None


def require_truth(expression: exp.Expr, scope: Mapping[str, Types]) -> None:
    """Raise Unsure if a condition might fail."""
    if _type_of(expression, scope) != "bool":
        raise Unsure


def _column_type(column: exp.Column, scope: Mapping[str, Types]) -> str | None:
    """Return the type of a column. In a policy, which reads one relation, its name needs no table."""
    table = column.table or (next(iter(scope)) if len(scope) == 1 else "")
    try:
        return scope[table][column.name]
    except KeyError:
        raise Unsure from None


def _type_of(node: exp.Expr, scope: Mapping[str, Types]) -> str:  # noqa: PLR0911 - a case a node
    """Return the type of an expression that has a value at every record; '' for a type that users made.

    Raises:
        Unsure: If the expression might fail.
    """
    if (number := _number_type(node)) is not None:
        return number
    match node:
        case exp.Paren():
            return _type_of(node.this, scope)
        case exp.Column() if (type_ := _column_type(node, scope)) is not None:
            return type_
        case exp.CurrentUser():
            return "name"
        case exp.Cast():
            return _cast_type(node, scope)
        case exp.Coalesce():
            return _common_type([node.this, *node.expressions], scope)
        case exp.Case():
            return _case_type(node, scope)
        case _:
            return _condition_type(node, scope)


def _condition_type(node: exp.Expr, scope: Mapping[str, Types]) -> str:
    """Return 'bool' if the node is a condition that is true, false or unknown at every record. Raise Unsure if not."""
    match node:
        case exp.Boolean():
            pass
        case exp.Is(expression=exp.Null()):
            _type_of(node.this, scope)
        case exp.Is(expression=exp.Boolean()) | exp.Not():
            require_truth(node.this, scope)
        case exp.And() | exp.Or():
            for each in node.flatten():
                require_truth(each, scope)
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            right = node.right
            _common_type([node.left, *(_values_of_array(right) if isinstance(right, exp.Any) else [right])], scope)
        case _:
            raise Unsure
    return "bool"


def _case_type(case: exp.Case, scope: Mapping[str, Types]) -> str:
    """Return the type of the results of a CASE."""
    for each in case.args["ifs"]:
        require_truth(each.this, scope)
    default = case.args.get("default")
    results = [each.args["true"] for each in case.args["ifs"]]
    return _common_type([*results, *([] if default is None else [default])], scope)


def _values_of_array(any_of: exp.Any) -> Sequence[exp.Expr]:
    """Return the values of the array in `= ANY (array)`."""
    array = any_of.this.unnest()
    if isinstance(array, exp.Cast) and array.to.this is exp.DType.ARRAY:
        to = exp.DataType.build(array.to.expressions[0].this)
        return [exp.Cast(this=each, to=to) for each in _values_of_array(exp.Any(this=array.this))]
    if not isinstance(array, exp.Array):
        raise Unsure
    return array.expressions


def _common_type(nodes: Sequence[exp.Expr], scope: Mapping[str, Types]) -> str:
    """Return the common type of expressions. Raise Unsure if they have none."""
    return require_equal_types([_type_of(each, scope) for each in nodes])


def require_equal_types(types: Sequence[str | None]) -> str:
    """Return the common type of values (all whole numbers have one type). Raise Unsure if there is none."""
    common = {_ALIKE.get(each or "", each) for each in types}
    if len(common) > 1 or not common <= _COMPARED:
        raise Unsure
    return str(common.pop())


def _cast_type(cast: exp.Cast, scope: Mapping[str, Types]) -> str:
    """Return the type of a cast of a constant, or of a cast that succeeds for every value. Raise Unsure if not."""
    to = _NAMES.get(cast.to.this)
    if to is None or (cast.to.expressions and to not in _SIZED):
        raise Unsure
    if _is_constant(cast.this):
        return to
    if (_type_of(cast.this, scope), to) not in _TOTAL_CASTS:
        raise Unsure
    return to


def _is_constant(node: exp.Expr) -> bool:
    """Return True if an expression is a constant, whose cast is computed before any record is read."""
    inner = node.unnest()
    if isinstance(inner, exp.Cast) and _NAMES.get(inner.to.this) in _NUMBERS:
        return _number_type(inner.this.unnest()) is not None or _is_text(inner.this)
    return _is_text(inner) or isinstance(inner, exp.Null) or _number_type(inner) is not None


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


def _number_type(node: exp.Expr) -> str | None:
    """Return the type of a number, or None if the node is no number."""
    if isinstance(node, exp.Neg | exp.Paren):
        return _number_type(node.this)
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    return "int8" if node.this.isdigit() else "numeric"


def computed_columns(connection: Connection, schema: str, name: str) -> frozenset[str]:
    """Return the columns of a relation that are computed when it is read, and might fail.

    Raises:
        SourceError: If the relation is a view, has policies or foreign rows that might fail at a record.
    """
    types = _Catalog(connection).relation(schema, name, is_counted=True)
    return frozenset(each for each, type_ in types.items() if type_ is None)


@frozen
class _Catalog:
    """The columns of the relations that definitions name, read from the server's catalog."""

    connection: Connection  # in a transaction whose search path is pg_catalog
    known: dict[tuple[str, str], Types] = field(default_factory=dict)  # columns of relations that were read

    def relation(self, schema: str, name: str, *, is_counted: bool = False) -> Types:
        """Return the columns of a relation.

        Args:
            schema: Its schema.
            name: Its name.
            is_counted: True if the account itself reads it, so that only the account's policies apply.
        """
        if (schema, name) not in self.known:
            self.known[schema, name] = self._read(schema, name, is_counted=is_counted)
        return self.known[schema, name]

    def _read(self, schema: str, name: str, *, is_counted: bool) -> Types:
        names = {"schema": schema, "name": name}
        relation = self.connection.execute(RELATION, {**names, "is_counted": is_counted}).one_or_none()
        if relation is None:
            return {}
        if not relation.is_own:
            raise SourceError(
                f"{name!r} has foreign records. Reading can fail at one of them and reveal it: "
                "copy them into a table or a materialised view"
            )
        columns = self.connection.execute(COLUMNS, names).all()
        types = {each.name: None if each.is_made else each.server_type for each in columns}
        try:
            for policy in relation.policies:
                require_truth(parse_definition(policy), {name: types})
        except Unsure:
            raise SourceError(
                f"{name!r} has a policy of rows that does more than compare columns. It can fail "
                "at one record and reveal it: write it as comparisons of columns"
            ) from None
        if relation.kind != "v":
            return types
        try:
            outputs = self._output_types(parse_definition("" if relation.calls_others else relation.definition))
        except Unsure:
            raise SourceError(
                f"{name!r} is a view that does more than choose, join and compare columns. It can "
                "fail at one record and reveal it: name a table or a materialised view"
            ) from None
        return {name: outputs[n] and type_ for n, (name, type_) in enumerate(types.items())}

    def _output_types(self, query: exp.Expr) -> list[str | None]:
        """Return the types of the output columns of a query, with None for a column that might fail."""
        if isinstance(query, exp.Union):
            sides = [self._output_types(each) for each in (query.left, query.right)]
            if query.args["distinct"] or None in chain(*sides):
                raise Unsure
            return sides[0]
        if not isinstance(query, exp.Select):
            raise Unsure
        scope = dict(self._sources(query))
        joins, where = _joins_of_query(query), query.args.get("where")
        for join in joins:
            _require_comparable(join, scope)
        for condition in filter(None, [where and where.this, *(join.args.get("on") for join in joins)]):
            require_truth(condition, scope)
        return [output_type(each.unalias(), scope) for each in query.expressions]

    def _sources(self, query: exp.Select) -> Iterator[tuple[str, Types]]:
        """Yield the relations that a query reads, with the names that it gives them."""
        source = query.args.get("from_")
        tables = [] if source is None else [source.this]
        tables += [each.this for each in query.args.get("joins") or ()]
        while tables:
            table = tables.pop()
            tables += [each.this for each in table.args.get("joins") or ()]
            if isinstance(table, exp.Table) and table.db:
                yield table.alias_or_name, self.relation(table.db, table.name)
            elif isinstance(table.this, exp.Table | exp.Subquery) and not table.alias:
                tables.append(table.this)  # joins in brackets
            elif isinstance(table, exp.Subquery) and table.alias:
                types = self._output_types(table.this)
                yield table.alias, dict(zip(table.this.named_selects, types, strict=True))
            else:
                raise Unsure


def _joins_of_query(query: exp.Select) -> list[exp.Join]:
    """Return the joins of a query, without those of its subqueries."""
    return [join for join in query.find_all(exp.Join) if join.find_ancestor(exp.Select) is query]


def _require_comparable(join: exp.Join, scope: Mapping[str, Types]) -> None:
    """Raise Unsure if a join USING columns compares values that might not be comparable."""
    for name in join.args.get("using") or ():
        types = [types[name.name] for types in scope.values() if name.name in types]
        require_equal_types(types)
