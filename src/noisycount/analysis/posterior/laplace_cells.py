"""The posterior mean under Laplace noise for many answers: a look-up and an exponential each."""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from noisycount.analysis.posterior.count_table import CountTable, bulk_end
from noisycount.analysis.posterior.sides import GeometricSides
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.expansion import Reals

__all__ = ["LaplaceCells", "laplace_cells"]

_CHUNK = 1 << 14  # answers whose scratch stays in the cache
_MANY = 1 << 18  # answers that are worth a thread
_FAR = 50.0  # scales: e^-50 of a sum is beyond a double
_LARGEST_RUN = 500_000  # counts that are quicker summed than fitted by `wide_cells`
_SOUND = 40.0  # nats by which what is left out lies below what is kept: beyond a double


@dataclass(frozen=True, slots=True)
class LaplaceCells:
    """What the posterior mean needs to know of each integer m.

    For an answer y in m..m + 1 the counts up to m have the weight L·e^(−(y−m)/b), those above it
    U·e^(−(m+1−y)/b), so with their means the posterior mean is
    below + rise / (1 + e^(logit + (1 − 2(y−m))/b)) with logit = ln(L/U).

    Attributes:
        first: The first integer m.
        below: The mean of the counts up to m, in records.
        rise: How much larger the mean of the counts above m is.
        logit: ln(L/U), which half way in a cell is all there is, however narrow the noise.
        scale: The scale b in records.
    """

    first: int
    below: Reals
    rise: Reals
    logit: Reals
    scale: float

    @property
    def ends(self) -> tuple[int, int]:
        """The integers between which the cells lie."""
        return self.first, self.first + self.below.size

    @property
    def covered(self) -> tuple[float, float]:
        """The answers whose means the cells tell: all where nothing lies beyond an end."""
        first, last = self.ends
        return (
            -math.inf if self.logit[0] == -math.inf else first,
            math.inf if self.logit[-1] == math.inf else last,
        )

    def means(self, answers: Reals) -> Reals:
        """The posterior mean for each answer, shape as given; the ends' for answers beyond them."""
        flat = np.ascontiguousarray(answers).reshape(-1)
        means = np.empty_like(flat)
        starts = range(0, flat.size, _MANY)
        with ThreadPoolExecutor(min(os.cpu_count() or 1, len(starts) or 1)) as pool:
            for done in [pool.submit(self._fill, flat, means, start) for start in starts]:
                done.result()
        return means.reshape(answers.shape)

    def _fill(self, answers: Reals, means: Reals, start: int) -> None:
        """Write the means of one part, in pieces that stay in the cache."""
        low, high = self.ends
        places = np.empty(_CHUNK, dtype=np.int64)
        scratch, looked_up = np.empty(_CHUNK), np.empty(_CHUNK)
        with np.errstate(all="ignore"):
            for begin in range(start, min(start + _MANY, answers.size), _CHUNK):
                piece = answers[begin : begin + _CHUNK]
                mean = means[begin : begin + _CHUNK]
                place = places[: piece.size]
                part, value = scratch[: piece.size], looked_up[: piece.size]
                np.clip(piece, low, high, out=part)
                part -= low
                place[:] = part
                np.minimum(place, self.below.size - 1, out=place)
                part -= place
                part *= -2
                part += 1
                part /= self.scale
                part += self.logit.take(place, out=value, mode="clip")
                np.exp(part, out=part)
                part += 1
                np.divide(self.rise.take(place, out=value, mode="clip"), part, out=mean)
                mean += self.below.take(place, out=value, mode="clip")


def laplace_cells(
    law: CountDistribution, size: int, scale: float, lowest: float, highest: float
) -> LaplaceCells | None:
    """The cells for answers from lowest to highest, None where there would be too many.

    Counts so improbable that the prior law loses their digits are left out; cells that they could
    matter to are left out too, and answers there need sums of their own.

    Args:
        law: The law of the count before the answers.
        size: The number of records.
        scale: The scale of the noise, in records.
        lowest: The smallest answer.
        highest: The largest answer.
    """
    reach, depth = math.ceil(_FAR * scale) + 1, law.depth
    first = bulk_end(law, depth, max(0, math.floor(min(lowest, law.mode)) - reach))
    last = bulk_end(law, depth, min(size, math.ceil(max(highest, law.mode)) + reach))
    if last - first > _LARGEST_RUN:
        return None
    table = CountTable.between(law, first, last)
    sides = GeometricSides(table, 1 / scale)
    floors = np.arange(first - 1, last + 1, dtype=np.float64)
    lower, upper = sides.lower(floors, floors), sides.upper(floors + 1, floors + 1)
    below, above = floors - lower.distances, floors + 1 + upper.distances
    below[0], above[-1] = above[0], below[-1]
    largest = np.maximum(lower.logs, upper.logs) - table.logs.max()
    sound = np.flatnonzero(largest > _SOUND - depth)
    kept = slice(int(sound[0]), int(sound[-1]) + 1)
    logit = lower.logs - upper.logs
    return LaplaceCells(
        first - 1 + kept.start, below[kept], (above - below)[kept], logit[kept], scale
    )
