"""Answers about one count with Laplace noises, continuous or discrete, of one scale."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from noisycount.analysis.privacy.certified import Between, Bounded
from noisycount.analysis.privacy.pairs.pair import Pair
from noisycount.analysis.privacy.repeated.chain import Chain
from noisycount.analysis.privacy.repeated.two_answers import two_hide
from noisycount.analysis.privacy.repeated.two_counts import hidden_by_twos
from noisycount.analysis.privacy.repeated.weighed import Weighed, weighed, window
from noisycount.model.laws.expansion import Reals

__all__ = ["GeometricAnswers"]

_MOST_ANSWERS = 256  # of which the chain keeps the number; of more, some tell less than all
_WIDEST = 2000  # places of a window, on each side of the threshold
_ROUNDING = 1e-13  # of δ without noise, beside that of what is hidden
_LEFT_OUT = 3e-6  # of δ: what far counts weigh that are left out of a window
_APART = -16.0  # e^−16 of what noise hides is less than the bounds are apart
_CLOSER = -11.0  # is enough where few records lie beyond
_GRID = 2e-4  # of δ: what grids are meant to change of it, that of values and that of answers
_GRID_OF_TWO = 5e-6  # of two answers, whose sums have no grid of values
_TWO = 2
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


@dataclass(frozen=True, slots=True)
class GeometricAnswers:
    """q answers with two-sided geometric noise, or with Laplace noise.

    Laplace noise of scale b is discrete Laplace noise of that scale on a grid, and a rest that is
    independent: an adversary who gets the answers without the rest can only know more. And in which
    cells of a grid the answers lie is a function of them: it can only tell less.

    Attributes:
        answers: The number q of answers.
        scale: Of the noise, in records.
        is_discrete: Whether it lives on the integers.
    """

    answers: int
    scale: float
    is_discrete: bool

    def hockey_sticks(self, pairs: Sequence[Pair], epsilons: list[float]) -> list[list[Bounded]]:
        """δ in one direction, for each pair of laws and each ε.

        Args:
            pairs: The laws of the count.
            epsilons: ε >= 0, rising.
        """
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
        least, most = hidden_by_twos(
            one, self.answers, seen.slope, steps, is_centred=seen.is_centred
        )
        if not self.is_discrete:
            least, _ = hidden_by_twos(one, self.answers, seen.slope, steps, is_centred=True)
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
        return [
            _between(one, low, most, seen)
            for one, low, (_, most) in zip(windows, least, hidden, strict=True)
        ]

    def _chain(self, windows: Sequence[Weighed]) -> Chain:
        """Answers on a grid, or in the cells of one, that is fine enough for some windows."""
        answers = min(self.answers, _MOST_ANSWERS)
        # Two answers tell about as much if their scale is as that of the mean.
        scale = self.scale * math.sqrt(_TWO / answers)
        hidden = [two_hide(one, 1 / scale, 1, is_centred=True)[0] for one in windows]
        share = max(
            max(some, _NOTHING * one.known.value)
            / max(one.known.value - some, _LEAST_LEFT * one.known.value)
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
        logs: Reals = self.answers * (np.log1p(distances * growth) - distances * half)
        return logs


def _between(one: Weighed, least: float, most: float, seen: Chain) -> Bounded:
    """δ₊ if noise hides at least, and at most, so much of a window."""
    lower = one.least(most, seen.closeness) - _ROUNDING
    return Between.of_bounds(lower, one.most(least) + _ROUNDING, _SHARE)
