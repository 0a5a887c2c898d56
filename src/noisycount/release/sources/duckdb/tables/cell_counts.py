"""The counts of a table whose cells are listed."""
# ruff: noqa: S608, as all SQL here is made of typed trees and of our own names

import numpy as np
from numpy.typing import NDArray

from noisycount.model.tables.levels import Level
from noisycount.release.question.keys import CellQuestion
from noisycount.release.sources.duckdb.statements import Statements
from noisycount.release.sources.duckdb.tables.listed import (
    LISTED,
    cell_sql,
    list_cells,
    listed_join,
)
from noisycount.release.sources.duckdb.tables.records import (
    key_names,
    keyed_records,
    matching_records,
    matching_units,
)
from noisycount.release.sources.duckdb.tables.units import (
    Person,
    group_text,
    kept_sql,
    other_text,
)

__all__ = ["cell_counts"]

Counts = NDArray[np.int64]

_NODES = "level_nodes"


def cell_counts(
    statements: Statements, question: CellQuestion, person: Person | None
) -> list[Counts]:
    """The true counts of each level; see ``Source.count_cells``."""
    list_cells(statements, question.keys)
    if person is None:
        cells = _counted(statements, _records_by_cell(question), question.size)
        return [level.sums(cells) for level in question.levels]
    pairs = _pairs(question, person)
    alone = [_is_of_single_cells(level) for level in question.levels]
    if not all(alone):
        statements.run(f"CREATE TEMP TABLE cell_pairs AS {pairs}")
        pairs = "FROM temp.cell_pairs"
    by_cell = f"SELECT cell, count(CASE WHEN kept THEN 1 END) AS n FROM ({pairs}) GROUP BY cell"
    counted = _counted(statements, by_cell, question.size) if any(alone) else None
    return [
        _units_by_node(statements, level, pairs)
        if counted is None or not single
        else level.sums(counted)
        for level, single in zip(question.levels, alone, strict=True)
    ]


def _records_by_cell(question: CellQuestion) -> str:
    """How many records each cell has: keys are counted before they are looked up."""
    keys = ", ".join(key_names(question.keys.parts))
    records = keyed_records(question.keys.parts, question.where, None)
    counted = matching_records(question.where)
    groups = f"SELECT {keys}, {counted} AS n FROM ({records}) GROUP BY {keys}"
    cell = cell_sql(question)
    return (
        f"SELECT {cell} AS cell, sum(n)::BIGINT AS n "
        f"FROM {listed_join(groups, question.keys)} GROUP BY {cell}"
    )


def _pairs(question: CellQuestion, person: Person) -> str:
    """The query of each unit with each of its cells, and whether it is counted there."""
    records = keyed_records(question.keys.parts, question.where, person)
    cell = cell_sql(question)
    pairs = (
        f"SELECT u, {cell} AS cell, {matching_units(question.where)} AS m "
        f"FROM {listed_join(records, question.keys)} GROUP BY u, {cell}"
    )
    if question.most is None or question.most >= question.size:
        return f"SELECT u, cell, m AS kept FROM ({pairs})"
    names = [f"c{number}" for number in range(len(question.keys.parts))]
    tag = f"CASE WHEN c.cell IS NULL THEN {other_text(question.salt)} ELSE "
    tag += f"{group_text(names, question.salt)} END"
    tagged = (
        f"SELECT u, p.cell, m AND p.cell IS NOT NULL AS m, {tag} AS tag "
        f"FROM ({pairs}) AS p LEFT JOIN {LISTED} AS c ON p.cell = c.cell"
    )
    return f"SELECT u, cell, kept FROM ({kept_sql(tagged, person.kind, question.most)})"


def _is_of_single_cells(level: Level) -> bool:
    """Whether each node has one cell at most."""
    inside = level.of_cell[level.of_cell >= 0]
    return bool(np.unique(inside).size == inside.size)


def _units_by_node(statements: Statements, level: Level, pairs: str) -> Counts:
    """How many units each node has; one of several of its cells is one."""
    cells = np.arange(len(level.of_cell), dtype=np.int32)
    nodes = np.ascontiguousarray(level.of_cell)
    statements.cursor.register(_NODES, {"cell": cells, "node": nodes})
    units = (
        f"SELECT node, u, bool_or(kept) AS kept FROM ({pairs}) JOIN {_NODES} USING (cell) "
        "GROUP BY node, u"
    )
    query = f"SELECT node AS cell, count(CASE WHEN kept THEN 1 END) AS n FROM ({units}) GROUP BY 1"
    counts = _counted(statements, query, level.size)
    statements.cursor.unregister(_NODES)
    return counts


def _counted(statements: Statements, query: str, size: int) -> Counts:
    """The counts that a query gives with their places."""
    found = statements.run(f"SELECT cell, n FROM ({query}) WHERE cell >= 0").fetchnumpy()
    counts = np.zeros(size, np.int64)
    counts[found["cell"]] = found["n"]
    return counts
