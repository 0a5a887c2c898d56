"""Exact sampling by inversion, with as many uniform digits as each draw needs.

All arithmetic is on integers: each real number is enclosed between two multiples of 2^−bits. `vectors` uses
`laplace_by_inversion` and `gaussian_by_inversion`.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import field
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.model.sampling.scalar import Entropy

# A number times 2^bits: an integer that is not above it, and one that is not below.
Enclosed = tuple[int, int]
_GUARD = 64  # binary digits beyond those that are asked for


class Law(ABC):
    """A distribution on 0, 1, 2, … given by weights with any positive sum."""

    @abstractmethod
    def weights(self, bits: int) -> Iterator[Enclosed]:
        """Yield enclosures of the weights of 0, 1, 2, …, without that of the last number of a finite range."""

    @abstractmethod
    def total_weight(self, bits: int) -> Enclosed:
        """Return an enclosure of the sum of all weights."""

    def edges(self, bits: int) -> list[int]:
        """Return ⌊2^bits·P[X < m]⌋ for m = 1, 2, …, up to the first that is 2^bits − 1, or to the last.

        Digits are added until no rounding can change an edge. This ends because no P[X < m] is a binary fraction: e^−x
        is transcendental for rational x.
        """
        precision = bits + _GUARD
        while (found := self._certain_edges(bits, precision)) is None:
            precision += _GUARD
        return found

    def _certain_edges(self, bits: int, precision: int) -> list[int] | None:
        """Return the edges, or None if this precision leaves one undetermined."""
        last = (1 << bits) - 1
        least, most = self.total_weight(precision)
        low = high = 0
        found: list[int] = []
        for below, above in self.weights(precision):
            low, high = low + below, high + above
            edge = (low << bits) // most
            if edge != min((high << bits) // least, last):
                return None
            found.append(edge)
            if edge == last:
                break
        return found


@frozen
class Geometric(Law):
    """The distribution P[X = x] ∝ e^(−x/scale), on 0..limit − 1 or on all whole numbers."""

    scale: Fraction  # positive
    limit: int | None = None  # how many values there are, at least 2; None: all

    def weights(self, bits: int) -> Iterator[Enclosed]:
        """Yield the weights; each is the previous weight times e^(−1/scale)."""
        powers = _successive_products((1 << bits,) * 2, enclosed_exponential(1 / self.scale, bits), bits)
        return powers if self.limit is None else islice(powers, self.limit - 1)

    def total_weight(self, bits: int) -> Enclosed:
        """Return an enclosure of (1 − e^(−limit/scale))/(1 − e^(−1/scale))."""
        one = 1 << bits
        low, high = enclosed_exponential(1 / self.scale, bits)
        least, most = one, one
        if self.limit is not None:
            less, more = enclosed_exponential(self.limit / self.scale, bits)
            least, most = one - more, one - less
        return (least << bits) // (one - low), -((-most << bits) // (one - high))


@frozen
class HalfGaussian(Law):
    """Absolute value of a discrete Gaussian: weight 1 at 0, and 2·e^(−x²/(2·scale²)) for x >= 1."""

    scale: Fraction  # positive

    def weights(self, bits: int) -> Iterator[Enclosed]:
        """Yield the weights; each is the previous weight times e^(−(2x + 1)/(2·scale²)), itself a running product."""
        slow = 1 / (2 * self.scale * self.scale)
        ratios = _successive_products(enclosed_exponential(slow, bits), enclosed_exponential(2 * slow, bits), bits)
        low = high = 1 << bits
        yield low, high
        for less, more in ratios:
            low, high = low * less >> bits, -(-high * more >> bits)
            yield 2 * low, 2 * high

    def total_weight(self, bits: int) -> Enclosed:
        """Return an enclosure of the sum of all weights.

        Terms are summed until weights are a few units. For x >= scale, each further weight falls by a factor
        e^(−1/scale) or more, except that a weight of fewer than `scale` units, rounded up, need not fall.
        """
        length = 2 + int(self.scale)
        least = most = 0
        for low, high in self.weights(bits):
            least, most = least + low, most + high
            if high <= 4 * length * length:
                break
        return least, most + high * length


def enclosed_exponential(power: Fraction, bits: int) -> Enclosed:
    """Return an enclosure of e^−power for power >= 0.

    The alternating series of e^(−power/2^k), power/2^k <= 1/2, squared k times.
    """
    halvings = max(0, power.numerator.bit_length() - power.denominator.bit_length() + 2)
    digits = bits + 2 * halvings + 32
    small = power / 2**halvings
    term = total = (1 << digits, 1 << digits)
    order = 0
    while term[1] > 1:
        order += 1
        divisor = small.denominator * order
        term = term[0] * small.numerator // divisor, -(-term[1] * small.numerator // divisor)
        less, more = term if order % 2 == 0 else (-term[1], -term[0])
        total = total[0] + less, total[1] + more
    low, high = total[0] - 1, total[1] + 1  # what is left out is less than the last term
    for _ in range(halvings):
        low, high = low * low >> digits, -(-high * high >> digits)
    extra = digits - bits
    return max(0, low >> extra), -(-high >> extra)


def _successive_products(first: Enclosed, factor: Enclosed, bits: int) -> Iterator[Enclosed]:
    """Yield a number and its successive products with a factor."""
    low, high = first
    while True:
        yield low, high
        low, high = low * factor[0] >> bits, -(-high * factor[1] >> bits)


_FIRST, _SECOND = 31, 63  # binary digits of the first and the second look
_MORE = 192  # of each one after these, which one in 2^50 draws takes
_GUIDE = 14  # digits that tell most draws
_OPEN = -1
_DIGIT = 1 << 10  # values of one digit of a geometric number
_WIDEST = 16  # scale of its last one, which has no end
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@frozen(eq=False)
class Inversion:
    """Exact sampler of a distribution: a draw is the largest m with P[X < m] <= U, for U uniform in [0, 1).

    U is drawn digit by digit. Its first n digits, as an integer v, show on which side of P[X < m] it lies, unless v is
    ⌊2^n·P[X < m]⌋. Then more digits are drawn. So the distribution is exact, as if U had all its digits.

    Attributes:
        guide: For each value of the first 14 digits the draw, or −1 if an edge begins with these digits.
    """

    law: Law  # what is drawn
    first: Integers = field(repr=False)  # its edges in 31 digits
    second: Integers = field(repr=False)  # its edges in 63 digits
    guide: NDArray[np.int32] = field(repr=False)

    @classmethod
    @lru_cache(maxsize=32)
    def from_law(cls, law: Law) -> Self:
        """Return the sampler of a distribution, with its tables."""
        second = np.array(law.edges(_SECOND), dtype=np.int64)
        first = second >> (_SECOND - _FIRST)
        starts = np.arange((1 << _GUIDE) + 1, dtype=np.int64) << (_FIRST - _GUIDE)
        before = np.searchsorted(first, starts)
        guide = np.where(before[:-1] == before[1:], before[:-1], _OPEN).astype(np.int32)
        return cls(law, first, second, guide)

    def draws(self, size: int, entropy: Entropy) -> tuple[Integers, Flags]:
        """Return independent draws, and equally many independent fair coins."""
        words = np.frombuffer(entropy(4 * size), dtype=np.uint32)
        draws = self.guide[words >> np.uint32(32 - _GUIDE)].astype(np.int64)
        near = np.flatnonzero(draws == _OPEN)
        digits = (words[near] >> np.uint32(1)).astype(np.int64)
        draws[near], told = _place_digits(self.first, digits)
        if not told.all():
            draws[near[~told]] = self._resolve_ties(digits[~told], entropy)
        return draws, (words & np.uint32(1)).astype(np.bool_)

    def _resolve_ties(self, digits: Integers, entropy: Entropy) -> Integers:
        """Return the draws whose first 31 digits equal those of an edge."""
        more = np.frombuffer(entropy(4 * digits.size), dtype=np.uint32).astype(np.int64)
        digits = digits << np.int64(_SECOND - _FIRST) | more
        draws, told = _place_digits(self.second, digits)
        for place in np.flatnonzero(~told):
            draws[place] = self._resolve_rare_tie(int(digits[place]), entropy)
        return draws

    def _resolve_rare_tie(self, digits: int, entropy: Entropy) -> int:
        """Return the draw whose first 63 digits equal those of an edge."""
        bits = _SECOND
        while True:
            digits = digits << _MORE | int.from_bytes(entropy(_MORE // 8), "little")
            bits += _MORE
            edges = self.law.edges(bits)
            draw = bisect_right(edges, digits)
            if not draw or edges[draw - 1] != digits:
                return draw


def _place_digits(edges: Integers, digits: Integers) -> tuple[Integers, Flags]:
    """Return the number of edges that are at most the digits, and a mask of the digits that equal no edge."""
    draws = np.searchsorted(edges, digits, side="right").astype(np.int64)
    told = (draws == 0) | (edges[draws - 1] != digits)
    return draws, told


def laplace_by_inversion(scale: Fraction, size: int, entropy: Entropy) -> Integers:
    """Return at most `size` draws of P[Z = z] ∝ e^(−|z|/scale): the result of each try except a negative zero.

    The base-1024 digits of a geometric number are independent, as e^(−(a + 1024·b)/scale) is a product.
    """
    magnitudes, negative = Inversion.from_law(_lowest_digit_law(scale)).draws(size, entropy)
    unit = 1
    while scale > _WIDEST:
        scale, unit = scale / _DIGIT, unit * _DIGIT
        magnitudes += unit * Inversion.from_law(_lowest_digit_law(scale)).draws(size, entropy)[0]
    np.negative(magnitudes, out=magnitudes, where=negative)
    return magnitudes[~negative | (magnitudes != 0)]


def gaussian_by_inversion(scale: Fraction, size: int, entropy: Entropy) -> Integers:
    """Return `size` draws of P[Z = z] ∝ e^(−z²/(2·scale²)), from a table of 9 scales."""
    draws, negative = Inversion.from_law(HalfGaussian(scale)).draws(size, entropy)
    np.negative(draws, out=draws, where=negative)
    return draws


def _lowest_digit_law(scale: Fraction) -> Law:
    """Return the distribution of the lowest digit of a geometric number; for a small scale, of the whole number."""
    return Geometric(scale, _DIGIT if scale > _WIDEST else None)
