"""Answers about one count with Laplace noises, continuous or discrete, of one scale."""

import math
from dataclasses import dataclass

from noisycount.analysis.privacy.certified import Between, Bounded
from noisycount.analysis.privacy.pairs.pair import Pair
from noisycount.analysis.privacy.repeated.chain import Chain
from noisycount.analysis.privacy.repeated.spread import Merged, Parted
from noisycount.analysis.privacy.repeated.weighed import Weighed, weighed, window

__all__ = ["GeometricAnswers"]

_MOST_ANSWERS = 256  # of which the chain keeps the number; of more, some tell less than all
_WIDEST = 2000  # places of a window, on each side of the threshold
_ROUNDING = 1e-13  # of a sum of at most 1e4 products of three rounded factors: 1e3 · 2^−53
_FINE = 3e-4  # of the variance of the sum of the answers: the square of a step of a grid
_MOST_STEPS = 32  # of a record
_SHARE = 1 / 3  # of the way up, where the truth is about: parting is off by more than merging
_SCALES = 8.0  # of the noise that a window has at least on each side


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

    def hockey_sticks(self, pair: Pair, epsilons: list[float]) -> list[Bounded]:
        """δ in one direction, for each ε.

        Args:
            pair: The laws of the count.
            epsilons: ε >= 0, rising.
        """
        steps = self._steps(pair.base.deviation)
        told = self._chain(self.answers, steps, is_centred=True)
        asked = min(self.answers, _MOST_ANSWERS)
        seen = self._chain(asked, steps, is_centred=self.is_discrete)
        reach = window(seen.closeness, max(1, _WIDEST // steps))
        return [_bounded(one, told, seen) for one in weighed(pair, epsilons, reach)]

    def _chain(self, answers: int, steps: int, *, is_centred: bool) -> Chain:
        """The chain of so many answers on a grid."""
        return Chain(answers, 1 / (self.scale * steps), steps, is_centred)

    def _steps(self, deviation: float) -> int:
        """How many steps a record has: as many as make the bounds close."""
        if self.is_discrete:
            return 1
        variance = self.answers * deviation**2 + 2 * self.scale**2  # of the sum of the answers
        most = min(_MOST_STEPS, max(1, int(_WIDEST / (_SCALES * self.scale))))
        return min(most, max(1, math.ceil(1 / math.sqrt(_FINE * variance))))


def _bounded(one: Weighed, told: Chain, seen: Chain) -> Bounded:
    """δ₊ between what is told and what is seen."""
    if not one.is_hidden:
        return one.known
    if one.known.upper < _ROUNDING:  # noise can only lower it
        return Between.of_bounds(0.0, one.known.upper)
    hidden = told.hidden(one, Parted) if told.answers <= _MOST_ANSWERS else 0.0
    upper = one.most(hidden * (1 - _ROUNDING)) + _ROUNDING
    lower = one.least(seen.hidden(one, Merged) * (1 + _ROUNDING), seen.closeness) - _ROUNDING
    return Between.of_bounds(lower, upper, _SHARE)
