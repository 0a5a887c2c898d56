"""Laws of a positive number, one for each of several cases, kept as a few values."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.model.laws.expansion import Reals

__all__ = ["Merged", "Parted", "Spread"]

_FIRST = -14.0  # the logarithm of the least value but 0, seen from a typical one
_STEP = 0.03  # from one logarithm to the next
_VALUES = 934  # so that the last is e^14 times a typical one
_EDGES: Reals = np.concatenate([[0.0], np.exp(_FIRST + _STEP * np.arange(_VALUES - 1))])


@dataclass(frozen=True, slots=True, eq=False)
class Spread(ABC):
    """The law of X given each case: masses, and masses times values, at values on a grid.

    Attributes:
        masses: Shape (cases, values).
        moments: Masses times their mean values, same shape.
    """

    masses: Reals
    moments: Reals

    @classmethod
    def nothing(cls, cases: int) -> Self:
        """X = 0 in all cases."""
        masses = np.zeros((cases, _VALUES))
        masses[:, 0] = 1.0
        return cls(masses, np.zeros_like(masses))

    def mixed(self, chances: Reals) -> Self:
        """The law if the case is drawn, with these chances of each given others: rows."""
        return type(self)(chances @ self.masses, chances @ self.moments)

    @property
    def turned(self) -> Self:
        """The same with the cases in the other order."""
        return type(self)(self.masses[::-1], self.moments[::-1])

    def moved(self, added: Reals, factors: Reals) -> Self:
        """The law of added + factor·X, both numbers of the case.

        Args:
            added: Shape (cases,).
            factors: Same shape.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            values = added[:, None] + factors[:, None] * self._values
        is_held = self.masses > 0
        rows = np.broadcast_to(np.arange(added.size)[:, None], values.shape)[is_held]
        return self._kept(rows, values[is_held], self.masses[is_held], added.size)

    @property
    @abstractmethod
    def _values(self) -> Reals:
        """The value of each mass, shape (cases, values)."""

    @classmethod
    @abstractmethod
    def _kept(cls, cases: NDArray[np.intp], values: Reals, masses: Reals, number: int) -> Self:
        """The law of many values, kept as few."""

    @abstractmethod
    def least(self, other: Self, chances: Reals) -> float:
        """E min(X, Z), Z independent of X given the case, with these chances of the cases."""


class Parted(Spread):
    """Each value is parted between its neighbours on the grid, so that the mean stays.

    A concave function of the number has a mean that can only fall; so does the minimum where values
    beyond the grid are moved to its end.
    """

    __slots__ = ()

    @property
    def _values(self) -> Reals:
        """The grid."""
        return np.broadcast_to(_EDGES, self.masses.shape)

    @classmethod
    def _kept(cls, cases: NDArray[np.intp], values: Reals, masses: Reals, number: int) -> Self:
        """The law with each value at its two neighbours."""
        held = np.minimum(values, _EDGES[-1])
        places = np.minimum(_places(held), _VALUES - 2)
        low, high = _EDGES[places], _EDGES[places + 1]
        shares = np.clip((held - low) / (high - low), 0.0, 1.0) * masses
        cells = cases * _VALUES + places
        table = _summed(cells, masses - shares, number) + _summed(cells + 1, shares, number)
        return cls(table, table * _EDGES)

    def least(self, other: Self, chances: Reals) -> float:
        """From P[X >= x]·P[Z >= x], a step of the grid after the other."""
        both = _from(self.masses) * _from(other.masses)
        return float(chances @ (both[:, 1:] @ np.diff(_EDGES)))


class Merged(Spread):
    """All values between two neighbours on the grid are replaced by their mean.

    A concave function of the number has a mean that can only grow.
    """

    __slots__ = ()

    @property
    def _values(self) -> Reals:
        """The mean in each cell."""
        means: Reals = self.moments / np.maximum(self.masses, 1e-300)
        return means

    @classmethod
    def _kept(cls, cases: NDArray[np.intp], values: Reals, masses: Reals, number: int) -> Self:
        """The law with the mean of each cell."""
        held = np.minimum(values, 1e300)
        cells = cases * _VALUES + _places(held)
        return cls(_summed(cells, masses, number), _summed(cells, masses * held, number))

    def least(self, other: Self, chances: Reals) -> float:
        """The smaller of two means, which are those of cells unless the cells are the same."""
        beyond, others = _from(self.masses) - self.masses, _from(other.masses) - other.masses
        same = np.minimum(self.moments * other.masses, other.moments * self.masses)
        terms = self.moments * others + other.moments * beyond + same
        return float(chances @ terms.sum(axis=1))


def _places(values: Reals) -> NDArray[np.intp]:
    """The last place of the grid that is not above each value."""
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    found: Reals = np.clip(np.floor((logs - _FIRST) / _STEP) + 1, 0, _VALUES - 1)
    return found.astype(np.intp)


def _summed(cells: NDArray[np.intp], weights: Reals, number: int) -> Reals:
    """The weights in each cell of a table with so many rows."""
    return np.bincount(cells, weights, number * _VALUES).astype(np.float64).reshape(number, -1)


def _from(masses: Reals) -> Reals:
    """The mass at each value and all larger ones."""
    sums: Reals = np.cumsum(masses[:, ::-1], axis=1)[:, ::-1]
    return sums
