"""Records of many different rates, and the few kinds that stand for all of them in smooth sums."""

import math
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from noisycount.model.laws.expansion import Reals
from noisycount.model.populations.strata.law import WIDE, sum_of_binomials

__all__ = ["Kinds"]

_PANEL = 2.0  # log-odds: logarithms of transforms are analytic within π of them, seen from each
_NODES = 16  # of a rule for a panel, which leaves 1e-17 of what a panel adds to such a logarithm
_NOTHING = 1e-13  # of a vector of length 1: rounding is all that is left of it


@dataclass(frozen=True, slots=True, eq=False)
class Kinds:
    """Independent records, each with one of several rates.

    What a wide law needs of them are sums of functions that are smooth in the log-odds. Gauss's
    rules for the records in each panel of log-odds have those sums to all digits.

    Attributes:
        sizes: The number of records of each kind, positive, shape (kinds,).
        log_odds: The log-odds of their rates, rising, shape (kinds,).
        few: The sizes and the log-odds of the kinds that stand for them, shape (2, few).
    """

    sizes: Reals
    log_odds: Reals
    few: Reals = field(init=False)

    def __post_init__(self) -> None:
        panels = np.floor(self.log_odds / _PANEL)
        edges = [0, *(np.flatnonzero(np.diff(panels)) + 1).tolist(), panels.size]
        parts = [
            _gauss_rule(self.sizes[first:last], self.log_odds[first:last])
            for first, last in pairwise(edges)
        ]
        object.__setattr__(self, "few", np.concatenate(parts, axis=1))

    @property
    def total(self) -> int:
        """The number of records."""
        return int(self.sizes.sum())

    @property
    def mirrored(self) -> "Kinds":
        """The records that do not satisfy the predicate."""
        return Kinds(self.sizes[::-1], -self.log_odds[::-1])

    def moments(self, tilt: float) -> tuple[float, float]:
        """The mean and the variance of the count under tilted rates."""
        rates, complements = _rates(self.few[1] + tilt)
        return float(self.few[0] @ rates), float(self.few[0] @ (rates * complements))

    def log_growth(self, tilt: float) -> float:
        """Σ n·(ln(1 − p + p·e^θ) − θ·p) for the tilt θ, the mean taken out."""
        rates, _ = _rates(self.few[1])
        return float(self.few[0] @ (np.log1p(rates * math.expm1(tilt)) - rates * tilt))

    def law(self, tilt: float) -> tuple[int, Reals]:
        """The first count, and the log-probabilities around the mean, under tilted rates."""
        is_wide = self.moments(tilt)[1] > WIDE**2
        sizes, log_odds = self.few if is_wide else (self.sizes, self.log_odds)
        return sum_of_binomials(sizes, *_rates(log_odds + tilt))


def _rates(log_odds: Reals) -> tuple[Reals, Reals]:
    """The rates with these log-odds, and their complements."""
    shrunk = np.exp(-np.abs(log_odds))
    large, small = 1 / (1 + shrunk), shrunk / (1 + shrunk)
    return np.where(log_odds >= 0, large, small), np.where(log_odds >= 0, small, large)


def _gauss_rule(weights: Reals, places: Reals) -> Reals:
    """Fewer weights and places with the same sums of smooth functions, shape (2, nodes).

    The nodes are the eigenvalues of the matrix that Lanczos's method makes of the places.

    Source: Golub and Welsch (1969).
    """
    if places.size <= _NODES:
        return np.stack([weights, places])
    total, middle = float(weights.sum()), float(places[0] + places[-1]) / 2
    basis = np.empty((_NODES, places.size))
    basis[0] = np.sqrt(weights / total)
    diagonal, beside = np.empty(_NODES), np.empty(_NODES)
    size = _NODES
    for row in range(_NODES):
        image = (places - middle) * basis[row]
        diagonal[row] = image @ basis[row]
        for _ in range(2):  # as rounding is not orthogonal
            image -= (basis[: row + 1] @ image) @ basis[: row + 1]
        beside[row] = math.sqrt(image @ image)
        if beside[row] <= _NOTHING:
            size = row + 1
            break
        if row + 1 < _NODES:
            basis[row + 1] = image / beside[row]
    matrix = np.diag(diagonal[:size]) + np.diag(beside[: size - 1], 1)
    nodes, vectors = np.linalg.eigh(matrix, UPLO="U")
    return np.stack([total * vectors[0] ** 2, middle + nodes])
