"""Laws of a positive number, one for each of several cases, as few values or as all of them."""

import math
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

_BELOW = 8.0  # a typical logarithm, down to which values are told apart
_ABOVE = 5.0  # and up to which they are: of two sides of a threshold one is not above it
_LARGEST = 600.0  # an exponent whose exponential does not overflow, nor its products
_HIGHEST = 1e250  # of a moment: a mean that no minimum takes


@frozen(eq=False)
class Clusters:
    """The laws of numbers X >= 0 given each case, each in clusters at rising values, the first 0.

    A cluster has a mass, at its value, and the moment of X, which is the mean of X in it times that mass. What falls
    between two values is parted at random, such that their mean is right. So the values are those of X spread further
    with its mean kept, or lowered; and the means are those of X itself. A concave function rising with X has a mean of
    at least that of the former, and at most that of the latter (Jensen).

    Attributes:
        tables: The masses and, where they are wanted, the moments over e^start; shape (cases, numbers, 1 or 2, values).
    """

    tables: Reals
    starts: Reals  # the logarithm of the least value but 0, for each number
    slope: float  # a whole number of steps from one logarithm to the next
    steps: int  # that number
    below: float  # how far the least value but 0 lies below a typical one, as logarithms

    @classmethod
    def nothing(cls, shape: tuple[int, int], slope: float, width: float, spread: float, *, with_moments: bool) -> Self:
        """X = 0 in all cases."""
        steps = max(1, round(slope / width))
        below = _BELOW + spread
        values = math.ceil((below + _ABOVE + spread) * steps / slope) + 2
        tables = np.zeros((*shape, 1 + with_moments, values))
        tables[:, :, 0, 0] = 1.0
        return cls(tables, np.zeros(shape[1]), slope, steps, below)

    def mixed(self, chances: Reals) -> Self:
        """The laws if the case is drawn, with these chances of each given others: rows."""
        flat = self.tables.reshape(len(self.tables), -1)
        return replace(self, tables=(chances @ flat).reshape(self.tables.shape))

    @property
    def turned(self) -> Self:
        """The same with the cases in the other order."""
        return replace(self, tables=self.tables[::-1])

    def of(self, place: int) -> Self:
        """The laws of one of the numbers."""
        one = slice(place, place + 1)
        return replace(self, tables=self.tables[:, one], starts=self.starts[one])

    def grown(self, halves: int) -> Self:
        """Each X times e^(slope·halves·(c − q/2)) in the cases c = 0, …, q.

        Values beyond the last are lowered to it, those below the least to 0.
        """
        cases = len(self.tables)
        rise = self.slope * halves
        tables = self.tables
        if tables.shape[2] > 1:
            factors = np.ones((cases, 1, 2, 1))
            factors[:, 0, 1, 0] = np.exp(np.minimum(_LARGEST, rise * (np.arange(cases) - cases // 2)))
            tables = tables * factors
            np.minimum(tables, _HIGHEST, out=tables)
        cells = _moved(tables.shape, self.steps * halves)
        found = np.bincount(cells, tables.ravel(), tables.size).astype(np.float64, copy=False)
        starts = self.starts + rise * (cases // 2 - (cases - 1) / 2)
        return replace(self, tables=found.reshape(tables.shape), starts=starts)

    def added(self, numbers: Reals, typical: Reals) -> Self:
        """Each X and a number of its own, in clusters around e^typical."""
        starts = typical - self.below
        scales = np.exp(np.minimum(_LARGEST, self.starts - starts))[:, None]
        raised = (numbers * np.exp(np.minimum(_LARGEST, -starts)))[:, None]
        edges = self._edges
        places, shares = _between(raised + scales * edges, edges, self.slope / self.steps)
        tables = self.tables
        if tables.shape[2] > 1:
            tables = tables * np.stack([np.ones_like(scales), scales], axis=1)
            tables[:, :, 1] += raised * tables[:, :, 0]
            np.minimum(tables, _HIGHEST, out=tables)
        cells = (_rows(tables.shape) + places[:, None]).ravel()
        parts = tables * shares[:, None]
        low = np.bincount(cells, (tables - parts).ravel(), tables.size).astype(np.float64, copy=False)
        low += np.bincount(cells + 1, parts.ravel(), tables.size)
        return replace(self, tables=low.reshape(tables.shape), starts=starts)

    def minimum(self, other: Self, chances: Reals) -> tuple[float, float]:
        """Bounds of E min(X, Z), Z with the same values, independent given cases of these chances.

        Without moments the upper one is infinite. Of one number each.
        """
        most = self._most(other, chances) if self.tables.shape[2] > 1 else math.inf
        unit = math.exp(self.starts[0])
        return unit * self._least(other, chances), unit * most

    def _least(self, other: Self, chances: Reals) -> float:
        """From P[X >= x]·P[Z >= x], a value after the other."""
        both = _from(self.tables[:, 0, 0]) * _from(other.tables[:, 0, 0])
        return float(chances @ (both[:, 1:] @ np.diff(self._edges)))

    def _most(self, other: Self, chances: Reals) -> float:
        """Of two clusters the mean of the lower one; of the same the smaller mean."""
        masses, moments = self.tables[:, 0, 0], self.tables[:, 0, 1]
        others, other_moments = other.tables[:, 0, 0], other.tables[:, 0, 1]
        same = np.minimum(moments * others, other_moments * masses)
        apart = moments * (_from(others) - others) + other_moments * (_from(masses) - masses)
        return float(chances @ (same + apart).sum(axis=1))

    @property
    def _edges(self) -> Reals:
        """The values, over the least but 0."""
        ranks = np.arange(self.tables.shape[-1] - 1) / self.steps
        return np.concatenate([[0.0], np.exp(self.slope * ranks)])


@lru_cache(maxsize=32)
def _rows(shape: tuple[int, ...]) -> NDArray[np.intp]:
    """The first cell of each row of a table."""
    return np.arange(0, math.prod(shape), shape[-1]).reshape(*shape[:-1], 1)


@lru_cache(maxsize=32)
def _moved(shape: tuple[int, ...], columns: int) -> NDArray[np.intp]:
    """Where each cell goes in a table whose rows move by so many columns more from case to case."""
    cases, values = shape[0], shape[-1]
    moves = columns * (np.arange(cases) - cases // 2)
    targets = np.clip(np.arange(values) + moves[:, None], 0, values - 1)
    targets[:, 0] = 0
    return (_rows(shape) + targets[:, None, None]).ravel()


def _between(values: Reals, edges: Reals, step: float) -> tuple[NDArray[np.intp], Reals]:
    """The last edge that is not above each value, and how far it is to the next, from 0 to 1."""
    with np.errstate(divide="ignore"):
        ranks = np.floor(np.log(values) / step) + 1
    places = np.clip(ranks, 0, edges.size - 2).astype(np.intp)
    low, high = edges[places], edges[places + 1]
    return places, np.clip((values - low) / (high - low), 0.0, 1.0)


def _from(masses: Reals) -> Reals:
    """The mass at each value and all larger ones."""
    return np.cumsum(masses[:, ::-1], axis=1)[:, ::-1]


@frozen(eq=False, slots=False)
class Paths:
    """The laws of a number X >= 0 given each case: a value for each way in which cases followed."""

    masses: Reals  # case after case
    values: Reals  # same shape
    sizes: tuple[int, ...]  # how many each case has
    slope: float  # that of the logarithm of X from one case to the next, where it grows

    @classmethod
    def nothing(cls, cases: int, slope: float) -> Self:
        """X = 0 in all cases."""
        return cls(np.ones(cases), np.zeros(cases), (1,) * cases, slope)

    def mixed(self, chances: Reals) -> Self:
        """The law if the case is drawn, with these chances of each given others: rows."""
        ends = np.cumsum(self.sizes).tolist()
        weights = chances[:, self._cases]
        masses = [row[:end] * self.masses[:end] for row, end in zip(weights, ends, strict=True)]
        values = np.concatenate([self.values[:end] for end in ends])
        return replace(self, masses=np.concatenate(masses), values=values, sizes=tuple(ends))

    @property
    def turned(self) -> Self:
        """The same with the cases in the other order."""
        return replace(self, masses=self.masses[::-1], values=self.values[::-1], sizes=self.sizes[::-1])

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
