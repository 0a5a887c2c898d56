"""The counting statements: of predicates, of tables with listed cells, and of hidden keys.

`expressions` has their parts; each engine runs them in its dialect.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, TypeAlias, TypeVar

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from noisycount.engines import expressions
from noisycount.engines.dialect import NOTHING, Dialect, Expression, Lists, whole
from noisycount.engines.person_values import with_extremes, with_person_values
from noisycount.engines.truth import group_text
from noisycount.query.grouping import CellQuestion, GroupBy, Key, KeyCounts, KeyQuestion, KeySet
from noisycount.query.predicate import Column, Predicate
from noisycount.query.schema import Kind

Counts: TypeAlias = NDArray[np.int64]
Question = TypeVar("Question", CellQuestion, KeyQuestion)
Statement: TypeAlias = sa.Select[Any] | sa.CompoundSelect[Any]
KEYS_AT_ONCE = 50_000  # groups of one batch; each takes some hundred bytes in Python
_NOWHERE = -1  # cell number of records that belong to no cell


def count_statement(predicates: Sequence[Predicate], records: expressions.StatementRecords) -> sa.Select[Any]:
    """Return the statement that counts the matches of predicates in one row.

    It scans all records, so that its time does not reveal how many match. The last column is positive if a record has
    no unit.
    """
    predicates = list(map(with_extremes, predicates))
    records = with_person_values(records, predicates)
    conditions, dialect = list(map(records.condition, predicates)), records.dialect
    person = records.person
    without_unit = NOTHING if person is None or person.is_required else _count_without_unit(person.value)
    if person is None or records.is_one_row_a_person:
        counts = [dialect.number_where(each) for each in conditions]
        return records.read(sa.select(*counts, without_unit), predicates)
    if dialect.counts_distinct and len(conditions) == 1:
        both_counts = _distinct_units(conditions[0], person.value, is_blind=True)
        return records.read(sa.select(*both_counts, without_unit), predicates)
    flags = [dialect.is_any(dialect.flag(each)).label(f"m{n}") for n, each in enumerate(conditions)]
    unit = [] if person.is_required else [person.value.label("u")]
    units = records.read(sa.select(*unit, *flags), predicates).group_by(person.value).subquery("units")
    counts = [dialect.number_of(units.c[f"m{n}"]) for n in range(len(flags))]
    return sa.select(*counts, NOTHING if person.is_required else _count_without_unit(units.c.u))


def _distinct_units(truth: Expression, unit: Expression, *, is_blind: bool) -> list[Expression]:
    """Return the number of units for which a condition is true.

    If `is_blind`, also return the number of units for which it is not true.

    The second number is not used. It balances the work, so that the time does not reveal how many units match.
    """
    matching: Expression = sa.func.count(sa.distinct(sa.case((truth, unit))))
    others: Expression = sa.func.count(sa.distinct(sa.case((truth, sa.null()), else_=unit)))
    return [matching, others] if is_blind else [matching]


def _count_without_unit(unit: Expression) -> Expression:
    return sa.func.count(sa.case((unit.is_(None), whole(1))))


def values_statement(
    columns: Sequence[Column], person: expressions.Person | None, records: expressions.StatementRecords
) -> sa.Select[Any]:
    """Return the statement that counts records, the values of each column, NaN in each column of reals, and persons.

    Args:
        columns: The columns whose values are counted.
        person: The person of a record. None: 0 persons are counted.
        records: The records.
    """
    persons = whole(0) if person is None else sa.func.count(sa.distinct(person.value))
    values = [sa.func.count(records.value(each)) for each in columns]
    reals = [records.value(each) for each in columns if each.kind is Kind.REAL]
    nan = [sa.func.count(sa.case((expressions.is_nan(value), whole(1)))) for value in reals]
    counts: list[Expression] = [sa.func.count(), *values, *nan, persons]
    return records.read(sa.select(*counts), [])


def texts_statement(records: expressions.StatementRecords, name: str, number: int) -> sa.Select[Any]:
    """Return the statement that reads at most `number` texts of a column."""
    text = records.value(Column(name, Kind.TEXT))
    return sa.select(text).select_from(records.table).where(text.is_not(None)).limit(number)


def without_unit_statement(records: expressions.StatementRecords) -> sa.Select[Any]:
    """Return the statement that counts records without a unit."""
    number = whole(0) if records.person is None else _count_without_unit(records.person.value)
    return records.read(sa.select(number), [])


def cells_statement(question: CellQuestion, records: expressions.StatementRecords) -> Statement:
    """Return the statement of a table with listed cells: rows of a cell, its count, and 1 if a record has no unit.

    The cells come first, then the nodes of each level of `_levels_to_count`, numbered on.
    """
    question, records = _with_person_values(question, records, question.keys.parts)
    if records.person is None:
        return _records_by_cell(question, records)
    several = _levels_to_count(question)
    if several or _largest_number_of_cells(question, records) is not None or not records.dialect.counts_distinct:
        return _units_by_node(question, records, several)
    return _units_by_cell(question, records)


def _with_person_values(
    question: Question, records: expressions.StatementRecords, parts: Sequence[GroupBy]
) -> tuple[Question, expressions.StatementRecords]:
    """Return the question of a table and its records, joined with the values of persons that the question reads."""
    if question.where is not None:
        question = replace(question, where=with_extremes(question.where))
    return question, with_person_values(records, [question.where], parts)


def _levels_to_count(question: CellQuestion) -> Sequence[int]:
    """Return the indices of levels that need their own count, as a unit may be in several cells of a node."""
    if question.max_groups == 1:
        return ()
    nodes_of_cells = [level.of_cell[level.of_cell >= 0] for level in question.levels]
    return [n for n, nodes in enumerate(nodes_of_cells) if np.unique(nodes).size < nodes.size]


def _largest_number_of_cells(question: CellQuestion, records: expressions.StatementRecords) -> int | None:
    """Return the largest number of cells in which a unit counts; None if no contribution bound restricts it."""
    if records.is_one_row_a_person:
        return None
    is_bound = question.max_groups is not None and question.max_groups < question.size
    return question.max_groups if is_bound else None


def _records_by_cell(question: CellQuestion, records: expressions.StatementRecords) -> Statement:
    """Return the statement that counts the records of each cell.

    It groups by keys, then looks up the cell of each group.
    """
    keyed, dialect = records.records_with_keys(question.keys.parts, question.where), records.dialect
    keys = [keyed.c[name] for name in expressions.key_names(question.keys.parts)]
    number = _count_matching_records(question.where, keyed, dialect)
    groups = sa.select(*keys, number.label("n")).group_by(*keys).subquery("groups")
    rows = with_cells(question, groups, dialect).subquery("with_cells")
    outputs = _output_columns(rows.c.cell, dialect.number_of(rows.c.n), NOTHING)
    return sa.select(*outputs).where(rows.c.cell.is_not(None)).group_by(rows.c.cell)


def _count_matching_records(where: Predicate | None, keyed: sa.FromClause, dialect: Dialect) -> Expression:
    """Return the number of matching records of a group."""
    return sa.func.count() if where is None else dialect.number_where(dialect.is_set(keyed.c.m))


def _has_match(where: Predicate | None, keyed: sa.FromClause, dialect: Dialect) -> Expression:
    """Return the flag that is set if a record of a unit and a group matches."""
    return dialect.flag(whole(1) == whole(1)) if where is None else dialect.is_any(keyed.c.m)


def _output_columns(place: Expression, number: Expression, without_unit: Expression) -> list[Expression]:
    return [place.label("place"), number.label("number"), without_unit.label("without_unit")]


def _units_by_cell(question: CellQuestion, records: expressions.StatementRecords) -> sa.Select[Any]:
    """Return the statement that counts the units of each cell.

    It also counts the units that do not match, so that its time does not reveal how many match.
    """
    keyed = records.records_with_keys(question.keys.parts, question.where)
    rows = with_cells(question, keyed, records.dialect).subquery("with_cells")
    unit = rows.c.u
    if question.where is None:
        counts: list[Expression] = [sa.func.count(sa.distinct(unit))]
    else:
        truth = records.dialect.is_set(rows.c.m)
        counts = _distinct_units(truth, unit, is_blind=not records.uses_indexes)
    cell = sa.func.coalesce(rows.c.cell, whole(_NOWHERE))
    outputs = _output_columns(cell, counts[0], records.has_no_unit(unit))
    return sa.select(*outputs, *counts[1:]).group_by(rows.c.cell)


def _units_by_node(question: CellQuestion, records: expressions.StatementRecords, several: Sequence[int]) -> Statement:
    """Return the statement that counts the units of each cell and node; a unit in several cells of one counts once."""
    dialect = records.dialect
    cell_pairs = _cell_pairs(question, records)
    # With further levels the pairs are read twice, so they are stored in a common table expression.
    pairs = cell_pairs.cte("pairs") if several else cell_pairs.subquery("pairs")
    number, without_unit = dialect.number_of(pairs.c.kept), records.has_no_unit(pairs.c.u)
    cell = sa.func.coalesce(pairs.c.cell, whole(_NOWHERE))
    by_cell = (
        sa.select(*_output_columns(cell, number, without_unit))
        .group_by(pairs.c.cell)
        .having(_has_records(number, without_unit))
    )
    if not several:
        return by_cell
    nodes = _cells_of_nodes(question, several, dialect)
    units = (
        sa.select(nodes.c.node, pairs.c.u, dialect.is_any(pairs.c.kept).label("kept"))
        .select_from(pairs.join(nodes, pairs.c.cell == nodes.c.cell))
        .group_by(nodes.c.node, pairs.c.u)
        .subquery("units")
    )
    outputs = _output_columns(units.c.node, dialect.number_of(units.c.kept), NOTHING)
    return sa.union_all(by_cell, sa.select(*outputs).group_by(units.c.node))


def _has_records(number: Expression, without_unit: Expression) -> Expression:
    """Return the condition that a group has a counted unit or a record without a unit."""
    return number > NOTHING if without_unit is NOTHING else sa.or_(number > NOTHING, without_unit > NOTHING)


def _cell_pairs(question: CellQuestion, records: expressions.StatementRecords) -> sa.Select[Any]:
    """Return pairs of a unit and one of its cells, with the flag `kept` of pairs that are counted."""
    dialect = records.dialect
    keyed = records.records_with_keys(question.keys.parts, question.where)
    rows = with_cells(question, keyed, dialect).subquery("with_cells")
    most, pair = _largest_number_of_cells(question, records), (rows.c.u, rows.c.cell)
    matches = _has_match(question.where, rows, dialect).label("kept" if most is None else "m")
    all_pairs = sa.select(*pair, matches).group_by(*pair)
    if most is None:
        return all_pairs
    pairs = all_pairs.subquery("all_pairs")
    groups = [question.keys.key(cell) for cell in range(len(question.keys))]
    tags = [group_text(group, question.salt) for group in [*groups, *[None] * question.has_other]]
    listed = dialect.value_table("tags", {"tag": (tags, dialect.text_type)})
    is_set = sa.and_(pairs.c.cell.is_not(None), dialect.is_set(pairs.c.m))
    nothing = (pairs.c.cell.is_(None), dialect.text_literal(""))
    tagged = sa.select(
        pairs.c.u, pairs.c.cell, dialect.flag(is_set).label("m"), sa.case(nothing, else_=listed.c.tag).label("tag")
    ).select_from(pairs.outerjoin(listed, listed.c.place == pairs.c.cell + whole(1)))
    return expressions.mark_kept_pairs(tagged, records, most)


def _cells_of_nodes(question: CellQuestion, several: Sequence[int], dialect: Dialect) -> sa.FromClause:
    """Return the cells of each node of some levels. Nodes are numbered on after the cells."""
    levels, ends = [question.levels[n] for n in several], _number_ends(question, several)
    cells = [np.flatnonzero(level.of_cell >= 0) for level in levels]
    nodes = [end + level.of_cell[inside] for end, level, inside in zip(ends, levels, cells, strict=False)]
    columns: Lists = {
        "cell": (np.concatenate(cells), sa.BigInteger()),
        "node": (np.concatenate(nodes), sa.BigInteger()),
    }
    return dialect.value_table("nodes", columns)


def _number_ends(question: CellQuestion, several: Sequence[int]) -> list[int]:
    """Return where the numbers of cells end, and where those of each level end."""
    sizes = (question.levels[n].size for n in several)
    return list(accumulate(sizes, initial=question.size))


def with_cells(question: CellQuestion, rows: sa.FromClause, dialect: Dialect) -> sa.Select[Any]:
    """Add the column `cell` to rows with keys `k0`, `k1`, …: the number of the cell with these keys, or missing."""
    joined, cell = (_join_cells if dialect.joins_missing else _join_parts)(question.keys, rows, dialect)
    if question.has_other:
        cell = sa.func.coalesce(cell, whole(len(question.keys)))
    return sa.select(*rows.c, cell.label("cell")).select_from(joined)


def _join_cells(keys: KeySet, rows: sa.FromClause, dialect: Dialect) -> tuple[sa.FromClause, Expression]:
    """Join rows with the list of cells by all keys, some of which may be missing. Return the join and the cell."""
    cells = zip(keys.parts, keys.values, keys.codes.T, strict=True)
    columns: Lists = {
        f"c{number}": (_key_codes(part, values, dialect)[indices], expressions.key_type(part, dialect))
        for number, (part, values, indices) in enumerate(cells)
    }
    listed = dialect.value_table("listed_cells", columns)
    named = zip(expressions.key_names(keys.parts), columns, strict=True)
    same = [rows.c[key].is_not_distinct_from(listed.c[name]) for key, name in named]
    return rows.outerjoin(listed, sa.and_(*same)), listed.c.place - whole(1)


def _key_codes(part: GroupBy, values: Sequence[Key], dialect: Dialect) -> NDArray[Any]:
    """Return the codes of the keys of a grouping."""
    is_number = isinstance(expressions.key_type(part, dialect), sa.BigInteger) and None not in values
    codes = [expressions.key_code(value, dialect) for value in values]
    return np.fromiter(codes, np.int64 if is_number else np.object_, len(codes))


def _join_parts(keys: KeySet, rows: sa.FromClause, dialect: Dialect) -> tuple[sa.FromClause, Expression]:
    """Join rows with the values of each grouping in turn. Return the join and the cell.

    This is for engines that join slowly by keys that may be missing: a CASE handles a missing key.
    """
    joined, indices = rows, []
    for number, part in enumerate(keys.parts):
        joined, index = _join_part(number, part, keys, joined, rows.c[f"k{number}"], dialect)
        indices.append(index)
    return (joined, _grid_cell(indices, keys)) if keys.is_grid else _listed_cell(indices, keys, joined, dialect)


def _join_part(  # noqa: PLR0913, PLR0917 - parts of one join
    number: int, part: GroupBy, keys: KeySet, joined: sa.FromClause, key: Expression, dialect: Dialect
) -> tuple[sa.FromClause, Expression]:
    """Join with the values of one grouping. Return the join and the index of the key among the values."""
    codes = {index: expressions.key_code(value, dialect) for index, value in enumerate(keys.values[number])}
    missing = next((index for index, value in codes.items() if value is None), None)
    present = {index: value for index, value in codes.items() if value is not None}
    type_ = expressions.key_type(part, dialect)
    columns: Lists = {"value": (list(present.values()), type_), "code": (np.array([*present], np.int64), sa.Integer())}
    listed = dialect.value_table(f"l{number}", columns)
    value = dialect.text(listed.c.value) if type_ is dialect.text_type else listed.c.value
    once = _keys_joined_once({"value": value}, listed.c.code).subquery(f"v{number}")
    joined = joined.outerjoin(once, key == once.c.value)
    if missing is None:
        return joined, once.c.code
    return joined, sa.case((key.is_(None), whole(missing)), else_=once.c.code)


def _keys_joined_once(keys: Mapping[str, Expression], code: Expression) -> sa.Select[Any]:
    """Return keys with their codes, grouped by key. A server then knows that each record joins with one key only.

    Otherwise PostgreSQL hashes the records in place of the keys.
    """
    named = [key.label(name) for name, key in keys.items()]
    return sa.select(*named, sa.func.min(code).label("code")).group_by(*keys.values())


def _grid_cell(indices: Sequence[Expression], keys: KeySet) -> Expression:
    """Return the number of a cell if the cells are all combinations of keys; the last key changes fastest."""
    cell = whole(0)
    for index, values in zip(indices, keys.values, strict=True):
        cell = cell * whole(len(values)) + index
    return cell


def _listed_cell(
    indices: Sequence[Expression], keys: KeySet, joined: sa.FromClause, dialect: Dialect
) -> tuple[sa.FromClause, Expression]:
    """Join with the list of cells by the indices of their keys. Return the join and the cell."""
    codes: Lists = {f"p{n}": (keys.codes[:, n], sa.Integer()) for n in range(len(indices))}
    listed = dialect.value_table("listed_cells", codes)
    once = _keys_joined_once({name: listed.c[name] for name in codes}, listed.c.place).subquery("cells")
    same = [once.c[f"p{n}"] == index for n, index in enumerate(indices)]
    return joined.outerjoin(once, sa.and_(*same)), once.c.code - whole(1)


def cell_counts(
    question: CellQuestion, records: expressions.StatementRecords, columns: Iterable[NDArray[Any]]
) -> list[Counts]:
    """Return the true counts of each level; see `Source.count_cells`.

    Args:
        question: The cells and levels.
        records: The counted records.
        columns: The first three columns of the result of `cells_statement`.

    Raises:
        SourceError: If a record has no unit.
    """
    places, numbers, without_unit = columns
    expressions.require_units(without_unit)
    several = () if records.person is None else _levels_to_count(question)
    ends, is_placed = _number_ends(question, several), places != _NOWHERE
    counts = np.zeros(ends[-1], np.int64)
    counts[places[is_placed].astype(np.int64)] = numbers[is_placed].astype(np.int64)
    cells, *nodes = np.split(counts, ends[:-1])
    own = dict(zip(several, nodes, strict=True))
    return [own[n] if n in own else level.sums(cells) for n, level in enumerate(question.levels)]


def keys_statement(question: KeyQuestion, records: expressions.StatementRecords) -> sa.Select[Any]:
    """Return the statement of hidden keys: the keys of each group that has units, and their number.

    The last column is positive if a record has no unit.
    """
    question, records = _with_person_values(question, records, question.parts)
    dialect, names = records.dialect, expressions.key_names(question.parts)
    without_unit: Expression = NOTHING
    if records.person is None:
        rows = records.records_with_keys(question.parts, question.where)
        number = _count_matching_records(question.where, rows, dialect)
        inside = _keys_in_groups(question, rows, dialect)
    else:
        rows = _key_pairs(question, records).subquery("pairs")
        number, without_unit = dialect.number_of(rows.c.kept), records.has_no_unit(rows.c.u)
        inside = []
    keys = [rows.c[name] for name in names]
    return (
        sa.select(*keys, number, without_unit)
        .group_by(*keys)
        .having(sa.and_(_has_records(number, without_unit), *inside))
    )


def _keys_in_groups(question: KeyQuestion, rows: sa.FromClause, dialect: Dialect) -> list[Expression]:
    """Return the conditions that all keys belong to groups."""
    named = zip(question.parts, expressions.key_names(question.parts), strict=True)
    conditions = [expressions.is_inside(part, rows.c[name], dialect) for part, name in named]
    return [condition for condition in conditions if condition is not None]


def _key_pairs(question: KeyQuestion, records: expressions.StatementRecords) -> sa.Select[Any]:
    """Return pairs of a unit and one of its groups, with the flag `kept` of pairs that are counted."""
    dialect, names = records.dialect, expressions.key_names(question.parts)
    keyed = records.records_with_keys(question.parts, question.where)
    pair = [keyed.c[name] for name in ("u", *names)]
    matches, inside = _has_match(question.where, keyed, dialect), _keys_in_groups(question, keyed, dialect)
    if inside:
        match = [] if question.where is None else [dialect.is_set(matches)]
        matches = dialect.flag(sa.and_(*match, *inside))
    most = None if records.is_one_row_a_person else question.max_groups
    all_pairs = sa.select(*pair, matches.label("kept" if most is None else "m")).group_by(*pair)
    if most is None:
        return all_pairs
    pairs = all_pairs.subquery("all_pairs")
    tag = expressions.group_hash(question.parts, [pairs.c[n] for n in names], question.salt, dialect)
    return expressions.mark_kept_pairs(sa.select(pairs, tag.label("tag")), records, most)


def key_counts(question: KeyQuestion, dialect: Dialect, rows: Sequence[Sequence[Any]]) -> KeyCounts:
    """Return the keys and counts in some rows of the result of `keys_statement`."""
    expressions.require_units([row[-1] for row in rows])
    keys = [tuple(row[:-2]) for row in rows]
    if not dialect.keeps_keys:
        keys = [tuple(map(expressions.key_of_code, question.parts, each)) for each in keys]
    return KeyCounts(keys, np.array([row[-2] for row in rows], np.int64))
