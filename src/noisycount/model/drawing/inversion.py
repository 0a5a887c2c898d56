"""Exact draws by inversion: uniform digits, as many as it takes to tell in which step they lie."""

from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.model.drawing.enclosure import Geometric, HalfGaussian, Law
from noisycount.model.drawing.one import Entropy

__all__ = ["Inversion", "gaussian_by_inversion", "laplace_by_inversion"]

_FIRST, _SECOND = 31, 63  # binary digits of the first and the second look
_MORE = 192  # of each one after these, which one in 2^50 draws takes
_GUIDE = 14  # digits that tell most draws
_OPEN = -1
_DIGIT = 1 << 10  # values of one digit of a geometric number
_WIDEST = 16  # scale of its last one, which has no end

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Inversion:
    """Draws of a law: the number of m with P[X < m] <= U, U uniform in [0, 1).

    U is drawn digit by digit. Its first n digits v, as an integer, tell on which side of P[X < m]
    it lies unless v is ⌊2^n·P[X < m]⌋ itself; then more digits are drawn. So the law is exact, as
    if U had all its digits.

    Args:
        law: What is drawn.
        first: Its edges in 31 digits.
        second: Its edges in 63 digits.
        guide: For each value of the first 14 digits the draw, or −1 where edges lie among them.
    """

    law: Law
    first: Integers = field(repr=False)
    second: Integers = field(repr=False)
    guide: NDArray[np.int32] = field(repr=False)

    @classmethod
    @lru_cache(maxsize=32)
    def of(cls, law: Law) -> Self:
        """The tables of a law."""
        second = np.array(law.edges(_SECOND), dtype=np.int64)
        first = second >> (_SECOND - _FIRST)
        starts = np.arange((1 << _GUIDE) + 1, dtype=np.int64) << (_FIRST - _GUIDE)
        before = np.searchsorted(first, starts)
        guide = np.where(before[:-1] == before[1:], before[:-1], _OPEN).astype(np.int32)
        return cls(law, first, second, guide)

    def draws(self, size: int, entropy: Entropy) -> tuple[Integers, Flags]:
        """Independent draws, and as many fair coins that are independent of them."""
        words = np.frombuffer(entropy(4 * size), dtype=np.uint32)
        draws = self.guide[words >> np.uint32(32 - _GUIDE)].astype(np.int64)
        near = np.flatnonzero(draws == _OPEN)
        digits = (words[near] >> np.uint32(1)).astype(np.int64)
        draws[near], told = _placed(self.first, digits)
        if not told.all():
            draws[near[~told]] = self._second(digits[~told], entropy)
        return draws, (words & np.uint32(1)).astype(np.bool_)

    def _second(self, digits: Integers, entropy: Entropy) -> Integers:
        """The draws whose first digits are an edge's."""
        more = np.frombuffer(entropy(4 * digits.size), dtype=np.uint32).astype(np.int64)
        digits = digits << np.int64(_SECOND - _FIRST) | more
        draws, told = _placed(self.second, digits)
        for place in np.flatnonzero(~told):
            draws[place] = self._further(int(digits[place]), entropy)
        return draws

    def _further(self, digits: int, entropy: Entropy) -> int:
        """The draw whose first 63 digits are an edge's."""
        bits = _SECOND
        while True:
            digits = digits << _MORE | int.from_bytes(entropy(_MORE // 8), "little")
            bits += _MORE
            edges = self.law.edges(bits)
            draw = bisect_right(edges, digits)
            if not draw or edges[draw - 1] != digits:
                return draw


def _placed(edges: Integers, digits: Integers) -> tuple[Integers, Flags]:
    """How many edges are not above the digits, and whether none is equal to them."""
    draws = np.searchsorted(edges, digits, side="right").astype(np.int64)
    told = (draws == 0) | (edges[draws - 1] != digits)
    return draws, told


def laplace_by_inversion(scale: Fraction, size: int, entropy: Entropy) -> Integers:
    """At most `size` draws of P[Z = z] ∝ e^(−|z|/scale): the tries that were not a negative zero.

    The digits of a geometric number are independent: e^(−(a + 1024·b)/scale) is a product.
    """
    magnitudes, negative = Inversion.of(_digit(scale)).draws(size, entropy)
    unit = 1
    while scale > _WIDEST:
        scale, unit = scale / _DIGIT, unit * _DIGIT
        magnitudes += unit * Inversion.of(_digit(scale)).draws(size, entropy)[0]
    np.negative(magnitudes, out=magnitudes, where=negative)
    draws: Integers = magnitudes[~negative | (magnitudes != 0)]
    return draws


def gaussian_by_inversion(scale: Fraction, size: int, entropy: Entropy) -> Integers:
    """`size` draws of P[Z = z] ∝ e^(−z²/(2·scale²)), by a table as long as 9 scales."""
    draws, negative = Inversion.of(HalfGaussian(scale)).draws(size, entropy)
    np.negative(draws, out=draws, where=negative)
    return draws


def _digit(scale: Fraction) -> Law:
    """The lowest digit of a geometric number of that scale, which is all of it if it is small."""
    return Geometric(scale, _DIGIT if scale > _WIDEST else None)
