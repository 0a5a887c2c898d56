"""Which cells are meant.

The law of the count of a node, or of a sum of cells, given all answers.

How much the estimates of a table owe to how concentrated its prior is.

The posterior of a table: estimates of its cells and of all their sums.
"""

import warnings
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisycount.analysis.posterior.posterior import LEVEL, Estimates
from noisycount.analysis.tables.cell_solution import CellSolution
from noisycount.analysis.tables.learning import first_settings
from noisycount.analysis.tables.packed_solution import PackedSolution
from noisycount.analysis.tables.passes import Summary
from noisycount.analysis.tables.prior import CellLevel, TablePrior
from noisycount.analysis.tables.surprising_answers import farthest_out
from noisycount.analysis.tables.tree_solution import TreeSolution
from noisycount.display.columns import Cells, arrow_stream, free_name
from noisycount.display.numbers import signed
from noisycount.display.values import MOST_ROWS, Shown, row_table
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.gamma import Reals
from noisycount.model.tables.tree import NodeKey, Tree
from noisycount.validation import whole_number

__all__ = ["Sensitivity", "TablePosterior"]


def chosen_cells(cells: ArrayLike, size: int) -> NDArray[np.bool_]:
    """Cells as a mask.

    Args:
        cells: Their positions, each once, negative ones from the end; or a mask, shape (size,).
        size: How many cells there are.

    Raises:
        ValueError: If there is no such cell, none, or one twice.
    """
    given = np.asarray(cells)
    if given.dtype == np.bool_ and given.shape == (size,):
        is_in = given.copy()
    elif given.ndim == 1 and given.dtype.kind in "iu" and given.size:
        if given.min() < -size or given.max() >= size:
            wrong = int(given.max() if given.max() >= size else given.min())
            raise ValueError(f"cells must be positions from 0 to {size - 1}, got {wrong}")
        is_in = np.zeros(size, dtype=np.bool_)
        is_in[given] = True
        if int(is_in.sum()) != given.size:
            raise ValueError(f"cells must be different, got {given.size - int(is_in.sum())} twice")
    else:
        raise ValueError(f"cells must be positions or a mask of {size} cells, got {cells!r}")
    if not is_in.any():
        raise ValueError("cells must name at least one cell, got none")
    return is_in


@frozen(repr=False)
class NodePosterior(Shown, Estimates):
    """The law of a count of a table given all answers, and the estimates that follow from it.

    It also answers to `pmf`, `logpmf`, `cdf`, `sf`, `ppf`, `isf` and `rvs`, as laws in scipy.stats
    do.

    Attributes:
        law: The distribution of the count.
        name: What is counted.
    """

    law: CountDistribution
    name: str

    def _facts(self) -> dict[str, object]:
        """The estimates."""
        return {
            "name": self.name,
            "mean": self.mean,
            "median": self.median,
            "mode": self.mode,
            "std": self.std,
            "interval": self.interval(),
            "level": LEVEL,
        }


_FACTORS = 0.5, 2.0


@frozen
class Move(Shown):
    """What another concentration changes.

    Attributes:
        factor: How many times the concentration.
        largest: The largest move of the mean of a cell, in records.
        average: The mean of these moves over all cells, in records.
        largest_deviations: The largest move, in standard deviations of that cell.
        average_deviations: The mean of these.
        log_evidence: By how much the logarithm of the evidence rises.
    """

    factor: float
    largest: float
    average: float
    largest_deviations: float
    average_deviations: float
    log_evidence: float


@frozen
class Sensitivity(Shown):
    """What half and twice the concentration of a prior change.

    Attributes:
        moves: Under half, and under twice; empty where the prior has no concentration.
        words: One line on them.
    """

    moves: tuple[Move, ...]
    words: str


def sensitivity(
    prior: TablePrior, solution: TreeSolution | CellSolution | PackedSolution
) -> Sensitivity:
    """What half and twice the concentration change: the table is solved twice more.

    Args:
        prior: How counts divided before any answer.
        solution: The laws of all counts under it.
    """
    if isinstance(solution, CellSolution) or isinstance(prior.levels[-1], CellLevel):
        return Sensitivity((), "a law of a cell has no concentration")
    if prior.scaled(2).levels == prior.levels:
        return Sensitivity((), "known rates have no concentration")
    if isinstance(solution, PackedSolution):
        moves = tuple(_move(prior, solution.packed, factor, solution.size) for factor in _FACTORS)
    else:
        moves = tuple(_move(prior, solution, factor, 1) for factor in _FACTORS)
    largest = max(move.largest for move in moves)
    deviations = max(move.largest_deviations for move in moves)
    return Sensitivity(
        moves,
        "under half and twice the concentration cells move by "
        f"{signed(largest, 1)} at most, and by {deviations:.2g} standard deviations",
    )


def _move(prior: TablePrior, solution: TreeSolution, factor: float, records: int) -> Move:
    """What so many times the concentration changes, in packs of so many records."""
    model = solution.model
    other = TreeSolution.of(model, prior.scaled(factor).levels, first_settings(model))
    cells = model.tree.depth - 1
    own = solution.summary(cells)
    moved = np.abs(other.summary(cells).mean - own.mean)
    deviations = np.divide(moved, own.std, out=np.zeros_like(moved), where=own.std > 0)
    return Move(
        factor,
        records * float(moved.max()),
        records * float(moved.mean()),
        float(deviations.max()),
        float(deviations.mean()),
        other.evidence - solution.evidence,
    )


_FLAT = 2  # levels

_FLAT_SUM = (
    "sums of some cells of a flat table are further from the truth than sums of the answers where "
    "a learned prior moves many cells the same way: use a tree with answers about sums, such as "
    "noisycount.Tree.binary"
)


@frozen(eq=False, repr=False, slots=False)
class TablePosterior(Shown):
    """The laws of all counts of a table given all its answers.

    Attributes:
        tree: The cells, and which of them are added up.
        prior: How counts divided before any answer: as stated, or as was learned.
        solution: How laws are computed.
    """

    tree: Tree
    prior: TablePrior
    solution: TreeSolution | CellSolution | PackedSolution

    def __len__(self) -> int:
        return self.tree.cells

    @property
    def mean(self) -> Reals:
        """E[K | answers] of each cell, in records: the estimates of least squared error."""
        return self.level(-1).mean

    @property
    def std(self) -> Reals:
        """The standard deviation of each cell, in records."""
        return self.level(-1).std

    @property
    def median(self) -> NDArray[np.int64]:
        """The smallest k with P[K <= k | answers] >= 1/2 of each cell."""
        return self.level(-1).median

    @property
    def low(self) -> NDArray[np.int64]:
        """The lower ends of the 95 % intervals of the cells."""
        return self.level(-1).low

    @property
    def high(self) -> NDArray[np.int64]:
        """The upper ends of the 95 % intervals of the cells."""
        return self.level(-1).high

    @property
    def evidence(self) -> float:
        """The natural logarithm of the probability, or the density, of the answers."""
        return self.solution.evidence

    @property
    def surprise(self) -> float:
        """How probable it was that an answer is as far out as the one that is farthest.

        That of answers farthest out, in standard deviations, times the number of all answers; below
        1e-3 an answer contradicts what was assumed. An answer is far out of what its stated share
        of the count above it leaves, wherever in its interval that count is; of a stated law of the
        total, as the sum of all answers of a level may be; and of all counts that are possible,
        which alone can contradict a prior that was learned from these answers.
        """
        return self._farthest[0]

    @property
    def warning(self) -> str | None:
        """What is odd about the answers, in words; None where the surprise is 1e-3 or more."""
        return self._farthest[1]

    @cached_property
    def _farthest(self) -> tuple[float, str | None]:
        """The surprise, and what is odd about it."""
        return farthest_out(self.prior, self.solution, self.tree)

    @property
    def sensitivity(self) -> Sensitivity:
        """What half and twice the concentration of the prior change: two more solutions."""
        return sensitivity(self.prior, self.solution)

    @property
    def rounding(self) -> float:
        """A bound of the total variation by which rounding moved any law, over all nodes together.

        It is known after the fact. What a transform leaves out, as it may be rounding, is in it, by
        Chernoff's bound, which may be a thousand times too large: 1 means that laws are not known.
        What lies beyond the windows of counts is not, nor is the error of positive terms, which is
        a few units in the last place. Under a prior learned on a tree it is an estimate.
        """
        return self.solution.rounding

    def level(self, level: int) -> Summary:
        """The estimates of all nodes of a level.

        Args:
            level: From 0, that of the root; negative from the end.

        Raises:
            ValueError: If there is no such level.
        """
        return self.solution.summary(self.tree.level(level))

    def node(self, node: NodeKey) -> NodePosterior:
        """The law of the count of a node.

        Args:
            node: Its number in the order of levels, its level and position, or its keys.

        Raises:
            ValueError: If there is no such node.
        """
        level, position = self.tree.place(node)
        name = ", ".join(self.tree.label(level, position)) or self.tree.names[0]
        return NodePosterior(self.solution.law(level, position), name)

    def sum(self, cells: ArrayLike) -> NodePosterior:
        """The exact law of a sum of cells.

        Of a flat table it is what is told of the sum by these cells alone: a learned law shrinks
        each cell a little, and over many cells that adds up. A warning says so; a tree of ranges,
        with answers about them, has sums that are better than those of the raw answers.

        Args:
            cells: Their positions, or a mask, shape (cells,).

        Raises:
            ValueError: If there is no such cell, none, or one twice.

        Numerical error: 1e-12 of what the characteristic function is at most, at each node that is
        cut; 1e-9 where that would take long; and the `rounding` of the table. 1e-6 in the
        probability of up to a count where independent cells are wider than 8,192 records together.
        """
        is_in = chosen_cells(cells, self.tree.cells)
        number = int(is_in.sum())
        if self.tree.depth == _FLAT and 1 < number < self.tree.cells:
            warnings.warn(_FLAT_SUM, UserWarning, stacklevel=2)
        if number == self.tree.cells:
            return self.node((0, 0))
        if number == 1:
            return self.node((-1, int(np.argmax(is_in))))
        return NodePosterior(self.solution.sum_law(is_in), f"{number} cells")

    def draws(
        self, number: int, random_state: int | np.random.Generator | None = None
    ) -> NDArray[np.int64]:
        """Whole tables drawn from the joint law of all counts, for simulations.

        They are never to be released. What a table of the tree must add up to, such as a public
        total or an exact margin, each of them does.

        Args:
            number: How many tables.
            random_state: A seed or a generator; None: new draws each time.

        Returns:
            The counts of the cells, in records, shape (number, cells), of 8 bytes each.

        Raises:
            ValueError: If the number is not a positive whole one.

        Example:
            >>> import noisycount as nc
            >>> table = nc.table_posterior([12, 31, 9], nc.DiscreteLaplace(4), total=50)
            >>> table.draws(2, random_state=1).sum(axis=1)
            array([50, 50])
        """
        whole = whole_number(number, "number", 1)
        return self.solution.draws(whole, np.random.default_rng(random_state))

    @property
    def columns(self) -> dict[str, Cells]:
        """The cells as columns: keys, the answer if any has one, mean, median, low and high.

        An answer is None where there is none, several, or one that is only known to be below a
        threshold.

        Example:
            >>> import noisycount as nc, polars as pl
            >>> told = nc.table_posterior([52, 11], nc.DiscreteLaplace(5), nc.Tree.flat(["a", "b"]))
            >>> pl.DataFrame(told).columns
            ['cell', 'answer', 'mean', 'median', 'low', 'high']
        """
        told, places = self.level(-1), range(len(self))
        keys = [self.tree.label(-1, cell) for cell in places]
        columns: dict[str, Cells] = {
            name: [key[place] for key in keys] for place, name in enumerate(self._names)
        }
        answers = self._answers()
        if any(answer is not None for answer in answers):
            columns[free_name("answer", columns)] = answers
        for name in ("mean", "median", "low", "high"):
            columns[free_name(name, columns)] = getattr(told, name).tolist()
        return columns

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns as an Arrow stream, which pandas, Polars, Arrow and DuckDB read."""
        return arrow_stream(self.columns, requested_schema)

    @property
    def _names(self) -> list[str]:
        """What the keys of a cell are called."""
        named = [name.removeprefix(f"{above},") for above, name in pairwise(self.tree.names)]
        return named if len(self.tree.label(-1, 0)) == len(named) else ["cell"]

    def _answers(self) -> list[float | None]:
        """The answer of each cell that has one."""
        answers, given = np.zeros(len(self)), np.zeros(len(self), dtype=np.int64)
        for one in self.solution.answers(self.tree.depth - 1):
            given[one.nodes] += np.where(one.suppressed, 2, 1)
            answers[one.nodes] = one.answers
        return [
            value if number == 1 else None
            for value, number in zip(answers.tolist(), given.tolist(), strict=True)
        ]

    def _repr_html_(self) -> str:
        """Its first cells for a notebook."""
        told, shown = self.level(-1), range(min(len(self), MOST_ROWS))
        keys = [self.tree.label(-1, cell) for cell in shown]
        rows = [
            [
                *key,
                signed(told.mean[cell], 1),
                signed(told.median[cell]),
                f"{signed(told.low[cell])} to {signed(told.high[cell])}",
            ]
            for cell, key in enumerate(keys)
        ]
        header = [*self._names, "mean", "median", "95 %"]
        left_out = len(self) - len(rows)
        notes = [self.prior.words, *([] if self.warning is None else [self.warning])]
        return row_table("Counts given all answers", header, rows, notes, left_out)

    def _facts(self) -> dict[str, object]:
        """The estimates of the cells."""
        told = self.level(-1)
        columns = {name: getattr(told, name) for name in ("mean", "std", "median", "low", "high")}
        return {
            **({} if self.warning is None else {"warning": self.warning}),
            "cells": [self.tree.label(-1, cell) for cell in range(self.tree.cells)],
            **columns,
            "evidence": self.evidence,
            "prior": self.prior,
        }

    def _key_facts(self) -> dict[str, object]:
        """How large the table is, and what was learned."""
        facts = {"cells": self.tree.cells, "levels": self.tree.depth, "prior": self.prior.words}
        odd = {} if self.warning is None else {"warning": f"surprise {self.surprise:.0e}"}
        return {**odd, **facts}
