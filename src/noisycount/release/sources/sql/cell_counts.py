"""The counts of a table whose cells are listed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    BigInteger,
    CompoundSelect,
    Connection,
    FromClause,
    Select,
    case,
    func,
    literal_column,
    or_,
    select,
    union_all,
)

from noisycount.model.tables.levels import Level
from noisycount.release.question.keys import CellQuestion
from noisycount.release.sources.sql.counting import require_somebody
from noisycount.release.sources.sql.dialect import Dialect
from noisycount.release.sources.sql.listed import with_cells
from noisycount.release.sources.sql.records import Records
from noisycount.release.sources.sql.summands import (
    NOTHING,
    ONE,
    distinct_elsewhere,
    distinct_where,
    is_true,
    number_of,
    number_where,
)
from noisycount.release.sources.sql.units import Person, kept
from noisycount.release.sources.truncation import group_text

__all__ = ["cell_counts", "cells_statement"]

Counts = NDArray[np.int64]
Statement = Select[Any] | CompoundSelect[Any]

_CELLS = -1  # stands for a level where the cells themselves are counted
_LEVEL = literal_column(str(_CELLS), BigInteger)


def cell_counts(connection: Connection, question: CellQuestion, records: Records) -> list[Counts]:
    """The true counts of each level; see ``Source.count_cells``."""
    size = question.size
    sizes = {_CELLS: size} | {n: question.levels[n].size for n in _several(question, records)}
    counts = _counted(connection, cells_statement(question, records), sizes)
    return [
        counts[n] if n in counts else level.sums(counts[_CELLS])
        for n, level in enumerate(question.levels)
    ]


def cells_statement(question: CellQuestion, records: Records) -> Statement:
    """The level, the place in it, the count, and 1 where a record is of nobody.

    Raises:
        SourceError: The server takes no list of so many keys.
    """
    if records.person is None:
        return _records_by_cell(question, records)
    several = _several(question, records)
    if several or _most(question) is not None:
        return _units_by_node(question, records, records.person, several)
    return _units_by_cell(question, records)


def _several(question: CellQuestion, records: Records) -> Sequence[int]:
    """The levels that are counted by themselves: a unit may be in several cells of a node."""
    if records.person is None or question.most == 1:
        return ()
    return [n for n, level in enumerate(question.levels) if not _is_of_single_cells(level)]


def _records_by_cell(question: CellQuestion, records: Records) -> Statement:
    """How many records each cell has: keys are counted before they are looked up."""
    keyed = records.keyed(question.keys.parts, question.where)
    keys = [keyed.c[f"k{n}"] for n in range(len(question.keys.parts))]
    groups = (
        select(*keys, number_where(keyed.c.m == ONE).label("n")).group_by(*keys).subquery("groups")
    )
    found = with_cells(question, groups, records.dialect).subquery("found")
    counted = select(_LEVEL, found.c.cell, number_of(found.c.n), NOTHING)
    return counted.where(found.c.cell.is_not(None)).group_by(found.c.cell)


def _units_by_cell(question: CellQuestion, records: Records) -> Select[Any]:
    """How many units each cell has, and how many the records have that do not match.

    Both are counted, so that the time that it takes does not tell how many match.
    """
    keyed = records.keyed(question.keys.parts, question.where)
    found = with_cells(question, keyed, records.dialect).subquery("found")
    matches, unit = found.c.m == ONE, found.c.u
    columns = [distinct_where(matches, unit), func.max(is_true(unit.is_(None)))]
    if question.where is not None and not records.uses_indexes:
        columns.append(distinct_elsewhere(matches, unit))
    return select(_LEVEL, found.c.cell, *columns).group_by(found.c.cell)


def _units_by_node(
    question: CellQuestion, records: Records, person: Person, several: Sequence[int]
) -> Statement:
    """How many units each cell has, and each node of some levels: one of several cells is one."""
    pairs = _pairs(question, records, person).cte("pairs")
    counted, nobody = number_of(pairs.c.kept), func.max(is_true(pairs.c.u.is_(None)))
    by_cell = (
        select(_LEVEL, pairs.c.cell, counted, nobody)
        .group_by(pairs.c.cell)
        .having(or_(counted > NOTHING, nobody > NOTHING))
    )
    if not several:
        return by_cell
    nodes = _nodes({n: question.levels[n] for n in several}, records.dialect)
    units = (
        select(nodes.c.level, nodes.c.node, pairs.c.u, func.max(pairs.c.kept).label("kept"))
        .select_from(pairs.join(nodes, pairs.c.cell == nodes.c.cell))
        .group_by(nodes.c.level, nodes.c.node, pairs.c.u)
        .subquery("units")
    )
    place = (units.c.level, units.c.node)
    return union_all(by_cell, select(*place, number_of(units.c.kept), NOTHING).group_by(*place))


def _pairs(question: CellQuestion, records: Records, person: Person) -> Select[Any]:
    """Each unit with each of its cells, and 1 as `kept` where it is counted there."""
    keyed = records.keyed(question.keys.parts, question.where)
    found = with_cells(question, keyed, records.dialect).subquery("found")
    pairs = (
        select(found.c.u, found.c.cell, func.max(found.c.m).label("m"))
        .group_by(found.c.u, found.c.cell)
        .subquery("found_pairs")
    )
    most = _most(question)
    if most is None:
        return select(pairs.c.u, pairs.c.cell, pairs.c.m.label("kept"))
    groups = [question.keys.key(cell) for cell in range(len(question.keys))]
    tags = [group_text(group, question.salt) for group in [*groups, *[None] * question.has_other]]
    listed = records.dialect.listed("tags", {"tag": (tags, records.dialect.text_type)})
    is_none = pairs.c.cell.is_(None)
    tagged = select(
        pairs.c.u,
        pairs.c.cell,
        case((is_none, NOTHING), else_=pairs.c.m).label("m"),
        case((is_none, records.dialect.text_literal("")), else_=listed.c.tag).label("tag"),
    ).select_from(pairs.outerjoin(listed, listed.c.place == pairs.c.cell + literal_column("1")))
    return kept(tagged, person, most)


def _most(question: CellQuestion) -> int | None:
    """In how many cells a unit is left; None: there are no more."""
    is_bound = question.most is not None and question.most < question.size
    return question.most if is_bound else None


def _nodes(levels: dict[int, Level], dialect: Dialect) -> FromClause:
    """The cells of each node of some levels."""
    cells = {n: np.flatnonzero(level.of_cell >= 0) for n, level in levels.items()}
    columns = {
        "cell": np.concatenate(list(cells.values())),
        "level": np.concatenate([np.full(len(inside), n) for n, inside in cells.items()]),
        "node": np.concatenate([levels[n].of_cell[inside] for n, inside in cells.items()]),
    }
    listed = {name: (values.tolist(), BigInteger()) for name, values in columns.items()}
    return dialect.listed("nodes", listed)


def _is_of_single_cells(level: Level) -> bool:
    """Whether each node has one cell at most."""
    inside = level.of_cell[level.of_cell >= 0]
    return bool(np.unique(inside).size == inside.size)


def _counted(
    connection: Connection, statement: Statement, sizes: dict[int, int]
) -> dict[int, Counts]:
    """The counts of each level that a statement gives with their places."""
    rows = np.array([row[:4] for row in connection.execute(statement)], np.object_).reshape(-1, 4)
    require_somebody(rows[:, 3])
    counts = {}
    for level, size in sizes.items():
        found = rows[(rows[:, 0] == level) & (rows[:, 1] != None)]  # noqa: E711 - of each element
        counts[level] = np.zeros(size, np.int64)
        counts[level][found[:, 1].astype(np.int64)] = found[:, 2].astype(np.int64)
    return counts
