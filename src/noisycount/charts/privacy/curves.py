"""What a chart shows of privacy curves."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["PrivacyAxes", "PrivacyLine"]

_MOST_POWERS = 8


@dataclass(frozen=True, slots=True)
class PrivacyLine:
    """δ(ε) against one adversary, as far as it is drawn.

    Args:
        name: The adversary.
        note: What stands below the name, such as δ at the ε that is asked for.
        epsilons: Where δ is known, increasing, at least one.
        deltas: δ there, positive, not increasing.
        mark: δ at the ε that is asked for; None where it is not drawn.

    Raises:
        ValueError: The two differ in length or are empty, or a δ is not positive: a logarithmic
            axis has no place for it.
    """

    name: str
    note: str
    epsilons: Sequence[float]
    deltas: Sequence[float]
    mark: float | None = None

    def __post_init__(self) -> None:
        """The refusal of a line that cannot be drawn."""
        if not len(self.epsilons) == len(self.deltas) > 0:
            lengths = len(self.epsilons), len(self.deltas)
            raise ValueError(
                f"epsilons and deltas must be equally many, got {lengths}: give a δ for each ε"
            )
        if not min(self.deltas) > 0:
            raise ValueError(f"deltas must be positive, got {min(self.deltas)!r}: leave it out")

    def place(self, delta: float) -> tuple[float, float]:
        """Where the line comes down to δ; else its first point, below it, or its last, above."""
        points = list(zip(self.epsilons, self.deltas, strict=True))
        for (before, high), (after, low) in pairwise(points):
            if low <= delta <= high:
                part = math.log(high / delta) / math.log(high / low) if low < high else 0.0
                return before + part * (after - before), delta
        return points[0] if points[0][1] < delta else points[-1]


@dataclass(frozen=True, slots=True)
class PrivacyAxes:
    """What the two axes show.

    Args:
        epsilon: The largest ε.
        floor: The smallest δ, a power of ten below the top.
        top: The largest δ, a power of ten.
        asked: The ε that is asked for; None: none is.
        words: That ε in words.
    """

    epsilon: float
    floor: float
    top: float
    asked: float | None
    words: str

    def delta(self, share: float) -> float:
        """The δ at a share of the height, from the top."""
        return self.top * math.exp(share * math.log(self.floor / self.top))

    def share(self, delta: float) -> float:
        """The share of the height at which δ is, from the top."""
        return math.log(delta / self.top) / math.log(self.floor / self.top)

    @property
    def powers(self) -> list[float]:
        """Powers of ten that have room on the axis."""
        low, high = round(math.log10(self.floor)), round(math.log10(self.top))
        step = math.ceil((high - low) / _MOST_POWERS)
        return [float(f"1e{power}") for power in range(high, low - 1, -step)]
