"""The common base of two laws of a count, as points that sum over it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.mesh import MeshPoints, mesh_points
from noisycount.model.laws.smooth_law import SmoothLaw
from noisycount.model.laws.table_law import TableLaw

__all__ = ["Base", "SmoothBase", "TableBase", "base_around_mode"]

_LEFT_OUT = 80.0
_STRIDES = 1.25 ** np.arange(20)
_FINEST = 24.0


class Base(Protocol):
    """A law Q of a count on consecutive integers, seen from one of them."""

    @property
    def support(self) -> tuple[float, float]:
        """The first and the last offset."""
        ...

    @property
    def deviation(self) -> float:
        """The standard deviation, in records."""
        ...

    @property
    def mirrored(self) -> "Base":
        """The law of the negative offset."""
        ...

    def points(
        self, fine: tuple[float, float] | None, highest: float, coarsest: float = math.inf
    ) -> MeshPoints:
        """Points whose weights are probabilities, for sums that may bend in a run of offsets.

        They leave out what is e^−80 of the largest probability to the left, and of that at
        `highest` to the right.

        Args:
            fine: The first and the last offset of the run; None: sums do not bend.
            highest: The offset up to which sums reach.
            coarsest: How far apart points may lie where the law is smooth, times 24, in records.
        """
        ...

    def reach(self, depth: float) -> tuple[float, float]:
        """The offsets to the left and right at which the law has fallen by e^depth."""
        ...

    def log_tail_bound(self, offset: float) -> float:
        """A bound of the logarithm of the mass from an offset on, which lies right of the mean."""
        ...


@dataclass(frozen=True, slots=True)
class SmoothBase:
    """A law with a smooth logarithm.

    Attributes:
        log_probability: ln Q at real offsets.
        support: The first and the last offset.
        deviation: The standard deviation, in records.
        rarity: The logarithm of the least probability of a positive or a negative record: as much
            smaller than Q one of the laws of a pair can be.
    """

    log_probability: Callable[[Reals], Reals]
    support: tuple[float, float]
    deviation: float
    rarity: float = 0.0

    @classmethod
    def around_centre(cls, law: SmoothLaw, rarity: float = 0.0) -> "SmoothBase":
        """The law, seen from its centre."""
        log_mass = law.log_mass
        low, high = law.support
        return cls(
            lambda offsets: law.log_weight(offsets) - log_mass,
            (low - law.centre, high - law.centre),
            math.sqrt(law.variance),
            rarity,
        )

    @property
    def mirrored(self) -> "SmoothBase":
        """The law of the negative offset."""
        low, high = self.support
        turned = self.log_probability
        return replace(
            self, log_probability=lambda offsets: turned(-offsets), support=(-high, -low)
        )

    def points(
        self, fine: tuple[float, float] | None, highest: float, coarsest: float = math.inf
    ) -> MeshPoints:
        """Points whose weights are probabilities; see `Base`."""
        low, high = self.support
        places = [] if fine is None else [fine]
        first = max(low, min(high, 0.0, *(place[0] for place in places)))
        last = min(high, max(low, 0.0, highest, *(place[1] for place in places)))
        depth = _LEFT_OUT - self.rarity
        ends = self._end(first, low, depth), self._end(last, high, depth)
        length = max(_FINEST, min(coarsest, self.deviation))
        return mesh_points(self.log_probability, ends, self.support, places, length)

    def reach(self, depth: float) -> tuple[float, float]:
        """The offsets to the left and right at which the law has fallen by e^depth."""
        return self._end(0.0, self.support[0], depth), self._end(0.0, self.support[1], depth)

    def log_tail_bound(self, offset: float) -> float:
        """The larger of the law there and at its end, times the number of offsets between."""
        last = self.support[1]
        logs = self.log_probability(np.array([min(offset, last), last]))
        return float(logs.max()) + math.log(max(last - offset, 0) + 1)

    def _end(self, start: float, limit: float, depth: float) -> float:
        """Where the law has fallen by e^depth on the way from an offset to that of the limit."""
        way, side = abs(limit - start), math.copysign(1.0, limit - start)
        step = math.ceil(self.deviation)
        while step < way:
            offsets = start + side * np.minimum(np.ceil(step * _STRIDES), way)
            logs = self.log_probability(np.append(offsets, start))
            fallen = np.flatnonzero(logs[:-1] < logs[-1] - depth)
            if fallen.size:
                return float(offsets[fallen[0]])
            step = math.ceil(2 * step * _STRIDES[-1])
        return limit


@dataclass(frozen=True, eq=False)
class TableBase:
    """A law as a table.

    Attributes:
        first: The first offset.
        log_probabilities: ln Q from there on.
    """

    first: float
    log_probabilities: Reals

    @property
    def support(self) -> tuple[float, float]:
        """The first and the last offset."""
        return self.first, self.first + self.log_probabilities.size - 1

    @cached_property
    def deviation(self) -> float:
        """The standard deviation, in records."""
        offsets = np.arange(self.log_probabilities.size, dtype=np.float64)
        chances = np.exp(self.log_probabilities)
        mean = chances @ offsets
        return math.sqrt(chances @ (offsets - mean) ** 2)

    @property
    def mirrored(self) -> "TableBase":
        """The law of the negative offset."""
        return TableBase(-self.support[1], self.log_probabilities[::-1])

    def points(
        self,
        fine: tuple[float, float] | None,  # noqa: ARG002  (a table has every point)
        highest: float,  # noqa: ARG002  (the same)
        coarsest: float = math.inf,  # noqa: ARG002  (the same)
    ) -> MeshPoints:
        """All integers of the table that are not impossible."""
        offsets = self.first + np.arange(self.log_probabilities.size, dtype=np.float64)
        possible = self.log_probabilities > -np.inf
        return MeshPoints(offsets[possible], self.log_probabilities[possible])

    def reach(self, depth: float) -> tuple[float, float]:  # noqa: ARG002  (a table is short)
        """The ends of the table."""
        return self.support

    def log_tail_bound(self, offset: float) -> float:
        """The largest of the table from there on, at all its offsets."""
        logs = self.log_probabilities[max(0, int(offset - self.first)) :]
        return float(logs.max()) + math.log(logs.size) if logs.size else -math.inf


def base_around_mode(law: CountDistribution, rarity: float = 0.0) -> Base:
    """A law, seen from its most likely count."""
    if isinstance(law, SmoothLaw):
        return SmoothBase.around_centre(law, rarity)
    if isinstance(law, TableLaw):
        return TableBase(float(law.first - law.mode), law.log_weights)
    raise ValueError(f"population must have a smooth or tabulated law of the count, got {law!r}")
