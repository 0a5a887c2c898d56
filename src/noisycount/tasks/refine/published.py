"""Published tables of noisy counts: their rows, levels and noise, and the tree of their cells.

`RefineQuery` is the request for a refinement, `PublishedTable` the table that it reads. `nested_levels` arranges
the levels of a table as a tree.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from noisycount.display.columns import Cells, free_name
from noisycount.display.texts import ALL_KEYS, OTHER_KEYS, label_text, sum_labels
from noisycount.errors import NoisyCountError, SourceError
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.tables.levels import OTHER, RANGES, TOTAL
from noisycount.model.tables.tree import Tree, TreeLevel, longest_chain, tree_of
from noisycount.readers.assumption import Rate
from noisycount.readers.values import noise_of

LEARNED = "learned"  # prior that is learned from the answers


@frozen
class RefineQuery:
    """A request to refine: one count, each row of a file of answers, or a published table as a whole."""

    # One count, or a count for each row of a file.
    answers: Sequence[float] = ()  # noisy answers about one count, in records
    size: int | None = None  # number of records
    rate: Rate | None = None  # probability that a person or row is counted
    strata: Path | None = None  # file of groups of records, in place of size and rate
    answers_file: Path | None = None  # file whose rows are answers about a count each
    size_column: str | None = None  # column of sizes in that file
    rate_column: str | None = None  # column of rates in that file

    # A published table.
    file: Path | None = None  # the file of the table
    key: str | None = None  # in place of a file, the key of the table in the ledger
    source: str | None = None  # data set of that key
    by: Sequence[str] = ()  # key columns of the file, from coarse to fine
    total: int | None = None  # public number of all records; None: unknown
    below: float | None = None  # threshold of every missing answer, which lies below it; None: no threshold is known
    below_column: str | None = None  # column with the threshold of each missing answer, in place of `below`
    geocode: str | None = None  # place of a census file
    query: str | None = None  # query of a census file
    day: str | None = None  # day of a Wikimedia file, or the name of an era
    # tiers of the countries of a Wikimedia file by country code; a country without one has the tier "lower"
    tiers: Mapping[str, str] = field(default_factory=dict)
    prior: float | str | None = None  # concentration of the prior of the cells, or LEARNED, which is the default
    has_shares: bool = False  # True if the result has the share of each cell in the total
    has_ranks: bool = False  # True if the result has the rank of each cell

    # All kinds of requests.
    epsilon: Sequence[Fraction] = ()  # ε of each answer or level, or one for all
    noise: str | None = None  # kind of the noise, in place of ε
    scale: Sequence[Fraction] = ()  # scale of the noise of each answer or level, or one for all
    column: str | None = None  # column of answers in a file
    level: float = 0.95  # probability of each interval
    out: Path | None = None  # file for the rows
    plot: Path | None = None  # file for a chart
    is_replacing: bool = False  # True if an existing file `out` may be replaced

    @property
    def noises(self) -> tuple[AdditiveNoise, ...]:
        """Noise of each answer, or of each level of a table, the cells first; or one for all."""
        if self.epsilon:
            return tuple(map(DiscreteLaplace.for_epsilon, self.epsilon))
        return tuple(noise_of(self.noise or "", scale) for scale in self.scale)

    @property
    def table_members(self) -> set[str]:
        """Names of the members about a published table that are given."""
        default = RefineQuery()
        return {name for name in _TABLE_MEMBERS if getattr(self, name) != getattr(default, name)}

    @property
    def has_columns(self) -> bool:
        """True if a file of answers is given, or a column of sizes or rates in it."""
        return any(part is not None for part in (self.answers_file, self.size_column, self.rate_column))

    @property
    def has_population(self) -> bool:
        """True if the number of records is given, or their rates."""
        return any(part is not None for part in (self.size, self.rate, self.strata))

    @property
    def place(self) -> str:
        """Name of the table in error messages: its file, or the option `--key` with its key."""
        return f"--key {self.key!r}" if self.file is None else repr(str(self.file))


_TABLE_MEMBERS = (
    *("file", "key", "source", "by", "total", "below", "below_column", "geocode", "query", "day", "tiers", "prior"),
    *("has_shares", "has_ranks"),
)

Rows = NDArray[np.int64]
Key = int | float | str | bool | None
NO_SUMS = "sums are not used: one person may be in several cells, or cells are hidden"


@frozen(eq=False)
class PublishedLevel:
    """A level of a table: its cells, or sums of cells. No two sums of a level share a cell."""

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
        """Return the table with the cells as its only level, and a note about that.

        A table with one level is returned unchanged.

        Call this if the counts of coarser levels are not sums of cells.
        """
        return self if len(self.levels) == 1 else replace(self, levels=self.levels[:1], notes=(NO_SUMS,))


def written_columns(
    names: Sequence[str], keys: Sequence[Sequence[Key]], levels: list[str], answers: list[int]
) -> dict[str, Cells]:
    """Return the columns that `count --by` writes: the keys, the name of the level and the answer of each row.

    `names` are the key columns. `keys`, `levels` and `answers` have one element for each row.
    """
    columns: dict[str, Cells] = {name: [row[column] for row in keys] for column, name in enumerate(names)}
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
            number_given = "1 is given" if len(noises) == 1 else f"{len(noises)} are given"
            number_given = number_given if noises else "the file does not state it"
            raise NoisyCountError(
                f"{place} needs the noise of {number} ({names}), and {number_given}: "
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
    cell_level, other_level = levels[0] if levels else "", None if OTHER in columns else OTHER
    rows_of_level: dict[str, list[int]] = {}
    for row, name in enumerate(levels):
        rows_of_level.setdefault(cell_level if name == other_level else name, []).append(row)
    cells = [row for row in rows_of_level.get(cell_level, []) if levels[row] != other_level]
    is_whole = is_hidden or len(cells) < len(rows_of_level.get(cell_level, []))
    groups: list[tuple[str, Rows, tuple[int, ...]]] = []
    texts = [(OTHER_KEYS,) * len(columns) for _ in keys]
    range_of_cell: dict[str, Rows] = {}
    for name, rows in rows_of_level.items():
        named_columns = tuple(range(len(columns))) if name == cell_level else _named_columns(name, columns)
        kept_columns = named_columns or ()
        own_rows = cells if name == cell_level else rows
        row_texts = [tuple(map(label_text, keys[row])) for row in own_rows]
        if named_columns is None and name.startswith(RANGES):
            range_of_cell[name] = np.arange(len(cells)) // int(name.removeprefix(RANGES))
        elif name != cell_level:
            kept_columns = _columns_with_keys([keys[row] for row in rows]) if named_columns is None else named_columns
            listed_cells = [] if is_whole and not kept_columns else [keys[row] for row in cells]
            row_texts = _sum_texts([keys[row] for row in rows], listed_cells, kept_columns)
        for row, text in zip(own_rows, row_texts, strict=True):
            texts[row] = text
        groups.append((name, np.array(rows, dtype=np.int64), kept_columns))
    return GroupedRows(texts, groups, range_of_cell)


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
    rows_of_columns: dict[tuple[int, ...], list[int]] = {tuple(range(len(names))): []}
    for row, row_keys in enumerate(keys):
        kept_columns = tuple(column for column, key in enumerate(row_keys) if key is not None)
        rows_of_columns.setdefault(kept_columns, []).append(row)
    if not next(iter(rows_of_columns.values())):
        raise NoisyCountError(f"no row has a key in each of {', '.join(names)}: name columns that every cell has")
    levels = [
        (",".join(names[index] for index in kept_columns) or TOTAL, np.array(rows, dtype=np.int64), kept_columns)
        for kept_columns, rows in rows_of_columns.items()
    ]
    listed = [keys[row] for row in levels[0][1].tolist()]
    texts: list[tuple[str, ...]] = [()] * len(keys)
    for _, rows, kept_columns in levels:
        listed_cells = [] if is_hidden and not kept_columns else listed
        for row, text in zip(
            rows.tolist(), _sum_texts([keys[index] for index in rows], listed_cells, kept_columns), strict=True
        ):
            texts[row] = text
    return GroupedRows(texts, levels)


def _named_columns(level: str, columns: Sequence[str]) -> tuple[int, ...] | None:
    """Return the columns that a level of sums keeps, from its name; None if the name lists no columns."""
    if level == TOTAL and TOTAL not in columns:
        return ()
    for number in range(1, len(columns)):
        for kept_columns in combinations(range(len(columns)), number):
            if ",".join(columns[column] for column in kept_columns) == level:
                return kept_columns
    return None


def _columns_with_keys(keys: Sequence[Sequence[Key]]) -> tuple[int, ...]:
    """Return the columns in which at least one row of a level has a key."""
    return tuple(column for column in range(len(keys[0])) if any(row[column] is not None for row in keys))


def _sum_texts(
    sum_keys: Sequence[Sequence[Key]], cell_keys: Sequence[Sequence[Key]], kept_columns: Sequence[int]
) -> list[tuple[str, ...]]:
    """Return the texts of the keys of each sum of a level; "all" for a summed column without listed cells.

    `sum_keys` and `cell_keys` are the keys of the sums and of the listed cells. `kept_columns` are the columns that the
    level keeps.
    """
    summed_columns = [column for column in range(len(sum_keys[0])) if column not in kept_columns]
    summed = sum_labels(
        (tuple(cell[column] for column in kept_columns), [cell[column] for column in summed_columns])
        for cell in cell_keys
    )
    texts = []
    for sum_key in sum_keys:
        summed_texts_of_key = summed.get(
            tuple(sum_key[column] for column in kept_columns), (ALL_KEYS,) * len(summed_columns)
        )
        text_of_column = {column: label_text(sum_key[column]) for column in kept_columns} | dict(
            zip(summed_columns, summed_texts_of_key, strict=True)
        )
        texts.append(tuple(text_of_column[column] for column in range(len(sum_key))))
    return texts


@frozen
class PlacedLevel:
    """A level of a table with its place in the tree."""

    published: PublishedLevel  # the level of the table
    depth: int  # depth in the tree; 0 is the root
    places: Rows = field(repr=False)  # index of the node of each of its rows, shape (rows of the level,)


@frozen
class NestedTable:
    """A table arranged as a tree."""

    tree: Tree  # tree of the cells
    levels: tuple[PlacedLevel, ...]  # levels of the chain, from coarse to the cells
    left_out: tuple[str, ...] = ()  # names of the levels outside the chain


def nested_levels(table: PublishedTable) -> NestedTable:
    """Return the tree of the longest chain of levels that contain each other, from the total to the cells.

    If the columns are a hierarchy, such as county and town, the tree has a level for each column, even if the sums of
    that column were not published. Raise SourceError if two rows of a level have the same keys, or if a sum has no
    cell.
    """
    if table.cells.columns:  # else the cells are ranges, whose keys need not differ
        _require_distinct_keys(table, table.cells, "cell")
    chain = _longest_level_chain(table)
    left_out = tuple(level.name for level in table.levels if level not in chain)
    if table.is_hierarchy:
        return _tree_of_hierarchy(table, chain, left_out)
    tree, first_depth = tree_of([_tree_level(table, level) for level in chain])
    placed_levels = (
        PlacedLevel(level, depth, np.arange(len(level.rows))) for depth, level in enumerate(chain, start=first_depth)
    )
    return NestedTable(tree, tuple(placed_levels), left_out)


def _tree_of_hierarchy(
    table: PublishedTable, chain: Sequence[PublishedLevel], left_out: tuple[str, ...]
) -> NestedTable:
    """Return the tree that has a level for each column of a hierarchy."""
    order = list(dict.fromkeys(column for level in chain for column in level.columns))
    keys = {table.names[column]: [table.keys[row][column] for row in table.cells.rows] for column in order}
    tree = Tree.of_keys(keys)
    placed_levels = []
    for level in chain:
        count_of_cell, depth = _count_of_each_cell(table, level), len(level.columns)
        places = np.zeros(len(level.rows), np.int64)
        places[count_of_cell[count_of_cell < len(places)]] = tree.levels[depth][count_of_cell < len(places)]
        placed_levels.append(PlacedLevel(level, depth, places))
    return NestedTable(tree, tuple(placed_levels), left_out)


def _longest_level_chain(table: PublishedTable) -> list[PublishedLevel]:
    """Return the longest chain of levels that contain each other, from coarse to the cells."""
    sum_levels = sorted(table.levels[1:], key=lambda level: len(level.rows))
    if any(level.of_cell is not None for level in sum_levels):
        return [*sum_levels, table.cells]
    order = sorted(sum_levels, key=lambda level: len(level.columns))
    chain = longest_chain(order, lambda above, level: set(above.columns) < set(level.columns))
    return [*chain, table.cells]


def _tree_level(table: PublishedTable, level: PublishedLevel) -> TreeLevel:
    """Return a level as the tree expects it: the sum of each cell, the columns and the keys."""
    columns = level.columns if level.of_cell is None else None
    keys = [table.keys[row] for row in level.rows.tolist()]
    return TreeLevel(level.name, _count_of_each_cell(table, level), columns, keys)


def _count_of_each_cell(table: PublishedTable, level: PublishedLevel) -> Rows:
    """Return, for each cell, the index of its count in the level.

    A cell without a count has the number of counts as index.

    Raise SourceError if two rows of the level have the same keys, or if a count has no cell.
    """
    if level.of_cell is not None:
        return level.of_cell
    if level is table.cells:
        return np.arange(len(level.rows))
    _require_distinct_keys(table, level, "sum")
    count_of_key = {_row_key(table, row, level): index for index, row in enumerate(level.rows.tolist())}
    rows = table.cells.rows.tolist()
    count_of_cell = np.array([count_of_key.get(_row_key(table, row, level), len(count_of_key)) for row in rows])
    counts_without_cells = set(range(len(count_of_key))) - set(count_of_cell.tolist())
    if counts_without_cells:
        keys = ", ".join(_row_key(table, int(level.rows[min(counts_without_cells)]), level))
        raise SourceError(
            f"{level.name} has an answer for {keys}, but the table has no cell with these keys: remove the answer"
        )
    return count_of_cell


def _require_distinct_keys(table: PublishedTable, level: PublishedLevel, kind: str) -> None:
    """Raise SourceError if two rows of a level have the same keys. `kind` is "cell" or "sum"."""
    row_of_key: dict[tuple[str, ...], int] = {}
    for row in level.rows.tolist():
        key = _row_key(table, row, level)
        if row_of_key.setdefault(key, row) != row:
            raise SourceError(
                f"rows {row_of_key[key] + 1:,} and {row + 1:,} below the names have answers for one {kind}, "
                f"{', '.join(key) or TOTAL}: add the column that distinguishes them, or remove one"
            )


def _row_key(table: PublishedTable, row: int, level: PublishedLevel) -> tuple[str, ...]:
    """Return the keys of a row in the columns of its level."""
    return tuple(table.keys[row][column] for column in level.columns)
