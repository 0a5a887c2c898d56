"""Where an axis begins and ends, and the numbers on it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from noisycount.charts.plot.plot import Axis
from noisycount.shown.numbers import percent

__all__ = ["Span"]

_ROOM = 1.06  # how far an axis goes beyond its values
_LEAST_RATIO = 2.0  # of the ends of a logarithmic axis
_MOST = 7  # numbers of an axis
_LEADING = (1, 2, 5)
_PLAIN = (1e-3, 1e6)  # between which numbers are written without powers of ten
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class Span:
    """The part of an axis that is drawn.

    Attributes:
        axis: What it shows.
        low: Its first value.
        high: Its last value, above the first.
    """

    axis: Axis
    low: float
    high: float

    @classmethod
    def of(cls, axis: Axis, values: Sequence[float]) -> Self:
        """The span of all values, or as the axis says."""
        low = min(values) if axis.low is None else axis.low
        high = max(values) if axis.high is None else axis.high
        if axis.is_log:
            wide = max(1.0, math.sqrt(_LEAST_RATIO * low / high))
            room = max(wide, _ROOM)
            return cls(
                axis,
                low if axis.low is not None else low / room,
                high if axis.high is not None else high * room,
            )
        if axis.high is None:
            high = low + ((high - low) * _ROOM or 1.0)
        return cls(axis, low, high)

    def share(self, value: float) -> float:
        """How far along the axis a value is, 0 to 1; its end for what is beyond."""
        ends = self.low, self.high, min(max(value, self.low), self.high)
        low, high, at = map(math.log, ends) if self.axis.is_log else ends
        return (at - low) / (high - low)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Round values, each with its number."""
        values = self._logarithmic() if self.axis.is_log else self._linear()
        return [(value, self._text(value)) for value in values]

    def _linear(self) -> list[float]:
        width = self.high - self.low
        step = 10.0 ** math.floor(math.log10(width / _MOST))
        step *= next(factor for factor in (1, 2, 2.5, 5, 10) if width / (step * factor) <= _MOST)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(number * step, 12) for number in range(first, last + 1)]

    def _logarithmic(self) -> list[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for leading in (_LEADING, (1, 3), (1,)):
            values = self._inside([float(f"{one}e{power}") for power in powers for one in leading])
            if len(values) <= _MOST:
                return values if len(values) > 1 else self._linear()
        return values[:: math.ceil(len(values) / _MOST)]

    def _inside(self, values: list[float]) -> list[float]:
        return [
            value
            for value in values
            if self.low <= value * (1 + 1e-9) and value * (1 - 1e-9) <= self.high
        ]

    def _text(self, value: float) -> str:
        if self.axis.is_share:
            return percent(value)
        least, most = _PLAIN
        if value and self.axis.is_log and not least <= abs(value) < most:
            power = math.floor(math.log10(value) + 1e-9)
            leading = round(value / 10.0**power)
            raised = f"10{str(power).translate(_RAISED)}"
            return raised if leading == 1 else f"{leading}·{raised}"
        return f"{value:,.10g}".replace("-", "−")
