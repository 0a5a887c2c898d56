"""Prior of a table: the distribution of a node's count among its children.

`Splits` is public; `tree` defines the nodes.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals, stirling_error
from noisycount.model.tables.tree import Tree

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


def log_rising(counts: NDArray[np.int64], concentration: Reals) -> Reals:
    """Return ln(Γ(k + a)/(k!·Γ(a))), the weight of a count k among its siblings.

    Numerical error: a few units in the last place of the largest of k, a·ln(k) and ln(Γ(a)). Nothing cancels if a is
    much smaller than k, or k than a.
    """
    k, a = np.broadcast_arrays(np.asarray(counts, dtype=np.float64), concentration)
    present = np.where(k > 0, k, 1.0)
    small, large = np.minimum(present, a), np.maximum(present, a)
    is_below_one = small < 1
    lifted = np.where(is_below_one, small + 1, small)
    errors = stirling_error(np.stack([large + small, large, lifted]))
    # ln Γ(large + small) − ln Γ(large), with large >= 1 wherever the count is not 0
    grown = (large + small - 0.5) * np.log1p(small / large) + small * (np.log(large) - 1) + errors[0] - errors[1]
    log_gamma = (lifted - 0.5) * np.log(lifted) - lifted + _HALF_LOG_TAU + errors[2]
    log_gamma -= np.where(is_below_one, np.log(small), 0.0)
    # Of k!·Γ(a) = k·Γ(k)·Γ(a), Γ of the larger of k and a is gone.
    return np.where(k > 0, grown - log_gamma - np.log(present), 0.0)


def log_rising_steps(counts: NDArray[np.int64] | Reals, concentration: Reals) -> Reals:
    """Return the change of `log_rising` from each count k to k + 1: ln((k + a)/(k + 1))."""
    k, is_first = np.asarray(counts, dtype=np.float64), np.equal(counts, 0)
    if not is_first.any():
        return np.log1p((concentration - 1) / (k + 1))
    later = np.log1p(np.where(is_first, 0.0, concentration - 1) / (k + 1))
    return np.where(is_first, np.log(concentration), later)


def log_factorial(counts: Reals) -> Reals:
    """Return ln k! for counts k >= 0."""
    k = np.asarray(counts, dtype=np.float64)
    return (k + 0.5) * np.log1p(k) - (k + 1) + _HALF_LOG_TAU + stirling_error(k + 1)


class LevelSplit(NamedTuple):
    """The prior of one level given the level above."""

    weights: Reals  # concentration of each node, or its rate within its parent, shape (nodes,)
    is_multinomial: bool  # True if the weights are rates


@frozen(eq=False, repr=False)
class Splits(Shown):
    """A Dirichlet-multinomial prior of the counts of a node's children, given the count of the node.

    P[k_1, …, k_m | k] = k!·Γ(A)/Γ(k + A)·Π_c Γ(k_c + a_c)/(k_c!·Γ(a_c)) with A = Σ a_c. The shares have a Dirichlet
    distribution, and given the shares each record falls into a child independently. Large concentrations make the
    shares nearly certain; concentrations of 1 make all tables equally likely; small ones leave most children empty.

    Args:
        concentrations: The concentrations of the cells, positive: one number for all cells, or an array of shape
            (cells,). The concentration of a node is the sum over its cells. In a list with one `Splits` a level, they
            are those of the nodes of that level: one number, or an array of shape (nodes,).
        is_multinomial: True if the values are rates of known shares; see `multinomial`.

    Raises:
        ValueError: If a concentration is not a positive finite number.

    Source: Johnson, Kotz and Balakrishnan, Discrete Multivariate Distributions (1997), 35.13.

    Example:
        >>> import noisycount as nc
        >>> level = nc.Splits(0.5).concentrations_of(nc.Tree([[0, 0, 0], [0, 0, 1], [0, 1, 2]]))
        >>> [weights.tolist() for weights in level]
        [[1.0, 0.5], [0.5, 0.5, 0.5]]
    """

    concentrations: ArrayLike
    is_multinomial: bool = False

    def __post_init__(self) -> None:
        name = "rates" if self.is_multinomial else "concentrations"
        values = np.array(_weights_as_floats(self.concentrations, name))
        possible = np.isfinite(values) & (values > 0)
        if values.ndim > 1 or not values.size or not possible.all():
            wrong = values[~possible].flat[0] if not possible.all() else values.tolist()
            raise ValueError(
                f"{name} must be positive and finite, one number or one for each cell, got {wrong!r}: "
                "state a cell that is surely empty by an answer of 0 under Exact()"
            )
        values.flags.writeable = False
        object.__setattr__(self, "concentrations", values)

    @classmethod
    def multinomial(cls, rates: ArrayLike) -> "Splits":
        """Return the prior with known shares, where each record falls into a cell independently.

        Args:
            rates: The rates of the cells, up to a common factor, positive: a number or an array of shape (cells,).

        Example:
            >>> import noisycount as nc
            >>> nc.Splits.multinomial([1, 3]).concentrations_of(nc.Tree.flat(2))[0].tolist()
            [0.25, 0.75]
        """
        return cls(rates, is_multinomial=True)

    def concentrations_of(self, tree: Tree) -> tuple[Reals, ...]:
        """Return the concentration of each node below the root, or its rate within its parent.

        Args:
            tree: The tree whose cells the concentrations belong to.

        Returns:
            An array of shape (nodes,) for each level below the root, from coarse to fine.

        Raises:
            ValueError: If the number of concentrations differs from the number of cells.
        """
        cells = self._weights_of_nodes(tree.cells, "cells of the tree")
        levels = range(1, tree.depth)
        sums: list[Reals] = [
            np.bincount(tree.levels[level], cells, tree.sizes[level]).astype(np.float64) for level in levels
        ]
        if not self.is_multinomial:
            return tuple(sums)
        return tuple(
            _shares_of_parents(weights, tree.parents(level)) for level, weights in zip(levels, sums, strict=True)
        )

    def of_level(self, tree: Tree, level: int) -> LevelSplit:
        """Return the prior of one level (from 1) if the concentrations are those of that level's nodes."""
        weights = self._weights_of_nodes(tree.sizes[level], f"nodes of level {level}")
        weights = _shares_of_parents(weights, tree.parents(level)) if self.is_multinomial else weights
        return LevelSplit(weights, self.is_multinomial)

    def _weights_of_nodes(self, size: int, what: str) -> Reals:
        """Return the weights as an array of shape (size,); raise ValueError for another number of weights."""
        values = np.asarray(self.concentrations, dtype=np.float64)
        if values.ndim and values.size != size:
            name = "rates" if self.is_multinomial else "concentrations"
            raise ValueError(f"{name} must be a number or {size}, the {what}, got {values.size}")
        return np.broadcast_to(values, (size,)).copy()

    def _facts(self) -> dict[str, object]:
        values = np.asarray(self.concentrations)
        name = "rates" if self.is_multinomial else "concentrations"
        return {name: values if values.ndim else float(values)}


def level_splits(prior: Splits | Sequence[Splits], tree: Tree) -> list[LevelSplit]:
    """Return the stated prior, one entry for each level below the root."""
    if isinstance(prior, Splits):
        return [LevelSplit(weights, prior.is_multinomial) for weights in prior.concentrations_of(tree)]
    stated = list(prior) if isinstance(prior, Sequence) else []
    if len(stated) != tree.depth - 1 or not all(isinstance(splits, Splits) for splits in stated):
        raise ValueError(
            f"prior must be one Splits, or {tree.depth - 1} Splits, one for each level below the root, got {prior!r}"
        )
    return [splits.of_level(tree, level) for level, splits in enumerate(stated, 1)]


def _weights_as_floats(values: ArrayLike, name: str) -> Reals:
    """Return the values as floats."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {values!r}") from None


def _shares_of_parents(weights: Reals, parents: NDArray[np.int64]) -> Reals:
    """Return each weight as a share of the weights with the same parent."""
    return weights / np.bincount(parents, weights)[parents]
