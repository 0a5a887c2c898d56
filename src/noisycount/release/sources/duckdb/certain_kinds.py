"""The kinds that all cells of a public table of texts stand for without doubt."""
# ruff: noqa: S608, as all SQL here is made of names that it quotes and of patterns of its own

from collections.abc import Sequence

from noisycount.release.question.schema import Kind
from noisycount.release.sources.duckdb.cells import SQL_TYPES
from noisycount.release.sources.duckdb.paths import Connection
from noisycount.release.sources.duckdb.quoting import quoted_name

__all__ = ["certain_kinds"]

# Texts that stand for a value without doubt: a 007 may be the name of a region.
_CERTAIN = {
    Kind.INTEGER: "-?(0|[1-9][0-9]{0,17})",
    Kind.REAL: r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?([eE][+-]?[0-9]{1,2})?",
    Kind.BOOLEAN: "true|false",
    Kind.DATE: "[0-9]{4}-[0-9]{2}-[0-9]{2}",
}


def certain_kinds(connection: Connection, table: str, names: Sequence[str]) -> dict[str, Kind]:
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


def _all_stand_for(name: str, kind: Kind) -> str:
    """The SQL of whether all cells of a column stand for a kind; null where there are none."""
    text = quoted_name(name)
    value = f"TRY_CAST({text} AS {SQL_TYPES[kind]})"
    return (
        f"bool_and(regexp_full_match({text}, '{_CERTAIN[kind]}') AND {value} IS NOT NULL) "
        f"FILTER (WHERE {text} IS NOT NULL)"
    )
