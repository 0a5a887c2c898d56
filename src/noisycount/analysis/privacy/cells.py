"""Disjoint cells that share all records, their counts, and what noisy answers tell about these."""

import math
from collections.abc import Iterator

import numpy as np

from noisycount.frozen import frozen
from noisycount.model.exact import Exact
from noisycount.model.laws.gamma import Reals, log_gamma_bends
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.binomial import Binomial

__all__ = [
    "AnswerTable",
    "Cell",
    "Move",
    "Others",
    "answer_table",
    "counts_within",
    "positive_sum",
    "runs_of_totals",
]


@frozen
class Cell:
    """One of the disjoint cells among which the records are divided."""

    rate: float  # the probability that a record falls into it, above 0
    mechanism: Exact | SymmetricNoise | None  # how its count is answered; None: nobody asks for it


@frozen
class Move:
    """A record that is in one cell or in another."""

    size: int
    first: Cell  # the cell whose count it raises in P₊
    second: Cell  # the cell whose count it raises in P₋

    @property
    def rate(self) -> float:
        """The probability that another record is in one of the two cells."""
        return min(1.0, self.first.rate + self.second.rate)

    @property
    def mirrored(self) -> "Move":
        """The same from the other side."""
        return Move(self.size, self.second, self.first)


_DEPTH = 42.0  # nepers: a count farther off has a probability below 1e-18


@frozen
class Others:
    """The counts of two cells among all records, one of which is in the first or in the second."""

    firsts: tuple[int, int]  # the smallest and the largest count of the first cell
    seconds: tuple[int, int]  # the same of the second cell
    with_first: Reals  # the probabilities if the record is in the first, shape (firsts, seconds)
    with_second: Reals  # the same if it is in the second

    @classmethod
    def of(cls, move: Move) -> "Others":
        """The counts for a move between two cells that do not hold all records."""
        others = move.size - 1
        firsts = counts_within(Binomial(others, move.first.rate), _DEPTH)
        seconds = counts_within(Binomial(others, move.second.rate), _DEPTH)
        table = _trinomial(move, firsts, seconds)
        with_first = np.pad(table, ((1, 0), (0, 1)))
        with_second = np.pad(table, ((0, 1), (1, 0)))
        return cls(
            (firsts[0], firsts[1] + 1), (seconds[0], seconds[1] + 1), with_first, with_second
        )


def counts_within(population: Binomial, depth: float) -> tuple[int, int]:
    """The first and the last count of so many nepers below the largest probability."""
    law = population.deep_law()
    (low, high), (near, far) = law.support, law.reach(depth)
    return max(low, math.floor(near)), min(high, math.ceil(far))


def _trinomial(move: Move, firsts: tuple[int, int], seconds: tuple[int, int]) -> Reals:
    """The law of both counts among the other records, shape (firsts, seconds).

    A trinomial probability next to one in the middle, from a!·b!·c! by Stirling's errors; the sum
    of all is 1 but for 1e-16.
    """
    others, rest = move.size - 1, 1 - move.rate
    middle = [math.floor(others * move.first.rate), math.floor(others * move.second.rate)]
    middle.append(others - sum(middle))
    rates = (move.first.rate, move.second.rate, rest)
    first = np.arange(firsts[0], firsts[1] + 1, dtype=np.float64)
    second = np.arange(seconds[0], seconds[1] + 1, dtype=np.float64)
    sums = np.arange(firsts[0] + seconds[0], firsts[1] + seconds[1] + 1, dtype=np.float64)
    logs = [
        _log_part(counts, centre, rate)
        for counts, centre, rate in zip((first, second, others - sums), middle, rates, strict=True)
    ]
    places = np.arange(len(first))[:, None] + np.arange(len(second))[None, :]
    table: Reals = logs[0][:, None] + logs[1][None, :] + logs[2][places]
    table = np.exp(table - table.max())
    table /= table.sum()
    return table


def _log_part(counts: Reals, centre: int, rate: float) -> Reals:
    """The logarithm of rate^k/k! for each count k, but for that at the centre; −inf below 0."""
    possible = counts >= 0
    steps = np.where(possible, counts - centre, 0.0)
    start = centre + 1.0
    bends = log_gamma_bends([start], steps[None])
    logs: Reals = np.where(possible, steps * math.log(rate / start) - bends, -np.inf)
    return logs


_DEEPEST = 700.0  # nepers below its mode at which the law ends: e^−700 is next to the least double
_LIKELY = 40.0  # nepers below its mode: what is left out weighs e^−40
_OF_TAILS = 8  # runs of each tail beyond that
_ROUNDING = 1e-12  # of a weight: that of a law is 3e-13


@frozen
class Run:
    """Neighbouring numbers of records, the record itself among them."""

    low: int  # the smallest
    high: int  # the largest
    weight: float  # the probability of the run

    @property
    def least(self) -> float:
        """The least that the probability can be."""
        return self.weight * (1 - _ROUNDING)

    @property
    def most(self) -> float:
        """The most that the probability can be."""
        return min(1.0, self.weight * (1 + _ROUNDING))


def runs_of_totals(size: int, rate: float, number: int) -> Iterator[Run]:
    """The law of 1 + Bin(size − 1, rate), in about so many runs."""
    others = Binomial(size - 1, rate)
    low, high = others.support
    if low == high:
        yield Run(low + 1, low + 1, 1.0)
        return
    law = others.deep_law()
    ends = [_within(law.reach(depth), low, high) for depth in (_DEEPEST, _LIKELY)]
    (first, last), (start, end) = ends
    edges = np.unique(
        np.concatenate(
            [
                _edges(first, start, _OF_TAILS),
                _edges(start, end + 1, number),
                _edges(end + 1, last + 1, _OF_TAILS),
            ]
        )
    )
    weights = law.pmf(np.arange(first, last + 1))
    sums = np.add.reduceat(weights, edges[:-1] - first)
    for begin, after, weight in zip(edges[:-1], edges[1:], sums, strict=True):
        yield Run(int(begin) + 1, int(after), float(weight))


def _within(reach: tuple[float, float], low: int, high: int) -> tuple[int, int]:
    """The counts of a reach that can occur."""
    return max(low, math.floor(reach[0])), min(high, math.ceil(reach[1]))


def _edges(low: int, high: int, number: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Whole numbers that divide a range."""
    return np.linspace(low, high, min(number, max(high - low, 1)) + 1).round().astype(np.int64)


_DEPTH_ANSWERS = 34.0  # nepers: an answer farther off has a probability below 1e-14
_BINS = 6.0  # a standard deviation of continuous noise: what binning hides is a hundredth
_WIDEST = 1024  # answers or counts: a product of tables takes 50 ms
_ROUNDING_ANSWERS = 1e-11  # of a sum of products: 1,024 roundings and those of the noise


@frozen
class AnswerTable:
    """The probabilities of binned answers for each count.

    Attributes:
        edges: Where bins of continuous answers begin, and where the last one ends; None: a bin
            is one answer.
    """

    rows: Reals  # P[answer in bin i | count j], shape (bins, counts)
    missed: float  # the largest probability that an answer is in no bin
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
    reach = math.ceil(errors.reach(_DEPTH_ANSWERS)) + 1.0
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
    return float(np.maximum(table, 0.0).sum()), _ROUNDING_ANSWERS * float(np.abs(weights).sum())
