"""The parts of a SELECT that `proof` judges: its relations, conditions and aggregates, in the accepted language."""

from collections.abc import Iterator, Sequence

from sqlglot import exp

from noisycount.engines.views.definition import AGGREGATES, RANKS, UnprovenError

_JOINS = {*(("", kind) for kind in ("", "INNER", "CROSS")), ("LEFT", ""), ("LEFT", "OUTER")}
"""The joins of the accepted language: their sides and kinds."""


def parts_of(tree: exp.Expr) -> Iterator[exp.Select]:
    """Yield the SELECT of a definition, or each of those between which it has UNION ALL."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        while isinstance(node, exp.Subquery | exp.Paren) and not (node.alias or node.args.get("joins")):
            node = node.this
        if isinstance(node, exp.Union) and not node.args.get("distinct"):
            waiting += [node.expression, node.this]
        elif not isinstance(node, exp.Select):
            raise UnprovenError(f"it has {_words(node)}, of which nothing can be proved")
        elif any(query is not node for query in node.find_all(exp.Query, exp.Subquery) if not _is_bracket(query)):
            raise UnprovenError("it has a query in a query: join, or make the inner one a view")
        else:
            yield node


def _words(node: exp.Expr) -> str:
    return node.key.upper() if isinstance(node, exp.SetOperation) else repr(node.sql()[:60])


def _is_bracket(node: exp.Expr) -> bool:
    """Return True if a node is a join in brackets."""
    return isinstance(node, exp.Subquery) and not node.alias and isinstance(node.this, exp.Table | exp.Subquery)


def joined_tables(select: exp.Select) -> Iterator[tuple[exp.Join | None, exp.Table]]:
    """Yield the relations of a query in the order in which they are joined, each with its join."""
    source = select.args.get("from_")
    if source is None:
        raise UnprovenError("it reads no table")
    joined = [*_flattened(None, source.this)]
    for join in select.args.get("joins") or ():
        joined += _flattened(join, join.this)
    commas = [is_comma(join) for join, _ in joined[1:] if join is not None]
    if any(commas) and not all(commas):  # which an engine may bind weaker than a join
        raise UnprovenError("it has a comma beside a join: write CROSS JOIN")
    yield from joined


def _flattened(join: exp.Join | None, node: exp.Expr) -> Iterator[tuple[exp.Join | None, exp.Table]]:
    if join is not None and ((join.side, join.kind) not in _JOINS or _is_bracket(node)):
        raise UnprovenError(
            f"it has {join.sql()[:60]!r}, of which nothing can be proved: write JOIN or LEFT JOIN, without brackets"
        )
    if _is_bracket(node):
        yield from _flattened(join, node.this)
    elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and not node.args.get("catalog"):
        if (alias := node.args.get("alias")) is not None and alias.columns:
            raise UnprovenError(f"it gives {node.alias_or_name!r} other names of columns: name them in a view")
        yield join, node
    else:
        raise UnprovenError(f"it reads {node.sql()[:60]!r}, of which nothing can be proved")
    for each in node.args.get("joins") or ():
        yield from _flattened(each, each.this)


def is_comma(join: exp.Join) -> bool:
    """Return True if a join is written as a comma, or as JOIN without a condition."""
    return not (join.side or join.kind or join.args.get("on") or join.args.get("using"))


def conditions_of(clause: exp.Expr) -> Iterator[exp.Expr]:
    """Yield conditions that are all true if the condition of a join, or of WHERE, is."""
    waiting = [clause.args.get("on") if isinstance(clause, exp.Join) else clause.this]
    while waiting:
        node = waiting.pop()
        if node is None:
            continue
        node = node.unnest()
        waiting += [node.expression, node.this] if isinstance(node, exp.And) else []
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
    """Raise UnprovenError if a window depends on the order of equal rows."""
    called = window.this.this if isinstance(window.this, exp.Filter) else window.this
    if type(called) not in AGGREGATES | RANKS or window.args.get("spec"):
        raise UnprovenError(f"{window.sql()[:60]!r} depends on the order of equal rows: take rank in its place")


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


def resolve_number(expression: exp.Expr, shown: Sequence[exp.Expr]) -> exp.Expr:
    """Return the shown column that a number means in GROUP BY."""
    if isinstance(expression, exp.Literal) and not expression.is_string and expression.name.isdigit():
        if not 0 < int(expression.name) <= len(shown):
            raise UnprovenError("it groups by a column that it does not show")
        return shown[int(expression.name) - 1]
    return expression


def loose_columns(expression: exp.Expr, texts: set[str]) -> Iterator[exp.Column]:
    """Yield the columns of an expression that are neither aggregated nor parts of a key."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if node.unnest().sql() in texts or _is_aggregate(node):
            continue
        if isinstance(node, exp.Column):
            yield node
        else:
            waiting += [] if isinstance(node, exp.Filter) and _is_aggregate(node.this) else node.iter_expressions()
