"""Laws of a positive number, one for each of several cases, as the list of all its values."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.model.laws.expansion import Reals

__all__ = ["Paths"]

_LARGEST = 600.0  # an exponent whose exponential does not overflow, nor its products
_HIGHEST = 1e250  # a value that no minimum takes


@dataclass(frozen=True, eq=False)
class Paths:
    """The laws of a number X >= 0 given each case: a value for each way in which cases followed.

    Attributes:
        masses: Case after case.
        values: Same shape.
        sizes: How many each case has.
        slope: That of the logarithm of X from one case to the next, where it grows.
    """

    masses: Reals
    values: Reals
    sizes: tuple[int, ...]
    slope: float

    @classmethod
    def nothing(cls, cases: int, slope: float) -> Self:
        """X = 0 in all cases."""
        return cls(np.ones(cases), np.zeros(cases), (1,) * cases, slope)

    def mixed(self, chances: Reals) -> Self:
        """The law if the case is drawn, with these chances of each given others: rows.

        Args:
            chances: Of cases up to the given one alone.
        """
        ends = np.cumsum(self.sizes).tolist()
        weights = chances[:, self._cases]
        masses = [row[:end] * self.masses[:end] for row, end in zip(weights, ends, strict=True)]
        values = np.concatenate([self.values[:end] for end in ends])
        return replace(self, masses=np.concatenate(masses), values=values, sizes=tuple(ends))

    @property
    def turned(self) -> Self:
        """The same with the cases in the other order."""
        return replace(
            self, masses=self.masses[::-1], values=self.values[::-1], sizes=self.sizes[::-1]
        )

    def grown(self, halves: int) -> Self:
        """X times e^(slope·halves·(c − q/2)) in the cases c = 0, …, q."""
        logs = self.slope * halves * (self._cases - (len(self.sizes) - 1) / 2)
        values = self.values * np.exp(np.minimum(_LARGEST, logs))
        return replace(self, values=np.minimum(values, _HIGHEST))

    def added(self, numbers: Reals, typical: Reals) -> Self:  # noqa: ARG002  (of no use to a list)
        """X and a number, the only one."""
        return replace(self, values=self.values + numbers)

    def minimum(self, other: Self, chances: Reals) -> tuple[float, float]:
        """E min(X, Z), twice, Z independent of X given cases of these chances."""
        pairs = zip(chances.tolist(), self._laws, other._laws, strict=True)
        total = sum(chance * _minimum(*one, *two) for chance, one, two in pairs if chance > 0)
        return total, total

    @property
    def _laws(self) -> list[tuple[Reals, Reals]]:
        """Masses and values, for each case."""
        ends = np.cumsum(self.sizes)[:-1]
        return list(zip(np.split(self.masses, ends), np.split(self.values, ends), strict=True))

    @cached_property
    def _cases(self) -> NDArray[np.intp]:
        """That of each value."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


def _minimum(masses: Reals, values: Reals, others: Reals, other_values: Reals) -> float:
    """E min(X, Z) of two independent laws."""
    order = np.argsort(other_values)
    others, other_values = others[order], other_values[order]
    places = other_values.searchsorted(values)
    below = np.concatenate([[0.0], np.cumsum(others * other_values)])
    beyond = np.concatenate([np.cumsum(others[::-1])[::-1], [0.0]])
    return float(masses @ (below[places] + values * beyond[places]))
