"""Pairs of laws that are known as tables: records of unequal rates, and samples of any records."""

import math

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.curves.pair import Pair, TablePair
from noisycount.model.laws.expansion import Reals
from noisycount.model.strata import Strata

__all__ = ["sampled_pair", "stratum_pair"]

_DEEPEST = 700.0
_FARTHEST = 40.0
_RESOLVED = 2.0
_CHUNK = 1 << 20
_ROUNDING = 1e-11


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
