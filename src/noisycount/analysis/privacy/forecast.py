"""About where the threshold of one ε lies, from those of the ε before."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from noisycount.analysis.privacy.pairs.pair import Excess
from noisycount.analysis.privacy.threshold import Passage, extrapolated
from noisycount.model.noises.error.law import CertifiedErrorLaw

__all__ = ["Forecast"]

_FEWEST, _MOST = 3, 5  # thresholds from which the next one is extrapolated
_SHORTEST = 1e-3  # records, a step of a search
_FIRST = 8.0  # steps that reach as far as a threshold is expected


class Seen(NamedTuple):
    """The threshold of one ε.

    Attributes:
        epsilon: ε.
        place: About where it is.
        beyond: How far it lies beyond what is expected of laws that are about normal.
        slope: About how fast the log-odds grow there, per record; nan: not known.
    """

    epsilon: float
    place: float
    beyond: float
    slope: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """Thresholds of rising ε, from which the next one is expected.

    Attributes:
        errors: The law of the noise.
        deviation: The standard deviation of the count, in records.
        path: The last thresholds that were found.
    """

    errors: CertifiedErrorLaw
    deviation: float
    path: tuple[Seen, ...] = ()

    def after(self, epsilon: float, excess: Excess, passage: Passage) -> "Forecast":
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
        return Forecast(self.errors, self.deviation, (*path[1 - _MOST :], seen))

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
        beyond = threshold * (self.errors.spread / max(self.deviation, _SHORTEST)) ** 2
        farthest = self._farthest
        return threshold + max(-farthest, min(farthest, beyond))

    @property
    def _farthest(self) -> float:
        """As far from there as a threshold is expected."""
        most = 3 * self.errors.spread
        if self.errors.steepest is not None:
            most = min(most, self.deviation)
        return max(most, _SHORTEST)
