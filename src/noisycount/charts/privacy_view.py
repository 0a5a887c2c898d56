"""What a chart shows of privacy curves.

Which part of privacy curves a chart shows.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Self

import numpy as np

from noisycount.analysis.privacy.privacy_curve import PrivacyCurve
from noisycount.frozen import frozen

__all__ = ["NamedCurve", "PrivacyAxes", "PrivacyLine", "PrivacyView"]

_MOST_POWERS = 8


@frozen
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


@frozen
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


_POINTS = 120
_FLOORS = (1e-6, 1e-9, 1e-12)
_BESIDE = 1.25  # how far the axis goes beyond the ε that is asked for
_WIDEST = 3.0  # how often the shortest line fits into the axis
_ROOM = 4.0  # how often the axis without the ε that is asked for fits into that with it


@frozen
class NamedCurve:
    """A privacy curve, and what stands beside it.

    Args:
        name: The adversary.
        curve: How well an answer hides one record from this adversary.
        delta: δ at the ε that is asked for; None where none is.
        note: What stands below the name.
    """

    name: str
    curve: PrivacyCurve
    delta: float | None = None
    note: str = ""

    def line(self, end: float, floor: float, asked: float | None) -> PrivacyLine:
        """A line from ε = 0 to where it leaves the picture."""
        left = np.linspace(1.0, 0.0, _POINTS if end else 1)
        epsilons = end * (1 - left**3)  # lines fall steepest at their end
        deltas = np.maximum(self.curve.delta(epsilons), floor)
        is_asked = self.delta is not None and asked is not None and asked <= end
        return PrivacyLine(
            name=self.name,
            note=self.note,
            epsilons=epsilons.tolist(),
            deltas=deltas.tolist(),
            mark=self.delta if is_asked and (self.delta or 0) >= floor else None,
        )


@frozen
class PrivacyView:
    """Lines and the axes that hold them.

    Attributes:
        lines: One for each curve.
        axes: From ε = 0 and from the largest δ to where δ is negligible.
    """

    lines: tuple[PrivacyLine, ...]
    axes: PrivacyAxes

    @classmethod
    def of(
        cls,
        curves: Sequence[NamedCurve],
        asked: float | None = None,
        words: str = "",
        done: Callable[[float], None] = lambda _: None,
    ) -> Self:
        """The part of the curves that tells them apart.

        Args:
            curves: At most three.
            asked: The ε that is asked for; None: none is.
            words: That ε in words.
            done: Told from time to time which share of the work is done.
        """
        floor = _floor(curves)
        ends = [float(each.curve.epsilon(floor)) for each in curves]
        width = _width(ends, asked)
        lines = []
        for number, (each, end) in enumerate(zip(curves, ends, strict=True), start=1):
            lines.append(each.line(min(end, width), floor, asked))
            done(number / len(ends))
        top = float(f"1e{math.ceil(math.log10(max(line.deltas[0] for line in lines)))}")
        return cls(tuple(lines), PrivacyAxes(width, floor, max(top, 10 * floor), asked, words))


def _floor(curves: Sequence[NamedCurve]) -> float:
    """A δ that is negligible, and below all that are asked for if one of them is."""
    least = min((each.delta for each in curves if each.delta), default=1.0)
    return next((floor for floor in _FLOORS if floor < least), _FLOORS[-1])


def _width(ends: Sequence[float], asked: float | None) -> float:
    """The largest ε to show, from those at which the lines come down to the floor."""
    down = [end for end in ends if 0 < end < math.inf]
    if not down:
        return _BESIDE * (asked or 1.0)
    longest = min(max(down), _WIDEST * min(down))
    if asked is None:
        return longest
    if asked <= max(down) or _BESIDE * asked <= _ROOM * longest:
        return max(longest, _BESIDE * asked)
    return longest
