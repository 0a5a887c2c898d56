"""Posterior of a table: the distributions of all counts, given noisy answers about cells and sums of cells.

`table_posterior` is public. `answers` reads its arguments; `tree_solution` and `independent_cells` compute.
"""

import warnings
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisycount.analysis.posterior.posterior import Estimates
from noisycount.analysis.tables import model_checks
from noisycount.analysis.tables.answers import (
    TableAnswers,
    TableMechanisms,
    count_bounds,
    read_answers,
    resolve_inputs,
    validate_total,
)
from noisycount.analysis.tables.independent_cells import IndependentCells
from noisycount.analysis.tables.learning import learn_cell_law, learn_levels
from noisycount.analysis.tables.likeliest import add_anchors
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

_FLAT = 2  # number of levels of a tree of cells and their total


def table_posterior(
    answers: TableAnswers,
    mechanism: TableMechanisms = None,
    tree: Tree | None = None,
    total: int | Population | None = None,
    prior: Splits | Sequence[Splits] | None = None,
) -> "TablePosterior":
    """Return the posterior distributions of all counts of a table, given all its answers.

    The count of the root is `total`, or has that distribution; without a total nothing is known about it. The count of
    a node divides among its children by a Dirichlet-multinomial distribution, P[k_1, …, k_m | k] = k!·Γ(A)/Γ(k + A)·Π_c
    Γ(k_c + a_c)/(k_c!·Γ(a_c)), A = Σ a_c. Answers are independent given the counts. The likelihood of a node's count is
    then the product of the likelihood of its own answers and of one convolution over its children, and two passes over
    the tree give every distribution.

    Args:
        answers: The answers of the cells, in records, shape (cells,); or a mapping {level or node: answers}. A level
            is an int, 0 for the root and −1 for the cells, and has an array over its nodes. A node is (level,
            position) or a tuple of its keys, and has one number or several. nan: no answer; `noisycount.below(t)`: the
            answer was less than t. Or a table released by a desk, or a list of tables that top each other up.
        mechanism: The noise of an answer given the count: one mechanism, or one a level from the root, or a mapping
            with the keys of the answers. `noisycount.Exact()` for exact margins. None for a released table.
        tree: The cells that are added up. None: the root and the cells, or the tree of a released table.
        total: The public number of records; or a population, whose count is that of the root; None: unknown.
        prior: The division of counts: `Splits` of the cells, or one `Splits` for each level below the root. None:
            learned from the answers alone, a mixture of concentrations for each level, or for a flat table a
            distribution of the count of a cell. The learned prior is then taken as known. With a total, the cells are
            given their sum: the root has the distribution of the total, and the evidence is P[answers | total].

    Raises:
        ValueError: If answers, mechanism, tree, total and prior do not fit, there is no answer, or no table can have
            these answers. Also if digits would be lost: if answers contradict each other by more than 1e6 nats in a
            tree of more than 10,000 nodes, or an answer under a sum of noises by 1e5 nats.

    Warns:
        UserWarning: If the answers contradict the prior, the total, or every table: see `warning`.

    Source: for one count Naldi and D'Acquisto (2014), eq. (8)-(11); the Dirichlet-multinomial distribution Mosimann
    (1962). Theorem 2.2 of the page “Posteriors and tables” has the proof.

    Numerical error: bounded as it is computed, see `rounding`. At each node, distributions are within 5e-11 in total
    variation under a stated prior, within 1e-3 under a learned prior of a tree, and within 1e-12 for small tables. The
    same holds for the logarithm of the evidence, plus 1e-15 of its largest term. Logarithms are relative to the
    likeliest table, however far answers contradict each other or the total, and exact except under sums of noises.
    Without a total, a learned prior of a tree divides packs of records under wide noise: of 1/128 of the narrowest
    scale for up to four cells, of 1/32 for 16 or more. Quantiles are then whole packs, and a learned deviation is at
    most √A/4 packs too large, with A the concentration of all children. In a flat table the distributions of cells are
    exact; each probability of up to a count of a sum is within 1e-6.

    Example:
        >>> import noisycount as nc
        >>> noise, prior = nc.DiscreteLaplace(5), nc.Splits(1)
        >>> table = nc.table_posterior([52.0, 11, -4], noise, total=60, prior=prior)
        >>> table.mean.round(2).tolist(), table.low.tolist(), table.high.tolist()
        ([48.89, 8.64, 2.47], [39, 1, 0], [56, 17, 10])
    """
    table = solve_table(answers, mechanism, tree, total, prior)
    if (text := table.warning) is not None:
        warnings.warn(text, UserWarning, stacklevel=2)
    return table


def solve_table(
    answers: TableAnswers,
    mechanism: TableMechanisms = None,
    tree: Tree | None = None,
    total: int | Population | None = None,
    prior: Splits | Sequence[Splits] | None = None,
) -> "TablePosterior":
    """Return the result of `table_posterior` without a warning, for callers that show it themselves."""
    values, mechanisms, tree = resolve_inputs(answers, mechanism, tree)
    known_total = validate_total(total)
    groups = read_answers(values, mechanisms, tree, known_total)
    bounds = count_bounds(groups, tree, known_total)
    size = pack_size(groups, tree.cells) if prior is None and known_total is None else 1
    cells = [group for group in groups if group.level]
    is_of_cells = prior is None and tree.depth == _FLAT and bool(cells)
    levels: tuple[PriorLevel, ...] = ()
    if is_of_cells:
        cell_law, given_cells = learn_cell_law(cells), None if known_total is None else tree.cells
        levels = (CellLevel(cell_law, given_cells),)
        if known_total is None and len(cells) == len(groups):
            independent = IndependentCells(tree.cells, cell_law, cells)
            return TablePosterior(tree, TablePrior(levels, tree.names[1:]), independent)
    population = known_total if isinstance(known_total, Population) else None
    model = add_anchors(Model(tree, likelihoods(packed_answers(groups, size), bounds), population))
    settings = first_settings(model)
    if is_of_cells:
        in_packs = CellLaw(cell_law.zero, cell_law.means / size, cell_law.weights)
        solution = TreeSolution.solve(model, (CellLevel(in_packs, given_cells),), settings, groups, size)
    else:
        if prior is None:
            levels, settings = learn_levels(model, settings)
        else:
            levels = tuple(StatedLevel(*split) for split in level_splits(prior, tree))
        solution = TreeSolution.solve(model, levels, settings, groups, size)
    return TablePosterior(tree, TablePrior(levels, tree.names[1:]), solution)


@frozen(repr=False)
class NodePosterior(Shown, Estimates):
    """Posterior distribution of a count of a table, with its estimates.

    It also has the methods `pmf`, `logpmf`, `cdf`, `sf`, `ppf`, `isf` and `rvs` of distributions in scipy.stats.

    Attributes:
        law: The distribution of the count.
        name: The name of the node.
    """

    law: CountDistribution
    name: str

    def _facts(self) -> dict[str, object]:
        return {"name": self.name, **self._estimates()}


_FLAT_SUM_WARNING = (
    "sums of some cells of a flat table are further from the truth than sums of the answers where "
    "a learned prior moves many cells the same way: use a tree with answers about sums, such as "
    "noisycount.Tree.binary"
)


@frozen(eq=False, repr=False, slots=False)
class TablePosterior(Columns, Charted):
    """Posterior distributions of all counts of a table, given all its answers.

    Attributes:
        tree: The cells, and the sums of cells.
        prior: The stated or learned division of counts before any answer; `prior.words` describes it.
        solution: The computed distributions.
    """

    tree: Tree
    prior: TablePrior
    solution: model_checks.Solution

    def __len__(self) -> int:
        return self.tree.cells

    @property
    def mean(self) -> Reals:
        """Expected count E[K | answers] of each cell, in records: the estimate of least squared error."""
        return self.level(-1).mean

    @property
    def std(self) -> Reals:
        """Standard deviation of each cell, in records."""
        return self.level(-1).std

    @property
    def median(self) -> NDArray[np.int64]:
        """Smallest k with P[K <= k | answers] >= 1/2 of each cell."""
        return self.level(-1).median

    @property
    def low(self) -> NDArray[np.int64]:
        """Lower ends of the 95 % intervals of the cells."""
        return self.level(-1).low

    @property
    def high(self) -> NDArray[np.int64]:
        """Upper ends of the 95 % intervals of the cells."""
        return self.level(-1).high

    @property
    def evidence(self) -> float:
        """Natural logarithm of the probability, or the density, of the answers."""
        return self.solution.evidence

    @cached_property
    def surprise(self) -> float:
        """Bound of the probability that some answer is as far out as the most improbable one.

        It is the probability for that answer alone, times the number of answers. Below 1e-3 the answers contradict what
        was assumed. An answer is compared with its stated share of the count above it, for every value of this count in
        its interval. The sum of all answers of a level is compared with a stated distribution of the total. Every
        answer is compared with the possible counts, which alone can contradict a prior that was learned from the
        answers.
        """
        return model_checks.farthest_out(self.prior, self.solution, self.tree, is_exact=True)[0]

    @cached_property
    def warning(self) -> str | None:
        """Description of contradicting answers, in words; None if the surprise is 1e-3 or more."""
        return model_checks.farthest_out(self.prior, self.solution, self.tree, is_exact=False)[1]

    @property
    def sensitivity(self) -> model_checks.Sensitivity:
        """Changes under half and under twice the concentration of the prior, from two more solutions."""
        return model_checks.sensitivity(self.prior, self.solution)

    @property
    def rounding(self) -> float:
        """Bound of the error of any distribution by rounding, in total variation, over all nodes together.

        It is computed with the solution. It includes what transforms neglect because it may be a rounding error.
        Chernoff's bound of that part may be a thousand times too large. 1 means that distributions are unknown. It
        includes neither the counts outside of the ranges that were computed, nor the error of positive terms, which is
        a few units in the last place. Under a prior that was learned on a tree, it is an estimate.
        """
        return self.solution.rounding

    def level(self, level: int) -> Summary:
        """Return the estimates of all nodes of a level.

        Args:
            level: The level, from 0 for the root, or negative from the end.

        Raises:
            ValueError: If there is no such level.
        """
        return self.solution.summary(self.tree.level(level))

    def node(self, node: NodeKey) -> NodePosterior:
        """Return the distribution of the count of a node.

        Args:
            node: Its number in the order of levels, its level and position, or its keys.

        Raises:
            ValueError: If there is no such node.
        """
        level, position = self.tree.place(node)
        name = ", ".join(self.tree.label(level, position)) or self.tree.names[0]
        return NodePosterior(self.solution.law(level, position), name)

    def sum(self, cells: ArrayLike) -> NodePosterior:
        """Return the distribution of a sum of cells.

        For a flat table it rests on the answers of these cells alone: a learned prior shrinks each cell a little, and
        over many cells that adds up. A warning says so. In a tree of ranges with answers about the ranges, sums are
        more accurate than sums of the raw answers.

        Args:
            cells: Their positions, or a mask of shape (cells,).

        Raises:
            ValueError: If there is no such cell, no cell, or a cell is named twice.

        Numerical error: 1e-12 of the largest value of the characteristic function at each node that is partly in the
        sum, 1e-9 if that would take long; and the `rounding` of the table. 1e-6 in the probability of up to a count if
        independent cells have a joint standard deviation of more than 8,192 records.
        """
        is_in = _chosen_cells(cells, self.tree.cells)
        count = int(is_in.sum())
        if self.tree.depth == _FLAT and 1 < count < self.tree.cells:
            warnings.warn(_FLAT_SUM_WARNING, UserWarning, stacklevel=2)
        if count == self.tree.cells:
            return self.node((0, 0))
        if count == 1:
            return self.node((-1, int(np.argmax(is_in))))
        return NodePosterior(self.solution.sum_law(is_in), f"{count} cells")

    def draws(self, number: int, random_state: int | np.random.Generator | None = None) -> NDArray[np.int64]:
        """Draw whole tables from the joint distribution of all counts, for simulations.

        Never release them. No count is negative, and each table adds up to what the tree requires, such as a public
        total or an exact margin.

        Args:
            number: The number of tables.
            random_state: A seed or a generator; None: new draws each time.

        Returns:
            The counts of the cells, in records, shape (number, cells), of 8 bytes each.

        Raises:
            ValueError: If the number is not a positive whole number; or if rounding has lost the division of a drawn
                count, which happens with at most the probability `rounding`.

        Example:
            >>> import noisycount as nc
            >>> table = nc.table_posterior([12, 31, 9], nc.DiscreteLaplace(4), total=50)
            >>> table.draws(2, random_state=1).sum(axis=1)
            array([50, 50])
        """
        tables = whole_number(number, "number", 1)
        return self.solution.draws(tables, np.random.default_rng(random_state))

    @property
    def columns(self) -> dict[str, Cells]:
        """Columns of the cells: keys, the answer if any cell has one, mean, median, low and high.

        An answer is None for a cell with no answer, several answers, or one that is only known to be below a threshold.

        Example:
            >>> import noisycount as nc, polars as pl
            >>> table = nc.table_posterior([52, 11], nc.DiscreteLaplace(5), nc.Tree.flat(["a", "b"]))
            >>> pl.DataFrame(table).columns
            ['cell', 'answer', 'mean', 'median', 'low', 'high']
        """
        estimates, cells = self.level(-1), range(len(self))
        keys = [self.tree.label(-1, cell) for cell in cells]
        columns: dict[str, Cells] = {name: [key[column] for key in keys] for column, name in enumerate(self._key_names)}
        answers = self._answers()
        if any(answer is not None for answer in answers):
            columns[free_name("answer", columns)] = answers
        for name in ("mean", "median", "low", "high"):
            columns[free_name(name, columns)] = getattr(estimates, name).tolist()
        return columns

    @property
    def _key_names(self) -> list[str]:
        """Names of the keys of a cell."""
        names = [name.removeprefix(f"{coarser},") for coarser, name in pairwise(self.tree.names)]
        return names if len(self.tree.label(-1, 0)) == len(names) else ["cell"]

    def _answers(self) -> list[float | None]:
        """Return the answer of each cell that has exactly one."""
        answers, numbers = np.zeros(len(self)), np.zeros(len(self), dtype=np.int64)
        for group in self.solution.answers(self.tree.depth - 1):
            numbers[group.nodes] += np.where(group.suppressed, 2, 1)
            answers[group.nodes] = group.answers
        return [
            value if number == 1 else None for value, number in zip(answers.tolist(), numbers.tolist(), strict=True)
        ]

    def _repr_html_(self) -> str:
        """Return the first cells as an HTML table for a notebook."""
        estimates, cells = self.level(-1), range(min(len(self), MOST_ROWS))
        keys = [self.tree.label(-1, cell) for cell in cells]
        rows = [
            [
                *key,
                signed(estimates.mean[cell], 1),
                signed(estimates.median[cell]),
                f"{signed(estimates.low[cell])} to {signed(estimates.high[cell])}",
            ]
            for cell, key in enumerate(keys)
        ]
        header = [*self._key_names, "mean", "median", "95 %"]
        left_out = len(self) - len(rows)
        notes = [self.prior.words, *([] if self.warning is None else [self.warning])]
        return row_table("Counts given all answers", header, rows, notes, left_out)

    def _facts(self) -> dict[str, object]:
        estimates = self.level(-1)
        columns = {name: getattr(estimates, name) for name in ("mean", "std", "median", "low", "high")}
        return {
            **({} if self.warning is None else {"warning": self.warning}),
            "cells": [self.tree.label(-1, cell) for cell in range(self.tree.cells)],
            **columns,
            "evidence": self.evidence,
            "prior": self.prior,
        }

    def _key_facts(self) -> dict[str, object]:
        facts = {"cells": self.tree.cells, "levels": self.tree.depth, "prior": self.prior.words}
        warning = {} if self.warning is None else {"warning": f"surprise {self.surprise:.0e}"}
        return {**warning, **facts}


def _chosen_cells(cells: ArrayLike, size: int) -> NDArray[np.bool_]:
    """Return cells as a mask, shape (size,)."""
    chosen = np.asarray(cells)
    if chosen.dtype == np.bool_ and chosen.shape == (size,):
        is_in = chosen.copy()
    elif chosen.ndim == 1 and chosen.dtype.kind in "iu" and chosen.size:
        if chosen.min() < -size or chosen.max() >= size:
            wrong = int(chosen.max() if chosen.max() >= size else chosen.min())
            raise ValueError(f"cells must be positions from 0 to {size - 1}, got {wrong}")
        is_in = np.zeros(size, dtype=np.bool_)
        is_in[chosen] = True
        if int(is_in.sum()) != chosen.size:
            raise ValueError(f"cells must be different, got {chosen.size - int(is_in.sum())} twice")
    else:
        raise ValueError(f"cells must be positions or a mask of {size} cells, got {cells!r}")
    if not is_in.any():
        raise ValueError("cells must name at least one cell, got none")
    return is_in
