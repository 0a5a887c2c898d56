"""The posterior of a table: estimates of its cells and of all their sums."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisycount.analysis.tables.cells.solution import CellSolution
from noisycount.analysis.tables.chosen import chosen_cells
from noisycount.analysis.tables.node_posterior import NodePosterior
from noisycount.analysis.tables.prior import TablePrior
from noisycount.analysis.tables.sensitivity import Sensitivity, sensitivity
from noisycount.analysis.tables.summary import Summary
from noisycount.analysis.tables.surprising_answers import farthest_out
from noisycount.analysis.tables.trees.solution import TreeSolution
from noisycount.model.laws.expansion import Reals
from noisycount.model.tables.tree import NodeKey, Tree
from noisycount.model.validation import whole_number
from noisycount.shown.columns import Cells, arrow_stream, free_name
from noisycount.shown.numbers import signed
from noisycount.shown.rows import MOST_ROWS, row_table
from noisycount.shown.value import Shown

__all__ = ["TablePosterior"]

_FLAT = 2  # levels
_FLAT_SUM = (
    "sums of some cells of a flat table are further from the truth than sums of the answers where "
    "a learned prior moves many cells the same way: use a tree with answers about sums, such as "
    "noisycount.Tree.binary"
)


@dataclass(frozen=True, eq=False, repr=False)
class TablePosterior(Shown):
    """The laws of all counts of a table given all its answers.

    Attributes:
        tree: The cells, and which of them are added up.
        prior: How counts divided before any answer: as stated, or as was learned.
        solution: How laws are computed.
    """

    tree: Tree
    prior: TablePrior
    solution: TreeSolution | CellSolution

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
        cut; 1e-9 where that would take long; and the `rounding` of the table.
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
