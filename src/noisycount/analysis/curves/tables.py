"""Pairs of laws that are known as tables: records of unequal rates, and samples of any records."""

import math

import numpy as np

from noisycount.analysis.curves.pair import Pair, TablePair
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.smooth_law import smooth_law
from noisycount.model.strata import Strata
from noisycount.model.subsampling import DrawnPositives

__all__ = ["sampled_pair", "stratum_pair"]

_DEEPEST = 700.0
_FARTHEST = 40.0
_RESOLVED = 2.0


def stratum_pair(others: Strata) -> tuple[TablePair, int]:
    """The laws of the count with one more record, and the count that is offset 0.

    P₊ is the law of the others, moved up by one record, and P₋ is not moved.
    """
    law = others.table(_DEEPEST)
    logs = law.log_weights - law.log_weights.max()
    logs = logs - math.log(float(np.exp(logs).sum()))
    nothing = np.full(1, -np.inf)
    first = float(law.first - law.mode)
    plus, minus = np.concatenate([nothing, logs]), np.concatenate([logs, nothing])
    return TablePair(first, plus, minus, is_shift=True), law.mode


def sampled_pair(pair: Pair, centre: int, size: int, sample_size: int) -> TablePair:
    """The laws of the number of positive records in a sample: Σ_k P[k]·P[S = s | K = k].

    Args:
        pair: The laws of the count K.
        centre: The count that is its offset 0.
        size: The number n of records.
        sample_size: The number m of records drawn.
    """
    low, high = pair.base.reach(_DEEPEST)
    drawn_share = sample_size / size
    mean_drawn = drawn_share * min(max(centre, 1), size - 1) * (1 - centre / size)
    deviation = math.sqrt(max(mean_drawn * (1 - drawn_share), 0.0)) / drawn_share
    points = pair.base.points((low, low), high, _RESOLVED * deviation)
    plus = np.exp(points.log_weights) * pair.ratio_plus(points.offsets)
    minus = np.exp(points.log_weights) * pair.ratio_minus(points.offsets)
    middle = round(drawn_share * centre)
    laws = np.zeros((2, sample_size + 1))
    for offset, for_plus, for_minus in zip(points.offsets, plus, minus, strict=True):
        first, chances = _drawn(centre + offset, size, sample_size)
        laws[0, first : first + chances.size] += for_plus * chances
        laws[1, first : first + chances.size] += for_minus * chances
    held = np.flatnonzero(laws.max(axis=0) > 0)
    with np.errstate(divide="ignore"):
        logs = np.log(laws[:, held[0] : held[-1] + 1])
    return TablePair(float(held[0] - middle), logs[0], logs[1], is_shift=False, rounding=1e-11)


def _drawn(count: float, size: int, sample_size: int) -> tuple[int, Reals]:
    """The law of the positive records in a sample, from its first number on, 40 deviations wide."""
    factor = DrawnPositives(count, sample_size, size)
    law = smooth_law([factor])
    reach = _FARTHEST * math.sqrt(law.variance) + _FARTHEST
    low, high = law.support
    first, last = max(low, math.floor(law.centre - reach)), min(high, math.ceil(law.centre + reach))
    offsets = np.arange(first, last + 1, dtype=np.float64) - law.centre
    return first, np.exp(law.log_weight(offsets) - law.log_mass)
