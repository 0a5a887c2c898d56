"""What two-sided geometric noise on a grid hides of a count that is answered several times."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np

from noisycount.analysis.privacy.repeated.clusters import Clusters
from noisycount.analysis.privacy.repeated.paths import Paths
from noisycount.analysis.privacy.repeated.two_answers import two_hide
from noisycount.analysis.privacy.repeated.weighed import Weighed
from noisycount.model.laws.expansion import Reals

__all__ = ["Chain"]

Law = TypeVar("Law", Clusters, Paths)

_LARGEST = 600.0  # an exponent whose exponential does not overflow, nor its products
_TWO = 2  # answers, which are summed directly
_DEVIATIONS = 1.0  # of the growth of X over one record, by which values are told apart farther
_MOST_PATHS = 6000  # values of X, in all cases, that are listed
_UNIT = 2.0**-53
_PER_PLACE = 64.0  # roundings beside those of a sum over the cases


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
        width: About how much neighbouring values of X may differ in their logarithms.
    """

    answers: int
    slope: float
    steps: int
    is_centred: bool
    width: float

    def hidden(
        self, windows: Sequence[Weighed], *, with_most: bool = True
    ) -> list[tuple[float, float]]:
        """Bounds of Σ_y min(Σ_{k >= t} v_k·L_y(k), Σ_{k < t} −v_k·L_y(k)), t the threshold.

        Args:
            windows: v around one or more thresholds.
            with_most: Whether the upper bounds are wanted; else they may be infinite.
        """
        if self.answers == _TWO:
            return [
                two_hide(one, self.slope, self.steps, is_centred=self.is_centred) for one in windows
            ]
        if all(self._has_few_paths(one) for one in windows):
            return [self._listed(one) for one in windows]
        shape = self.answers + 1, 2 * len(windows)
        spread = _DEVIATIONS * self.slope * self.steps * math.sqrt(self.answers)
        nothing = Clusters.nothing(shape, self.slope, self.width, spread, with_moments=with_most)
        sides = _sides(windows)
        typical = self._typical(sides)
        typical[0] = np.repeat((typical[0, ::2] + typical[0, 1::2]) / 2, 2)
        laws = self._laws(nothing, sides, typical)
        beyond = self._other_side(laws)
        return [
            self._bounds(one, *laws.of(place).minimum(beyond.of(place + 1), self._chances))
            for place, one in zip(range(0, 2 * len(windows), 2), windows, strict=True)
        ]

    def _has_few_paths(self, one: Weighed) -> bool:
        """Whether the numbers of answers at all places of a window follow in few ways."""
        places = max(one.above.size, one.below.size) * self.steps
        return math.comb(places + self.answers + 1, self.answers) <= _MOST_PATHS

    def _listed(self, one: Weighed) -> tuple[float, float]:
        """What is hidden of one window, from all ways in which numbers of answers follow."""
        nothing, sides = Paths.nothing(self.answers + 1, self.slope), _sides([one])
        above, below = (
            self._laws(nothing, side[:, None], np.zeros((len(side), 1))) for side in sides.T
        )
        return self._bounds(one, *above.minimum(self._other_side(below), self._chances))

    def _other_side(self, laws: Law) -> Law:
        """The laws given the numbers of answers on the other side of the threshold.

        Those that are not beyond the threshold are on its other side, or on it.
        """
        return laws.mixed(self._thinned).turned if self.is_centred else laws.turned

    def _bounds(self, one: Weighed, least: float, most: float) -> tuple[float, float]:
        """Bounds of what is hidden, with rounding."""
        places = self.steps * (one.above.size + one.below.size)
        rounding = _UNIT * (self.answers + _PER_PLACE) * places
        return one.scale * least * (1 - rounding), one.scale * most * (1 + rounding)

    def _laws(self, nothing: Law, sides: Reals, typical: Reals) -> Law:
        """The laws of X_0 over some sides, given each number of answers beyond the threshold.

        Where answers lie between places, X_j is kept times √(L(j)/L(j − 1)) as it would be with
        D = C_j: so each factor depends on one number of answers.

        Args:
            nothing: X = 0.
            sides: The weights of the records from the threshold on, a column for each side.
            typical: The logarithms of typical sums from each record on.
        """
        halves = 2 if self.is_centred else 1  # of the factor that is known from C_j alone
        found = nothing.added(sides[-1], typical[-1])
        for weights, logs in zip(sides[-2::-1], typical[-2::-1], strict=True):
            found = (found if self.is_centred else found.grown(1)).mixed(self._thinned)
            for _ in range(self.steps - 1):
                found = found.grown(2).mixed(self._thinned)
            found = found.grown(halves).added(weights, logs)
        return found

    def closeness(self, distances: Reals) -> Reals:
        """The logarithm of Σ √(L(k)·L(k + d)) for distances d in records."""
        places = distances * self.steps
        growth = math.tanh(self.slope / 2) if self.is_centred else math.sinh(self.slope / 2)
        logs: Reals = self.answers * (np.log1p(places * growth) - places * self.slope / 2)
        return logs

    def _typical(self, sides: Reals) -> Reals:
        """The logarithm of X from each record on, with as many answers beyond it as on average."""
        rise = self.slope * self.steps
        beyond = self.answers * self._beyond * np.exp(-rise * np.arange(len(sides) + 1))
        growths = np.minimum(_LARGEST, rise * (beyond[:-1] + beyond[1:] - self.answers))
        with np.errstate(divide="ignore"):
            logs: Reals = np.maximum(np.log(sides), -_LARGEST)
        for place in range(len(sides) - 2, -1, -1):
            following = np.maximum(-_LARGEST, growths[place] + logs[place + 1])
            logs[place] = np.logaddexp(logs[place], following)
        return logs

    @property
    def _beyond(self) -> float:
        """How likely an answer is beyond the threshold."""
        chance = math.exp(-self.slope)
        return chance / (1 + chance) if self.is_centred else 0.5

    @property
    def _thinned(self) -> Reals:
        """The chances of C_{j + 1} given C_j, a row for each."""
        return _binomials(math.exp(-self.slope), self.answers)

    @property
    def _chances(self) -> Reals:
        """Those of C_0 under the threshold."""
        chances: Reals = _binomials(self._beyond, self.answers)[-1]
        return chances


def _sides(windows: Sequence[Weighed]) -> Reals:
    """The weights from each threshold on, upwards and downwards, a column for each, over scales."""
    rows = 1 + max(max(one.above.size - 1, one.below.size) for one in windows)
    sides = np.zeros((rows, 2 * len(windows)))
    for place, one in enumerate(windows):
        sides[: one.above.size, 2 * place] = one.above / one.scale
        sides[1 : 1 + one.below.size, 2 * place + 1] = one.below / one.scale
    return sides


@lru_cache(maxsize=16)
def _binomials(rate: float, last: int) -> Reals:
    """The chances of 0, …, last successes in 0, …, last trials, a row for each number of trials."""
    numbers = np.arange(last + 1.0)
    logs = np.concatenate([[0.0], np.cumsum(np.log(numbers[1:]))])
    failures = numbers[:, None] - numbers
    possible = np.maximum(failures, 0.0)
    ways = logs[:, None] - logs - logs[possible.astype(np.intp)]
    with np.errstate(divide="ignore", invalid="ignore"):
        told = np.where(numbers > 0, numbers * np.log(rate), 0.0)
    chances: Reals = np.exp(ways + told + possible * math.log1p(-rate))
    return np.where(failures < 0, 0.0, chances)
