"""Search for the threshold of an answer: the smallest answer at which growing log-odds are not negative.

`root` searches real answers, `first_whole` integers. `ThresholdForecast` predicts the next threshold for ascending ε.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from noisycount.analysis.privacy.pairs import Excess
from noisycount.frozen import frozen
from noisycount.model.noises.additive import CertifiedErrorLaw
from noisycount.model.searches import Bracket
from noisycount.model.searches import first_whole as first_whole_of

_MOST_STEPS = 400  # enough to halve the range of all floats, and each part of it four times
_GROWTH = 8.0  # factor by which a step may grow before the root is bracketed
CLOSE = 1e-12  # log-odds between −CLOSE and 0 end a search
_SLOWEST = 4  # steps in which the bracket or the log-odds must be halved
_PLACES = 3  # points of an inverse parabola
_LINE = 2  # points of a line


@frozen
class Search:
    """Start and range of a search for a threshold.

    Attributes:
        margin: Distance from the guess up to which the log-odds are exact. The search ends beyond it, with a result
            that is not a root.
    """

    guess: float  # answer near the root
    step: float  # approximate error of the guess, in records
    limit: float = math.inf  # answer from which on the log-odds are constant, or inf
    margin: float = math.inf
    lowest: float = -math.inf  # answer up to which the log-odds are constant, or −inf
    slope: float = math.nan  # approximate growth of the log-odds at the guess, per record; nan: unknown


@frozen
class SignChange:
    """Place at which growing log-odds change their sign.

    Attributes:
        answer: Answer at which the log-odds are at most 0; for integers, the first one at which they are not negative.
            It is inf if they are negative at the limit, and −inf if they are not negative at the lowest answer.
    """

    answer: float
    log_odds: float  # log-odds at `answer`; for integers, at the integer before it
    next: float  # answer above, with positive log-odds; for integers, `answer` itself
    place: float  # approximate root
    slope: float = math.nan  # approximate growth of the log-odds at the root, per record; nan: unknown
    at_next: float = math.nan  # for integers, log-odds at `answer`


_NEVER = SignChange(math.inf, -math.inf, math.inf, math.inf)
_ALWAYS = SignChange(-math.inf, math.inf, -math.inf, -math.inf)


def root(log_odds: Callable[[float], float], search: Search) -> SignChange:
    """Return the place at which log-odds are 0: from −1e-12 to 0, or bracketed by two neighbouring floats.

    The steps follow inverse parabolas. Each step stays inside the known bracket, or near the last place if there is
    none.
    """
    low, high, at_low = -math.inf, math.inf, -math.inf
    here, step = min(search.guess, search.limit), search.step
    path: list[tuple[float, float]] = []
    widths: list[float] = []
    for _ in range(_MOST_STEPS):
        at_here = log_odds(here)
        if -CLOSE <= at_here <= 0:
            before, place = path[-1] if path else (math.nan, math.nan)
            is_known = math.isfinite(before) and place != here
            slope = (at_here - before) / (here - place) if is_known else math.nan
            return SignChange(here, at_here, high, here, slope)
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
        following = math.nan if is_slow else _place_below_root(path[-_PLACES:], search.slope)
        following = _next_place(following, (low, high), here, max(step, 4 * math.ulp(here)))
        step, here = max(search.step, _GROWTH * abs(following - here)), following
    return SignChange(low, at_low, high, low)


def _next_place(following: float, bracket: tuple[float, float], here: float, farthest: float) -> float:
    """Return the next place of a search: at most `farthest` from `here`, and inside the bracket."""
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
    """Return True if the last steps halved neither the bracket nor the log-odds."""
    is_wide = widths[-_SLOWEST] / 2 < widths[-1] < math.inf
    return is_wide and abs(path[-1][0]) > abs(path[-_SLOWEST][0]) / 2


def _place_below_root(path: list[tuple[float, float]], slope: float) -> float:
    """Return the place at which the log-odds are just below 0, by the inverse polynomial through up to three points."""
    finite = [one for one in path if -math.inf < one[0] < math.inf]
    if len(path) == 1 and finite:
        return path[0][1] - (path[0][0] + CLOSE / 2) / slope if slope else math.nan
    if len(finite) < _LINE:
        return math.nan
    try:
        return extrapolate(finite, -CLOSE / 2)[0]
    except ZeroDivisionError:  # the log-odds are equal at two places
        return math.nan


def first_whole(log_odds: Callable[[float], float], search: Search) -> SignChange:
    """Return the first integer at which growing log-odds are not negative."""
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


def extrapolate(path: Sequence[tuple[float, float]], place: float) -> tuple[float, float]:
    """Return the value at a place of a polynomial through the last points of a path, and its last correction.

    The degree is the one with the smallest correction in Neville's scheme.
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


_FEWEST, _MOST = 3, 5  # number of thresholds from which the next one is extrapolated
_SHORTEST = 1e-3  # records: shortest step of a search
_FIRST = 8.0  # steps from the guess to the farthest place at which a threshold is expected


class FoundThreshold(NamedTuple):
    """A threshold that was found, at one ε."""

    epsilon: float
    place: float  # approximate place of the threshold
    beyond: float  # distance of the threshold from its prediction for normal distributions
    slope: float  # approximate growth of the log-odds there, per record; nan: unknown


@frozen
class ThresholdForecast:
    """Thresholds at ascending ε, from which the next threshold is predicted."""

    errors: CertifiedErrorLaw
    deviation: float  # standard deviation of the count, in records
    path: tuple[FoundThreshold, ...] = ()  # last thresholds found

    def with_threshold(self, epsilon: float, excess: Excess, passage: SignChange) -> "ThresholdForecast":
        """Return the forecast with one more threshold, or the same forecast if the threshold is infinite."""
        if not math.isfinite(passage.place):
            return self
        slope, path = passage.slope, self.path
        if path and math.isnan(slope):
            slope = path[-1].slope
        if path and path[-1].epsilon == epsilon:
            path = path[:-1]
        beyond = passage.place - self._threshold_if_normal(excess.threshold)
        seen = FoundThreshold(epsilon, passage.place, beyond, slope)
        return ThresholdForecast(self.errors, self.deviation, (*path[1 - _MOST :], seen))

    def expected(self, epsilon: float, excess: Excess) -> tuple[float, float, float]:
        """Return the predicted threshold, its approximate error, and the slope of the log-odds there."""
        if not self.path:
            return self._threshold_if_normal(excess.threshold), self._first_step, math.nan
        last, path = self.path[-1], self.path
        if len(path) >= _FEWEST and epsilon - last.epsilon < 2 * (last.epsilon - path[-2].epsilon):
            places = [(one.epsilon, one.place) for one in path]
            answer, correction = extrapolate(places, epsilon)
            step = max(abs(correction) / 4, self.errors.spread / 256, _SHORTEST)
            return answer, step, last.slope
        return self._threshold_if_normal(excess.threshold) + last.beyond, self._first_step, last.slope

    @property
    def _first_step(self) -> float:
        """First step of a search."""
        return max(self._farthest_distance / _FIRST, _SHORTEST)

    def _threshold_if_normal(self, threshold: float) -> float:
        """Return the threshold predicted for nearly normal distributions, close to the threshold of the excess."""
        share = self.errors.spread / max(self.deviation, _SHORTEST)
        beyond = threshold * share * share  # overflows to infinity, where a power would raise an error
        farthest = self._farthest_distance
        return threshold + max(-farthest, min(farthest, beyond))

    @property
    def _farthest_distance(self) -> float:
        """Largest distance from the threshold of the excess at which a threshold is expected."""
        most = 3 * self.errors.spread
        if self.errors.largest_log_change is not None:
            most = min(most, self.deviation)
        return max(most, _SHORTEST)
