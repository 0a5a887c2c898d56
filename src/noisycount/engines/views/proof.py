"""The proof that each row of a view comes from the records of one unit.

The accepted language is small, so that names mean here what they mean to the engine: one SELECT over tables and views,
or several with UNION ALL between them. It has no query in a query. The columns of every relation, and the types of
these columns, are read from the engine's catalog. What each rule is for:

* inner and left joins: two private relations must be joined by their units;
* GROUP BY, DISTINCT and PARTITION BY: the unit must be among the columns by which rows are put together;
* UNION ALL: a column names the unit if it does so in each part, with the same type.

All else (subqueries, WITH, other joins, LIMIT) is refused. The rules are those of stable transformations (McSherry,
PINQ, 2009).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from noisycount.engines.views.definition import (
    AGGREGATES,
    conditions_of,
    has_aggregate,
    inner_conditions,
    joined_tables,
    parse_definition,
    parts_of,
    require_known,
    require_ranked,
    resolve_number,
    ungrouped_columns,
)
from noisycount.engines.views.relations import BaseTable, Relations, UnprovenError, ViewDefinition, fold
from noisycount.frozen import frozen

EXACT_TYPES = frozenset({"integer", "text", "boolean", "uuid", "date"})
"""Types whose equal values are indistinguishable, so that equal values name the same unit."""

_CASTS = {
    **dict.fromkeys([exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT], "integer"),
    exp.DType.BOOLEAN: "boolean",
    exp.DType.DATE: "date",
}

_DIGITS = 18  # of a literal that every engine reads as a whole number
_SYSTEM_COLUMNS = frozenset(("rowid", "oid", "_rowid_", "ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"))
"""Columns that an engine finds although no catalog lists them."""

Sources = frozenset[tuple[str, str]]
"""The column that names the unit, with its table, in each private table; empty for public rows."""
Place = tuple[str, str]
"""A relation of a query, by its alias, and one of its columns."""
Unit = tuple[frozenset[Place], Sources]
"""The columns of a query that name one unit, and its sources."""


@frozen
class Rows:
    """The rows of a relation, and the records on which they depend.

    `units` maps a column that names the unit to its sources, columns of private tables. If a row has the value v in
    such a column, it depends only on private records that have v in their source column.
    """

    columns: Mapping[str, str]  # the type of each column; empty: equal values may differ
    units: Mapping[str, Sources]
    origins: Mapping[str, Sources]  # the columns from which each column is taken, whether it names the unit or not
    private: frozenset[str] = frozenset()  # the private tables that it reads
    is_recordwise: bool = True  # a private record more or less changes one row at most
    keys: tuple[frozenset[str], ...] = ()  # sets of columns that no two rows share


@frozen
class _Column:
    """A column of the result of a query, with its type and the units that it may name."""

    type: str
    sources: Sources | None  # None: it names no unit
    origins: Sources


@frozen
class _Result:
    """The rows of one SELECT."""

    columns: Sequence[_Column]
    private: frozenset[str]
    is_recordwise: bool


@frozen
class _Item:
    """An element of the list after SELECT: an expression, and the column that it repeats."""

    expression: exp.Expr
    place: Place | None  # the column that it shows as it is, if any


def merge_sources(units: Iterable[Sources]) -> Sources | None:
    """Return the unit of rows that depend on several relations, or None if it is not one unit."""
    merged = frozenset[tuple[str, str]]().union(*units)
    return None if len({table for table, _ in merged}) < len(merged) else merged


@dataclass(slots=True)
class Proof:
    """Judge of views, by their definitions and the relations that these read."""

    dialect: str
    relations: Relations
    public: frozenset[str]  # the names of public relations, folded as the engine folds them
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)  # why a column names the unit no more

    def rows(self, relation: BaseTable | ViewDefinition, *, is_stored: bool = False) -> Rows:
        """Return the rows of a relation with the records on which they depend.

        Raise UnprovenError if this is not proven.

        `is_stored` is True if a materialised view reads it.
        """
        names = [fold(name, self.dialect) for name in relation.columns]
        columns = dict(zip(names, relation.columns.values(), strict=True))
        if len(columns) < len(names):
            raise UnprovenError(f"{relation.name!r} has columns whose names differ in case alone")
        if is_stored and isinstance(relation, BaseTable) and relation.has_policies:
            raise UnprovenError(f"policies choose the rows of {relation.name!r} that it stores")
        if relation.may_be_public and fold(relation.name, self.dialect) in self.public:
            keys = relation.keys if isinstance(relation, BaseTable) else ()
            if relation.is_view and self.dialect != "postgres":  # whose catalog does not say how texts are compared
                columns = dict.fromkeys(columns, "")
            no_records = dict.fromkeys(columns, frozenset[tuple[str, str]]())
            return Rows(columns, no_records, no_records, keys=self._fold_names(keys))
        if isinstance(relation, ViewDefinition):
            return self._view(relation, columns, is_stored=is_stored or relation.is_stored)
        storages = relation.storages or frozenset({relation.name})
        units = {name: frozenset((storage, name) for storage in storages) for name in columns}
        return Rows(columns, units, units, storages, keys=self._fold_names(relation.keys))

    def _fold_names(self, keys: Iterable[frozenset[str]]) -> tuple[frozenset[str], ...]:
        return tuple(frozenset(fold(name, self.dialect) for name in key) for key in keys)

    def _view(self, view: ViewDefinition, columns: Mapping[str, str], *, is_stored: bool) -> Rows:
        if not view.is_readable:
            raise UnprovenError(f"{view.name!r} calls functions that are not the engine's own")
        tree = parse_definition(view, self.dialect)
        parts = list(parts_of(tree))
        require_known(tree)
        results = [self._select(part, view, columns, is_stored=is_stored) for part in parts]
        private = frozenset[str]().union(*(result.private for result in results))
        is_disjoint = sum(len(result.private) for result in results) == len(private)
        types: dict[str, str] = {}
        units: dict[str, Sources] = {}
        origins: dict[str, Sources] = {}
        places = zip(*(result.columns for result in results), strict=True)
        for (column, stated_type), columns_of_parts in zip(columns.items(), places, strict=True):
            types[column] = stated_type if {part.type for part in columns_of_parts} == {stated_type} else ""
            origins[column] = frozenset[tuple[str, str]]().union(*(part.origins for part in columns_of_parts))
            sources = [part.sources for part in columns_of_parts if part.sources is not None]
            merged = merge_sources(sources) if len(sources) == len(results) else None
            if merged is not None and (len(results) == 1 or types[column] in EXACT_TYPES):
                units[column] = merged
            elif len(sources) == len(results):
                self.reasons |= dict.fromkeys(origins[column], "its UNION ALL mixes the rows of several units")
        return Rows(types, units, origins, private, is_disjoint and all(result.is_recordwise for result in results))

    def _select(
        self, select: exp.Select, view: ViewDefinition, columns: Mapping[str, str], *, is_stored: bool
    ) -> _Result:
        """Return the rows of a SELECT of a view. `columns` has the types of its columns, by folded name."""
        scope = _Scope(self.dialect, self.reasons)
        joins: list[tuple[str, exp.Join | None]] = []
        for join, table in joined_tables(select):
            alias = fold(table.alias_or_name, self.dialect)
            if alias in scope.relations:
                raise UnprovenError(f"several of its relations are named {alias!r}")
            relation = self.relations(table.db or view.schema, table.name)
            scope.relations[alias] = self.rows(relation, is_stored=is_stored)
            joins.append((alias, join))
        inner = list(inner_conditions(select))
        for number, (alias, join) in enumerate(joins):
            scope.join(alias, join, [before for before, _ in joins[:number]], inner)
        alias_names = [scope.given_name(expression) for expression in select.expressions]
        scope.aliases = {name for name in alias_names if name is not None}
        scope.require_columns(select)
        items = list(scope.items(select, list(columns)))
        if len(items) != len(columns):
            raise UnprovenError("it shows other columns than its catalog lists")
        scope.require_plain_order(select)
        scope.group(select, items)
        return scope.result(items)


@dataclass(slots=True)
class _Scope:
    """The relations of a SELECT, and the columns of these relations that name its unit."""

    dialect: str
    reasons: dict[tuple[str, str], str]  # of the proof
    relations: dict[str, Rows] = field(default_factory=dict)  # by alias, in the order of the joins
    merged: dict[str, str] = field(default_factory=dict)  # the relation whose column a name of USING means
    aliases: set[str] = field(default_factory=set)  # the names that the query gives to what it shows
    units: list[Unit] = field(default_factory=list)
    is_recordwise: bool = True

    @property
    def private(self) -> frozenset[str]:
        """The private tables that the SELECT reads."""
        return frozenset[str]().union(*(rows.private for rows in self.relations.values()))

    def join(self, alias: str, join: exp.Join | None, before: Sequence[str], inner: Sequence[exp.Expr]) -> None:
        """Join one more relation to the relations `before`.

        `inner` has the conditions that every row of the query meets.
        """
        rows = self.relations[alias]
        private = any(self.relations[earlier].private for earlier in before)
        is_left = join is not None and join.side == "LEFT"
        conditions = list(conditions_of(join)) if join is not None and is_left else inner
        equal_pairs = [*self._columns_of_using(rows, join, before), *self._equal_columns(conditions, alias, before)]
        exact_pairs = [
            (there, name)
            for there, name in equal_pairs
            if self._column_type(there) == rows.columns[name] in EXACT_TYPES
        ]
        if not rows.private:
            equal_columns = {name for _, name in exact_pairs}
            self.is_recordwise = self.is_recordwise and bool(before) and any(key <= equal_columns for key in rows.keys)
            return
        if not private:
            if is_left:
                raise UnprovenError(f"{alias!r} is joined on the left to public rows, which remain without a unit")
            self.is_recordwise = rows.is_recordwise and not before
            self.units = [(frozenset({(alias, name)}), sources) for name, sources in rows.units.items()]
            return
        self.is_recordwise = False
        linked = [
            (places if is_left else places | {(alias, name)}, merged)
            for places, sources in self.units
            for there, name in exact_pairs
            if there in places and name in rows.units
            if (merged := merge_sources([sources, rows.units[name]])) is not None
        ]
        reason = f"it joins {', '.join(before)} with {alias} other than by their units"
        if not linked:
            raise UnprovenError(reason)
        self._replace_units(linked, [*self.units, *((frozenset(), sources) for sources in rows.units.values())], reason)

    def _columns_of_using(
        self, rows: Rows, join: exp.Join | None, before: Sequence[str]
    ) -> Iterator[tuple[Place, str]]:
        """Yield pairs of columns that USING equates: a column of an earlier relation, and a column of this one."""
        for identifier in join.args.get("using") or () if join is not None else ():
            name = fold(identifier.name, self.dialect)
            holders = [there for there in before if name in self.relations[there].columns]
            if name not in rows.columns or not holders or (len(holders) > 1 and name not in self.merged):
                raise UnprovenError(f"USING ({name}) is not of one relation on each side: write ON")
            self.merged.setdefault(name, holders[0])
            yield (self.merged[name], name), name

    def _equal_columns(
        self, conditions: Iterable[exp.Expr], alias: str, before: Sequence[str]
    ) -> Iterator[tuple[Place, str]]:
        """Yield pairs of columns that conditions equate: a column of an earlier relation, and a column of this one."""
        for condition in conditions:
            if isinstance(condition, exp.EQ):
                one, other = self.plain_column(condition.this), self.plain_column(condition.expression)
                for place_before, own_place in ((one, other), (other, one)):
                    if place_before is None or own_place is None:
                        continue
                    if place_before[0] in before and own_place[0] == alias:
                        yield place_before, own_place[1]

    def _column_type(self, place: Place) -> str:
        return self.relations[place[0]].columns[place[1]]

    def plain_column(self, expression: exp.Expr) -> Place | None:
        """Return the column of which an expression consists; None for other expressions and ambiguous names."""
        node = expression.unnest()
        if isinstance(node, exp.Cast) and node.to.this in {exp.DType.TEXT, exp.DType.VARCHAR}:
            is_sure = not node.to.expressions and self.dialect != "sqlite"  # where it makes a blob the text of another
            inner = self.plain_column(node.this) if is_sure else None
            return inner if inner is not None and self._column_type(inner) == "text" else None
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star) or node.args.get("db"):
            return None
        name, table = fold(node.name, self.dialect), fold(node.table, self.dialect)
        if table:
            is_known = table in self.relations and name in self.relations[table].columns
            return (table, name) if is_known and not self._is_struct(table) else None
        holders = [alias for alias, rows in self.relations.items() if name in rows.columns]
        if name in self.merged:
            holders = [self.merged[name]]
        return (holders[0], name) if len(holders) == 1 else None

    def _is_struct(self, name: str) -> bool:
        """Return True if the name of a relation could also mean a column that has parts."""
        return self.dialect == "duckdb" and any(rows.columns.get(name) == "" for rows in self.relations.values())

    def given_name(self, output: exp.Expr) -> str | None:
        """Return the name that a query gives to an output column; None if the column keeps its own name."""
        name = fold(output.alias, self.dialect) if isinstance(output, exp.Alias) else None
        place = self.plain_column(output.unalias())
        return None if place is not None and place[1] == name else name

    def require_columns(self, select: exp.Select) -> None:
        """Raise UnprovenError if a name may not be a column of the catalog, such as the number of a row."""
        for column in select.find_all(exp.Column):
            if not isinstance(column.this, exp.Star) and not self._is_known_column(column):
                raise UnprovenError(f"{column.sql()!r} is none of its columns")
        for variable in select.find_all(exp.Var):
            names = (column.lower() for rows in self.relations.values() for column in rows.columns)
            if variable.name.lower() in names:
                raise UnprovenError(
                    f"{variable.name!r} may be a part of time or a column: give the column another name"
                )

    def _is_known_column(self, column: exp.Column) -> bool:
        """Return True if a name is certainly a column of one of the relations, or only a name that the query gives."""
        name, table = fold(column.name, self.dialect), fold(column.table, self.dialect)
        if table:
            return not column.args.get("db") and table in self.relations and name in self.relations[table].columns
        if name in _SYSTEM_COLUMNS:
            return len(self.relations) == 1 and name in next(iter(self.relations.values())).columns
        return name in self.aliases.union(*(rows.columns for rows in self.relations.values()))

    def require_plain_order(self, select: exp.Select) -> None:
        """Raise UnprovenError if a query is ordered by a computed expression: such an expression may repeat rows."""
        for term in () if select.args.get("order") is None else select.args["order"].expressions:
            if not isinstance(term.this.unnest(), exp.Column | exp.Literal):
                raise UnprovenError("its ORDER BY has an expression other than a column: leave ORDER BY out")

    def items(self, select: exp.Select, names: Sequence[str]) -> Iterator[_Item]:
        """Yield the output columns of a query; a star yields each of its columns.

        `names` has the names of the output columns in the catalog.
        """
        position = 0
        for expression in select.expressions:
            is_qualified_star = isinstance(expression, exp.Column) and isinstance(expression.this, exp.Star)
            star = expression.this if is_qualified_star else expression
            if not isinstance(star, exp.Star):
                node = expression.unalias()
                yield _Item(node, self._sure_column(node))
                position += 1
                continue
            table = fold(expression.table, self.dialect) if isinstance(expression, exp.Column) else ""
            if (table not in self.relations if table else len(self.relations) > 1) or self._is_struct(table):
                raise UnprovenError("it selects * from several tables or from a struct: name the columns instead")
            alias = table or next(iter(self.relations))
            for name in self.relations[alias].columns:
                if names[position : position + 1] != [name]:
                    raise UnprovenError("its star shows other columns than its catalog lists")
                yield _Item(exp.column(name, alias), (alias, name))
                position += 1

    def group(self, select: exp.Select, items: Sequence[_Item]) -> None:
        """Check the columns by which GROUP BY, windows and DISTINCT combine rows."""
        clauses = [select.args[name].this for name in ("having", "qualify") if select.args.get(name)]
        expressions = [*(item.expression for item in items), *clauses]
        windows = [window for expression in expressions for window in expression.find_all(exp.Window)]
        is_grouped = any(map(has_aggregate, expressions)) or any(select.args.get(name) for name in ("group", "having"))
        if is_grouped and windows:
            raise UnprovenError("it groups rows and has windows: make it two views")
        for node in (node for expression in expressions for node in expression.walk() if type(node) in AGGREGATES):
            self._require_exact(node)
        if is_grouped:
            self._keep_units_among(self._group_keys(select, items, expressions), "it groups rows of several units")
        for window in windows:
            require_ranked(window)
            parts = {self._sure_column(part) for part in window.args.get("partition_by") or ()}
            self._keep_units_among(parts, "its window takes rows of several units")
        if select.args.get("distinct"):
            if any(self.type_of(item.expression) not in EXACT_TYPES for item in items):
                raise UnprovenError("its DISTINCT has a column whose equal values may differ")
            self._keep_units_among({item.place for item in items}, "its DISTINCT joins rows of several units")

    def _keep_units_among(self, places: set[Place | None], reason: str) -> None:
        """Keep only the units that are among the columns by which rows are combined."""
        if not self.private:
            return
        exact = {place for place in places if place is not None and self._column_type(place) in EXACT_TYPES}
        self.is_recordwise = False
        units = [(named & exact, sources) for named, sources in self.units if named & exact]
        if not units:
            raise UnprovenError(reason)
        self._replace_units(units, self.units, reason)

    def _replace_units(self, units: list[Unit], former: Sequence[Unit], reason: str) -> None:
        """Replace the former units, and note the reason why some columns no longer name the unit."""
        remaining = {source for _, sources in units for source in sources}
        lost = {source for _, sources in former for source in sources} - remaining
        self.reasons |= {source: reason for source in lost if source not in self.reasons}
        self.units = units

    def _is_hidden(self, expression: exp.Expr) -> bool:
        """Return True if a name without its relation could refer to another output column of the query."""
        node = expression.unnest()
        return isinstance(node, exp.Column) and not node.table and fold(node.name, self.dialect) in self.aliases

    def _is_only_alias(self, column: exp.Column) -> bool:
        """Return True if a name is given by the query, and no relation has such a column."""
        name = fold(column.name, self.dialect)
        is_alias = not column.table and name in self.aliases
        return is_alias and not any(name in rows.columns for rows in self.relations.values())

    def _sure_column(self, expression: exp.Expr) -> Place | None:
        """Return the column of which an expression consists; None if its name could also be an alias of the query."""
        return None if self._is_hidden(expression) else self.plain_column(expression)

    def _group_keys(self, select: exp.Select, items: Sequence[_Item], outputs: Sequence[exp.Expr]) -> set[Place | None]:
        """Return the columns by which a query groups.

        Raise UnprovenError for an output that is neither of them nor aggregated.
        """
        group = select.args.get("group")
        expressions = [] if group is None else list(group.expressions)
        if group is not None and group.args.get("all"):
            expressions = [item.expression for item in items if not has_aggregate(item.expression)]
        expressions = [resolve_number(expression, [item.expression for item in items]) for expression in expressions]
        for expression in expressions:
            if self.type_of(expression) not in EXACT_TYPES:
                raise UnprovenError(f"it groups by {expression.sql()[:60]!r}, whose equal values may differ")
        places = {self._sure_column(expression) for expression in expressions}
        texts = {expression.unnest().sql() for expression in expressions}
        for column in (column for expression in outputs for column in ungrouped_columns(expression, texts)):
            if self.plain_column(column) not in places - {None} and not self._is_only_alias(column):
                raise UnprovenError(f"{column.sql()!r} may be of any row of a group: group by it")
        return places

    def _require_exact(self, node: exp.Expr) -> None:
        """Raise UnprovenError if an aggregate could distinguish equal values, or depends on the order of rows."""
        argument = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
        if isinstance(node, exp.Count) or isinstance(argument, exp.Star):
            return
        allowed = {"integer"} if isinstance(node, exp.Sum | exp.Avg) else EXACT_TYPES
        if self.type_of(argument) not in allowed:
            raise UnprovenError(
                f"{node.sql()[:60]!r} depends on the order of rows: cast its argument to a whole number"
            )

    def type_of(self, expression: exp.Expr) -> str:  # noqa: PLR0911 - a case a node
        """Return the type of an expression; an empty text if equal values of it may differ, as 0.0 and −0.0 do."""
        node = expression.unnest()
        if (place := self.plain_column(node)) is not None:
            return self._column_type(place)
        match node:
            case exp.Literal():
                is_whole = not node.is_string and node.name.isdigit() and len(node.name) <= _DIGITS
                return "integer" if is_whole else ""
            case exp.Count():
                return "integer"
            case exp.Cast():
                type_ = _CASTS.get(node.to.this, "")
                return type_ if self.dialect != "sqlite" or type_ == "integer" else ""  # where others are numbers
            case exp.Year() | exp.Month() | exp.Day() | exp.Quarter():
                return "integer"
            case exp.Boolean() | exp.Predicate() | exp.And() | exp.Or() | exp.Not():
                return "boolean"
            case exp.Case():
                results = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
                return self._one_type([branch for branch in results if branch is not None])
            case exp.Coalesce():
                return self._one_type([node.this, *node.expressions])
            case exp.Sum() | exp.Min() | exp.Max() | exp.Add() | exp.Sub() | exp.Mul() | exp.Neg():
                common_type = self._one_type(list(node.iter_expressions()))
                # in SQLite a large result is a real number
                is_exact = common_type == "integer" and self.dialect != "sqlite"
                return common_type if isinstance(node, exp.Min | exp.Max) or is_exact else ""
            case _:
                return ""

    def _one_type(self, expressions: Sequence[exp.Expr]) -> str:
        present = [expression for expression in expressions if not isinstance(expression.unnest(), exp.Null)]
        types = set(map(self.type_of, present))
        return types.pop() if len(types) == 1 else ""

    def result(self, items: Sequence[_Item]) -> _Result:
        """Return the rows of the query, with the unit that each column names."""
        private, columns = self.private, []
        for item in items:
            sources = next((unit_sources for places, unit_sources in self.units if item.place in places), None)
            if not private:
                sources = frozenset()
            origins = frozenset() if item.place is None else self.relations[item.place[0]].origins[item.place[1]]
            columns.append(_Column(self.type_of(item.expression), sources, origins))
        return _Result(columns, private, self.is_recordwise or not private)
