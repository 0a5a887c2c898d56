"""The listed cells of a table as rows that records are joined with.

The counts of a table whose cells are listed.

The groups that records have, and how many units each.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Connection,
    CursorResult,
    FromClause,
    Integer,
    Select,
    and_,
    case,
    func,
    literal_column,
    or_,
    select,
    union_all,
)

from noisycount.engines.expressions import coded, decoded, is_text
from noisycount.engines.sql.algebra import (
    NOTHING,
    ONE,
    distinct_elsewhere,
    distinct_where,
    is_true,
    number_of,
    number_where,
)
from noisycount.engines.sql.dialect import Dialect, Expression
from noisycount.engines.sql.records import (
    Person,
    Records,
    group_hash,
    is_inside,
    kept,
    require_somebody,
)
from noisycount.engines.truth import group_text
from noisycount.model.tables.levels import Level
from noisycount.query.grouping import CellQuestion, KeyCounts, KeyQuestion, KeySet, Part

__all__ = ["cell_counts", "cells_statement", "key_counts", "keys_statement"]


def with_cells(question: CellQuestion, asked: FromClause, dialect: Dialect) -> Select[Any]:
    """Rows of keys with the number of their cell as `cell`; missing: they are of none.

    Keys are looked up one by one and never missing: a missing one is found by itself.

    Args:
        question: Which cells there are.
        asked: Rows with keys as `k0`, `k1` and so on.
        dialect: What the server says in its own way.
    """
    keys = question.keys
    joined, places = asked, []
    for number, part in enumerate(keys.parts):
        joined, place = _looked_up(number, part, keys, joined, asked.c[f"k{number}"], dialect)
        places.append(place)
    if keys.is_grid:
        cell = _grid_cell(places, keys)
    else:
        joined, cell = _listed_cell(places, keys, joined, dialect)
    if question.has_other:
        cell = func.coalesce(cell, _whole(len(keys)))
    return select(*asked.c, cell.label("cell")).select_from(joined)


def _looked_up(  # noqa: PLR0913, PLR0917 - of one join
    number: int,
    part: Part,
    keys: KeySet,
    joined: FromClause,
    key: ColumnElement[Any],
    dialect: Dialect,
) -> tuple[FromClause, Expression]:
    """A join with the values of one part, and the place of the key among them, from 0 on."""
    type_ = dialect.text_type if is_text(part) else BigInteger()
    codes = {place: coded(value) for place, value in enumerate(keys.values[number])}
    nothing = next((place for place, value in codes.items() if value is None), None)
    held = {place: value for place, value in codes.items() if value is not None}
    values, places = (list(held.values()), type_), (list(held), Integer())
    listed = dialect.listed(f"l{number}", {"value": values, "code": places})
    value = dialect.text(listed.c.value) if is_text(part) else listed.c.value
    once = _once({"value": value}, listed.c.code).subquery(f"v{number}")
    joined = joined.outerjoin(once, key == once.c.value)
    if nothing is None:
        return joined, once.c.code
    return joined, case((key.is_(None), _whole(nothing)), else_=once.c.code)


def _once(keys: dict[str, ColumnElement[Any]], code: ColumnElement[Any]) -> Select[Any]:
    """Each of some keys with its code: so a server knows that a record is joined with one of them.

    PostgreSQL would else hash the records in place of the keys.
    """
    named = [key.label(name) for name, key in keys.items()]
    return select(*named, func.min(code).label("code")).group_by(*keys.values())


def _grid_cell(places: list[Expression], keys: KeySet) -> Expression:
    """The number of a cell of all combinations, the last part's keys following each other."""
    cell = _whole(0)
    for place, values in zip(places, keys.values, strict=True):
        cell = cell * _whole(len(values)) + place
    return cell


def _listed_cell(
    places: list[Expression], keys: KeySet, joined: FromClause, dialect: Dialect
) -> tuple[FromClause, Expression]:
    """A join with the places of the keys of each cell, and the number of that."""
    codes = {f"p{n}": (keys.codes[:, n].tolist(), Integer()) for n in range(len(places))}
    listed = dialect.listed("listed_cells", codes)
    once = _once({name: listed.c[name] for name in codes}, listed.c.place).subquery("cells")
    same = [once.c[f"p{n}"] == place for n, place in enumerate(places)]
    cell = once.c.code - literal_column("1", BigInteger)
    return joined.outerjoin(once, and_(*same)), cell


def _whole(number: int) -> Expression:
    return literal_column(str(number), BigInteger)


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


_BATCH = 50_000  # groups, each of which takes some hundred bytes of Python


def keys_statement(question: KeyQuestion, records: Records) -> Select[Any]:
    """The keys of each group that has units, how many, and 1 where a record is of nobody."""
    if records.person is not None:
        return _by_units(question, records, records.person)
    keyed = records.keyed(question.parts, question.where)
    keys = [keyed.c[f"k{n}"] for n in range(len(question.parts))]
    inside = is_inside(question.parts, keys)
    counted = number_where(keyed.c.m == ONE)
    return select(*keys, counted, NOTHING).group_by(*keys).having(and_(counted > NOTHING, *inside))


def _by_units(question: KeyQuestion, records: Records, person: Person) -> Select[Any]:
    pairs = _pairs_key_counts(question, records, person).subquery("pairs")
    keys = [pairs.c[f"k{n}"] for n in range(len(question.parts))]
    counted, nobody = number_of(pairs.c.kept), func.max(is_true(pairs.c.u.is_(None)))
    return (
        select(*keys, counted, nobody)
        .group_by(*keys)
        .having(or_(counted > NOTHING, nobody > NOTHING))
    )


def _pairs_key_counts(question: KeyQuestion, records: Records, person: Person) -> Select[Any]:
    """Each unit with each of its groups, and 1 as `kept` where it is counted there."""
    keyed = records.keyed(question.parts, question.where)
    names = [f"k{n}" for n in range(len(question.parts))]
    keys = [keyed.c[name] for name in names]
    matches: Expression = func.max(keyed.c.m)
    inside = is_inside(question.parts, keys)
    if inside:
        matches = is_true(and_(matches > NOTHING, *inside))
    pairs = (
        select(keyed.c.u, *keys, matches.label("m")).group_by(keyed.c.u, *keys).subquery("found")
    )
    keys = [pairs.c[name] for name in names]
    if question.most is None:
        return select(pairs.c.u, *keys, pairs.c.m.label("kept"))
    tag = group_hash(question.parts, keys, question.salt, records.dialect)
    return kept(select(pairs, tag.label("tag")), person, question.most)


def key_counts(
    parts: Sequence[Part], result: CursorResult[*tuple[Any, ...]]
) -> Iterator[KeyCounts]:
    """What rows of that statement say, in batches."""
    while rows := result.fetchmany(_BATCH):
        require_somebody([row[-1] for row in rows])
        keys = [
            tuple(decoded(part, code) for part, code in zip(parts, row, strict=False))
            for row in rows
        ]
        yield KeyCounts(keys, np.array([row[-2] for row in rows], np.int64))
