"""The answer from which on a positive record explains more, and where it is expected."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from noisycount.analysis.privacy.pairs import Excess
from noisycount.frozen import frozen
from noisycount.model.noises.additive import CertifiedErrorLaw
from noisycount.model.searches import Bracket
from noisycount.model.searches import first_whole as first_whole_of

_MOST_STEPS = 400  # enough to halve the range of all floats, and each part of it four times
_GROWTH = 8.0  # of a step that has not met the other side
CLOSE = 1e-12  # log-odds below 0 that are near enough
_SLOWEST = 4  # steps in which a bracket or the log-odds must be halved
_PLACES = 3  # that a parabola goes through
_LINE = 2  # places that a line goes through


@frozen
class Search:
    """Where to look for an answer.

    Attributes:
        margin: How far from the guess the log-odds are exact. What lies beyond is not searched: then the result does,
            too, and is not what was asked for.
    """

    guess: float  # an answer nearby
    step: float  # about how far the guess is off, in records
    limit: float = math.inf  # an answer from which on the log-odds are constant, or inf
    margin: float = math.inf
    lowest: float = -math.inf  # an answer up to which they are constant, or −inf
    slope: float = math.nan  # about how fast the log-odds grow at the guess, per record; nan: not known


@frozen
class SignChange:
    """Where growing log-odds pass 0.

    Attributes:
        answer: Where they are at most 0; of integers the first where they are not negative. inf if they are negative at
            the limit, and −inf if they are not at the lowest answer.
    """

    answer: float
    log_odds: float  # what they are there; of integers, at the one before
    next: float  # an answer above where they are positive; of integers, the answer
    place: float  # about where they are 0
    slope: float = math.nan  # about how fast they grow there, per record; nan: not known
    at_next: float = math.nan  # of integers, what the log-odds are at the next answer


_NEVER = SignChange(math.inf, -math.inf, math.inf, math.inf)
_ALWAYS = SignChange(-math.inf, math.inf, -math.inf, -math.inf)


def root(log_odds: Callable[[float], float], search: Search) -> SignChange:
    """Where log-odds pass 0: they are above −1e-12 there, or two answers are as near as floats.

    Inverse parabolas; each step stays inside the bracket that is known, or near the last place.
    """
    low, high, at_low = -math.inf, math.inf, -math.inf
    here, step = min(search.guess, search.limit), search.step
    path: list[tuple[float, float]] = []
    widths: list[float] = []
    for _ in range(_MOST_STEPS):
        at_here = log_odds(here)
        if -CLOSE <= at_here <= 0:
            return SignChange(here, at_here, high, here, _slope(path[-1:], here, at_here))
        if at_here > 0:
            high = min(high, here)
        elif here >= low:
            low, at_low = here, at_here
        if low >= search.limit:
            return _NEVER
        if high <= search.lowest:
            return _ALWAYS
        if low > search.guess + search.margin or high < search.guess - search.margin:
            return SignChange(here, at_here, high, here)
        if high - low <= 2 * max(math.ulp(low), math.ulp(high)) < math.inf:
            break
        path.append((at_here, here))
        widths.append(high - low)
        is_slow = len(path) >= _SLOWEST and _is_slow(path, widths)
        following = math.nan if is_slow else _just_below(path[-_PLACES:], search.slope)
        following = _inside(following, (low, high), here, max(step, 4 * math.ulp(here)))
        step, here = max(search.step, _GROWTH * abs(following - here)), following
    return SignChange(low, at_low, high, low)


def _inside(following: float, bracket: tuple[float, float], here: float, farthest: float) -> float:
    """The next place of a search: no farther than said, and between what is known."""
    low, high = bracket
    is_open = math.isinf(high - low)
    if is_open and not abs(following - here) <= farthest:
        following = here + math.copysign(farthest, 1 if here == low else -1)
    nearest = math.ulp(here)
    if following == here:
        following += nearest if here == low else -nearest
    if not low < following < high:
        following = low + (high - low) / 2 if not is_open else here + (farthest if here == low else -farthest)
    return following


def _is_slow(path: list[tuple[float, float]], widths: list[float]) -> bool:
    """Whether the last steps halved neither the bracket nor the log-odds."""
    is_wide = widths[-_SLOWEST] / 2 < widths[-1] < math.inf
    return is_wide and abs(path[-1][0]) > abs(path[-_SLOWEST][0]) / 2


def _just_below(path: list[tuple[float, float]], slope: float) -> float:
    """Where the inverse polynomial through up to three places is just below 0; nan if it is not."""
    finite = [one for one in path if -math.inf < one[0] < math.inf]
    if len(path) == 1 and finite:
        return path[0][1] - (path[0][0] + CLOSE / 2) / slope if slope else math.nan
    if len(finite) < _LINE:
        return math.nan
    try:
        return extrapolated(finite, -CLOSE / 2)[0]
    except ZeroDivisionError:  # log-odds that are the same at two places
        return math.nan


def _slope(path: list[tuple[float, float]], here: float, at_here: float) -> float:
    """How fast log-odds grow from the last place to the next one; nan if that is not known."""
    if not path or not math.isfinite(path[0][0]) or path[0][1] == here:
        return math.nan
    return (at_here - path[0][0]) / (here - path[0][1])


def first_whole(log_odds: Callable[[float], float], search: Search) -> SignChange:
    """The first integer at which growing log-odds are not negative."""
    guess, limit = search.guess, search.limit
    start = float(math.ceil(min(guess, limit)))
    at_start = log_odds(start)
    side, distance = (-1 if at_start >= 0 else 1), float(math.ceil(search.step))
    while True:
        if side > 0 and start >= limit:
            return _NEVER
        if side < 0 and start <= search.lowest:
            return _ALWAYS
        other = start + side * distance
        at_other = log_odds(other)
        if (at_other >= 0) != (at_start >= 0):
            break
        if abs(other - guess) > search.margin:
            return SignChange(other, at_other, other, other)
        start, at_start, distance = other, at_other, 2 * distance
    ends = (start, at_start), (other, at_other)
    (low, at_low), (high, at_high) = ends if side > 0 else ends[::-1]
    found = first_whole_of(log_odds, Bracket(low, high, at_low, at_high))
    passed = 0.5 if math.isnan(found.share) else 1 - found.share
    return SignChange(found.high, found.at_low, found.high, found.high - passed, at_next=found.at_high)


def extrapolated(path: Sequence[tuple[float, float]], place: float) -> tuple[float, float]:
    """The value at a place of a polynomial through the last points, and its last correction.

    Of all degrees it is the one with the least correction, by Neville's scheme.
    """
    away = [place - one for one, _ in path]
    values = [value for _, value in path]
    last = len(path) - 1
    found, correction, before = values[last], math.inf, values[last]
    for level in range(1, len(path)):
        for first in range(len(path) - level):
            start, stop = away[first], away[first + level]
            values[first] = (start * values[first + 1] - stop * values[first]) / (start - stop)
        newest = values[last - level]
        if abs(newest - before) <= abs(correction):
            found, correction = newest, newest - before
        before = newest
    return found, correction


_FEWEST, _MOST = 3, 5  # thresholds from which the next one is extrapolated
_SHORTEST = 1e-3  # records, a step of a search
_FIRST = 8.0  # steps that reach as far as a threshold is expected


class Seen(NamedTuple):
    """The threshold of one ε."""

    epsilon: float
    place: float  # about where it is
    beyond: float  # how far it lies beyond what is expected of laws that are about normal
    slope: float  # about how fast the log-odds grow there, per record; nan: not known


@frozen
class ThresholdForecast:
    """Thresholds of rising ε, from which the next one is expected."""

    errors: CertifiedErrorLaw
    deviation: float  # the standard deviation of the count, in records
    path: tuple[Seen, ...] = ()  # the last thresholds that were found

    def after(self, epsilon: float, excess: Excess, passage: SignChange) -> "ThresholdForecast":
        """The forecast with one more threshold, if there is one."""
        if not math.isfinite(passage.place):
            return self
        slope, path = passage.slope, self.path
        if path and math.isnan(slope):
            slope = path[-1].slope
        if path and path[-1].epsilon == epsilon:
            path = path[:-1]
        beyond = passage.place - self._if_normal(excess.threshold)
        seen = Seen(epsilon, passage.place, beyond, slope)
        return ThresholdForecast(self.errors, self.deviation, (*path[1 - _MOST :], seen))

    def expected(self, epsilon: float, excess: Excess) -> tuple[float, float, float]:
        """About the threshold, about how far off that is, and the slope of the log-odds there."""
        if not self.path:
            return self._if_normal(excess.threshold), self._step, math.nan
        last, path = self.path[-1], self.path
        if len(path) >= _FEWEST and epsilon - last.epsilon < 2 * (last.epsilon - path[-2].epsilon):
            places = [(one.epsilon, one.place) for one in path]
            answer, correction = extrapolated(places, epsilon)
            step = max(abs(correction) / 4, self.errors.spread / 256, _SHORTEST)
            return answer, step, last.slope
        return self._if_normal(excess.threshold) + last.beyond, self._step, last.slope

    @property
    def _step(self) -> float:
        """The first step of a search."""
        return max(self._farthest / _FIRST, _SHORTEST)

    def _if_normal(self, threshold: float) -> float:
        """That for laws that are about normal, near the threshold of w."""
        share = self.errors.spread / max(self.deviation, _SHORTEST)
        beyond = threshold * share * share  # infinite at most, where a power raises
        farthest = self._farthest
        return threshold + max(-farthest, min(farthest, beyond))

    @property
    def _farthest(self) -> float:
        """As far from there as a threshold is expected."""
        most = 3 * self.errors.spread
        if self.errors.steepest is not None:
            most = min(most, self.deviation)
        return max(most, _SHORTEST)
