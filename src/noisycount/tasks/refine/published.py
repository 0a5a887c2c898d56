"""A published table of noisy counts: what is asked of it, its rows, its levels, their noise, its tree."""

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
    """Where a published table is, what is known of it, and what is to be told."""

    file: Path | None = None  # the file of the table
    key: str | None = None  # or its key in the ledger,
    source: str | None = None  # and the data set that it is of
    by: Sequence[str] = ()  # the key columns of a file, from coarse to fine
    column: str | None = None  # its column of answers
    noises: Sequence[AdditiveNoise] = ()  # the noise of its answers: one for all, or one a level, the cells first
    total: int | None = None  # the public number of records in all; None: not known
    below: float | None = None  # what the answer of each row without one is below; None: nothing is known of it
    below_column: str | None = None  # or the column that says so
    geocode: str | None = None  # which place of a file of the census
    query: str | None = None  # which of its queries
    day: str | None = None  # the day of a file of Wikimedia, or the name of an era
    # the tier of its countries by their codes, where it is not "lower"
    tiers: Mapping[str, str] = field(default_factory=dict)
    concentration: float | None = None  # that of each cell before the answers; None: learned from them
    is_learned: bool = False  # whether somebody asked for a prior that is learned
    level: float = 0.95  # the probability of each interval
    has_shares: bool = False  # whether shares of the total are told,
    has_ranks: bool = False  # and ranks
    out: Path | None = None  # a file for the rows,
    plot: Path | None = None  # and one for a picture
    is_replacing: bool = False  # whether a file that is there already may be replaced

    @property
    def place(self) -> str:
        """What the table was asked by, for a refusal."""
        return f"--key {self.key!r}" if self.file is None else repr(str(self.file))


Rows = NDArray[np.int64]
Key = int | float | str | bool | None
NO_SUMS = "sums are not used: one person may be in several cells, or cells are hidden"


@frozen(eq=False)
class PublishedLevel:
    """Counts of which no two share a cell: the cells themselves, or sums of them."""

    name: str  # what a reader calls it, such as "town" or "total"
    rows: Rows = field(repr=False)  # the places of its counts among the rows of the table
    mechanism: Mechanism  # the noise of each
    columns: tuple[int, ...] = ()  # the places of the key columns that tell its counts apart; none for the total
    # the count that each cell is a part of, where ranges of cells were summed; None: the keys tell
    of_cell: Rows | None = field(default=None, repr=False)


@frozen(eq=False)
class PublishedTable:
    """A table of noisy counts, row by row."""

    subject: str  # what was counted, and where that was read
    names: tuple[str, ...]  # of the key columns
    # the texts of the keys of each row; "all" where a level sums over a column
    keys: Sequence[tuple[str, ...]] = field(repr=False)
    answers: Reals = field(repr=False)  # of each row; nan where there is none; shape (rows,)
    levels: tuple[PublishedLevel, ...]  # the cells first
    # for each row with no answer the number that its answer is below; nan: there is none; shape (rows,)
    below: Reals = field(repr=False)
    columns: Mapping[str, Cells] = field(repr=False)  # what the table says of each row already, for a file
    is_hierarchy: bool = False  # whether each key column divides the one before, as county and town do
    is_selected: bool = False  # whether only answers from some threshold on were published
    notes: tuple[str, ...] = ()  # what a reader should know of it
    unit: str = "count"  # what was counted, in the plural; "count": nobody says

    @property
    def cells(self) -> PublishedLevel:
        """The finest level."""
        return self.levels[0]

    def without_sums(self) -> "PublishedTable":
        """The cells alone, where coarser levels are no sums of them."""
        return self if len(self.levels) == 1 else replace(self, levels=self.levels[:1], notes=(NO_SUMS,))


def written_columns(
    names: Sequence[str], keys: Sequence[Sequence[Key]], levels: list[str], answers: list[int]
) -> dict[str, Cells]:
    """The rows as `count --by` writes them: `keys`, `levels` and `answers` of each."""
    columns: dict[str, Cells] = {name: [row[at] for row in keys] for at, name in enumerate(names)}
    columns[free_name("level", columns)] = levels
    columns[free_name("answer", columns)] = answers
    return columns


@frozen
class GroupedRows:
    """The rows of a table, level by level."""

    keys: Sequence[tuple[str, ...]] = field(repr=False)  # what people read for the keys of each row
    # for each level, the cells first: its name, its rows, its key columns
    levels: Sequence[tuple[str, Rows, tuple[int, ...]]]
    # for each level of ranges the range that each cell is in
    of_cell: Mapping[str, Rows] = field(default_factory=dict, repr=False)

    def with_noises(self, noises: Sequence[Mechanism], place: str) -> tuple[PublishedLevel, ...]:
        """The levels, each with its noise."""
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
    """Rows by the names of their levels, as `count --by` writes them.

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
    """Rows by the columns in which they have keys: a sum runs over what is empty.

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
    """The columns that a level of sums keeps, by its name; None where it is called otherwise."""
    if level == TOTAL and TOTAL not in columns:
        return ()
    for number in range(1, len(columns)):
        for kept in combinations(range(len(columns)), number):
            if ",".join(columns[at] for at in kept) == level:
                return kept
    return None


def _differing(keys: Sequence[Sequence[Key]]) -> tuple[int, ...]:
    """The columns in which a level has keys."""
    return tuple(at for at in range(len(keys[0])) if any(row[at] is not None for row in keys))


def _sums(sums: Sequence[Sequence[Key]], cells: Sequence[Sequence[Key]], kept: Sequence[int]) -> list[tuple[str, ...]]:
    """What people read for the keys of each sum of a level; of no listed cell "all"."""
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
    """A level of a table in its tree."""

    published: PublishedLevel  # the level
    depth: int  # its level in the tree, from 0 of the root
    places: Rows = field(repr=False)  # the position there of each of its rows, shape (rows of the level,)


@frozen
class Nested:
    """A table on a tree."""

    tree: Tree  # of its cells
    levels: tuple[PlacedLevel, ...]  # those that nest, from coarse to the cells
    left_out: tuple[str, ...] = ()  # the names of those that do not


def nested(table: PublishedTable) -> Nested:
    """The tree of the levels that nest; as many as do, from the total to the cells.

    Where columns are a hierarchy, such as county and town, each of them has a level of its own, whether its sums were
    published or not.
    """
    if table.cells.columns:  # else ranges, of which the keys do not tell cells apart
        _check_once(table, table.cells, "cell")
    chain = _chain(table)
    left_out = tuple(level.name for level in table.levels if level not in chain)
    if table.is_hierarchy:
        return _of_columns(table, chain, left_out)
    tree, first = tree_of([_tree_level(table, level) for level in chain])
    placed = (PlacedLevel(level, depth, np.arange(len(level.rows))) for depth, level in enumerate(chain, start=first))
    return Nested(tree, tuple(placed), left_out)


def _of_columns(table: PublishedTable, chain: Sequence[PublishedLevel], left_out: tuple[str, ...]) -> Nested:
    """The tree with a level for each column."""
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
    """The most levels that contain each other, from coarse to the cells."""
    others = sorted(table.levels[1:], key=lambda level: len(level.rows))
    if any(level.of_cell is not None for level in others):
        return [*others, table.cells]
    order = sorted(others, key=lambda level: len(level.columns))
    chain = longest_chain(order, lambda above, level: set(above.columns) < set(level.columns))
    return [*chain, table.cells]


def _tree_level(table: PublishedTable, level: PublishedLevel) -> TreeLevel:
    """A level with the keys of its counts."""
    columns = level.columns if level.of_cell is None else None
    keys = [table.keys[row] for row in level.rows.tolist()]
    return TreeLevel(level.name, _partition(table, level), columns, keys)


def _partition(table: PublishedTable, level: PublishedLevel) -> Rows:
    """For each cell the place of its count among those of a level; one more where it has none."""
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
    """The refusal of two rows with the same keys."""
    met: dict[tuple[str, ...], int] = {}
    for row in level.rows.tolist():
        key = _key(table, row, level)
        if met.setdefault(key, row) != row:
            raise SourceError(
                f"rows {met[key] + 1:,} and {row + 1:,} below the names have answers for one {what}, "
                f"{', '.join(key) or TOTAL}: add the column that tells them apart, or remove one"
            )


def _key(table: PublishedTable, row: int, level: PublishedLevel) -> tuple[str, ...]:
    """The keys of a row by which its level tells it from others."""
    return tuple(table.keys[row][at] for at in level.columns)
