"""The law of a narrow sum of discrete noises as a table, from the products of its parts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisycount.model.laws.expansion import Reals

__all__ = ["DEEPEST", "LONGEST", "LatticeTable", "lattice_table"]

LONGEST = 4096
"""Integers on each side: the products of two parts of that length take some 20 milliseconds."""

DEEPEST = 240.0
"""Nats to which a sum is told, and 40 more than posteriors look at for any number of records."""

_LEFT_OUT = 40.0  # nats: what parts that end there leave out of the others is beyond a double
_LEAST = 1e-200  # smaller masses of very narrow noise may be of products that underflow


@dataclass(frozen=True, slots=True, eq=False)
class LatticeTable:
    """P[Z = z] and P[Z >= z] for z = 0, 1 and so on, each to 1e-14 relative.

    Attributes:
        log_masses: The logarithms of P[Z = z], shape (distances,).
        log_tails: Those of P[Z >= z], same shape.
    """

    log_masses: Reals
    log_tails: Reals

    def holds(self, distances: Reals) -> NDArray[np.bool_]:
        """Which distances from 0 the table tells."""
        held: NDArray[np.bool_] = (distances < self.log_masses.size) & (distances % 1.0 == 0)
        return held


def lattice_table(laplace: Sequence[float], gaussian: Sequence[float], end: int) -> LatticeTable:
    """The table of a sum by positive products alone: nothing cancels.

    Args:
        laplace: The scales of the discrete Laplace noises, in records.
        gaussian: Those of the discrete Gaussian noises.
        end: The distance at which parts end; the table ends where it is e^40 more likely than that.
    """
    distances = np.abs(np.arange(-end, end + 1, dtype=np.float64))
    total = np.ones(1)
    for logs in (
        *(-distances / scale for scale in laplace),
        *(-((distances / scale) ** 2) / 2 for scale in gaussian),
    ):
        part = np.exp(logs)
        whole = np.convolve(total, part / part.sum())
        middle = whole.size // 2
        total = whole[max(0, middle - end) : middle + end + 1]
    masses = total[total.size // 2 :]
    tails = np.cumsum(masses[::-1])[::-1]
    kept = masses >= max(_LEAST, float(masses[-1]) * math.exp(_LEFT_OUT))
    return LatticeTable(np.log(masses[kept]), np.log(tails[kept]))
