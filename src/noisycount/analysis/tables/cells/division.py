"""A count divides among cells that were independent draws of one law before their sum was known."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.divisions import LogWeights
from noisycount.model.laws.expansion import Reals
from noisycount.model.tables.cell_law import CellLaw
from noisycount.model.tables.cell_sums import CellSums

__all__ = ["CellDivision"]

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CellDivision:
    """The children's weights are the probabilities of their counts.

    Args:
        law: Of each child's count.
        given: How many children add up to a count of which other things were known before; None:
            what they add up to is free.
    """

    law: CellLaw
    given: int | None = None

    @property
    def log_chances(self) -> Reals:
        """One set, which is certain."""
        return np.zeros(1)

    def tilt(self, counts: Reals, children: int) -> Reals:  # noqa: ARG002  (a law is level enough)
        """None."""
        return np.zeros((counts.size, 1))

    def weights(self, lows: Counts, width: int, tilt: Reals) -> LogWeights:
        """The probabilities of the counts of each child."""
        first, last = int(lows.min()), int(lows.max()) + width
        counts = lows[..., None] + np.arange(width)
        if last - first <= counts.size:
            logs = self.law.log_pmf(np.arange(first, last))[counts - first]
        else:
            logs = self.law.log_pmf(counts)
        leaning = tilt[..., None, None] * np.arange(width)
        return LogWeights(logs[:, None, :, 0], (logs - logs[..., :1])[:, None] + leaning)

    def factor(self, lows: Counts, width: int, tilt: Reals) -> LogWeights:
        """1 over the probability of the sum that is given; 1 where it is free."""
        leaning = tilt[..., None] * np.arange(width)
        if self.given is None:
            return LogWeights(np.zeros((lows.size, 1)), -leaning)
        sums = CellSums(self.law, self.given)
        logs = np.array([sums.log_pmf(low, width) for low in lows.tolist()])
        return LogWeights(-logs[:, :1], (logs[:, :1] - logs)[:, None] - leaning)
