"""Laws on 0, 1, 2, … whose distribution functions are known to any number of binary digits.

Integers only: each number lies between two, in units of 2^−bits, that are rounded apart.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

__all__ = ["Enclosed", "Geometric", "HalfGaussian", "Law", "exponential"]

Enclosed = tuple[int, int]
"""A number times 2^bits: an integer that is not above it, and one that is not below."""

_GUARD = 64  # binary digits beyond those that are asked for


class Law(ABC):
    """A law on 0, 1, 2, … by weights that need not add up to 1."""

    @abstractmethod
    def weights(self, bits: int) -> Iterator[Enclosed]:
        """The weights of 0, 1, 2, …, without the last if there is a last."""

    @abstractmethod
    def whole(self, bits: int) -> Enclosed:
        """The sum of all weights."""

    def edges(self, bits: int) -> list[int]:
        """⌊2^bits·P[X < m]⌋ for m = 1, 2, …, up to the first that is 2^bits − 1, or the last.

        Digits are added until no rounding can change one: that ends where no P[X < m] is a binary
        fraction, and e^−x is transcendental for rational x.
        """
        precision = bits + _GUARD
        while (found := self._edges(bits, precision)) is None:
            precision += _GUARD
        return found

    def _edges(self, bits: int, precision: int) -> list[int] | None:
        """The edges; None where so many digits leave one open."""
        last = (1 << bits) - 1
        least, most = self.whole(precision)
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


@dataclass(frozen=True, slots=True)
class Geometric(Law):
    """P[X = x] ∝ e^(−x/scale), below a limit if there is one.

    Args:
        scale: Positive.
        limit: How many values there are, at least 2; None: all.
    """

    scale: Fraction
    limit: int | None = None

    def weights(self, bits: int) -> Iterator[Enclosed]:
        """Each is the one before times e^(−1/scale)."""
        powers = _products((1 << bits,) * 2, exponential(1 / self.scale, bits), bits)
        return powers if self.limit is None else islice(powers, self.limit - 1)

    def whole(self, bits: int) -> Enclosed:
        """(1 − e^(−limit/scale))/(1 − e^(−1/scale))."""
        one = 1 << bits
        low, high = exponential(1 / self.scale, bits)
        least, most = one, one
        if self.limit is not None:
            less, more = exponential(self.limit / self.scale, bits)
            least, most = one - more, one - less
        return (least << bits) // (one - low), -((-most << bits) // (one - high))


@dataclass(frozen=True, slots=True)
class HalfGaussian(Law):
    """The absolute value of a discrete Gaussian: weights 1, and 2·e^(−x²/(2·scale²)) from 1 on.

    Args:
        scale: Positive.
    """

    scale: Fraction

    def weights(self, bits: int) -> Iterator[Enclosed]:
        """Each is the one before times e^(−(2x + 1)/(2·scale²)), which is a product, too."""
        slow = 1 / (2 * self.scale * self.scale)
        ratios = _products(exponential(slow, bits), exponential(2 * slow, bits), bits)
        low = high = 1 << bits
        yield low, high
        for less, more in ratios:
            low, high = low * less >> bits, -(-high * more >> bits)
            yield 2 * low, 2 * high

    def whole(self, bits: int) -> Enclosed:
        """The sum up to weights of few units; what follows falls by e^(−1/scale) or more each.

        That holds from x >= scale on. Rounded up, a weight of fewer than `scale` units need not
        fall.
        """
        length = 2 + int(self.scale)
        least = most = 0
        for low, high in self.weights(bits):
            least, most = least + low, most + high
            if high <= 4 * length * length:
                break
        return least, most + high * length


def exponential(power: Fraction, bits: int) -> Enclosed:
    """e^−power, enclosed, for a power that is not negative.

    The alternating series of e^(−power/2^k), power/2^k <= 1/2, squared k times.

    Example:
        >>> low, high = exponential(Fraction(1), 20)
        >>> low <= 385749.5 <= high, high - low
        (True, 1)
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


def _products(first: Enclosed, factor: Enclosed, bits: int) -> Iterator[Enclosed]:
    """A number, and each times a factor."""
    low, high = first
    while True:
        yield low, high
        low, high = low * factor[0] >> bits, -(-high * factor[1] >> bits)
