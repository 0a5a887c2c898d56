"""The counts of two cells of a multinomial population, as a table of probabilities."""

import math
from dataclasses import dataclass

import numpy as np

from noisycount.analysis.privacy.cells.cell import Move
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.log_gamma import log_gamma_bends
from noisycount.model.populations.binomial import Binomial

__all__ = ["Others", "counts_within"]

_DEPTH = 42.0  # nepers: a count farther off has a probability below 1e-18


@dataclass(frozen=True, slots=True)
class Others:
    """The counts of two cells among all records, one of which is in the first or in the second.

    Attributes:
        firsts: The smallest and the largest count of the first cell.
        seconds: The same of the second cell.
        with_first: The probabilities if the record is in the first, shape (firsts, seconds).
        with_second: The same if it is in the second.
    """

    firsts: tuple[int, int]
    seconds: tuple[int, int]
    with_first: Reals
    with_second: Reals

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
