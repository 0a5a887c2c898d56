"""Equally likely answers as columns of dots, for a terminal and for a chart."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from noisycount.shown.numbers import signed

__all__ = ["Dots"]

_DOT = "●"
_MOST_ROWS = 10
_OVERHANG = 2  # how far a label may reach beyond the axis
_STEPS = (1, 3, 5)  # odd, so that the middle column holds as many whole numbers as the others
_LEADING = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Dots:
    """Dots in columns of one width around a centre.

    Attributes:
        centre: The value in the middle of the middle column.
        step: How many whole numbers a column holds.
        heights: The number of dots of each column, from −reach to reach.
    """

    centre: int
    step: int
    heights: tuple[int, ...]

    @classmethod
    def of(cls, errors: Sequence[int], centre: int, most_columns: int) -> "Dots":
        """The dots of values centre + error, in as many columns as there is room for.

        Args:
            errors: The distances from the centre, symmetric.
            centre: The value in the middle.
            most_columns: How many columns there may be.
        """
        step = _column_step(2 * max(errors) / max(1, most_columns - 2))
        columns = Counter(_column(error, step) for error in errors)
        reach = max(columns)
        return cls(centre, step, tuple(columns[place] for place in range(-reach, reach + 1)))

    @property
    def reach(self) -> int:
        """How many columns there are on each side of the middle one."""
        return len(self.heights) // 2

    @property
    def abreast(self) -> int:
        """How many dots stand beside each other in a column, so that none is too tall."""
        return math.ceil(max(self.heights) / _MOST_ROWS)

    @property
    def places(self) -> list[tuple[float, int]]:
        """Where each dot stands: a value around the middle of its column, and a row from 1 on."""
        return [
            (self.centre + (column - self.reach) * self.step + offset, level)
            for column, height in enumerate(self.heights)
            for level, first in enumerate(range(0, height, self.abreast), start=1)
            for offset in self._offsets(min(self.abreast, height - first))
        ]

    @property
    def gap(self) -> float:
        """The distance of dots beside each other."""
        return self.step / (self.abreast + 1) if self.abreast > 1 else float(self.step)

    def _offsets(self, dots: int) -> list[float]:
        """Where so many dots of one row stand, around the middle of their column."""
        return [(dot - (dots - 1) / 2) * self.gap for dot in range(dots)]

    def lines(self, *, is_offset: bool) -> list[str]:
        """The rows of dots, from the top, an axis, and its labels.

        Args:
            is_offset: Whether labels have a sign, as errors do.
        """
        rows = math.ceil(max(self.heights) / self.abreast)
        drawn = [self._row(row).rstrip() for row in reversed(range(rows))]
        return [*drawn, *self._axis(self.abreast + 1, is_offset=is_offset)]

    def _row(self, row: int) -> str:
        """The dots of one row, in cells of so many and a space."""
        left = (max(0, height - row * self.abreast) for height in self.heights)
        return "".join((_DOT * min(self.abreast, dots)).ljust(self.abreast + 1) for dots in left)

    def _axis(self, cell: int, *, is_offset: bool) -> list[str]:
        """A line with marks, and the numbers below them as far as they have room."""
        every = self._labels_every(cell, is_offset=is_offset)
        width = len(self.heights) * cell - 1
        line, labels = "", ""
        for column in range(-self.reach, self.reach + 1):
            is_marked = column % every == 0
            middle = (column + self.reach) * cell + (cell - 1) // 2
            line = line.ljust(middle, "─") + ("┬" if is_marked else "─")
            label = self._label(column, is_offset=is_offset)
            start = middle - (len(label) - 1) // 2
            has_room = len(labels) + bool(labels) <= start <= width + _OVERHANG - len(label)
            if is_marked and has_room:
                labels = labels.ljust(start) + label
        return [line.ljust(width, "─"), labels or self._label(0, is_offset=is_offset)]

    def _labels_every(self, cell: int, *, is_offset: bool) -> int:
        """How many columns lie between two labels."""
        ends = (self._label(end, is_offset=is_offset) for end in (-self.reach, self.reach))
        least = (max(map(len, ends)) + 2) / cell
        every = _round_step(least)
        return every if every <= self.reach else math.ceil(least)

    def _label(self, column: int, *, is_offset: bool) -> str:
        """The value in the middle of a column."""
        text = signed(self.centre + column * self.step)
        return f"+{text}" if is_offset and column > 0 else text


def _column(error: int, step: int) -> int:
    """The column of an error, halves away from the middle one."""
    column = (2 * abs(error) + step) // (2 * step)
    return column if error > 0 else -column


def _column_step(least: float) -> int:
    """A round number, or a small odd one, that is not less."""
    return next((step for step in _STEPS if step >= least), 0) or _round_step(least)


def _round_step(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50, ... that is not less."""
    power = int(10.0 ** math.floor(math.log10(max(1.0, least))))
    return next(
        leading * size
        for size in (power, 10 * power)
        for leading in _LEADING
        if leading * size >= least
    )
