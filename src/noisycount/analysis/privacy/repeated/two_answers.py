"""What two answers with two-sided geometric noise hide of their count."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.privacy.repeated.weighed import Weighed
from noisycount.model.laws.expansion import Reals

__all__ = ["two_hide"]

_ROUNDINGS = 10.0  # of each of the sums of at most as many terms as there are distances
_LARGEST = 600.0  # an exponent whose exponential does not overflow, nor its products


@dataclass(frozen=True, eq=False)
class _Side:
    """X = Σ_i w_i·L(i)/L(0) over the places i >= 0 of one side of the threshold.

    With answers at distances d >= 0 on this side, each has the factor e^(s·(d − |i − d|)) in
    L(i)/L(0); on the other side it has e^(−s·i).

    Attributes:
        chances: Those of each distance of an answer that lies on this side.
        neither: X if no answer does.
        either: X if one does, for each distance.
        rises: Σ w_i·e^(2·s·i) over i < d, for each distance.
        sums: Σ w_i over i < d.
        growths: e^(2·s·d).
    """

    chances: Reals
    neither: float
    either: Reals
    rises: Reals
    sums: Reals
    growths: Reals

    @classmethod
    def of(cls, places: Reals, weights: Reals, slope: float, first: float) -> "_Side":
        """A side with weights at rising places, and answers at a first distance, and on from it."""
        last = int(places[-1])
        ranks = np.arange(last + 1.0)
        distances = ranks + first
        chances = -math.expm1(-slope) * np.exp(-slope * ranks)
        chances[-1] = math.exp(-slope * last)
        reached = np.searchsorted(places, ranks, side="right")
        falls = np.exp(-2 * slope * np.maximum(0.0, places[:, None] - distances))
        rises = weights * _exponential(2 * slope * places)
        return cls(
            chances,
            float(weights @ np.exp(-2 * slope * places)),
            np.maximum.accumulate(weights @ falls),
            _up_to(rises, reached),
            _up_to(weights, reached),
            _exponential(2 * slope * distances),
        )

    def both(self, most: float) -> float:
        """E min(X, most) if both answers lie on this side.

        Where the nearer one lies at a distance, X grows with that of the other: up to a place.
        """
        least = (most - self.rises) / self.growths + self.sums
        nearest = np.arange(self.either.size)
        ends = np.maximum(self.either.searchsorted(least), nearest)
        masses, moments = self.beyond
        mass, moment = masses[nearest] - masses[ends], moments[nearest] - moments[ends]
        values = self.rises * mass + self.growths * (moment - self.sums * mass)
        pairs = values + most * masses[ends]
        same = np.minimum(self.rises + self.growths * (self.either - self.sums), most)
        return float(self.chances @ (2 * pairs - self.chances * same))

    def one_each(self, other: "_Side") -> float:
        """E min(X, Z) if one answer lies on this side, and one on the side of Z."""
        ends = other.either.searchsorted(self.either)
        masses, moments = other.beyond
        found: float = self.chances @ (moments[0] - moments[ends] + self.either * masses[ends])
        return found

    @cached_property
    def beyond(self) -> tuple[Reals, Reals]:
        """The chances of each distance and all farther ones, and these times X."""
        masses, moments = np.zeros((2, self.either.size + 1))
        masses[:-1] = np.cumsum(self.chances[::-1])[::-1]
        moments[:-1] = np.cumsum((self.chances * self.either)[::-1])[::-1]
        return masses, moments

    def one(self, most: float) -> float:
        """E min(X, most) if one answer lies on this side."""
        return float(self.chances @ np.minimum(self.either, most))


def two_hide(
    weighed: Weighed, slope: float, steps: int, *, is_centred: bool
) -> tuple[float, float]:
    """Bounds of Σ_y min(Σ_{k >= t} v_k·L_y(k), Σ_{k < t} −v_k·L_y(k)) for two answers.

    They are apart by rounding: sums over pairs of distances are differences of sums over one.

    Args:
        weighed: v around the threshold t.
        slope: Of the noise, for a step of the grid.
        steps: How many steps a record has.
        is_centred: Whether answers lie on the places of the grid, or else between them.
    """
    above, below = weighed.above, weighed.below
    first = 1.0 if is_centred else 0.5
    upper = _Side.of(steps * np.arange(float(above.size)), above, slope, first)
    lower = _Side.of(steps * np.arange(1.0, below.size + 1), below, slope, first)
    beside = math.exp(-slope)
    beyond, middle = (beside / (1 + beside), math.tanh(slope / 2)) if is_centred else (0.5, 0.0)
    hidden = (
        beyond**2 * (upper.both(lower.neither) + lower.both(upper.neither))
        + 2 * beyond**2 * upper.one_each(lower)
        + 2 * beyond * middle * (upper.one(lower.neither) + lower.one(upper.neither))
        + middle**2 * min(upper.neither, lower.neither)
    )
    distances = max(upper.chances.size, lower.chances.size)
    error = _ROUNDINGS * distances**2 * 2.0**-53 * float(above.sum() + below.sum())
    return hidden - error, hidden + error


def _up_to(terms: Reals, reached: NDArray[np.intp]) -> Reals:
    """The sums of the first terms, for each number of them."""
    sums: Reals = np.concatenate([[0.0], np.cumsum(terms)])
    return sums[reached]


def _exponential(logs: Reals) -> Reals:
    """Their exponentials, none of which overflows."""
    exponentials: Reals = np.exp(np.minimum(logs, _LARGEST))
    return exponentials
