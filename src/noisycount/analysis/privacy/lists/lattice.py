"""The law of several counts of independent records, with noise, on a lattice."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.privacy.lists.kernels import LOST, Kernel
from noisycount.model.laws.expansion import Reals

__all__ = ["Lattice", "span"]

Complexes = NDArray[np.complex128]

_UNIT = 2.0**-53
_PER_RECORD = 8.0  # roundings that a power takes over for each record: of the sum, of its logarithm
_PER_LEVEL = 16.0  # roundings of a transform for each doubling of its length, in the mean square
_BEYOND = 1  # place on each side of the answers, so that a record can move
_FAINT = 1e-18  # the size of a frequency that is left out; the largest has 1
_SLAB = 2**21  # places that are made at once


@dataclass(frozen=True, eq=False)
class Lattice:
    """Two or more counts of independent records with independent noises.

    The transform of their law is a power of that of one record, times those of the noises. High
    frequencies of wide laws are so faint that they are left out.

    Attributes:
        records: The number of records.
        rates: The rate of each pattern, a row of ones and zeros, one for each count.
        kernels: The noise of each count.
    """

    records: int
    rates: Mapping[tuple[int, ...], float]
    kernels: Sequence[Kernel]

    def slabs(self) -> Iterator[tuple[Reals, Reals]]:
        """The law of the answers as seen, and as told, in slabs, at each offset from whole numbers.

        Slabs follow each other along the first count; the last row of one is the first of the next.
        """
        for offsets in product(*(kernel.offsets() for kernel in self.kernels)):
            seen, told = zip(*offsets, strict=True)
            if all(np.array_equal(one, other) for one, other in zip(seen, told, strict=True)):
                yield from ((slab, slab) for slab in self._slabs(seen))
            else:
                yield from zip(self._slabs(seen), self._slabs(told), strict=True)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of whole numbers of each axis, such as are fast to transform."""
        sizes = []
        for (low, high), kernel in zip(self._spans, self.kernels, strict=True):
            sizes.append(_fast_length(high - low + 1 + 2 * (kernel.reach + _BEYOND)))
        return tuple(sizes)

    @property
    def places(self) -> int:
        """How many whole answers there are."""
        return math.prod(self.shape)

    @property
    def frequencies(self) -> int:
        """How many frequencies are kept."""
        return math.prod(kept.size for kept in self._kept)

    @cached_property
    def error(self) -> float:
        """How far all masses of a law may be off, added up.

        What lies outside of the axes: counts on both sides and noise, twice, as it turns up
        elsewhere; frequencies that are left out; and rounding, bounded in the mean square, of
        transforms, of sums along the first axis, and of the power, which rounds for each record.
        """
        outside = 6 * LOST * len(self.kernels)
        levels = sum(math.log2(size) for size in self.shape)
        roundings = _PER_RECORD * (self.records + 1) + _PER_LEVEL * levels + self._kept[0].size
        length = math.sqrt(2 * float(np.sum(np.abs(self._power) ** 2)))
        return outside + _UNIT * roundings * length + _FAINT * math.sqrt(self.places)

    def _slabs(self, noises: Sequence[Reals]) -> Iterator[Reals]:
        """The law of the counts with these noises, which begin at −reach, in slabs."""
        transform = self._power
        for axis, noise in enumerate(noises):
            padded = np.zeros(self.shape[axis])
            padded[_BEYOND : _BEYOND + noise.size] = noise
            factor = np.fft.fft(padded)[self._kept[axis]]
            transform = transform * self._along(factor, axis)
        first, *others = self.shape
        rows = max(1, _SLAB // math.prod(others))
        if rows + 1 >= first:
            yield self._inverse(transform, 0)
            return
        for start in range(0, first - 1, rows):
            places = np.arange(start, min(first, start + rows + 1))
            turns = np.exp(2j * np.pi * (np.outer(places, self._kept[0]) % first) / first) / first
            yield self._inverse(np.tensordot(turns, transform, 1), 1)

    def _inverse(self, rows: Complexes, start: int) -> Reals:
        """The law from its transform along the axes from a first one on."""
        for axis in range(start, len(self.shape) - 1):
            whole = np.zeros(
                (*rows.shape[:axis], self.shape[axis], *rows.shape[axis + 1 :]), complex
            )
            whole[(slice(None),) * axis + (self._kept[axis],)] = rows
            rows = np.fft.ifft(whole, axis=axis)
        law: Reals = np.fft.irfft(rows, self.shape[-1])
        return np.maximum(law, 0.0, out=law)

    @cached_property
    def _power(self) -> Complexes:
        """The transform of the law of the counts, seen from the least of each."""
        turns = [self._turns(axis, 1) for axis in range(len(self.shape))]
        total = sum(
            rate * reduce(np.multiply, [one**bit for one, bit in zip(turns, pattern, strict=True)])
            for pattern, rate in self.rates.items()
        )
        power: Complexes = np.power(total, self.records)
        for axis, (low, _) in enumerate(self._spans):
            power = power * self._turns(axis, -low)
        return power

    def _turns(self, axis: int, count: int) -> Complexes:
        """e^(−iθ·count) for the kept frequencies θ of an axis."""
        size = self.shape[axis]
        angles = (self._kept[axis] * count) % size
        return self._along(np.exp(-2j * np.pi * angles / size), axis)

    def _along(self, values: Complexes, axis: int) -> Complexes:
        """A row of values along an axis."""
        return values.reshape([-1 if one == axis else 1 for one in range(len(self.shape))])

    @cached_property
    def _kept(self) -> list[NDArray[np.intp]]:
        """The frequencies of each axis that are kept: from 0, with negative ones but in the last.

        If records of some pairs of patterns differ in one count alone, the transform of a record is
        at most 1 − Σ (p + p* − |p + p*·e^iθ|), summed over the pairs with rates p and p*.
        """
        kept = []
        for axis, size in enumerate(self.shape):
            half = np.arange(size // 2 + 1)
            turn = np.exp(2j * np.pi * half / size)
            faint = [p + q - np.abs(p + q * turn) for p, q in self._pairs(axis)]
            sizes = np.ones(half.size) - sum(faint)
            bright = np.flatnonzero(np.maximum(sizes, 0.0) ** self.records > _FAINT)
            last = int(bright[-1])
            is_last = axis == len(self.shape) - 1
            everything = is_last or 2 * last + 1 >= size
            kept.append(
                np.arange(last + 1 if is_last else size)
                if everything
                else np.concatenate([np.arange(last + 1), np.arange(-last, 0)])
            )
        return kept

    def _pairs(self, axis: int) -> Iterator[tuple[float, float]]:
        """The rates of the patterns that differ in one count alone."""
        for pattern, rate in self.rates.items():
            other = (*pattern[:axis], 1, *pattern[axis + 1 :])
            if not pattern[axis] and other in self.rates:
                yield rate, self.rates[other]

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        """The least and the greatest of each count, but for what is left out."""
        rates = [
            math.fsum(rate for pattern, rate in self.rates.items() if pattern[axis])
            for axis in range(len(self.kernels))
        ]
        return [span(self.records, min(1.0, rate)) for rate in rates]


def span(records: int, rate: float) -> tuple[int, int]:
    """The least and the greatest of the counts that independent records reach.

    What is left out on each side is at most `LOST`, by Bernstein's inequality.

    Args:
        records: The number of records.
        rate: The probability of each.
    """
    mean, variance = records * rate, records * rate * (1 - rate)
    depth = -math.log(LOST)
    reach = depth / 3 + math.sqrt(depth**2 / 9 + 2 * variance * depth)
    return max(0, math.floor(mean - reach)), min(records, math.ceil(mean + reach))


def _fast_length(least: int) -> int:
    """The first length from there on that has no prime factor above 5."""
    return next(size for size in range(least, 2 * least + 1) if _is_smooth(size))


def _is_smooth(number: int) -> bool:
    """Whether a number has no prime factor above 5."""
    for factor in (2, 3, 5):
        while number % factor == 0:
            number //= factor
    return number == 1
