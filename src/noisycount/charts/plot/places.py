"""Where values and names lie in a plot, in pixels."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from noisycount.charts.plot.plot import Axis
from noisycount.charts.theme import GRID

__all__ = ["PlotScale", "spread"]

_ABOVE = 1.04  # how far the axis goes beyond the largest value
_SHARE = "format(100 * datum.value, '.12~g') + ' %'"
_POWER = "datum.value < 1e-3 ? format(datum.value, '.0e') : format(datum.value, '~g')"


class PlotScale:
    """Where values lie, in pixels."""

    def __init__(
        self, axis: Axis, values: Sequence[float], length: float, *, is_upwards: bool = False
    ) -> None:
        self.axis, self.length, self.is_turned = axis, length, is_upwards != axis.is_reversed
        least, largest = min(values), max(values)
        room = (largest / least) ** (_ABOVE - 1) if axis.is_log else _ABOVE
        top = largest * room if is_upwards and largest > 0 else largest
        self.low = axis.low if axis.low is not None else least
        self.high = axis.high if axis.high is not None else top

    def place(self, value: float) -> float:
        """The pixel, from the left or from the top."""
        low, high, at = (
            map(math.log, (self.low, self.high, value))
            if self.axis.is_log
            else (self.low, self.high, value)
        )
        share = (at - low) / (high - low)
        return self.length * (1 - share if self.is_turned else share)

    def scale(self) -> alt.Scale:
        """The scale, from end to end."""
        return alt.Scale(
            type="log" if self.axis.is_log else "linear",
            domain=[self.low, self.high],
            nice=False,
            zero=False,
            reverse=self.axis.is_reversed,
        )

    def x(self) -> alt.X:
        """The axis across."""
        ticks = self._ticks()
        return alt.X("x:Q", scale=self.scale(), axis=alt.Axis(title=self.axis.label, **ticks))

    def y(self) -> alt.Y:
        """The axis upwards, its title above it, where it can be read without turning the head."""
        axis = alt.Axis(
            title=self.axis.label,
            titleAngle=0,
            titleAlign="left",
            titleAnchor="end",
            titleBaseline="bottom",
            titleX=-44,
            titleY=-10,
            grid=True,
            gridColor=GRID,
            **self._ticks(),
        )
        return alt.Y("y:Q", scale=self.scale(), axis=axis)

    def _ticks(self) -> dict[str, Any]:
        values = self.axis.ticks
        ticks: dict[str, Any] = {"tickCount": len(values) or 5}
        if values:
            ticks |= {"values": list(values), "labelOverlap": False}
        if self.axis.is_share:
            return ticks | {"labelExpr": _SHARE}
        return ticks | ({"labelExpr": _POWER} if self.axis.is_log else {"format": ",.12~g"})


def spread(places: Sequence[float], gap: float, length: float) -> list[float]:
    """Places at least `gap` apart, within 0 and `length` if they fit, moved as little as possible.

    Neighbours that would be nearer form a group, which stands where its members are on average.

    Example:
        >>> spread([10, 12, 60], gap=8, length=100)
        [7.0, 15.0, 60.0]
    """
    order = sorted(range(len(places)), key=lambda number: places[number])
    groups: list[list[int]] = []
    middles: list[float] = []
    for number in order:
        groups.append([number])
        middles.append(float(places[number]))
        while len(groups) > 1:
            reach = gap * (len(groups[-2]) + len(groups[-1])) / 2
            if middles[-1] - middles[-2] >= reach:
                break
            last, before = groups.pop(), groups.pop()
            middles[-2:] = []
            groups.append(before + last)
            half = gap * (len(groups[-1]) - 1) / 2
            mean = sum(places[member] for member in groups[-1]) / len(groups[-1])
            middles.append(min(max(mean, half), max(length - half, half)))
    found = [0.0] * len(places)
    for members, middle in zip(groups, middles, strict=True):
        for rank, member in enumerate(members):
            found[member] = middle + gap * (rank - (len(members) - 1) / 2)
    return found
