"""Least-squares combination of all answers about a table, and its standard errors in advance.

Nested levels form a forest, solved in one pass each way. Margins of a grid are sums of residuals. `levels` has the
levels.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from itertools import chain, combinations, pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.tables.levels import Level

Places = NDArray[np.int64]


@frozen(eq=False)
class NestedLevels:
    """The nodes of all levels in one array, from the cells to the coarsest level."""

    order: tuple[int, ...]  # the place of each level among those given, from fine to coarse
    parts: tuple[slice, ...]  # nodes of each level, in that order
    parents: Places = field(repr=False)  # for each node, the later node that contains it; −1: none

    @classmethod
    def from_levels(cls, levels: Sequence[Level]) -> Self | None:
        """Return the nodes of levels, the cells first, or None if levels overlap without nesting."""
        order = sorted(range(len(levels)), key=lambda position: (position > 0, -levels[position].size))
        starts = np.cumsum([0, *(levels[position].size for position in order)]).tolist()
        parents = []
        for rank, position in enumerate(order):
            coarser_ranks = range(rank + 1, len(order))
            coarser = [(levels[order[rank_above]], starts[rank_above]) for rank_above in coarser_ranks]
            level_parents = _parent_nodes(levels[position], coarser)
            if level_parents is None:
                return None
            parents.append(level_parents)
        return cls(tuple(order), tuple(slice(*ends) for ends in pairwise(starts)), np.concatenate(parents))

    def estimates(
        self, answers: Sequence[Reals], variances: Sequence[float]
    ) -> tuple[tuple[Reals, ...], tuple[Reals, ...]]:
        """Return the least-squares estimates of all nodes and their variances, level by level.

        The upward pass combines each node's answer with the sum of its parts. The downward pass divides the correction
        of a node among its parts in proportion to their variances.
        """
        total = self.parents.size
        means, spreads, sums, widths = (np.zeros(total) for _ in range(4))
        for position, nodes in zip(self.order, self.parts, strict=True):
            level_answers, variance = np.asarray(answers[position], dtype=np.float64), variances[position]
            weight = widths[nodes] / (widths[nodes] + variance) if position else np.ones(level_answers.size)
            means[nodes] = sums[nodes] + weight * (level_answers - sums[nodes])
            spreads[nodes] = weight * variance
            children, parents = self._children_and_parents(nodes)
            np.add.at(sums, parents, means[children])
            np.add.at(widths, parents, spreads[children])
        for nodes in reversed(self.parts):
            children, parents = self._children_and_parents(nodes)
            share = spreads[children] / widths[parents]
            means[children] += share * (means[parents] - sums[parents])
            spreads[children] -= share * share * (widths[parents] - spreads[parents])
        return self._values_by_level(means), self._values_by_level(spreads)

    def _children_and_parents(self, nodes: slice) -> tuple[Places, Places]:
        """Return the nodes of a level that have a parent, and their parents."""
        children = nodes.start + np.flatnonzero(self.parents[nodes] >= 0)
        return children, self.parents[children]

    def _values_by_level(self, values: Reals) -> tuple[Reals, ...]:
        """Return the values of each level, in the given order of levels."""
        order = np.argsort(self.order)
        return tuple(values[self.parts[position]] for position in order)


def _parent_nodes(level: Level, coarser: Sequence[tuple[Level, int]]) -> Places | None:
    """Return the parent of each node of a level in the next coarser level that contains it, −1 if there is none.

    Returns None if a node overlaps two nodes of one coarser level. Each coarser level comes with the index of its first
    node.
    """
    cells_in_nodes = np.flatnonzero(level.of_cell >= 0)
    nodes = level.of_cell[cells_in_nodes]
    some_cell = np.zeros(level.size, dtype=np.int64)
    some_cell[nodes] = cells_in_nodes
    parents = np.full(level.size, -1, dtype=np.int64)
    for coarser_level, start in coarser:
        node_above = coarser_level.of_cell[some_cell]
        if not np.array_equal(node_above[nodes], coarser_level.of_cell[cells_in_nodes]):
            return None
        parents = np.where((parents < 0) & (node_above >= 0), start + node_above, parents)
        if (parents >= 0).all():
            break
    return parents


_PRECISE = 1e-12  # of what the noise alone contributes
_MOST_STEPS = 1000  # a grid takes as many as it has margins


def least_squares_estimates(
    levels: Sequence[Level], answers: Sequence[Reals], variances: Sequence[float]
) -> tuple[Reals, ...]:
    """Return the least-squares estimates of all nodes, which are consistent.

    The estimate of a node is the sum of the estimates of its cells.

    They minimise Σ (answer − estimate)²/variance over the answers of all levels, the cells first. They are unbiased and
    have the least variance of all linear unbiased estimates. A node's count must be the sum of its cells' counts, so no
    privacy unit may be in two cells.

    Source: nested levels: M. Hay, V. Rastogi, G. Miklau, D. Suciu, Boosting the Accuracy of Differentially Private
    Histograms Through Consistency (2010), with unequal variances. Other levels: conjugate gradients.

    Numerical error: 1e-9 of the scale of the noise.
    """
    arrays = [np.asarray(values, dtype=np.float64) for values in answers]
    if [values.shape for values in arrays] != [(level.size,) for level in levels]:
        raise ValueError(f"answers must be one array for each of the {len(levels)} levels, with a number for each node")
    if len(variances) != len(levels) or not all(0 < variance < math.inf for variance in variances):
        raise ValueError(f"variances must be positive and finite, one for each level, got {variances!r}")
    nested = NestedLevels.from_levels(levels)
    if nested is not None:
        return nested.estimates(arrays, variances)[0]
    cells = arrays[0] + _correct_cells(levels, arrays, variances)
    return (cells, *(_node_sums(level, cells) for level in levels[1:]))


def _correct_cells(levels: Sequence[Level], answers: Sequence[Reals], variances: Sequence[float]) -> Reals:
    """Return the correction of the cells' answers, by conjugate gradients.

    The normal matrix of a grid has one eigenvalue for each residual, which bounds the number of steps.
    """
    coarser = list(zip(levels[1:], variances[1:], strict=True))
    residual = np.zeros(levels[0].size)
    for (level, variance), level_answers in zip(coarser, answers[1:], strict=True):
        residual += _value_of_each_cell(level, (level_answers - _node_sums(level, answers[0])) / variance)
    correction, direction, squared_norm = np.zeros_like(residual), residual, residual @ residual
    tolerance = squared_norm * _PRECISE**2
    for _ in range(_MOST_STEPS):
        if squared_norm <= tolerance:
            break
        image = direction / variances[0]
        for level, variance in coarser:
            image += _value_of_each_cell(level, _node_sums(level, direction) / variance)
        step = squared_norm / (direction @ image)
        correction = correction + step * direction
        residual = residual - step * image
        former_norm, squared_norm = squared_norm, residual @ residual
        direction = residual + squared_norm / former_norm * direction
    return correction


def _node_sums(level: Level, values: Reals) -> Reals:
    """Return the sum over the cells of each node; cells in no node are left out."""
    sums = np.bincount(level.of_cell % (level.size + 1), values, level.size + 1)
    return sums[: level.size].astype(np.float64, copy=False)


def _value_of_each_cell(level: Level, values: Reals) -> Reals:
    """Return for each cell the value of its node; 0 for cells in no node."""
    return np.append(values, 0.0)[level.of_cell]


Margin = frozenset[int]  # the places of the parts that a margin keeps


def row_count(sizes: Sequence[int], margin: Margin) -> int:
    """Return the number of rows of a margin of parts with these sizes."""
    return math.prod(sizes[part] for part in margin)


def margins_within(margins: Collection[Margin]) -> list[Margin]:
    """Return the margins and all margins within them, those with the fewest parts first."""
    within = chain.from_iterable(
        combinations(sorted(margin), number) for margin in margins for number in range(len(margin) + 1)
    )
    return sorted(
        {frozenset(margin_within) for margin_within in within},
        key=lambda margin_within: (len(margin_within), sorted(margin_within)),
    )


def margin_errors(
    sizes: Sequence[int], margins: Collection[Margin], precisions: Mapping[Margin, float]
) -> dict[Margin, float]:
    """Return the standard error of a row of each margin B: √(Σ_{A ⊆ B} d_A/p_A)/N_B.

    A margin B with N_B rows is the sum of the residuals of all margins A within it. The residual of A sums to 0 over
    each of its parts: it has d_A free values, each of the precision p_A = `precisions[A]`.
    """
    return {
        margin: math.sqrt(
            math.fsum(
                math.prod(sizes[part] - 1 for part in residual) / precision
                for residual, precision in precisions.items()
                if residual <= margin
            )
        )
        / row_count(sizes, margin)
        for margin in margins
    }


def standard_errors(levels: Sequence[Level], variances: Sequence[float]) -> tuple[Reals, ...]:
    """Return the standard deviations of the estimates of `least_squares_estimates`, for each level.

    Nested levels are computed node by node. On a whole grid, each margin is a sum of residuals, one for each subset of
    its columns. The answers about a margin of N rows add 1/(N·variance) to the precision of each of these residuals.
    Shapes: result (nodes,).
    """
    nested = NestedLevels.from_levels(levels)
    if nested is not None:
        zeros = [np.zeros(level.size) for level in levels]
        return tuple(np.sqrt(spreads) for spreads in nested.estimates(zeros, variances)[1])
    sizes, margins = _sizes_and_margins(levels)
    precisions = {
        inner: math.fsum(
            1 / (level.size * variance)
            for level, margin, variance in zip(levels, margins, variances, strict=True)
            if margin >= inner
        )
        for inner in margins_within(margins)
    }
    errors = margin_errors(sizes, margins, precisions)
    return tuple(np.full(level.size, errors[margin]) for level, margin in zip(levels, margins, strict=True))


def prefix_errors(cells: int, variances: Sequence[float]) -> Reals:
    """Return the standard deviations of the least-squares estimates of sums of the first 1, 2, … cells from ranges.

    The pass goes from the top down. For each node, the variance of the sum of the cells before it and the covariance of
    this sum with the node are known. Given the sum of a node, its two parts, with estimates of variances u and v, take
    the shares u/(u + v) and v/(u + v) of the correction, and deviate by ±e, where e has the variance u·v/(u + v).
    Shapes: result (cells,).
    """
    height = (cells - 1).bit_length()
    if len(variances) != height + 1:
        raise ValueError(f"variances must be {height + 1} for {cells} cells, got {len(variances)}")
    node_variances = [np.full(cells, float(variances[0]))]
    for variance in variances[1:]:
        parts = _paired_values(node_variances[-1]).sum(axis=1)
        node_variances.append(parts * variance / (parts + variance))
    before_variance, covariance, node_variance = np.zeros(1), np.zeros(1), node_variances.pop()
    for parts in reversed(node_variances):
        before_variance, covariance, node_variance = _downward_step(
            _paired_values(parts), before_variance, covariance, node_variance
        )
        before_variance, covariance, node_variance = (
            values[: parts.size] for values in (before_variance, covariance, node_variance)
        )
    return np.sqrt(np.append(before_variance[1:], before_variance[-1] + 2 * covariance[-1] + node_variance[-1]))


def _paired_values(values: Reals) -> Reals:
    """Return the values in pairs; a last single value is paired with 0."""
    return np.append(values, np.zeros(values.size % 2)).reshape(-1, 2)


def _downward_step(
    parts: Reals, before_variance: Reals, covariance: Reals, node_variance: Reals
) -> tuple[Reals, Reals, Reals]:
    """Return the variances and covariances of `prefix_errors` for the two parts of each node, from those of the node.

    Args:
        parts: Variances of the estimates of the two parts of each node, shape (nodes, 2).
        before_variance: Variance of the sum of the cells before each node, shape (nodes,).
        covariance: Covariance of that sum with the node, shape (nodes,).
        node_variance: Variance of the node, shape (nodes,).
    """
    left, right = parts.T
    left_share, right_share = left / (left + right), right / (left + right)
    division_variance = left * right_share
    left_variance = left_share**2 * node_variance + division_variance
    between = left_share * right_share * node_variance - division_variance
    before_variances = np.stack(
        [before_variance, before_variance + 2 * left_share * covariance + left_variance], axis=1
    )
    covariances = np.stack([left_share * covariance, right_share * covariance + between], axis=1)
    node_variances = np.stack([left_variance, right_share**2 * node_variance + division_variance], axis=1)
    return before_variances.ravel(), covariances.ravel(), node_variances.ravel()


def _sizes_and_margins(levels: Sequence[Level]) -> tuple[list[int], list[Margin]]:
    """Return the sizes of the parts of a whole grid, and the parts that each level keeps."""
    codes = [level.codes for level in levels if level.codes is not None and len(level.codes)]
    if len(codes) == len(levels):
        sizes = [np.unique(column).size for column in codes[0].T]
        margins = [frozenset(np.flatnonzero(level_codes[0] >= 0).tolist()) for level_codes in codes]
        if [level.size for level in levels] == [row_count(sizes, margin) for margin in margins]:
            return sizes, margins
    raise ValueError("levels must be nested, or margins of a whole grid without other keys")
