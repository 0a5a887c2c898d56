"""How the count of a node divides among its children, before any answer."""

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
    """The logarithm of Γ(k + a)/(k!·Γ(a)): the weight of a count k among its siblings.

    Numerical error: a few units in the last place of the largest of k, a·ln(k) and ln(Γ(a)); no
    cancellation for a small beside k, or k small beside a.
    """
    k, a = np.broadcast_arrays(np.asarray(counts, dtype=np.float64), concentration)
    present = np.where(k > 0, k, 1.0)
    small, large = np.minimum(present, a), np.maximum(present, a)
    # ln Γ(large + small) − ln Γ(large), with large >= 1 wherever the count is not 0
    ratio = small / large
    grown = (large + small - 0.5) * np.log1p(ratio) + small * (np.log(large) - 1)
    grown += stirling_error(large + small) - stirling_error(large)
    # of the smaller one Γ(k + 1)/k = Γ(k), or Γ(a), remains below
    is_count_large = present >= a
    logs = grown - np.where(is_count_large, _log_gamma(a) + np.log(present), log_factorial(present))
    return np.where(k > 0, logs, 0.0)


def log_rising_steps(counts: NDArray[np.int64] | Reals, concentration: Reals) -> Reals:
    """The change of `log_rising` from each count k to k + 1: ln((k + a)/(k + 1))."""
    k, a = np.broadcast_arrays(np.asarray(counts, dtype=np.float64), concentration)
    later = np.log1p(np.where(k > 0, a - 1, 0.0) / (k + 1))
    return np.where(k > 0, later, np.log(a))


def log_factorial(counts: Reals) -> Reals:
    """The logarithm of k! for counts k >= 0."""
    k = np.asarray(counts, dtype=np.float64)
    return (k + 0.5) * np.log1p(k) - (k + 1) + _HALF_LOG_TAU + stirling_error(k + 1)


def _log_gamma(points: Reals) -> Reals:
    """The logarithm of Γ(a) for a > 0."""
    a = np.asarray(points, dtype=np.float64)
    lifted = np.where(a < 1, a + 1, a)
    logs = (lifted - 0.5) * np.log(lifted) - lifted + _HALF_LOG_TAU + stirling_error(lifted)
    return np.where(a < 1, logs - np.log(a), logs)


class LevelSplit(NamedTuple):
    """How the counts of a level come from those of the level above."""

    weights: Reals  # of each node: its concentration, or its rate within its parent
    is_multinomial: bool  # whether they are rates


@frozen(eq=False, repr=False)
class Splits(Shown):
    """The count of a node divides among its children by a Dirichlet-multinomial law.

    P[k_1, …, k_m | k] = k!·Γ(A)/Γ(k + A)·Π_c Γ(k_c + a_c)/(k_c!·Γ(a_c)) with A = Σ a_c: shares are
    drawn from a Dirichlet law, then each record falls into a child by itself. Large concentrations
    make shares certain, 1 makes all tables equally likely, small ones leave most children empty.

    Args:
        concentrations: Those of the cells, positive: a number, the same for each, or an array of
            shape (cells,). A node's is the sum of its cells'. As one of several, each for a level
            of a tree: a number for each node of that level, or an array over its nodes.

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
        values = np.array(_numbers(self.concentrations, name))
        possible = np.isfinite(values) & (values > 0)
        if values.ndim > 1 or not values.size or not possible.all():
            wrong = values[~possible].flat[0] if not possible.all() else values.tolist()
            raise ValueError(
                f"{name} must be positive and finite, a number or one a cell, got {wrong!r}: "
                "a cell that is surely empty is told by an answer of 0 under Exact()"
            )
        values.flags.writeable = False
        object.__setattr__(self, "concentrations", values)

    @classmethod
    def multinomial(cls, rates: ArrayLike) -> "Splits":
        """Known shares: each record falls into a cell by itself.

        Args:
            rates: Those of the cells, up to a common factor, positive: a number or an array.

        Example:
            >>> import noisycount as nc
            >>> nc.Splits.multinomial([1, 3]).concentrations_of(nc.Tree.flat(2))[0].tolist()
            [0.25, 0.75]
        """
        return cls(rates, is_multinomial=True)

    def concentrations_of(self, tree: Tree) -> tuple[Reals, ...]:
        """The concentration of each node, or its rate within its parent, below the root.

        Args:
            tree: Whose cells they are.

        Returns:
            An array for each level below the root, from coarse to fine.

        Raises:
            ValueError: If there are not as many as cells.
        """
        cells = self._spread(tree.cells, "cells of the tree")
        levels = range(1, tree.depth)
        sums: list[Reals] = [
            np.bincount(tree.levels[level], cells, tree.sizes[level]).astype(np.float64) for level in levels
        ]
        if not self.is_multinomial:
            return tuple(sums)
        return tuple(_rates(own, tree.parents(level)) for level, own in zip(levels, sums, strict=True))

    def of_level(self, tree: Tree, level: int) -> LevelSplit:
        """The same as `concentrations_of` where the weights are those of one level, from 1."""
        own = self._spread(tree.sizes[level], f"nodes of level {level}")
        weights = _rates(own, tree.parents(level)) if self.is_multinomial else own
        return LevelSplit(weights, self.is_multinomial)

    def _spread(self, size: int, what: str) -> Reals:
        """The weights of so many nodes."""
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
    """A stated prior, level by level below the root."""
    if isinstance(prior, Splits):
        return [LevelSplit(own, prior.is_multinomial) for own in prior.concentrations_of(tree)]
    stated = list(prior) if isinstance(prior, Sequence) else []
    if len(stated) != tree.depth - 1 or not all(isinstance(one, Splits) for one in stated):
        raise ValueError(
            f"prior must be a Splits, or {tree.depth - 1}, one for each level below the root, got {prior!r}"
        )
    return [one.of_level(tree, level) for level, one in enumerate(stated, 1)]


def _numbers(values: ArrayLike, name: str) -> Reals:
    """The values as floats."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {values!r}") from None


def _rates(own: Reals, parents: NDArray[np.int64]) -> Reals:
    """Weights as shares of those of the same parent."""
    return own / np.bincount(parents, own)[parents]
