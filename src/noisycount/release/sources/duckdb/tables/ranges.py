"""Ranges with many edges, looked up in a list: a nest of cases takes time for each of its edges."""
# ruff: noqa: S608, as all SQL here is made of our own names

from collections.abc import Iterator, Sequence

from noisycount.release.question.grouping import Edges, Part
from noisycount.release.sources.duckdb.statements import Statements
from noisycount.release.sources.duckdb.tables.parts import edge_type, is_wide
from noisycount.release.sources.edges import edges_of

__all__ = ["list_edges", "with_ranges"]


def list_edges(statements: Statements, parts: Sequence[Part]) -> None:
    """The making of a table of one row with the edges of each part that has many."""
    for number, part in _wide(parts):
        edges = f"SELECT ?::{edge_type(part)}[] AS l{number}"
        statements.run(f"CREATE TEMP TABLE listed_edges_{number} AS {edges}", [edges_of(part)])


def with_ranges(query: str, parts: Sequence[Part]) -> str:
    """A query whose keys of such parts are numbers, with their ranges in place of them.

    Args:
        query: Has them as ``k0``, ``k1`` and so on.
        parts: What the keys are of.
    """
    for number, part in _wide(parts):
        query = _searched(query, number, len(part.edges))
    return query


def _wide(parts: Sequence[Part]) -> Iterator[tuple[int, Edges]]:
    return ((n, part) for n, part in enumerate(parts) if isinstance(part, Edges) and is_wide(part))


def _searched(query: str, number: int, edges: int) -> str:
    """The query after a bisection, which adds up the number of edges that are not above a key.

    Beyond the end of the list there is no edge, and nothing is added.
    """
    key, found, listed = f"k{number}", f"r{number}", f"l{number}"
    query = f"SELECT *, 0 AS {found} FROM ({query}), temp.listed_edges_{number}"
    for exponent in reversed(range(edges.bit_length())):
        more = f"{found} + {2**exponent}"
        step = f"CASE WHEN {key} >= list_extract({listed}, {more}) THEN {more} ELSE {found} END"
        query = f"SELECT * REPLACE ({step} AS {found}) FROM ({query})"
    place = f"CASE WHEN {key} IS NOT NULL THEN {found} - 1 END"
    return f"SELECT * EXCLUDE ({found}, {listed}) REPLACE ({place} AS {key}) FROM ({query})"
