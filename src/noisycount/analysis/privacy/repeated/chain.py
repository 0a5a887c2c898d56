"""What two-sided geometric noise on a grid hides of a count that is answered several times."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from noisycount.analysis.privacy.repeated.spread import Spread
from noisycount.analysis.privacy.repeated.weighed import Weighed
from noisycount.model.laws.expansion import Reals

__all__ = ["Chain"]

_LARGEST = 600.0  # an exponent whose exponential does not overflow, nor its products


@dataclass(frozen=True, eq=False)
class Chain:
    """q answers on a grid, each at a distance from the count that is geometric, on either side.

    With C_j answers beyond place j of the grid, seen from the threshold, the likelihoods of
    neighbouring places have the ratio L(j + 1)/L(j) = e^(s·(C_j + D − q)), s the slope of a step,
    D = C_j where answers lie on the places and C_{j + 1} where they lie between them. And
    C_{j + 1} is binomial given C_j, with the chance e^−s that an answer beyond a place is beyond
    the next one, as geometric laws forget. So X_j = Σ_{i >= j} v_i·L(i)/L(j), which is
    v_j + L(j + 1)/L(j)·X_{j + 1}, has a law given C_j that is found from the far end of a window to
    the threshold, on both sides of it; given C_0 the two sides are independent.

    Attributes:
        answers: The number q of answers.
        slope: s, of a step of the grid.
        steps: How many steps a record has.
        is_centred: Whether answers may lie on the places, as those of noise on the grid; else
            they lie between them, as the cells of a grid do in which noise with a density falls.
    """

    answers: int
    slope: float
    steps: int
    is_centred: bool

    def closeness(self, distances: Reals) -> Reals:
        """The logarithm of Σ √(L(k)·L(k + d)) for distances d in records."""
        places = distances * self.steps
        growth = math.tanh(self.slope / 2) if self.is_centred else math.sinh(self.slope / 2)
        logs: Reals = self.answers * (np.log1p(places * growth) - places * self.slope / 2)
        return logs

    def hidden(self, weighed: Weighed, kept: type[Spread]) -> float:
        """Σ_y min(Σ_{k >= t} v_k·L_y(k), Σ_{k < t} −v_k·L_y(k)), as a mean under the threshold t.

        Args:
            weighed: v around the threshold.
            kept: How many values are kept as few: merged ones hide too much, parted ones too
                little.
        """
        scale = weighed.scale
        above = self._side(weighed.above / scale, 0, kept)
        below = self._side(weighed.below / scale, self.steps, kept)
        # Those that are not beyond the threshold are on its other side, or on it.
        below = below.mixed(self._thinned).turned if self.is_centred else below.turned
        return scale * above.least(below, self._chances)

    def _side(self, weights: Reals, distance: int, kept: type[Spread]) -> Spread:
        """The law of X_0 over one side, given each number of answers beyond the threshold.

        Args:
            weights: v_t, v_{t + 1}, …, or the negative of those below.
            distance: How far from the threshold the first of them lies, in places.
            kept: How many values are kept as few.
        """
        last = (weights.size - 1) * self.steps + distance
        at_places = np.zeros(last + 1)
        at_places[distance :: self.steps] = weights
        found = kept.nothing(self.answers + 1)
        for place in range(last, -1, -1):
            found = found.mixed(self._thinned).moved(*self._step(at_places[place], place))
        return found

    def _step(self, weight: float, place: int) -> tuple[Reals, Reals]:
        """What is added to the number of the next place, and by what that is multiplied.

        Where answers lie between places, X_j is kept times √(L(j)/L(j − 1)) as it would be with
        D = C_j, over a typical value of that: so both depend on C_j alone.
        """
        lean = self.slope * np.arange(-self.answers, self.answers + 1.0, 2) / 2
        if self.is_centred:
            return np.full(lean.size, weight), _exponential(2 * lean)
        here = lean if place else np.zeros_like(lean)
        frame, following = self._frame(place), self._frame(place + 1)
        return weight * _exponential(here - frame), _exponential(here + lean + following - frame)

    def _frame(self, place: int) -> float:
        """The logarithm of a typical √(L(j)/L(j − 1)) at a place j; 0 at the threshold."""
        if self.is_centred or not place:
            return 0.0
        return 0.5 * self.slope * self.answers * math.expm1(-self.slope * place)

    @cached_property
    def _thinned(self) -> Reals:
        """The chances of C_{j + 1} given C_j, a row for each."""
        numbers = range(self.answers + 1)
        rows = [_binomial(number, math.exp(-self.slope), self.answers) for number in numbers]
        return np.stack(rows)

    @cached_property
    def _chances(self) -> Reals:
        """Those of C_0 under the threshold."""
        beyond = 1 / (1 + math.exp(self.slope)) if self.is_centred else 0.5
        return _binomial(self.answers, beyond, self.answers)


def _binomial(number: int, rate: float, last: int) -> Reals:
    """The chances of 0..last successes in a number of trials, 0 beyond it."""
    chances = np.zeros(last + 1)
    if rate == 0:
        chances[0] = 1.0
        return chances
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, number + 1)))])
    counts = np.arange(number + 1)
    ways = logs[-1] - logs - logs[::-1]
    chances[: number + 1] = np.exp(
        ways + counts * math.log(rate) + counts[::-1] * math.log1p(-rate)
    )
    return chances


def _exponential(logs: Reals) -> Reals:
    """Their exponentials, none of which overflows."""
    exponentials: Reals = np.exp(np.minimum(logs, _LARGEST))
    return exponentials
