"""The counting statement: of predicates, of tables whose cells are listed, and of hidden keys."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from noisycount.engines import expressions
from noisycount.engines.dialect import NOTHING, Dialect, Expression, Lists, whole
from noisycount.engines.truth import group_text
from noisycount.model.tables.levels import Level
from noisycount.query.grouping import CellQuestion, GroupBy, Key, KeyCounts, KeyQuestion, KeySet
from noisycount.query.predicate import Column, Predicate
from noisycount.query.schema import Kind

Counts: TypeAlias = NDArray[np.int64]
Statement: TypeAlias = sa.Select[Any] | sa.CompoundSelect[Any]
KEYS_AT_ONCE = 50_000  # groups of one batch, each of which takes some hundred bytes of Python
_NOWHERE = -1  # the place of what is in no cell


def count_statement(predicates: Sequence[Predicate], records: expressions.StatementRecords) -> sa.Select[Any]:
    """One scan of all records, so that its time does not tell how many match.

    The first columns are the counts; the last tells whether a record is of nobody.
    """
    conditions, dialect = list(map(records.condition, predicates)), records.dialect
    person = records.person
    if person is None:
        counts = [dialect.number_where(each) for each in conditions]
        return records.read(sa.select(*counts, NOTHING), predicates)
    if dialect.counts_distinct and len(conditions) == 1:
        both_counts = _distinct_units(conditions[0], person.value, is_blind=True)
        return records.read(sa.select(*both_counts, _number_of_nobody(person.value)), predicates)
    flags = [dialect.is_any(dialect.flag(each)).label(f"m{n}") for n, each in enumerate(conditions)]
    named = [] if person.is_required else [person.value.label("u")]
    found = records.read(sa.select(*named, *flags), predicates).group_by(person.value)
    units = found.subquery("units")
    counts = [dialect.number_of(units.c[f"m{n}"]) for n in range(len(flags))]
    return sa.select(*counts, NOTHING if person.is_required else _number_of_nobody(units.c.u))


def _distinct_units(truth: Expression, unit: Expression, *, is_blind: bool) -> list[Expression]:
    """How many units there are where a condition is true, and, so that all are compared, where not.

    The second is no answer, but work that makes up for what matches.
    """
    there: Expression = sa.func.count(sa.distinct(sa.case((truth, unit))))
    elsewhere: Expression = sa.func.count(sa.distinct(sa.case((truth, sa.null()), else_=unit)))
    return [there, elsewhere] if is_blind else [there]


def _number_of_nobody(unit: Expression) -> Expression:
    return sa.func.count(sa.case((unit.is_(None), whole(1))))


def values_statement(
    columns: Sequence[Column], unit: Column | None, records: expressions.StatementRecords
) -> sa.Select[Any]:
    """Return the statement that counts records, the values of each column, NaN in each column of reals, and persons.

    `unit`: the column that names persons if the records have none; without one, 0 persons are counted.
    """
    named = None if unit is None else records.value(unit)
    person = named if records.person is None else records.person.value
    persons = whole(0) if person is None else sa.func.count(sa.distinct(person))
    values = [sa.func.count(records.value(each)) for each in columns]
    counts: list[Expression] = [sa.func.count(), *values, *nan_counts(columns, records), persons]
    return records.read(sa.select(*counts), [])


def nan_counts(columns: Iterable[Column], records: expressions.StatementRecords) -> list[Expression]:
    """Return the expressions that count NaN in each column of reals."""
    reals = [records.value(each) for each in columns if each.kind is Kind.REAL]
    return [sa.func.count(sa.case((expressions.is_nan(value), whole(1)))) for value in reals]


def texts_statement(records: expressions.StatementRecords, name: str, number: int) -> sa.Select[Any]:
    """Return the statement of some texts of a column, as many as a number at most."""
    text = records.value(Column(name, Kind.TEXT))
    return sa.select(text).select_from(records.table).where(text.is_not(None)).limit(number)


def nobody_statement(records: expressions.StatementRecords) -> sa.Select[Any]:
    """How many records are of nobody."""
    number = whole(0) if records.person is None else _number_of_nobody(records.person.value)
    return records.read(sa.select(number), [])


def cells_statement(question: CellQuestion, records: expressions.StatementRecords) -> Statement:
    """Rows of a place, its count, and 1 where a record is of nobody.

    The first places are those of the cells, and then come the nodes of each level of `_several`.
    """
    if records.person is None:
        return _records_by_cell(question, records)
    several = _several(question)
    if several or _most(question) is not None or not records.dialect.counts_distinct:
        return _units_by_node(question, records, several)
    return _units_by_cell(question, records)


def _several(question: CellQuestion) -> Sequence[int]:
    """The levels that are counted by themselves: a unit may be in several cells of a node."""
    if question.max_groups == 1:
        return ()
    return [n for n, level in enumerate(question.levels) if not _is_of_single_cells(level)]


def _is_of_single_cells(level: Level) -> bool:
    """Whether each node has one cell at most."""
    inside = level.of_cell[level.of_cell >= 0]
    return bool(np.unique(inside).size == inside.size)


def _most(question: CellQuestion) -> int | None:
    """In how many cells a unit is left; None: there are no more."""
    is_bound = question.max_groups is not None and question.max_groups < question.size
    return question.max_groups if is_bound else None


def _records_by_cell(question: CellQuestion, records: expressions.StatementRecords) -> Statement:
    """How many records each cell has: keys are counted before they are looked up."""
    keyed, dialect = records.keyed(question.keys.parts, question.where), records.dialect
    keys = [keyed.c[name] for name in expressions.key_names(question.keys.parts)]
    counted = _matching(question.where, keyed, dialect)
    groups = sa.select(*keys, counted.label("n")).group_by(*keys).subquery("groups")
    found = with_cells(question, groups, dialect).subquery("found")
    shown = _shown(found.c.cell, dialect.number_of(found.c.n), NOTHING)
    return sa.select(*shown).where(found.c.cell.is_not(None)).group_by(found.c.cell)


def _matching(where: Predicate | None, keyed: sa.FromClause, dialect: Dialect) -> Expression:
    """How many records of a group match."""
    return sa.func.count() if where is None else dialect.number_where(dialect.is_set(keyed.c.m))


def _is_any(where: Predicate | None, keyed: sa.FromClause, dialect: Dialect) -> Expression:
    """Whether a record of a unit and a group matches, as a flag."""
    return dialect.flag(whole(1) == whole(1)) if where is None else dialect.is_any(keyed.c.m)


def _shown(place: Expression, number: Expression, nobody: Expression) -> list[Expression]:
    return [place.label("place"), number.label("number"), nobody.label("nobody")]


def _units_by_cell(question: CellQuestion, records: expressions.StatementRecords) -> sa.Select[Any]:
    """How many units each cell has, and how many the records have that do not match."""
    keyed = records.keyed(question.keys.parts, question.where)
    found = with_cells(question, keyed, records.dialect).subquery("found")
    unit = found.c.u
    if question.where is None:
        counts: list[Expression] = [sa.func.count(sa.distinct(unit))]
    else:
        truth = records.dialect.is_set(found.c.m)
        counts = _distinct_units(truth, unit, is_blind=not records.uses_indexes)
    cell = sa.func.coalesce(found.c.cell, whole(_NOWHERE))
    shown = _shown(cell, counts[0], records.is_nobody(unit))
    return sa.select(*shown, *counts[1:]).group_by(found.c.cell)


def _units_by_node(question: CellQuestion, records: expressions.StatementRecords, several: Sequence[int]) -> Statement:
    """How many units each cell has, and each node of some levels: one of several cells is one."""
    dialect = records.dialect
    found = _cell_pairs(question, records)
    pairs = found.cte("pairs") if several else found.subquery("pairs")  # what is read once need not be kept
    counted, nobody = dialect.number_of(pairs.c.kept), records.is_nobody(pairs.c.u)
    cell = sa.func.coalesce(pairs.c.cell, whole(_NOWHERE))
    by_cell = sa.select(*_shown(cell, counted, nobody)).group_by(pairs.c.cell).having(_has_records(counted, nobody))
    if not several:
        return by_cell
    nodes = _nodes(question, several, dialect)
    units = (
        sa.select(nodes.c.node, pairs.c.u, dialect.is_any(pairs.c.kept).label("kept"))
        .select_from(pairs.join(nodes, pairs.c.cell == nodes.c.cell))
        .group_by(nodes.c.node, pairs.c.u)
        .subquery("units")
    )
    shown = _shown(units.c.node, dialect.number_of(units.c.kept), NOTHING)
    return sa.union_all(by_cell, sa.select(*shown).group_by(units.c.node))


def _has_records(counted: Expression, nobody: Expression) -> Expression:
    """Whether a group has a unit that is counted, or a record of nobody."""
    return counted > NOTHING if nobody is NOTHING else sa.or_(counted > NOTHING, nobody > NOTHING)


def _cell_pairs(question: CellQuestion, records: expressions.StatementRecords) -> sa.Select[Any]:
    """Each unit with each of its cells, and the flag `kept` where it is counted there."""
    dialect = records.dialect
    keyed = records.keyed(question.keys.parts, question.where)
    found = with_cells(question, keyed, dialect).subquery("found")
    most, pair = _most(question), (found.c.u, found.c.cell)
    matches = _is_any(question.where, found, dialect).label("kept" if most is None else "m")
    found_pairs = sa.select(*pair, matches).group_by(*pair)
    if most is None:
        return found_pairs
    pairs = found_pairs.subquery("found_pairs")
    groups = [question.keys.key(cell) for cell in range(len(question.keys))]
    tags = [group_text(group, question.salt) for group in [*groups, *[None] * question.has_other]]
    listed = dialect.listed("tags", {"tag": (tags, dialect.text_type)})
    is_set = sa.and_(pairs.c.cell.is_not(None), dialect.is_set(pairs.c.m))
    nothing = (pairs.c.cell.is_(None), dialect.text_literal(""))
    tagged = sa.select(
        pairs.c.u, pairs.c.cell, dialect.flag(is_set).label("m"), sa.case(nothing, else_=listed.c.tag).label("tag")
    ).select_from(pairs.outerjoin(listed, listed.c.place == pairs.c.cell + whole(1)))
    return expressions.kept(tagged, records, most)


def _nodes(question: CellQuestion, several: Sequence[int], dialect: Dialect) -> sa.FromClause:
    """The cells of each node of some levels, which are numbered through behind the cells."""
    levels, ends = [question.levels[n] for n in several], _ends(question, several)
    cells = [np.flatnonzero(level.of_cell >= 0) for level in levels]
    nodes = [end + level.of_cell[inside] for end, level, inside in zip(ends, levels, cells, strict=False)]
    columns: Lists = {
        "cell": (np.concatenate(cells), sa.BigInteger()),
        "node": (np.concatenate(nodes), sa.BigInteger()),
    }
    return dialect.listed("nodes", columns)


def _ends(question: CellQuestion, several: Sequence[int]) -> list[int]:
    """Where the places of the cells end, and those of each of some levels."""
    sizes = (question.levels[n].size for n in several)
    return list(accumulate(sizes, initial=question.size))


def with_cells(question: CellQuestion, asked: sa.FromClause, dialect: Dialect) -> sa.Select[Any]:
    """Rows of keys with the number of their cell as `cell`; missing: they are of none.

    `asked`: rows with keys as `k0`, `k1` and so on.
    """
    joined, cell = (_joined if dialect.joins_missing else _searched)(question.keys, asked, dialect)
    if question.has_other:
        cell = sa.func.coalesce(cell, whole(len(question.keys)))
    return sa.select(*asked.c, cell.label("cell")).select_from(joined)


def _joined(keys: KeySet, asked: sa.FromClause, dialect: Dialect) -> tuple[sa.FromClause, Expression]:
    """A join with the keys of each cell, of which some may be missing, and the number of that."""
    cells = zip(keys.parts, keys.values, keys.codes.T, strict=True)
    columns: Lists = {
        f"c{number}": (_codes(part, values, dialect)[places], expressions.key_type(part, dialect))
        for number, (part, values, places) in enumerate(cells)
    }
    listed = dialect.listed("listed_cells", columns)
    named = zip(expressions.key_names(keys.parts), columns, strict=True)
    same = [asked.c[key].is_not_distinct_from(listed.c[name]) for key, name in named]
    return asked.outerjoin(listed, sa.and_(*same)), listed.c.place - whole(1)


def _codes(part: GroupBy, values: Sequence[Key], dialect: Dialect) -> NDArray[Any]:
    """What stands for the keys of a part."""
    is_number = isinstance(expressions.key_type(part, dialect), sa.BigInteger) and None not in values
    codes = [expressions.coded(value, dialect) for value in values]
    return np.fromiter(codes, np.int64 if is_number else np.object_, len(codes))


def _searched(keys: KeySet, asked: sa.FromClause, dialect: Dialect) -> tuple[sa.FromClause, Expression]:
    """The same where such a join is slow: keys are looked up one by one and never missing.

    A missing one is found by itself.
    """
    joined, places = asked, []
    for number, part in enumerate(keys.parts):
        joined, place = _looked_up(number, part, keys, joined, asked.c[f"k{number}"], dialect)
        places.append(place)
    return (joined, _grid_cell(places, keys)) if keys.is_grid else _listed_cell(places, keys, joined, dialect)


def _looked_up(  # noqa: PLR0913, PLR0917 - of one join
    number: int, part: GroupBy, keys: KeySet, joined: sa.FromClause, key: Expression, dialect: Dialect
) -> tuple[sa.FromClause, Expression]:
    """A join with the values of one part, and the place of the key among them, from 0 on."""
    codes = {place: expressions.coded(value, dialect) for place, value in enumerate(keys.values[number])}
    nothing = next((place for place, value in codes.items() if value is None), None)
    held = {place: value for place, value in codes.items() if value is not None}
    type_ = expressions.key_type(part, dialect)
    columns: Lists = {"value": (list(held.values()), type_), "code": (np.array([*held], np.int64), sa.Integer())}
    listed = dialect.listed(f"l{number}", columns)
    value = dialect.text(listed.c.value) if type_ is dialect.text_type else listed.c.value
    once = _once({"value": value}, listed.c.code).subquery(f"v{number}")
    joined = joined.outerjoin(once, key == once.c.value)
    if nothing is None:
        return joined, once.c.code
    return joined, sa.case((key.is_(None), whole(nothing)), else_=once.c.code)


def _once(keys: Mapping[str, Expression], code: Expression) -> sa.Select[Any]:
    """Each of some keys with its code: so a server knows that a record is joined with one of them.

    PostgreSQL would else hash the records in place of the keys.
    """
    named = [key.label(name) for name, key in keys.items()]
    return sa.select(*named, sa.func.min(code).label("code")).group_by(*keys.values())


def _grid_cell(places: Sequence[Expression], keys: KeySet) -> Expression:
    """The number of a cell of all combinations, the last part's keys following each other."""
    cell = whole(0)
    for place, values in zip(places, keys.values, strict=True):
        cell = cell * whole(len(values)) + place
    return cell


def _listed_cell(
    places: Sequence[Expression], keys: KeySet, joined: sa.FromClause, dialect: Dialect
) -> tuple[sa.FromClause, Expression]:
    """A join with the places of the keys of each cell, and the number of that."""
    codes: Lists = {f"p{n}": (keys.codes[:, n], sa.Integer()) for n in range(len(places))}
    listed = dialect.listed("listed_cells", codes)
    once = _once({name: listed.c[name] for name in codes}, listed.c.place).subquery("cells")
    same = [once.c[f"p{n}"] == place for n, place in enumerate(places)]
    return joined.outerjoin(once, sa.and_(*same)), once.c.code - whole(1)


def cell_counts(
    question: CellQuestion, records: expressions.StatementRecords, columns: Iterable[NDArray[Any]]
) -> list[Counts]:
    """The true counts of each level; see ``Source.count_cells``. `columns`: the first three of `cells_statement`."""
    places, numbers, nobody = columns
    expressions.require_somebody(nobody)
    several = () if records.person is None else _several(question)
    ends, is_placed = _ends(question, several), places != _NOWHERE
    counts = np.zeros(ends[-1], np.int64)
    counts[places[is_placed].astype(np.int64)] = numbers[is_placed].astype(np.int64)
    cells, *nodes = np.split(counts, ends[:-1])
    own = dict(zip(several, nodes, strict=True))
    return [own[n] if n in own else level.sums(cells) for n, level in enumerate(question.levels)]


def keys_statement(question: KeyQuestion, records: expressions.StatementRecords) -> sa.Select[Any]:
    """The keys of each group that has units, how many, and 1 where a record is of nobody."""
    dialect, names = records.dialect, expressions.key_names(question.parts)
    nobody: Expression = NOTHING
    if records.person is None:
        rows = records.keyed(question.parts, question.where)
        counted = _matching(question.where, rows, dialect)
        inside = _inside(question, rows, dialect)
    else:
        rows = _key_pairs(question, records).subquery("pairs")
        counted, nobody = dialect.number_of(rows.c.kept), records.is_nobody(rows.c.u)
        inside = []
    keys = [rows.c[name] for name in names]
    return sa.select(*keys, counted, nobody).group_by(*keys).having(sa.and_(_has_records(counted, nobody), *inside))


def _inside(question: KeyQuestion, rows: sa.FromClause, dialect: Dialect) -> list[Expression]:
    """The conditions that all keys are those of groups."""
    named = zip(question.parts, expressions.key_names(question.parts), strict=True)
    found = [expressions.is_inside(part, rows.c[name], dialect) for part, name in named]
    return [each for each in found if each is not None]


def _key_pairs(question: KeyQuestion, records: expressions.StatementRecords) -> sa.Select[Any]:
    """Each unit with each of its groups, and the flag `kept` where it is counted there."""
    dialect, names = records.dialect, expressions.key_names(question.parts)
    keyed = records.keyed(question.parts, question.where)
    pair = [keyed.c[name] for name in ("u", *names)]
    matches, inside = _is_any(question.where, keyed, dialect), _inside(question, keyed, dialect)
    if inside:
        found = [] if question.where is None else [dialect.is_set(matches)]
        matches = dialect.flag(sa.and_(*found, *inside))
    found_pairs = sa.select(*pair, matches.label("kept" if question.max_groups is None else "m")).group_by(*pair)
    if question.max_groups is None:
        return found_pairs
    pairs = found_pairs.subquery("found")
    tag = expressions.group_hash(question.parts, [pairs.c[n] for n in names], question.salt, dialect)
    return expressions.kept(sa.select(pairs, tag.label("tag")), records, question.max_groups)


def key_counts(question: KeyQuestion, dialect: Dialect, rows: Sequence[Sequence[Any]]) -> KeyCounts:
    """What some rows of that statement say."""
    expressions.require_somebody([row[-1] for row in rows])
    keys = [tuple(row[:-2]) for row in rows]
    if not dialect.keeps_keys:
        keys = [tuple(map(expressions.decoded, question.parts, each)) for each in keys]
    return KeyCounts(keys, np.array([row[-2] for row in rows], np.int64))
