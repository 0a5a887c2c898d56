"""Published tables of noisy counts: their rows, levels and noise, and the tree of their cells.

`RefineQuery` holds the options of a refinement, `PublishedTable` the table that it reads. `nested` arranges the levels
of a table as a tree.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from noisycount.display.columns import Cells, free_name
from noisycount.display.texts import ALL_KEYS, OTHER_KEYS, label_text, summed_texts
from noisycount.errors import NoisyCountError, SourceError
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.tables.levels import OTHER, RANGES, TOTAL
from noisycount.model.tables.tree import Tree, TreeLevel, longest_chain, tree_of


@frozen
class RefineQuery:
    """A request to refine a published table: where the table is, what is known about it, and what to return."""

    file: Path | None = None  # the file of the table
    key: str | None = None  # in place of a file, the key of the table in the ledger
    source: str | None = None  # data set of that key
    by: Sequence[str] = ()  # key columns of the file, from coarse to fine
    column: str | None = None  # column of answers in the file
    # noise of each level, the cells first; a table of Wikimedia takes one for all its rows
    noises: Sequence[AdditiveNoise] = ()
    total: int | None = None  # public number of all records; None: unknown
    below: float | None = None  # threshold of every missing answer, which lies below it; None: no threshold is known
    below_column: str | None = None  # column with the threshold of each missing answer, in place of `below`
    geocode: str | None = None  # place of a census file
    query: str | None = None  # query of a census file
    day: str | None = None  # day of a Wikimedia file, or the name of an era
    # tiers of the countries of a Wikimedia file by country code; a country without one has the tier "lower"
    tiers: Mapping[str, str] = field(default_factory=dict)
    concentration: float | None = None  # concentration of the prior of the cells; None: learned from the answers
    is_learned: bool = False  # True if a learned prior is explicitly requested
    level: float = 0.95  # probability of each interval
    has_shares: bool = False  # True if the result has the share of each cell in the total
    has_ranks: bool = False  # True if the result has the rank of each cell
    out: Path | None = None  # file for the rows
    plot: Path | None = None  # file for a chart
    is_replacing: bool = False  # True if an existing file `out` may be replaced

    @property
    def place(self) -> str:
        """The file or the key of the table, as an error names it."""
        return f"--key {self.key!r}" if self.file is None else repr(str(self.file))


Rows = NDArray[np.int64]
Key = int | float | str | bool | None
NO_SUMS = "sums are not used: one person may be in several cells, or cells are hidden"


@frozen(eq=False)
class PublishedLevel:
    """A level of a table: its cells, or sums of cells such that no two of them share a cell."""

    name: str  # name that a reader sees, such as "town" or "total"
    rows: Rows = field(repr=False)  # indices of its counts among the rows of the table
    mechanism: Mechanism  # noise of each count
    columns: tuple[int, ...] = ()  # indices of the key columns by which its counts differ; none for the total
    # index of the count that contains each cell, for sums of ranges of cells; None: the keys state it
    of_cell: Rows | None = field(default=None, repr=False)


@frozen(eq=False)
class PublishedTable:
    """A published table of noisy counts, row by row."""

    subject: str  # what was counted, and where the table was read
    names: tuple[str, ...]  # names of the key columns
    # texts of the keys of each row; "all" if the level sums over a column
    keys: Sequence[tuple[str, ...]] = field(repr=False)
    answers: Reals = field(repr=False)  # answer of each row, nan if it is missing; shape (rows,)
    levels: tuple[PublishedLevel, ...]  # the cells first
    # threshold of each suppressed answer, which lies below it; nan for all other rows; shape (rows,)
    below: Reals = field(repr=False)
    columns: Mapping[str, Cells] = field(repr=False)  # columns of the table as it was read, for a file
    is_hierarchy: bool = False  # True if each key column divides the one before, as county and town do
    is_selected: bool = False  # True if only answers from a threshold on were published
    notes: tuple[str, ...] = ()  # remarks for the reader
    unit: str = "count"  # counted units, in the plural; "count" if the table does not state them

    @property
    def cells(self) -> PublishedLevel:
        """The finest level."""
        return self.levels[0]

    def without_sums(self) -> "PublishedTable":
        """Return the table with the cells as its only level and a note; itself if it has one level.

        Call this if the counts of coarser levels are not sums of cells.
        """
        return self if len(self.levels) == 1 else replace(self, levels=self.levels[:1], notes=(NO_SUMS,))


def written_columns(
    names: Sequence[str], keys: Sequence[Sequence[Key]], levels: list[str], answers: list[int]
) -> dict[str, Cells]:
    """Return the columns that `count --by` writes: the keys, the name of the level and the answer of each row.

    `names` are the key columns. `keys`, `levels` and `answers` have one element for each row.
    """
    columns: dict[str, Cells] = {name: [row[at] for row in keys] for at, name in enumerate(names)}
    columns[free_name("level", columns)] = levels
    columns[free_name("answer", columns)] = answers
    return columns


@frozen
class GroupedRows:
    """The rows of a table, grouped by level."""

    keys: Sequence[tuple[str, ...]] = field(repr=False)  # texts of the keys of each row
    # for each level, the cells first: its name, the indices of its rows, the indices of its key columns
    levels: Sequence[tuple[str, Rows, tuple[int, ...]]]
    # for each level of ranges, the index of the range that contains each cell
    of_cell: Mapping[str, Rows] = field(default_factory=dict, repr=False)

    def with_noises(self, noises: Sequence[Mechanism], place: str) -> tuple[PublishedLevel, ...]:
        """Return the levels, each with its noise.

        Raise NoisyCountError if the number of noises is not that of the levels. `place` names the table in the error.
        """
        if len(noises) != len(self.levels):
            names = "; ".join(name for name, _, _ in self.levels)
            number = "one level" if len(self.levels) == 1 else f"{len(self.levels)} levels"
            given = "1 is given" if len(noises) == 1 else f"{len(noises)} are given"
            given = given if noises else "the file does not say them"
            raise NoisyCountError(
                f"{place} needs the noise of {number} ({names}), and {given}: "
                "give --epsilon, or --noise and --scale, once for each in this order"
            )
        return tuple(
            PublishedLevel(name, rows, noise, columns, self.of_cell.get(name))
            for (name, rows, columns), noise in zip(self.levels, noises, strict=True)
        )


def grouped_by_name(
    keys: Sequence[Sequence[Key]], levels: Sequence[str], columns: Sequence[str], *, is_hidden: bool = False
) -> GroupedRows:
    """Return rows grouped by the names of their levels, as `count --by` writes them.

    `keys` and `levels` have one element for each row; the level of the first row is that of the cells. If `is_hidden`
    is True, only cells above a threshold are listed, and a total is shown as "all", not as the listed keys.

    Example:
        >>> rows = [("a",), (None,), (None,)]
        >>> found = grouped_by_name(rows, ["town", "town", "total"], ["town"])
        >>> found.keys, [name for name, _, _ in found.levels]
        ([('a',), ('(missing)',), ('all of a, (missing)',)], ['town', 'total'])
    """
    first, other = levels[0] if levels else "", None if OTHER in columns else OTHER
    places: dict[str, list[int]] = {}
    for row, name in enumerate(levels):
        places.setdefault(first if name == other else name, []).append(row)
    cells = [row for row in places.get(first, []) if levels[row] != other]
    is_whole = is_hidden or len(cells) < len(places.get(first, []))
    found: list[tuple[str, Rows, tuple[int, ...]]] = []
    texts = [(OTHER_KEYS,) * len(columns) for _ in keys]
    ranges: dict[str, Rows] = {}
    for name, rows in places.items():
        named = tuple(range(len(columns))) if name == first else _kept(name, columns)
        kept = named or ()
        own = cells if name == first else rows
        told = [tuple(map(label_text, keys[row])) for row in own]
        if named is None and name.startswith(RANGES):
            ranges[name] = np.arange(len(cells)) // int(name.removeprefix(RANGES))
        elif name != first:
            kept = _differing([keys[row] for row in rows]) if named is None else named
            below = [] if is_whole and not kept else [keys[row] for row in cells]
            told = _sums([keys[row] for row in rows], below, kept)
        for row, text in zip(own, told, strict=True):
            texts[row] = text
        found.append((name, np.array(rows, dtype=np.int64), kept))
    return GroupedRows(texts, found, ranges)


def grouped_by_empty(
    keys: Sequence[Sequence[str | None]], names: Sequence[str], *, is_hidden: bool = False
) -> GroupedRows:
    """Return rows grouped by the columns in which they have keys. A row sums over its empty columns.

    Raise NoisyCountError if no row has a key in every column.

    Example:
        >>> rows = [("a", "m"), ("a", "f"), ("a", None), (None, None)]
        >>> [name for name, _, _ in grouped_by_empty(rows, ["town", "sex"]).levels]
        ['town,sex', 'town', 'total']
    """
    found: dict[tuple[int, ...], list[int]] = {tuple(range(len(names))): []}
    for row, cells in enumerate(keys):
        kept = tuple(place for place, key in enumerate(cells) if key is not None)
        found.setdefault(kept, []).append(row)
    if not next(iter(found.values())):
        raise NoisyCountError(f"no row has a key in each of {', '.join(names)}: name columns that every cell has")
    levels = [
        (",".join(names[at] for at in kept) or TOTAL, np.array(rows, dtype=np.int64), kept)
        for kept, rows in found.items()
    ]
    listed = [keys[row] for row in levels[0][1].tolist()]
    texts: list[tuple[str, ...]] = [()] * len(keys)
    for _, rows, kept in levels:
        below = [] if is_hidden and not kept else listed
        for row, text in zip(rows.tolist(), _sums([keys[at] for at in rows], below, kept), strict=True):
            texts[row] = text
    return GroupedRows(texts, levels)


def _kept(level: str, columns: Sequence[str]) -> tuple[int, ...] | None:
    """Return the columns that a level of sums keeps, from its name; None if the name lists no columns."""
    if level == TOTAL and TOTAL not in columns:
        return ()
    for number in range(1, len(columns)):
        for kept in combinations(range(len(columns)), number):
            if ",".join(columns[at] for at in kept) == level:
                return kept
    return None


def _differing(keys: Sequence[Sequence[Key]]) -> tuple[int, ...]:
    """Return the columns in which at least one row of a level has a key."""
    return tuple(at for at in range(len(keys[0])) if any(row[at] is not None for row in keys))


def _sums(sums: Sequence[Sequence[Key]], cells: Sequence[Sequence[Key]], kept: Sequence[int]) -> list[tuple[str, ...]]:
    """Return the texts of the keys of each sum of a level; "all" for a summed column without listed cells.

    `sums` and `cells` are the keys of the sums and of the listed cells; `kept` are the columns that the level keeps.
    """
    over = [at for at in range(len(sums[0])) if at not in kept]
    found = summed_texts((tuple(cell[at] for at in kept), [cell[at] for at in over]) for cell in cells)
    told = []
    for own in sums:
        texts = found.get(tuple(own[at] for at in kept), (ALL_KEYS,) * len(over))
        both = {at: label_text(own[at]) for at in kept} | dict(zip(over, texts, strict=True))
        told.append(tuple(both[at] for at in range(len(own))))
    return told


@frozen
class PlacedLevel:
    """A level of a table with its place in the tree."""

    published: PublishedLevel  # the level of the table
    depth: int  # depth in the tree; 0 is the root
    places: Rows = field(repr=False)  # index of the node of each of its rows, shape (rows of the level,)


@frozen
class Nested:
    """A table arranged as a tree."""

    tree: Tree  # tree of the cells
    levels: tuple[PlacedLevel, ...]  # levels of the chain, from coarse to the cells
    left_out: tuple[str, ...] = ()  # names of the levels outside the chain


def nested(table: PublishedTable) -> Nested:
    """Return the tree of the longest chain of levels that contain each other, from the total to the cells.

    If the columns are a hierarchy, such as county and town, the tree has a level for each column, even if the sums of
    that column were not published. Raise SourceError if two rows of a level have the same keys, or if a sum has no
    cell.
    """
    if table.cells.columns:  # else the cells are ranges, whose keys need not differ
        _check_once(table, table.cells, "cell")
    chain = _chain(table)
    left_out = tuple(level.name for level in table.levels if level not in chain)
    if table.is_hierarchy:
        return _of_columns(table, chain, left_out)
    tree, first = tree_of([_tree_level(table, level) for level in chain])
    placed = (PlacedLevel(level, depth, np.arange(len(level.rows))) for depth, level in enumerate(chain, start=first))
    return Nested(tree, tuple(placed), left_out)


def _of_columns(table: PublishedTable, chain: Sequence[PublishedLevel], left_out: tuple[str, ...]) -> Nested:
    """Return the tree that has a level for each column of a hierarchy."""
    order = list(dict.fromkeys(at for level in chain for at in level.columns))
    keys = {table.names[at]: [table.keys[row][at] for row in table.cells.rows] for at in order}
    tree = Tree.of_keys(keys)
    placed = []
    for level in chain:
        part, depth = _partition(table, level), len(level.columns)
        places = np.zeros(len(level.rows), np.int64)
        places[part[part < len(places)]] = tree.levels[depth][part < len(places)]
        placed.append(PlacedLevel(level, depth, places))
    return Nested(tree, tuple(placed), left_out)


def _chain(table: PublishedTable) -> list[PublishedLevel]:
    """Return the longest chain of levels that contain each other, from coarse to the cells."""
    others = sorted(table.levels[1:], key=lambda level: len(level.rows))
    if any(level.of_cell is not None for level in others):
        return [*others, table.cells]
    order = sorted(others, key=lambda level: len(level.columns))
    chain = longest_chain(order, lambda above, level: set(above.columns) < set(level.columns))
    return [*chain, table.cells]


def _tree_level(table: PublishedTable, level: PublishedLevel) -> TreeLevel:
    """Return a level as the tree expects it: the sum of each cell, the columns and the keys."""
    columns = level.columns if level.of_cell is None else None
    keys = [table.keys[row] for row in level.rows.tolist()]
    return TreeLevel(level.name, _partition(table, level), columns, keys)


def _partition(table: PublishedTable, level: PublishedLevel) -> Rows:
    """Return, for each cell, the index of its count in the level; the number of counts if it has none.

    Raise SourceError if two rows of the level have the same keys, or if a count has no cell.
    """
    if level.of_cell is not None:
        return level.of_cell
    if level is table.cells:
        return np.arange(len(level.rows))
    _check_once(table, level, "sum")
    found = {_key(table, row, level): at for at, row in enumerate(level.rows.tolist())}
    rows = table.cells.rows.tolist()
    part = np.array([found.get(_key(table, row, level), len(found)) for row in rows])
    empty = set(range(len(found))) - set(part.tolist())
    if empty:
        keys = ", ".join(_key(table, int(level.rows[min(empty)]), level))
        raise SourceError(f"{level.name} has an answer for {keys}, of which there is no cell")
    return part


def _check_once(table: PublishedTable, level: PublishedLevel, what: str) -> None:
    """Raise SourceError if two rows of a level have the same keys. `what` is "cell" or "sum"."""
    met: dict[tuple[str, ...], int] = {}
    for row in level.rows.tolist():
        key = _key(table, row, level)
        if met.setdefault(key, row) != row:
            raise SourceError(
                f"rows {met[key] + 1:,} and {row + 1:,} below the names have answers for one {what}, "
                f"{', '.join(key) or TOTAL}: add the column that tells them apart, or remove one"
            )


def _key(table: PublishedTable, row: int, level: PublishedLevel) -> tuple[str, ...]:
    """Return the keys of a row in the columns of its level."""
    return tuple(table.keys[row][at] for at in level.columns)
