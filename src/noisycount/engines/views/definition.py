"""The definition of a view: its syntax tree, its base tables, the functions that it calls, and the parts of its SELECT.

A definition is read if every node of its tree is known here. All else is refused, as nothing can be proved about it.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from sqlglot import Token, TokenType, exp, parse_one
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError

from noisycount.engines.views.relations import BaseTable, Relations, UnprovenError, ViewDefinition, VolatileError, fold


class _StoredDuckDB(DuckDB):
    """The SQL in which DuckDB stores definitions: LIKE is written `~~`."""

    class Tokenizer(DuckDB.Tokenizer):
        """The tokens of a stored definition."""

        KEYWORDS = {  # noqa: RUF012 - as sqlglot has it
            **DuckDB.Tokenizer.KEYWORDS,
            "~~": TokenType.LIKE,
            "~~*": TokenType.ILIKE,
            "~~~": TokenType.GLOB,
        }


_DIALECTS: Mapping[str, str | type[Dialect]] = {"duckdb": _StoredDuckDB, "postgres": "postgres", "sqlite": "sqlite"}


def _words_of_text(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def _known_node_classes(names: str) -> frozenset[type[exp.Expr]]:
    """Return those of the named classes of nodes that this version of sqlglot has."""
    return frozenset(kind for name in _words_of_text(names) if (kind := getattr(exp, name, None)) is not None)


_CLAUSES: Mapping[type[exp.Expr], frozenset[str]] = {
    getattr(exp, name): _words_of_text(parts)
    for name, parts in {
        "Select": "expressions from_ joins where group having qualify distinct order",
        "Union": "this expression distinct",
        "From": "this",
        "Subquery": "this alias joins",
        "Table": "this db alias joins",
        "TableAlias": "this columns",
        "Join": "this side kind on using",
        "Group": "expressions all",
        "Distinct": "expressions",
        "Star": "",
        "Window": "this partition_by order over spec",
        "Filter": "this expression",
        "Order": "this expressions",
        "Any": "this",
        "In": "this expressions",
        "Column": "this table",
        "Cast": "this to",
        "TryCast": "this to safe",
        "Min": "this",
        "Max": "this",
    }.items()
}
"""The clauses of a query that are understood, and no others."""

AGGREGATES = _known_node_classes(
    "Count Sum Avg Min Max LogicalAnd LogicalOr Median Quantile PercentileCont PercentileDisc CountIf"
)
"""Aggregates that depend on the set of their values, and not on the order of rows."""
RANKS = _known_node_classes("Rank DenseRank PercentRank CumeDist")
"""Numbers of rows that are equal for rows of equal order."""
_ORDERED = _known_node_classes(
    "RowNumber Lag Lead FirstValue LastValue NthValue Ntile First Last AnyValue ArgMax ArgMin ArrayAgg GroupConcat Mode"
)
_SCALARS = _known_node_classes(
    "And Or Not Paren EQ NEQ LT LTE GT GTE Is Between Like ILike Glob NullSafeEQ NullSafeNEQ Add Sub Mul Div IntDiv "
    "Mod Neg DPipe Concat ConcatWs BitwiseAnd BitwiseOr Case If Coalesce Nullif Greatest Least Literal Boolean Null "
    "CurrentUser Identifier DataType DataTypeParam Alias Where Having Qualify Ordered Tuple Array Bracket "
    "Interval Var "
    "Lower Upper Trim Length Substring Replace Left Right StrPosition StartsWith Reverse Pad Initcap Abs Ceil Floor "
    "Round Sign Sqrt Exp Ln Log Pow Extract Year Month Day Quarter Week Hour Minute DayOfWeek DayOfYear DateTrunc "
    "TimestampTrunc DateDiff DateAdd DateSub Date TsOrDsToDate MD5 SHA SHA2 RegexpLike RegexpILike RegexpExtract "
    "RegexpReplace Split SplitPart Contains EndsWith Repeat Chr Ascii StrToDate StrToTime"
)
"""Expressions of one row."""
_PURE_NAMES = _words_of_text("isfinite list_value printf format instr substr ifnull iif typeof isnan count_star")
_PURE = _SCALARS | AGGREGATES | RANKS | _ORDERED | _known_node_classes("Exists Unnest Explode Cast TryCast")
"""Functions that give the same values for the same records."""
_TIME_PARTS = _words_of_text(
    "millennium century decade year isoyear quarter month week day dayofweek dow isodow dayofyear doy hour minute "
    "second millisecond microsecond epoch years quarters months weeks days hours minutes seconds milliseconds "
    "microseconds"
)
_MOMENTS = frozenset({"now", "today", "tomorrow", "yesterday", "localtime"})
"""Texts that stand for the time at which they are read."""
_CLOCKS = re.compile(r"(?i)\b(date|time|datetime|timestamp|julianday|unixepoch|strftime|timediff)\s*\(")
_LARGEST = 1 << 20  # characters of a definition


def parse_definition(view: ViewDefinition, dialect: str) -> exp.Query:
    """Return the query of a view."""
    tree = _parse_sql(view.definition, dialect)
    if isinstance(tree, exp.Create):
        tree = tree.expression
    if not isinstance(tree, exp.Query):
        raise UnprovenError("its definition is no query that can be read")
    for node in list(tree.find_all(exp.Anonymous)):
        if node.name.lower() == "count_star":
            node.replace(exp.Count(this=exp.Star()))
    return tree


def _parse_sql(text: str, dialect: str) -> exp.Expr:
    if len(text) > _LARGEST:
        raise UnprovenError("its definition is too long to be read")
    if any(not (letter.isprintable() or letter in "\t\n\r") for letter in text):  # which an engine may take for letters
        raise UnprovenError("its definition has characters that cannot be seen")
    try:
        tokens = Dialect.get_or_raise(_DIALECTS[dialect]).tokenize(text)
        words = [token.text for token in tokens if not _is_quoted(token)]
        tree = parse_one(text, read=_DIALECTS[dialect])
    except (SqlglotError, RecursionError, ValueError):
        raise UnprovenError("its definition cannot be read") from None
    for word in words:
        # The parser compares words by their capitals, and takes a name such as "a\u017f" for the keyword AS.
        if not word.isascii() and (word.upper().isascii() or word.lower().isascii()):
            raise UnprovenError(f"it has {word!r}, which may be taken for a keyword: write it in quotation marks")
    return tree


def _is_quoted(token: Token) -> bool:
    """Return True if a token is a quoted name or a text literal."""
    return token.token_type in {TokenType.IDENTIFIER, TokenType.STRING}


def _unknown_words(node: exp.Expr, unknown: set[str]) -> str:
    """Return the text of the parts of a node that this module does not understand."""
    if "method" in unknown:
        return f"{node.args['method']} JOIN"
    if isinstance(node, (exp.Max, exp.Min)):  # versions of sqlglot name this part differently
        return f"{node.key} of several values"
    return _clause_words(unknown)


def require_known(tree: exp.Expr) -> None:
    """Raise UnprovenError if a node of a definition is not understood."""
    for node in tree.walk():
        kind = type(node)
        parts = {key for key, value in node.args.items() if value}
        if kind in _CLAUSES:
            unknown = parts - _CLAUSES[kind]
            if unknown:
                raise UnprovenError(f"it has {_unknown_words(node, unknown)}, of which nothing can be proved")
        elif kind in _ORDERED:
            raise UnprovenError(f"{node.sql()[:60]} depends on the order of rows: take min, max or rank in its place")
        elif isinstance(node, exp.Anonymous):
            if node.name.lower() not in _PURE_NAMES:
                raise UnprovenError(f"it has {node.sql()[:60]!r}, of which nothing can be proved")
        elif isinstance(node, exp.Var) and node.name.lower() not in _TIME_PARTS:  # which may stand for a column
            raise UnprovenError(f"it has {node.name!r} in the place of a part of time: write such as 'year'")
        elif kind not in AGGREGATES | RANKS | _SCALARS:
            raise UnprovenError(f"it has {node.sql()[:60]!r}, of which nothing can be proved")


def _clause_words(unknown: set[str]) -> str:
    """Return the words of a clause."""
    return min(unknown).rstrip("_").replace("_", " ").upper()


def require_pure(tree: exp.Expr, dialect: str) -> None:
    """Raise VolatileError if an expression is not known to give the same values for the same records.

    In SQLite each function of dates reads the clock without an argument, and where a text says 'now'.
    """
    if dialect == "sqlite" and (clock := _CLOCKS.search(tree.sql("sqlite"))) is not None:
        raise VolatileError(clock[0])
    for node in tree.walk():
        if isinstance(node, exp.Anonymous):
            is_known = node.name.lower() in _PURE_NAMES
        elif isinstance(node, exp.CurrentUser):
            is_known = dialect == "postgres"  # the account that counts is the same at every count
        elif isinstance(node, exp.Literal):
            is_moment = node.is_string and node.name.strip().lower() in _MOMENTS
            is_known = not (is_moment and isinstance(node.parent, exp.Cast | exp.Func))
        else:
            is_known = not isinstance(node, exp.Func | exp.TableSample) or type(node) in _PURE
        if not is_known:
            raise VolatileError(node.sql(_DIALECTS[dialect])[:60])


def read_definitions(
    view: BaseTable | ViewDefinition, relations: Relations, dialect: str, *, enters_stored: bool = True
) -> Iterator[BaseTable | ViewDefinition]:
    """Yield the relations that a view reads, directly or through other views. The view itself is the first.

    If `enters_stored`, relations that a materialised view read when it was stored are included.
    """
    visited: set[int] = set()
    pending = [view]
    while pending:
        relation = pending.pop()
        if id(relation) in visited:
            continue
        visited.add(id(relation))
        yield relation
        if isinstance(relation, ViewDefinition) and (enters_stored or not relation.is_stored):
            tables = _named_relations(parse_definition(relation, dialect), dialect)
            pending += [relations(table.db or relation.schema, table.name) for table in tables]


def _named_relations(tree: exp.Expr, dialect: str) -> Iterator[exp.Table]:
    """Yield the relations that a query names, except its own common table expressions."""
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier) or table.catalog:
            raise UnprovenError(f"it reads {table.sql()[:60]!r}, which is no table of its database")
        if table.db or fold(table.name, dialect) not in _common_names(table, dialect):
            yield table


def _common_names(table: exp.Table, dialect: str) -> set[str]:
    """Return the names of the common table expressions that the name of a table may refer to."""
    names: list[str] = []
    below: exp.Expr = table
    node = table.parent
    while node is not None:
        with_clause = node.args.get("with_")
        if isinstance(node, exp.With):  # where only those that stand before are known
            before = node.expressions[: next(n for n, expression in enumerate(node.expressions) if expression is below)]
            names += [expression.alias for expression in before]
        elif with_clause is not None and with_clause is not below:
            names += [expression.alias for expression in with_clause.expressions]
        below, node = node, node.parent
    return {fold(name, dialect) for name in names}


def qualified_query(view: ViewDefinition, dialect: str, database: str = "") -> str:
    """Return the query of the statement that creates a view, with the database and schema of each table it names.

    SQLite stores the owner's text, which SQLite and this parser may read in different ways. So its query is written
    from the parsed tree that `proof` judges.
    """
    if dialect == "sqlite":
        return _written_query(view)
    text = view.definition
    tables = {table.this.meta["start"]: table for table in _named_relations(parse_definition(view, dialect), dialect)}
    for _, table in sorted(tables.items(), reverse=True):
        parts = [database, table.db or view.schema or "", table.name]
        name = ".".join(exp.to_identifier(part, quoted=True).sql(dialect) for part in parts if part)
        first = (table.args.get("db") or table.this).meta["start"]
        text = text[:first] + name + text[table.this.meta["end"] + 1 :]
    depth = 0
    for token in Dialect.get_or_raise(_DIALECTS[dialect]).tokenize(text):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        if token.token_type is TokenType.ALIAS and not depth:  # of CREATE VIEW, before its query
            text = text[token.end + 1 :]
            break
    return text.rstrip().rstrip(";")


def _written_query(view: ViewDefinition) -> str:
    """Return the query of a SQLite view, written from the parsed tree."""
    tree = parse_definition(view, "sqlite")
    for table in list(_named_relations(tree, "sqlite")):
        table.set("db", exp.to_identifier(table.db or view.schema))
    if re.search(r"(?i)\bis\s+not\b|\bnot\s*null\b", view.definition):  # operators of their own in SQLite
        for node in list(tree.find_all(exp.Not)):
            if isinstance(test := node.this, exp.Is):
                node.replace(exp.Is(this=test.this, expression=exp.Not(this=test.expression)))
    if not re.search(r"(?i)\bcross\b", view.definition):
        for join in tree.find_all(exp.Join):
            if join.kind == "CROSS":  # a comma, for which SQLite chooses the order of the tables
                join.set("kind", None)
    return tree.sql("sqlite", identify=True)


def base_tables(
    view: BaseTable | ViewDefinition, relations: Relations, dialect: str, public: Collection[str] = ()
) -> list[BaseTable]:
    """Return the tables whose records a view reads, except the `public` ones.

    Raises UnprovenError if a definition cannot be read.
    """
    tables = [relation for relation in read_definitions(view, relations, dialect) if isinstance(relation, BaseTable)]
    return [table for table in tables if not (table.may_be_public and table.name in public)]


def require_steady(view: BaseTable | ViewDefinition, relations: Relations, dialect: str) -> None:
    """Raise VolatileError if a view, or a relation that it reads, may give other rows for the same records."""
    for relation in read_definitions(view, relations, dialect, enters_stored=False):
        if isinstance(relation, BaseTable):
            for expression in relation.computed.values():
                if not relation.is_readable:
                    raise VolatileError(expression[:60])
                require_pure(_parse_sql(expression, dialect), dialect)
        elif not relation.is_stored:
            require_pure(parse_definition(relation, dialect), dialect)


_JOINS = {*(("", kind) for kind in ("", "INNER", "CROSS")), ("LEFT", ""), ("LEFT", "OUTER")}
"""The joins of the accepted language: their sides and kinds."""


def parts_of(tree: exp.Expr) -> Iterator[exp.Select]:
    """Yield the SELECT of a definition, or each SELECT of its UNION ALL."""
    pending = [tree]
    while pending:
        node = pending.pop()
        while isinstance(node, exp.Subquery | exp.Paren) and not (node.alias or node.args.get("joins")):
            node = node.this
        if isinstance(node, exp.Union) and not node.args.get("distinct"):
            pending += [node.expression, node.this]
        elif not isinstance(node, exp.Select):
            raise UnprovenError(f"it has {_node_text(node)}, of which nothing can be proved")
        elif any(query is not node for query in node.find_all(exp.Query, exp.Subquery) if not _is_bracket(query)):
            raise UnprovenError("it has a query in a query: join, or make the inner one a view")
        else:
            yield node


def _node_text(node: exp.Expr) -> str:
    return node.key.upper() if isinstance(node, exp.SetOperation) else repr(node.sql()[:60])


def _is_bracket(node: exp.Expr) -> bool:
    """Return True if a node is a join in brackets."""
    return isinstance(node, exp.Subquery) and not node.alias and isinstance(node.this, exp.Table | exp.Subquery)


def joined_tables(select: exp.Select) -> Iterator[tuple[exp.Join | None, exp.Table]]:
    """Yield the relations of a query in the order in which they are joined, each with its join."""
    source = select.args.get("from_")
    if source is None:
        raise UnprovenError("it reads no table")
    pairs = [*_flat_joins(None, source.this)]
    for join in select.args.get("joins") or ():
        pairs += _flat_joins(join, join.this)
    commas = [is_comma(join) for join, _ in pairs[1:] if join is not None]
    if any(commas) and not all(commas):  # which an engine may bind weaker than a join
        raise UnprovenError("it has a comma beside a join: write CROSS JOIN")
    yield from pairs


def _flat_joins(join: exp.Join | None, node: exp.Expr) -> Iterator[tuple[exp.Join | None, exp.Table]]:
    if join is not None and ((join.side, join.kind) not in _JOINS or _is_bracket(node)):
        raise UnprovenError(
            f"it has {join.sql()[:60]!r}, of which nothing can be proved: write JOIN or LEFT JOIN, without brackets"
        )
    if _is_bracket(node):
        yield from _flat_joins(join, node.this)
    elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and not node.args.get("catalog"):
        if (alias := node.args.get("alias")) is not None and alias.columns:
            raise UnprovenError(
                f"it renames the columns of {node.alias_or_name!r} in FROM: rename them with AS in a view"
            )
        yield join, node
    else:
        raise UnprovenError(f"it reads {node.sql()[:60]!r}, of which nothing can be proved")
    for inner_join in node.args.get("joins") or ():
        yield from _flat_joins(inner_join, inner_join.this)


def is_comma(join: exp.Join) -> bool:
    """Return True if a join is written as a comma, or as JOIN without a condition."""
    return not (join.side or join.kind or join.args.get("on") or join.args.get("using"))


def conditions_of(clause: exp.Expr) -> Iterator[exp.Expr]:
    """Yield conditions that are all true if the whole condition of a join or of WHERE is true."""
    pending = [clause.args.get("on") if isinstance(clause, exp.Join) else clause.this]
    while pending:
        node = pending.pop()
        if node is None:
            continue
        node = node.unnest()
        pending += [node.expression, node.this] if isinstance(node, exp.And) else []
        if not isinstance(node, exp.And):
            yield node


def inner_conditions(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the conditions that every row of a query meets."""
    if (where := select.args.get("where")) is not None:
        yield from conditions_of(where)
    for join, _ in joined_tables(select):
        if join is not None and not join.side and join.args.get("on") is not None:
            yield from conditions_of(join)


def require_ranked(window: exp.Window) -> None:
    """Raise UnprovenError if the result of a window depends on the order of tied rows."""
    called = window.this.this if isinstance(window.this, exp.Filter) else window.this
    if type(called) not in AGGREGATES | RANKS or window.args.get("spec"):
        raise UnprovenError(f"{window.sql()[:60]!r} depends on the order of tied rows: take rank in its place")


def has_aggregate(expression: exp.Expr) -> bool:
    """Return True if an expression aggregates rows, other than in a window."""
    return any(_is_aggregate(node) for node in expression.walk())


def _is_aggregate(node: exp.Expr) -> bool:
    if type(node) not in AGGREGATES:
        return False
    parent = node.parent
    if isinstance(parent, exp.Filter):
        node, parent = parent, parent.parent
    return not (isinstance(parent, exp.Window) and parent.this is node)


def resolve_number(expression: exp.Expr, outputs: Sequence[exp.Expr]) -> exp.Expr:
    """Return the output column that a number in GROUP BY refers to; another expression unchanged."""
    if isinstance(expression, exp.Literal) and not expression.is_string and expression.name.isdigit():
        if not 0 < int(expression.name) <= len(outputs):
            raise UnprovenError("it groups by a column that it does not show")
        return outputs[int(expression.name) - 1]
    return expression


def ungrouped_columns(expression: exp.Expr, texts: set[str]) -> Iterator[exp.Column]:
    """Yield the columns of an expression that are neither aggregated nor parts of a key."""
    pending = [expression]
    while pending:
        node = pending.pop()
        if node.unnest().sql() in texts or _is_aggregate(node):
            continue
        if isinstance(node, exp.Column):
            yield node
        else:
            pending += [] if isinstance(node, exp.Filter) and _is_aggregate(node.this) else node.iter_expressions()
