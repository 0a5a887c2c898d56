"""The law of several noisy counts on a lattice: answers seen rounded, or partly told."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce
from itertools import product

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from noisycount.analysis.tables.sums import transform_length
from noisycount.frozen import frozen
from noisycount.model.exact import Exact
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.laplace import Laplace
from noisycount.model.noises.noise_sum import NoiseSum
from noisycount.model.populations.binomial import Binomial

LOST = 1e-13  # the mass of a law, on each side, that is left out
_HALF_WAY = 0.5  # where only rounding parts the bounds
_LEAST_BLUR = 1.0  # steps², of 1/(1/σ₁² + 1/τ²): then a grid is seen by 2·e^(−2π²) = 5e-9 at most
_BLURRED = 1.1e-8  # twice that, and a tenth more for all the smaller terms
_NARROW = 4.0  # times the blur: the least variance of noise that can be parted, in steps²


@frozen(eq=False)
class Kernel:
    """Noise on a grid of some steps a record, from −reach to reach records.

    Rounding an answer to the grid is a function of it, so that it can only lower δ. And where the noise is a sum D + R
    of independent parts, D on the grid, an adversary who gets the answer with D alone can only know more.
    """

    reach: int  # how far from 0 the noise can lie, in records
    steps: int  # how many steps a record has
    seen: Reals  # the law of the rounded noise, shape (2·reach·steps + 1,)
    told: Reals  # the law of D, same shape
    error: float  # how far the sum D + R may be from the noise, relative to its density
    share: float  # how much of what rounding and telling change of the variance rounding does

    def offsets(self) -> Iterator[tuple[Reals, Reals]]:
        """Both laws at whole numbers plus 0, 1, … steps, from −reach on, shape (2·reach + 1,)."""
        width = 2 * self.reach + 1
        for start in range(self.steps):
            pair = np.zeros((2, width))
            for row, law in zip(pair, (self.seen, self.told), strict=True):
                part = law[start :: self.steps]
                row[: part.size] = part
            yield pair[0], pair[1]


def is_continuous(mechanism: Exact | SymmetricNoise) -> bool:
    """Whether answers lie between the integers."""
    return isinstance(mechanism, SymmetricNoise) and not mechanism.is_discrete


def kernel(mechanism: Exact | SymmetricNoise, steps: int) -> Kernel:
    """The noise of a mechanism on a grid."""
    if not isinstance(mechanism, SymmetricNoise):
        return Kernel(0, 1, np.ones(1), np.ones(1), 0.0, _HALF_WAY)
    reach = _reach(mechanism)
    if mechanism.is_discrete:
        law = np.exp(mechanism.errors.log_heights(np.arange(-reach, reach + 1.0)))
        return Kernel(reach, 1, law, law, 0.0, _HALF_WAY)
    grid = np.arange(-reach * steps, reach * steps + 1.0) / steps
    seen = mechanism.errors.between(grid - 0.5 / steps, np.full(grid.size, 1 / steps))
    parts = [_told(one, grid, steps) for one in _parts(mechanism)]
    told = reduce(lambda one, other: np.convolve(one, other, "same"), [law for law, _, _ in parts])
    hidden = sum(variance for _, _, variance in parts)
    error = sum(error for _, error, _ in parts)
    return Kernel(reach, steps, seen, told, error, 1 / (1 + 12 * hidden))


def _parts(noise: SymmetricNoise) -> Sequence[SymmetricNoise]:
    """The noises of a sum."""
    return noise.noises if isinstance(noise, NoiseSum) else [noise]


def _reach(noise: SymmetricNoise) -> int:
    """How far noise reaches, but for what is left out, in records."""
    return max(1, math.ceil(noise.error_with_tail(math.log(LOST))))


def _told(noise: SymmetricNoise, grid: Reals, steps: int) -> tuple[Reals, float, float]:
    """The law of D, its relative error, and the variance of R in steps²."""
    if isinstance(noise, Laplace):
        return _geometric(noise.scale * steps, grid * steps)
    if isinstance(noise, Gaussian):
        return _blurred(noise.scale * steps, grid * steps)
    raise ValueError(
        f"mechanism must be Laplace, Gaussian, discrete noise or none in a list of questions, got {noise!r}"
    )


def _geometric(scale: float, grid: Reals) -> tuple[Reals, float, float]:
    """Laplace noise is discrete Laplace noise and a rest, independently and exactly.

    It is the difference of two exponential variables, of each of which the whole part and the rest are independent as
    it forgets.
    """
    law = math.tanh(1 / (2 * scale)) * np.exp(-np.abs(grid) / scale)
    ratio = math.exp(-1 / scale)
    return law, 0.0, max(0.0, 2 * scale**2 - 2 * ratio / (1 - ratio) ** 2)


def _blurred(scale: float, grid: Reals) -> tuple[Reals, float, float]:
    """Gaussian noise is discrete Gaussian noise and a Gaussian rest, but for e^(−2π²).

    With variances σ₁² and τ² the density of the sum is that of their sum, times 1 + 2·Σ_m e^(−2π²m²s²)·cos(…) with
    s² = σ₁²τ²/(σ₁² + τ²) in steps², by Poisson's formula. Narrower noise is told whole.
    """
    variance = scale**2
    if variance <= _NARROW * _LEAST_BLUR:
        return (grid == 0).astype(np.float64), 0.0, variance
    root = math.sqrt(1 - _NARROW * _LEAST_BLUR / variance)
    hidden = 2 * _LEAST_BLUR / (1 + root)
    weights = np.exp(-(grid**2) / (2 * (variance - hidden)))
    return weights / weights.sum(), _BLURRED, hidden


Complexes = NDArray[np.complex128]
_UNIT = 2.0**-53
_PER_RECORD = 8.0  # roundings that a power takes over for each record: of the sum, of its logarithm
_PER_LEVEL = 16.0  # roundings of a transform for each doubling of its length, in the mean square
_BEYOND = 1  # place on each side of the answers, so that a record can move
_FAINT = 1e-18  # the size of a frequency that is left out; the largest has 1
_SLAB = 2**21  # places that are made at once
_PMF_ROUNDING = 1e-12  # of the masses of a count, relative


@frozen(eq=False, slots=False)
class Lattice:
    """Two or more counts of independent records with independent noises.

    The transform of their law is a power of that of one record, times those of the noises. High frequencies of wide
    laws are so faint that they are left out.
    """

    records: int
    rates: Mapping[tuple[int, ...], float]  # the rate of each pattern, a row of ones and zeros, one for each count
    kernels: Sequence[Kernel]  # the noise of each count

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

    @property
    def shortest(self) -> "Lattice":
        """The lattice with the fewest places that has the same divergences."""
        if len(self.kernels) == 1 or any(len(set(pattern)) > 1 for pattern in self.rates):
            return self
        common = CommonLattice(self.records, self.rates, sorted(self.kernels, key=lambda one: one.reach))
        return min(self, common, key=lambda one: one.places)

    @property
    def moves(self) -> list[tuple[int, ...]]:
        """Changes of the axes that a record can make, the first change upwards."""
        patterns = list(self.rates)
        moves = {tuple(a - b for a, b in zip(one, other, strict=True)) for one in patterns for other in patterns}
        return sorted(move for move in moves if move > (0,) * len(move))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of whole numbers of each axis, such as are fast to transform."""
        sizes = []
        for (low, high), kernel in zip(self._spans, self.kernels, strict=True):
            sizes.append(transform_length(high - low + 1 + 2 * (kernel.reach + _BEYOND)))
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

        What lies outside of the axes: counts on both sides and noise, twice, as it turns up elsewhere; frequencies that
        are left out; and rounding, bounded in the mean square, of transforms, of sums along the first axis, and of the
        power, which rounds for each record.
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
            whole = np.zeros((*rows.shape[:axis], self.shape[axis], *rows.shape[axis + 1 :]), complex)
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

        If records of some pairs of patterns differ in one count alone, the transform of a record is at most 1 − Σ
        (p + p* − |p + p*·e^iθ|), summed over the pairs with rates p and p*.
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


@frozen(eq=False, slots=False)
class CommonLattice(Lattice):
    """Two or more answers with independent noises to one question.

    At given differences between the answers, the law of the first is a convolution of that of the count with a product
    of noises. Differences are as small as noise, however many records there are, and no record changes them.
    """

    @property
    def moves(self) -> list[tuple[int, ...]]:
        """The change that a record makes of the first answer and of the differences."""
        return [(1, 0)]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of whole first answers, such as is fast to transform, and of whole differences from it."""
        (low, high), *_ = self._spans
        first, *others = (2 * kernel.reach + 1 for kernel in self.kernels)
        return (transform_length(high - low + first + 2 * _BEYOND), *(first + width - 1 for width in others))

    @cached_property
    def error(self) -> float:
        """Upper bound of the error of all masses of a law, summed.

        Counts and noise that are left out, the masses of the count, and the transforms, in the mean square.
        """
        outside = 6 * LOST * len(self.kernels)
        places = self.places * math.prod(kernel.steps for kernel in self.kernels)
        length = float(np.linalg.norm(self._counts))
        for kernel in self.kernels:
            length *= max(float(np.linalg.norm(law)) for law in (kernel.seen, kernel.told))
        roundings = _PER_LEVEL * math.log2(self.shape[0])
        return outside + _PMF_ROUNDING + _UNIT * roundings * length * math.sqrt(places)

    def _slabs(self, noises: Sequence[Reals]) -> Iterator[Reals]:
        """Yield the law of the first answer, at some differences: shape (answers, differences)."""
        size = self.shape[0]
        counts = np.fft.rfft(self._counts, size)
        first, *others = noises
        moved = [sliding_window_view(np.pad(one, first.size - 1), first.size) for one in others]
        rows = max(1, _SLAB // size)
        for rest in product(*moved[:-1]):
            noise = reduce(np.multiply, rest, first)
            for start in range(0, len(moved[-1]), rows):
                products = np.fft.rfft(noise * moved[-1][start : start + rows], size)
                law = np.fft.irfft(products * counts, size).T
                yield np.maximum(law, 0.0, out=law)

    @cached_property
    def _counts(self) -> Reals:
        """Probabilities of the counts from the least on, behind a place that is empty."""
        (low, high), *_ = self._spans
        rate = math.fsum(rate for pattern, rate in self.rates.items() if pattern[0])
        law = Binomial(self.records, min(1.0, rate)).law().pmf(np.arange(low, high + 1.0)) if self.records else [1.0]
        return np.concatenate([np.zeros(_BEYOND), law])


def span(records: int, rate: float) -> tuple[int, int]:
    """The least and the greatest of the counts that independent records reach.

    What is left out on each side is at most `LOST`, by Bernstein's inequality.
    """
    mean, variance = records * rate, records * rate * (1 - rate)
    depth = -math.log(LOST)
    reach = depth / 3 + math.sqrt(depth**2 / 9 + 2 * variance * depth)
    return max(0, math.floor(mean - reach)), min(records, math.ceil(mean + reach))
