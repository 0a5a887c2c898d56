"""A count divides among cells that were independent draws of one law before their sum was known."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.divisions import LogWeights
from noisycount.model.laws.expansion import Reals
from noisycount.model.tables.cell_law import CellLaw

__all__ = ["CellDivision"]

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CellDivision:
    """The children's weights are the probabilities of their counts; what they add up to is free.

    Args:
        law: Of each child's count.
    """

    law: CellLaw

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
        """1."""
        return LogWeights(np.zeros((lows.size, 1)), -tilt[..., None] * np.arange(width))
