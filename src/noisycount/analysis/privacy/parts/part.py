"""One question on its own random part of the records."""

import math
from dataclasses import dataclass

import numpy as np

from noisycount.analysis.privacy.cells.answers import answer_table
from noisycount.analysis.privacy.cells.others import counts_within
from noisycount.model.exact import Exact
from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.binomial import Binomial

__all__ = ["Part", "Surprises"]

_DEPTH = 34.0  # nepers: a count farther off has a probability below 1e-14


@dataclass(frozen=True, slots=True)
class Surprises:
    """By how much the expected count of a part, given its answer, exceeds that without it.

    Attributes:
        masses: The probabilities of bins of answers.
        means: The mean excess in each bin.
        lows: The least that the excess can be in each bin.
        highs: The most that it can be.
    """

    masses: Reals
    means: Reals
    lows: Reals
    highs: Reals


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the records, and the question that is answered about it.

    Attributes:
        share: The probability that a record is in it.
        size: Its number of records.
        rate: The probability that a record satisfies the question, strictly between 0 and 1.
        mechanism: How the count is answered.
    """

    share: float
    size: int
    rate: float
    mechanism: Exact | SymmetricNoise

    def surprises(self) -> Surprises:
        """The law of E[K | answer] − E[K], which grows with the answer.

        Raises:
            ValueError: If there are too many counts.
        """
        counted = Binomial(self.size, self.rate)
        low, high = counts_within(counted, _DEPTH)
        table = answer_table(self.mechanism, low, high)
        if table is None:
            raise ValueError(
                f"sample_size must be at most some 10,000 records of a rate such as {self.rate!r}, "
                f"got {self.size}: ask on smaller parts"
            )
        excess = np.arange(low, high + 1) - self.size * self.rate
        law = counted.deep_law().pmf(np.arange(low, high + 1))
        joint = table.rows * law
        masses = joint.sum(axis=1)
        kept = masses > 0
        means = (joint[kept] @ excess) / masses[kept]
        if table.edges is None or not isinstance(self.mechanism, SymmetricNoise):
            return Surprises(masses[kept], means, means, means)
        ends = self._at(table.edges, low, high)
        lows, highs = np.minimum(ends[:-1][kept], means), np.maximum(ends[1:][kept], means)
        return Surprises(masses[kept], means, lows, highs)

    def _at(self, answers: Reals, low: int, high: int) -> Reals:
        """The excess at single answers."""
        counts = np.arange(low, high + 1)
        logs = Binomial(self.size, self.rate).deep_law().log_pmf(counts)
        if isinstance(self.mechanism, SymmetricNoise):
            logs = logs + self.mechanism.errors.log_density(answers[:, None] - counts)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        found: Reals = weights @ (counts - self.size * self.rate) / weights.sum(axis=1)
        return found

    def slope(self, epsilon: float, first: int, second: int) -> float:
        """What P₊/Q − e^ε·P₋/Q gains with each record of excess.

        Args:
            epsilon: ε.
            first: 1 if the record satisfies the question in P₊, else 0.
            second: The same in P₋.
        """
        gains = [1 / (self.size * self.rate), -1 / (self.size * (1 - self.rate))]
        return self.share * (gains[1 - first] - math.exp(epsilon) * gains[1 - second])
