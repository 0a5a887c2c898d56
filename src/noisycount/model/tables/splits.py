"""How the count of a node divides among its children, before any answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisycount.model.tables.tree import Tree
from noisycount.shown.value import Shown

__all__ = ["LevelSplit", "Splits", "level_splits"]

Reals = NDArray[np.float64]


class LevelSplit(NamedTuple):
    """How the counts of a level come from those of the level above.

    Attributes:
        weights: Of each node: its concentration, or its rate within its parent.
        is_multinomial: Whether they are rates.
    """

    weights: Reals
    is_multinomial: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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
            np.bincount(tree.levels[level], cells, tree.sizes[level]).astype(np.float64)
            for level in levels
        ]
        if not self.is_multinomial:
            return tuple(sums)
        return tuple(
            _rates(own, tree.parents(level)) for level, own in zip(levels, sums, strict=True)
        )

    def of_level(self, tree: Tree, level: int) -> LevelSplit:
        """The same as `concentrations_of` where the weights are those of one level.

        Args:
            tree: Of which it is a level.
            level: From 1.
        """
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
        """The weights under their name."""
        values = np.asarray(self.concentrations)
        name = "rates" if self.is_multinomial else "concentrations"
        return {name: values if values.ndim else float(values)}


def level_splits(prior: Splits | Sequence[Splits], tree: Tree) -> tuple[LevelSplit, ...]:
    """A stated prior, level by level below the root.

    Args:
        prior: One for the cells, or one for each level below the root, from coarse to fine.
        tree: Whose counts divide so.

    Raises:
        ValueError: If they are not as many as levels, or their sizes do not fit.
    """
    if isinstance(prior, Splits):
        weights = prior.concentrations_of(tree)
        return tuple(LevelSplit(own, prior.is_multinomial) for own in weights)
    stated = list(prior) if isinstance(prior, Sequence) else []
    if len(stated) != tree.depth - 1 or not all(isinstance(one, Splits) for one in stated):
        raise ValueError(
            f"prior must be a Splits, or {tree.depth - 1}, one for each level below the root, got "
            f"{prior!r}"
        )
    return tuple(one.of_level(tree, level) for level, one in enumerate(stated, 1))


def _numbers(values: ArrayLike, name: str) -> Reals:
    """The values as floats."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {values!r}") from None


def _rates(own: Reals, parents: NDArray[np.int64]) -> Reals:
    """Weights as shares of those of the same parent."""
    shares: Reals = own / np.bincount(parents, own)[parents]
    return shares
