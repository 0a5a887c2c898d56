"""Sums of independent counts term by term: positive terms alone, so that no digits are lost."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.sums.rests import Rests
from noisycount.model.laws.expansion import Reals

__all__ = ["PositiveSum"]


@dataclass(frozen=True, eq=False)
class PositiveSum:
    """The laws of sums of independent counts, for several nodes and several sets of weights each.

    Errors are relative: a few units in the last place for each summand, in the tails too.

    Args:
        weights: The laws of the summands on 0, 1, and so on, shape (nodes, sets, summands, width).
    """

    weights: Reals

    @cached_property
    def _halves(self) -> "tuple[PositiveSum, PositiveSum] | None":
        """The two halves of the summands; None: there is one."""
        middle = self.weights.shape[2] // 2
        if middle == 0:
            return None
        return PositiveSum(self.weights[:, :, :middle]), PositiveSum(self.weights[:, :, middle:])

    floor: ClassVar[float] = 1e-280
    """The part of the largest probability below which others are left out: they may underflow."""

    @property
    def first(self) -> NDArray[np.int64]:
        """The first place of `law`, shape (nodes,): 0."""
        return np.zeros(self.weights.shape[0], np.int64)

    @cached_property
    def law(self) -> Reals:
        """The probabilities of the sum, shape (nodes, sets, places)."""
        law = self._complete
        return np.where(law >= self.floor * law.max(axis=-1, keepdims=True), law, 0.0)

    @cached_property
    def _complete(self) -> Reals:
        """The same with what may underflow."""
        if self._halves is None:
            return self.weights[:, :, 0]
        return _row_by_row(np.convolve, *(half._complete for half in self._halves))  # noqa: SLF001  (of this class)

    def rests(self, outside: Reals) -> Rests:
        """For each summand, Σ_k outside(k)·P[the other summands add up to k − j] at its places j.

        Args:
            outside: A weight of each place of `law`, shape (nodes, sets, places).
        """
        return Rests(self._inside(outside), np.zeros(outside.shape[:2]))

    def _inside(self, outside: Reals) -> Reals:
        """The same without its error, which is relative."""
        if self._halves is None:
            return outside[:, :, None]
        first, second = self._halves
        parts = (
            half._inside(_row_by_row(_correlated, outside, other._complete))  # noqa: SLF001  (of this class)
            for half, other in ((first, second), (second, first))
        )
        return np.concatenate(list(parts), axis=2)


def _correlated(outside: Reals, law: Reals) -> Reals:
    """Σ_i outside(j + i)·law(i) for each place j."""
    return np.convolve(outside, law[::-1], "valid")


def _row_by_row(function: Callable[[Reals, Reals], Reals], first: Reals, second: Reals) -> Reals:
    """A function of two rows, on the last axis of two arrays."""
    leading = first.shape[:-1]
    pairs = zip(
        first.reshape(-1, first.shape[-1]), second.reshape(-1, second.shape[-1]), strict=True
    )
    return np.array([function(*pair) for pair in pairs]).reshape(*leading, -1)
