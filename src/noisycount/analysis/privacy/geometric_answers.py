"""Several answers about one count with Laplace noises, continuous or discrete, of one scale."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

import numpy as np

from noisycount.analysis.privacy.bounds import Between, Bounded
from noisycount.analysis.privacy.clusters import Clusters, Paths
from noisycount.analysis.privacy.pairs import Pair
from noisycount.analysis.privacy.two_answers import (
    Weighed,
    hidden_by_count_pairs,
    hidden_by_two_answers,
    weighed,
    window,
)
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

Law = TypeVar("Law", Clusters, Paths)
_LARGEST = 600.0  # an exponent whose exponential does not overflow, nor its products
_TWO = 2  # answers, which are summed directly
_DEVIATIONS = 1.0  # of the growth of X over one record, by which values are told apart farther
_MOST_PATHS = 6000  # values of X, in all cases, that are listed
_UNIT = 2.0**-53
_PER_PLACE = 64.0  # roundings beside those of a sum over the cases


@frozen(eq=False, slots=False)
class Chain:
    """q answers on a grid, each at a distance from the count that is geometric, on either side.

    With C_j answers beyond place j of the grid, seen from the threshold, the likelihoods of neighbouring places have
    the ratio L(j + 1)/L(j) = e^(s·(C_j + D − q)), s the slope of a step, D = C_j where answers lie on the places and
    C_{j + 1} where they lie between them. And C_{j + 1} is binomial given C_j, with the chance e^−s that an answer
    beyond a place is beyond the next one, as geometric laws forget. So X_j = Σ_{i >= j} v_i·L(i)/L(j), which is
    v_j + L(j + 1)/L(j)·X_{j + 1}, has a law given C_j that is found from the far end of a window to the threshold, on
    both sides of it; given C_0 the two sides are independent.

    Attributes:
        is_centred: Whether answers may lie on the places, as those of noise on the grid; else they lie between them, as
            the cells of a grid do in which noise with a density falls.
    """

    answers: int  # the number q of answers
    slope: float  # s, of a step of the grid
    steps: int  # how many steps a record has
    is_centred: bool
    width: float  # about how much neighbouring values of X may differ in their logarithms

    def hidden(self, windows: Sequence[Weighed], *, with_most: bool = True) -> list[tuple[float, float]]:
        """Bounds of Σ_y min(Σ_{k >= t} v_k·L_y(k), Σ_{k < t} −v_k·L_y(k)), t the threshold."""
        if self.answers == _TWO:
            return [hidden_by_two_answers(one, self.slope, self.steps, is_centred=self.is_centred) for one in windows]
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
        above, below = (self._laws(nothing, side[:, None], np.zeros((len(side), 1))) for side in sides.T)
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

        Where answers lie between places, X_j is kept times √(L(j)/L(j − 1)) as it would be with D = C_j: so each factor
        depends on one number of answers.
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
        return self.answers * (np.log1p(places * growth) - places * self.slope / 2)

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
        return _binomials(self._beyond, self.answers)[-1]


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


_MOST_ANSWERS = 256  # of which the chain keeps the number; of more, some tell less than all
_WIDEST = 2000  # places of a window, on each side of the threshold
_ROUNDING = 1e-13  # of δ without noise, beside that of what is hidden
_LEFT_OUT = 3e-6  # of δ: what far counts weigh that are left out of a window
_APART = -16.0  # e^−16 of what noise hides is less than the bounds are apart
_CLOSER = -11.0  # is enough where few records lie beyond
_GRID = 2e-4  # of δ: what grids are meant to change of it, that of values and that of answers
_GRID_OF_TWO = 5e-6  # of two answers, whose sums have no grid of values
_FEW = 32  # answers that leave more than a pair of counts open
_STEPS_OF_TWOS = 4
_MOST_PLACES = 1e5  # of the law of a likelihood ratio
_NOTHING = 1e-8  # of δ: what is hidden, where it need not be found
_OF_VALUES = 0.4  # times the square of a step of logarithms, about: what that changes of the hidden
_OF_ANSWERS = 0.14  # times answers and the square of a step of a grid over the scale
_GROWING = 0.3  # a power of their number
_COARSEST = 0.4  # step of logarithms
_FINEST = 0.01
_LEAST_LEFT = 0.05  # of δ without noise, for which grids are made fine
_MOST_STEPS = 64  # of a record
_SHARE = 1 / 2  # of the way up, where the truth is about


@frozen
class GeometricAnswers:
    """q answers with two-sided geometric noise, or with Laplace noise.

    Laplace noise of scale b is discrete Laplace noise of that scale on a grid, and a rest that is independent: an
    adversary who gets the answers without the rest can only know more. And in which cells of a grid the answers lie is
    a function of them: it can only tell less.
    """

    answers: int  # the number q of answers
    scale: float  # of the noise, in records
    is_discrete: bool  # whether it lives on the integers

    def hockey_sticks(self, pairs: Sequence[Pair], epsilons: list[float]) -> list[list[Bounded]]:
        """δ in one direction, for each pair of laws and each ε."""
        reach, near = (window(self._closeness, _WIDEST, apart) for apart in (_APART, _CLOSER))
        found = [weighed(pair, epsilons, reach) for pair in pairs]
        windows = [[self._shortened(one, near) for one in each] for each in found]
        rows = [self._bounded(at_one) for at_one in zip(*windows, strict=True)]
        return [list(row) for row in zip(*rows, strict=True)]

    def _shortened(self, one: Weighed, near: int) -> Weighed:
        """A window without counts at its ends that change little."""
        if not one.is_hidden:
            return one
        allowed = _LEFT_OUT * one.known.value
        heavy = one.shortened(_WIDEST, allowed)
        few = heavy.shortened(near, 0.0)
        is_enough = few.missed(self._closeness) <= heavy.missed(self._closeness) + allowed
        return few if is_enough else heavy

    def _bounded(self, windows: Sequence[Weighed]) -> list[Bounded]:
        """δ₊ for each of some windows at one ε."""
        known = {place: self._known(one) for place, one in enumerate(windows)}
        open_ones = [place for place, one in known.items() if one is None]
        if open_ones:
            found = self._found([windows[place] for place in open_ones])
            known.update(zip(open_ones, found, strict=True))
        return [one for one in known.values() if one is not None]

    def _known(self, one: Weighed) -> Bounded | None:
        """δ₊ where noise hides next to nothing, or where there is nothing to hide."""
        if not one.is_hidden:
            return one.known
        if one.known.upper < _ROUNDING:  # noise can only lower it
            return Between.of_bounds(0.0, one.known.upper)
        hidden = one.hidden_at_most(self._closeness)
        if hidden <= _NOTHING * one.known.upper:
            return Between.of_bounds(one.least(hidden, self._closeness), one.most(0.0), _SHARE)
        return self._by_twos(one) if self.answers > _FEW else None

    def _by_twos(self, one: Weighed) -> Bounded | None:
        """δ₊ where one pair of counts is all that many answers leave open; else None."""
        steps = 1 if self.is_discrete else _STEPS_OF_TWOS
        places = steps * (one.above.size + one.below.size)
        if self.answers * places > _MOST_PLACES:
            return None
        seen = Chain(self.answers, 1 / (self.scale * steps), steps, self.is_discrete, _COARSEST)
        least, most = hidden_by_count_pairs(one, self.answers, seen.slope, steps, is_centred=seen.is_centred)
        if not self.is_discrete:
            least, _ = hidden_by_count_pairs(one, self.answers, seen.slope, steps, is_centred=True)
        if most - least > _GRID * one.known.upper:
            return None
        return _between(one, least, most, seen)

    def _found(self, windows: Sequence[Weighed]) -> list[Bounded]:
        """δ₊ between what is told on a grid, and what is seen on it."""
        seen = self._chain(windows)
        hidden = seen.hidden(windows)
        least = [low for low, _ in hidden]
        if self.answers > _MOST_ANSWERS:
            least = [0.0] * len(windows)
        elif not self.is_discrete:
            told = replace(seen, is_centred=True).hidden(windows, with_most=False)
            least = [low for low, _ in told]
        return [_between(one, low, most, seen) for one, low, (_, most) in zip(windows, least, hidden, strict=True)]

    def _chain(self, windows: Sequence[Weighed]) -> Chain:
        """Answers on a grid, or in the cells of one, that is fine enough for some windows."""
        answers = min(self.answers, _MOST_ANSWERS)
        # Two answers tell about as much if their scale is as that of the mean.
        scale = self.scale * math.sqrt(_TWO / answers)
        hidden = [hidden_by_two_answers(one, 1 / scale, 1, is_centred=True)[0] for one in windows]
        share = max(
            max(some, _NOTHING * one.known.value) / max(one.known.value - some, _LEAST_LEFT * one.known.value)
            for some, one in zip(hidden, windows, strict=True)
        )
        share *= math.sqrt(1 + share)  # it is further off where noise hides most
        width = min(_COARSEST, max(_FINEST, math.sqrt(_GRID / (_OF_VALUES * share))))
        if self.is_discrete:
            return Chain(answers, 1 / self.scale, 1, is_centred=True, width=width)
        grid = _GRID_OF_TWO if answers == _TWO else _GRID
        step = self.scale * math.sqrt(grid / (_OF_ANSWERS * answers**_GROWING * share))
        widest = max(max(one.above.size, one.below.size) for one in windows)
        most = max(1, min(_MOST_STEPS, _WIDEST // widest))
        steps = min(most, max(1, math.ceil(1 / step)))
        return Chain(answers, 1 / (self.scale * steps), steps, is_centred=False, width=width)

    def _closeness(self, distances: Reals) -> Reals:
        """The logarithm of Σ √(L(k)·L(k + d)), or of the integral, for distances d in records."""
        half = 1 / (2 * self.scale)
        growth = math.tanh(half) if self.is_discrete else half
        return self.answers * (np.log1p(distances * growth) - distances * half)


def _between(one: Weighed, least: float, most: float, seen: Chain) -> Bounded:
    """δ₊ if noise hides at least, and at most, so much of a window."""
    lower = one.least(most, seen.closeness) - _ROUNDING
    return Between.of_bounds(lower, one.most(least) + _ROUNDING, _SHARE)
