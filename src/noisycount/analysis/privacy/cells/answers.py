"""What two noisy answers tell about a weight on pairs of counts."""

import math
from dataclasses import dataclass

import numpy as np

from noisycount.model.exact import Exact
from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.additive import SymmetricNoise

__all__ = ["AnswerTable", "answer_table", "positive_sum"]

_DEPTH = 34.0  # nepers: an answer farther off has a probability below 1e-14
_BINS = 6.0  # a standard deviation of continuous noise: what binning hides is a hundredth
_WIDEST = 1024  # answers or counts: a product of tables takes 50 ms
_ROUNDING = 1e-11  # of a sum of products: 1,024 roundings and those of the noise


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """The probabilities of binned answers for each count.

    Attributes:
        rows: P[answer in bin i | count j], shape (bins, counts).
        missed: The largest probability that an answer is in no bin.
        edges: Where bins of continuous answers begin, and where the last one ends; None: a bin is
            one answer.
    """

    rows: Reals
    missed: float
    edges: Reals | None = None


def answer_table(
    mechanism: Exact | SymmetricNoise | None, low: int, high: int
) -> AnswerTable | None:
    """The probabilities of answers for the counts low..high; None: they would be too many.

    An answer to nothing has one bin. Bins of continuous noise hide something, never add.
    """
    counts = np.arange(low, high + 1, dtype=np.float64)
    if len(counts) > _WIDEST:
        return None
    if mechanism is None:
        return AnswerTable(np.ones((1, len(counts))), 0.0)
    if isinstance(mechanism, Exact):
        return AnswerTable(np.eye(len(counts)), 0.0)
    errors = mechanism.errors
    reach = math.ceil(errors.reach(_DEPTH)) + 1.0
    span = high - low + 2 * reach
    finest = 1.0 if errors.is_discrete else math.sqrt(mechanism.variance) / _BINS
    width = max(finest, span / _WIDEST)
    if errors.is_discrete and width > 1:
        return None
    starts = np.arange(low - reach, high + reach + width, width)
    distances = starts[:, None] - counts[None, :]
    rows = errors.between(distances, np.full_like(distances, width))
    edges = None if errors.is_discrete else np.append(starts, starts[-1] + width)
    return AnswerTable(rows, math.exp(errors.log_tail_at(reach)), edges)


def positive_sum(first: AnswerTable, weights: Reals, second: AnswerTable) -> tuple[float, float]:
    """Σ over pairs of answers of what their weights exceed 0 by, and a bound of its rounding.

    Args:
        first: The answers about the first count.
        weights: The weights of pairs of counts, shape (counts, counts); or, where the second
            answer is about the same count, of that count, shape (counts,).
        second: The answers about the second count.
    """
    rows = first.rows * weights if weights.ndim == 1 else first.rows @ weights
    table = rows @ second.rows.T
    return float(np.maximum(table, 0.0).sum()), _ROUNDING * float(np.abs(weights).sum())
