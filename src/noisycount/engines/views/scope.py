"""The columns of one query: where they are, which of them are equated, and what it shows of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from noisycount.engines.views.definition import AGGREGATES, UnprovenError
from noisycount.engines.views.lineage import Lineage, UnitColumns
from noisycount.frozen import frozen

OUTER = -1
"""The place of a column of an outer query."""


@dataclass(slots=True)
class Scope:
    """The relations that a query reads, side by side."""

    lineage: Lineage
    aliases: list[tuple[str, int, int]]  # the names of the relations, and their columns from a place to another
    common: Mapping[str, Lineage]  # its common table expressions
    outer: "Scope | None" = None  # the query that it is nested in
    hidden: set[int] = field(default_factory=set)  # columns that USING has merged into others
    where: Sequence[exp.Expr] = ()  # the conditions of all rows that it shows, with names of all its relations

    @property
    def shown(self) -> str:
        """The names of its relations."""
        return ", ".join(alias or "a query" for alias, _, _ in self.aliases)

    def find(self, column: exp.Column) -> int:
        """Return the place of a column; `OUTER` if it is one of an outer query."""
        name, table = column.name.lower(), column.table.lower()
        spans = [(start, end) for alias, start, end in self.aliases if not table or alias == table]
        if table and len(spans) > 1:
            raise UnprovenError(f"several of its relations are named {table!r}")
        places = [place for start, end in spans for place in range(start, end) if self.lineage.names[place] == name]
        if not table:
            places = [place for place in places if place not in self.hidden]
        if len(places) > 1:
            raise UnprovenError(f"several of its columns are named {name!r}")
        if places:
            return places[0]
        if self.outer is not None:
            self.outer.find(column)
            return OUTER
        raise UnprovenError(f"{column.sql()[:60]!r} is none of its columns")

    def plain(self, expression: exp.Expr) -> int | None:
        """Return the place of an expression that is a column of this query itself; else None."""
        node = expression.unnest()
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return None
        try:
            place = self.find(node)
        except UnprovenError:
            return None
        return None if place == OUTER else place


@frozen
class Item:
    """A column of a result."""

    name: str
    expression: exp.Expr
    place: int | None  # the column of the query that it shows as it is, if any


def renamed(lineage: Lineage, names: Sequence[str]) -> Lineage:
    """Return a lineage with other names of its first columns."""
    if len(names) > len(lineage.names):
        raise UnprovenError("it names more columns than there are")
    return replace(lineage, names=(*names, *lineage.names[len(names) :]))


def alone(lineage: Lineage, name: str, names: Sequence[str], scope: Scope) -> Scope:
    """Return one relation as all that a query reads."""
    return Scope(renamed(lineage, names), [(name, 0, len(lineage.names))], scope.common, where=scope.where)


def values_lineage(values: exp.Values) -> Lineage:
    """Return the lineage of rows that a definition spells out."""
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in values.expressions]
    empty = Scope(Lineage((), (), (), ()), [], {})
    if any(
        not isinstance(each.unnest(), exp.Literal | exp.Null | exp.Boolean | exp.Neg) for row in rows for each in row
    ):
        raise UnprovenError("it has VALUES that are no constants")
    types = [{type_of_expression(each, empty) for each in column} for column in zip(*rows, strict=True)]
    names = tuple(f"col{place}" for place in range(len(types)))
    known = tuple(found.pop() if len(found) == 1 else "" for found in types)
    return Lineage(names, known, (), (None,) * len(types)).with_public_units()


def first_joins(source: exp.Expr) -> Iterator[exp.Join]:
    """Yield the joins of the first relation of a query, and of the first one in its brackets."""
    yield from source.args.get("joins") or ()
    if isinstance(source, exp.Subquery) and not is_nested_query(source.this):
        yield from first_joins(source.this)


def all_joins(nodes: Sequence[exp.Expr]) -> Iterator[exp.Join]:
    """Yield the joins of a query, also those in brackets."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Join):
            yield node
            waiting.append(node.this)
        elif isinstance(node, exp.Table | exp.Subquery):
            waiting += node.args.get("joins") or []
            if isinstance(node, exp.Subquery) and not is_nested_query(node.this):
                waiting.append(node.this)


def is_nested_query(node: exp.Expr) -> bool:
    """Return True if what stands in brackets is a query, and False if it is a join."""
    while isinstance(node, exp.Subquery) and not (node.alias or node.args.get("joins")):
        node = node.this
    return isinstance(node, exp.Select | exp.SetOperation)


def is_inner(join: exp.Join) -> bool:
    """Return True if a join has no row without a match."""
    return not join.side and join.kind in {"", "INNER", "CROSS"}


def is_comma(join: exp.Join) -> bool:
    """Return True if a join is written as a comma."""
    return not (join.side or join.kind or join.args.get("on") or join.args.get("using"))


def conditions_of(expression: exp.Expr) -> Iterator[exp.Expr]:
    """Yield conditions that are all true if an expression is."""
    waiting = [expression]
    while waiting:
        node = waiting.pop().unnest()
        if isinstance(node, exp.And):
            waiting += [node.expression, node.this]
        else:
            yield node


def equated_places(conditions: Sequence[exp.Expr], scope: Scope, count: int) -> Iterator[tuple[int, int]]:
    """Yield the places of a left and a right relation that are equated; the right one begins at `count`."""
    for condition in conditions:
        if isinstance(condition, exp.EQ):
            one, other = scope.plain(condition.this), scope.plain(condition.expression)
            if one is not None and other is not None and min(one, other) < count <= max(one, other):
                yield min(one, other), max(one, other) - count


def outer_equations(condition: exp.Expr, scope: Scope) -> Iterator[tuple[int, int]]:
    """Yield the place of a column of the outer query and that of a column of this one that a condition equates."""
    if not isinstance(condition, exp.EQ) or scope.outer is None:
        return
    for outer, inner in ((condition.this, condition.expression), (condition.expression, condition.this)):
        place, node = scope.plain(inner), outer.unnest()
        if place is not None and isinstance(node, exp.Column) and find_place(scope, node) == OUTER:
            there = scope.outer.plain(node)
            if there is not None:
                yield there, place


def find_place(scope: Scope, column: exp.Column) -> int | None:
    """Return the place of a column, or None if it is none of this query or of an outer one."""
    try:
        return scope.find(column)
    except UnprovenError:
        return None


def shown_items(select: exp.Select, scope: Scope) -> Iterator[Item]:
    """Yield the columns that a query shows; a star is all columns."""
    for each in select.expressions:
        node = each.unalias()
        star = node.this if isinstance(node, exp.Column) and isinstance(node.this, exp.Star) else node
        if not isinstance(star, exp.Star):
            name = each.alias or (each.name if isinstance(each, exp.Column) else "")  # others are named by the engine
            yield Item(name.lower(), node, scope.plain(node))
            continue
        table = node.table.lower() if isinstance(node, exp.Column) else ""
        if any(isinstance(found, exp.Column) and found.table for found in star.args.get("except_") or ()):
            raise UnprovenError("it leaves out a column of one relation by EXCLUDE: name the columns that it shows")
        excluded = {found.name.lower() for found in star.args.get("except_") or ()}
        for alias, start, end in scope.aliases:
            for place in range(start, end):
                name = scope.lineage.names[place]
                is_meant = alias == table if table else place not in scope.hidden
                if is_meant and name not in excluded:
                    yield Item(name, exp.column(name, alias or None), place)


def resolve_number(expression: exp.Expr, items: Sequence[Item]) -> exp.Expr:
    """Return the shown column that a number means in GROUP BY."""
    if isinstance(expression, exp.Literal) and not expression.is_string and expression.name.isdigit():
        if not 0 < int(expression.name) <= len(items):
            raise UnprovenError("it groups by a column that it does not show")
        return items[int(expression.name) - 1].expression
    return expression


def expand_aliases(expression: exp.Expr, items: Sequence[Item], scope: Scope) -> exp.Expr:
    """Return an expression with what the query shows in the place of the names that it gives to it."""

    def written_out(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or node.table:
            return node
        meant = [item for item in items if item.name == node.name.lower()]
        place = find_place(scope, node)
        if not meant or (len(meant) == 1 and meant[0].place is not None and meant[0].place == place):
            return node
        if len(meant) > 1 or place is not None:
            raise UnprovenError(f"{node.name!r} is the name of two columns: rename one")
        return meant[0].expression.copy()

    return expression.copy().transform(written_out)


def has_aggregate(expression: exp.Expr) -> bool:
    """Return True if an expression aggregates the rows of its own query."""
    return any(_is_aggregate(node) for node in own_nodes(expression))


def own_nodes(expression: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the nodes of an expression, except those of queries in it."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, exp.Query):
            yield node
            waiting += node.iter_expressions()


def _is_aggregate(node: exp.Expr) -> bool:
    """Return True if a node aggregates rows, and is not the function of a window or one of several arguments."""
    if type(node) not in AGGREGATES or (isinstance(node, exp.Min | exp.Max) and node.expressions):
        return False
    parent = node.parent
    if isinstance(parent, exp.Filter):
        node, parent = parent, parent.parent
    return not (isinstance(parent, exp.Window) and parent.this is node)


def loose_columns(expression: exp.Expr, keys: set[str]) -> Iterator[exp.Column]:
    """Yield the columns of an expression that are neither aggregated nor parts of a key."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Column):
            yield node
        elif node.unnest().sql() not in keys and not _is_aggregate(node):
            waiting += node.iter_expressions()


def names_unit(item: Item, unit: UnitColumns, scope: Scope) -> bool:
    """Return True if a shown column is a column of a unit, or the first of several such that is not missing."""
    node = item.expression.unnest()
    if isinstance(node, exp.Coalesce):
        return all(scope.plain(each) in unit.columns for each in (node.this, *node.expressions))
    return item.place in unit.columns


def type_of_expression(expression: exp.Expr, scope: Scope) -> str:
    """Return the type of an expression as far as it matters here; empty: any."""
    node = expression.unnest()
    place = scope.plain(node)
    match node:
        case exp.Column() if place is not None:
            return scope.lineage.types[place]
        case exp.Literal():
            number = "integer" if node.name.isdigit() else ""
            return "text" if node.is_string else number
        case exp.Count():
            return "integer"
        case exp.Cast():
            return _CASTS.get(node.to.this, "")
        case exp.Sum() | exp.Min() | exp.Max() | exp.Coalesce() | exp.Add() | exp.Sub() | exp.Mul() | exp.Neg():
            types = {type_of_expression(each, scope) for each in node.iter_expressions()}
            is_number = isinstance(node, exp.Binary | exp.Neg)
            return types.pop() if len(types) == 1 and (not is_number or types == {"integer"}) else ""
        case _:
            return ""


_CASTS = {
    **dict.fromkeys([exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT], "integer"),
    **dict.fromkeys([exp.DType.TEXT, exp.DType.VARCHAR], "text"),
    exp.DType.DECIMAL: "decimal",
    exp.DType.BOOLEAN: "boolean",
    exp.DType.DATE: "date",
}
