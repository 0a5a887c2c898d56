"""The proof of the lineage of a view, from the syntax tree of its definition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from noisycount.engines.views.definition import (
    AGGREGATES,
    RANKS,
    BaseTable,
    Relations,
    UnprovenError,
    ViewDefinition,
    parse_definition,
    require_known,
)
from noisycount.engines.views.lineage import COMPUTED, Lineage, UnitColumns
from noisycount.engines.views.scope import (
    OUTER,
    Item,
    Scope,
    all_joins,
    alone,
    conditions_of,
    equated_places,
    expand_aliases,
    find_place,
    first_joins,
    has_aggregate,
    is_comma,
    is_inner,
    is_nested_query,
    loose_columns,
    names_unit,
    outer_equations,
    own_nodes,
    renamed,
    resolve_number,
    shown_items,
    type_of_expression,
    values_lineage,
)

_JOINS = {
    *(("", kind) for kind in ("", "INNER", "CROSS", "SEMI", "ANTI")),
    *((side, kind) for side in ("LEFT", "RIGHT", "FULL") for kind in ("", "OUTER")),
}


@dataclass(slots=True)
class Proof:
    """The lineage of a view, from those of the relations that it reads."""

    dialect: str
    relations: Relations
    public: frozenset[str]  # the names of public relations, in lower case
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)  # why a column names the unit no more

    def lineage(self, view: ViewDefinition) -> Lineage:
        """Return the lineage of a view, or raise UnprovenError if its definition is not understood."""
        try:
            return self._view(view, is_public=False)
        except RecursionError:
            raise UnprovenError("its definition is too deep to be read") from None

    def _view(self, view: ViewDefinition, *, is_public: bool) -> Lineage:
        if not view.is_readable:
            raise UnprovenError(f"{view.name!r} calls functions that are not the engine's own")
        tree, names = parse_definition(view, self.dialect)
        require_known(tree)
        outer, self.public = self.public, self.public | ({""} if is_public else set())
        lineage = self._query(tree, {})
        self.public = outer
        lineage = renamed(lineage, names)
        shown = [name for name in lineage.names if name]
        if len(set(shown)) < len(shown):  # the engine gives some of them other names
            raise UnprovenError("several of its columns have one name: name each by AS")
        return lineage

    def _relation(self, table: exp.Table) -> Lineage:
        relation = self.relations(table.db or None, table.name)
        is_public = "" in self.public or relation.name.lower() in self.public
        if isinstance(relation, BaseTable):
            return Lineage.of_table(relation, is_public=is_public)
        return self._view(relation, is_public=is_public)

    def _query(self, query: exp.Expr, common: Mapping[str, Lineage]) -> Lineage:
        """Return the lineage of a query that refers to no outer one."""
        common = self._common(query, common)
        if isinstance(query, exp.Subquery | exp.Paren) and is_nested_query(query.this):
            return self._query(query.this, common)
        if isinstance(query, exp.Select):
            scope, _ = self._body(query, common, None)
            return self._result(query, scope)
        if not isinstance(query, exp.SetOperation):
            raise UnprovenError(f"it has {query.sql()[:60]!r}, of which nothing can be proved")
        left, right = self._query(query.this, common), self._query(query.expression, common)
        if len(left.names) != len(right.names):
            raise UnprovenError("it puts queries of unlike columns one below the other")
        combined = left.combined(right, query.key, is_distinct=bool(query.args.get("distinct")))
        self._note([left, right], combined, f"its {query.key} mixes the rows of several units")
        return combined

    def _common(self, query: exp.Expr, common: Mapping[str, Lineage]) -> Mapping[str, Lineage]:
        """Return the common table expressions that a query may name."""
        found = query.args.get("with_")
        queries = [] if found is None else found.expressions
        for number, each in enumerate(queries):
            later = {query.alias.lower() for query in queries[number:]}
            if any(not table.db and table.name.lower() in later for table in each.this.find_all(exp.Table)):
                raise UnprovenError("a query of its WITH reads itself or a later one")
            names = tuple(name.name.lower() for name in each.args["alias"].columns)
            common = {**common, each.alias.lower(): renamed(self._query(each.this, common), names)}
        return common

    def _body(
        self, select: exp.Select, common: Mapping[str, Lineage], outer: Scope | None
    ) -> tuple[Scope, list[tuple[int, int]]]:
        """Return what a query reads, once it has chosen rows, and the columns of `outer` that equal some of these."""
        source = select.args.get("from_")
        joins = select.args.get("joins") or []
        where = select.args.get("where")
        scope = Scope(Lineage((), (), (), ()), [], common, outer)
        conditions = [] if where is None else list(conditions_of(where.this))
        if source is not None:
            nodes = list(all_joins([source.this, *joins]))
            pool: list[exp.Expr] = []
            if not any(node.side in {"RIGHT", "FULL"} for node in nodes):  # which add rows that meet no condition
                inner = [node for node in (*first_joins(source.this), *joins) if node.args.get("on") and is_inner(node)]
                scope.where = conditions
                pool = [*conditions, *(each for node in inner for each in conditions_of(node.args["on"]))]
            elif any(is_comma(node) for node in nodes):
                raise UnprovenError("it has a comma beside a right or full join: write CROSS JOIN")
            scope = self._source(source.this, scope, pool)
            for join in joins:
                scope = self._joined(scope, join, pool)
            scope.outer = outer
        for condition in conditions:
            self._condition(condition, scope)
        equations = [pair for each in conditions for pair in outer_equations(each, scope)]
        return scope, equations

    def _source(self, node: exp.Expr, scope: Scope, pool: Sequence[exp.Expr]) -> Scope:
        """Return one relation that a query reads, or several that are joined in brackets."""
        alias = node.args.get("alias")
        name = "" if alias is None else alias.name.lower()
        names = () if alias is None else tuple(each.name.lower() for each in alias.columns)
        if isinstance(node, exp.Table):
            lineage = None if node.db else scope.common.get(node.name.lower())
            made = alone(self._relation(node) if lineage is None else lineage, name or node.name.lower(), names, scope)
        elif isinstance(node, exp.Values):
            made = alone(values_lineage(node), name, names, scope)
        elif isinstance(node, exp.Subquery) and is_nested_query(node.this):
            made = alone(self._query(node.this, scope.common), name, names, scope)
        elif isinstance(node, exp.Subquery) and alias is None:
            made = self._source(node.this, scope, pool)
        else:
            raise UnprovenError(f"it reads {node.sql()[:60]!r}, of which nothing can be proved")
        for join in node.args.get("joins") or ():
            made = self._joined(made, join, pool)
        return made

    def _joined(self, scope: Scope, join: exp.Join, pool: Sequence[exp.Expr]) -> Scope:
        """Return the relations of a query and one more."""
        if (join.side, join.kind) not in _JOINS:
            raise UnprovenError(f"it has a {join.side} {join.kind} join, of which nothing can be proved")
        if isinstance(join.this, exp.Unnest):
            return self._unnested(scope, join)
        right = self._source(join.this, scope, scope.where)
        count = len(scope.lineage.names)
        both = Scope(
            scope.lineage.joined(right.lineage, (), ""),
            [*scope.aliases, *((alias, start + count, end + count) for alias, start, end in right.aliases)],
            scope.common,
            hidden=scope.hidden | {place + count for place in right.hidden},
            where=scope.where,
        )
        on = list(conditions_of(join.args["on"])) if join.args.get("on") else []
        pairs = list(equated_places([*on, *(pool if is_inner(join) or join.side == "LEFT" else ())], both, count))
        merged = [
            (scope.find(exp.column(name.name)), right.find(exp.column(name.name)))
            for name in join.args.get("using") or ()
        ]
        pairs += merged
        if join.kind in {"SEMI", "ANTI"}:
            lineage = scope.lineage.restricted(right.lineage, pairs)
            joined = replace(scope, lineage=lineage)
        else:
            lineage = scope.lineage.joined(right.lineage, pairs, join.side)
            joined = replace(both, lineage=lineage, hidden=both.hidden | {y + count for _, y in merged})
            if join.side in {"RIGHT", "FULL"} and merged:  # whose column is neither the left one nor the right one
                raise UnprovenError("it has a right or full join with USING: write ON, and COALESCE for the column")
        for condition in on:
            self._require_public(condition, both)
        shown = f"it joins {scope.shown} with {right.shown} other than by their units"
        self._note([scope.lineage, right.lineage], lineage, shown)
        return joined

    def _unnested(self, scope: Scope, join: exp.Join) -> Scope:
        """Return the relations of a query with the elements of arrays that are theirs."""
        unnest, count = join.this, len(scope.lineage.names)
        alias = unnest.args.get("alias")
        if join.side not in {"", "LEFT"} or alias is None or join.args.get("using"):
            raise UnprovenError("it has an unnest without a name, of which nothing can be proved")
        for each in unnest.expressions:
            self._require_public(each, scope)
        elements = len(unnest.expressions)
        names = tuple(each.name.lower() for each in alias.columns) or (alias.name.lower(),) * elements
        if len(names) != elements:
            raise UnprovenError("it has an unnest whose columns have no names")
        lineage = scope.lineage
        lineage = replace(
            lineage,
            names=(*lineage.names, *names),
            types=(*lineage.types, *[""] * elements),
            origins=(*lineage.origins, *[None] * elements),
            is_recordwise=not lineage.private,
            is_stable=not lineage.private,
            keys=(),
        )
        made = replace(scope, lineage=lineage.with_units(lineage.units))
        made.aliases = [*scope.aliases, (alias.name.lower(), count, count + elements)]
        if join.args.get("on"):
            self._require_public(join.args["on"], made)
        return made

    def _condition(self, condition: exp.Expr, scope: Scope) -> None:
        """Judge a condition that every row of a query meets."""
        node = condition.unnest()
        queried = None
        if isinstance(node, exp.In) and node.args.get("query"):
            queried = node.args["query"]
        elif isinstance(node, exp.EQ) and isinstance(node.expression.unnest(), exp.Any):
            queried = node.expression.unnest().this
        if queried is None or not isinstance(queried.unnest(), exp.Query):
            self._check(condition, scope)
            return
        inner = self._query(queried, scope.common)
        place = scope.plain(node.this)
        self._check(node.this, scope)
        former = scope.lineage
        scope.lineage = former.restricted(inner, [] if place is None else [(place, 0)])
        self._note([former, inner], scope.lineage, f"{node.sql()[:60]!r} chooses by the records of other units")

    def _check(self, expression: exp.Expr, scope: Scope, *, is_public: bool = False) -> None:
        """Judge an expression of a row: its columns are known, and its queries are of the unit of the row."""
        waiting = [expression]
        while waiting:
            node = waiting.pop()
            if isinstance(node, exp.Exists | exp.Subquery):
                self._nested(node.this, scope, is_public=is_public)
            elif isinstance(node, exp.Query):
                self._nested(node, scope, is_public=True)
            elif isinstance(node, exp.In) and node.args.get("query"):
                self._nested(node.args["query"], scope, is_public=True)
                waiting.append(node.this)
            elif isinstance(node, exp.Any):
                self._nested(node.this, scope, is_public=True)
            elif isinstance(node, exp.Column):
                if isinstance(node.this, exp.Star):
                    raise UnprovenError(f"it has {node.sql()[:60]!r}, of which nothing can be proved")
                scope.find(node)
            else:
                waiting += node.iter_expressions()

    def _require_public(self, expression: exp.Expr, scope: Scope) -> None:
        """Judge an expression whose queries may read public tables alone."""
        self._check(expression, scope, is_public=True)

    def _nested(self, query: exp.Expr, scope: Scope, *, is_public: bool) -> None:
        """Judge a query in an expression of a row."""
        node = query.unnest()
        if not isinstance(node, exp.Query):
            self._check(node, scope, is_public=is_public)
            return
        equations: list[tuple[int, int]] = []
        if isinstance(node, exp.Select):
            inner_scope, equations = self._body(node, self._common(node, scope.common), scope)
            reasons = dict(self.reasons)
            self._result(node, inner_scope)  # whose rows are all of one unit, if they are of that of the row
            self.reasons = reasons
            inner = inner_scope.lineage
        else:
            inner = self._query(node, scope.common)
        reason = f"{node.sql()[:60]!r} reads the records of other units"
        if is_public and inner.private:
            raise UnprovenError(reason)
        if inner.private and equations:
            _require_qualified(node, inner, scope)
        former = scope.lineage
        scope.lineage = former.restricted(inner, equations)
        self._note([former, inner], scope.lineage, reason)

    def _result(self, select: exp.Select, scope: Scope) -> Lineage:
        """Return the lineage of what a query shows of the rows that it has chosen."""
        items = list(shown_items(select, scope))
        clauses = [select.args[name].this for name in ("having", "qualify") if select.args.get(name)]
        clauses = [expand_aliases(each, items, scope) for each in clauses]
        order = select.args.get("order")
        if order is not None and order.find(exp.Query, exp.Window, *AGGREGATES):
            raise UnprovenError("it is ordered by what it computes, of which nothing can be proved")
        shown = [*(item.expression for item in items), *clauses]
        is_grouped = bool(select.args.get("group")) or any(has_aggregate(each) for each in shown)
        for each in shown:
            self._check(each, scope, is_public=is_grouped)
            self._require_exact(each, scope)
        lineage, keys = scope.lineage, None
        if is_grouped:
            named, is_key = self._keys(select, items, scope, shown)
            lineage, keys = self._narrowed(lineage, named), named if is_key else []
        for window in (node for each in shown for node in own_nodes(each)):
            if isinstance(window, exp.Window):
                places = [scope.plain(part) for part in window.args.get("partition_by") or ()]
                lineage = self._narrowed(lineage, [place for place in places if place is not None])
        lineage = self._shown(lineage, items, scope, keys)
        distinct = select.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            raise UnprovenError("its DISTINCT ON depends on the order of equal rows: take rank in its place")
        return lineage if distinct is None else lineage.distinct()

    def _narrowed(self, lineage: Lineage, places: Sequence[int]) -> Lineage:
        """Return the lineage of rows that are computed from all that are equal in some columns."""
        narrowed = lineage.mixed(places)
        self._note([lineage], narrowed, "it groups, numbers or adds up rows of several units")
        return narrowed

    def _keys(
        self, select: exp.Select, items: Sequence[Item], scope: Scope, shown: Sequence[exp.Expr]
    ) -> tuple[list[int], bool]:
        """Return the columns by which a query groups, and True if it groups by nothing else.

        All else that it shows is made of groups.
        """
        group = select.args.get("group")
        named = [] if group is None else list(group.expressions)
        if group is not None and group.args.get("all"):
            named = [item.expression for item in items if not has_aggregate(item.expression)]
        named = [expand_aliases(resolve_number(each, items), items, scope) for each in named]
        places = [scope.plain(each) for each in named]
        for each in named:
            self._check(each, scope, is_public=True)
        texts = {each.unnest().sql() for each, place in zip(named, places, strict=True) if place is None}
        for each in shown:
            for column in loose_columns(each, texts):
                if find_place(scope, column) not in {*places, None, OUTER}:
                    raise UnprovenError(f"{column.sql()!r} may be of any row of a group: group by it")
        return [place for place in places if place is not None], None not in places

    def _require_exact(self, expression: exp.Expr, scope: Scope) -> None:
        """Raise UnprovenError if an aggregate depends on the order of rows."""
        for node in own_nodes(expression):
            if not isinstance(node, exp.Sum | exp.Avg):
                continue
            argument = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
            if self.dialect != "sqlite" and type_of_expression(argument, scope) not in {"integer", "decimal"}:
                raise UnprovenError(
                    f"the last digits of {node.sql()[:60]!r} depend on the order of rows: cast what it adds up to a "
                    "whole number or DECIMAL"
                )
        for window in own_nodes(expression):
            if not isinstance(window, exp.Window):
                continue
            spec, called = window.args.get("spec"), window.this
            called = called.this if isinstance(called, exp.Filter) else called
            if type(called) not in AGGREGATES | RANKS or (spec is not None and spec.args.get("kind") != "RANGE"):
                raise UnprovenError(f"{window.sql()[:60]!r} depends on the order of equal rows: take rank in its place")

    def _shown(self, lineage: Lineage, items: Sequence[Item], scope: Scope, keys: list[int] | None) -> Lineage:
        """Return the lineage of the columns that a query shows."""
        places = [item.place for item in items]
        units = [
            replace(unit, columns=frozenset(n for n, item in enumerate(items) if names_unit(item, unit, scope)))
            for unit in lineage.units
        ]
        repeats = any(item.expression.find(exp.Unnest, exp.Explode) for item in items)
        if lineage.is_recordwise and not repeats:
            named = frozenset().union(*(unit.columns for unit in units))
            units += [
                UnitColumns(
                    frozenset((table, COMPUTED + item.expression.sql()) for table in lineage.private),
                    "",
                    frozenset({n}),
                )
                for n, item in enumerate(items)
                if n not in named
            ]
        known = lineage.keys if keys is None else (frozenset(keys),)
        unique = [frozenset(places.index(place) for place in key) for key in known if key <= {*places} and not repeats]
        made = Lineage(
            tuple(item.name for item in items),
            tuple(
                type_of_expression(item.expression, scope) if item.place is None else lineage.types[item.place]
                for item in items
            ),
            (),
            tuple(None if place is None else lineage.origins[place] for place in places),
            lineage.private,
            is_recordwise=lineage.is_recordwise and not (repeats and lineage.private),
            is_stable=lineage.is_stable and not (repeats and lineage.private),
            keys=tuple(unique) if keys is None or keys else (),
        )
        return made.with_units(units)

    def _note(self, former: Sequence[Lineage], lineage: Lineage, reason: str) -> None:
        """Remember why columns name the unit of a row no more."""
        left = {source for unit in lineage.units for source in unit.sources}
        for unit in (unit for each in former for unit in each.units):
            for source in unit.sources - left:
                self.reasons.setdefault(source, reason)


def _require_qualified(query: exp.Query, inner: Lineage, scope: Scope | None) -> None:
    """Raise UnprovenError if the engine could find a name of a nested query in another relation than is meant here.

    It could take a name without its relation for a name that the nested query gives to a column or for a column that
    no catalog lists, and the name of an outer relation for a column that has parts.
    """
    if any(not column.table for column in query.find_all(exp.Column)):
        raise UnprovenError(f"{query.sql()[:60]!r} has a column without its relation: write both, as in seen.person")
    while scope is not None:
        if any(alias in inner.names for alias, _, _ in scope.aliases):
            raise UnprovenError(f"{query.sql()[:60]!r} reads a column that has the name of a relation: rename one")
        scope = scope.outer
