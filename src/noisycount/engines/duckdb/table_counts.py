# ruff: noqa: S608, as all SQL here is made of our own names
# ruff: noqa: S608, as all SQL here is made of typed trees and of our own names
"""The listed cells of a table as one of DuckDB, which records are joined with.

The groups that records have, and how many units each.

The counts of a table whose cells are listed.

The tables of an open source: their counts, and nothing of the engine's errors.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisycount.engines.duckdb.connection import (
    Connection,
    Statements,
    limited,
    without_engine_errors,
)
from noisycount.engines.duckdb.tables import (
    Person,
    group_text,
    is_inside,
    kept_sql,
    key_names,
    key_type,
    keyed_records,
    list_edges,
    matching_records,
    matching_units,
    other_text,
)
from noisycount.frozen import frozen
from noisycount.model.tables.levels import Level
from noisycount.query.grouping import CellQuestion, KeyCounts, KeyQuestion, KeySet

__all__ = ["TableCounting"]


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


def key_counts_sql(question: KeyQuestion, person: Person | None) -> str:
    """The query of the keys of each group that has units, and of how many; see ``Source``."""
    keys = ", ".join(key_names(question.parts))
    if person is None:
        groups = _by_records(question, keys)
    else:
        groups = (
            f"SELECT {keys}, count(CASE WHEN kept THEN 1 END) AS n "
            f"FROM ({_pairs(question, person, keys)}) GROUP BY {keys}"
        )
    return f"SELECT {keys}, n::BIGINT FROM ({groups}) WHERE n > 0 AND {_inside(question)}"


def _by_records(question: KeyQuestion, keys: str) -> str:
    records = keyed_records(question.parts, question.where, None)
    return (
        f"SELECT {keys}, {matching_records(question.where)} AS n FROM ({records}) GROUP BY {keys}"
    )


def _pairs(question: KeyQuestion, person: Person, keys: str) -> str:
    """The query of each unit with each of its groups, and whether it is counted there."""
    records = keyed_records(question.parts, question.where, person)
    pairs = (
        f"SELECT u, {keys}, {matching_units(question.where)} AND {_inside(question)} AS m "
        f"FROM ({records}) GROUP BY u, {keys}"
    )
    if question.most is None:
        return f"SELECT {keys}, m AS kept FROM ({pairs})"
    tag = group_text(key_names(question.parts), question.salt)
    tagged = f"SELECT *, {tag} AS tag FROM ({pairs})"
    return f"SELECT {keys}, kept FROM ({kept_sql(tagged, person.kind, question.most)})"


def _inside(question: KeyQuestion) -> str:
    """Whether all keys are those of groups."""
    named = zip(question.parts, key_names(question.parts), strict=True)
    return " AND ".join(is_inside(part, name) for part, name in named)


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
    pairs = _pairs_cell_counts(question, person)
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


def _pairs_cell_counts(question: CellQuestion, person: Person) -> str:
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


_BATCH = 50_000  # groups, each of which takes some hundred bytes of Python


@frozen
class TableCounting:
    """How the tables of a source are counted.

    Attributes:
        opened: A cursor that has the view ``records``.
        require_open: Refuses a source that is closed.
        require_unchanged: Refuses one whose records may have changed.
        person: The column that names the person, or None where every record is one unit.
        seconds: After which a count is given up; None: never.
        refusal: What is said where the engine fails.
    """

    opened: Callable[[], AbstractContextManager[Connection]]
    require_open: Callable[[], None]
    require_unchanged: Callable[[], None]
    person: Person | None
    seconds: float | None
    refusal: str

    def cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        """The counts of listed cells; see ``Source.count_cells``."""

        def counted() -> list[NDArray[np.int64]]:
            with self.opened() as cursor, limited(cursor, self.seconds):
                return cell_counts(Statements(cursor, self.require_open), question, self.person)

        counts = without_engine_errors(counted, self.refusal)
        self.require_unchanged()
        return counts

    def keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        """The groups that have units; see ``Source.count_keys``."""
        query = key_counts_sql(question, self.person)
        with self.opened() as cursor:
            statements = Statements(cursor, self.require_open)

            def answered() -> None:
                with limited(cursor, self.seconds):
                    list_edges(statements, question.parts)
                    statements.run(query)

            def batch() -> list[Any]:
                self.require_open()
                with limited(cursor, self.seconds):
                    return cursor.fetchmany(_BATCH)

            without_engine_errors(answered, self.refusal)
            while rows := without_engine_errors(batch, self.refusal):
                yield _key_counts(rows)
        self.require_unchanged()


def _key_counts(rows: list[Any]) -> KeyCounts:
    """Rows of keys with a count as their last cell."""
    counts = np.array([row[-1] for row in rows], np.int64)
    return KeyCounts([row[:-1] for row in rows], counts)
