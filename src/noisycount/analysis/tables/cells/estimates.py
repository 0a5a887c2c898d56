"""What is said of the counts of cells."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisycount.model.laws.expansion import Reals

__all__ = ["QUANTILES", "CellEstimates"]

Counts = NDArray[np.int64]

QUANTILES = (0.5, 0.025, 0.975)
"""The levels of median, low and high."""


class CellEstimates(NamedTuple):
    """What is said of each cell, one array each, shape (cells,).

    Attributes:
        mean: The expected count, in records.
        std: Its standard deviation.
        median: The smallest count with half of the probability up to it.
        low: The same with 2.5 %.
        high: The same with 97.5 %.
        log_evidence: The logarithm of the probability, or the density, of the cell's answers.
    """

    mean: Reals
    std: Reals
    median: Counts
    low: Counts
    high: Counts
    log_evidence: Reals

    def ordered(self, cells: Counts) -> "CellEstimates":
        """The estimates of these cells, in this order."""
        return CellEstimates(
            self.mean[cells],
            self.std[cells],
            self.median[cells],
            self.low[cells],
            self.high[cells],
            self.log_evidence[cells],
        )

    def followed_by(self, others: "CellEstimates") -> "CellEstimates":
        """These estimates, then those of other cells."""
        return CellEstimates(
            np.append(self.mean, others.mean),
            np.append(self.std, others.std),
            np.append(self.median, others.median),
            np.append(self.low, others.low),
            np.append(self.high, others.high),
            np.append(self.log_evidence, others.log_evidence),
        )
