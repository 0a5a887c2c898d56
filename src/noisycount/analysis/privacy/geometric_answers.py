"""Divergences of several answers about one count with Laplace noise, continuous or discrete, of one scale.

`GeometricAnswers` bounds δ for any number of answers. `Chain` computes the part of δ that noise hides, for answers on
a grid.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

import numpy as np

from noisycount.analysis.privacy.bounds import Bounded, BoundedProbability
from noisycount.analysis.privacy.clusters import Clusters, Paths
from noisycount.analysis.privacy.pairs import Pair
from noisycount.analysis.privacy.two_answers import (
    WeightedWindow,
    hidden_by_count_pairs,
    hidden_by_two_answers,
    weighted_windows,
    window,
)
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

Law = TypeVar("Law", Clusters, Paths)
_LARGEST = 600.0  # largest exponent: the exponential and its products do not overflow
_TWO = 2  # number of answers whose sums are computed directly
_DEVIATIONS = 1.0  # range of the logarithm of X that is resolved further, in units of its growth over one record
_MOST_PATHS = 6000  # largest number of values of X, over all cases, that are listed
_UNIT = 2.0**-53
_PER_PLACE = 64.0  # rounding errors at each grid point, in addition to those of a sum over the cases


@frozen(eq=False, slots=False)
class Chain:
    """Markov chain of the number of answers beyond each grid point, for q answers with geometric noise.

    The grid starts at the threshold, on either side of it. Let C_j be the number of answers beyond grid point j, and s
    the change of the log-likelihood of one answer in one step. The likelihoods L of neighbouring grid points have the
    ratio L(j + 1)/L(j) = e^(s·(C_j + D − q)). D is C_j if the answers lie on the grid points, and C_{j + 1} if they lie
    between them. As geometric distributions are memoryless, C_{j + 1} is binomial given C_j: an answer beyond a grid
    point is beyond the next one with probability e^−s.

    Let v_i be the weights of the counts, and X_j = Σ_{i >= j} v_i·L(i)/L(j) = v_j + L(j + 1)/L(j)·X_{j + 1}. Its
    distribution given C_j is computed from the far end of a window to the threshold, on both sides. The two sides are
    independent given C_0.

    Attributes:
        is_centred: True if the answers may lie on the grid points, as with noise on the grid. False if they lie between
            the grid points, as the cells of a grid in which continuous noise falls.
    """

    answers: int  # number q of answers
    slope: float  # s, for one step of the grid
    steps: int  # number of steps for each record
    is_centred: bool
    width: float  # approximate distance of neighbouring values of X, as logarithms

    def hidden_parts(self, windows: Sequence[WeightedWindow], *, with_most: bool = True) -> list[tuple[float, float]]:
        """Return bounds of the hidden part of each window, as `WeightedWindow` defines it.

        If not `with_most`, the upper bounds may be infinite.
        """
        if self.answers == _TWO:
            return [hidden_by_two_answers(one, self.slope, self.steps, is_centred=self.is_centred) for one in windows]
        if all(self._has_few_paths(one) for one in windows):
            return [self._hidden_by_enumeration(one) for one in windows]
        shape = self.answers + 1, 2 * len(windows)
        spread = _DEVIATIONS * self.slope * self.steps * math.sqrt(self.answers)
        nothing = Clusters.zero(shape, self.slope, self.width, spread, with_moments=with_most)
        sides = _weights_above(windows)
        typical = self._logs_at_mean_answers(sides)
        typical[0] = np.repeat((typical[0, ::2] + typical[0, 1::2]) / 2, 2)
        laws = self._laws_at_threshold(nothing, sides, typical)
        beyond = self._other_side(laws)
        return [
            self._bounds_with_rounding(
                one, *laws.of_number(place).expected_minimum(beyond.of_number(place + 1), self._threshold_probabilities)
            )
            for place, one in zip(range(0, 2 * len(windows), 2), windows, strict=True)
        ]

    def _has_few_paths(self, one: WeightedWindow) -> bool:
        """Return True if the numbers of answers at the grid points of a window have few possible sequences."""
        places = max(one.above.size, one.below.size) * self.steps
        return math.comb(places + self.answers + 1, self.answers) <= _MOST_PATHS

    def _hidden_by_enumeration(self, one: WeightedWindow) -> tuple[float, float]:
        """Return bounds of the hidden part of one window, by listing all sequences of numbers of answers."""
        nothing, sides = Paths.zero(self.answers + 1, self.slope), _weights_above([one])
        above, below = (self._laws_at_threshold(nothing, side[:, None], np.zeros((len(side), 1))) for side in sides.T)
        return self._bounds_with_rounding(
            one, *above.expected_minimum(self._other_side(below), self._threshold_probabilities)
        )

    def _other_side(self, laws: Law) -> Law:
        """Return the distributions given the numbers of answers on the other side of the threshold.

        Answers that are not beyond the threshold are on its other side. If `is_centred`, they may also be on the
        threshold.
        """
        return (
            laws.mix_cases(self._thinning_matrix).with_cases_reversed if self.is_centred else laws.with_cases_reversed
        )

    def _bounds_with_rounding(self, one: WeightedWindow, least: float, most: float) -> tuple[float, float]:
        """Return bounds of the hidden part of a window, widened by the rounding error."""
        places = self.steps * (one.above.size + one.below.size)
        rounding = _UNIT * (self.answers + _PER_PLACE) * places
        return one.scale * least * (1 - rounding), one.scale * most * (1 + rounding)

    def _laws_at_threshold(self, nothing: Law, sides: Reals, typical: Reals) -> Law:
        """Return the distributions of the sum X_0 at the threshold for some sides, given the answers beyond it."""
        halves = 2 if self.is_centred else 1  # halves of the ratio that depend on C_j alone
        found = nothing.add_numbers(sides[-1], typical[-1])
        for weights, logs in zip(sides[-2::-1], typical[-2::-1], strict=True):
            found = (found if self.is_centred else found.scaled_by_case(1)).mix_cases(self._thinning_matrix)
            for _ in range(self.steps - 1):
                found = found.scaled_by_case(2).mix_cases(self._thinning_matrix)
            found = found.scaled_by_case(halves).add_numbers(weights, logs)
        return found

    def closeness(self, distances: Reals) -> Reals:
        """Return ln Σ √(L(k)·L(k + d)) over the answers, for likelihoods L of counts at distances d."""
        places = distances * self.steps
        growth = math.tanh(self.slope / 2) if self.is_centred else math.sinh(self.slope / 2)
        return self.answers * (np.log1p(places * growth) - places * self.slope / 2)

    def _logs_at_mean_answers(self, sides: Reals) -> Reals:
        """Return ln X of the class from each record on, if each number of answers beyond a record were its mean."""
        rise = self.slope * self.steps
        beyond = self.answers * self._beyond_probability * np.exp(-rise * np.arange(len(sides) + 1))
        growths = np.minimum(_LARGEST, rise * (beyond[:-1] + beyond[1:] - self.answers))
        with np.errstate(divide="ignore"):
            logs: Reals = np.maximum(np.log(sides), -_LARGEST)
        for place in range(len(sides) - 2, -1, -1):
            following = np.maximum(-_LARGEST, growths[place] + logs[place + 1])
            logs[place] = np.logaddexp(logs[place], following)
        return logs

    @property
    def _beyond_probability(self) -> float:
        """Probability that an answer is beyond the threshold."""
        chance = math.exp(-self.slope)
        return chance / (1 + chance) if self.is_centred else 0.5

    @property
    def _thinning_matrix(self) -> Reals:
        """Probabilities of the number of answers beyond a grid point, given that beyond the point before (rows)."""
        return _binomial_table(math.exp(-self.slope), self.answers)

    @property
    def _threshold_probabilities(self) -> Reals:
        """Probabilities of the number of answers beyond the threshold."""
        return _binomial_table(self._beyond_probability, self.answers)[-1]


def _weights_above(windows: Sequence[WeightedWindow]) -> Reals:
    """Return the weights from each threshold on, divided by the largest weight of the window.

    Shape (records, 2·windows): one column upwards from the threshold and one downwards for each window.
    """
    rows = 1 + max(max(one.above.size - 1, one.below.size) for one in windows)
    sides = np.zeros((rows, 2 * len(windows)))
    for place, one in enumerate(windows):
        sides[: one.above.size, 2 * place] = one.above / one.scale
        sides[1 : 1 + one.below.size, 2 * place + 1] = one.below / one.scale
    return sides


@lru_cache(maxsize=16)
def _binomial_table(rate: float, last: int) -> Reals:
    """Return the probabilities of 0..last successes (columns) in 0..last trials (rows)."""
    numbers = np.arange(last + 1.0)
    logs = np.concatenate([[0.0], np.cumsum(np.log(numbers[1:]))])
    failures = numbers[:, None] - numbers
    possible = np.maximum(failures, 0.0)
    ways = logs[:, None] - logs - logs[possible.astype(np.intp)]
    with np.errstate(divide="ignore", invalid="ignore"):
        told = np.where(numbers > 0, numbers * np.log(rate), 0.0)
    chances: Reals = np.exp(ways + told + possible * math.log1p(-rate))
    return np.where(failures < 0, 0.0, chances)


# Largest number of answers of a chain. For more answers, a chain of 256 bounds the hidden part from above, and 0 bounds
# it from below.
_MOST_ANSWERS = 256
_WIDEST = 2000  # largest number of grid points of a window on each side of the threshold
_ROUNDING = 1e-13  # absolute error of δ without noise, in addition to that of the hidden part
_LEFT_OUT = 3e-6  # largest weight of the counts that are left out of a window, relative to δ without noise
_APART = -16.0  # logarithm: e^−16 of the hidden part is less than the distance of the bounds
_CLOSER = -11.0  # the same for windows with a small weight beyond
_GRID = 2e-4  # relative change of δ that the grid of values and the grid of answers may cause
_GRID_OF_TWO = 5e-6  # the same for two answers, whose sums need no grid of values
_FEW = 32  # number of answers up to which several pairs of counts may be confused by the answers
_STEPS_OF_TWOS = 4  # grid steps for each record if one pair of counts remains
_MOST_PLACES = 1e5  # largest number of points of the distribution of a likelihood ratio
_NOTHING = 1e-8  # hidden part, relative to δ without noise, up to which it is only bounded
_OF_VALUES = 0.4  # approximate relative change of the hidden part, divided by the squared step of the logarithms
# Approximate relative change of the hidden part, divided by the squared step of the grid in scales and by
# answers**_GROWING.
_OF_ANSWERS = 0.14
_GROWING = 0.3  # exponent of the number of answers
_COARSEST = 0.4  # largest step of the logarithms
_FINEST = 0.01  # smallest step of the logarithms
_LEAST_LEFT = 0.05  # smallest δ, relative to δ without noise, for which the grids are made fine enough
_MOST_STEPS = 64  # largest number of grid steps for each record
_SHARE = 1 / 2  # position of the value between its bounds


@frozen
class GeometricAnswers:
    """q answers with discrete Laplace noise (two-sided geometric) or with Laplace noise.

    Laplace noise of scale b is the sum of discrete Laplace noise of that scale on a grid and independent noise. An
    adversary who gets the answers without the independent noise learns at least as much, which bounds δ from above. The
    grid cells in which the answers lie are a function of the answers, which bounds δ from below.
    """

    answers: int  # number q of answers
    scale: float  # scale of the noise, in records
    is_discrete: bool  # True if the noise is an integer

    def hockey_sticks(self, pairs: Sequence[Pair], epsilons: list[float]) -> list[list[Bounded]]:
        """Return δ in one direction, for each pair of distributions (outer list) and each ε (inner list)."""
        reach, near = (window(self._closeness, _WIDEST, apart) for apart in (_APART, _CLOSER))
        found = [weighted_windows(pair, epsilons, reach) for pair in pairs]
        windows = [[self._shorten_window(one, near) for one in each] for each in found]
        rows = [self._delta_bounds(at_one) for at_one in zip(*windows, strict=True)]
        return [list(row) for row in zip(*rows, strict=True)]

    def _shorten_window(self, one: WeightedWindow, near: int) -> WeightedWindow:
        """Return a window without the counts at its ends that change δ little.

        `near` is the number of counts to keep on each side of the threshold, if omitting the others changes little.
        """
        if not one.is_hidden:
            return one
        allowed = _LEFT_OUT * one.known.value
        heavy = one.shortened(_WIDEST, allowed)
        few = heavy.shortened(near, 0.0)
        is_enough = few.misjudged_weight(self._closeness) <= heavy.misjudged_weight(self._closeness) + allowed
        return few if is_enough else heavy

    def _delta_bounds(self, windows: Sequence[WeightedWindow]) -> list[Bounded]:
        """Return δ₊ for each of some windows at one ε."""
        known = {place: self._delta_if_simple(one) for place, one in enumerate(windows)}
        open_ones = [place for place, one in known.items() if one is None]
        if open_ones:
            found = self._delta_from_bounds([windows[place] for place in open_ones])
            known.update(zip(open_ones, found, strict=True))
        return [one for one in known.values() if one is not None]

    def _delta_if_simple(self, one: WeightedWindow) -> Bounded | None:
        """Return δ₊ if the window has one side only or hardly any hidden part; otherwise `_delta_by_count_pairs`."""
        if not one.is_hidden:
            return one.known
        if one.known.upper < _ROUNDING:  # noise can only lower it
            return BoundedProbability.of_bounds(0.0, one.known.upper)
        hidden = one.hidden_at_most(self._closeness)
        if hidden <= _NOTHING * one.known.upper:
            return BoundedProbability.of_bounds(one.lower_delta(hidden, self._closeness), one.upper_delta(0.0), _SHARE)
        return self._delta_by_count_pairs(one) if self.answers > _FEW else None

    def _delta_by_count_pairs(self, one: WeightedWindow) -> Bounded | None:
        """Return δ₊ if many answers leave only one pair of counts undistinguished; else None."""
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
        return _delta_between(one, least, most, seen)

    def _delta_from_bounds(self, windows: Sequence[WeightedWindow]) -> list[Bounded]:
        """Return δ₊ from its bounds: discrete noise on a grid from above, grid cells from below."""
        seen = self._chain_of_windows(windows)
        hidden = seen.hidden_parts(windows)
        least = [low for low, _ in hidden]
        if self.answers > _MOST_ANSWERS:
            least = [0.0] * len(windows)
        elif not self.is_discrete:
            told = replace(seen, is_centred=True).hidden_parts(windows, with_most=False)
            least = [low for low, _ in told]
        return [
            _delta_between(one, low, most, seen) for one, low, (_, most) in zip(windows, least, hidden, strict=True)
        ]

    def _chain_of_windows(self, windows: Sequence[WeightedWindow]) -> Chain:
        """Return the chain of the answers on a grid that is fine enough for some windows."""
        answers = min(self.answers, _MOST_ANSWERS)
        # The mean of the answers hides about as much as two answers whose mean has the same scale.
        scale = self.scale * math.sqrt(_TWO / answers)
        hidden = [hidden_by_two_answers(one, 1 / scale, 1, is_centred=True)[0] for one in windows]
        share = max(
            max(some, _NOTHING * one.known.value) / max(one.known.value - some, _LEAST_LEFT * one.known.value)
            for some, one in zip(hidden, windows, strict=True)
        )
        share *= math.sqrt(1 + share)  # the estimate is too low if noise hides most of δ
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
        """Return the log Bhattacharyya coefficient ln Σ √(L(k)·L(k + d)) of counts at distances d in records.

        If the noise is continuous, it is an integral over the answers in place of the sum.
        """
        half = 1 / (2 * self.scale)
        growth = math.tanh(half) if self.is_discrete else half
        return self.answers * (np.log1p(distances * growth) - distances * half)


def _delta_between(one: WeightedWindow, least: float, most: float, seen: Chain) -> Bounded:
    """Return δ₊ if noise hides at least `least` and at most `most` of a window."""
    lower = one.lower_delta(most, seen.closeness) - _ROUNDING
    return BoundedProbability.of_bounds(lower, one.upper_delta(least) + _ROUNDING, _SHARE)
