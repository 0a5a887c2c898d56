"""What the cells of a CSV file, which are texts, stand for."""
# ruff: noqa: S608, as all SQL here is made of names that it quotes and of patterns of its own

from collections.abc import Sequence

import duckdb

from noisycount.release.question.schema import Kind
from noisycount.release.sources.duckdb.quoting import quoted_name

__all__ = ["SQL_TYPES", "inferred_kinds", "typed_cell"]

SQL_TYPES = {
    Kind.INTEGER: "BIGINT",
    Kind.REAL: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}

# Texts that stand for a value without doubt: a 007 may be the name of a region.
_CERTAIN = {
    Kind.INTEGER: "-?(0|[1-9][0-9]{0,17})",
    Kind.REAL: r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?([eE][+-]?[0-9]{1,2})?",
    Kind.BOOLEAN: "true|false",
    Kind.DATE: "[0-9]{4}-[0-9]{2}-[0-9]{2}",
}
_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_POSSIBLE = {
    Kind.INTEGER: "[+-]?[0-9]+",
    Kind.REAL: r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:[+-]?inf(inity)?|nan)",
    Kind.BOOLEAN: "(?i:true|false|t|f|yes|no|y|n|1|0)",
    Kind.DATE: _CERTAIN[Kind.DATE],
    Kind.TIMESTAMP: f"{_CERTAIN[Kind.DATE]}([ T]{_CLOCK})?",
}


def inferred_kinds(
    connection: duckdb.DuckDBPyConnection, table: str, names: Sequence[str]
) -> dict[str, Kind]:
    """The kind of each column of a public table of texts: the first for which all its cells stand.

    One cell can change it, and what all others stand for: it is nothing for private records.

    Args:
        connection: Holds the table.
        table: Its name.
        names: Its columns.
    """
    tests = [_all_stand_for(name, kind) for name in names for kind in _CERTAIN]
    fits = iter(connection.execute(f"SELECT {', '.join(tests)} FROM {table}").fetchall()[0])
    found = {name: [kind for kind in _CERTAIN if next(fits)] for name in names}
    return {name: next(iter(kinds), Kind.TEXT) for name, kinds in found.items()}


def typed_cell(name: str, kind: Kind) -> str:
    """The SQL of a text as a value of a kind, null where it stands for none.

    It depends on no other cell.

    Args:
        name: The column.
        kind: Which is stated for it, or asked for by a question.
    """
    text = quoted_name(name)
    if kind is Kind.TEXT:
        return text
    fits = f"regexp_full_match(trim({text}), '{_POSSIBLE[kind]}')"
    return f"CASE WHEN {fits} THEN TRY_CAST(trim({text}) AS {SQL_TYPES[kind]}) END"


def _all_stand_for(name: str, kind: Kind) -> str:
    """The SQL of whether all cells of a column stand for a kind; null where there are none."""
    text = quoted_name(name)
    value = f"TRY_CAST({text} AS {SQL_TYPES[kind]})"
    return (
        f"bool_and(regexp_full_match({text}, '{_CERTAIN[kind]}') AND {value} IS NOT NULL) "
        f"FILTER (WHERE {text} IS NOT NULL)"
    )
