"""Pairs of laws that are known as tables: records of unequal rates, and samples of any records."""

import math

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.curves.base import SmoothBase
from noisycount.analysis.curves.pair import Pair, TablePair
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.poisson_binomial import WIDE
from noisycount.model.laws.smooth_law import smooth_law
from noisycount.model.populations import Binomial
from noisycount.model.strata import Strata

__all__ = ["narrow_pair", "sampled_pair", "stratum_pair"]

_DEEPEST = 700.0
_FARTHEST = 40.0
_RESOLVED = 2.0
_CHUNK = 1 << 20
_ROUNDING = 1e-11
_ROUNDING_OF_SUMS = 2e-12
_ROUNDING_OF_LAWS = 3e-13


def stratum_pair(others: Strata) -> tuple[TablePair, int]:
    """The laws of the count with one more record, and the count that is offset 0."""
    law = others.table(_DEEPEST)
    logs = law.log_weights - law.log_weights.max()
    logs = logs - math.log(float(np.exp(logs).sum()))
    is_convolved = law.variance <= WIDE**2
    rounding = _ROUNDING_OF_LAWS if is_convolved else _ROUNDING_OF_SUMS
    return _one_more(logs, float(law.first - law.mode), 1.0, 0.0, rounding), law.mode


def narrow_pair(population: Binomial, sample_size: int) -> tuple[TablePair, int]:
    """The laws of the number S of positive records among m of n, and the number that is offset 0.

    With the share λ = m/n the record is drawn, so that P₊ = (λ + (1 − λ)·p)·B(s − 1) +
    (1 − λ)·(1 − p)·B(s) for the law B of m − 1 records; P₋ likewise.
    """
    others = smooth_law([Binomial(sample_size - 1, population.rate)])
    low, high = SmoothBase.around_centre(others).reach(_DEEPEST)
    logs = others.log_pmf(others.centre + np.arange(low, high + 1))
    share = sample_size / population.size
    return _one_more(logs, low, share, population.rate, _ROUNDING_OF_LAWS), others.centre


def _one_more(logs: Reals, first: float, share: float, rate: float, rounding: float) -> TablePair:
    """The laws of a sample with one more record: this one if it is drawn, else another one.

    Args:
        logs: The logarithms of the law of the others.
        first: The offset of the first of them.
        share: The probability that this record is drawn.
        rate: That another one is positive.
        rounding: The relative error of a probability.
    """
    nothing = np.full(1, -np.inf)
    more, same = np.concatenate([nothing, logs]), np.concatenate([logs, nothing])
    with np.errstate(divide="ignore"):
        positive = np.log([share + (1 - share) * rate, (1 - share) * (1 - rate)])
        negative = np.log([(1 - share) * rate, share + (1 - share) * (1 - rate)])
    plus = np.logaddexp(more + positive[0], same + positive[1])
    minus = np.logaddexp(more + negative[0], same + negative[1])
    return TablePair(first, plus, minus, share == 1, rounding)


def sampled_pair(pair: Pair, centre: int, size: int, sample_size: int) -> TablePair:
    """The laws of the number of positive records in a sample: Σ_k P[k]·P[S = s | K = k].

    Args:
        pair: The laws of the count K.
        centre: The count that is its offset 0.
        size: The number n of records.
        sample_size: The number m of records drawn.
    """
    low, high = pair.base.reach(_DEEPEST)
    share, positives = sample_size / size, min(max(centre, 1), size - 1)
    deviation = math.sqrt(share * (1 - share) * positives * (1 - positives / size))
    points = pair.base.points((low, low), high, _RESOLVED * max(deviation, 1.0) / share)
    offsets = points.offsets
    weights = points.weights * np.stack([pair.ratio_plus(offsets), pair.ratio_minus(offsets)])
    laws = np.zeros((2, sample_size + 1))
    reach = math.ceil(_FARTHEST * (deviation + 1))
    step = max(1, _CHUNK // (2 * reach + 1))
    for start in range(0, offsets.size, step):
        part = slice(start, start + step)
        firsts, chances = _drawn(centre + offsets[part], size, sample_size, reach)
        width = chances.shape[1]
        for place, begin in enumerate(firsts):
            laws[:, begin : begin + width] += weights[:, start + place, None] * chances[place]
    held = np.flatnonzero(laws.max(axis=0) > 0)
    with np.errstate(divide="ignore"):
        logs = np.log(laws[:, held[0] : held[-1] + 1])
    first = float(held[0] - round(share * centre))
    return TablePair(first, logs[0], logs[1], is_shift=False, rounding=_ROUNDING)


def _drawn(counts: Reals, size: int, sample_size: int, reach: int) -> tuple[list[int], Reals]:
    """The hypergeometric laws of the positive records in a sample, for some counts k.

    From P[s + 1]/P[s] = (k − s)·(m − s)/((s + 1)·(n − k − m + s + 1)), around the mean m·k/n.

    Args:
        counts: The counts k, real where they stand for many, shape (counts,).
        size: The number n of records.
        sample_size: The number m of records drawn.
        reach: How far from the mean, in records, the laws are needed.

    Returns:
        The first number s of each law, and the laws, shape (counts, width).
    """
    width = min(2 * reach, sample_size) + 1
    means = np.floor(sample_size / size * counts)
    firsts = np.clip(means - reach, 0, sample_size + 1 - width)
    drawn = firsts[:, None] + np.arange(width - 1, dtype=np.float64)
    column = counts[:, None]
    rising = np.maximum(column - drawn, 0.0) * (sample_size - drawn)
    falling = np.maximum(size - column - sample_size + drawn + 1, 0.0) * (drawn + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.log(rising / falling)
    return firsts.astype(int).tolist(), _laws(steps, (means - firsts).astype(int))


def _laws(steps: Reals, centres: NDArray[np.int64]) -> Reals:
    """The laws whose logarithms have these steps, summed from a likely place of each."""
    logs = np.zeros((steps.shape[0], steps.shape[1] + 1))
    for row, centre in enumerate(np.clip(centres, 0, steps.shape[1])):
        np.cumsum(steps[row, centre:], out=logs[row, centre + 1 :])
        np.cumsum(-steps[row, :centre][::-1], out=logs[row, :centre][::-1])
    logs = np.nan_to_num(logs, nan=-np.inf, posinf=-np.inf, neginf=-np.inf)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    laws: Reals = weights / weights.sum(axis=1, keepdims=True)
    return laws
