"""The listed cells of a table as one of DuckDB, which records are joined with."""
# ruff: noqa: S608, as all SQL here is made of our own names

from collections.abc import Sequence

import numpy as np

from noisycount.release.question.keys import CellQuestion, KeySet
from noisycount.release.sources.duckdb.statements import Statements
from noisycount.release.sources.duckdb.tables.parts import key_type
from noisycount.release.sources.duckdb.tables.ranges import list_edges
from noisycount.release.sources.duckdb.tables.records import key_names

__all__ = ["LISTED", "cell_sql", "list_cells", "listed_join"]

LISTED = "temp.listed_cells"
"""Their keys as ``c0``, ``c1`` and so on, and their number as ``cell``."""

_CODES = "listed_codes"


def list_cells(statements: Statements, keys: KeySet) -> None:
    """The making of the tables of edges and of cells.

    Their keys are bound, and never part of a statement.
    """
    list_edges(statements, keys.parts)
    for number, (part, values) in enumerate(zip(keys.parts, keys.values, strict=True)):
        statements.run(
            f"CREATE TEMP TABLE listed_values_{number} AS "
            f"SELECT unnest(?::{key_type(part)}[]) AS value, unnest(range(?)) AS place",
            [list(values), len(values)],
        )
    codes = {f"p{n}": np.ascontiguousarray(keys.codes[:, n]) for n in range(len(keys.parts))}
    cells = np.arange(len(keys), dtype=np.int32)
    statements.cursor.register(_CODES, {**codes, "cell": cells})
    shown = [f"v{n}.value AS c{n}" for n in range(len(keys.parts))]
    joins = [
        f" JOIN temp.listed_values_{n} AS v{n} ON codes.p{n} = v{n}.place"
        for n in range(len(keys.parts))
    ]
    statements.run(
        f"CREATE TEMP TABLE listed_cells AS SELECT {', '.join([*shown, 'codes.cell'])} "
        f"FROM {_CODES} AS codes{''.join(joins)}"
    )
    statements.cursor.unregister(_CODES)


def listed_join(query: str, keys: KeySet) -> str:
    """Each row of a query that has keys, with the cell of these; NULL: they are not listed."""
    pairs = zip(key_names(keys.parts), _columns(keys), strict=True)
    same = " AND ".join(f"asked.{key} IS NOT DISTINCT FROM listed.{cell}" for key, cell in pairs)
    return f"({query}) AS asked LEFT JOIN {LISTED} AS listed ON {same or 'true'}"


def cell_sql(question: CellQuestion) -> str:
    """The cell of a row of that join; NULL: of none."""
    return f"coalesce(cell, {len(question.keys)})" if question.has_other else "cell"


def _columns(keys: KeySet) -> Sequence[str]:
    return [f"c{number}" for number in range(len(keys.parts))]
