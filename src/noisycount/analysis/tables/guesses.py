"""About where each count lies: least squares on the tree, from which windows and tilts start."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.count_bounds import NO_END
from noisycount.analysis.tables.likelihoods import LevelLikelihood
from noisycount.model.laws.expansion import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.tables.tree import Tree

__all__ = ["Estimates", "estimates", "guesses"]

_WIDE = 1e30  # records²: the variance of a count of which nothing is told
_LITTLE = 0.01  # records
_TOLD = 1e25  # records²: less than that, and more than that of any noise
_LEAST = 1 / 8  # of a part that was made positive: so much of it is left


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """What is told of each count by its own answers and those below, level by level.

    Attributes:
        value: About where it lies, in records.
        deviation: A standard deviation, in records.
        is_told: Whether anything is told of it.
    """

    value: tuple[Reals, ...]
    deviation: tuple[Reals, ...]
    is_told: tuple[NDArray[np.bool_], ...]


def estimates(
    tree: Tree, levels: Sequence[LevelLikelihood], *, is_positive: bool = True
) -> Estimates:
    """Answers and sums of answers, weighed by their variances.

    Args:
        tree: Of the counts.
        levels: What was answered about each level.
        is_positive: Whether counts that would be negative, or nearly so, are made about as large as
            noise lets them be; else they have no bias.
    """
    up = [_answers_of(one, is_positive=is_positive) for one in levels]
    for level in range(tree.depth - 2, -1, -1):
        parents, size = tree.parents(level + 1), tree.sizes[level]
        value, variance = up[level + 1]
        if is_positive:
            up[level + 1] = _positive(value, variance), variance
        total, spread = (_sums(parents, part, size) for part in up[level + 1])
        up[level] = _joined(up[level], (total, np.minimum(spread, _WIDE)))
    values, variances = zip(*up, strict=True)
    told = tuple(variance < _TOLD for variance in variances)
    return Estimates(values, tuple(map(np.sqrt, variances)), told)


def guesses(tree: Tree, told: Estimates) -> list[Reals]:
    """An estimate of each count from all answers, on which no law rests.

    What is missing or too much in a sum is shared in proportion to variances.
    """
    found = [told.value[0]]
    for level in range(1, tree.depth):
        parents, size = tree.parents(level), tree.sizes[level - 1]
        value, variance = told.value[level], told.deviation[level] ** 2
        missing = found[-1] - np.bincount(parents, value, size)
        shares = variance / np.maximum(np.bincount(parents, variance, size), 1e-300)[parents]
        parts = _positive(value + shares * missing[parents], variance)
        # made positive, parts of which little is told may add up to far more than their sum
        excess = np.maximum(np.bincount(parents, parts, size) - found[-1], 0.0)
        found.append(np.maximum(parts - shares * excess[parents], _LEAST * parts))
    return found


def _sums(parents: NDArray[np.int64], values: Reals, size: int) -> Reals:
    """The sums of the values of the children of each node."""
    return np.bincount(parents, values, size).astype(np.float64)


def _positive(values: Reals, variances: Reals) -> Reals:
    """Values made positive within about one standard deviation of 0."""
    spread = np.clip(np.sqrt(variances) / 2, 1e-3, np.abs(values) + 1.0)
    return spread * np.logaddexp(0.0, values / spread)


def _answers_of(level: LevelLikelihood, *, is_positive: bool) -> tuple[Reals, Reals]:
    """The answers of each node as one number and its variance."""
    size = level.bounds.low.size
    value, precision = np.zeros(size), np.full(size, 1 / _WIDE)
    for one in level.answers:
        middle = np.where(one.suppressed, one.answers / 2, one.answers)
        spread = np.where(one.suppressed, np.abs(middle) / 2, 0.0) + _deviation(one.mechanism)
        value[one.nodes] += (np.maximum(middle, 0.0) if is_positive else middle) / spread**2
        precision[one.nodes] += 1 / spread**2
    low, high = level.bounds
    value /= precision
    is_known = low == high
    if is_positive:
        value = np.clip(value, low, np.minimum(high, NO_END))
    return np.where(is_known, low, value), np.where(is_known, 1e-9, 1 / precision)


def _deviation(mechanism: Mechanism) -> float:
    """The standard deviation of noise, and little where there is none."""
    if isinstance(mechanism, SymmetricNoise) and math.isfinite(mechanism.variance):
        return max(math.sqrt(mechanism.variance), _LITTLE)
    return _LITTLE


def _joined(first: tuple[Reals, Reals], second: tuple[Reals, Reals]) -> tuple[Reals, Reals]:
    """Two estimates of the same counts, weighed by their variances."""
    precisions = 1 / np.maximum(first[1], 1e-12), 1 / np.maximum(second[1], 1e-12)
    total = precisions[0] + precisions[1]
    return (precisions[0] * first[0] + precisions[1] * second[0]) / total, 1 / total
