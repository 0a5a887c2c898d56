"""What is told of many laws of counts at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisycount.model.laws.count_law import TIE
from noisycount.model.laws.expansion import Reals

__all__ = ["Summary"]

_LEVEL = 0.95  # of the intervals that are told
_CHUNK = 1 << 21  # probabilities that are added up at a time


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """Estimates of the counts of some nodes, in their order.

    Attributes:
        mean: The expected counts, in records: the estimates of least squared error.
        std: Their standard deviations, in records.
        median: The smallest counts k with P[K <= k] >= 1/2.
        low: The quantiles at 2.5 %.
        high: The quantiles at 97.5 %.
    """

    mean: Reals
    std: Reals
    median: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    @staticmethod
    def empty(size: int) -> "Summary":
        """Room for so many nodes."""
        mean, std = np.zeros(size), np.zeros(size)
        median, low, high = (np.zeros(size, np.int64) for _ in range(3))
        return Summary(mean, std, median, low, high)

    def tell(self, nodes: NDArray[np.int64], lows: NDArray[np.int64], laws: Reals) -> None:
        """Write down the estimates of some nodes.

        Args:
            nodes: Their positions.
            lows: The first count of each law.
            laws: Probabilities, shape (nodes, width); each row adds up to 1.
        """
        step = max(1, _CHUNK // laws.shape[1])
        for start in range(0, nodes.size, step):
            part = slice(start, start + step)
            self._tell(nodes[part], lows[part], laws[part])

    def _tell(self, nodes: NDArray[np.int64], lows: NDArray[np.int64], laws: Reals) -> None:
        """The same of few enough."""
        places = np.arange(laws.shape[1], dtype=np.float64)
        mean = laws @ places
        square = np.einsum("ij,ij->i", laws, (places - mean[:, None]) ** 2)
        self.mean[nodes] = lows + mean
        self.std[nodes] = np.sqrt(square)
        below = np.cumsum(laws, axis=1)
        tail = (1 - _LEVEL) / 2
        for told, level in ((self.median, 0.5), (self.low, tail), (self.high, 1 - tail)):
            goals = level * below[:, -1:] * (1 - TIE)
            told[nodes] = lows + (below < goals).sum(axis=1)
