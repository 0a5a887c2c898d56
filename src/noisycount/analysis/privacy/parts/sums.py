"""The expected positive part of a sum of independent terms, from above and from below."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noisycount.analysis.privacy.parts.part import Surprises
from noisycount.model.laws.expansion import Reals

__all__ = ["Term", "positive_part"]

_STEPS = 1 << 14  # of the sum: convolving as many takes a tenth of a second
_WHOLE = 1e-7  # of a step: what rounding may move a value on the grid
_LOST = 1e-12  # of the probability of what is in no bin, and of the rounding of sums


@dataclass(frozen=True, slots=True)
class Term:
    """A surprise times a number.

    Attributes:
        surprises: The surprise.
        slope: The number.
    """

    surprises: Surprises
    slope: float

    @property
    def values(self) -> Reals:
        """The mean value in each bin."""
        return self.slope * self.surprises.means

    def spread(self) -> tuple[Reals, Reals]:
        """Values and probabilities that spread each bin to its ends and keep its mean."""
        told = self.surprises
        width = told.highs - told.lows
        share = np.where(width > 0, (told.means - told.lows) / np.where(width > 0, width, 1), 0)
        ends = np.concatenate([told.lows, told.highs])
        return self.slope * ends, np.concatenate([told.masses * (1 - share), told.masses * share])


def positive_part(terms: Sequence[Term], constant: float) -> tuple[float, float]:
    """Bounds of E[(constant + Σ terms)₊].

    (x)₊ is convex: it expects more of values that are spread with their mean kept, and less of
    means of bins. Each value is spread to its two neighbours on a grid, whose step changes the
    sum by √(Σ v)/2 at most, v the variances that this adds.
    """
    step = _step(terms)
    spread = [_Gridded.of(*term.spread(), step) for term in terms]
    most = _of_sum(spread, constant, step)
    binned = [_Gridded.of(term.values, term.surprises.masses, step) for term in terms]
    least = _of_sum(binned, constant, step)
    least -= math.sqrt(math.fsum(one.added for one in binned)) / 2
    scale = _LOST + _WHOLE * step * len(terms)
    lost = _LOST * math.fsum(float(np.abs(term.values).max()) for term in terms)
    return max(0.0, least - scale - lost), min(1.0, most + scale + lost)


def _step(terms: Sequence[Term]) -> float:
    """A step of the grid that divides that of the first term's values."""
    whole = math.fsum(float(np.ptp(term.values)) for term in terms)
    first = np.diff(np.sort(terms[0].values))
    gap = float(np.median(first)) if first.size else 0.0
    finest = max(whole / _STEPS, 1e-300)
    return gap / math.ceil(gap / finest) if gap > finest else finest


@dataclass(frozen=True, slots=True)
class _Gridded:
    """Probabilities at base, base + step, base + 2·step, …, and the variance that was added."""

    base: float
    masses: Reals
    added: float

    @classmethod
    def of(cls, values: Reals, masses: Reals, step: float) -> "_Gridded":
        """Values spread to their neighbours on a grid, with their means."""
        base = float(values.min())
        places = (values - base) / step
        nearest = np.round(places)
        places = np.where(np.abs(places - nearest) < _WHOLE, nearest, places)
        floors: Reals = np.floor(places)
        share, below = places - floors, floors.astype(np.int64)
        table = np.bincount(below, masses * (1 - share), int(below.max()) + 2).astype(np.float64)
        table += np.bincount(below + 1, masses * share, len(table))
        added = float(masses @ (share * (1 - share))) * step * step
        return cls(base, table, added)


def _of_sum(parts: Sequence[_Gridded], constant: float, step: float) -> float:
    """E[(constant + sum)₊] on the grid."""
    law, base = np.ones(1), constant
    for part in parts:
        law, base = np.convolve(law, part.masses), base + part.base
    return float(law @ np.maximum(base + step * np.arange(float(len(law))), 0.0))
