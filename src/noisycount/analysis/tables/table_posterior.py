"""What are the counts of a table, given noisy answers about them and their sums?"""

import warnings
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisycount.analysis.posterior.posterior import Estimates
from noisycount.analysis.tables import learning
from noisycount.analysis.tables.answers import (
    TableAnswers,
    TableMechanisms,
    answered,
    asked,
    checked_total,
    count_bounds,
)
from noisycount.analysis.tables.independent_cells import IndependentCells
from noisycount.analysis.tables.likeliest import anchored
from noisycount.analysis.tables.likelihoods import Model, likelihoods
from noisycount.analysis.tables.passes import Summary, first_settings
from noisycount.analysis.tables.prior import CellLevel, PriorLevel, StatedLevel, TablePrior
from noisycount.analysis.tables.tree_solution import TreeSolution
from noisycount.analysis.tables.wide_laws import pack_size, packed_answers
from noisycount.display.columns import Cells, Columns, free_name
from noisycount.display.numbers import signed
from noisycount.display.values import MOST_ROWS, Charted, Shown, row_table
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.gamma import Reals
from noisycount.model.populations.population import Population
from noisycount.model.tables.cells import CellLaw
from noisycount.model.tables.splits import Splits, level_splits
from noisycount.model.tables.tree import NodeKey, Tree
from noisycount.validation import whole_number

_FLAT = 2  # levels of a tree of cells and their total


def table_posterior(
    answers: TableAnswers,
    mechanism: TableMechanisms = None,
    tree: Tree | None = None,
    total: int | Population | None = None,
    prior: Splits | Sequence[Splits] | None = None,
) -> "TablePosterior":
    """The exact laws of all counts of a table, given all its answers.

    The count of the root is `total`, or has that law; without one nothing is known of it. The count
    of a node divides among its children by a Dirichlet-multinomial law,
    P[k_1, …, k_m | k] = k!·Γ(A)/Γ(k + A)·Π_c Γ(k_c + a_c)/(k_c!·Γ(a_c)), A = Σ a_c. Answers are
    independent given the counts. The likelihood of a node's count is then a product of its own
    answers and one convolution of its children's, and two passes over the tree give every law.

    Args:
        answers: Of the cells, in records, shape (cells,); or {level or node: answers}: an int is a
            level, 0 that of the root and −1 that of the cells, with an array over its nodes; a node
            is (level, position) or a tuple of its keys, with a number or several. nan: no answer;
            `noisycount.below(t)`: less than t. Or a table that a desk released.
        mechanism: The law of an answer given the count: one, or one a level from the root, or a mapping with the keys
            of the answers. `noisycount.Exact()` for exact margins. None with a released table.
        tree: Which cells are added up. None: all, to the root; or the tree of a released table.
        total: The public number of records, or a population whose law of the count is that of the
            root; None: nothing is known.
        prior: How counts divide: `Splits` of the cells, or one for each level below the root. None: learned from the
            answers alone: for each level a mixture of concentrations, for a flat table a law of the count of a cell.
            What is learned is then taken as known. With a total cells are given their sum: the root has the law of the
            total, and the evidence is P[answers | total].

    Raises:
        ValueError: If answers, mechanism, tree, total and prior do not fit, nothing is answered, or
            no table can have these answers.

    Warns:
        UserWarning: If the answers contradict the prior, the total, or every table: see `warning`.

    Source: for one count Naldi and D'Acquisto (2014), eq. (8)-(11); the Dirichlet-multinomial law
    Mosimann (1962). The page “What a table of noisy counts means” has the theorem and its proof.
    Numerical error: bounded as it is computed, see `rounding`: at each node laws are within 5e-11
    in total variation under a stated prior, within 1e-3 under a learned one of a tree, and within
    1e-12 where tables are small; the logarithm of the evidence as well, and within 1e-15 of the
    largest logarithm in it. However far answers contradict each other, the total or every whole
    count: logarithms are told relative to the likeliest table, exactly but for sums of noises.
    Without a total a learned prior of a tree divides packs of records where noise is wide: of 1/128
    of the narrowest scale for up to four cells, of 1/32 for 16 or more. Quantiles are then whole
    packs, and a deviation that is learned is at most √A/4 packs larger, A the concentration of all
    children. Of a flat table laws of cells are exact; that of a sum is within 1e-6 in each
    probability of up to a count.
    Refused is what would lose digits: contradictions of more than 1e6 nats in a tree of more than
    10,000 nodes, and an answer under a sum of noises at 1e5 nats.

    Example:
        >>> import noisycount as nc
        >>> noise, prior = nc.DiscreteLaplace(5), nc.Splits(1)
        >>> told = nc.table_posterior([52.0, 11, -4], noise, total=60, prior=prior)
        >>> told.mean.round(2).tolist(), told.low.tolist(), told.high.tolist()
        ([48.89, 8.64, 2.47], [39, 1, 0], [56, 17, 10])
    """
    told = table_posterior_of(answers, mechanism, tree, total, prior)
    if (odd := told.warning) is not None:
        warnings.warn(odd, UserWarning, stacklevel=2)
    return told


def table_posterior_of(
    answers: TableAnswers,
    mechanism: TableMechanisms = None,
    tree: Tree | None = None,
    total: int | Population | None = None,
    prior: Splits | Sequence[Splits] | None = None,
) -> "TablePosterior":
    """The same as `table_posterior` without a warning, for callers that show it themselves."""
    given, laws, tree = asked(answers, mechanism, tree)
    known = checked_total(total)
    found = answered(given, laws, tree, known)
    bounds = count_bounds(found, tree, known)
    size = pack_size(found, tree.cells) if prior is None and known is None else 1
    cells = [one for one in found if one.level]
    is_of_cells = prior is None and tree.depth == _FLAT and bool(cells)
    levels: tuple[PriorLevel, ...] = ()
    if is_of_cells:
        cell_law, given_cells = learning.learned_cell_law(cells), None if known is None else tree.cells
        levels = (CellLevel(cell_law, given_cells),)
        if known is None and len(cells) == len(found):
            independent = IndependentCells(tree.cells, cell_law, cells)
            return TablePosterior(tree, TablePrior(levels, tree.names[1:]), independent)
    law = known if isinstance(known, Population) else None
    model = anchored(Model(tree, likelihoods(packed_answers(found, size), bounds), law))
    settings = first_settings(model)
    if is_of_cells:
        in_packs = CellLaw(cell_law.zero, cell_law.means / size, cell_law.weights)
        solution = TreeSolution.of(model, (CellLevel(in_packs, given_cells),), settings, found, size)
    else:
        if prior is None:
            levels, settings = learning.learned(model, settings)
        else:
            levels = tuple(StatedLevel(*split) for split in level_splits(prior, tree))
        solution = TreeSolution.of(model, levels, settings, found, size)
    return TablePosterior(tree, TablePrior(levels, tree.names[1:]), solution)


@frozen(repr=False)
class NodePosterior(Shown, Estimates):
    """The law of a count of a table given all answers, and the estimates that follow from it.

    It also answers to `pmf`, `logpmf`, `cdf`, `sf`, `ppf`, `isf` and `rvs`, as laws in scipy.stats do.

    Attributes:
        law: The distribution of the count.
        name: What is counted.
    """

    law: CountDistribution
    name: str

    def _facts(self) -> dict[str, object]:
        return {"name": self.name, **self._estimates()}


_FLAT_SUM = (
    "sums of some cells of a flat table are further from the truth than sums of the answers where "
    "a learned prior moves many cells the same way: use a tree with answers about sums, such as "
    "noisycount.Tree.binary"
)


@frozen(eq=False, repr=False, slots=False)
class TablePosterior(Columns, Charted):
    """The laws of all counts of a table given all its answers.

    Attributes:
        tree: The cells, and which of them are added up.
        prior: How counts divided before any answer: as stated, or as was learned.
        solution: How laws are computed.
    """

    tree: Tree
    prior: TablePrior
    solution: learning.Solution

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

    @cached_property
    def surprise(self) -> float:
        """How probable it was that an answer is as far out as the one that is farthest.

        That of answers farthest out, in standard deviations, times the number of all answers; below 1e-3 an answer
        contradicts what was assumed. An answer is far out of what its stated share of the count above it leaves,
        wherever in its interval that count is; of a stated law of the total, as the sum of all answers of a level may
        be; and of all counts that are possible, which alone can contradict a prior that was learned from these answers.
        """
        return learning.farthest_out(self.prior, self.solution, self.tree, is_exact=True)[0]

    @cached_property
    def warning(self) -> str | None:
        """What is odd about the answers, in words; None if the surprise is 1e-3 or more."""
        return learning.farthest_out(self.prior, self.solution, self.tree, is_exact=False)[1]

    @property
    def sensitivity(self) -> learning.Sensitivity:
        """What half and twice the concentration of the prior change: two more solutions."""
        return learning.sensitivity(self.prior, self.solution)

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
        is_in = _chosen_cells(cells, self.tree.cells)
        number = int(is_in.sum())
        if self.tree.depth == _FLAT and 1 < number < self.tree.cells:
            warnings.warn(_FLAT_SUM, UserWarning, stacklevel=2)
        if number == self.tree.cells:
            return self.node((0, 0))
        if number == 1:
            return self.node((-1, int(np.argmax(is_in))))
        return NodePosterior(self.solution.sum_law(is_in), f"{number} cells")

    def draws(self, number: int, random_state: int | np.random.Generator | None = None) -> NDArray[np.int64]:
        """Draw whole tables from the joint distribution of all counts, for simulations.

        Never release them. No count is negative, and each table adds up to what the tree requires, such as a public
        total or an exact margin.

        Args:
            number: How many tables.
            random_state: A seed or a generator; None: new draws each time.

        Returns:
            The counts of the cells, in records, shape (number, cells), of 8 bytes each.

        Raises:
            ValueError: If the number is not a positive whole one; or if a count is drawn of which rounding has lost
                how it divides, which happens with at most the probability `rounding`.

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

        An answer is None where there is none, several, or one that is only known to be below a threshold.

        Example:
            >>> import noisycount as nc, polars as pl
            >>> told = nc.table_posterior([52, 11], nc.DiscreteLaplace(5), nc.Tree.flat(["a", "b"]))
            >>> pl.DataFrame(told).columns
            ['cell', 'answer', 'mean', 'median', 'low', 'high']
        """
        told, places = self.level(-1), range(len(self))
        keys = [self.tree.label(-1, cell) for cell in places]
        columns: dict[str, Cells] = {name: [key[place] for key in keys] for place, name in enumerate(self._names)}
        answers = self._answers()
        if any(answer is not None for answer in answers):
            columns[free_name("answer", columns)] = answers
        for name in ("mean", "median", "low", "high"):
            columns[free_name(name, columns)] = getattr(told, name).tolist()
        return columns

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
        return [value if number == 1 else None for value, number in zip(answers.tolist(), given.tolist(), strict=True)]

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
        facts = {"cells": self.tree.cells, "levels": self.tree.depth, "prior": self.prior.words}
        odd = {} if self.warning is None else {"warning": f"surprise {self.surprise:.0e}"}
        return {**odd, **facts}


def _chosen_cells(cells: ArrayLike, size: int) -> NDArray[np.bool_]:
    """Cells as a mask. Shapes: cells (size,)."""
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
