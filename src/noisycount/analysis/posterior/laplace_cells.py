"""The posterior mean under Laplace noise for many answers: a look-up and an exponential each."""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.expansion import Reals
from noisycount.model.search import first_true

__all__ = ["LaplaceCells", "bulk_end", "laplace_cells"]

_CHUNK = 1 << 14
_MANY = 1 << 18
_FAR = 50.0
_LARGEST_RUN = 500_000
_SOUND = 40.0


@dataclass(frozen=True, slots=True)
class LaplaceCells:
    """What the posterior mean needs to know of each integer m.

    For an answer y in m..m + 1 the counts up to m have the weight L·e^(−(y−m)/b), those above it
    U·e^(−(m+1−y)/b), so with their means the posterior mean is
    below + rise / (1 + e^(logit − 2(y−m)/b)) with logit = ln(L/U) + 1/b.

    Attributes:
        first: The first integer m.
        below: The mean of the counts up to m, in records.
        rise: How much larger the mean of the counts above m is.
        logit: ln(L/U) + 1/b.
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
                part *= -2 / self.scale
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
    reach = math.ceil(_FAR * scale) + 1
    top, depth = float(law.log_pmf(law.mode)), law.depth
    first = bulk_end(law, top - depth, max(0, math.floor(min(lowest, law.mode)) - reach))
    last = bulk_end(law, top - depth, min(size, math.ceil(max(highest, law.mode)) + reach))
    if last - first > _LARGEST_RUN:
        return None
    weights = np.exp(law.log_pmf(np.arange(first, last + 1, dtype=np.float64)) - top)
    ratio = math.exp(-1 / scale)
    low_masses, low_distances = _geometric_sums(weights, ratio)
    high_masses, high_distances = _geometric_sums(weights[::-1], ratio)
    integers = np.arange(first - 1, last + 1, dtype=np.float64)
    lower, upper = np.append(0.0, low_masses), np.append(high_masses[::-1], 0.0)
    below = integers - np.append(0.0, low_distances)
    above = integers + 1 + np.append(high_distances[::-1], 0.0)
    below[0], above[-1] = above[0], below[-1]
    with np.errstate(divide="ignore"):
        logit = np.log(lower) - np.log(upper) + 1 / scale
    sound = np.flatnonzero(np.maximum(lower, upper) > math.exp(_SOUND - depth))
    kept = slice(int(sound[0]), int(sound[-1]) + 1)
    return LaplaceCells(
        first - 1 + kept.start, below[kept], (above - below)[kept], logit[kept], scale
    )


def bulk_end(law: CountDistribution, smallest: float, end: int) -> int:
    """The count between mode and end whose log-probability is last above the smallest."""
    if float(law.log_pmf(end)) > smallest:
        return end
    side, mode = (1 if end > law.mode else -1), law.mode
    farther = first_true(
        lambda away: float(law.log_pmf(mode + side * away)) <= smallest, 1, abs(end - mode)
    )
    return mode + side * (farther - 1)


def _geometric_sums(weights: Reals, ratio: float) -> tuple[Reals, Reals]:
    """Σ_j ratio^j·w[i − j] for each i, and the mean of j under these weights, by doubling j."""
    masses, moments = weights.copy(), np.zeros_like(weights)
    step, factor = 1, ratio
    while step < weights.size and factor > 0:
        earlier = masses[:-step] * factor
        moments[step:] += moments[:-step] * factor + step * earlier
        masses[step:] += earlier
        step, factor = 2 * step, factor * factor
    return masses, np.divide(moments, masses, out=moments, where=masses > 0)
