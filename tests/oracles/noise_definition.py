"""A noise by the definition of its density, and what follows from it by quadrature, to 1e-13."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from noisycount.model.laws.gamma import Reals

Shape = Callable[[Reals], Reals]
"""The density at z, up to a constant."""

_BISECTIONS = 70
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_FINEST, _WIDEST = -6, 130  # pieces of quadrature double in length from 2^−6 scales on


@dataclass(frozen=True)
class Definition:
    """Symmetric noise."""

    shape: Shape  # its density up to a constant
    scale: float  # about its width, in records
    is_discrete: bool = False  # whether it lives on the integers
    reach: float = 50.0  # beyond so many scales nothing matters; infinite if no distance is enough

    @cached_property
    def whole(self) -> float:
        """The integral, or the sum, of the shape."""
        return 2 * self._beyond(0.0, self.shape) - float(self.shape(np.zeros(1))[0]) * self.is_discrete

    def density(self, z: Reals) -> Reals:
        """The density, or the probability, at errors."""
        found: Reals = self.shape(np.asarray(z, dtype=np.float64)) / self.whole
        return found

    def tail(self, z: float) -> float:
        """P[Z >= z]."""
        if z <= 0 and self.is_discrete:
            return 1 - self.tail(1 - math.ceil(z))
        return 1 - self.tail(-z) if z < 0 else self._beyond(z, self.shape) / self.whole

    def mass(self, low: float, width: float) -> float:
        """P[low <= Z < low + width]."""
        high = low + width
        if self.is_discrete:
            return math.fsum(self.density(np.arange(math.ceil(low), math.ceil(high))).tolist())
        if low < 0 < high:
            return self.mass(0.0, high) + self.mass(0.0, -low)
        near, far = sorted((abs(low), abs(high)))
        return _integral(self.shape, np.linspace(near, far, 1 + math.ceil(4 * width / self.scale))) / self.whole

    def mean_of(self, function: Callable[[Reals], Reals]) -> float:
        """The mean of an even function of the noise that is 0 at 0."""
        return 2 * self._beyond(0.0, lambda z: function(z) * self.shape(z)) / self.whole

    def _beyond(self, start: float, function: Callable[[Reals], Reals]) -> float:
        """The integral, or the sum, of a function from a place on."""
        if self.is_discrete:
            places = math.ceil(start) + np.arange(math.ceil(self.reach * self.scale) + 3.0)
            return math.fsum(function(places).tolist())
        steps = np.append(0.0, 2.0 ** np.arange(_FINEST, _WIDEST))
        return _integral(function, start + self.scale * steps[steps <= 2 * self.reach])


def _integral(function: Callable[[Reals], Reals], edges: Reals) -> float:
    """The integral over pieces in which a function is smooth."""
    lengths = np.diff(edges)[:, None]
    values = function(edges[:-1, None] + lengths * (1 + _NODES) / 2) * _WEIGHTS * lengths / 2
    return math.fsum(values.ravel().tolist())


def binomial(size: int, rate: float) -> Reals:
    """The probabilities of 0..size."""
    return np.array([math.comb(size, k) * rate**k * (1 - rate) ** (size - k) for k in range(size + 1)])


def delta(noise: Definition, positive: Reals, negative: Reals, epsilon: float) -> float:
    """sup_S P₊[Y in S] − e^ε·P₋[Y in S] for laws of the count whose ratio rises."""
    gains = positive - math.exp(epsilon) * negative
    counts = np.arange(gains.size)
    reach = math.ceil(noise.reach * noise.scale)

    def excess(answers: Reals) -> Reals:
        found: Reals = noise.density(answers[:, None] - counts) @ gains
        return found

    if noise.is_discrete:
        return math.fsum(np.maximum(excess(np.arange(-reach, gains.size + reach)), 0).tolist())
    low, high = -float(reach), float(gains.size + reach)
    if excess(np.array([high]))[0] <= 0:
        return 0.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(np.array([middle]))[0] < 0 else (low, middle)
    return math.fsum(gain * noise.tail(high - k) for k, gain in enumerate(gains.tolist()))


@dataclass(frozen=True)
class Averages:
    """E|K − estimate(Y)| and P[|K − estimate| < |K − Y|], in doubles, to about 1e-11."""

    noise: Definition  # what is added to the count
    prior: Reals  # the probabilities of the counts 0..size, which are believed in
    by: str  # which estimate is meant

    @property
    def counts(self) -> Reals:
        """0..size."""
        return np.arange(self.prior.size, dtype=np.float64)

    def estimates(self, answers: Reals) -> Reals:
        """The estimate from each answer."""
        size = self.prior.size - 1
        if self.by == "answer":
            return answers
        if self.by == "rounded":
            rounded: Reals = np.clip(np.floor(answers + 0.5), 0, size)
            return rounded
        joint = self.prior * self.noise.density(answers[:, None] - self.counts)
        below = joint.cumsum(axis=1)
        if self.by == "mean":
            means: Reals = joint @ self.counts / below[:, -1]
            return means
        if self.by == "median":
            return (below >= below[:, -1:] * (0.5 - 1e-13)).argmax(axis=1).astype(np.float64)
        peaks = joint.max(axis=1, keepdims=True)
        return (joint >= peaks * (1 - 1e-12)).argmax(axis=1).astype(np.float64)

    @cached_property
    def found(self) -> tuple[float, float]:
        """The error and the improvement."""
        points, lengths = self._pieces()
        estimates = self.estimates(points.ravel()).reshape(points.shape)
        error = better = 0.0
        for count, chance in zip(self.counts, self.prior, strict=True):
            masses = chance * self.noise.density(points - count) * lengths
            away, raw = np.abs(count - estimates), np.abs(count - points)
            error += float((masses * away).sum())
            better += float(masses[away < raw - 1e-12 * (1 + raw)].sum())
        return error, better

    def _pieces(self) -> tuple[Reals, Reals]:
        """Answers, and what each of them stands for."""
        reach = math.ceil(min(self.noise.reach, 36) * self.noise.scale)
        low, high = -reach, self.prior.size - 1 + reach
        if self.noise.is_discrete:
            answers = np.arange(low, high + 1, dtype=np.float64)
            return answers[:, None], np.ones((answers.size, 1))
        grid = np.union1d(np.linspace(low, high, 50 * (high - low) + 7), np.arange(low, high + 1.0))
        sides = self._sides(grid)
        steps = np.flatnonzero((sides[1:] != sides[:-1]).any(axis=1))
        starts, stops = grid[steps], grid[steps + 1]
        for _ in range(_BISECTIONS):
            middles = (starts + stops) / 2
            same = (self._sides(middles) == sides[steps]).all(axis=1)
            starts, stops = np.where(same, middles, starts), np.where(same, stops, middles)
        bends = [starts, np.arange(low, high + 1.0)]
        edges = np.unique(np.concatenate(bends))
        lengths = np.diff(edges)[:, None]
        return edges[:-1, None] + lengths * (1 + _NODES) / 2, lengths * _WEIGHTS / 2

    def _sides(self, answers: Reals) -> Reals:
        """Of each answer, on which sides of the counts and of the answer the estimate lies."""
        estimates = self.estimates(answers)[:, None]
        middles = (estimates + answers[:, None]) / 2
        return np.hstack([estimates > self.counts, middles > self.counts, estimates > answers[:, None]]).astype(
            np.float64
        )
