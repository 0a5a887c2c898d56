"""Distributions of a number X >= 0 given a case c = 0, …, q. They serve the sums of several Laplace answers.

`Clusters` rounds X to few values and bounds the error; `Paths` lists all values of X.
"""

import math
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

_BELOW = 8.0  # nats below a typical value down to which values are distinguished
_ABOVE = 5.0  # nats above a typical value up to which they are distinguished: one side of a threshold is not above it
_LARGEST = 600.0  # largest exponent used: its exponential and products of it do not overflow
_HIGHEST = 1e250  # bound of a moment: the minimum with another number never takes so large a mean


@frozen(eq=False)
class Clusters:
    """Distributions of numbers X >= 0 given each case c = 0, …, q, as clusters at ascending values from 0 on.

    The case is a random number on which X depends: of q answers, the number beyond a grid point (see `Chain`). A
    cluster has a mass, the probability of its value, and optionally a moment, the mean of X in the cluster times the
    mass. A number between two values is replaced by one of them at random, such that its mean does not change. The
    clustered values are thus X with additional spread, or lowered beyond the last value. The means of the clusters have
    less spread than X. By Jensen's inequality, the expected value of a concave rising function of X has two bounds: its
    mean over the clustered values is a lower one, its mean over the means of the clusters an upper one.

    Attributes:
        tables: Masses and, if they are needed, moments divided by e^start; shape (cases, numbers, 1 or 2, values).
    """

    tables: Reals
    starts: Reals  # logarithm of the smallest value above 0, for each number
    slope: float  # `steps` times the difference of the logarithms of neighbouring values
    steps: int  # number of steps in a slope
    below: float  # nats from the smallest value above 0 up to a typical value

    @classmethod
    def zero(cls, shape: tuple[int, int], slope: float, width: float, spread: float, *, with_moments: bool) -> Self:
        """Return the distributions of numbers that are 0 in all cases.

        Args:
            shape: Number of cases, and of numbers X.
            slope: Difference of ln X between neighbouring cases, for `halves` = 1 in `scaled_by_case`.
            width: Approximate distance of the logarithms of neighbouring values.
            spread: Additional nats to be covered on both sides of a typical value.
            with_moments: True if moments are needed.
        """
        steps = max(1, round(slope / width))
        below = _BELOW + spread
        values = math.ceil((below + _ABOVE + spread) * steps / slope) + 2
        tables = np.zeros((*shape, 1 + with_moments, values))
        tables[:, :, 0, 0] = 1.0
        return cls(tables, np.zeros(shape[1]), slope, steps, below)

    def mix_cases(self, chances: Reals) -> Self:
        """Return the distributions given a preceding case, from which the present case is drawn.

        Args:
            chances: Probabilities of the present case, a row for each preceding case.
        """
        flat = self.tables.reshape(len(self.tables), -1)
        return replace(self, tables=(chances @ flat).reshape(self.tables.shape))

    @property
    def with_cases_reversed(self) -> Self:
        """These distributions with the cases in the order q, …, 0."""
        return replace(self, tables=self.tables[::-1])

    def of_number(self, index: int) -> Self:
        """Return the distributions of one of the numbers, by its index."""
        one = slice(index, index + 1)
        return replace(self, tables=self.tables[:, one], starts=self.starts[one])

    def scaled_by_case(self, halves: int) -> Self:
        """Return the distributions of X·e^(slope·halves·(c − q/2)) in the cases c = 0, …, q.

        Values above the last one are lowered to it, values below the smallest one to 0.
        """
        cases = len(self.tables)
        rise = self.slope * halves
        tables = self.tables
        if tables.shape[2] > 1:
            factors = np.ones((cases, 1, 2, 1))
            factors[:, 0, 1, 0] = np.exp(np.minimum(_LARGEST, rise * (np.arange(cases) - cases // 2)))
            tables = tables * factors
            np.minimum(tables, _HIGHEST, out=tables)
        cells = _shifted_indices(tables.shape, self.steps * halves)
        found = np.bincount(cells, tables.ravel(), tables.size).astype(np.float64, copy=False)
        starts = self.starts + rise * (cases // 2 - (cases - 1) / 2)
        return replace(self, tables=found.reshape(tables.shape), starts=starts)

    def add_numbers(self, numbers: Reals, typical: Reals) -> Self:
        """Return the distributions of each number plus its entry of `numbers`, in clusters around e^typical."""
        starts = typical - self.below
        scales = np.exp(np.minimum(_LARGEST, self.starts - starts))[:, None]
        raised = (numbers * np.exp(np.minimum(_LARGEST, -starts)))[:, None]
        edges = self._relative_values
        places, shares = _position_between(raised + scales * edges, edges, self.slope / self.steps)
        tables = self.tables
        if tables.shape[2] > 1:
            tables = tables * np.stack([np.ones_like(scales), scales], axis=1)
            tables[:, :, 1] += raised * tables[:, :, 0]
            np.minimum(tables, _HIGHEST, out=tables)
        cells = (_first_cells_of_rows(tables.shape) + places[:, None]).ravel()
        parts = tables * shares[:, None]
        low = np.bincount(cells, (tables - parts).ravel(), tables.size).astype(np.float64, copy=False)
        low += np.bincount(cells + 1, parts.ravel(), tables.size)
        return replace(self, tables=low.reshape(tables.shape), starts=starts)

    def expected_minimum(self, other: Self, chances: Reals) -> tuple[float, float]:
        """Return bounds of E min(X, Z) for the number X of this object and the number Z of another.

        Both objects have one number, and the same values. X and Z are independent given the case; `chances` are the
        probabilities of the cases. Without moments the upper bound is infinite.
        """
        most = self._upper_bound_of_minimum(other, chances) if self.tables.shape[2] > 1 else math.inf
        unit = math.exp(self.starts[0])
        return unit * self._lower_bound_of_minimum(other, chances), unit * most

    def _lower_bound_of_minimum(self, other: Self, chances: Reals) -> float:
        """Return the lower bound of `expected_minimum`, from P[X >= x]·P[Z >= x] summed over the values."""
        both = _cumulative_masses_from(self.tables[:, 0, 0]) * _cumulative_masses_from(other.tables[:, 0, 0])
        return float(chances @ (both[:, 1:] @ np.diff(self._relative_values)))

    def _upper_bound_of_minimum(self, other: Self, chances: Reals) -> float:
        """Return the upper bound of `expected_minimum`, from the means of the clusters.

        If X and Z are in different clusters, the minimum is the mean of the lower cluster; otherwise it is the smaller
        of both means.
        """
        masses, moments = self.tables[:, 0, 0], self.tables[:, 0, 1]
        others, other_moments = other.tables[:, 0, 0], other.tables[:, 0, 1]
        same = np.minimum(moments * others, other_moments * masses)
        apart = moments * (_cumulative_masses_from(others) - others) + other_moments * (
            _cumulative_masses_from(masses) - masses
        )
        return float(chances @ (same + apart).sum(axis=1))

    @property
    def _relative_values(self) -> Reals:
        """The values of the clusters, divided by the smallest one above 0."""
        ranks = np.arange(self.tables.shape[-1] - 1) / self.steps
        return np.concatenate([[0.0], np.exp(self.slope * ranks)])


@lru_cache(maxsize=32)
def _first_cells_of_rows(shape: tuple[int, ...]) -> NDArray[np.intp]:
    """Return the flat index of the first cell of each row of a table."""
    return np.arange(0, math.prod(shape), shape[-1]).reshape(*shape[:-1], 1)


@lru_cache(maxsize=32)
def _shifted_indices(shape: tuple[int, ...], columns: int) -> NDArray[np.intp]:
    """Return the flat index of each cell after a shift: case k moves by (k − middle case)·`columns`."""
    cases, values = shape[0], shape[-1]
    moves = columns * (np.arange(cases) - cases // 2)
    targets = np.clip(np.arange(values) + moves[:, None], 0, values - 1)
    targets[:, 0] = 0
    return (_first_cells_of_rows(shape) + targets[:, None, None]).ravel()


def _position_between(values: Reals, edges: Reals, step: float) -> tuple[NDArray[np.intp], Reals]:
    """Return the index of the last edge not above each value, and its position from this edge (0) to the next (1)."""
    with np.errstate(divide="ignore"):
        ranks = np.floor(np.log(values) / step) + 1
    places = np.clip(ranks, 0, edges.size - 2).astype(np.intp)
    low, high = edges[places], edges[places + 1]
    return places, np.clip((values - low) / (high - low), 0.0, 1.0)


def _cumulative_masses_from(masses: Reals) -> Reals:
    """Return, for each value, the sum of the masses from that value on."""
    return np.cumsum(masses[:, ::-1], axis=1)[:, ::-1]


@frozen(eq=False, slots=False)
class Paths:
    """Distributions of a number X >= 0 given each case, with a value for each possible sequence of cases."""

    masses: Reals  # probabilities, case after case
    values: Reals  # values of X, same shape
    sizes: tuple[int, ...]  # number of values of each case
    slope: float  # difference of ln X between neighbouring cases, for `halves` = 1 in `scaled_by_case`

    @classmethod
    def zero(cls, cases: int, slope: float) -> Self:
        """Return the distributions of a number that is 0 in all cases."""
        return cls(np.ones(cases), np.zeros(cases), (1,) * cases, slope)

    def mix_cases(self, chances: Reals) -> Self:
        """Return the distributions given a preceding case, from which the present case is drawn.

        Args:
            chances: Probabilities of the present case, a row for each preceding case.
        """
        ends = np.cumsum(self.sizes).tolist()
        weights = chances[:, self._case_of_values]
        masses = [row[:end] * self.masses[:end] for row, end in zip(weights, ends, strict=True)]
        values = np.concatenate([self.values[:end] for end in ends])
        return replace(self, masses=np.concatenate(masses), values=values, sizes=tuple(ends))

    @property
    def with_cases_reversed(self) -> Self:
        """These distributions with the cases in the order q, …, 0."""
        return replace(self, masses=self.masses[::-1], values=self.values[::-1], sizes=self.sizes[::-1])

    def scaled_by_case(self, halves: int) -> Self:
        """Return the distributions of X·e^(slope·halves·(c − q/2)) in the cases c = 0, …, q."""
        logs = self.slope * halves * (self._case_of_values - (len(self.sizes) - 1) / 2)
        values = self.values * np.exp(np.minimum(_LARGEST, logs))
        return replace(self, values=np.minimum(values, _HIGHEST))

    def add_numbers(self, numbers: Reals, typical: Reals) -> Self:  # noqa: ARG002  (a list needs no typical value)
        """Return the distributions of the number plus the only entry of `numbers`."""
        return replace(self, values=self.values + numbers)

    def expected_minimum(self, other: Self, chances: Reals) -> tuple[float, float]:
        """Return E min(X, Z) twice, as lower and upper bound. X is the number of this object, Z that of another."""
        pairs = zip(chances.tolist(), self._masses_and_values, other._masses_and_values, strict=True)
        total = sum(
            chance * _expected_minimum(*case_law, *other_case_law)
            for chance, case_law, other_case_law in pairs
            if chance > 0
        )
        return total, total

    @property
    def _masses_and_values(self) -> list[tuple[Reals, Reals]]:
        """Masses and values of each case."""
        ends = np.cumsum(self.sizes)[:-1]
        return list(zip(np.split(self.masses, ends), np.split(self.values, ends), strict=True))

    @cached_property
    def _case_of_values(self) -> NDArray[np.intp]:
        """Case of each value."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


def _expected_minimum(masses: Reals, values: Reals, others: Reals, other_values: Reals) -> float:
    """Return E min(X, Z) for two independent numbers with given masses and values."""
    order = np.argsort(other_values)
    others, other_values = others[order], other_values[order]
    places = other_values.searchsorted(values)
    below = np.concatenate([[0.0], np.cumsum(others * other_values)])
    beyond = np.concatenate([np.cumsum(others[::-1])[::-1], [0.0]])
    return float(masses @ (below[places] + values * beyond[places]))
